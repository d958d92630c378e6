/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of box's method `fused` share this: the image as they see it (box_image), means of
 * integers as multiplications (box_divisor), and four values as one access (box_quad).
 */
#ifndef CUDA_FILTERS_BOX_QUAD_CUH
#define CUDA_FILTERS_BOX_QUAD_CUH

#include "cuda/filters/box.cuh"

/* Divides by N with a multiplication: floor(n / N) = (n * factor) >> (32 + shift) for every n up to
 * a limit. */
struct box_divisor {
    uint32_t factor;
    int shift;
    uint32_t half; /* N / 2, added first, so that the result is the nearest integer */
};

/* Finds the divisor for n <= highest; false if there is none. */
static inline bool box_divisor_of(uint64_t count, uint64_t highest, struct box_divisor *divisor)
{
    for (int shift = 0; shift < 31 && highest <= UINT32_MAX; shift++) {
        const unsigned __int128 power = (unsigned __int128)1 << (32 + shift);
        const unsigned __int128 factor = (power + count - 1) / count,
                                excess = factor * count - power;
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

/* The image, with which all plans start. Integers of 8 and 16 bits are treated as unsigned, with
 * the sign bit flipped if they are signed. */
struct box_image {
    int64_t nz; /* output slices */
    int ny, nx, border;
    bool aligned;  /* rows start at multiples of 4 elements, so that 4 columns are one access */
    uint32_t sign; /* the sign bit of signed integers, 0 for other types */
    float scale;
    struct box_divisor divisor;
};

/* The type in which samples are summed. */
template <typename T>
using box_sum = typename std::conditional<std::is_same<T, float>::value, float, uint32_t>::type;

template <typename T> using box_word = cuda_word<4 * sizeof(T)>;

/* Four values side by side. */
template <typename T> union box_quad {
    box_word<T> raw;
    T values[4];
};

#endif
