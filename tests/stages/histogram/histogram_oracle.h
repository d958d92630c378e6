/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_HISTOGRAM_HISTOGRAM_ORACLE_H
#define TESTS_STAGES_HISTOGRAM_HISTOGRAM_ORACLE_H

#include "tests/support/oracles.h"

#include <stddef.h>
#include <stdint.h>

/* Counts from the definition: counts[0 .. bins) within, then *under, *over, *nan. Every value looks
 * for its edges. */
void ts_histogram_oracle_counts(const double *values, size_t n, double low, double high,
                                int64_t bins, uint64_t *counts, uint64_t *under, uint64_t *over,
                                uint64_t *nan);

/* All tables, for the benchmark. */
void ts_histogram_oracle_results(const struct stage_context *context,
                                 const struct ts_image inputs[STAGE_INPUTS], double *out,
                                 struct bench_tables *tables);

#endif
