/* SPDX-License-Identifier: Apache-2.0
 *
 * Count, sum, mean and sum of squared deviations of the finite values of an image, and the product
 * of those that are not zero. The bytes of the result depend only on the slices: the size of a
 * slice and the method decide the order of its sums (stages/values/fan_in.h), and slices are joined
 * in rising z.
 */
#ifndef STAGES_COUNTING_MOMENTS_H
#define STAGES_COUNTING_MOMENTS_H

#include "stages/counting/value_counts.h"
#include "stages/values/fan_in.h"

/* The moments of some values. Zero bytes are the moments of none. */
struct moments {
    __int128 whole_sum; /* exact sum of integers; `sum` is it rounded */
    uint64_t n, n_zero, n_negative;
    double sum, mean, deviations; /* deviations: sum of (v - mean)^2 */
    /* The mean again, as center + offset: two means that differ little can then be subtracted
     * without losing digits. */
    double center, offset;
    /* The product of the absolute values that are not zero is 2^exponent * exp(log_rest). */
    int64_t exponent;
    double log_rest;
};

/* Computes the moments of one slice of n values, in two passes over it. */
void ts_moments_of_slice_by(struct moments *moments, const void *data, enum ts_dtype dtype,
                            size_t n, enum reduction_method method);
/* Joins `from` to `into` (Chan, Golub and LeVeque, 1983). Only the lowest bit of n_negative has a
 * meaning. */
void ts_moments_join(struct moments *into, const struct moments *from, enum ts_dtype dtype);
/* Computes the moments of counted values. Sums are integers, and each result is rounded once. */
void ts_moments_of_counts(struct moments *moments, const struct value_counts *counts,
                          enum ts_dtype dtype);
/* Sets sum, mean and deviations of n integers from exact sums of values and squares. */
void ts_moments_of_sums(struct moments *moments, __int128 sum, __int128 squares);

#endif
