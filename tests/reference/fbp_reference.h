/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of fbp: rows convolved with the filter's kernel, then sums of linear interpolations, in double.
 */
#ifndef TESTS_FBP_REFERENCE_H
#define TESTS_FBP_REFERENCE_H

#include "stages/stage.h"

void ts_fbp_reference(const struct stage_context *context, const double *in, double *out);

#endif
