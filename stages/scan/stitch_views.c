/* SPDX-License-Identifier: Apache-2.0
 *
 * Views are placed by their angles modulo 360 degrees, from the first view on and the way that they go; the opposite of
 * a view is looked up at theta + 180 degrees among those of the first turn.
 */
#include "stages/scan/stitch_views.h"
#include "stages/geometry/view_angles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/geometry/view_angles.h"
#include "stages/geometry/view_unit.h"
#include "stages/projection/reconstruction.h"

/* Of a step of the views: nearer angles are the same. */
static const double same_angle = 0.1;
/* Neighboring views, one on each side of an opposite, are so many steps apart at the most. */
static const double widest_step = 2.5;
static const struct stitch_params *params_of(const struct stage_context *context)
{
    return context->params;
}

struct view_place {
    double degrees; /* from the first view on, the way that the views go, in [0, 360) or a hair below 0 */
    int32_t view;
};

/* In the order of the scan, as far as its first turn goes; returns how many that is. */
static int64_t place_views(const struct stage_context *context, struct view_place *places)
{
    const struct ts_axis *axis = &context->in.axes[1];
    const double first = ts_view_degree(axis, 0), way = axis->n > 1 ? ts_view_degree(axis, 1) - first : 0;
    const double sense = remainder(way, 360) < 0 ? -1 : 1, hair = same_angle * fabs(remainder(way, 360));
    for (int64_t v = 0; v < axis->n; v++) {
        double degrees = fmod(sense * (ts_view_degree(axis, v) - first), 360);
        degrees += degrees < 0 ? 360 : 0;
        places[v] = (struct view_place){degrees > 360 - hair ? degrees - 360 : degrees, (int32_t)v};
        if (v > 0 && places[v].degrees < places[v - 1].degrees - 180)
            return v;
    }
    return axis->n;
}

static int compare_places(const void *a, const void *b)
{
    const struct view_place *left = a, *right = b;
    if (left->degrees != right->degrees)
        return left->degrees < right->degrees ? -1 : 1;
    return (left->view > right->view) - (left->view < right->view);
}

/* The opposite of a view at `degrees`: between the two of `sorted` around it, or the nearer of them where that is as
 * good. Returns how far apart these two are. */
static double find_opposite(const struct view_place *sorted, int64_t n, double degrees, double step,
                            struct stitch_opposite *opposite)
{
    const double at = degrees + 180 < 360 ? degrees + 180 : degrees - 180;
    int64_t low = 0, high = n; /* the first view past the angle */
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (sorted[middle].degrees > at)
            high = middle;
        else
            low = middle + 1;
    }
    const struct view_place *before = &sorted[low > 0 ? low - 1 : n - 1], *after = &sorted[low < n ? low : 0];
    const double behind = at - before->degrees + (low > 0 ? 0 : 360), ahead = after->degrees - at + (low < n ? 0 : 360);
    *opposite = (struct stitch_opposite){{before->view, after->view}, 0};
    if (ahead < behind && ahead <= same_angle * step)
        opposite->view[0] = after->view;
    else if (behind > same_angle * step)
        opposite->past = (float)(behind / (behind + ahead));
    return behind + ahead;
}

size_t ts_stitch_room_bytes(const struct stage_context *context)
{
    return (size_t)context->in.axes[1].n * sizeof(struct view_place);
}

void ts_stitch_opposites(const struct stage_context *context, struct stitch_opposite *opposites, void *room)
{
    const int64_t views = params_of(context)->views;
    struct view_place *places = room;
    const double step = 180 / (double)views;
    const int64_t n = place_views(context, places);
    qsort(places, (size_t)n, sizeof *places, compare_places);
    for (int64_t i = 0; i < n; i++)
        if (places[i].view < views)
            find_opposite(places, n, places[i].degrees, step, &opposites[places[i].view]);
}

/* ---- what is refused ---------------------------------------------------------------------------- */

static struct diag_site site_of(const struct stage_context *context, const char *code)
{
    return (struct diag_site){.code = code, .span = context->set->span, .stage = context->stage->name};
}

static enum ts_status refuse_order(const struct stage_context *context, int64_t view)
{
    const struct diag_site site = site_of(context, "views-order");
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
        const struct diag_site site = site_of(context, "views-opposite");
        ts_diag_error(context->diag, TS_BAD_CHAIN, &site,
                      "view %lld at %.6g degrees has no opposite: the nearest to %.6g degrees are view %lld at %.6g "
                      "and view %lld at %.6g (modulo 360), and a whole turn was expected",
                      (long long)view, degree, degree + 180, before, low, after, high);
        ts_diag_hint(context->diag, "fbp and fourier take half a turn as it is");
        return TS_BAD_CHAIN;
    }
    ts_param_error(context->set, "between", "views-between", context->diag,
                   "the opposite of view %lld at %.6g degrees lies between view %lld at %.6g and view %lld at %.6g, "
                   "and one within a tenth of a step, %.6g degrees, was expected",
                   (long long)view, degree, before, low, after, high,
                   same_angle * 180 / (double)params_of(context)->views);
    ts_diag_hint(context->diag, "between: interpolate takes it from both, which smooths far from the axis");
    return TS_BAD_CHAIN;
}

/* The views of the first half turn are those that the result keeps. */
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
    qsort(places, (size_t)n, sizeof *places, compare_places);
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
    struct view_place *places = malloc(ts_stitch_room_bytes(context));
    if (!places)
        return ts_diag_no_memory(context->diag, ts_stitch_room_bytes(context));
    status = find_views(context, params, places);
    free(places);
    return status;
}
