/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/filters/box_oracle.h"

#include <stdlib.h>

#include "core/image.h"
#include "stages/filters/box.h"
#include "tests/stages/values/border_oracle.h"

/* Integers: rows of samples add up exactly in double, whole windows in long double. */
void ts_box_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct box_params *params = context->params;
    const int64_t nz = context->in.axes[0].n, ny = context->in.axes[1].n,
                  nx = context->in.axes[2].n;
    const int64_t r = params->radius, rz = params->dimensions == BOX_3D ? r : 0;
    const int64_t width = 2 * r + 1, depth = 2 * rz + 1;
    double *padded = ts_border_pad_oracle(&context->in, in, rz, r, r,
                                          (enum ts_border)params->border, params->constant);
    for (int64_t z = 0; z < nz; z++)
        for (int64_t y = 0; y < ny; y++)
            for (int64_t x = 0; x < nx; x++) {
                long double sum = 0;
                for (int64_t k = z; k < z + depth; k++)
                    for (int64_t j = y; j < y + width; j++) {
                        const double *row = padded + (k * (ny + 2 * r) + j) * (nx + 2 * r) + x;
                        double row_sum = 0;
                        for (int64_t i = 0; i < width; i++)
                            row_sum += row[i];
                        sum += row_sum;
                    }
                const long double mean = sum / (depth * width * width);
                *out++ =
                    ts_dtype_is_integer(context->in.dtype) ? (double)rintl(mean) : (double)mean;
            }
    free(padded);
}
