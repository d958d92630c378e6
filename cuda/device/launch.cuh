/* SPDX-License-Identifier: Apache-2.0
 *
 * Every .cu file includes this first. It includes the C headers that all need, for C++; further C
 * headers go into an extern "C" block.
 */
#ifndef CUDA_DEVICE_LAUNCH_CUH
#define CUDA_DEVICE_LAUNCH_CUH

#include <cuda_runtime.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <type_traits>

extern "C" {
#include "cuda/device/launch.h"
}

/* Returns a context for kernels that belong to no stage of a chain; messages use the name of
 * `stage`. */
static inline struct stage_context ts_cuda_context(const struct stage *stage,
                                                   const struct device_numbers *device,
                                                   struct ts_diag *diag)
{
    struct stage_context context = {};
    context.stage = stage;
    context.device = device;
    context.diag = diag;
    return context;
}

#define TS_CUDA_CASE(label, ...)                                                                   \
    case label:                                                                                    \
        __VA_ARGS__;                                                                               \
        break;

/* Calls MACRO(C type) for the image's dtype, so that a template is instantiated once for each
 * dtype. */
#define TS_CUDA_DTYPES(dtype, MACRO)                                                               \
    switch (dtype) {                                                                               \
        TS_CUDA_CASE(TS_U8, MACRO(uint8_t))                                                        \
        TS_CUDA_CASE(TS_I8, MACRO(int8_t))                                                         \
        TS_CUDA_CASE(TS_U16, MACRO(uint16_t))                                                      \
        TS_CUDA_CASE(TS_I16, MACRO(int16_t))                                                       \
        TS_CUDA_CASE(TS_U32, MACRO(uint32_t))                                                      \
        TS_CUDA_CASE(TS_I32, MACRO(int32_t))                                                       \
    default:                                                                                       \
        MACRO(float);                                                                              \
    }

/* Does the same for u32, i32 and f32 only, if integers of 8 and 16 bits are handled in a different
 * way. */
#define TS_CUDA_DTYPES_32(dtype, MACRO)                                                            \
    switch (dtype) {                                                                               \
        TS_CUDA_CASE(TS_U32, MACRO(uint32_t))                                                      \
        TS_CUDA_CASE(TS_I32, MACRO(int32_t))                                                       \
    default:                                                                                       \
        MACRO(float);                                                                              \
    }

/* Does the same if only the bits matter: the type is float, or the unsigned integer of the same
 * width as a value. */
#define TS_CUDA_BIT_TYPES(dtype, MACRO)                                                            \
    switch (dtype) {                                                                               \
    case TS_U8:                                                                                    \
        TS_CUDA_CASE(TS_I8, MACRO(uint8_t))                                                        \
    case TS_U16:                                                                                   \
        TS_CUDA_CASE(TS_I16, MACRO(uint16_t))                                                      \
    case TS_U32:                                                                                   \
        TS_CUDA_CASE(TS_I32, MACRO(uint32_t))                                                      \
    default:                                                                                       \
        MACRO(float);                                                                              \
    }

/* Does the same for stages that only move values, with one instantiation for each element size. */
#define TS_CUDA_WORDS(dtype, MACRO)                                                                \
    switch (ts_dtype_bytes(dtype)) {                                                               \
        TS_CUDA_CASE(1, MACRO(uint8_t))                                                            \
        TS_CUDA_CASE(2, MACRO(uint16_t))                                                           \
    default:                                                                                       \
        MACRO(uint32_t);                                                                           \
    }

/* The type with which one access moves 4, 8 or 16 bytes. */
template <int BYTES>
using cuda_word =
    typename std::conditional<BYTES == 4, uint32_t,
                              typename std::conditional<BYTES == 8, uint2, uint4>::type>::type;

/* Returns ceil(a / b) of positive numbers. */
static inline __host__ __device__ int64_t ts_cuda_parts(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Returns how many blocks of this many threads the device holds at once, if threads are the only
 * limit. */
static inline int64_t ts_cuda_blocks_at_once(const struct stage_context *context, int threads)
{
    return (int64_t)context->device->multiprocessors * (context->device->threads / threads);
}

#endif
