/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CIRCLE_REFERENCE_H
#define TESTS_CIRCLE_REFERENCE_H

#include "stages/stage.h"

/* Every pixel by its distance in mm from the middle of the slice. */
void ts_circle_reference(const struct stage_context *context, const double *in, double *out);

#endif
