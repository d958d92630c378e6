/* SPDX-License-Identifier: Apache-2.0
 *
 * Unsigned keys that order as the values of 32-bit types do: all bits of a negative float are turned, the sign of other
 * values. As stages/counting/percentile.c has them.
 */
#ifndef CUDA_VALUES_ORDER_KEYS_CUH
#define CUDA_VALUES_ORDER_KEYS_CUH

#include "cuda/device/launch.cuh"

static __device__ inline uint32_t ts_cuda_order_key(uint32_t value)
{
    return value;
}

static __device__ inline uint32_t ts_cuda_order_key(int32_t value)
{
    return (uint32_t)value ^ 0x80000000u;
}

static __device__ inline uint32_t ts_cuda_order_key(float value)
{
    const uint32_t bits = __float_as_uint(value);
    return bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);
}

static __device__ inline bool ts_cuda_is_finite(uint32_t)
{
    return true;
}

static __device__ inline bool ts_cuda_is_finite(int32_t)
{
    return true;
}

static __device__ inline bool ts_cuda_is_finite(float value)
{
    return fabsf(value) < INFINITY;
}

#endif
