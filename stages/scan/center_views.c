/* SPDX-License-Identifier: Apache-2.0
 *
 * Method sinogram completes half a turn with its own mirror image, so that it needs half a turn of evenly spaced views.
 * Method opposite needs one pair of views half a turn apart, and overlap needs an opposite of every view. An error
 * names the method that could search these views instead, where there is one.
 */
#include "stages/scan/center_views.h"

#include <math.h>

#include "stages/geometry/view_angles.h"
#include "stages/scan/center_search.h"

static const char by_eye[] =
    "no method can find it here: center: NUMBER gives it, and strip: true with it draws slices for centers around it";

int ts_center_views_opposites(const struct stage_context *context)
{
    struct center_pairs pairs;
    return ts_center_pairs(&context->in.axes[1], &pairs);
}

static enum ts_status refuse_uneven(const struct stage_context *context, int64_t view, double expected)
{
    ts_param_error(context->set, "method", "views-uneven", context->diag,
                   "'sinogram' needs views at even angles, and view %lld is at %g degrees, not %g", (long long)view,
                   ts_view_degree(&context->in.axes[1], view), expected);
    return ts_diag_hint(context->diag, "%s", ts_center_views_opposites(context) > 0 ? "use method: opposite" : by_eye);
}

enum ts_status ts_center_views_check_half_turn(const struct stage_context *context)
{
    const struct ts_axis *views = &context->in.axes[1];
    const double first = ts_view_degree(views, 0),
                 step = (ts_view_degree(views, views->n - 1) - first) / (double)(views->n - 1);
    for (int64_t i = 0; i < views->n; i++)
        if (!(fabs(ts_view_degree(views, i) - first - (double)i * step) <= 0.01 * fabs(step)))
            return refuse_uneven(context, i, first + (double)i * step);
    if (ts_center_half_turn(views) <= views->n)
        return TS_OK;
    ts_param_error(context->set, "method", "views-arc", context->diag,
                   "'sinogram' needs views over 180 degrees, and these cover %g", fabs(step) * (double)views->n);
    return ts_diag_hint(context->diag, "%s", by_eye);
}

enum ts_status ts_center_views_check_opposite(const struct stage_context *context)
{
    if (ts_center_views_opposites(context) > 0)
        return TS_OK;
    ts_param_error(context->set, "method", "views-opposite", context->diag,
                   "'opposite' needs two views half a turn apart, within a step of the views, and there are none");
    return ts_diag_hint(context->diag, "%s", by_eye);
}

enum ts_status ts_center_views_check_overlap(const struct stage_context *context)
{
    const int64_t n = context->in.axes[1].n, lacking = ts_center_overlap_lacks(&context->in.axes[1]);
    if (lacking == 0)
        return TS_OK;
    ts_param_error(context->set, "method", "views-turn", context->diag,
                   "'overlap' needs a whole turn, and %lld of %lld views have no opposite", (long long)lacking,
                   (long long)n);
    return ts_diag_hint(context->diag, "use method: sinogram, or opposite");
}
