/* SPDX-License-Identifier: Apache-2.0
 *
 * Smoothing by a Gaussian by its definition: every sample of every window times its weight, in
 * double.
 */
#ifndef TESTS_STAGES_FILTERS_GAUSSIAN_ORACLE_H
#define TESTS_STAGES_FILTERS_GAUSSIAN_ORACLE_H

#include "tests/support/oracles.h"

void ts_gaussian_oracle(const struct stage_context *context, const double *in, double *out);

#endif
