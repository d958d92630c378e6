/* SPDX-License-Identifier: Apache-2.0
 *
 * Method sinogram completes half a turn with its own mirror image, so that it needs half a turn of views; if they are
 * not in even steps it interpolates between neighbors, which may not be far apart. Method opposite needs one pair of
 * views half a turn apart, and overlap needs an opposite of every view. An error names the method that could search
 * these views instead, where there is one.
 */
#include "stages/scan/center_views.h"

#include <math.h>
#include <stdlib.h>

#include "stages/geometry/view_angles.h"
#include "stages/scan/center_search.h"

enum { LEAST_HALF = 4 }; /* views of half a turn */

static const char by_mass[] = "`method: mass` finds it if the detector sees the whole object in all views; else "
                              "center: NUMBER gives it, and strip: "
                              "true with it draws slices for centers around it";

int ts_center_views_opposites(const struct stage_context *context)
{
    struct center_pairs pairs;
    return ts_center_pairs(&context->in.axes[1], &pairs);
}

/* Refuses views of half a turn with a gap that is too wide. */
static enum ts_status check_gap(const struct stage_context *context)
{
    const struct ts_axis *views = &context->in.axes[1];
    const size_t bytes = (size_t)views->n * sizeof(struct view_place);
    struct view_place *places = malloc(bytes);
    double most;
    if (!places)
        return ts_diag_no_memory(context->diag, bytes);
    const double gap = ts_center_gap(views, places, &most);
    free(places);
    if (gap <= most)
        return TS_OK;
    ts_param_error(context->set, "method", "views-uneven", context->diag,
                   "'sinogram' needs views at most %.4g degrees apart here, and two neighbors are %.4g apart", most,
                   gap);
    return ts_diag_hint(context->diag, "%s", ts_center_views_opposites(context) > 0 ? "use method: opposite" : by_mass);
}

enum ts_status ts_center_views_check_half_turn(const struct stage_context *context)
{
    const struct ts_axis *views = &context->in.axes[1];
    const int64_t half_turn = ts_center_half_turn(views);
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < views->n; i++) {
        least = fmin(least, ts_view_degree(views, i));
        most = fmax(most, ts_view_degree(views, i));
    }
    const double step = (most - least) / (double)(views->n - 1);
    if (half_turn > views->n || half_turn < LEAST_HALF || 3 * half_turn * step < 180) {
        ts_param_error(context->set, "method", "views-arc", context->diag,
                       "'sinogram' needs views over 180 degrees, and these cover %g", step * (double)views->n);
        return ts_diag_hint(context->diag, "%s", by_mass);
    }
    return ts_center_views_are_even(views) ? TS_OK : check_gap(context);
}

enum ts_status ts_center_views_check_opposite(const struct stage_context *context)
{
    if (ts_center_views_opposites(context) > 0)
        return TS_OK;
    ts_param_error(context->set, "method", "views-opposite", context->diag,
                   "'opposite' needs two views half a turn apart, within a step of the views, and there are none");
    return ts_diag_hint(context->diag, "%s", by_mass);
}

enum ts_status ts_center_views_check_overlap(const struct stage_context *context)
{
    const int64_t n = context->in.axes[1].n, lacking = ts_center_overlap_lacks(&context->in.axes[1]);
    if (lacking * 10 <= n) /* a few views are lost */
        return TS_OK;
    ts_param_error(context->set, "method", "views-turn", context->diag,
                   "'overlap' needs a whole turn, and %lld of %lld views have no opposite", (long long)lacking,
                   (long long)n);
    return ts_diag_hint(context->diag,
                        "if the detector sees the whole object, method: sinogram or opposite; else center: NUMBER");
}
