/* SPDX-License-Identifier: Apache-2.0
 *
 * Logarithm and exponential in double with the same bytes on the CPU and on CUDA devices, whose libraries differ in the
 * last digit. Both are series after a reduction that is exact or nearly so, in plain multiplications, additions and
 * divisions. Within 3e-16 of themselves; test_samples.c measures it.
 */
#ifndef STAGES_VALUES_LOG_EXP_H
#define STAGES_VALUES_LOG_EXP_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/host_device.h"

/* log 2 in two parts, of which the first times any exponent is exact. */
#define LOG_2_HIGH 0x1.62e42feep-1
#define LOG_2_LOW 0x1.a39ef35793c76p-33

/* Returns log x of a positive normal number: x = 2^k m with m in [0.707, 1.414), and log m = 2 atanh((m - 1) / (m +
 * 1)), whose series is cut behind the 23rd power, 1e-19 of it. */
TS_HOST_DEVICE double ts_log_f64(double x)
{
    const int64_t root_half = 0x3FE6A09E667F3BCD; /* the bits of sqrt(1/2) */
    int64_t bits;
    double m;
    memcpy(&bits, &x, sizeof bits);
    const int64_t k = (bits - root_half) >> 52;
    bits -= k * ((int64_t)1 << 52);
    memcpy(&m, &bits, sizeof m);
    const double f = m - 1, s = f / (2 + f), square = s * s;
    double sum = 1.0 / 23;
    for (int power = 21; power > 1; power -= 2)
        sum = sum * square + 1.0 / power;
    /* 2 s (1 + square sum) = f - s (f - 2 square sum), in which f is exact and the rest small. */
    return (double)k * LOG_2_HIGH + (f - (s * (f - 2 * square * sum) - (double)k * LOG_2_LOW));
}

/* Returns e^x; 0 below -708, where results are no normal numbers, infinity above 709, and NaN of NaN. */
TS_HOST_DEVICE double ts_exp_f64(double x)
{
    if (!(x >= -708))
        return x < 0 ? 0 : x;
    if (x > 709)
        return (double)INFINITY;
    const double k = floor(x * 0x1.71547652b82fep+0 + 0.5), r = x - k * LOG_2_HIGH - k * LOG_2_LOW;
    const int64_t bits = ((int64_t)k + 1023) * ((int64_t)1 << 52);
    double sum = 1, power;
    for (int i = 14; i > 0; i--)
        sum = 1 + sum * r * (1.0 / i);
    memcpy(&power, &bits, sizeof power);
    return power * sum;
}

#endif
