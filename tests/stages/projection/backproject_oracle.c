/* SPDX-License-Identifier: Apache-2.0
 *
 * joseph: for each ray x cos + y sin = s (mm, y up) and every row (or column, whichever the ray
 * crosses at less than one pixel a line), the ray's value goes to the two nearest pixels of the
 * row, by the shares of linear interpolation, times the length of the ray between two rows. linear:
 * for each pixel the two nearest detectors. (z, view, detector)
 * -> (z, y, x). Fans: tests/stages/projection/scan_oracle.c.
 */
#include "tests/stages/projection/backproject_oracle.h"

#include <math.h>
#include <string.h>

#include "stages/projection/reconstruction.h"
#include "tests/stages/projection/scan_oracle.h"

static double spacing_of(const struct ts_axis *axis)
{
    return axis->spacing > 0 ? axis->spacing : 1;
}

double ts_view_degree_oracle(const struct ts_axis *axis, int64_t view)
{
    return axis->positions ? axis->positions[view] : axis->first + (double)view * axis->spacing;
}

/* From view a on to view b, in [0, 180). */
static double way(const struct ts_axis *axis, int64_t a, int64_t b)
{
    const double turn = ts_view_degree_oracle(axis, b) - ts_view_degree_oracle(axis, a);
    const double rest = turn - 180 * floor(turn / 180);
    return rest > 180 - 1e-7 ? 0 : rest;
}

double ts_view_weight_oracle(const struct ts_axis *axis, int64_t view)
{
    double up = 180, down = 180;
    int alike = 0;
    for (int64_t other = 0; other < axis->n; other++) {
        if (way(axis, view, other) <= 1e-6 || way(axis, other, view) <= 1e-6) {
            alike++;
            continue;
        }
        up = fmin(up, way(axis, view, other));
        down = fmin(down, way(axis, other, view));
    }
    return (up + down) / 2 * M_PI / 180 / alike;
}

void ts_linear_view_oracle(const struct stage_context *context, const double *row, double degree,
                           double weight, double *slice)
{
    const struct reconstruction_params *params = context->params;
    const int64_t n = context->in.axes[2].n;
    const double cosine = cos(degree * M_PI / 180), sine = sin(degree * M_PI / 180);
    for (int64_t i = 0; i < params->rows; i++)
        for (int64_t j = 0; j < params->columns; j++) {
            const double x = ((double)j - (double)(params->columns - 1) / 2) * params->pixel_size;
            const double y = ((double)(params->rows - 1) / 2 - (double)i) * params->row_spacing;
            const double t =
                (x * cosine + y * sine) / spacing_of(&context->in.axes[2]) + params->center;
            const double below = floor(t), past = t - below;
            if (below >= 0 && below < (double)n)
                slice[i * params->columns + j] += weight * (1 - past) * row[(int64_t)below];
            if (below >= -1 && below + 1 < (double)n)
                slice[i * params->columns + j] += weight * past * row[(int64_t)below + 1];
        }
}

static void add_to(double *slice, int64_t ny, int64_t nx, int64_t row, int64_t column, double value)
{
    if (row >= 0 && row < ny && column >= 0 && column < nx)
        slice[row * nx + column] += value;
}

static void add_ray(const struct reconstruction_params *params, double degree, double s,
                    double value, double *slice)
{
    const int64_t ny = params->rows, nx = params->columns;
    const double dy = params->row_spacing, dx = params->pixel_size;
    const double cosine = cos(degree * M_PI / 180), sine = sin(degree * M_PI / 180);
    if (fabs(sine) * dy <= fabs(cosine) * dx * (1 + 1e-12)) {
        for (int64_t row = 0; row < ny; row++) {
            const double y = ((double)(ny - 1) / 2 - (double)row) * dy;
            const double column = (s - y * sine) / cosine / dx + (double)(nx - 1) / 2,
                         left = floor(column);
            add_to(slice, ny, nx, row, (int64_t)left,
                   (1 - (column - left)) * value * dy / fabs(cosine));
            add_to(slice, ny, nx, row, (int64_t)left + 1,
                   (column - left) * value * dy / fabs(cosine));
        }
        return;
    }
    for (int64_t column = 0; column < nx; column++) {
        const double x = ((double)column - (double)(nx - 1) / 2) * dx;
        const double row = (double)(ny - 1) / 2 - (s - x * cosine) / sine / dy, above = floor(row);
        add_to(slice, ny, nx, (int64_t)above, column,
               (1 - (row - above)) * value * dx / fabs(sine));
        add_to(slice, ny, nx, (int64_t)above + 1, column, (row - above) * value * dx / fabs(sine));
    }
}

void ts_backproject_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct reconstruction_params *params = context->params;
    const struct ts_axis *views = &context->in.axes[1];
    const int64_t nz = context->in.axes[0].n, n = context->in.axes[2].n,
                  pixels = params->rows * params->columns;
    memset(out, 0, (size_t)(nz * pixels) * sizeof *out);
    if (context->in.beam.kind != TS_BEAM_PARALLEL) {
        for (int64_t z = 0; z < nz; z++)
            ts_scan_backproject_oracle(&context->out, &context->in, in + z * views->n * n,
                                       out + z * pixels);
        return;
    }
    for (int64_t z = 0; z < nz; z++)
        for (int64_t v = 0; v < views->n; v++) {
            const double *row = in + (z * views->n + v) * n,
                         degree = ts_view_degree_oracle(views, v);
            const double weight =
                params->weights == VIEW_WEIGHTS_ANGLES ? ts_view_weight_oracle(views, v) : 1;
            if (params->model == BACK_LINEAR)
                ts_linear_view_oracle(context, row, degree, weight, out + z * pixels);
            for (int64_t d = 0; params->model == BACK_JOSEPH && d < n; d++)
                add_ray(params, degree,
                        ((double)d - params->center) * spacing_of(&context->in.axes[2]),
                        weight * row[d], out + z * pixels);
        }
}
