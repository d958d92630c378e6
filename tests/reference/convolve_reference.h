/* SPDX-License-Identifier: Apache-2.0
 *
 * Correlation with a kernel by its definition, in double. Named kernels are built here once more, from what they mean.
 */
#ifndef TESTS_CONVOLVE_REFERENCE_H
#define TESTS_CONVOLVE_REFERENCE_H

#include "stages/stage.h"

void ts_convolve_reference(const struct stage_context *context, const double *in, double *out);

#endif
