/* SPDX-License-Identifier: Apache-2.0
 *
 * Value keys are integers with the same order as the values of an image.
 *
 * ts_cuda_key_of() and ts_cuda_value_of() convert to signed 32-bit keys and back, as
 * stages/values/value_keys.h does. T is float or the unsigned integer as wide as a value
 * (TS_CUDA_BIT_TYPES); `flip` is ts_cuda_key_flip() of the image's type. Keys of integers differ
 * from the values only by a constant.
 *
 * ts_cuda_order_key() gives unsigned keys of the 32-bit types, as stages/counting/percentile.c
 * does: it flips all bits of negative floats, and the sign bit of other signed values.
 */
#ifndef CUDA_VALUES_VALUE_KEYS_CUH
#define CUDA_VALUES_VALUE_KEYS_CUH

#include "cuda/device/launch.cuh"

static inline uint32_t ts_cuda_key_flip(enum ts_dtype dtype)
{
    if (dtype == TS_I8)
        return 0x80u;
    if (dtype == TS_I16)
        return 0x8000u;
    return dtype == TS_U32 ? 0x80000000u : 0;
}

template <typename T> static __device__ int32_t ts_cuda_key_of(T value, uint32_t flip)
{
    if constexpr (std::is_same<T, float>::value) {
        const int32_t bits = __float_as_int(value);
        return bits ^ (bits >> 31 & 0x7FFFFFFF);
    } else {
        return (int32_t)(value ^ (T)flip);
    }
}

template <typename T> static __device__ T ts_cuda_value_of(int32_t key, uint32_t flip)
{
    if constexpr (std::is_same<T, float>::value)
        return __int_as_float(key ^ (key >> 31 & 0x7FFFFFFF));
    else
        return (T)key ^ (T)flip;
}

template <typename T> static __device__ inline uint32_t ts_cuda_order_key(T value)
{
    if constexpr (std::is_same<T, float>::value) {
        const uint32_t bits = __float_as_uint(value);
        return bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);
    } else {
        return (uint32_t)value ^ (std::is_signed<T>::value ? 0x80000000u : 0);
    }
}

template <typename T> static __device__ inline bool ts_cuda_is_finite(T value)
{
    return !std::is_same<T, float>::value || fabsf((float)value) < INFINITY;
}

#endif
