/* SPDX-License-Identifier: Apache-2.0
 *
 * The lowest and the highest of the keys that the lanes of a warp hold; all lanes come here.
 */
#ifndef CUDA_VALUES_WARP_RANGE_CUH
#define CUDA_VALUES_WARP_RANGE_CUH

#include "cuda/device/launch.cuh"

static __device__ inline uint32_t ts_cuda_warp_lowest(uint32_t value)
{
    for (int distance = 16; distance > 0; distance /= 2)
        value = min(value, __shfl_xor_sync(~0u, value, distance));
    return value;
}

static __device__ inline uint32_t ts_cuda_warp_highest(uint32_t value)
{
    for (int distance = 16; distance > 0; distance /= 2)
        value = max(value, __shfl_xor_sync(~0u, value, distance));
    return value;
}

#endif
