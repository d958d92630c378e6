/* SPDX-License-Identifier: Apache-2.0
 *
 * Each sample looks its ray up in the fan, from both ends, and takes the one that lies less far
 * beyond the row's last detector, or their mean; views are found by dividing by their step.
 */
#include "tests/stages/projection/rebin_oracle.h"

#include <math.h>

struct rebin_fan {
    const struct ts_image *in;
    bool whole;
    const double *slice;
};

/* By how many detectors the ray passes beyond the row, 1 at most, which is also where no view is
 * there. */
static double look_up(const struct rebin_fan *fan, double degree, double gamma, double *value)
{
    const struct ts_axis *view = &fan->in->axes[1], *detector = &fan->in->axes[2];
    const double far = fan->in->beam.source_detector_mm;
    const double u = fan->in->beam.kind == TS_BEAM_FAN_ARC ? far * gamma : far * tan(gamma);
    const double d = (u - detector->first) / detector->spacing;
    double beta = fmod(degree - view->first, 360);
    beta += beta < -1e-6 ? 360 : 0;
    beta -= beta > 360 - 1e-6 ? 360 : 0;
    const double v = beta / view->spacing;
    *value = 0;
    if (!fan->whole && v > (double)(view->n - 1) + 1e-6)
        return 1;
    for (int tap = 0; tap < 4; tap++) {
        const double i = floor(v + 1e-9) + tap / 2, k = floor(d) + tap % 2;
        const double w = fmax(0, 1 - fabs(v - i)) * fmax(0, 1 - fabs(d - k));
        const int64_t row = (int64_t)i % view->n;
        if (k >= 0 && k < (double)detector->n)
            *value += w * fan->slice[row * detector->n + (int64_t)k];
    }
    return fmin(1, fmax(0, fmax(-d, d - (double)(detector->n - 1))));
}

void ts_rebin_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct ts_axis *view = &context->out.axes[1], *detector = &context->out.axes[2];
    struct rebin_fan fan = {.in = &context->in};
    fan.whole = context->in.axes[1].spacing * ((double)context->in.axes[1].n + 0.5) > 360;
    for (int64_t z = 0; z < context->in.axes[0].n; z++) {
        fan.slice = in + (size_t)z * ts_slice_count(&context->in);
        for (int64_t v = 0; v < view->n; v++)
            for (int64_t d = 0; d < detector->n; d++) {
                const double theta = view->first + (double)v * view->spacing,
                             s = detector->first + (double)d * detector->spacing,
                             ratio = s / context->in.beam.source_axis_mm;
                double near = 0, far = 0, near_beyond = 1, far_beyond = 1;
                if (fabs(ratio) < 1) {
                    const double gamma = asin(ratio);
                    near_beyond = look_up(&fan, theta - gamma * 180 / M_PI, gamma, &near);
                    far_beyond = look_up(&fan, theta + 180 + gamma * 180 / M_PI, -gamma, &far);
                }
                const bool alike = fabs(near_beyond - far_beyond) < 1e-6;
                *out++ = alike ? (near + far) / 2 : near_beyond < far_beyond ? near : far;
            }
    }
}
