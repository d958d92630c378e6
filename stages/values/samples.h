/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples of the Poisson and of the Gaussian distribution from a random stream, with the same bytes
 * on the CPU and on CUDA devices: every operation is rounded in the same way on both, including
 * logarithms and exponentials.
 *
 * Poisson with a mean below 10: the distribution function is summed until it exceeds a number that
 * is uniform in (0, 1) (inversion). From 10 on: PTRS, which accepts or rejects the integer below a
 * transformed number by the exact probabilities (W. Hoermann, "The transformed rejection method for
 * generating Poisson random variables", Insurance: Mathematics and Economics 12, 1993). Both are
 * exact except for rounding: 1e-15 of the distribution function below 10; above, the error of a
 * probability's logarithm is about 1e-16 times the mean, or 1e-12 if that is more. Gaussian: the
 * polar method (G. Marsaglia, T. A. Bray, SIAM Review 6, 1964).
 */
#ifndef STAGES_VALUES_SAMPLES_H
#define STAGES_VALUES_SAMPLES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/host_device.h"

/* ---- log exp -----------------------------------------------------------------------------------
 *
 * Logarithm and exponential in double with the same bytes on the CPU and on CUDA devices, whose
 * libraries differ in the last digit. Both are series after a reduction that is exact or nearly so,
 * in plain multiplications, additions and divisions. The relative error is at most 3e-16;
 * test_samples.c measures it. */

/* log 2 in two parts; the first times any exponent is exact. */
#define LOG_2_HIGH 0x1.62e42feep-1
#define LOG_2_LOW 0x1.a39ef35793c76p-33

/* Returns log x of a positive normal number: x = 2^k m with m in [0.707, 1.414), and log m = 2
 * atanh((m - 1) / (m + 1)), whose series is cut behind the 23rd power, 1e-19 of it. */
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

/* Returns e^x; 0 below -708, where results are not normal numbers; infinity above 709; and NaN for
 * NaN. */
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

/* ---- philox ------------------------------------------------------------------------------------
 *
 * Philox 4x32-10: ten rounds of multiplications and exclusive ors turn a counter of 128 bits and a
 * key of 64 into 128 random bits (J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel
 * random numbers: as easy as 1, 2, 3", SC 2011). There is no state: the counter alone gives the
 * numbers, in any order, on any thread and device. A stage makes the counter from a pixel's index
 * in the volume, so slabs do not matter, either. */

struct philox_block {
    uint32_t words[4];
};

TS_HOST_DEVICE struct philox_block ts_philox(struct philox_block counter, uint64_t key)
{
    uint32_t key_0 = (uint32_t)key, key_1 = (uint32_t)(key >> 32), *c = counter.words;
    for (int round = 0; round < 10; round++) {
        const uint64_t even = (uint64_t)0xD2511F53u * c[0], odd = (uint64_t)0xCD9E8D57u * c[2];
        const uint32_t first = (uint32_t)(odd >> 32) ^ c[1] ^ key_0,
                       third = (uint32_t)(even >> 32) ^ c[3] ^ key_1;
        c[0] = first;
        c[1] = (uint32_t)odd;
        c[2] = third;
        c[3] = (uint32_t)even;
        key_0 += 0x9E3779B9u;
        key_1 += 0xBB67AE85u;
    }
    return counter;
}

/* A stream of pairs of numbers that are uniform in (0, 1): draw i of purpose p for pixel n has the
 * counter (n, i, p). */
struct random_stream {
    uint64_t seed, pixel;
    uint32_t purpose, draw;
};
struct random_pair {
    double u, v;
};

/* Returns the middle of one of 2^52 intervals of (0, 1), so that it is never 0 or 1. */
TS_HOST_DEVICE double ts_random_between(uint32_t high, uint32_t low)
{
    return ((double)(((uint64_t)high << 32 | low) >> 12) + 0.5) * 0x1p-52;
}

TS_HOST_DEVICE struct random_pair ts_random_pair(struct random_stream *stream)
{
    const struct philox_block counter = {{(uint32_t)stream->pixel, (uint32_t)(stream->pixel >> 32),
                                          stream->draw++, stream->purpose}};
    const struct philox_block block = ts_philox(counter, stream->seed);
    const struct random_pair pair = {ts_random_between(block.words[0], block.words[1]),
                                     ts_random_between(block.words[2], block.words[3])};
    return pair;
}

/* The largest mean, for which rounding is 1e-6 of a probability; and the mean from which PTRS is
 * used. */
#define POISSON_MEAN_MAX 1e10
#define POISSON_MEAN_PTRS 10

TS_HOST_DEVICE double ts_poisson_by_inversion(double mean, struct random_stream *stream)
{
    const double u = ts_random_pair(stream).u;
    double probability = ts_exp_f64(-mean), sum = probability, k = 0;
    while (u > sum) {
        k += 1;
        probability *= mean / k;
        if (sum + probability == sum) /* u is beyond the last digits of the sum */
            break;
        sum += probability;
    }
    return k;
}

/* Returns log(mean^k e^-mean / k!) for a positive mean and an integer k >= 0, with Stirling's
 * series for k! from k = 10 on. The large parts, k log(mean / k) and k - mean, are computed
 * together. */
TS_HOST_DEVICE double ts_poisson_log_probability(double mean, double k)
{
    if (k < 10) {
        double factorial = 1;
        for (double i = 2; i <= k; i++)
            factorial *= i;
        return k * ts_log_f64(mean) - mean - ts_log_f64(factorial);
    }
    const double r = 1 / k, square = r * r, root_2_pi = 0.91893853320467274178; /* its logarithm */
    const double rest =
        r * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square * (1.0 / 1680))));
    return k * ts_log_f64(mean / k) + (k - mean) - 0.5 * ts_log_f64(k) - root_2_pi - rest;
}

TS_HOST_DEVICE double ts_poisson_by_ptrs(double mean, struct random_stream *stream)
{
    const double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const struct random_pair pair = ts_random_pair(stream);
        const double u = pair.u - 0.5, v = pair.v, us = 0.5 - fabs(u);
        const double k = floor((2 * a / us + b) * u + mean + 0.43);
        if (us >= 0.07 && v <= v_r)
            return k;
        if (k < 0 || (us < 0.013 && v > us))
            continue;
        if (ts_log_f64(v * inverse_alpha / (a / (us * us) + b)) <=
            ts_poisson_log_probability(mean, k))
            return k;
    }
}

/* Returns a sample for a mean in [0, POISSON_MEAN_MAX]. */
TS_HOST_DEVICE double ts_poisson(double mean, struct random_stream *stream)
{
    return mean < POISSON_MEAN_PTRS ? ts_poisson_by_inversion(mean, stream)
                                    : ts_poisson_by_ptrs(mean, stream);
}

/* Returns a sample with mean 0 and standard deviation 1. */
TS_HOST_DEVICE double ts_gaussian(struct random_stream *stream)
{
    for (;;) {
        const struct random_pair pair = ts_random_pair(stream);
        const double x = 2 * pair.u - 1, y = 2 * pair.v - 1, square = x * x + y * y;
        if (square < 1)
            return x * sqrt(-2 * ts_log_f64(square) / square);
    }
}

#endif
