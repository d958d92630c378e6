/* SPDX-License-Identifier: Apache-2.0
 *
 * Halves are IEEE 754 binary16 numbers: a sign, 5 bits of exponent, 10 of fraction. Outputs may be
 * stored as halves; stages never see them. Rounding goes to the nearest half, ties to even. Its
 * error is at most 2^-11 of a value from 2^-14 (6.1e-5) on; smaller ones become multiples of 2^-24,
 * with an error of at most 2^-25. Infinities stay, and every NaN becomes the quiet one without
 * payload, with its sign. Source: IEEE 754-2019.
 */
#ifndef CORE_HALF_H
#define CORE_HALF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TS_HALF_MOST 65504.0 /* the largest finite half */
enum { TS_HALF_NAN = 0x7E00 };

/* Rounds n floats to halves, and returns the largest magnitude among the finite values that became
 * infinities (65,520 or more), or 0 if there is none. `out` and `in` must not overlap. */
float ts_half_round(uint16_t *out, const float *in, size_t n);

/* Returns the value of a half, exactly. */
static inline float ts_half_value(uint16_t half)
{
    /* This makes a float with the half's fraction, 2^-112 times too small; multiplying by 2^112
     * also normalizes subnormal halves. */
    uint32_t bits = (uint32_t)(half & 0x7FFF) << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;
    memcpy(&bits, &value, sizeof bits);
    if ((half & 0x7C00) == 0x7C00)
        bits |= 0x7F800000;
    bits |= (uint32_t)(half & 0x8000) << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
