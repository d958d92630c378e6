/* SPDX-License-Identifier: Apache-2.0
 *
 * Views are placed by their angles modulo 360 degrees, from the first view on and in the sense in which they turn. The
 * opposite of a view is looked up at theta + 180 degrees among the views of the first turn: it is a view within a tenth
 * of a step of there, or lies between the two views around it. The result keeps the first half turn, unless views are
 * lost in the second: then it keeps half a turn that ends with these, so that each view that is left has an opposite.
 */
#include "stages/scan/stitch_views.h"

#include <math.h>
#include <stdlib.h>

/* Angles that are nearer than this share of a step are the same. */
static const double same_angle = 0.1;
/* The two views around an opposite stand so many steps apart at the most. */
static const double widest_step = 2.5;
/* So many degrees of views may be lost. */
static const double most_lost = 18;
/* One view in so many may be interpolated by `between: few`. */
enum { FEW = 10 };

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
    const int64_t first = params_of(context)->first, views = params_of(context)->views,
                  n = place_views(context, scratch);
    ts_view_places_sort(scratch, n);
    for (int64_t i = 0; i < n; i++)
        if (scratch[i].view >= first && scratch[i].view < first + views)
            find_opposite(scratch, n, scratch[i].degrees, 180 / (double)views, &opposites[scratch[i].view - first]);
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
        const double last = (double)(context->in.axes[2].n - 1), off = fabs(params_of(context)->center - 0.5 * last);
        return off <= 0.05 * last ? ts_diag_hint(context->diag, "the axis is near the middle of the detector: fbp and "
                                                                "fourier take half a turn without stitch")
                                  : TS_BAD_CHAIN;
    }
    ts_param_error(context->set, "between", "views-between", context->diag,
                   "the opposite of view %lld at %.6g degrees lies between view %lld at %.6g and view %lld at %.6g, "
                   "and one within a tenth of a step, %.6g degrees, was expected",
                   (long long)view, degree, before, low, after, high,
                   same_angle * 180 / (double)params_of(context)->views);
    return ts_diag_hint(context->diag, "between: interpolate takes it from both, which smooths far from the axis");
}

static void warn_of_lost(const struct stage_context *context, double before, double after)
{
    const struct diag_site site = {.code = "views-lost", .span = context->set->span, .stage = context->stage->name};
    ts_diag_warning(context->diag, &site,
                    "no views are between %.6g and %.6g degrees from the first one, and the result has none there "
                    "either",
                    before, after);
}

/* Returns where the half turn begins that the result keeps, in degrees from the first view: at 0, or where it ends with
 * the widest gap of the second half turn, if opposites lie in that. */
static double find_start(const struct stage_context *context, const struct view_place *places, int64_t n)
{
    double before = 0, after = 0;
    for (int64_t v = 1; v <= n; v++) {
        const double end = v < n ? places[v].degrees : 360;
        if (end > 180 && end - places[v - 1].degrees > after - before) {
            before = places[v - 1].degrees;
            after = end;
        }
    }
    if (n < 3 || after - before <= widest_step * 360 / (double)n || after - before > most_lost)
        return 0;
    if (!context->set->resolved) /* once, whatever is found of the axes later */
        warn_of_lost(context, before, after);
    return after - 180;
}

/* Checks the opposites of the views of the result. */
static enum ts_status check_opposites(const struct stage_context *context, const struct stitch_params *params,
                                      const struct view_place *sorted, int64_t n)
{
    const double step = 180 / (double)params->views;
    struct stitch_opposite opposite, between = {{0, 0}, 0};
    int64_t few = 0, of_view = -1;
    for (int64_t i = 0; i < n; i++) {
        if (sorted[i].view < params->first || sorted[i].view >= params->first + params->views)
            continue;
        const double gap = find_opposite(sorted, n, sorted[i].degrees, step, &opposite);
        if (opposite.past > 0 && gap > widest_step * step)
            return refuse_opposite(context, sorted[i].view, &opposite, true);
        if (opposite.past > 0 && few++ == 0) {
            between = opposite;
            of_view = sorted[i].view;
        }
    }
    const int64_t most = params->between == STITCH_INTERPOLATE ? n
                         : params->between == STITCH_FEW       ? params->views / FEW
                                                               : 0;
    return few > most ? refuse_opposite(context, of_view, &between, false) : TS_OK;
}

/* Finds the views of half a turn, which the result keeps, and checks their opposites. */
static enum ts_status find_views(const struct stage_context *context, struct stitch_params *params,
                                 struct view_place *places)
{
    const int64_t n = place_views(context, places);
    const double hair = same_angle * (n > 1 ? fabs(places[1].degrees) : 360);
    for (int64_t v = 1; v < n; v++)
        if (!(places[v].degrees > places[v - 1].degrees))
            return refuse_order(context, v);
    const double start = find_start(context, places, n);
    params->first = params->views = 0;
    for (int64_t v = 0; v < n; v++) {
        params->first += places[v].degrees < start - hair;
        params->views += places[v].degrees >= start - hair && places[v].degrees < start + 180 - hair;
    }
    ts_view_places_sort(places, n);
    return check_opposites(context, params, places, n);
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
