/* SPDX-License-Identifier: Apache-2.0
 *
 * Kak and Slaney, 1988, equations (87) to (90) for equal angles and (124) to (131) for equal
 * spacing, with the detector moved to the rotation axis; Parker's weights (1982) as in their
 * section 3.4.3, for views that rise. (z, view, detector) -> (z, y, x).
 */
#include "tests/stages/projection/fan_fbp_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/projection/reconstruction.h"
#include "tests/stages/projection/filter_oracle.h"

struct fan {
    const struct stage_context *context;
    const struct reconstruction_params *params;
    bool arc, whole;
    double near, far, pitch, alpha; /* pitch at the axis; alpha between the rays of an arc */
    double first, step, range;      /* radian */
    int64_t n_views, n;
};

static double gamma_of(const struct fan *fan, int64_t d)
{
    const double i = (double)d - fan->params->center;
    return fan->arc ? i * fan->alpha : atan(i * fan->pitch / fan->near);
}

static double parker(const struct fan *fan, double beta, double gamma)
{
    const double delta = (fan->range - M_PI) / 2;
    if (beta <= 2 * delta - 2 * gamma)
        return pow(sin(M_PI / 4 * beta / (delta - gamma)), 2);
    if (beta <= M_PI - 2 * gamma)
        return 1;
    return pow(sin(M_PI / 4 * (M_PI + 2 * delta - beta) / (delta + gamma)), 2);
}

static void filter_row(const struct fan *fan, const double *row, double *out)
{
    if (!fan->arc) {
        ts_filter_rows_oracle(fan->params->filter, fan->params->cutoff, fan->pitch, row, 1, fan->n,
                              out);
        return;
    }
    for (int64_t i = 0; i < fan->n; i++) {
        out[i] = fan->params->filter == ROW_FILTER_NONE ? row[i] : 0;
        for (int64_t j = 0; j < fan->n && fan->params->filter != ROW_FILTER_NONE; j++) {
            const int64_t k = llabs(i - j);
            if (k == 0)
                out[i] += row[j] / (4 * fan->alpha);
            else if (k % 2)
                out[i] -= row[j] * fan->alpha / pow(M_PI * sin((double)k * fan->alpha), 2);
        }
    }
}

static double at_place(const double *row, int64_t n, double place)
{
    const double below = floor(place);
    const int64_t i = fabs(below) < 1e9 ? (int64_t)below : -5;
    return (i >= 0 && i < n ? (1 - (place - below)) * row[i] : 0) +
           (i + 1 >= 0 && i + 1 < n ? (place - below) * row[i + 1] : 0);
}

static void add_view(const struct fan *fan, double beta, double scale, const double *row,
                     double *slice)
{
    const int64_t ny = fan->params->rows, nx = fan->params->columns;
    for (int64_t i = 0; i < ny * nx; i++) {
        const double x = ((double)(i % nx) - (double)(nx - 1) / 2) * fan->params->pixel_size,
                     y = ((double)(ny - 1) / 2 - (double)(i / nx)) * fan->params->row_spacing;
        const double r = hypot(x, y), phi = atan2(y, x);
        if (fan->arc) {
            const double square =
                pow(fan->near + r * sin(beta - phi), 2) + pow(r * cos(beta - phi), 2);
            const double gamma = atan(r * cos(beta - phi) / (fan->near + r * sin(beta - phi)));
            slice[i] +=
                scale / square * at_place(row, fan->n, fan->params->center + gamma / fan->alpha);
        } else {
            const double u = (fan->near + r * sin(beta - phi)) / fan->near;
            const double s = fan->near * r * cos(beta - phi) / (fan->near + r * sin(beta - phi));
            slice[i] +=
                scale / (u * u) * at_place(row, fan->n, fan->params->center + s / fan->pitch);
        }
    }
}

void ts_fan_fbp_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct ts_axis *view = &context->in.axes[1], *detector = &context->in.axes[2];
    const struct ts_beam *beam = &context->in.beam;
    struct fan fan = {.context = context,
                      .params = context->params,
                      .arc = beam->kind == TS_BEAM_FAN_ARC,
                      .near = beam->source_axis_mm,
                      .far = beam->source_detector_mm,
                      .first = view->first * M_PI / 180,
                      .step = view->spacing * M_PI / 180,
                      .n_views = view->n,
                      .n = detector->n};
    fan.pitch = detector->spacing * fan.near / fan.far;
    fan.alpha = detector->spacing / fan.far;
    fan.range = fan.step * (double)(fan.n_views - 1);
    fan.whole = fan.range + 1.5 * fan.step > 2 * M_PI;
    const int64_t pixels = fan.params->rows * fan.params->columns;
    double *row = malloc((size_t)fan.n * sizeof *row),
           *filtered = malloc((size_t)fan.n * sizeof *filtered);
    memset(out, 0, (size_t)(context->in.axes[0].n * pixels) * sizeof *out);
    for (int64_t z = 0; z < context->in.axes[0].n; z++)
        for (int64_t v = 0; v < fan.n_views; v++) {
            const double end = v == 0 || v == fan.n_views - 1 ? 0.5 : 1,
                         beta = (double)v * fan.step;
            for (int64_t d = 0; d < fan.n; d++) {
                const double gamma = gamma_of(&fan, d);
                row[d] = in[(z * fan.n_views + v) * fan.n + d] *
                         (fan.arc ? fan.near * cos(gamma) : cos(gamma)) *
                         (fan.whole ? 1 : parker(&fan, beta, gamma));
            }
            filter_row(&fan, row, filtered);
            add_view(&fan, fan.first + beta, fan.whole ? fan.step / 2 : fan.step * end, filtered,
                     out + z * pixels);
        }
    free(row);
    free(filtered);
}
