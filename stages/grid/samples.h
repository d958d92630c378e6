/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions compute the values of a volume at the voxels of a different grid. The grid is
 * given by an affine map from indices of the output to positions in the input, in samples; values
 * between samples are made by one of the interpolations of the taps below. resample and unshear
 * only describe the map. The CUDA code is cuda/grid/samples.cuh.
 *
 * A value is the sum over x of wx * (the sum over y of wy * (the sum over z of wz * sample)), in
 * float and in the order of rising indices on both devices, so that integers have the same bytes.
 * They are rounded half to even and saturated.
 */
#ifndef STAGES_GRID_SAMPLES_H
#define STAGES_GRID_SAMPLES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "stages/engine/validity.h"

/* ---- taps --------------------------------------------------------------------------------------
 *
 * The samples of one axis from which a value between them is made, and their weights. A position is
 * in samples from the first. Positions on the axis reach from -1/2 to n - 1/2, which are the edges
 * of the outermost pixels; beyond the outermost centers these pixels are repeated. Positions that
 * differ by less than TAPS_SLACK count as equal, so that a grid that coincides with the input's
 * gives the input's values despite rounding of its positions.
 *
 *     nearest   the sample at floor(t + 1/2): halfway between two, the one of the larger index
 *     linear    1 - f, f for the samples at floor(t) and floor(t) + 1, with f = t - floor(t)
 *     cubic     the convolution kernel with a = -1/2 of four samples, which passes through the
 *               samples and is exact for parabolas; also called Catmull-Rom (R. Keys, IEEE Trans.
 *               ASSP 29, 1981)
 *
 * A tap of weight 0 does not count. The weights of a value sum to 1. If samples are invalid, a
 * linear value is made from the others: their weights are divided by the sum that is left. The CPU
 * code and the kernels of cuda/grid/samples.cu share this header, and with it every weight. */

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
    if (interpolation == INTERPOLATION_NEAREST)
        return 1;
    return interpolation == INTERPOLATION_LINEAR ? 2 : 4;
}

TAPS_FUNCTION bool ts_taps_inside(double t, int64_t n)
{
    return t >= -0.5 - TAPS_SLACK && t <= (double)n - 0.5 + TAPS_SLACK;
}

/* Writes the weights at position t, and returns the sample before it, which has the first weight,
 * or for cubic the second. */
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

/* Finds the taps at position t of an axis of n samples; t must be inside. A tap of weight 0 has the
 * index of the sample before t. */
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

/* Returns the mean of the valid ones of 8 samples, by the linear weights of taps[0] (z), taps[1]
 * (y) and taps[2] (x). Sample 4 i + 2 j + k is that of tap i along x, j along y and k along z; it
 * is valid if that bit of `valid` is set. */
TAPS_FUNCTION float ts_taps_mean(const struct taps taps[3], const float values[TAPS_CORNERS],
                                 unsigned valid)
{
    float sum = 0, weights = 0;
    for (int at = 0; at < TAPS_CORNERS; at++) {
        const float weight =
            taps[2].weight[at >> 2] * taps[1].weight[at >> 1 & 1] * taps[0].weight[at & 1];
        if ((valid >> at & 1) == 0 || weight == 0)
            continue;
        sum += weight * values[at];
        weights += weight;
    }
    return sum / weights;
}

/* Output voxel (i0, i1, i2) = (z, y, x) is at offset[d] + the sum over k of matrix[d][k] * i_k
 * along input axis d. */
struct sampling {
    double matrix[3][3], offset[3];
    int interpolation; /* enum interpolation */
    double outside; /* the value of voxels beyond the edges of the input, which its dtype can hold;
                     * in a masked image they are invalid */
    int64_t n_in[3], n_out[3];
};

/* The choices of a parameter `interpolation`, which a stage's table has together with `outside`. */
extern const struct choice ts_interpolation_choices[];
#define SAMPLING_PARAMS(type)                                                                      \
    PARAM(type, interpolation, .unit = "", .choices = ts_interpolation_choices,                    \
          .derived = "nearest for masks and labels, else linear",                                  \
          .doc = "how values between samples are made"),                                           \
        PARAM(type, outside, .unit = "value", .derived = TS_AIR_WORDS,                             \
              .old = {.until = 1, .init.r = 0},                                                    \
              .doc = "the value of pixels beyond the edges of the input")

/* Fills in the parameters above. */
void ts_sampling_defaults(const struct stage_context *context, int32_t *interpolation,
                          double *outside);
/* Returns the position along input axis d of an output voxel. */
static inline double ts_sampling_position(const struct sampling *sampling, int d, int64_t z,
                                          int64_t y, int64_t x)
{
    const double *row = sampling->matrix[d];
    return sampling->offset[d] + (double)z * row[0] + (double)y * row[1] + (double)x * row[2];
}

/* Returns true if slices stay slices, rows stay rows and columns stay columns: z depends only on
 * the slice, y on the slice and the row, and x on the slice and the column. The taps are then found
 * once for each row and column. */
bool ts_sampling_is_aligned(const struct sampling *sampling);
/* Returns the bytes of scratch of ts_sampling_map. */
size_t ts_sampling_scratch(const struct sampling *sampling, int threads);
/* Makes the slices of `out` from those of `in`, which are the slab that ts_sampling_reads states,
 * in host memory. If `in` has bits of valid pixels, invalid ones do not count, and the bits of
 * `out` are written. */
void ts_sampling_map(const struct sampling *sampling, const struct ts_image *in,
                     struct ts_image *out, void *scratch, int threads);

#endif
