/* SPDX-License-Identifier: Apache-2.0
 *
 * Correlation with a kernel by its definition, in double. Named kernels are built here once more,
 * from what they mean.
 */
#ifndef TESTS_STAGES_FILTERS_CONVOLVE_ORACLE_H
#define TESTS_STAGES_FILTERS_CONVOLVE_ORACLE_H

#include "tests/support/oracles.h"

void ts_convolve_oracle(const struct stage_context *context, const double *in, double *out);

#endif
