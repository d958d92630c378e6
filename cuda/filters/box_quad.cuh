/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernels of box's method `fused` share.
 */
#ifndef CUDA_FILTERS_BOX_QUAD_CUH
#define CUDA_FILTERS_BOX_QUAD_CUH

#include "cuda/filters/box.cuh"

/* floor(n / N) of every n <= highest as (n * factor) >> (32 + shift), all in 32 bits; false where there is none. */
struct box_divisor {
    uint32_t factor;
    int shift;
    uint32_t half; /* N / 2, which makes it the nearest integer */
};

static inline bool box_divisor_of(uint64_t count, uint64_t highest, struct box_divisor *divisor)
{
    for (int shift = 0; shift < 31 && highest <= UINT32_MAX; shift++) {
        const unsigned __int128 power = (unsigned __int128)1 << (32 + shift);
        const unsigned __int128 factor = (power + count - 1) / count, excess = factor * count - power;
        if (factor > UINT32_MAX)
            return false;
        if ((unsigned __int128)highest * excess < power) {
            divisor->factor = (uint32_t)factor;
            divisor->shift = shift;
            divisor->half = (uint32_t)(count / 2);
            return true;
        }
    }
    return false;
}

static __device__ __noinline__ int box_border(int i, int n, int border)
{
    return (int)ts_cuda_border_index(i, n, border);
}

template <int BYTES> struct box_raw;
template <> struct box_raw<1> {
    typedef uint32_t type;
};
template <> struct box_raw<2> {
    typedef uint2 type;
};
template <> struct box_raw<4> {
    typedef uint4 type;
};

/* Four values side by side. */
template <typename T> union box_quad {
    typename box_raw<sizeof(T)>::type raw;
    T values[4];
};

#endif
