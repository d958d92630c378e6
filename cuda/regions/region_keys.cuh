/* SPDX-License-Identifier: Apache-2.0
 *
 * The key by which the stages of this room compare values; it is that of
 * stages/values/value_keys.h.
 */
#ifndef CUDA_REGIONS_REGION_KEYS_CUH
#define CUDA_REGIONS_REGION_KEYS_CUH

#include "cuda/device/launch.cuh"

template <typename T> static __device__ inline int32_t ts_cuda_region_key(T value)
{
    if constexpr (std::is_same<T, float>::value) {
        const int32_t bits = __float_as_int(value);
        return bits ^ (bits >> 31 & 0x7FFFFFFF);
    } else {
        return std::is_same<T, uint32_t>::value ? (int32_t)((uint32_t)value ^ 0x80000000u)
                                                : (int32_t)value;
    }
}

#endif
