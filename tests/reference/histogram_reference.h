/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_HISTOGRAM_REFERENCE_H
#define TESTS_HISTOGRAM_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

/* Counts from the definition: counts[0 .. bins) within, then *under, *over, *nan. Every value is compared with every
 * edge. */
void ts_histogram_reference(const double *values, size_t n, double low, double high, int64_t bins, uint64_t *counts,
                            uint64_t *under, uint64_t *over, uint64_t *nan);

#endif
