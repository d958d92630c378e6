/* SPDX-License-Identifier: Apache-2.0
 *
 * Each sample is looked up by its position from the axis, in mm, in the view and in what lies
 * opposite: all views are gone through for the two nearest to the angle.
 */
#include "tests/stages/scan/stitch_oracle.h"

#include <math.h>

#include "stages/scan/stitch.h"

static double angle_of(const struct ts_axis *views, int64_t v)
{
    return views->positions ? views->positions[v] : views->first + (double)v * views->spacing;
}

/* A value of a view at detector x; false where it does not reach. */
static bool look_up(const double *row, int64_t n, double x, bool cubic, double *value)
{
    const double near = floor(x + 0.5);
    if (fabs(x - near) < 1e-5)
        x = near;
    if (x < 0 || x > (double)(n - 1))
        return false;
    *value = 0;
    for (int64_t i = (int64_t)floor(x) - 2; i <= (int64_t)floor(x) + 3; i++) {
        const double far = fabs(x - (double)i);
        const double keys = far < 1   ? 1.5 * far * far * far - 2.5 * far * far + 1
                            : far < 2 ? -0.5 * far * far * far + 2.5 * far * far - 4 * far + 2
                                      : 0;
        const double weight = cubic ? keys : fmax(0, 1 - far);
        if (weight != 0)
            *value += weight * row[i < 0 ? 0 : i < n ? i : n - 1];
    }
    return true;
}

/* The views nearest to an angle on both sides of it, and how far the first is. */
static void find_views(const struct ts_axis *views, double degree, int64_t around[2],
                       double *behind, double *ahead)
{
    *behind = *ahead = 720;
    for (int64_t v = 0; v < views->n; v++) {
        double past = fmod(degree - angle_of(views, v), 360);
        past += past < 0 ? 360 : 0;
        if (past < *behind) {
            *behind = past;
            around[0] = v;
        }
        if (360 - past < *ahead) {
            *ahead = 360 - past;
            around[1] = v;
        }
    }
}

static double sample_at(const struct stage_context *context, const double *slice, int64_t view,
                        double s)
{
    const struct stitch_params *params = context->params;
    const struct ts_axis *views = &context->in.axes[1];
    const int64_t n = context->in.axes[2].n;
    const bool cubic = params->interpolation == STITCH_FOUR_TAPS;
    int64_t around[2] = {0, 0};
    double behind, ahead, own = 0, opposite = 0, other = 0;
    find_views(views, angle_of(views, view) + 180, around, &behind, &ahead);
    const double close = 0.1 * 180 / (double)context->out.axes[1].n;
    const bool has_own = look_up(slice + view * n, n, params->center + s, cubic, &own),
               has_opposite =
                   look_up(slice + around[0] * n, n, params->center - s, cubic, &opposite);
    look_up(slice + around[1] * n, n, params->center - s, cubic, &other);
    if (fmin(behind, ahead) <= close)
        opposite = behind < ahead ? opposite : other;
    else
        opposite = (ahead * opposite + behind * other) / (behind + ahead);
    if (!has_own || !has_opposite)
        return has_own                                   ? own
               : has_opposite                            ? opposite
               : context->in.quantity == TS_TRANSMISSION ? 1
                                                         : 0;
    /* Both see [-reach, reach]; the view goes on where that has the sign of the longer side. */
    const double left = params->center, right = (double)(n - 1) - params->center,
                 reach = fmin(left, right);
    double t = reach > 0 ? 0.5 + 0.5 * s / reach : 0.5;
    t = left <= right ? t : 1 - t;
    if (params->blend == STITCH_COSINE)
        t = sin(0.5 * M_PI * t) * sin(0.5 * M_PI * t);
    return t * own + (1 - t) * opposite;
}

void ts_stitch_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct ts_axis *detector = &context->out.axes[2];
    const int64_t first = ((const struct stitch_params *)context->params)->first;
    for (int64_t z = 0; z < context->in.axes[0].n; z++)
        for (int64_t v = 0; v < context->out.axes[1].n; v++)
            for (int64_t k = 0; k < detector->n; k++)
                *out++ = sample_at(
                    context, in + (size_t)z * ts_slice_count(&context->in), first + v,
                    (detector->first + (double)k * detector->spacing) / detector->spacing);
}
