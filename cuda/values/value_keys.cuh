/* SPDX-License-Identifier: Apache-2.0
 *
 * Signed 32-bit keys in the order of an image's values, as stages/values/value_keys.h has them. T is float or the
 * unsigned integer as wide as a value; `flip` is ts_cuda_key_flip() of the image's type. Keys of integers differ from
 * their values by a constant at most.
 */
#ifndef CUDA_VALUES_VALUE_KEYS_CUH
#define CUDA_VALUES_VALUE_KEYS_CUH

#include <type_traits>

#include "cuda/device/launch.cuh"

static inline uint32_t ts_cuda_key_flip(enum ts_dtype dtype)
{
    return dtype == TS_I8 ? 0x80u : dtype == TS_I16 ? 0x8000u : dtype == TS_U32 ? 0x80000000u : 0;
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

/* Calls MACRO(T). */
#define TS_CUDA_KEY_TYPES(dtype, MACRO)                                                                                \
    switch (dtype) {                                                                                                   \
    case TS_U8:                                                                                                        \
    case TS_I8:                                                                                                        \
        MACRO(uint8_t);                                                                                                \
        break;                                                                                                         \
    case TS_U16:                                                                                                       \
    case TS_I16:                                                                                                       \
        MACRO(uint16_t);                                                                                               \
        break;                                                                                                         \
    case TS_U32:                                                                                                       \
    case TS_I32:                                                                                                       \
        MACRO(uint32_t);                                                                                               \
        break;                                                                                                         \
    default:                                                                                                           \
        MACRO(float);                                                                                                  \
        break;                                                                                                         \
    }

#endif
