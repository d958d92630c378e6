/* SPDX-License-Identifier: Apache-2.0
 *
 * First include of every .cu file: the C headers as C++ sees them. Further C headers go into an extern "C" block.
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

extern "C" {
#include "cuda/device/launch.h"
}

/* Calls MACRO(C type) for the image's dtype, so that a template is instantiated once for each dtype. */
#define TS_CUDA_DTYPES(dtype, MACRO)                                                                                   \
    switch (dtype) {                                                                                                   \
    case TS_U8:                                                                                                        \
        MACRO(uint8_t);                                                                                                \
        break;                                                                                                         \
    case TS_I8:                                                                                                        \
        MACRO(int8_t);                                                                                                 \
        break;                                                                                                         \
    case TS_U16:                                                                                                       \
        MACRO(uint16_t);                                                                                               \
        break;                                                                                                         \
    case TS_I16:                                                                                                       \
        MACRO(int16_t);                                                                                                \
        break;                                                                                                         \
    case TS_U32:                                                                                                       \
        MACRO(uint32_t);                                                                                               \
        break;                                                                                                         \
    case TS_I32:                                                                                                       \
        MACRO(int32_t);                                                                                                \
        break;                                                                                                         \
    default:                                                                                                           \
        MACRO(float);                                                                                                  \
        break;                                                                                                         \
    }

/* The same for stages that only move values: a template is instantiated once for each element size. */
#define TS_CUDA_WORDS(dtype, MACRO)                                                                                    \
    switch (ts_dtype_bytes(dtype)) {                                                                                   \
    case 1:                                                                                                            \
        MACRO(uint8_t);                                                                                                \
        break;                                                                                                         \
    case 2:                                                                                                            \
        MACRO(uint16_t);                                                                                               \
        break;                                                                                                         \
    default:                                                                                                           \
        MACRO(uint32_t);                                                                                               \
        break;                                                                                                         \
    }

/* Returns ceil(a / b) of positive numbers. */
static inline __host__ __device__ int64_t ts_cuda_parts(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

#endif
