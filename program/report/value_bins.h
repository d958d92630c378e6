/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts values in bins whose range need not be known before. The width of bins is a power of two,
 * and they begin at multiples of it; if a value is outside, neighbors are joined until all fit. So
 * one pass over an image is enough, every count is exact, and nothing depends on the order of the
 * values.
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
        /* numbers of the first and last bin in use; bin i counts values in [i * width, (i + 1) *
           width) */
        last;
    int64_t counts[VALUE_BINS]; /* counts of bins first, first + 1, ... */
    /* number of finite values; number of others: NaN, infinite, or marked as no measurement */
    int64_t n, invalid;
    double low, high, sum;
};

/* Begins with no values. Bins of integers are never narrower than 1. */
void ts_value_bins_init(struct value_bins *bins, bool integers);
/* Counts n values; those that are not finite are invalid. */
void ts_value_bins_add(struct value_bins *bins, const float *values, size_t n);

#endif
