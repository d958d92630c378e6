/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the samples and the control points of n4 are, and the factors of the B-splines there.
 */
#include <math.h>

#include "core/description.h"
#include "stages/intensity/n4.h"

STAGE_PARAMS_OF(n4_params)

/* Returns the number in a list of one or three, [x, y, z], for axis d (0: z). */
static double n4_number(const struct ts_numbers *numbers, int d)
{
    return numbers->values[numbers->columns == 1 ? 0 : 2 - d];
}

/* Takes as many samples as shrink goes into n, in the middle of the axis. */
static void n4_place_samples(struct n4_axis *axis, int64_t n, const struct n4_params *params)
{
    const int64_t shrink = params->shrink;
    axis->n = n;
    axis->samples = n / shrink > 1 ? n / shrink : 1;
    axis->step = shrink;
    axis->first = (n - 1 - shrink * (axis->samples - 1) + 1) / 2;
    axis->sample_first = (double)axis->first;
    axis->sample_step = (double)shrink;
    if (params->convention == N4_ITK && axis->samples > 1) {
        axis->sample_first = 0;
        axis->sample_step = (double)(n - 1) / (double)(axis->samples - 1);
    }
}

struct n4_grid ts_n4_grid(const struct stage_context *context)
{
    const struct n4_params *params = params_of(context);
    struct n4_grid grid = {.levels = (int)params->iterations.columns, .most = 1};
    for (int level = 0; level < grid.levels; level++)
        if ((int64_t)params->iterations.values[level] > grid.most)
            grid.most = (int64_t)params->iterations.values[level];
    for (int d = 0; d < 3; d++) {
        struct n4_axis *axis = &grid.axes[d];
        n4_place_samples(axis, context->in.axes[d].n, params);
        const double last = (double)(axis->n - 1), spacing = ts_axis_mm(&context->in.axes[d]);
        if (params->spline_distance > 0) {
            axis->spans = (int64_t)fmax(ceil(last * spacing / params->spline_distance), 1);
            axis->scale = spacing / params->spline_distance;
        } else {
            axis->spans = (int64_t)n4_number(&params->control_points, d) - (N4_TAPS - 1);
            axis->scale = last > 0 ? (double)axis->spans / last : 0;
        }
        axis->offset = ((double)axis->spans - last * axis->scale) / 2;
    }
    return grid;
}

struct n4_taps ts_n4_taps(struct memory_layout *layout, int64_t n)
{
    const size_t bytes = (size_t)n * N4_TAPS * sizeof(float);
    struct n4_taps taps;
    taps.spans = ts_layout_add(layout, (size_t)n * sizeof *taps.spans);
    taps.field = ts_layout_add(layout, bytes);
    taps.residual = ts_layout_add(layout, bytes);
    taps.square = ts_layout_add(layout, bytes);
    return taps;
}

void ts_n4_taps_fill(const struct n4_axis *axis, int level, bool all_voxels,
                     const struct n4_taps *taps)
{
    const int64_t n = all_voxels ? axis->n : axis->samples;
    for (int64_t i = 0; i < n; i++) {
        const double place = ts_n4_place_along(axis, level, all_voxels, i);
        const int32_t span = ts_n4_span(axis, level, place);
        const double u = place - (double)span, v = 1 - u;
        const double b[N4_TAPS] = {v * v * v / 6, (4 + u * u * (3 * u - 6)) / 6,
                                   (4 + v * v * (3 * v - 6)) / 6, u * u * u / 6};
        const double sum = b[0] * b[0] + b[1] * b[1] + b[2] * b[2] + b[3] * b[3];
        taps->spans[i] = span;
        for (int k = 0; k < N4_TAPS; k++) {
            taps->field[i * N4_TAPS + k] = (float)b[k];
            taps->residual[i * N4_TAPS + k] = (float)(b[k] * b[k] * b[k] / sum);
            taps->square[i * N4_TAPS + k] = (float)(b[k] * b[k]);
        }
    }
}
