/* SPDX-License-Identifier: Apache-2.0
 *
 * Wall time comes from CLOCK_MONOTONIC, which nobody sets back, and processor time from the
 * thread's own clock.
 */
#include "core/timing.h"

#include <stdlib.h>
#include <time.h>

#include "core/search.h"

static double read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double ts_seconds(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double ts_thread_seconds(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static double middle(const double *sorted, int n)
{
    return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

double ts_median(double *seconds, int n)
{
    qsort(seconds, (size_t)n, sizeof *seconds, ts_compare_doubles);
    return middle(seconds, n);
}

void ts_range_of_times(const double *sorted, int n, double *fastest, double *slowest)
{
    *fastest = sorted[(n - 1) / 10];
    *slowest = sorted[n - 1 - (n - 1) / 10];
}

double ts_spread(const double *sorted, int n)
{
    double fastest, slowest;
    ts_range_of_times(sorted, n, &fastest, &slowest);
    return (slowest - fastest) / middle(sorted, n);
}
