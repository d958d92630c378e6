/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions compute sums and extremes over the lanes of a warp and the threads of a block,
 * for kernels whose block is a whole number of warps. All lanes (or threads) call these functions
 * together.
 *
 *     ts_cuda_warp_lowest, _highest   the extremes of the lanes' keys, for all lanes
 *     warp_sum, block_sum             the sum, for all lanes or threads
 *     warp_inclusive_sum              the sum up to and with a lane
 *     block_exclusive_sum             the sum of the threads before a thread
 */
#ifndef CUDA_VALUES_REDUCTIONS_CUH
#define CUDA_VALUES_REDUCTIONS_CUH

#include "cuda/device/launch.cuh"

enum { CUDA_WARP = 32, CUDA_BLOCK_WARPS = 32 /* the most warps of a block */ };

template <typename T> static __device__ inline T warp_inclusive_sum(T value)
{
    const unsigned lane = threadIdx.x % CUDA_WARP;
    for (unsigned distance = 1; distance < CUDA_WARP; distance *= 2) {
        const T other = __shfl_up_sync(0xFFFFFFFFu, value, distance);
        value += lane >= distance ? other : 0;
    }
    return value;
}

static __device__ inline uint32_t ts_cuda_warp_lowest(uint32_t value)
{
    for (int distance = CUDA_WARP / 2; distance > 0; distance /= 2)
        value = min(value, __shfl_xor_sync(~0u, value, distance));
    return value;
}

static __device__ inline uint32_t ts_cuda_warp_highest(uint32_t value)
{
    for (int distance = CUDA_WARP / 2; distance > 0; distance /= 2)
        value = max(value, __shfl_xor_sync(~0u, value, distance));
    return value;
}

static __device__ inline uint32_t warp_sum(uint32_t value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xFFFFFFFFu, value);
#else
    for (int distance = CUDA_WARP / 2; distance > 0; distance /= 2)
        value += __shfl_xor_sync(0xFFFFFFFFu, value, distance);
    return value;
#endif
}

/* Returns the sum of the values of all earlier threads; *total becomes the sum of all. `warp_sums`
 * has CUDA_BLOCK_WARPS entries in shared memory. The function starts and ends with a barrier. */
template <typename T>
static __device__ inline T block_exclusive_sum(T value, T *warp_sums, T *total)
{
    const unsigned lane = threadIdx.x % CUDA_WARP, warp = threadIdx.x / CUDA_WARP,
                   n_warps = blockDim.x / CUDA_WARP;
    const T inclusive = warp_inclusive_sum(value);
    __syncthreads();
    if (lane == CUDA_WARP - 1)
        warp_sums[warp] = inclusive;
    __syncthreads();
    const T mine = lane < n_warps ? warp_sums[lane] : 0;
    const T warps = warp_inclusive_sum(mine);
    *total = __shfl_sync(0xFFFFFFFFu, warps, CUDA_WARP - 1);
    const T before = __shfl_sync(0xFFFFFFFFu, warps - mine, warp);
    __syncthreads();
    return before + inclusive - value;
}

template <typename T> static __device__ inline T block_sum(T value, T *warp_sums)
{
    T total;
    block_exclusive_sum(value, warp_sums, &total);
    return total;
}

#endif
