/* SPDX-License-Identifier: Apache-2.0
 *
 * Conjugate gradients on the normal equations A' A x = A' b, by the textbook recurrence for a
 * symmetric matrix: the residual of these equations is carried on, and that of the rays worked out
 * anew.
 */
#include "tests/stages/reconstruction/cgls_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "stages/reconstruction/iterate.h"
#include "tests/stages/projection/scan_oracle.h"
#include "tests/stages/reconstruction/iterate_tables.h"

static double product(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Returns ||b - A x||; `rays` is scratch space for a slice of the sinogram. */
static double residual_of(const struct ts_image *volume, const struct ts_image *sinogram,
                          const double *b, const double *x, double *rays)
{
    const int64_t n = (int64_t)ts_slice_count(sinogram);
    ts_scan_project_oracle(volume, sinogram, x, rays);
    for (int64_t r = 0; r < n; r++)
        rays[r] = b[r] - rays[r];
    return sqrt(product(rays, rays, n));
}

static bool is_done(const struct iterate_params *params, double residual, double all, int64_t n)
{
    return (params->stop == STOP_RESIDUAL && residual <= params->tolerance * all) ||
           (params->stop == STOP_DISCREPANCY && residual <= params->noise * sqrt((double)n));
}

/* The iterations that were carried out. residual: of all, those that were not begun are left alone;
 * or NULL. */
static int64_t iterate(const struct stage_context *context, const double *b, double *x,
                       double *residual)
{
    const struct iterate_params *params = context->params;
    const struct ts_image centered = ts_scan_centered(&context->in, params->volume.center);
    const struct ts_image *volume = &context->out, *sinogram = &centered;
    const int64_t n_rays = (int64_t)ts_slice_count(sinogram),
                  n_pixels = (int64_t)ts_slice_count(volume);
    double *r = malloc((size_t)n_pixels * sizeof *r), *p = malloc((size_t)n_pixels * sizeof *p),
           *ap = malloc((size_t)n_pixels * sizeof *ap),
           *rays = malloc((size_t)n_rays * sizeof *rays);
    ts_scan_backproject_oracle(volume, sinogram, b, r);
    for (int64_t i = 0; i < n_pixels; i++) {
        x[i] = 0;
        p[i] = r[i];
    }
    double rr = product(r, r, n_pixels);
    const double all = sqrt(product(b, b, n_rays));
    int64_t k = 0;
    for (; k < params->iterations && rr > 0; k++) {
        const double left = residual_of(volume, &centered, b, x, rays);
        if (residual)
            residual[k] = left / all;
        if (is_done(params, left, all, n_rays))
            break;
        ts_scan_project_oracle(volume, sinogram, p, rays);
        ts_scan_backproject_oracle(volume, sinogram, rays, ap);
        const double alpha = rr / product(p, ap, n_pixels);
        for (int64_t i = 0; i < n_pixels; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * ap[i];
        }
        const double next = product(r, r, n_pixels);
        for (int64_t i = 0; i < n_pixels; i++)
            p[i] = r[i] + next / rr * p[i];
        rr = next;
    }
    if (residual && k == params->iterations)
        residual[k] = residual_of(volume, &centered, b, x, rays) / all;
    free(r);
    free(p);
    free(ap);
    free(rays);
    return k;
}

void ts_cgls_oracle(const struct stage_context *context, const double *in, double *out)
{
    const size_t n_rays = ts_slice_count(&context->in), n_pixels = ts_slice_count(&context->out);
    for (int64_t z = 0; z < context->in.axes[0].n; z++)
        iterate(context, in + (size_t)z * n_rays, out + (size_t)z * n_pixels, NULL);
}

void ts_cgls_oracle_tables(const struct stage_context *context, const double *in, const double *out,
                           struct bench_tables *tables)
{
    (void)out;
    ts_iterate_oracle_tables(context, context->params, iterate, in, tables);
}
