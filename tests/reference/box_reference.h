/* SPDX-License-Identifier: Apache-2.0
 *
 * The mean over a window by its definition: every sample of every window, in double.
 */
#ifndef TESTS_BOX_REFERENCE_H
#define TESTS_BOX_REFERENCE_H

#include "stages/stage.h"

void ts_box_reference(const struct stage_context *context, const double *in, double *out);

#endif
