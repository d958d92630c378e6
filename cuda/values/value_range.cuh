/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds the smallest and the largest finite value, and counts NaN and infinite values, as
 * stages/values/value_range.h does, for launchers. It only adds integers and compares keys, so any
 * grouping of slices, blocks and slabs gives the same bytes.
 */
#ifndef CUDA_VALUES_VALUE_RANGE_CUH
#define CUDA_VALUES_VALUE_RANGE_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/values/value_range.h"
}

/* Zero bytes are an empty range. A key is the value's rank in its type: for signed integers, the
 * bits with the sign bit flipped; for floats, all bits flipped if negative, else only the sign bit.
 * Only finite values count for `not_low` and `high`. */
struct cuda_value_range {
    unsigned long long n, n_nan, n_infinite; /* n: number of all values */
    uint32_t not_low, high;                  /* ~lowest key, and the highest key */
};

static inline __host__ __device__ double ts_cuda_value_of_key(uint32_t key, enum ts_dtype dtype)
{
    switch (dtype) {
    case TS_I8:
        return (double)(int8_t)(key ^ 0x80);
    case TS_I16:
        return (double)(int16_t)(key ^ 0x8000);
    case TS_I32:
        return (double)(int32_t)(key ^ 0x80000000u);
    case TS_F32: {
        const uint32_t bits = key ^ (key >> 31 ? 0x80000000u : 0xFFFFFFFFu);
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    default:
        return (double)key;
    }
}

/* Returns the range in a partial; also for use on the device. */
static inline __host__ __device__ struct value_range
ts_cuda_value_range_collect(const struct cuda_value_range *partial, enum ts_dtype dtype)
{
    struct value_range range;
    range.n_finite = partial->n - partial->n_nan - partial->n_infinite;
    range.n_nan = partial->n_nan;
    range.n_infinite = partial->n_infinite;
    range.low = range.n_finite ? ts_cuda_value_of_key(~partial->not_low, dtype) : 0;
    range.high = range.n_finite ? ts_cuda_value_of_key(partial->high, dtype) : 0;
    return range;
}

/* Adds the slices to *partials or, with per_slice, slice i to the partial that is i * stride bytes
 * further. */
enum ts_status ts_cuda_value_range_add(const struct stage_context *context,
                                       const struct ts_image *slices, void *partials,
                                       bool per_slice, size_t stride, const struct cuda_call *call);

#endif
