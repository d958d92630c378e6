/* SPDX-License-Identifier: Apache-2.0
 *
 * Radians taken for degrees: all views within some 3 to 7 degrees, and so a gap of nearly the half turn.
 */
#include "stages/geometry/view_angles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "stages/geometry/back_view.h"

/* Neighboring views may stand so many times further apart than on the average. */
static const double widest_gap = 4;
/* Closer directions are one: angles are often written with a few digits. */
static const double same_direction = 1e-6;

struct angles {
    double *degrees; /* free() */
    double low, high;
    struct view_gap gap;
    double usual; /* degrees that a gap may have */
};

double ts_view_degree(const struct ts_axis *axis, int64_t v)
{
    return axis->positions ? axis->positions[v] : axis->first + (double)v * axis->spacing;
}

static enum ts_status find_angles(const struct stage_context *context, struct angles *found)
{
    const struct ts_axis *axis = &context->in.axes[1];
    const size_t bytes = (size_t)axis->n * (sizeof(double) + sizeof(int64_t));
    *found = (struct angles){.degrees = malloc(bytes), .low = INFINITY, .high = -INFINITY};
    if (!found->degrees)
        return ts_diag_no_memory(context->diag, bytes);
    for (int64_t v = 0; v < axis->n; v++) {
        found->degrees[v] = ts_view_degree(axis, v);
        found->low = fmin(found->low, found->degrees[v]);
        found->high = fmax(found->high, found->degrees[v]);
    }
    found->gap = ts_view_gap(found->degrees, axis->n, (int64_t *)(found->degrees + axis->n));
    found->usual = widest_gap * 180 / (double)found->gap.directions;
    return TS_OK;
}

/* Of 9 views over half a turn, its end left out, the range is 8 / 9 of it. */
bool ts_view_angles_are_radians(double low, double high, int64_t n)
{
    return n > 8 && high - low > 0.88 * M_PI && high - low < 2.1 * M_PI;
}

static bool look_like_radians(const struct angles *angles, int64_t n)
{
    return ts_view_angles_are_radians(angles->low, angles->high, n) && angles->gap.degrees > angles->usual;
}

static enum ts_status refuse_radians(const struct stage_context *context, const struct angles *angles)
{
    size_t row;
    ts_diag_error(
        context->diag, TS_BAD_CHAIN,
        &(struct diag_site){.code = "angles-in-radians", .span = context->set->span, .stage = context->stage->name},
        "all %lld angles lie between %.6g and %.6g degrees, which looks like half a turn or a turn in radians",
        (long long)context->in.axes[1].n, angles->low, angles->high);
    if (ts_param_find(context->stage->params, context->stage->n_params, "gaps", &row))
        ts_diag_hint(context->diag, "the angles are degrees; where these are, gaps: accept takes them");
    else
        ts_diag_hint(context->diag, "the angles are degrees; where these are, fbp with gaps: accept takes them");
    return TS_BAD_CHAIN;
}

static enum ts_status refuse_gap(const struct stage_context *context, const struct angles *angles)
{
    const struct view_gap *gap = &angles->gap;
    ts_param_error(context->set, "gaps", "angles-missing", context->diag,
                   "no view lies between view %lld at %.6g and view %lld at %.6g degrees (modulo 180): a gap of %.6g "
                   "degrees, and at most %.6g were expected",
                   (long long)gap->before, angles->degrees[gap->before], (long long)gap->after,
                   angles->degrees[gap->after], gap->degrees, angles->usual);
    ts_diag_hint(context->diag, "gaps=accept reconstructs from what is there");
    return TS_BAD_CHAIN;
}

enum ts_status ts_view_angles_check_gaps(const struct stage_context *context)
{
    struct angles angles;
    enum ts_status status = find_angles(context, &angles);
    if (status == TS_OK && look_like_radians(&angles, context->in.axes[1].n))
        status = refuse_radians(context, &angles);
    else if (status == TS_OK && angles.gap.degrees > angles.usual)
        status = refuse_gap(context, &angles);
    free(angles.degrees);
    return status;
}

enum ts_status ts_view_angles_check_directions(const struct stage_context *context, bool one_will_do)
{
    const struct ts_axis *axis = &context->in.axes[1];
    const double turn = context->in.beam.kind == TS_BEAM_PARALLEL ? 180 : 360, first = ts_view_degree(axis, 0);
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
        &(struct diag_site){.code = "one-direction", .span = context->set->span, .stage = context->stage->name},
        "%s in one direction, %.6g degrees (modulo %g), and 2 directions at least were expected", views, first, turn);
}

enum ts_status ts_view_angles_check_unit(const struct stage_context *context)
{
    struct angles angles;
    enum ts_status status = find_angles(context, &angles);
    if (status == TS_OK && look_like_radians(&angles, context->in.axes[1].n))
        status = refuse_radians(context, &angles);
    free(angles.degrees);
    return status;
}
