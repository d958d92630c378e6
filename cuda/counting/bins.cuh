/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts in bins of equal width on a CUDA device: stages/counting/bins.h, slot by slot the same.
 */
#ifndef CUDA_COUNTING_BINS_CUH
#define CUDA_COUNTING_BINS_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/counting/bins.h"
}

/* 0 below, 1 to n the bins, n + 1 above, n + 2 NaN: guessed by a multiplication, put right by the edges. */
static __device__ inline int32_t ts_cuda_bin_slot(const struct bins &bins, double value)
{
    const int32_t n = (int32_t)bins.n;
    if (!(value >= bins.low))
        return value != value ? n + 2 : 0;
    if (value > bins.high)
        return n + 1;
    const double guess = (value - bins.low) * bins.per_value, last = (double)(n - 1);
    const int32_t bin = (int32_t)(guess < last ? guess : last);
    const int32_t down = value < bins.low + (double)bin * bins.step;
    const int32_t up = value >= bins.low + (double)(bin + 1) * bins.step;
    const int32_t slot = bin - down + up + 1;
    return slot < n ? slot : n;
}

/* Adds the slices, of 32-bit values, to the u64 slots of *partials, in the bins (most_bins at most) at device address
 * `bins`; or, per_slice, slice i to the slots i * stride bytes further, in the bins i * bins_stride bytes further. */
enum ts_status ts_cuda_bin_counts_add(const struct stage_context *context, const struct ts_image *slices,
                                      const void *bins, size_t bins_stride, size_t most_bins, void *partials,
                                      bool per_slice, size_t stride, const struct cuda_call *call);

#endif
