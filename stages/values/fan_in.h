/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions join many partial results into one, in an order that depends only on their
 * number.
 *
 * fan-in: halving with stride. If n rounded up to a power of two is 2s, value i + s is joined to
 * value i (of 256 values, 128 to 0, 129 to 1, ...), then s is halved; the depth is log2 n.
 * two-level: each processor first joins a run of about sqrt(n) values one after the other, then the
 * results of runs are joined by fan-in, with constant work for each processor (G. E. Blelloch,
 * "Prefix sums and their applications", 1990; R. P. Brent, 1974). On a CUDA device:
 * cuda/values/fan_in.cuh.
 */
#ifndef STAGES_VALUES_FAN_IN_H
#define STAGES_VALUES_FAN_IN_H

#include "core/params.h"

enum reduction_method { REDUCTION_AUTO, REDUCTION_FAN_IN, REDUCTION_TWO_LEVEL };
/* The choices of a parameter `method`. */
extern const struct choice ts_reduction_choices[];

/* Returns the first stride for n values: the largest power of two below n (0 for n < 2). */
size_t ts_fan_in_stride(size_t n);
/* Returns about sqrt(n): a multiple of `multiple` in [least, most]. */
size_t ts_run_length(size_t n, size_t multiple, size_t least, size_t most);

/* Each returns the result and overwrites the values. If there are no values, the results are 0, 1,
 * infinity and -infinity. */
double ts_fan_in_sum(double *values, size_t n);
double ts_fan_in_product(double *values, size_t n);
double ts_fan_in_min(double *values, size_t n);
double ts_fan_in_max(double *values, size_t n);

/* Joins n_tables tables of n_bins counts, one after the other in memory, into the first, and
 * overwrites the others. */
void ts_tables_join(uint64_t *tables, size_t n_tables, size_t n_bins, enum reduction_method method);

/* A sum of values that come one by one: groups of FAN_IN_GROUP are joined by fan-in, and so are the
 * totals of groups. */
enum { FAN_IN_GROUP = 256, FAN_IN_LEVELS = 5 };
struct fan_in_sum {
    size_t n[FAN_IN_LEVELS];
    double values[FAN_IN_LEVELS][FAN_IN_GROUP]; /* valid below n */
};
/* These make an empty sum, add a value, and return the sum, after which *sum must not be used. */
void ts_fan_in_sum_begin(struct fan_in_sum *sum);
void ts_fan_in_sum_add(struct fan_in_sum *sum, double value);
double ts_fan_in_sum_end(struct fan_in_sum *sum);

#endif
