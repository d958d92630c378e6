/* SPDX-License-Identifier: Apache-2.0
 *
 * In a fan the ray goes through the source and the detector's place, both worked out as points.
 * For each ray x cos + y sin = s (mm, y up): in every row (or column, whichever the ray crosses at
 * less than one pixel a line) the point where the ray meets the center of that row, the value there
 * by linear interpolation of the two nearest pixels of the row, 0 outside; times the length of the
 * ray between two rows. (z, y, x) -> (z, view, detector).
 */
#include "tests/stages/projection/radon_oracle.h"

#include <math.h>

#include "stages/projection/radon.h"

static double pixel(const double *slice, int64_t ny, int64_t nx, int64_t row, int64_t column)
{
    return row < 0 || row >= ny || column < 0 || column >= nx ? 0 : slice[row * nx + column];
}

static double along_ray(const double *slice, const struct stage_context *context, double cosine,
                        double sine, double s)
{
    const int64_t ny = context->in.axes[1].n, nx = context->in.axes[2].n;
    const double dy = context->in.axes[1].spacing, dx = context->in.axes[2].spacing;
    double sum = 0;
    if (fabs(sine) * dy <= fabs(cosine) * dx * (1 + 1e-12)) {
        for (int64_t row = 0; row < ny; row++) {
            const double y = ((double)(ny - 1) / 2 - (double)row) * dy;
            const double column = (s - y * sine) / cosine / dx + (double)(nx - 1) / 2,
                         left = floor(column);
            sum += (1 - (column - left)) * pixel(slice, ny, nx, row, (int64_t)left) +
                   (column - left) * pixel(slice, ny, nx, row, (int64_t)left + 1);
        }
        return sum * dy / fabs(cosine);
    }
    for (int64_t column = 0; column < nx; column++) {
        const double x = ((double)column - (double)(nx - 1) / 2) * dx;
        const double row = (double)(ny - 1) / 2 - (s - x * cosine) / sine / dy, above = floor(row);
        sum += (1 - (row - above)) * pixel(slice, ny, nx, (int64_t)above, column) +
               (row - above) * pixel(slice, ny, nx, (int64_t)above + 1, column);
    }
    return sum * dx / fabs(sine);
}

/* The line through two points, as its normal's cosine and sine and its distance; the normal turns
 * with the detector. */
static double along_line(const double *slice, const struct stage_context *context,
                         const double from[2], const double to[2])
{
    const double dx = to[0] - from[0], dy = to[1] - from[1], length = hypot(dx, dy);
    const double cosine = -dy / length, sine = dx / length;
    return along_ray(slice, context, cosine, sine, from[0] * cosine + from[1] * sine);
}

static double along_fan(const double *slice, const struct stage_context *context, double cosine,
                        double sine, double u)
{
    const struct radon_params *params = context->params;
    const double near = params->source_axis, far = params->source_detector;
    const double source[2] = {-near * sine, near * cosine};
    double ahead = far, across = u;
    if (params->beam == TS_BEAM_FAN_ARC) {
        ahead = far * cos(u / far);
        across = far * sin(u / far);
    }
    const double detector[2] = {source[0] + ahead * sine + across * cosine,
                                source[1] - ahead * cosine + across * sine};
    return along_line(slice, context, source, detector);
}

void ts_radon_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct radon_params *params = context->params;
    const int64_t nz = context->in.axes[0].n, slice = context->in.axes[1].n * context->in.axes[2].n;
    for (int64_t z = 0; z < nz; z++)
        for (int64_t view = 0; view < params->views; view++) {
            const double degree =
                params->angles.values
                    ? params->angles.values[view]
                    : params->start + params->arc * (double)view / (double)params->views;
            const double cosine = cos(degree * M_PI / 180), sine = sin(degree * M_PI / 180);
            for (int64_t detector = 0; detector < params->detectors; detector++) {
                const double u = ((double)detector - params->center) * params->detector_spacing;
                *out++ = params->beam == TS_BEAM_PARALLEL
                             ? along_ray(in + z * slice, context, cosine, sine, u)
                             : along_fan(in + z * slice, context, cosine, sine, u);
            }
        }
}
