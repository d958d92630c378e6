/* SPDX-License-Identifier: Apache-2.0
 *
 * The generator and the samplers are written down a second time from their papers, with the
 * logarithm, exponential and gamma function of the C library. A sample could differ where a
 * comparison hangs on a last digit, which none of the tests' seeds meets.
 */
#include "tests/stages/scan/noise_oracle.h"

#include <math.h>

#include "stages/scan/noise.h"

/* Leaves a pair of numbers within (0, 1) of draw `draw`. */
static void draw_pair(uint64_t seed, uint64_t pixel, uint32_t purpose, uint32_t draw,
                      double pair[2])
{
    uint32_t c[4] = {(uint32_t)(pixel & 0xFFFFFFFF), (uint32_t)(pixel >> 32), draw, purpose};
    for (uint32_t round = 0; round < 10; round++) {
        const uint32_t k0 = (uint32_t)seed + round * 0x9E3779B9u,
                       k1 = (uint32_t)(seed >> 32) + round * 0xBB67AE85u;
        const uint64_t p0 = (uint64_t)c[0] * 0xD2511F53u, p1 = (uint64_t)c[2] * 0xCD9E8D57u;
        const uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1,
                                  (uint32_t)(p0 >> 32) ^ c[3] ^ k1, (uint32_t)p0};
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
    }
    for (int i = 0; i < 2; i++) {
        const uint64_t bits = (uint64_t)c[2 * i] << 20 | c[2 * i + 1] >> 12;
        pair[i] = ldexp((double)bits + 0.5, -52);
    }
}

static double poisson(double mean, uint64_t seed, uint64_t pixel)
{
    double pair[2];
    draw_pair(seed, pixel, 0, 0, pair);
    if (mean < 10) {
        double below = exp(-mean);
        int k = 0;
        while (pair[0] > below && k < 200) {
            k++;
            below += exp(k * log(mean) - mean - lgamma(k + 1.0));
        }
        return k;
    }
    const double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b,
                 alpha = 1 / (1.1239 + 1.1328 / (b - 3.4));
    for (uint32_t draw = 1;; draw++) {
        const double u = pair[0] - 0.5, us = 0.5 - fabs(u),
                     k = floor((2 * a / us + b) * u + mean + 0.43);
        if (us >= 0.07 && pair[1] <= 0.9277 - 3.6224 / (b - 2))
            return k;
        const bool inside = k >= 0 && !(us < 0.013 && pair[1] > us);
        if (inside && log(pair[1]) - log(alpha) - log(a / (us * us) + b) <=
                          k * log(mean) - mean - lgamma(k + 1))
            return k;
        draw_pair(seed, pixel, 0, draw, pair);
    }
}

static double gaussian(uint64_t seed, uint64_t pixel)
{
    double pair[2], square = 2;
    for (uint32_t draw = 0; square >= 1; draw++) {
        draw_pair(seed, pixel, 1, draw, pair);
        square = pow(2 * pair[0] - 1, 2) + pow(2 * pair[1] - 1, 2);
    }
    return (2 * pair[0] - 1) * sqrt(-2 * log(square) / square);
}

static double count_of(const struct stage_context *context, double value, size_t pixel)
{
    const struct noise_params *params = context->params;
    const double share = context->in.quantity == TS_LINE_INTEGRAL ? exp(-value) : fmax(value, 0);
    const double mean = share * params->photons, electronic = params->electronic;
    if (!isfinite(value) || mean > 1e10)
        return NAN;
    return poisson(mean, (uint64_t)params->seed, pixel) +
           (electronic > 0 ? electronic * gaussian((uint64_t)params->seed, pixel) : 0);
}

void ts_noise_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct noise_params *params = context->params;
    const double lowest = params->nonpositive == NOISE_FLOOR ? params->floor : 0;
    for (size_t i = 0; i < ts_image_count(&context->in); i++) {
        const double count = count_of(context, in[i], i);
        if (context->in.quantity != TS_LINE_INTEGRAL)
            out[i] = count / params->photons;
        else
            out[i] = count > 0 || lowest > 0
                         ? log(params->photons) - log(count < lowest ? lowest : count)
                         : (double)NAN;
        if (isnan(count))
            out[i] = NAN;
    }
}

void ts_noise_oracle_tables(const struct stage_context *context, const double *in,
                            const double *out, struct bench_tables *tables)
{
    const double lowest = ((const struct noise_params *)context->params)->floor;
    double *floored = ts_bench_table(tables, "floored"),
           *nonpositive = ts_bench_table(tables, "nonpositive");
    const size_t slice = ts_slice_count(&context->in);
    (void)out;
    for (size_t i = 0; i < ts_image_count(&context->in); i++) {
        const double count = count_of(context, in[i], i);
        if (floored)
            floored[i / slice] += count < lowest;
        if (nonpositive)
            nonpositive[i / slice] += count <= 0;
    }
}
