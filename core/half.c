/* SPDX-License-Identifier: Apache-2.0
 *
 * The fraction of a half is rounded by an addition to the float's bits, in which a carry moves on
 * to the exponent. For subnormal halves the sum with 0.5 rounds instead, because its last bit has
 * the value 2^-24. The loop has no branches, so that the compiler makes vectors of it for every
 * processor, with or without conversions of its own: all give the same bits.
 */
#include "core/half.h"

#include <stdbool.h>

#include "core/vectors.h"

/* Bits of floats: the smallest normal half, the first value that rounds to infinity, and infinity
 * itself. */
enum { NORMAL = 0x38800000, TOO_LARGE = 0x477FF000, INFINITE = 0x7F800000 };

/* Returns a or b without a branch, which would keep the compiler from vectorizing. */
static inline int32_t half_choose(bool first, int32_t a, int32_t b)
{
    const int32_t mask = -(int32_t)first;
    return (a & mask) | (b & ~mask);
}

static inline int32_t round_subnormal(int32_t magnitude)
{
    float sum;
    memcpy(&sum, &magnitude, sizeof sum);
    sum += 0.5f;
    memcpy(&magnitude, &sum, sizeof sum);
    return magnitude - 0x3F000000;
}

static inline int32_t round_normal(int32_t magnitude)
{
    const int32_t odd = magnitude >> 13 & 1, bias = (127 - 15) << 23;
    return (magnitude - bias + 0xFFF + odd) >> 13;
}

TS_VECTORIZED float ts_half_round(uint16_t *restrict out, const float *restrict in, size_t n)
{
    int32_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, &in[i], sizeof bits);
        const int32_t magnitude = bits & 0x7FFFFFFF;
        int32_t half =
            half_choose(magnitude < NORMAL, round_subnormal(magnitude), round_normal(magnitude));
        half = half_choose(magnitude < TOO_LARGE, half,
                           half_choose(magnitude > INFINITE, TS_HALF_NAN, 0x7C00));
        const int32_t lost =
            half_choose((magnitude >= TOO_LARGE) & (magnitude < INFINITE), magnitude, 0);
        largest = lost > largest ? lost : largest;
        out[i] = (uint16_t)(half | (bits >> 16 & 0x8000));
    }
    float value;
    memcpy(&value, &largest, sizeof value);
    return value;
}
