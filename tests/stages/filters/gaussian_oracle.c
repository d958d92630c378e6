/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/filters/gaussian_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "stages/filters/gaussian.h"
#include "tests/stages/values/border_oracle.h"

struct weights {
    int64_t radius;
    double *of; /* of[k + radius] is the weight of distance k */
};

/* number: the place of this axis among several sigmas. */
static struct weights weights_of(const struct gaussian_params *params, const struct ts_axis *axis,
                                 int number)
{
    double sigma = params->sigma.values[params->sigma.columns > 1 ? number : 0], sum = 0;
    if (params->unit == GAUSSIAN_MM)
        sigma /= axis->spacing;
    if (number == 2 && params->dimensions == GAUSSIAN_2D)
        sigma = 0;
    struct weights weights = {(int64_t)floor(params->truncate * sigma + 0.5), NULL};
    weights.of = malloc((size_t)(2 * weights.radius + 1) * sizeof(double));
    for (int64_t k = -weights.radius; k <= weights.radius; k++) {
        const double distance = k == 0 ? 0 : (double)k / sigma;
        weights.of[k + weights.radius] = exp(-distance * distance / 2);
        sum += weights.of[k + weights.radius];
    }
    for (int64_t k = 0; k <= 2 * weights.radius; k++)
        weights.of[k] /= sum;
    return weights;
}

/* The sums along z are made once for each column of pixels, because all windows of a slice take
 * them from there: a window of 129 pixels along each axis, as the benchmark has it, would take 20 s
 * for one slice otherwise. */
void ts_gaussian_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct gaussian_params *params = context->params;
    const struct ts_axis *axes = context->in.axes;
    const struct weights x_weights = weights_of(params, &axes[2], 0),
                         y_weights = weights_of(params, &axes[1], 1),
                         z_weights = weights_of(params, &axes[0], 2);
    const int64_t rx = x_weights.radius, ry = y_weights.radius, rz = z_weights.radius;
    const int64_t height = axes[1].n + 2 * ry, width = axes[2].n + 2 * rx;
    double *padded = ts_border_pad_oracle(&context->in, in, rz, ry, rx,
                                          (enum ts_border)params->border, params->constant);
    double *columns = malloc((size_t)(height * width) * sizeof *columns);
    for (int64_t z = 0; z < axes[0].n; z++) {
        for (int64_t p = 0; p < height * width; p++) {
            columns[p] = 0;
            for (int64_t k = 0; k <= 2 * rz; k++)
                columns[p] += z_weights.of[k] * padded[(z + k) * height * width + p];
        }
        for (int64_t y = 0; y < axes[1].n; y++)
            for (int64_t x = 0; x < axes[2].n; x++) {
                double sum = 0;
                for (int64_t j = 0; j <= 2 * ry; j++)
                    for (int64_t i = 0; i <= 2 * rx; i++)
                        sum += y_weights.of[j] * x_weights.of[i] * columns[(y + j) * width + x + i];
                *out++ = sum;
            }
    }
    free(columns);
    free(padded);
    free(x_weights.of);
    free(y_weights.of);
    free(z_weights.of);
}
