/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/grid/samples_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    case INTERPOLATION_BSPLINE3:
        return d < 1   ? 2.0 / 3 - d * d + d * d * d / 2
               : d < 2 ? (2 - d) * (2 - d) * (2 - d) / 6
                       : 0;
    case INTERPOLATION_LABELS:
        break;
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

/* ---- conventions ----------------------------------------------------------------------------- */

/* A volume with more samples than the image around it: `pad` beyond both ends of each axis. */
enum { PAD = 4, LONG = 64 };

struct padded {
    int64_t n[3];
    double *values;
};

static double *padded_at(const struct padded *volume, int64_t z, int64_t y, int64_t x)
{
    return volume->values + (z * volume->n[1] + y) * volume->n[2] + x;
}

/* The sample in the place of sample i: the last one, or that of a mirror at the last center. */
static int64_t replaced(int64_t i, int64_t n, bool mirrors)
{
    if (!mirrors || n == 1)
        return clamped(i, n);
    while (i < 0 || i >= n)
        i = i < 0 ? -i : 2 * (n - 1) - i;
    return i;
}

/* Solves (c[i - 1] + 4 c[i] + c[i + 1]) / 6 = s[i], 0 <= i < n, with c = s beyond both ends, in
 * place. */
static void solve_spline(double *s, int64_t n)
{
    double *upper = malloc((size_t)n * sizeof *upper);
    for (int64_t i = 0; i < n; i++) {
        const double before = i > 0 ? upper[i - 1] : 0, last = i > 0 ? s[i - 1] : 0;
        upper[i] = 1 / (4 - before);
        s[i] = (6 * s[i] - last) / (4 - before);
    }
    for (int64_t i = n - 2; i >= 0; i--)
        s[i] -= upper[i] * s[i + 1];
    free(upper);
}

/* Smooths a line with the Gaussian of scipy.ndimage.gaussian_filter1d. */
static void smooth_line(double *s, int64_t n, double sigma)
{
    const int64_t reach = (int64_t)(4 * sigma + 0.5);
    double *copy = malloc((size_t)n * sizeof *copy);
    memcpy(copy, s, (size_t)n * sizeof *copy);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0, total = 0;
        for (int64_t k = -reach; k <= reach; k++) {
            const double weight = exp(-0.5 * (double)(k * k) / sigma / sigma);
            sum += weight * copy[replaced(i + k, n, true)];
            total += weight;
        }
        s[i] = sum / total;
    }
    free(copy);
}

/* How the parameters are understood. */
struct meaning {
    bool mirrors, nearest[3], spline[3];
    double sigma[3];
};

/* Turns axis d of the volume into a longer one of smoothed samples or of coefficients. */
static void lengthen(struct padded *volume, int d, const struct meaning *meaning)
{
    struct padded longer = *volume;
    const int64_t n = volume->n[d], e = d == 0 ? 1 : 0, f = d == 2 ? 1 : 2;
    double *line = malloc((size_t)(n + 2 * LONG) * sizeof *line),
           *samples = malloc((size_t)n * sizeof *samples);
    longer.n[d] = n + 2 * PAD;
    longer.values =
        malloc((size_t)(longer.n[0] * longer.n[1] * longer.n[2]) * sizeof *longer.values);
    for (int64_t i = 0; i < volume->n[e]; i++)
        for (int64_t j = 0; j < volume->n[f]; j++) {
            int64_t at[3];
            at[e] = i;
            at[f] = j;
            for (at[d] = 0; at[d] < n; at[d]++)
                samples[at[d]] = *padded_at(volume, at[0], at[1], at[2]);
            if (meaning->sigma[d] > 0)
                smooth_line(samples, n, meaning->sigma[d]);
            for (int64_t k = 0; k < n + 2 * LONG; k++)
                line[k] = samples[replaced(k - LONG, n, meaning->mirrors)];
            if (meaning->spline[d])
                solve_spline(line, n + 2 * LONG);
            for (at[d] = 0; at[d] < longer.n[d]; at[d]++)
                *padded_at(&longer, at[0], at[1], at[2]) = line[at[d] + LONG - PAD];
        }
    free(samples);
    free(line);
    free(volume->values);
    *volume = longer;
}

/* Returns the axis of the one largest spacing if it is more than 3 times the smallest; -1: there is
 * none, -2: the ratio is less. */
static int coarse_axis(const double s[3])
{
    int axis = 0, n = 0;
    double low = s[0];
    for (int d = 0; d < 3; d++) {
        low = s[d] < low ? s[d] : low;
        axis = s[d] > s[axis] ? d : axis;
    }
    for (int d = 0; d < 3; d++)
        n += s[d] == s[axis];
    if (s[axis] <= 3 * low)
        return -2;
    return n == 1 ? axis : -1;
}

static int separate_axis(const struct stage_context *context)
{
    const struct resample_params *params = context->params;
    double old[3], target[3];
    for (int d = 0; d < 3; d++) {
        const struct ts_numbers *given = &params->spacing;
        const int64_t place = given->columns == 1 ? 0 : 2 - d;
        old[d] = context->in.axes[d].spacing;
        target[d] = given->columns == 0
                        ? old[d] * (double)context->in.axes[d].n / (double)context->out.axes[d].n
                    : place < given->columns ? given->values[place]
                                             : old[d];
    }
    if (params->convention != CONVENTION_NNUNET)
        return -1;
    const int axis = coarse_axis(old);
    return axis != -2 ? axis : coarse_axis(target);
}

static struct meaning meaning_of(const struct stage_context *context)
{
    const struct resample_params *params = context->params;
    const bool spline = params->interpolation == INTERPOLATION_BSPLINE3;
    struct meaning meaning = {.mirrors = params->convention == CONVENTION_SKIMAGE ||
                                         params->convention == CONVENTION_ITK ||
                                         params->convention == CONVENTION_SCIPY};
    const int axis = separate_axis(context);
    if (params->convention == CONVENTION_ITK && !spline)
        meaning.mirrors = false;
    for (int d = 0; d < 3; d++) {
        const double factor = (double)context->in.axes[d].n / (double)context->out.axes[d].n;
        meaning.nearest[d] = d == axis || params->interpolation == INTERPOLATION_NEAREST;
        meaning.spline[d] = spline && d != axis;
        meaning.sigma[d] = params->antialias && factor > 1 ? (factor - 1) / 2 : 0;
    }
    return meaning;
}

/* The largest label with at least half of the linear weights, or 0. */
static double label_of(const struct padded *volume, double weights[3][2 * PAD],
                       const int64_t first[3])
{
    double labels[512], sums[512], best = 0;
    int n = 0;
    bool any = false;
    for (int i = 0; i < 512; i++) {
        const int z = i / 64, y = i / 8 % 8, x = i % 8;
        const double weight = weights[0][z] * weights[1][y] * weights[2][x];
        int at = 0;
        if (weight == 0)
            continue;
        const double label = *padded_at(volume, first[0] + z, first[1] + y, first[2] + x);
        while (at < n && labels[at] != label)
            at++;
        if (at == n) {
            labels[n] = label;
            sums[n++] = 0;
        }
        sums[at] += weight;
    }
    for (int i = 0; i < n; i++)
        if (sums[i] >= 0.5 - 1e-7 && (!any || labels[i] > best)) {
            best = labels[i];
            any = true;
        }
    return best;
}

static double convention_value(const struct stage_context *context, const struct padded *volume,
                               const struct meaning *meaning, const double t[3])
{
    const struct resample_params *params = context->params;
    double weights[3][2 * PAD], sum = 0;
    int64_t first[3];
    for (int d = 0; d < 3; d++) {
        /* samples floor(t) - 3 to floor(t) + 4, of those from -PAD on */
        first[d] = (int64_t)floor(t[d]) - 3;
        for (int k = 0; k < 2 * PAD; k++) {
            const double s = (double)(first[d] + k) - t[d];
            const enum interpolation kind = meaning->nearest[d] ? INTERPOLATION_NEAREST
                                            : params->interpolation == INTERPOLATION_LABELS
                                                ? INTERPOLATION_LINEAR
                                                : (enum interpolation)params->interpolation;
            weights[d][k] =
                first[d] + k < -PAD || first[d] + k >= volume->n[d] - PAD ? 0 : weight_of(kind, s);
            weights[d][k] = fabs(weights[d][k]) < 1e-9 ? 0 : weights[d][k];
        }
        first[d] += PAD;
    }
    if (params->interpolation == INTERPOLATION_LABELS)
        return label_of(volume, weights, first);
    for (int z = 0; z < 8; z++)
        for (int y = 0; weights[0][z] != 0 && y < 8; y++)
            for (int x = 0; weights[1][y] != 0 && x < 8; x++)
                if (weights[2][x] != 0)
                    sum += weights[0][z] * weights[1][y] * weights[2][x] *
                           *padded_at(volume, first[0] + z, first[1] + y, first[2] + x);
    return sum;
}

/* Fills ranges[z] with the range to which values near slice z are clipped. */
static void find_ranges(const struct stage_context *context, const double *in, double (*ranges)[2])
{
    const struct resample_params *params = context->params;
    const struct ts_axis *axes = context->in.axes;
    const int64_t n = axes[1].n * axes[2].n;
    const bool clips =
        (params->convention == CONVENTION_SKIMAGE || params->convention == CONVENTION_NNUNET) &&
        (params->interpolation == INTERPOLATION_BSPLINE3 ||
         params->interpolation == INTERPOLATION_CUBIC);
    double low = INFINITY, high = -INFINITY;
    for (int64_t z = 0; z < axes[0].n; z++) {
        ranges[z][0] = INFINITY;
        ranges[z][1] = -INFINITY;
        for (int64_t i = z * n; i < (z + 1) * n; i++) {
            ranges[z][0] = fmin(ranges[z][0], in[i]);
            ranges[z][1] = fmax(ranges[z][1], in[i]);
        }
        low = fmin(low, ranges[z][0]);
        high = fmax(high, ranges[z][1]);
    }
    for (int64_t z = 0; z < axes[0].n && (!clips || separate_axis(context) != 0); z++) {
        ranges[z][0] = clips ? low : -INFINITY;
        ranges[z][1] = clips ? high : INFINITY;
    }
}

void ts_resample_unrounded(const struct stage_context *context, const double *in, double *out)
{
    const struct resample_params *params = context->params;
    const struct ts_axis *axes = context->out.axes, *from = context->in.axes;
    const struct meaning meaning = meaning_of(context);
    struct padded volume = {.n = {from[0].n, from[1].n, from[2].n}};
    const size_t n_in = ts_image_count(&context->in);
    double low, high, (*ranges)[2] = malloc((size_t)from[0].n * sizeof *ranges);
    if (params->convention == CONVENTION_CENTER && params->interpolation < INTERPOLATION_BSPLINE3) {
        ts_samples_oracle(context, (enum interpolation)params->interpolation, params->outside, in,
                          out);
        free(ranges);
        return;
    }
    volume.values = malloc(n_in * sizeof *volume.values);
    memcpy(volume.values, in, n_in * sizeof *volume.values);
    for (int d = 0; d < 3; d++)
        lengthen(&volume, d, &meaning);
    find_ranges(context, in, ranges);
    ts_dtype_range(context->in.dtype, &low, &high);
    for (int64_t i = 0; i < axes[0].n * axes[1].n * axes[2].n; i++) {
        const int64_t at[3] = {i / axes[2].n / axes[1].n, i / axes[2].n % axes[1].n, i % axes[2].n};
        double mm[3], t[3], value = params->outside;
        bool inside = true;
        ts_voxel_mm(&context->out, at, mm);
        position_of(&context->in, mm, t);
        for (int d = 0; d < 3; d++)
            inside = inside && t[d] >= -0.5 - 1e-6 && t[d] <= (double)from[d].n - 0.5 + 1e-6;
        if (inside) {
            const double *range = ranges[clamped((int64_t)floor(t[0] + 0.5 + 1e-6), from[0].n)];
            value = convention_value(context, &volume, &meaning, t);
            value = fmin(fmax(value, range[0]), range[1]);
        }
        out[i] = fmin(fmax(value, low), high);
    }
    free(volume.values);
    free(ranges);
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
