/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes moments, range and percentiles of slices of 8- and 16-bit integers from the counts
 * of their values on the device, so that a few numbers a slice go to the host instead of a table.
 */
#ifndef CUDA_COUNTING_COUNT_MOMENTS_CUH
#define CUDA_COUNTING_COUNT_MOMENTS_CUH

#include "cuda/counting/value_counts.cuh"

extern "C" {
#include "stages/counting/moments.h"
#include "stages/counting/percentile.h"
#include "stages/values/value_range.h"
}

/* Returns the bytes of the moments of one slice. */
size_t ts_cuda_count_moments_bytes(void);
/* Return the bytes of the logarithms that ts_cuda_count_moments() reads on the device, and write
 * them: that of the absolute value of every key, or 0 for value zero. */
size_t ts_cuda_count_logs_bytes(enum ts_dtype dtype);
void ts_cuda_count_logs(enum ts_dtype dtype, double *logs);
/* Enqueues the moments of slice i to (char *)moments + i * stride. `counts` are the partials of n
 * slices from ts_cuda_value_counts(). */
enum ts_status ts_cuda_count_moments(const struct stage_context *context, enum ts_dtype dtype,
                                     const void *counts, int64_t n, const double *logs,
                                     void *moments, size_t stride, const struct cuda_call *call);
/* Enqueues struct percentile_ends of slice i to (char *)ends + i * stride. */
enum ts_status ts_cuda_count_ends(const struct stage_context *context, enum ts_dtype dtype,
                                  const void *counts, int64_t n, const double *percents,
                                  int n_percentiles, void *ends, size_t stride,
                                  const struct cuda_call *call);
/* Turns the moments of one slice, copied to the host, into those of the host, and adds them to
 * *range. */
void ts_cuda_count_moments_collect(enum ts_dtype dtype, const void *copied, struct moments *moments,
                                   struct value_range *range);

#endif
