/* SPDX-License-Identifier: Apache-2.0
 *
 * These are the clock and the order statistics of benchmarks.
 */
#ifndef CORE_TIMING_H
#define CORE_TIMING_H

/* Returns the wall time in seconds since some point in the past. */
double ts_seconds(void);
/* Returns the processor time of the calling thread in seconds. Other programs that share the
 * processor do not lengthen it. */
double ts_thread_seconds(void);
/* Sorts n > 0 times, shortest first, and returns their median. */
double ts_median(double *seconds, int n);
/* Sets the 10th and the 90th percentile of n sorted times, both rounded outward, so that few times
 * give their full range. */
void ts_range_of_times(const double *sorted, int n, double *fastest, double *slowest);
/* Returns the width of n sorted times, from the 10th to the 90th percentile, as a fraction of their
 * median. */
double ts_spread(const double *sorted, int n);

#endif
