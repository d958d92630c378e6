/* SPDX-License-Identifier: Apache-2.0
 *
 * The samples of one axis from which a value between them is made, and their weights. A position is in samples from the
 * first. Positions on the axis reach from -1/2 to n - 1/2, which are the edges of the outermost pixels; beyond the
 * outermost centers these pixels are repeated. Positions count as equal where they differ by less than TAPS_SLACK, so
 * that a grid that coincides with the input's gives the input's values, whatever rounding made of its positions.
 *
 *     nearest   the sample at floor(t + 1/2): halfway between two, the one of the larger index
 *     linear    1 - f, f for the samples at floor(t) and floor(t) + 1, with f = t - floor(t)
 *     cubic     the convolution kernel with a = -1/2 of four samples, which passes through the samples and is exact for
 *               parabolas; also called Catmull-Rom (R. Keys, IEEE Trans. ASSP 29, 1981)
 *
 * A tap of weight 0 plays no part. The weights of a value sum to 1. Where samples are invalid, a linear value is made
 * of the others by leaving out their taps and dividing by the weights that are left. The CPU code and the kernels of
 * cuda/grid/samples.cu share this header, and with it every weight.
 */
#ifndef STAGES_GRID_TAPS_H
#define STAGES_GRID_TAPS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define TAPS_FUNCTION static __host__ __device__ inline
#else
#define TAPS_FUNCTION static inline
#endif

enum interpolation { INTERPOLATION_NEAREST, INTERPOLATION_LINEAR, INTERPOLATION_CUBIC };

enum { TAPS_MOST = 4, TAPS_CORNERS = 8 };
#define TAPS_SLACK 1e-6

struct taps {
    int32_t index[TAPS_MOST];
    float weight[TAPS_MOST];
};

/* Returns how many taps a kind has: 1, 2 or 4. */
TAPS_FUNCTION int ts_taps_count(int interpolation)
{
    return interpolation == INTERPOLATION_NEAREST ? 1 : interpolation == INTERPOLATION_LINEAR ? 2 : 4;
}

TAPS_FUNCTION bool ts_taps_inside(double t, int64_t n)
{
    return t >= -0.5 - TAPS_SLACK && t <= (double)n - 0.5 + TAPS_SLACK;
}

/* Writes the weights at position t and returns the sample before it, which has the first weight, or of a cubic the
 * second. */
TAPS_FUNCTION int32_t ts_taps_weigh(double t, int interpolation, float weight[TAPS_MOST])
{
    const bool nearest = interpolation == INTERPOLATION_NEAREST;
    const double before = floor(t + (nearest ? 0.5 : 0) + TAPS_SLACK), past = t - before,
                 f = nearest || fabs(past) <= TAPS_SLACK ? 0 : past;
    if (interpolation == INTERPOLATION_CUBIC) {
        weight[0] = (float)(((-0.5 * f + 1) * f - 0.5) * f);
        weight[1] = (float)((1.5 * f - 2.5) * f * f + 1);
        weight[2] = (float)(((-1.5 * f + 2) * f + 0.5) * f);
        weight[3] = (float)((0.5 * f - 0.5) * f * f);
    } else {
        weight[0] = (float)(1 - f);
        weight[1] = (float)f;
    }
    return (int32_t)before;
}

/* Finds the taps at position t of an axis of n samples; t must be inside. A tap of weight 0 has the index of the sample
 * before t. */
TAPS_FUNCTION void ts_taps_find(double t, int64_t n, int interpolation, struct taps *taps)
{
    const int count = ts_taps_count(interpolation);
    const int32_t i = ts_taps_weigh(t, interpolation, taps->weight), last = (int32_t)n - 1,
                  from = interpolation == INTERPOLATION_CUBIC ? 1 : 0;
    for (int k = 0; k < count; k++) {
        const int32_t at = taps->weight[k] == 0 ? i : i + k - from;
        taps->index[k] = at < 0 ? 0 : at > last ? last : at;
    }
}

/* Returns the mean of the valid ones of 8 samples, by the linear weights of taps[0] (z), taps[1] (y) and taps[2] (x).
 * Sample 4 i + 2 j + k is that of tap i along x, j along y and k along z; it is valid where that bit is set. */
TAPS_FUNCTION float ts_taps_mean(const struct taps taps[3], const float values[TAPS_CORNERS], unsigned valid)
{
    float sum = 0, weights = 0;
    for (int at = 0; at < TAPS_CORNERS; at++) {
        const float weight = taps[2].weight[at >> 2] * taps[1].weight[at >> 1 & 1] * taps[0].weight[at & 1];
        if ((valid >> at & 1) == 0 || weight == 0)
            continue;
        sum += weight * values[at];
        weights += weight;
    }
    return sum / weights;
}

#endif
