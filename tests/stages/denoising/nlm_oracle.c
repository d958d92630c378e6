/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/denoising/nlm_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "stages/denoising/nlm.h"
#include "stages/values/scope.h"
#include "tests/stages/counting/noise_estimate_oracle.h"
#include "tests/stages/values/border_oracle.h"

/* The image with its border; rz is 0 in 2d. */
struct oracle_image {
    double *values;
    int64_t ny, nx, rz, r, dz, d; /* with border */
};

static double sigma_of(const struct stage_context *context, const double *in, int64_t z)
{
    const struct nlm_params *params = context->params;
    const int64_t nz = context->in.axes[0].n, ny = context->in.axes[1].n,
                  nx = context->in.axes[2].n;
    if (params->sigma.values)
        return params->sigma.values[0];
    const bool whole = params->scope == SCOPE_VOLUME;
    const double *from = whole ? in : in + z * ny * nx;
    const double sigma = params->estimate == NOISE_IMMERKAER
                             ? ts_immerkaer_oracle(from, whole ? nz : 1, ny, nx)
                             : ts_wavelet_noise_oracle(from, whole ? nz : 1, ny, nx);
    return isnan(sigma) ? 0 : sigma;
}

static double h_of(const struct stage_context *context, double sigma)
{
    const struct nlm_params *params = context->params;
    return params->h.values ? params->h.values[0] : 0.8 * sigma;
}

static double patch_distance(const struct oracle_image *image, int64_t p, int64_t q)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t k = -image->rz; k <= image->rz; k++)
        for (int64_t j = -image->r; j <= image->r; j++)
            for (int64_t i = -image->r; i <= image->r; i++) {
                const int64_t s = (k * image->ny + j) * image->nx + i;
                const double difference = image->values[p + s] - image->values[q + s];
                sum += difference * difference;
                n++;
            }
    return sum / (double)n;
}

static double mean_at(const struct oracle_image *image, int64_t p, double sigma, double h,
                      bool squares)
{
    double sum = 0, total = 0;
    for (int64_t k = -image->dz; k <= image->dz; k++)
        for (int64_t j = -image->d; j <= image->d; j++)
            for (int64_t i = -image->d; i <= image->d; i++) {
                const int64_t q = p + (k * image->ny + j) * image->nx + i;
                const double over = fmax(patch_distance(image, p, q) - 2 * sigma * sigma, 0);
                const double weight = over == 0 ? 1 : h > 0 ? exp(-over / (h * h)) : 0;
                sum += weight * (squares ? pow(image->values[q], 2) : image->values[q]);
                total += weight;
            }
    return sum / total;
}

void ts_nlm_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct nlm_params *params = context->params;
    const int64_t nz = context->in.axes[0].n, ny = context->in.axes[1].n,
                  nx = context->in.axes[2].n;
    const bool volume = params->dimensions == NLM_3D, rician = params->noise == NLM_RICIAN;
    const int64_t r = params->patch_size / 2, d = params->patch_distance, pad = r + d,
                  pad_z = volume ? pad : 0;
    const struct oracle_image image = {ts_border_pad_oracle(&context->in, in, pad_z, pad, pad,
                                                            (enum ts_border)params->border,
                                                            params->constant),
                                       ny + 2 * pad,
                                       nx + 2 * pad,
                                       volume ? r : 0,
                                       r,
                                       volume ? d : 0,
                                       d};
    for (int64_t i = 0; i < (nz + 2 * pad_z) * image.ny * image.nx; i++)
        if (!(fabs(image.values[i]) < 1e18))
            image.values[i] = 1e18;
    for (int64_t z = 0; z < nz; z++) {
        const double sigma = sigma_of(context, in, z), h = h_of(context, sigma);
        for (int64_t y = 0; y < ny; y++)
            for (int64_t x = 0; x < nx; x++) {
                const int64_t at = (z * ny + y) * nx + x;
                const double mean =
                    mean_at(&image, ((z + pad_z) * image.ny + y + pad) * image.nx + x + pad, sigma,
                            h, rician);
                const double value = rician ? sqrt(fmax(mean - 2 * sigma * sigma, 0)) : mean;
                out[at] = fabs(in[at]) < 1e18 ? value : in[at];
            }
    }
    free(image.values);
}

void ts_nlm_oracle_tables(const struct stage_context *context, const double *in, const double *out,
                          struct bench_tables *tables)
{
    const struct nlm_params *params = context->params;
    (void)out;
    if (params->sigma.values)
        return;
    double *sigma = ts_bench_table(tables, "sigma"), *h = ts_bench_table(tables, "h");
    for (int64_t z = 0; z < (params->scope == SCOPE_SLICE ? context->in.axes[0].n : 1); z++) {
        sigma[z] = sigma_of(context, in, z);
        h[z] = h_of(context, sigma[z]);
    }
}
