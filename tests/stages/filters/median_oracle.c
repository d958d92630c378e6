/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/filters/median_oracle.h"

#include <stdlib.h>

#include "stages/filters/median.h"
#include "tests/stages/values/border_oracle.h"
#include "tests/stages/values/middle_oracle.h"

void ts_median_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct median_params *params = context->params;
    const int64_t nz = context->in.axes[0].n, ny = context->in.axes[1].n,
                  nx = context->in.axes[2].n;
    const int64_t r = params->radius, width = 2 * r + 1, padded_ny = ny + 2 * r,
                  padded_nx = nx + 2 * r;
    const int64_t rz = params->dimensions == MEDIAN_3D ? r : 0;
    double *padded = ts_border_pad_oracle(&context->in, in, rz, r, r,
                                          (enum ts_border)params->border, params->constant);
    double *window = malloc((size_t)(width * width * width) * sizeof *window);
    for (int64_t z = 0; z < nz; z++)
        for (int64_t y = 0; y < ny; y++)
            for (int64_t x = 0; x < nx; x++) {
                int64_t n = 0;
                for (int64_t k = 0; k <= 2 * rz; k++)
                    for (int64_t j = 0; j < width; j++)
                        for (int64_t i = 0; i < width; i++)
                            window[n++] = padded[((z + k) * padded_ny + y + j) * padded_nx + x + i];
                *out++ = ts_middle_oracle(window, n);
            }
    free(window);
    free(padded);
}
