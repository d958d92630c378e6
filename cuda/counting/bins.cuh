/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds the slot of a value among bins of equal width on a CUDA device, the same slot as stages/counting/bins.h
 * finds.
 */
#ifndef CUDA_COUNTING_BINS_CUH
#define CUDA_COUNTING_BINS_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/counting/bins.h"
}

/* Slot 0 is below, 1 to n are the bins, n + 1 is above, and n + 2 NaN. A multiplication guesses the bin, and
 * comparisons with its edges correct the guess. */
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

#endif
