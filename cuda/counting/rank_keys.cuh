/* SPDX-License-Identifier: Apache-2.0
 *
 * The order keys of stages/counting/label_moments.h: the rank of 8- and 16-bit integers in their type, and all 32 bits
 * of the others.
 */
#ifndef CUDA_COUNTING_RANK_KEYS_CUH
#define CUDA_COUNTING_RANK_KEYS_CUH

#include "cuda/values/value_keys.cuh"

template <typename T> static __device__ inline uint32_t ts_cuda_rank_key(T value)
{
    if constexpr (sizeof(T) == 4)
        return ts_cuda_order_key(value);
    else
        return (uint32_t)((int32_t)value - (std::is_signed<T>::value ? -(1 << (8 * sizeof(T) - 1)) : 0));
}

#endif
