/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/denoising/bilateral_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "stages/denoising/bilateral.h"
#include "tests/stages/values/border_oracle.h"

void ts_bilateral_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct bilateral_params *params = context->params;
    const int64_t nz = context->in.axes[0].n, ny = context->in.axes[1].n,
                  nx = context->in.axes[2].n;
    const int64_t r = params->radius, rz = params->dimensions == BILATERAL_3D ? r : 0;
    const int64_t padded_ny = ny + 2 * r, padded_nx = nx + 2 * r;
    const double color = 2 * params->sigma_color * params->sigma_color,
                 spatial = 2 * params->sigma_spatial * params->sigma_spatial;
    double *padded = ts_border_pad_oracle(&context->in, in, rz, r, r,
                                          (enum ts_border)params->border, params->constant);
    for (int64_t z = 0; z < nz; z++)
        for (int64_t y = 0; y < ny; y++)
            for (int64_t x = 0; x < nx; x++) {
                const double middle = *in++;
                double sum = 0, weights = 0;
                for (int64_t k = -rz; k <= rz; k++)
                    for (int64_t j = -r; j <= r; j++)
                        for (int64_t i = -r; i <= r; i++) {
                            const double value =
                                padded[((z + rz + k) * padded_ny + y + r + j) * padded_nx + x + r +
                                       i];
                            const double weight = exp(-(double)(k * k + j * j + i * i) / spatial -
                                                      (value - middle) * (value - middle) / color);
                            sum += isfinite(value) ? weight * value : 0;
                            weights += isfinite(value) ? weight : 0;
                        }
                *out++ = isfinite(middle) ? sum / weights : middle;
            }
    free(padded);
}
