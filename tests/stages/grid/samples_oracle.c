/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/grid/samples_oracle.h"

#include <math.h>

#include "stages/grid/resample.h"
#include "stages/grid/unshear.h"
#include "tests/stages/grid/moves_oracle.h"

/* Solves m t = b by Cramer's rule. */
static void solve(const double m[3][3], const double b[3], double t[3])
{
    double det[4];
    for (int column = 0; column < 4; column++) {
        double c[3][3];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                c[i][j] = j + 1 == column ? b[i] : m[i][j];
        det[column] = c[0][0] * (c[1][1] * c[2][2] - c[1][2] * c[2][1]) -
                      c[0][1] * (c[1][0] * c[2][2] - c[1][2] * c[2][0]) +
                      c[0][2] * (c[1][0] * c[2][1] - c[1][1] * c[2][0]);
    }
    for (int i = 0; i < 3; i++)
        t[i] = det[i + 1] / det[0];
}

/* Finds the position of a point in samples along z, y and x. */
static void position_of(const struct ts_image *image, const double mm[3], double t[3])
{
    static const int64_t corners[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double at[4][3], m[3][3], b[3];
    for (int i = 0; i < 4; i++)
        ts_voxel_mm(image, corners[i], at[i]);
    for (int i = 0; i < 3; i++) {
        b[i] = mm[i] - at[0][i];
        for (int d = 0; d < 3; d++)
            m[i][d] = at[1 + d][i] - at[0][i];
    }
    solve(m, b, t);
}

/* Returns the weight of a sample that is `s` samples after the position. */
static double weight_of(enum interpolation interpolation, double s)
{
    const double d = fabs(s);
    switch (interpolation) {
    case INTERPOLATION_NEAREST: /* halfway between two, the one after the position */
        return s > -0.5 + 1e-6 && s <= 0.5 + 1e-6;
    case INTERPOLATION_LINEAR:
        return fmax(1 - d, 0);
    case INTERPOLATION_CUBIC:
        return d < 1   ? 1.5 * d * d * d - 2.5 * d * d + 1
               : d < 2 ? -0.5 * d * d * d + 2.5 * d * d - 4 * d + 2
                       : 0;
    }
    return NAN;
}

/* Samples before the first and after the last repeat these. */
static int64_t clamped(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static double value_at(const struct ts_image *image, enum interpolation interpolation,
                       const double *in, const double t[3])
{
    enum { REACH = 2, SAMPLES = 2 * REACH + 2 };
    const struct ts_axis *axes = image->axes;
    double weights[3][SAMPLES], sum = 0;
    int64_t indices[3][SAMPLES];
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < SAMPLES; i++) {
            const int64_t at = (int64_t)floor(t[d]) - REACH + i;
            weights[d][i] = weight_of(interpolation, (double)at - t[d]);
            indices[d][i] = clamped(at, axes[d].n);
        }
    for (int z = 0; z < SAMPLES; z++)
        for (int y = 0; y < SAMPLES; y++)
            for (int x = 0; x < SAMPLES; x++) {
                const double weight = weights[0][z] * weights[1][y] * weights[2][x];
                if (fabs(weight) > 1e-12)
                    sum +=
                        weight *
                        in[(indices[0][z] * axes[1].n + indices[1][y]) * axes[2].n + indices[2][x]];
            }
    return sum;
}

void ts_samples_oracle(const struct stage_context *context, enum interpolation interpolation,
                       double outside, const double *in, double *out)
{
    const struct ts_axis *axes = context->out.axes;
    double low, high;
    int64_t at[3];
    ts_dtype_range(context->in.dtype, &low, &high);
    for (at[0] = 0; at[0] < axes[0].n; at[0]++)
        for (at[1] = 0; at[1] < axes[1].n; at[1]++)
            for (at[2] = 0; at[2] < axes[2].n; at[2]++) {
                double mm[3], t[3];
                bool inside = true;
                ts_voxel_mm(&context->out, at, mm);
                position_of(&context->in, mm, t);
                for (int d = 0; d < 3; d++)
                    inside = inside && t[d] >= -0.5 - 1e-6 &&
                             t[d] <= (double)context->in.axes[d].n - 0.5 + 1e-6;
                const double value =
                    inside ? value_at(&context->in, interpolation, in, t) : outside;
                *out++ = value < low ? low : value > high ? high : value;
            }
}

void ts_resample_unrounded(const struct stage_context *context, const double *in, double *out)
{
    const struct resample_params *params = context->params;
    ts_samples_oracle(context, (enum interpolation)params->interpolation, params->outside, in, out);
}

static void round_integers(const struct ts_image *image, double *values)
{
    for (size_t i = 0, n = ts_image_count(image); ts_dtype_is_integer(image->dtype) && i < n; i++)
        values[i] = rint(values[i]);
}

void ts_resample_oracle(const struct stage_context *context, const double *in, double *out)
{
    ts_resample_unrounded(context, in, out);
    round_integers(&context->out, out);
}

void ts_unshear_unrounded(const struct stage_context *context, const double *in, double *out)
{
    const struct unshear_params *params = context->params;
    ts_samples_oracle(context, (enum interpolation)params->interpolation, params->outside, in, out);
}

void ts_unshear_oracle(const struct stage_context *context, const double *in, double *out)
{
    ts_unshear_unrounded(context, in, out);
    round_integers(&context->out, out);
}
