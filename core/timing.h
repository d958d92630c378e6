/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock and the medians of benchmarks.
 */
#ifndef CORE_TIMING_H
#define CORE_TIMING_H

/* Wall time in seconds since some point in the past. */
double ts_seconds(void);
/* Processor time of the calling thread in seconds, which other programs do not lengthen by taking turns. */
double ts_thread_seconds(void);
/* Sorts n > 0 times, shortest first, and returns their median. */
double ts_median(double *seconds, int n);
/* Returns the width of n sorted times, from the 10th to the 90th percentile, as a fraction of their median. */
double ts_spread(const double *sorted, int n);

#endif
