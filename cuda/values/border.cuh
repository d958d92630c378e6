/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions apply the border rules of stages/engine/border.h on the device: they find which
 * sample of a line replaces one outside it.
 *
 *     ts_cuda_border_index    for loops that meet the border often
 *     ts_cuda_border_rarely   for loops whose samples mostly lie inside
 *     ts_cuda_border_apart    a function that is never inlined, for tables that are filled once
 */
#ifndef CUDA_VALUES_BORDER_CUH
#define CUDA_VALUES_BORDER_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/engine/border.h"
}

/* Returns the sample in [0, n) that replaces sample i, or -1 for the constant, as ts_border_index()
 * does. */
static inline __device__ int64_t ts_cuda_border_index(int64_t i, int64_t n, int border)
{
    if (i >= 0 && i < n)
        return i;
    if (border == BORDER_CONSTANT)
        return -1;
    if (border == BORDER_NEAREST)
        return i < 0 ? 0 : n - 1;
    const int64_t period = border == BORDER_REFLECT  ? 2 * n
                           : border == BORDER_MIRROR ? 2 * (n - 1)
                                                     : n;
    if (period == 0)
        return 0;
    /* Most samples are at most one period outside; with a window wider than the image they may be
     * several outside. */
    i = i < 0 ? i + period : i;
    if (i < 0 || i >= period)
        i = ((i % period) + period) % period;
    return i < n ? i : border == BORDER_MIRROR ? period - i : period - 1 - i;
}

/* This is not inlined, because code that rarely runs should not take a loop's registers. */
static __device__ __noinline__ int ts_cuda_border_apart(int i, int n, int border)
{
    return (int)ts_cuda_border_index(i, n, border);
}

static inline __device__ int ts_cuda_border_rarely(int i, int n, int border)
{
    return (unsigned)i < (unsigned)n ? i : ts_cuda_border_apart(i, n, border);
}

#endif
