/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/scan/circle_oracle.h"

#include <math.h>

#include "stages/scan/circle.h"

void ts_circle_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct circle_params *params = context->params;
    const struct ts_axis *y_axis = &context->in.axes[1], *x_axis = &context->in.axes[2];
    const double width = (double)x_axis->n * x_axis->spacing,
                 height = (double)y_axis->n * y_axis->spacing;
    const double radius = params->ratio * (width < height ? width : height) / 2;
    size_t i = 0;
    for (int64_t z = 0; z < context->in.axes[0].n; z++)
        for (int64_t row = 0; row < y_axis->n; row++)
            for (int64_t column = 0; column < x_axis->n; column++, i++) {
                const double y = ((double)row - 0.5 * (double)(y_axis->n - 1)) * y_axis->spacing;
                const double x = ((double)column - 0.5 * (double)(x_axis->n - 1)) * x_axis->spacing;
                out[i] = hypot(x, y) < radius ? in[i] : params->value;
            }
}
