/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_HISTOGRAM_STATISTICS_ORACLE_H
#define TESTS_STAGES_HISTOGRAM_STATISTICS_ORACLE_H

#include "tests/support/oracles.h"

#include <stddef.h>
#include <stdint.h>

struct statistics_oracle {
    uint64_t count, nan, infinite, zeros;
    double min, max, sum, mean, variance, log_product, product_sign;
};
/* Computes the moments of the finite values, with sums in long double, one value after the
 * other. */
void ts_statistics_oracle_samples(const double *values, size_t n, int64_t ddof,
                                  struct statistics_oracle *out);
/* numpy.percentile, rule linear, of the finite values: sorts them. NaN where there is none. */
double ts_percentile_oracle(const double *values, size_t n, double percent);

/* All tables, for the benchmark. */
void ts_statistics_oracle_results(const struct stage_context *context,
                                  const struct ts_image inputs[STAGE_INPUTS], double *out,
                                  struct bench_tables *tables);

#endif
