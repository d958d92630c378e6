/* SPDX-License-Identifier: Apache-2.0
 *
 * This counts values in bins whose range need not be known before. Bins are as wide as a power of
 * two and begin at multiples of it; where a value falls outside, neighbors are joined until all
 * fit. So one pass over an image is enough, every count is exact, and neither depends on the order
 * of the values.
 */
#ifndef PROGRAM_REPORT_VALUE_BINS_H
#define PROGRAM_REPORT_VALUE_BINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VALUE_BINS = 256 };

struct value_bins {
    double width; /* a power of two */
    int64_t first,
        last; /* numbers of the bins in use; bin i counts values in [i * width, (i + 1) * width) */
    int64_t counts[VALUE_BINS]; /* of bins first, first + 1, ... */
    int64_t n, invalid; /* finite values, and others: NaN, infinite, or marked as no measurement */
    double low, high, sum;
};

/* Begins with no values. Bins of integers are never narrower than 1. */
void ts_value_bins_init(struct value_bins *bins, bool integers);
/* Counts n values; those that are not finite are invalid. */
void ts_value_bins_add(struct value_bins *bins, const float *values, size_t n);

#endif
