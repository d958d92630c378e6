/* SPDX-License-Identifier: Apache-2.0
 *
 * SIRT from its formula.
 */
#include "tests/reference/sirt_reference.h"

#include <math.h>
#include <stdlib.h>

#include "stages/sirt.h"
#include "tests/reference/scan_reference.h"

/* True where the stop rule ends a slice before the step. */
static bool is_done(const struct iterate_params *params, const double *b, const double *residual, int64_t n)
{
    double all = 0, left = 0;
    for (int64_t r = 0; r < n; r++) {
        all += b[r] * b[r];
        left += residual[r] * residual[r];
    }
    return (params->stop == STOP_RESIDUAL && sqrt(left) <= params->tolerance * sqrt(all)) ||
           (params->stop == STOP_DISCREPANCY && sqrt(left) <= params->noise * sqrt((double)n));
}

static void iterate(const struct stage_context *context, const double *b, double *x)
{
    const struct sirt_params *params = context->params;
    const struct ts_image centered = ts_scan_centered(&context->in, params->iterate.volume.center);
    const struct ts_image *volume = &context->out, *sinogram = &centered;
    const int64_t n_rays = (int64_t)ts_slice_count(sinogram), n_pixels = (int64_t)ts_slice_count(volume);
    double *rays = malloc((size_t)n_rays * sizeof *rays), *rows = malloc((size_t)n_rays * sizeof *rows),
           *columns = malloc((size_t)n_pixels * sizeof *columns), *pixels = malloc((size_t)n_pixels * sizeof *pixels);
    for (int64_t p = 0; p < n_pixels; p++) {
        pixels[p] = 1;
        x[p] = 0;
    }
    ts_scan_project_reference(volume, sinogram, pixels, rows);
    for (int64_t r = 0; r < n_rays; r++)
        rays[r] = 1;
    ts_scan_backproject_reference(volume, sinogram, rays, columns);
    for (int64_t i = 0; i < params->iterate.iterations; i++) {
        ts_scan_project_reference(volume, sinogram, x, rays);
        for (int64_t r = 0; r < n_rays; r++)
            rays[r] = b[r] - rays[r];
        if (is_done(&params->iterate, b, rays, n_rays))
            break;
        for (int64_t r = 0; r < n_rays; r++)
            rays[r] = rows[r] > 0 ? rays[r] / rows[r] : 0;
        ts_scan_backproject_reference(volume, sinogram, rays, pixels);
        for (int64_t p = 0; p < n_pixels; p++) {
            x[p] += columns[p] > 0 ? params->relaxation * pixels[p] / columns[p] : 0;
            x[p] = params->nonnegative && x[p] < 0 ? 0 : x[p];
        }
    }
    free(rays);
    free(rows);
    free(columns);
    free(pixels);
}

void ts_sirt_reference(const struct stage_context *context, const double *in, double *out)
{
    const size_t n_rays = ts_slice_count(&context->in), n_pixels = ts_slice_count(&context->out);
    for (int64_t z = 0; z < context->in.axes[0].n; z++)
        iterate(context, in + (size_t)z * n_rays, out + (size_t)z * n_pixels);
}
