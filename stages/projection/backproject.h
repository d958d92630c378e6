/* SPDX-License-Identifier: Apache-2.0
 *
 * backproject: unfiltered backprojection of every slice.
 */
#ifndef STAGES_PROJECTION_BACKPROJECT_H
#define STAGES_PROJECTION_BACKPROJECT_H

#include "stages/projection/reconstruction.h"

extern const struct stage backproject_stage;
extern const struct stage_cuda backproject_cuda;

#endif
