/* SPDX-License-Identifier: Apache-2.0
 *
 * For each ray, as a line through two points: in every row (or column, whichever the ray crosses at
 * less than one pixel a line) the point where the ray meets the center of that row lies between two
 * pixels, which get the weights of linear interpolation times the length of the ray between two
 * rows; outside the slice is 0.
 */
#include "tests/stages/projection/scan_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct share {
    int64_t pixel;
    double weight;
};

static int64_t add_share(struct share *shares, int64_t n, const struct ts_image *volume,
                         int64_t row, int64_t column, double weight)
{
    const int64_t ny = volume->axes[1].n, nx = volume->axes[2].n;
    if (row >= 0 && row < ny && column >= 0 && column < nx)
        shares[n++] = (struct share){row * nx + column, weight};
    return n;
}

/* The pixels of a ray through `from` in the direction (dx, dy); returns how many. */
static int64_t shares_of(const struct ts_image *volume, const double from[2],
                         const double direction[2], struct share *shares)
{
    const int64_t ny = volume->axes[1].n, nx = volume->axes[2].n;
    const double py = volume->axes[1].spacing, px = volume->axes[2].spacing,
                 length = hypot(direction[0], direction[1]);
    int64_t n = 0;
    if (fabs(direction[0]) * py <= fabs(direction[1]) * px * (1 + 1e-12)) {
        for (int64_t row = 0; row < ny; row++) {
            const double y = ((double)(ny - 1) / 2 - (double)row) * py;
            const double x = from[0] + (y - from[1]) * direction[0] / direction[1];
            const double column = x / px + (double)(nx - 1) / 2, left = floor(column),
                         step = py * length / fabs(direction[1]);
            if (fabs(column) > 1e9)
                continue;
            n = add_share(shares, n, volume, row, (int64_t)left, step * (1 - (column - left)));
            n = add_share(shares, n, volume, row, (int64_t)left + 1, step * (column - left));
        }
        return n;
    }
    for (int64_t column = 0; column < nx; column++) {
        const double x = ((double)column - (double)(nx - 1) / 2) * px;
        const double y = from[1] + (x - from[0]) * direction[1] / direction[0];
        const double row = (double)(ny - 1) / 2 - y / py, above = floor(row),
                     step = px * length / fabs(direction[0]);
        if (fabs(row) > 1e9)
            continue;
        n = add_share(shares, n, volume, (int64_t)above, column, step * (1 - (row - above)));
        n = add_share(shares, n, volume, (int64_t)above + 1, column, step * (row - above));
    }
    return n;
}

/* A point of the ray and its direction. */
static void find_ray(const struct ts_image *sinogram, int64_t view, int64_t detector,
                     double from[2], double direction[2])
{
    const struct ts_axis *axis = &sinogram->axes[1];
    const double degree =
        axis->positions ? axis->positions[view] : axis->first + (double)view * axis->spacing;
    const double c = cos(degree * M_PI / 180), s = sin(degree * M_PI / 180);
    const double u = sinogram->axes[2].first + (double)detector * sinogram->axes[2].spacing;
    const double near = sinogram->beam.source_axis_mm, far = sinogram->beam.source_detector_mm;
    if (sinogram->beam.kind == TS_BEAM_PARALLEL) {
        from[0] = u * c;
        from[1] = u * s;
        direction[0] = -s;
        direction[1] = c;
        return;
    }
    const bool arc = sinogram->beam.kind == TS_BEAM_FAN_ARC;
    const double ahead = arc ? far * cos(u / far) : far, across = arc ? far * sin(u / far) : u;
    from[0] = -near * s;
    from[1] = near * c;
    direction[0] = ahead * s + across * c;
    direction[1] = -ahead * c + across * s;
}

static void scan(const struct ts_image *volume, const struct ts_image *sinogram, bool back,
                 double *pixels, double *rays)
{
    const int64_t n_detectors = sinogram->axes[2].n, n = sinogram->axes[1].n * n_detectors;
    struct share *shares =
        malloc((size_t)(2 * (volume->axes[1].n + volume->axes[2].n)) * sizeof *shares);
    for (int64_t ray = 0; ray < n; ray++) {
        double from[2], direction[2];
        find_ray(sinogram, ray / n_detectors, ray % n_detectors, from, direction);
        const int64_t n_shares = shares_of(volume, from, direction, shares);
        if (!back)
            rays[ray] = 0;
        for (int64_t i = 0; i < n_shares; i++)
            if (back)
                pixels[shares[i].pixel] += shares[i].weight * rays[ray];
            else
                rays[ray] += shares[i].weight * pixels[shares[i].pixel];
    }
    free(shares);
}

void ts_scan_project_oracle(const struct ts_image *volume, const struct ts_image *sinogram,
                            const double *pixels, double *rays)
{
    scan(volume, sinogram, false, (double *)pixels, rays);
}

void ts_scan_backproject_oracle(const struct ts_image *volume, const struct ts_image *sinogram,
                                const double *rays, double *pixels)
{
    memset(pixels, 0, (size_t)(volume->axes[1].n * volume->axes[2].n) * sizeof *pixels);
    scan(volume, sinogram, true, pixels, (double *)rays);
}

struct ts_image ts_scan_centered(const struct ts_image *sinogram, double center)
{
    struct ts_image image = *sinogram;
    image.axes[2].first = -center * image.axes[2].spacing;
    return image;
}
