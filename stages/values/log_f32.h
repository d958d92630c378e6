/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes the natural logarithm of positive finite floats with the same bytes on the CPU and
 * on CUDA devices: t = 2^k (1 + f) with 1 + f in [2/3, 4/3), log t = k log 2 + f - f^2/2 + f^3
 * P(f). P is the polynomial of degree 7 with the smallest maximum of the logarithm's relative
 * error, 4.7e-9 (fitted by Lawson's weights, 1961); with rounding, the relative error of the result
 * is at most 9e-8. All operations are plain multiplications and additions, so loops vectorize
 * without fused operations and both devices round alike.
 */
#ifndef STAGES_VALUES_LOG_F32_H
#define STAGES_VALUES_LOG_F32_H

#include <stdint.h>
#include <string.h>

#include "core/host_device.h"

TS_HOST_DEVICE float ts_log_f32(float t)
{
    const int32_t two_thirds = 0x3F2AAAAB; /* the bits of 2/3 */
    const int32_t subnormal = t < 0x1p-126f;
    const float normal = subnormal ? t * 0x1p25f : t;
    int32_t bits;
    float m;
    memcpy(&bits, &normal, sizeof bits);
    bits -= two_thirds;
    const float k = (float)((bits >> 23) - (subnormal ? 25 : 0));
    bits = (bits & 0x7FFFFF) + two_thirds;
    memcpy(&m, &bits, sizeof m);
    const float f = m - 1, square = f * f;
    float p = -0.12891683f;
    p = p * f + 0.13984439f;
    p = p * f - 0.121842615f;
    p = p * f + 0.14005868f;
    p = p * f - 0.16680488f;
    p = p * f + 0.20010406f;
    p = p * f - 0.24999797f;
    p = p * f + 0.33333215f;
    /* log 2 in two parts; the first times k is exact. */
    return k * 0x1.62e4p-1f + (f - (square * 0.5f - (square * f * p + k * 0x1.7f7d1cp-20f)));
}

#endif
