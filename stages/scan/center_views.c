/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/scan/center_views.h"

#include <math.h>
#include <stdlib.h>

#include "stages/scan/center_overlap.h"

static double angle_of(const struct ts_axis *views, int64_t i)
{
    return views->positions ? views->positions[i] : views->first + (double)i * views->spacing;
}

static double step_of(const struct stage_context *context)
{
    const struct ts_axis *views = &context->in.axes[1];
    return (angle_of(views, views->n - 1) - angle_of(views, 0)) / (double)(views->n - 1);
}

int64_t ts_center_views_half_turn(const struct stage_context *context)
{
    return ts_center_half_turn(step_of(context));
}

double *ts_center_views_angles(const struct stage_context *context)
{
    const struct ts_axis *views = &context->in.axes[1];
    double *angles = malloc((size_t)views->n * sizeof *angles);
    for (int64_t i = 0; angles && i < views->n; i++)
        angles[i] = angle_of(views, i);
    return angles;
}

int ts_center_views_pairs(const struct stage_context *context, const double *angles, int64_t pairs[CENTER_PAIRS][2])
{
    return angles ? ts_center_pairs(angles, context->in.axes[1].n, 1.001 * fabs(step_of(context)), pairs) : -1;
}

int ts_center_views_opposites(const struct stage_context *context)
{
    int64_t pairs[CENTER_PAIRS][2];
    double *angles = ts_center_views_angles(context);
    const int n = ts_center_views_pairs(context, angles, pairs);
    free(angles);
    if (n < 0)
        ts_diag_no_memory(context->diag, (size_t)context->in.axes[1].n * sizeof(double));
    return n;
}

static const char by_eye[] =
    "no method can find it here: center: NUMBER gives it, and strip: true with it draws slices for centers around it";

/* Where the views are not even. */
static enum ts_status refuse_uneven(const struct stage_context *context, int64_t view, double expected)
{
    const int n = ts_center_views_opposites(context);
    if (n < 0)
        return TS_RUN_FAILED;
    ts_param_error(context->set, "method", "views-uneven", context->diag,
                   "'sinogram' needs views at even angles, and view %lld is at %g degrees, not %g", (long long)view,
                   angle_of(&context->in.axes[1], view), expected);
    ts_diag_hint(context->diag, "%s", n > 0 ? "use method: opposite" : by_eye);
    return TS_BAD_CHAIN;
}

enum ts_status ts_center_views_check_half_turn(const struct stage_context *context)
{
    const struct ts_axis *views = &context->in.axes[1];
    const double step = step_of(context), first = angle_of(views, 0);
    for (int64_t i = 0; i < views->n; i++)
        if (!(fabs(angle_of(views, i) - first - (double)i * step) <= 0.01 * fabs(step)))
            return refuse_uneven(context, i, first + (double)i * step);
    if (ts_center_views_half_turn(context) <= views->n)
        return TS_OK;
    ts_param_error(context->set, "method", "views-arc", context->diag,
                   "'sinogram' needs views over 180 degrees, and these cover %g", fabs(step) * (double)views->n);
    ts_diag_hint(context->diag, "%s", by_eye);
    return TS_BAD_CHAIN;
}

enum ts_status ts_center_views_check_opposite(const struct stage_context *context)
{
    const int n = ts_center_views_opposites(context);
    if (n < 0)
        return TS_RUN_FAILED;
    if (n > 0)
        return TS_OK;
    ts_param_error(context->set, "method", "views-opposite", context->diag,
                   "'opposite' needs two views half a turn apart, within a step of the views, and there are none");
    ts_diag_hint(context->diag, "%s", by_eye);
    return TS_BAD_CHAIN;
}

enum ts_status ts_center_views_check_overlap(const struct stage_context *context)
{
    double *angles = ts_center_views_angles(context);
    const int64_t n = context->in.axes[1].n, lacking = angles ? ts_center_overlap_lacks(angles, n) : -1;
    free(angles);
    if (lacking < 0)
        return ts_diag_no_memory(context->diag, (size_t)n * sizeof(double));
    if (lacking == 0)
        return TS_OK;
    ts_param_error(context->set, "method", "views-turn", context->diag,
                   "'overlap' needs a whole turn, and %lld of %lld views have no opposite", (long long)lacking,
                   (long long)n);
    ts_diag_hint(context->diag, "use method: sinogram, or opposite");
    return TS_BAD_CHAIN;
}
