/* SPDX-License-Identifier: Apache-2.0
 *
 * The pseudo-code of DICOM PS3.3, word for word.
 */
#include "tests/stages/intensity/window_oracle.h"

#include <math.h>

#include "stages/intensity/window.h"

double ts_window_oracle_linear(double x, double c, double w, double y_min, double y_max)
{
    if (x <= c - 0.5 - (w - 1) / 2)
        return y_min;
    if (x > c - 0.5 + (w - 1) / 2)
        return y_max;
    return ((x - (c - 0.5)) / (w - 1) + 0.5) * (y_max - y_min) + y_min;
}

double ts_window_oracle_linear_exact(double x, double c, double w, double y_min, double y_max)
{
    if (x <= c - w / 2)
        return y_min;
    if (x > c + w / 2)
        return y_max;
    return ((x - c) / w + 0.5) * (y_max - y_min) + y_min;
}

double ts_window_oracle_sigmoid(double x, double c, double w, double y_min, double y_max)
{
    return (y_max - y_min) / (1 + exp(-4 * (x - c) / w)) + y_min;
}

void ts_window_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct window_params *params = context->params;
    double low, high;
    ts_dtype_range(context->out.dtype, &low, &high);
    for (size_t i = 0; i < ts_image_count(&context->in); i++) {
        double (*const function)(double, double, double, double, double) =
            params->function == WINDOW_LINEAR         ? ts_window_oracle_linear
            : params->function == WINDOW_LINEAR_EXACT ? ts_window_oracle_linear_exact
                                                      : ts_window_oracle_sigmoid;
        const double y =
            function(in[i], params->center, params->width, params->out_low, params->out_high);
        out[i] = context->out.dtype == TS_F32 ? y : fmin(fmax(rint(y), low), high);
    }
}
