/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds the median of the keys of one window (cuda/values/value_keys.cuh): by a network in
 * registers, as stages/filters/median_network.inc has it, or bit by bit if a window has too many
 * values for that. cuda/filters/median_tile.cuh has the kernels in which neighboring windows share
 * the sort of their columns.
 */
#ifndef CUDA_FILTERS_MEDIAN_CUH
#define CUDA_FILTERS_MEDIAN_CUH

#include <stdint.h>

static __device__ inline void ts_cuda_order(int32_t &a, int32_t &b)
{
    const int32_t low = min(a, b);
    b = max(a, b);
    a = low;
}

/* Half of the keys and two more are kept. The smallest and the largest of them are dropped, the
 * next key is put in, and so on. */
template <int N> static __device__ int32_t ts_cuda_median(const int32_t keys[N])
{
    enum { KEPT = N / 2 + 2 };
    int32_t kept[KEPT];
#pragma unroll
    for (int i = 0; i < KEPT; i++)
        kept[i] = keys[i];
#pragma unroll
    for (int m = KEPT; m >= 3; m--) {
        const int half = m / 2, next = 2 * KEPT - m;
#pragma unroll
        for (int i = 0; i < half; i++)
            ts_cuda_order(kept[i], kept[m - 1 - i]);
#pragma unroll
        for (int i = 1; i < m - half; i++)
            ts_cuda_order(kept[0], kept[i]);
#pragma unroll
        for (int i = half; i < m - 1; i++)
            ts_cuda_order(kept[i], kept[m - 1]);
        if (next < N)
            kept[0] = keys[next];
    }
    return kept[1];
}

/* Returns the median of depth x size x size keys at `window`, whose lines are `stride` keys and
 * whose planes are `plane` keys apart: the largest key of BITS bits that has fewer than half of the
 * keys below it. Keys of 32 bits are signed. */
template <int BITS>
static __device__ int32_t ts_cuda_median_by_bits(const int32_t *window, int stride, int plane,
                                                 int size, int depth)
{
    const uint32_t sign = BITS == 32 ? 0x80000000u : 0;
    const int half = (size * size * depth + 1) / 2;
    uint32_t found = 0;
    for (int bit = BITS - 1; bit >= 0; bit--) {
        const int32_t tried = (int32_t)((found | 1u << bit) ^ sign);
        int smaller = 0;
        for (int slice = 0; slice < depth; slice++)
            for (int row = 0; row < size; row++) {
                const int32_t *line = window + slice * plane + row * stride;
                for (int column = 0; column < size; column++)
                    smaller += line[column] < tried;
            }
        if (smaller < half)
            found |= 1u << bit;
    }
    return (int32_t)(found ^ sign);
}

#endif
