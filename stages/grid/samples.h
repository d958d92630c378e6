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
#include "stages/values/value_range.h"

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
 *     bspline3  the cubic B-spline of four coefficients, which stages/grid/splines.h makes from the
 *               samples
 *     labels    the weights of linear; the label whose weights sum to at least 1/2
 *
 * A tap of weight 0 does not count. The weights of a value sum to 1. If samples are invalid, a
 * linear value is made from the others: their weights are divided by the sum that is left. The CPU
 * code and the kernels of cuda/grid/samples.cu share this header, and with it every weight. */

#ifdef __CUDACC__
#define TAPS_FUNCTION static __host__ __device__ inline
#else
#define TAPS_FUNCTION static inline
#endif

enum interpolation {
    INTERPOLATION_NEAREST,
    INTERPOLATION_LINEAR,
    INTERPOLATION_CUBIC,
    INTERPOLATION_BSPLINE3,
    INTERPOLATION_LABELS
};

/* What is beyond the outermost centers: the outermost sample, or the samples in mirror order, of
 * which the outermost is not repeated. */
enum edge { EDGE_NEAREST, EDGE_MIRROR };

enum { TAPS_MOST = 4, TAPS_CORNERS = 8, TAPS_PAD = 2 };
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
    return interpolation == INTERPOLATION_LINEAR || interpolation == INTERPOLATION_LABELS ? 2 : 4;
}

/* Returns the sample in [0, n) that is taken for sample i. */
TAPS_FUNCTION int64_t ts_edge_index(int64_t i, int64_t n, int edge)
{
    if (i >= 0 && i < n)
        return i;
    if (edge == EDGE_NEAREST || n == 1)
        return i < 0 ? 0 : n - 1;
    const int64_t period = 2 * (n - 1), rest = (i % period + period) % period;
    return rest < n ? rest : period - rest;
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
    } else if (interpolation == INTERPOLATION_BSPLINE3) {
        weight[0] = (float)((1 - f) * (1 - f) * (1 - f) / 6);
        weight[1] = (float)((4 + (3 * f - 6) * f * f) / 6);
        weight[2] = (float)((1 + ((3 - 3 * f) * f + 3) * f) / 6);
        weight[3] = (float)(f * f * f / 6);
    } else {
        weight[0] = (float)(1 - f);
        weight[1] = (float)f;
    }
    return (int32_t)before;
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

/* Returns the corner whose label is taken, by the linear weights of the taps; corners are those of
 * ts_taps_mean. The weights of a label are summed; that with at least 1/2 is taken, of two labels
 * with just that the larger one. Returns -1 if there is none. */
TAPS_FUNCTION int ts_taps_label(const struct taps taps[3], const double values[TAPS_CORNERS])
{
    int best = -1;
    bool same = true;
    for (int i = 1; i < TAPS_CORNERS; i++)
        same = same && values[i] == values[0];
    if (same)
        return 0;
    for (int at = 0; at < TAPS_CORNERS; at++) {
        float sum = 0;
        for (int i = 0; i < TAPS_CORNERS; i++)
            if (values[i] == values[at])
                sum += taps[2].weight[i >> 2] * taps[1].weight[i >> 1 & 1] * taps[0].weight[i & 1];
        if (sum >= 0.5F && (best < 0 || values[at] > values[best]))
            best = at;
    }
    return best;
}

/* Output voxel (i0, i1, i2) = (z, y, x) is at offset[d] + the sum over k of matrix[d][k] * i_k
 * along input axis d. */
struct sampling {
    double matrix[3][3], offset[3];
    int interpolation; /* enum interpolation */
    double outside; /* the value of voxels beyond the edges of the input, which its dtype can hold;
                     * in a masked image they are invalid */
    int64_t n_in[3], n_out[3];
    int edge; /* enum edge */
    bool
        nearest[3]; /* true for an axis whose nearest sample is taken, whatever the interpolation */
    double sigma[3];    /* of the Gaussian that smooths the input before, in samples; 0: none */
    bool clips_slices;  /* values are clipped to the range of the input slice they are made from */
    const float *range; /* values are clipped to [range[0], range[1]]; with clips_slices, those of
                         * input slice i at 2 i; NULL: they are not */
    int pad; /* TAPS_PAD if taps are taken from coefficients (stages/grid/splines.h), which begin as
              * many samples before the first; else 0 */
};

/* Finds the taps of a kind at position t of input axis d; t must be inside. Without padding a tap
 * of weight 0 has the index of the sample before t. */
TAPS_FUNCTION void ts_sampling_taps(const struct sampling *sampling, int d, double t,
                                    int interpolation, struct taps *taps)
{
    const int count = ts_taps_count(interpolation), from = count == 4 ? 1 : 0;
    const bool nearest = sampling->nearest[d];
    const int32_t i =
        ts_taps_weigh(t, nearest ? INTERPOLATION_NEAREST : interpolation, taps->weight);
    for (int k = 0; nearest && k < count; k++)
        taps->weight[k] = k == from ? 1 : 0;
    for (int k = 0; k < count; k++) {
        const int64_t at = taps->weight[k] == 0 && sampling->pad == 0 ? i : i + k - from;
        taps->index[k] =
            (int32_t)(sampling->pad > 0 ? at + sampling->pad
                                        : ts_edge_index(at, sampling->n_in[d], sampling->edge));
    }
}

/* The choices of a parameter `interpolation`, which a stage's table has together with `outside`:
 * those of all stages, and those of resample. */
extern const struct choice ts_interpolation_choices[], ts_resample_choices[];
#define INTERPOLATION_DOC "how values between samples are made"
#define OUTSIDE_PARAM(type)                                                                        \
    PARAM(type, outside, .unit = "value", .derived = TS_AIR_WORDS,                                 \
          .old = {.until = 1, .init.r = 0},                                                        \
          .doc = "the value of pixels beyond the edges of the input")
#define SAMPLING_PARAMS(type)                                                                      \
    PARAM(type, interpolation, .unit = "", .choices = ts_interpolation_choices,                    \
          .derived = "nearest for masks and labels, else linear", .doc = INTERPOLATION_DOC),       \
        OUTSIDE_PARAM(type)

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

/* Turns a range that was found into that of struct sampling. */
void ts_sampling_range(const struct value_range *found, float range[2]);
/* Returns true if slices stay slices, rows stay rows and columns stay columns: z depends only on
 * the slice, y on the slice and the row, and x on the slice and the column. The taps are then found
 * once for each row and column. */
bool ts_sampling_is_aligned(const struct sampling *sampling);
/* Returns the bytes of scratch of ts_sampling_map for n output slices. */
size_t ts_sampling_scratch(const struct sampling *sampling, int64_t n, int threads);
/* Returns the samples along z, not limited to those of the input, that output slices [first, end)
 * can have taps at. */
struct stage_slices ts_sampling_span(const struct sampling *sampling, int64_t first, int64_t end);
/* Makes the slices of `out` from those of `in`, which are the slab that ts_sampling_reads states,
 * in host memory. If `in` has bits of valid pixels, invalid ones do not count, and the bits of
 * `out` are written. */
void ts_sampling_map(const struct sampling *sampling, const struct ts_image *in,
                     struct ts_image *out, void *scratch, int threads);

#endif
