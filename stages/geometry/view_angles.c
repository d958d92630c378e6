/* SPDX-License-Identifier: Apache-2.0
 *
 * Views are sorted by their direction, the angle modulo 180 degrees, because rays of opposite views
 * are the same in a parallel beam. Half the distance between a direction's neighbors is the weight
 * of the midpoint rule, so that half a turn and a whole turn, evenly spaced or not, give the same
 * integral.
 *
 * Angles in radians that are mistaken for degrees lie within some 3 to 7 degrees, and so leave a
 * gap of nearly the whole half turn: both signs together are refused. Smaller ranges may be a part
 * of a turn in radians, or be in turns.
 */
#include "stages/geometry/view_angles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Neighboring views may be this many times further apart than the average. */
static const double widest_gap = 4;
/* Views that repeat each other's directions are refused if a gap is wider than widest_repeated
 * degrees allows for 90 views; else several turns cause a warning. So does a scan of up to
 * most_turns turns whose step is the gap; more turns than that mean a range with a digit too many,
 * such as 5 turns for half a turn. */
static const double widest_repeated = 8, most_turns = 4.5;
/* Many views within this many degrees are more likely in radians or turns. */
static const double narrow_range = 7;
enum { NARROW_VIEWS = 10 };
/* Directions that are closer than this (degrees) count as one: angles are often written with few
 * digits. */
static const double same_direction = 1e-6;
/* Views that were recorded modulo 360 are renumbered if that makes their arc shorter by this many
 * degrees. */
static const double shorter_arc = 5;
/* The directions of several turns differ a little. If gaps are judged, views that are closer than
 * this fraction of the mean distance (without the largest) count as one direction, and gaps of
 * several turns may be larger by it. */
static const double near_part = 0.25;

/* ---- order and weights ----------------------------------------------------------------------- */

static int compare_places(const void *a, const void *b)
{
    const struct view_place *left = a, *right = b;
    if (left->degrees != right->degrees)
        return left->degrees < right->degrees ? -1 : 1;
    return (left->view > right->view) - (left->view < right->view);
}

void ts_view_places_sort(struct view_place *places, int64_t n)
{
    qsort(places, (size_t)n, sizeof *places, compare_places);
}

int64_t ts_view_places_up_to(const struct view_place *places, int64_t n, double degrees)
{
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (places[middle].degrees > degrees)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

double ts_view_circular(double degrees)
{
    const double turned = fmod(degrees, 360);
    return turned < 0 ? turned + 360 : turned;
}

/* Returns the arc of the views if they are counted from `cut` degrees on, modulo 360. */
static struct view_arc arc_from(const struct ts_axis *axis, double cut)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t v = 0; v < axis->n; v++) {
        const double past = ts_view_circular(ts_view_degree(axis, v) - cut);
        low = fmin(low, past);
        high = fmax(high, past);
    }
    return (struct view_arc){cut + low, high - low, true};
}

struct view_arc ts_view_arc(const struct ts_axis *axis)
{
    enum { CUTS = 36 };
    double low = INFINITY, high = -INFINITY;
    for (int64_t v = 0; v < axis->n; v++) {
        low = fmin(low, ts_view_degree(axis, v));
        high = fmax(high, ts_view_degree(axis, v));
    }
    struct view_arc arc = {.first = low, .length = high - low};
    for (int i = 0; i < CUTS && high - low <= 360 + same_direction; i++) {
        const struct view_arc cut = arc_from(axis, 360.0 * i / CUTS);
        if (cut.length < arc.length - shorter_arc)
            arc = cut;
    }
    return arc;
}

double ts_view_past(const struct view_arc *arc, const struct ts_axis *axis, int64_t v)
{
    const double past = ts_view_degree(axis, v) - arc->first;
    if (arc->wraps && past < 0)
        return past + 360;
    return arc->wraps && past > arc->length + shorter_arc ? past - 360 : past;
}

static double direction(double degree)
{
    const double turned = fmod(degree, 180);
    const double positive = turned < 0 ? turned + 180 : turned;
    return positive < 180 - same_direction / 2 ? positive : 0;
}

static void sort_by_direction(const struct ts_axis *axis, struct view_place *places)
{
    for (int64_t v = 0; v < axis->n; v++)
        places[v] = (struct view_place){direction(ts_view_degree(axis, v)), v};
    ts_view_places_sort(places, axis->n);
}

/* Returns the end of the group of views in one direction, which starts at places[i]. */
static int64_t group_end(const struct view_place *places, int64_t i, int64_t n)
{
    const double first = places[i].degrees;
    while (i < n && places[i].degrees - first <= same_direction)
        i++;
    return i;
}

void ts_view_weights(const struct ts_axis *axis, double *weights, struct view_place *scratch)
{
    const int64_t n = axis->n;
    const double radian = M_PI / 180;
    sort_by_direction(axis, scratch);
    /* The group before the first is the last one, half a turn back. */
    int64_t last = n - 1;
    while (last > 0 && scratch[n - 1].degrees - scratch[last - 1].degrees <= same_direction)
        last--;
    double before = scratch[last].degrees - 180;
    for (int64_t i = 0, end; i < n; i = end) {
        end = group_end(scratch, i, n);
        const double next = end < n ? scratch[end].degrees : scratch[0].degrees + 180;
        for (int64_t k = i; k < end; k++)
            weights[scratch[k].view] = 0.5 * (next - before) * radian / (double)(end - i);
        before = scratch[i].degrees;
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

enum ts_status ts_views_need_angles(const struct stage_context *context)
{
    const char *unit = context->in.axes[1].unit;
    if (unit && !strcmp(unit, "degree"))
        return TS_OK;
    ts_diag_error(context->diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "angles-missing",
                                      .span = context->set->span,
                                      .stage = context->stage->name},
                  "the views of the sinogram have no angles");
    return ts_diag_hint(context->diag, "docs/inputs.md says how an input is given its angles");
}

/* The range of the angles; the largest distance of neighboring directions, with the views on both
 * sides of it; and the largest distance that is allowed. All are in degrees. */
struct angles {
    double low, high;
    double gap, usual;
    int64_t before, after;
    int64_t directions;
};

static struct angles find_gap(const struct ts_axis *axis, struct view_place *places)
{
    const int64_t n = axis->n;
    sort_by_direction(axis, places);
    struct angles found = {.low = INFINITY,
                           .high = -INFINITY,
                           .gap = places[0].degrees + 180 - places[n - 1].degrees,
                           .before = places[n - 1].view,
                           .after = places[0].view};
    for (int64_t i = 0, end; i < n; i = end, found.directions++) {
        end = group_end(places, i, n);
        const double next = end < n ? places[end].degrees - places[i].degrees : 0;
        if (next > found.gap)
            found.gap = next, found.before = places[end - 1].view, found.after = places[end].view;
    }
    const double near =
        near_part * (180 - found.gap) / (double)(found.directions > 1 ? found.directions - 1 : 1);
    found.directions = 0;
    for (int64_t i = 0, first = 0; i < n; i++)
        if (i == 0 || places[i].degrees - places[first].degrees > near)
            first = i, found.directions++;
    found.usual = widest_gap * 180 / (double)found.directions;
    for (int64_t v = 0; v < n; v++) {
        found.low = fmin(found.low, ts_view_degree(axis, v));
        found.high = fmax(found.high, ts_view_degree(axis, v));
    }
    return found;
}

static enum ts_status find_angles(const struct stage_context *context, struct angles *found)
{
    const size_t bytes = (size_t)context->in.axes[1].n * sizeof(struct view_place);
    struct view_place *places = malloc(bytes);
    if (!places)
        return ts_diag_no_memory(context->diag, bytes);
    *found = find_gap(&context->in.axes[1], places);
    free(places);
    return TS_OK;
}

/* For example, 9 views over half a turn without its end cover 8 / 9 of it. */
bool ts_view_angles_are_radians(double low, double high, int64_t n)
{
    return n > 8 && high - low > 0.88 * M_PI && high - low < 2.1 * M_PI;
}

static bool look_like_radians(const struct angles *angles, int64_t n)
{
    return ts_view_angles_are_radians(angles->low, angles->high, n) && angles->gap > angles->usual;
}

static bool has_gaps(const struct stage_context *context)
{
    size_t row;
    return ts_param_find(context->stage->params, context->stage->n_params, "gaps", &row);
}

#define UNIT_HINT                                                                                  \
    "angle_unit: radian of the input if they are radians; angles in turns have to be converted"

static enum ts_status refuse_radians(const struct stage_context *context,
                                     const struct angles *angles)
{
    ts_diag_error(context->diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "angles-in-radians",
                                      .span = context->set->span,
                                      .stage = context->stage->name},
                  "all %lld angles lie between %.6g and %.6g degrees, which looks like half a turn "
                  "or a turn in radians",
                  (long long)context->in.axes[1].n, angles->low, angles->high);
    return ts_diag_hint(context->diag,
                        UNIT_HINT "; where they are degrees, %sgaps: accept takes them",
                        has_gaps(context) ? "" : "fbp with ");
}

static bool are_narrow(const struct angles *angles, int64_t n)
{
    return n >= NARROW_VIEWS && angles->high - angles->low < narrow_range &&
           angles->gap > angles->usual;
}

static enum ts_status refuse_gap(const struct stage_context *context, const struct angles *angles)
{
    const struct ts_axis *axis = &context->in.axes[1];
    ts_param_error(context->set, "gaps", "angles-missing", context->diag,
                   "no view lies between view %lld at %.6g and view %lld at %.6g degrees (modulo "
                   "180): a gap of %.6g degrees, and at most %.6g were expected",
                   (long long)angles->before, ts_view_degree(axis, angles->before),
                   (long long)angles->after, ts_view_degree(axis, angles->after), angles->gap,
                   angles->usual);
    return ts_diag_hint(context->diag, "%sgaps: accept reconstructs from what is there",
                        are_narrow(angles, axis->n) ? UNIT_HINT "; where they are degrees, " : "");
}

/* Warns of a range of angles that is legal if a stage has no weights for them. Returns false if it
 * is not legal. */
static bool warn_of_range(const struct stage_context *context, const struct angles *angles)
{
    const struct ts_axis *axis = &context->in.axes[1];
    const bool narrow = are_narrow(angles, axis->n);
    const struct diag_site site = {.code = narrow ? "angles-narrow" : "angles-limited",
                                   .span = context->set->span,
                                   .stage = context->stage->name};
    if (angles->gap <= angles->usual)
        return false;
    if (context->set->resolved) /* it has been reported already */
        return true;
    if (narrow) {
        ts_diag_warning(
            context->diag, &site,
            "all %lld angles lie between %.6g and %.6g degrees, which looks like radians or turns",
            (long long)axis->n, angles->low, angles->high);
        ts_diag_hint(context->diag, UNIT_HINT);
        return true;
    }
    ts_diag_warning(context->diag, &site,
                    "the views cover %.6g of 180 degrees: none lies between view %lld at %.6g and "
                    "view %lld at %.6g degrees (modulo 180)",
                    180 - angles->gap, (long long)angles->before,
                    ts_view_degree(axis, angles->before), (long long)angles->after,
                    ts_view_degree(axis, angles->after));
    return true;
}

static bool turn_steadily(const struct angles *angles, int64_t n)
{
    const double range = angles->high - angles->low, step = range / (double)(n - 1);
    return range < most_turns * 360 && fabs(step - angles->gap) < near_part * angles->gap;
}

/* Checks for views that repeat a few directions, so that the same number of views in different
 * directions would leave no such gap. A gap among those few directions is not checked here. For a
 * stage without `gaps: accept`, this is a warning. */
static enum ts_status check_repeated(const struct stage_context *context,
                                     const struct angles *angles)
{
    static const char message[] =
        "the %lld views look in %lld directions only (modulo 180): the largest gap is %.6g "
        "degrees, and at most %.6g were expected of so many views";
    const struct diag_site site = {
        .code = "views-repeated", .span = context->set->span, .stage = context->stage->name};
    const long long n = (long long)context->in.axes[1].n,
                    directions = (long long)angles->directions;
    const double usual = (1 + near_part) * widest_gap * 180 / (double)n;
    if (directions < 2 || angles->gap <= usual || angles->gap > angles->usual)
        return TS_OK;
    if (angles->gap > widest_repeated && has_gaps(context) && !turn_steadily(angles, n)) {
        ts_diag_error(context->diag, TS_BAD_CHAIN, &site, message, n, directions, angles->gap,
                      usual);
        return ts_diag_hint(context->diag, "the unit or the range of the angles may be wrong; "
                                           "where these are right, gaps: accept takes them");
    }
    if (context->set->resolved) /* it has been reported already */
        return TS_OK;
    ts_diag_warning(context->diag, &site, message, n, directions, angles->gap, usual);
    ts_diag_hint(
        context->diag,
        "the unit or the range of the angles may be wrong, if this is no scan of several turns");
    return TS_OK;
}

enum ts_status ts_view_angles_check_gaps(const struct stage_context *context)
{
    struct angles angles = {0};
    const enum ts_status status = find_angles(context, &angles);
    if (status == TS_OK && look_like_radians(&angles, context->in.axes[1].n))
        return refuse_radians(context, &angles);
    if (status != TS_OK)
        return status;
    return angles.gap > angles.usual ? refuse_gap(context, &angles)
                                     : check_repeated(context, &angles);
}

enum ts_status ts_view_angles_check_unit(const struct stage_context *context)
{
    struct angles angles = {0};
    const enum ts_status status = find_angles(context, &angles);
    if (status != TS_OK)
        return status;
    if (look_like_radians(&angles, context->in.axes[1].n))
        return refuse_radians(context, &angles);
    return warn_of_range(context, &angles) ? TS_OK : check_repeated(context, &angles);
}

int64_t ts_view_directions(const struct ts_axis *axis, struct view_place *scratch)
{
    return find_gap(axis, scratch).directions;
}

enum ts_status ts_view_angles_check_directions(const struct stage_context *context,
                                               bool one_will_do)
{
    const struct ts_axis *axis = &context->in.axes[1];
    const double turn = context->in.beam.kind == TS_BEAM_PARALLEL ? 180 : 360,
                 first = ts_view_degree(axis, 0);
    for (int64_t v = 1; v < axis->n; v++)
        if (fabs(remainder(ts_view_degree(axis, v) - first, turn)) > same_direction)
            return TS_OK;
    if (axis->n < 2 && one_will_do)
        return TS_OK;
    char views[32] = "the only view looks";
    if (axis->n > 1)
        snprintf(views, sizeof views, "all %lld views look", (long long)axis->n);
    return ts_diag_error(
        context->diag, TS_BAD_CHAIN,
        &(struct diag_site){
            .code = "one-direction", .span = context->set->span, .stage = context->stage->name},
        "%s in one direction, %.6g degrees (modulo %g), and 2 directions at least were expected",
        views, first, turn);
}
