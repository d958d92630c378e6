/* SPDX-License-Identifier: Apache-2.0
 *
 * Views are placed by their angles modulo 360 degrees, from the first view on and in the sense in which they turn. The
 * opposite of a view is looked up at theta + 180 degrees among the views of the first turn: it is a view within a tenth
 * of a step of there, or lies between the two views around it.
 */
#include "stages/scan/stitch_views.h"

#include <math.h>
#include <stdlib.h>

/* Angles that are nearer than this share of a step are the same. */
static const double same_angle = 0.1;
/* The two views around an opposite stand so many steps apart at the most. */
static const double widest_step = 2.5;

STAGE_PARAMS_OF(stitch_params)

/* Writes the places of the views in the order of the scan, in [0, 360) degrees or a hair below 0, as far as the first
 * turn goes. Returns how many these are. */
static int64_t place_views(const struct stage_context *context, struct view_place *places)
{
    const struct ts_axis *axis = &context->in.axes[1];
    const double first = ts_view_degree(axis, 0), way = axis->n > 1 ? ts_view_degree(axis, 1) - first : 0;
    const double sense = remainder(way, 360) < 0 ? -1 : 1, hair = same_angle * fabs(remainder(way, 360));
    for (int64_t v = 0; v < axis->n; v++) {
        double degrees = fmod(sense * (ts_view_degree(axis, v) - first), 360);
        degrees += degrees < 0 ? 360 : 0;
        places[v] = (struct view_place){degrees > 360 - hair ? degrees - 360 : degrees, v};
        if (v > 0 && places[v].degrees < places[v - 1].degrees - 180)
            return v;
    }
    return axis->n;
}

/* Finds the opposite of a view at `degrees`: between the two of `sorted` around it, or the nearer of them where that is
 * within a tenth of a step. Returns how far apart these two are. */
static double find_opposite(const struct view_place *sorted, int64_t n, double degrees, double step,
                            struct stitch_opposite *opposite)
{
    const double at = degrees + 180 < 360 ? degrees + 180 : degrees - 180;
    const int64_t low = ts_view_places_up_to(sorted, n, at); /* the first view past the angle */
    const struct view_place *before = &sorted[low > 0 ? low - 1 : n - 1], *after = &sorted[low < n ? low : 0];
    const double behind = at - before->degrees + (low > 0 ? 0 : 360), ahead = after->degrees - at + (low < n ? 0 : 360);
    *opposite = (struct stitch_opposite){{(int32_t)before->view, (int32_t)after->view}, 0};
    if (ahead < behind && ahead <= same_angle * step)
        opposite->view[0] = (int32_t)after->view;
    else if (behind > same_angle * step)
        opposite->past = (float)(behind / (behind + ahead));
    return behind + ahead;
}

void ts_stitch_opposites(const struct stage_context *context, struct stitch_opposite *opposites,
                         struct view_place *scratch)
{
    const int64_t views = params_of(context)->views, n = place_views(context, scratch);
    ts_view_places_sort(scratch, n);
    for (int64_t i = 0; i < n; i++)
        if (scratch[i].view < views)
            find_opposite(scratch, n, scratch[i].degrees, 180 / (double)views, &opposites[scratch[i].view]);
}

/* ---- what is refused ---------------------------------------------------------------------------- */

static enum ts_status refuse_order(const struct stage_context *context, int64_t view)
{
    const struct diag_site site = {.code = "views-order", .span = context->set->span, .stage = context->stage->name};
    const struct ts_axis *axis = &context->in.axes[1];
    return ts_diag_error(context->diag, TS_BAD_CHAIN, &site,
                         "view %lld, at %.6g degrees, comes after view %lld, at %.6g, and angles that go one way were "
                         "expected",
                         (long long)view, ts_view_degree(axis, view), (long long)view - 1,
                         ts_view_degree(axis, view - 1));
}

static enum ts_status refuse_opposite(const struct stage_context *context, int64_t view,
                                      const struct stitch_opposite *opposite, bool none)
{
    const struct ts_axis *axis = &context->in.axes[1];
    const double degree = ts_view_degree(axis, view);
    const long long before = opposite->view[0], after = opposite->view[1];
    const double low = ts_view_degree(axis, before), high = ts_view_degree(axis, after);
    if (none) {
        const struct diag_site site = {
            .code = "views-opposite", .span = context->set->span, .stage = context->stage->name};
        ts_diag_error(context->diag, TS_BAD_CHAIN, &site,
                      "view %lld at %.6g degrees has no opposite: the nearest to %.6g degrees are view %lld at %.6g "
                      "and view %lld at %.6g (modulo 360), and a whole turn was expected",
                      (long long)view, degree, degree + 180, before, low, after, high);
        return ts_diag_hint(context->diag, "fbp and fourier take half a turn as it is");
    }
    ts_param_error(context->set, "between", "views-between", context->diag,
                   "the opposite of view %lld at %.6g degrees lies between view %lld at %.6g and view %lld at %.6g, "
                   "and one within a tenth of a step, %.6g degrees, was expected",
                   (long long)view, degree, before, low, after, high,
                   same_angle * 180 / (double)params_of(context)->views);
    return ts_diag_hint(context->diag, "between: interpolate takes it from both, which smooths far from the axis");
}

/* Counts the views of the first half turn, which the result keeps, and checks their opposites. */
static enum ts_status find_views(const struct stage_context *context, struct stitch_params *params,
                                 struct view_place *places)
{
    const int64_t n = place_views(context, places);
    int64_t views = 0;
    const double step = n > 1 ? fabs(places[1].degrees) : 360;
    for (int64_t v = 0; v < n; v++) {
        if (v > 0 && !(places[v].degrees > places[v - 1].degrees))
            return refuse_order(context, v);
        views += places[v].degrees < 180 - same_angle * step;
    }
    params->views = views;
    ts_view_places_sort(places, n);
    for (int64_t i = 0; i < n; i++) {
        struct stitch_opposite opposite;
        if (places[i].view >= views)
            continue;
        const double gap = find_opposite(places, n, places[i].degrees, 180 / (double)views, &opposite);
        const bool none = opposite.past > 0 && gap > widest_step * 180 / (double)views;
        if (none || (opposite.past > 0 && params->between == STITCH_REFUSE))
            return refuse_opposite(context, places[i].view, &opposite, none);
    }
    return TS_OK;
}

enum ts_status ts_stitch_views(const struct stage_context *context, struct stitch_params *params)
{
    if (ts_views_need_angles(context) != TS_OK)
        return TS_BAD_CHAIN;
    enum ts_status status = ts_view_angles_check_unit(context);
    if (status == TS_OK)
        status = ts_view_angles_check_directions(context, false);
    if (status != TS_OK)
        return status;
    const size_t bytes = (size_t)context->in.axes[1].n * sizeof(struct view_place);
    struct view_place *places = malloc(bytes);
    if (!places)
        return ts_diag_no_memory(context->diag, bytes);
    status = find_views(context, params, places);
    free(places);
    return status;
}
