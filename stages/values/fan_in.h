/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions join many partial results into one, in an order that their number alone decides.
 *
 * fan-in: halving with stride. Of n values, n rounded up to a power of two 2s, value i takes in
 * value i + s (0 with 128, 1 with 129, ... of 256), then s is halved: depth log2 n. two-level: each
 * processor first joins a run of about sqrt(n) values one after the other, then the runs' results
 * fan in: constant work for each processor (G. E. Blelloch, "Prefix sums and their applications",
 * 1990; R. P. Brent, 1974). On a CUDA device: cuda/values/fan_in.cuh.
 */
#ifndef STAGES_VALUES_FAN_IN_H
#define STAGES_VALUES_FAN_IN_H

#include "core/params.h"

enum reduction_method { REDUCTION_AUTO, REDUCTION_FAN_IN, REDUCTION_TWO_LEVEL };
/* A parameter `method` has these choices. */
extern const struct choice ts_reduction_choices[];

/* Returns the stride with which n values start: the largest power of two below n (0 for n < 2). */
size_t ts_fan_in_stride(size_t n);
/* Returns about sqrt(n): a multiple of `multiple` within [least, most]. */
size_t ts_run_length(size_t n, size_t multiple, size_t least, size_t most);

/* Each returns the result and overwrites the values. For no values the results are 0, 1, infinity
 * and -infinity. */
double ts_fan_in_sum(double *values, size_t n);
double ts_fan_in_product(double *values, size_t n);
double ts_fan_in_min(double *values, size_t n);
double ts_fan_in_max(double *values, size_t n);

/* Joins n_tables tables of n_bins counts, one after the other in memory, into the first; destroys
 * the others. */
void ts_tables_join(uint64_t *tables, size_t n_tables, size_t n_bins, enum reduction_method method);

/* A sum of values that come one by one: groups of FAN_IN_GROUP fan in, and so do the totals of
 * groups. */
enum { FAN_IN_GROUP = 256, FAN_IN_LEVELS = 5 };
struct fan_in_sum {
    size_t n[FAN_IN_LEVELS];
    double values[FAN_IN_LEVELS][FAN_IN_GROUP]; /* valid below n */
};
/* Makes an empty sum; adds a value; returns the sum, and leaves *sum unusable. */
void ts_fan_in_sum_begin(struct fan_in_sum *sum);
void ts_fan_in_sum_add(struct fan_in_sum *sum, double value);
double ts_fan_in_sum_end(struct fan_in_sum *sum);

#endif
