/* SPDX-License-Identifier: Apache-2.0
 *
 * fbp: filtered backprojection of every slice.
 */
#ifndef STAGES_PROJECTION_FBP_H
#define STAGES_PROJECTION_FBP_H

#include "stages/projection/reconstruction.h"

extern const struct stage fbp_stage;
extern const struct stage_cuda fbp_cuda;

#endif
