/* SPDX-License-Identifier: Apache-2.0
 *
 * This reads one value of an image of any element type, for kernels that read images of several
 * types at once and would need an instantiation for each pair. All threads take the same branch.
 */
#ifndef CUDA_VALUES_VALUE_AT_CUH
#define CUDA_VALUES_VALUE_AT_CUH

#include "cuda/device/launch.cuh"

static inline __device__ double ts_cuda_value_at(const void *data, enum ts_dtype dtype, int64_t i)
{
    switch (dtype) {
    case TS_U8:
        return ((const uint8_t *)data)[i];
    case TS_I8:
        return ((const int8_t *)data)[i];
    case TS_U16:
        return ((const uint16_t *)data)[i];
    case TS_I16:
        return ((const int16_t *)data)[i];
    case TS_U32:
        return ((const uint32_t *)data)[i];
    case TS_I32:
        return ((const int32_t *)data)[i];
    default:
        return (double)((const float *)data)[i];
    }
}

#endif
