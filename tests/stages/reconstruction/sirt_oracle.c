/* SPDX-License-Identifier: Apache-2.0
 *
 * SIRT from its formula.
 */
#include "tests/stages/reconstruction/sirt_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "stages/reconstruction/sirt.h"
#include "tests/stages/projection/scan_oracle.h"
#include "tests/stages/reconstruction/iterate_tables.h"

static double length_of(const double *values, int64_t n)
{
    double squares = 0;
    for (int64_t i = 0; i < n; i++)
        squares += values[i] * values[i];
    return sqrt(squares);
}

/* True where the stop rule ends a slice before the step. */
static bool is_done(const struct iterate_params *params, double all, double left, int64_t n)
{
    return (params->stop == STOP_RESIDUAL && left <= params->tolerance * all) ||
           (params->stop == STOP_DISCREPANCY && left <= params->noise * sqrt((double)n));
}

/* The iterations that were carried out. residual: of all, those that were not begun are left alone;
 * or NULL. */
static int64_t iterate(const struct stage_context *context, const double *b, double *x,
                       double *residual)
{
    const struct sirt_params *params = context->params;
    const struct ts_image centered = ts_scan_centered(&context->in, params->iterate.volume.center);
    const struct ts_image *volume = &context->out, *sinogram = &centered;
    const int64_t n_rays = (int64_t)ts_slice_count(sinogram),
                  n_pixels = (int64_t)ts_slice_count(volume);
    double *rays = malloc((size_t)n_rays * sizeof *rays),
           *rows = malloc((size_t)n_rays * sizeof *rows),
           *columns = malloc((size_t)n_pixels * sizeof *columns),
           *pixels = malloc((size_t)n_pixels * sizeof *pixels);
    for (int64_t p = 0; p < n_pixels; p++) {
        pixels[p] = 1;
        x[p] = 0;
    }
    ts_scan_project_oracle(volume, sinogram, pixels, rows);
    for (int64_t r = 0; r < n_rays; r++)
        rays[r] = 1;
    ts_scan_backproject_oracle(volume, sinogram, rays, columns);
    const double all = length_of(b, n_rays);
    int64_t i = 0;
    for (;; i++) {
        ts_scan_project_oracle(volume, sinogram, x, rays);
        for (int64_t r = 0; r < n_rays; r++)
            rays[r] = b[r] - rays[r];
        const double left = length_of(rays, n_rays);
        if (residual)
            residual[i] = left / all;
        if (i == params->iterate.iterations || is_done(&params->iterate, all, left, n_rays))
            break;
        for (int64_t r = 0; r < n_rays; r++)
            rays[r] = rows[r] > 0 ? rays[r] / rows[r] : 0;
        ts_scan_backproject_oracle(volume, sinogram, rays, pixels);
        for (int64_t p = 0; p < n_pixels; p++) {
            x[p] += columns[p] > 0 ? params->relaxation * pixels[p] / columns[p] : 0;
            x[p] = params->nonnegative && x[p] < 0 ? 0 : x[p];
        }
    }
    free(rays);
    free(rows);
    free(columns);
    free(pixels);
    return i;
}

void ts_sirt_oracle(const struct stage_context *context, const double *in, double *out)
{
    const size_t n_rays = ts_slice_count(&context->in), n_pixels = ts_slice_count(&context->out);
    for (int64_t z = 0; z < context->in.axes[0].n; z++)
        iterate(context, in + (size_t)z * n_rays, out + (size_t)z * n_pixels, NULL);
}

void ts_sirt_oracle_tables(const struct stage_context *context, const double *in, const double *out,
                           struct bench_tables *tables)
{
    (void)out;
    ts_iterate_oracle_tables(context, &((const struct sirt_params *)context->params)->iterate,
                             iterate, in, tables);
}
