/* SPDX-License-Identifier: Apache-2.0
 *
 * n4: correction of the bias field of MR images (N. J. Tustison et al., "N4ITK: improved N3 bias
 * correction", IEEE Trans. Med. Imaging 29, 2010). The reduction gathers the logarithms of the
 * voxels that count, of which every shrink-th along each axis is taken. Its finish() finds the
 * field, and the map divides by it. The field's logarithm is a tensor product of cubic B-splines:
 *
 *     f(z, y, x) = sum over k, m, l in 0..3 of b_k(z) b_m(y) b_l(x) c[s_z + k][s_y + m][s_x + l],
 *
 * where s is the span in which a voxel is. One iteration at one level:
 *
 *     1. u = log v - f, its range, and its histogram, where each value is split between two bins;
 *     2. sharpening (J. G. Sled et al., 1998): the histogram is deconvolved by a Gaussian with a
 *        Wiener filter; E[u] is the mean of what u was before the blurring;
 *     3. r = u - E[u] is approximated by B-splines (S. Lee et al., 1997): the coefficient
 *        c += sum w b^3 r / S / sum w b^2, where b is the product of the three factors, S the sum
 *        of the squares of all 64, and w the weight of a voxel.
 *
 * All sums of step 3 are tensor products too, so rows, then columns, then slices are summed. The
 * histogram is counted in integers, and float sums have an order that depends on the image alone.
 * This header has what the CPU and CUDA share.
 */
#ifndef STAGES_INTENSITY_N4_H
#define STAGES_INTENSITY_N4_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/host_device.h"
#include "core/memory.h"
#include "stages/engine/stage.h"

struct n4_params {
    struct ts_reference mask, weights;
    int64_t shrink;
    struct ts_numbers iterations;
    double threshold;
    struct ts_numbers control_points;
    double spline_distance;
    int64_t bins;
    double fwhm, noise;
    int32_t convention; /* enum n4_convention */
    bool field;
};

enum n4_convention { N4_ITK, N4_EXACT };
enum { N4_MASK, N4_WEIGHTS }; /* references */
enum {
    N4_TAPS = 4, /* B-splines that overlap in a span */
    N4_LEVELS_MAX = 8,
    N4_BINS_MAX = 1024,
    N4_PADDED_MAX = 2 * N4_BINS_MAX, /* of the histogram while it is deconvolved */
    N4_FRACTION_BITS = 20            /* of a value's place between two bins */
};

/* One axis (0: z). Sample i is voxel first + i * step, and counts as being at sample_first + i *
 * sample_step; the place of voxel j in spans of level 0, of which there are `spans`, is j * scale +
 * offset. */
struct n4_axis {
    int64_t n, samples, first, step, spans;
    double sample_first, sample_step, scale, offset;
};
struct n4_grid {
    struct n4_axis axes[3];
    int levels;
    int64_t most; /* iterations of the level that has most */
};
struct n4_grid ts_n4_grid(const struct stage_context *context);

/* These return the number of samples, and of control points of a level along an axis and of all. */
static inline int64_t ts_n4_samples(const struct n4_grid *grid)
{
    return grid->axes[0].samples * grid->axes[1].samples * grid->axes[2].samples;
}
static inline int64_t ts_n4_points(const struct n4_grid *grid, int level, int d)
{
    return (grid->axes[d].spans << level) + N4_TAPS - 1;
}
static inline int64_t ts_n4_lattice(const struct n4_grid *grid, int level)
{
    return ts_n4_points(grid, level, 0) * ts_n4_points(grid, level, 1) *
           ts_n4_points(grid, level, 2);
}

/* Returns the place of sample or voxel i in spans of a level, and the span in which that is. */
static inline double ts_n4_place_along(const struct n4_axis *axis, int level, bool all_voxels,
                                       int64_t i)
{
    const double voxel =
        all_voxels ? (double)i : axis->sample_first + (double)i * axis->sample_step;
    return (voxel * axis->scale + axis->offset) * (double)(1 << level);
}
static inline int32_t ts_n4_span(const struct n4_axis *axis, int level, double place)
{
    const int64_t whole = (int64_t)floor(place), last = (axis->spans << level) - 1,
                  below = whole < last ? whole : last;
    return (int32_t)(below > 0 ? below : 0);
}

/* The factors of an axis at one level, of n places: the span of place i, and at [i * N4_TAPS + k]
 * those for the field (b), for r (b^3 / S) and for the weights (b^2). */
struct n4_taps {
    int32_t *spans;
    float *field, *residual, *square;
};
/* Places the arrays in a layout (core/memory.h). */
struct n4_taps ts_n4_taps(struct memory_layout *layout, int64_t n);
/* Fills them for the samples of an axis, or for all its voxels. */
void ts_n4_taps_fill(const struct n4_axis *axis, int level, bool all_voxels,
                     const struct n4_taps *taps);

/* What finish() leaves, in one array of doubles: the number of samples that counted, the iterations
 * of each level, the convergence after each iteration (NaN: there was none), and the control points
 * of the last level. */
struct n4_record {
    double *counted, *iterations, *convergence, *lattice;
};
static inline size_t ts_n4_record_doubles(const struct n4_grid *grid)
{
    return 1 + (size_t)grid->levels * (size_t)(1 + grid->most) +
           (size_t)ts_n4_lattice(grid, grid->levels - 1);
}
static inline struct n4_record ts_n4_record(const struct n4_grid *grid, double *at)
{
    struct n4_record record;
    record.counted = at;
    record.iterations = at + 1;
    record.convergence = record.iterations + grid->levels;
    record.lattice = record.convergence + grid->levels * grid->most;
    return record;
}

/* Returns the length of the padded histogram: the power of two from twice the bins on. */
static inline int ts_n4_padded(const struct n4_params *params)
{
    int padded = 2;
    while (padded < 2 * params->bins)
        padded *= 2;
    return padded;
}

/* Returns the sum of four control points, or of rows of them, times their B-splines. */
TS_HOST_DEVICE float ts_n4_sum(const float b[N4_TAPS], float c_0, float c_1, float c_2, float c_3)
{
    return (b[0] * c_0 + b[1] * c_1) + (b[2] * c_2 + b[3] * c_3);
}

/* Returns e^x of |x| <= 80, of which larger ones count as 80. */
TS_HOST_DEVICE float ts_n4_exp(float x)
{
    const float round = 0x1.8p23f, limit = 80;
    const float inside = x < -limit ? -limit : x, t = inside > limit ? limit : inside;
    const float k = (t * 0x1.715476p0f + round) - round;
    const float r = (t - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f;
    const int32_t bits = ((int32_t)k + 127) * (1 << 23);
    float power, sum = 1.0f / 5040;
    memcpy(&power, &bits, sizeof power);
    sum = sum * r + 1.0f / 720;
    sum = sum * r + 1.0f / 120;
    sum = sum * r + 1.0f / 24;
    sum = sum * r + 1.0f / 6;
    sum = sum * r + 0.5f;
    sum = sum * r + 1;
    return (sum * r + 1) * power;
}

/* A value's place among the bins: bin and fraction as one integer, from (u - low) * per_unit. */
TS_HOST_DEVICE int32_t ts_n4_place(float u, float low, float per_unit)
{
    return (int32_t)((u - low) * per_unit * (float)(1 << N4_FRACTION_BITS));
}

/* Returns the coefficient of variation of e^-p over n samples, from the sums of e^-p - 1 and of its
 * square. */
TS_HOST_DEVICE double ts_n4_variation(double n, double sum, double squares)
{
    const double rest = squares - sum * sum / n, mean = 1 + sum / n;
    return n > 1 && rest > 0 ? sqrt(rest / (n - 1)) / mean : 0;
}

#endif
