/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STATISTICS_REFERENCE_H
#define TESTS_STATISTICS_REFERENCE_H

#include "pipeline/bench.h"

#include <stddef.h>
#include <stdint.h>

struct statistics_reference {
    uint64_t count, nan, infinite, zeros;
    double min, max, sum, mean, variance, log_product, product_sign;
};
/* Of the finite values; sums in long double, one value after the other. */
void ts_statistics_reference(const double *values, size_t n, int64_t ddof, struct statistics_reference *out);
/* numpy.percentile, rule linear, of the finite values: sorts them. NaN where there is none. */
double ts_percentile_reference(const double *values, size_t n, double percent);

/* All tables, for the benchmark. */
void ts_statistics_reference_results(const struct stage_context *context, const struct ts_image inputs[STAGE_INPUTS],
                                     double *out, struct bench_tables *tables);

#endif
