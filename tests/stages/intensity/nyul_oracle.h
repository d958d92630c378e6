/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_INTENSITY_NYUL_ORACLE_H
#define TESTS_STAGES_INTENSITY_NYUL_ORACLE_H

#include "tests/support/oracles.h"

/* TorchIO's _normalize of n values, by the percentiles and landmarks at 1, 10, 20, 25, 30, ..., 99,
 * in double. */
void ts_nyul_values_oracle(const double *in, size_t n, const double percentiles[13],
                           const double landmarks[13], double *out);
/* The whole stage, for the comparison loop: the image as doubles to the result as doubles. */
void ts_nyul_oracle(const struct stage_context *context, const double *in, double *out);
void ts_nyul_oracle_tables(const struct stage_context *context, const double *in, const double *out,
                           struct bench_tables *tables);

#endif
