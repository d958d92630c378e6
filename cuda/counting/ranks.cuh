/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks of percentiles, and where they lie in counts that a block holds in runs. As stages/counting/percentile.c.
 */
#ifndef CUDA_COUNTING_RANKS_CUH
#define CUDA_COUNTING_RANKS_CUH

#include "cuda/device/launch.cuh"

enum { RANK_THREADS = 1024 };

/* Rank of a percentile of n > 0 values, and the next one. */
static __device__ inline uint64_t ts_cuda_rank(uint64_t n, double percent, bool next)
{
    const double whole = floor((double)(n - 1) * (percent / 100));
    const uint64_t rank = (uint64_t)whole < n - 1 ? (uint64_t)whole : n - 1;
    return next && rank + 1 < n ? rank + 1 : rank;
}

/* The sum of the values of the block's earlier threads; *total that of all. All RANK_THREADS call it. */
static __device__ inline uint64_t ts_cuda_sum_before(uint64_t value, uint64_t *total)
{
    __shared__ uint64_t sums[RANK_THREADS];
    sums[threadIdx.x] = value;
    __syncthreads();
    for (unsigned stride = 1; stride < RANK_THREADS; stride *= 2) {
        const uint64_t before = threadIdx.x >= stride ? sums[threadIdx.x - stride] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    *total = sums[RANK_THREADS - 1];
    const uint64_t before = sums[threadIdx.x] - value;
    __syncthreads();
    return before;
}

#endif
