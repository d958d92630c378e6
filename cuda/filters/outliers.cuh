/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of outliers share this: the planes that windows lie in, and the rule of stages/filters/outliers.c on
 * 32-bit keys (cuda/values/value_keys.cuh). Medians come from cuda/filters/median.cuh.
 */
#ifndef CUDA_FILTERS_OUTLIERS_CUH
#define CUDA_FILTERS_OUTLIERS_CUH

#include "cuda/filters/median.cuh"
#include "cuda/values/border.cuh"
#include "cuda/values/value_keys.cuh"

extern "C" {
#include "stages/filters/outliers.h"
}

/* A thread works on RUN neighboring values of a row at a time, a block has WARPS warps. */
enum { WARP = 32, WARPS = 8, RUN = 4 };

/* Windows lie in planes: the rows of a plane are the slices of one view, or the views of one slice. */
struct plane_job {
    int64_t n_planes, n_rows, n, plane_stride, row_stride; /* strides in values */
    int64_t tiles_x, tiles_y;
    double threshold;
    float real; /* the threshold rounded down to what keys are compared in */
    int32_t whole;
    uint32_t flip;
    int size, kind;
    unsigned long long *replaced; /* in each slice */
    bool in_z, aligned;           /* rows have their halo in memory; groups of four values may be moved at once */
};

/* The largest key that the median of a bright outlier can have, the smallest of a dark one. */
template <typename T> static __device__ int32_t outliers_bright_limit(int32_t key, const struct plane_job &job)
{
    if constexpr (std::is_same<T, float>::value)
        return (int32_t)((uint32_t)ts_cuda_key_of(ts_cuda_value_of<float>(key, 0) - job.real, 0) + 1);
    return max(key, INT32_MIN + job.whole) - job.whole;
}

template <typename T> static __device__ int32_t outliers_dark_limit(int32_t key, const struct plane_job &job)
{
    if constexpr (std::is_same<T, float>::value)
        return (int32_t)((uint32_t)ts_cuda_key_of(ts_cuda_value_of<float>(key, 0) + job.real, 0) - 1);
    return min(key, INT32_MAX - job.whole) + job.whole;
}

/* Returns true where the median of a window may be as far from the key as the threshold, if `low` and `high` are the
 * extremes of more than half of the window, or the median itself. */
template <typename T>
static __device__ bool outliers_near(int32_t key, int32_t low, int32_t high, const struct plane_job &job)
{
    return ((job.kind & OUTLIERS_BRIGHT) && low <= outliers_bright_limit<T>(key, job)) ||
           ((job.kind & OUTLIERS_DARK) && high >= outliers_dark_limit<T>(key, job));
}

/* Returns a number whose differences are those of the values. */
template <typename T> static __device__ double outliers_number_of(int32_t key)
{
    return std::is_same<T, float>::value ? (double)ts_cuda_value_of<float>(key, 0) : (double)key;
}

/* Returns the key, or its median, which is counted as replaced. Differences of the values in double decide. */
template <typename T>
static __device__ int32_t outliers_decide(int32_t key, int32_t median, const struct plane_job &job, int *replaced)
{
    const double above = outliers_number_of<T>(key) - outliers_number_of<T>(median);
    const bool outlier = ((job.kind & OUTLIERS_BRIGHT) && above >= job.threshold) ||
                         ((job.kind & OUTLIERS_DARK) && -above >= job.threshold);
    *replaced += outlier;
    return outlier ? median : key;
}

/* Writes the values of RUN keys to to[x] and its neighbors, those before column job.n. whole: in one access. */
template <typename T>
static __device__ void outliers_store(const struct plane_job &job, T *to, int64_t x, bool whole,
                                      const int32_t keys[RUN])
{
    struct __align__(RUN * sizeof(T)) group
    {
        T values[RUN];
    }
    group;
#pragma unroll
    for (int k = 0; k < RUN; k++)
        group.values[k] = ts_cuda_value_of<T>(keys[k], job.flip);
    if (whole) {
        *(struct group *)(to + x) = group;
        return;
    }
#pragma unroll
    for (int k = 0; k < RUN; k++)
        if (x + k < job.n)
            to[x + k] = group.values[k];
}

/* All lanes of a warp add what they replaced in slice z. */
static __device__ inline void outliers_count(const struct plane_job &job, int64_t z, int replaced)
{
    if (!__any_sync(0xFFFFFFFFu, replaced != 0))
        return;
    for (int distance = 16; distance > 0; distance /= 2)
        replaced += __shfl_xor_sync(0xFFFFFFFFu, replaced, distance);
    if (threadIdx.x == 0)
        atomicAdd(&job.replaced[z], (unsigned long long)replaced);
}

/* Handles windows of 3 x 3 and 5 x 5 while rows pass through registers. */
enum ts_status ts_cuda_outliers_march(const struct stage_context *context, const struct ts_image *in,
                                      struct ts_image *out, const struct plane_job *job, const struct cuda_call *call);

#endif
