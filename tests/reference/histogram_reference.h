/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_HISTOGRAM_REFERENCE_H
#define TESTS_HISTOGRAM_REFERENCE_H

#include "pipeline/bench.h"

#include <stddef.h>
#include <stdint.h>

/* Counts from the definition: counts[0 .. bins) within, then *under, *over, *nan. Every value looks for its edges. */
void ts_histogram_reference(const double *values, size_t n, double low, double high, int64_t bins, uint64_t *counts,
                            uint64_t *under, uint64_t *over, uint64_t *nan);

/* All tables, for the benchmark. */
void ts_histogram_reference_results(const struct stage_context *context, const struct ts_image inputs[STAGE_INPUTS],
                                    double *out, struct bench_tables *tables);

#endif
