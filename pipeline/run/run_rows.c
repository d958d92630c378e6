/* SPDX-License-Identifier: Apache-2.0
 *
 * Levels are means over blocks (stages/geometry/view_blocks.h). A block takes more than a 16th of
 * the views if it needs them for 64 values, which make noise of a tenth of the largest value an
 * 80th. Rows whose two outermost values are equal in all views were extended, for example by `pad`.
 * Transmissions are too bright if more than a 20th of the blocks is above 1.3, which a beam that
 * drifts by 20 % does not reach. Both ends are air if their values are equal and flat; other values
 * than 1 are the beam of the views over that of the flats.
 */
#include "pipeline/run/run_rows.h"
#include "pipeline/plan/plan_axis.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/search.h"
#include "stages/geometry/view_angles.h"
#include "stages/geometry/view_beam.h"
#include "stages/geometry/view_blocks.h"
#include "stages/geometry/view_doubts.h"
#include "stages/scan/starved.h"
#include "stages/scan/view_values.h"

enum { LEAST_VALUES = 64, WHOLE = ROWS_WHOLE };

static const double bright = ROWS_BRIGHT_FROM, few_bright = 0.05;
/* The mean transmission of air may be up to this, or down to 1 / 1.13, which a beam that drifts by
   20 % does not exceed. */
static const double air_most = 1.13;
/* A beam that drifts evenly may do so by this factor. */
static const double drift_most = 1.26;
/* Both ends are air if they, and the strips beside them, differ by less than these shares: of their
   values, and of what they lack to the largest. An object that goes on beyond the detector has a
   slope and changes with the angle. */
static const double flat_of_level = 0.1, flat_of_rest = 0.05;
/* What takes away less of the light is not looked for where air is expected. */
static const double least_object = 0.1;

/* ---- levels ---------------------------------------------------------------------------------- */

static double most_of(const struct view_blocks *blocks, int64_t first)
{
    double least, most;
    ts_view_blocks_range(blocks, first, &least, &most);
    return most;
}

/* Returns true if detector pixels a and b, at an end, are equal in all views. Sets *varies if views
   differ. */
static bool is_extended(const struct view_blocks *blocks, int64_t a, int64_t b, bool *varies)
{
    bool same = true;
    *varies = false;
    for (int64_t v = 0; v < blocks->n_views; v++) {
        same &= blocks->p[v * blocks->n + a] == blocks->p[v * blocks->n + b];
        *varies |= blocks->p[v * blocks->n + a] != blocks->p[a];
    }
    return same;
}

/* Returns true if an end was extended and is not noiseless air, which is equal in all views. */
static bool shows_object(const struct view_blocks *blocks, int64_t a, int64_t b)
{
    bool varies;
    return is_extended(blocks, a, b, &varies) && varies;
}

/* Returns the level of a strip as a line integral, converting light if necessary. */
static double level_of(const struct view_blocks *blocks, bool light, int64_t group, int64_t first)
{
    const double mean = ts_view_block_mean(blocks, group, first);
    return light ? -log(fmax(mean, DBL_MIN)) : mean;
}

/* Returns the mean level of a strip in all groups of views. */
static double mean_level(const struct view_blocks *blocks, bool light, int64_t first)
{
    double sum = 0;
    for (int64_t group = 0; group < blocks->groups; group++)
        sum += level_of(blocks, light, group, first);
    return sum / (double)blocks->groups;
}

/* Returns by how much the two ends, and the strips beside them, differ. Sets the level of the ends,
 * and their mean. */
static double unevenness(const struct view_blocks *blocks, bool light, double *level, double *mean)
{
    const int64_t n = blocks->n, strip = blocks->strip;
    const double groups = (double)blocks->groups;
    double levels = 0, apart = 0, slope = 0, sum = 0;
    for (int64_t group = 0; group < blocks->groups; group++) {
        const double left = level_of(blocks, light, group, 0),
                     right = level_of(blocks, light, group, n - strip),
                     from_left = left - level_of(blocks, light, group, strip),
                     from_right = right - level_of(blocks, light, group, n - 2 * strip);
        levels += 0.5 * (left * left + right * right);
        apart += (left - right) * (left - right);
        slope += fmax(from_left * from_left, from_right * from_right);
        sum += 0.5 * (left + right);
    }
    *level = sqrt(levels / groups);
    *mean = sum / groups;
    return sqrt(fmax(apart, slope) / groups);
}

/* Returns whether both ends see the same in all views, and so do the strips beside them, but for
 * `noise`. `most` is the most that is seen. */
static bool ends_are_air(const struct view_blocks *blocks, bool light, double most, double noise)
{
    double level, mean;
    if (blocks->n < 4 * blocks->strip)
        return false;
    const double uneven = unevenness(blocks, light, &level, &mean);
    return uneven < fmax(noise, flat_of_level * level) && uneven < flat_of_rest * (most - mean);
}

static double most_of_row(const struct view_blocks *blocks)
{
    double most = 0;
    for (int64_t first = 0; first + blocks->strip <= blocks->n; first += blocks->strip)
        most = fmax(most, most_of(blocks, first));
    return most;
}

/* Returns what the ends see of the object, as a share of the most that is seen anywhere, and
 * whether both are air all the same, of another level. */
static double share_of_ends(const struct view_blocks *blocks, int64_t *are_air)
{
    const int64_t n = blocks->n, strip = blocks->strip;
    const double most = most_of_row(blocks);
    double ends = 0;
    bool varies;
    if (n < 2 * strip)
        return 0;
    if (!is_extended(blocks, 0, 1, &varies))
        ends = fmax(ends, most_of(blocks, 0));
    if (!is_extended(blocks, n - 1, n - 2, &varies))
        ends = fmax(ends, most_of(blocks, n - strip));
    *are_air = ends_are_air(blocks, false, most, 0);
    if (ends < log(bright) && *are_air) /* a beam that drifts */
        return 0;
    return most > 0 ? fmin(1, ends / most) : 0;
}

/* Finds line integrals that an object has less of than air, by how much in thousandths, air's in
 * `first` and the least in `last`. */
static struct rows_found find_inverted(const struct view_blocks *blocks)
{
    enum { TIMES = 4 };
    const int64_t n = blocks->n, strip = blocks->strip;
    double least = INFINITY, most = -INFINITY, low, high, low_end, high_end;
    struct rows_found found = {0};
    if (n < 4 * strip)
        return found;
    for (int64_t first = 0; first + strip <= n; first += strip) {
        ts_view_blocks_range(blocks, first, &low, &high);
        least = fmin(least, low);
        most = fmax(most, high);
    }
    ts_view_blocks_range(blocks, 0, &low, &high);
    ts_view_blocks_range(blocks, n - strip, &low_end, &high_end);
    low = fmin(low, low_end);
    high = fmax(high, high_end);
    if (!(low - least > least_object) || !(low - least > TIMES * (most - low)))
        return found;
    return (struct rows_found){llround(fmin(WHOLE, low - least) * WHOLE),
                               llround(0.5 * (low + high) * WHOLE), llround(least * WHOLE)};
}

/* Returns the mean level of both ends. */
static double level_of_ends(const struct view_blocks *blocks)
{
    return 0.5 *
           (mean_level(blocks, true, 0) + mean_level(blocks, true, blocks->n - blocks->strip));
}

/* Returns whether both ends of transmissions are air, whatever their level is, but for `noise`. */
static bool have_air(const struct view_blocks *blocks, double noise)
{
    const int64_t last = blocks->n - blocks->strip;
    if (last < 0 || shows_object(blocks, 0, 1) ||
        shows_object(blocks, blocks->n - 1, blocks->n - 2))
        return false;
    double most = level_of_ends(blocks);
    for (int64_t first = 0; first <= last; first += blocks->strip)
        for (int64_t group = 0; group < blocks->groups; group++)
            most = fmax(most, level_of(blocks, true, group, first));
    return ends_are_air(blocks, true, most, noise);
}

/* Returns the most that a strip sees beyond another one, or beyond 1 without one (-1), in a group
 * of views; if the value of air is not known, how much that changes from group to group. */
static double seen_beyond(const struct view_blocks *blocks, bool known, int64_t first,
                          int64_t other)
{
    double most = -INFINITY, sum = 0, squares = 0;
    for (int64_t group = 0; group < blocks->groups; group++) {
        const double level = level_of(blocks, true, group, first) -
                             (other < 0 ? 0 : level_of(blocks, true, group, other));
        most = fmax(most, level);
        sum += level;
        squares += level * level;
    }
    const double mean = sum / (double)blocks->groups;
    return known ? most : sqrt(fmax(0, squares / (double)blocks->groups - mean * mean));
}

/* Returns the deviation by noise of a block at the ends of transmissions, of its level. */
static double noise_of_ends(const struct view_blocks *blocks)
{
    double squares = 0, sum = 0;
    for (int64_t v = 0; v < blocks->n_views; v++)
        for (int64_t d = 0; d + 1 < blocks->strip; d++) {
            const float *first = blocks->p + v * blocks->n + d,
                        *last = blocks->p + (v + 1) * blocks->n - 2 - d;
            const double left = (double)first[1] - (double)first[0],
                         right = (double)last[1] - (double)last[0];
            squares += left * left + right * right;
            sum += (double)first[0] + (double)last[1];
        }
    const double values = (double)(blocks->n_views * (blocks->strip - 1) * 2),
                 block = (double)(blocks->n_views * blocks->strip) / (double)blocks->groups;
    return sqrt(squares / (2 * values * block)) / fmax(sum / values, DBL_MIN);
}

/* Finds which part of the most that is seen anywhere the `width` outermost detector pixels see.
 * `first` is 1 if the very outermost do. A beam that drifts lifts both ends alike. */
static struct rows_found find_object_as_air(const struct view_blocks *blocks, bool known,
                                            int64_t width)
{
    enum { DEVIATIONS = 4 };
    const int64_t n = blocks->n, strip = blocks->strip, last = n - strip,
                  in = width > strip ? width - strip : 0;
    double most = 0, outer = 0;
    if (n < 4 * strip)
        return (struct rows_found){0};
    for (int64_t first = 0; first <= last; first += strip)
        most = fmax(most, seen_beyond(blocks, known, first, known ? -1 : 0));
    if (!known)
        outer = seen_beyond(blocks, false, 0, last);
    else if (!have_air(blocks, DEVIATIONS * noise_of_ends(blocks)))
        outer = fmax(seen_beyond(blocks, true, 0, -1), seen_beyond(blocks, true, last, -1));
    const double inner = fmax(seen_beyond(blocks, known, in, 0),
                              seen_beyond(blocks, known, last - in, last)),
                 seen = fmax(outer, inner);
    if (seen < least_object || !ts_view_end_is_cut_off(seen / most))
        return (struct rows_found){0};
    return (struct rows_found){llround(WHOLE * fmin(1, seen / most)),
                               outer >= least_object && ts_view_end_is_cut_off(outer / most), 0};
}

/* Returns the transmission at both ends if they are air and it is wrong; else 0. */
static double light_of_air(const struct view_blocks *blocks)
{
    if (!have_air(blocks, 0))
        return 0;
    const double end = level_of_ends(blocks);
    if (end > 0 && ts_view_ends_rise(blocks)) /* an object that goes on beyond the detector */
        return 0;
    return fabs(end) > log(air_most) ? exp(-end) : 0;
}

/* Returns the share of the blocks whose transmission is too bright. */
static double share_of_bright(const struct view_blocks *blocks)
{
    int64_t n = 0, above = 0;
    for (int64_t first = 0; first + blocks->strip <= blocks->n; first += blocks->strip)
        for (int64_t group = 0; group < blocks->groups; group++, n++)
            above += ts_view_block_mean(blocks, group, first) > bright;
    return n > 0 ? (double)above / (double)n : 0;
}

enum {
    LEAST_PIXELS = 8,
    LEAST_DIFFERENT = 2,
    DEPTH_STRIPS = 16,
    LEAST_DEPTH_STRIP = 4,
    LEAST_VIEWS = 4
};

static const double object = 0.2;

static void note(struct rows_found *found, int64_t view)
{
    const bool goes_on = found->amount > 0 && found->last == view - 1;
    if (found->amount == 0)
        found->first = view;
    found->last = view;
    found->amount++;
    found->n_runs += !goes_on;
    if (found->n_runs > ROWS_RUNS)
        return;
    if (!goes_on)
        found->runs[found->n_runs - 1][0] = view;
    found->runs[found->n_runs - 1][1] = view + 1;
}

static struct rows_found note_marked(const bool *marked, int64_t n_views, double share)
{
    struct rows_found found = {.share = llround(fmin(WHOLE, share) * WHOLE)};
    for (int64_t v = 0; v < n_views; v++)
        if (marked[v])
            note(&found, v);
    return found;
}

/* ---- frames that were given again ------------------------------------------------------------ */

static bool is_constant(const float *row, int64_t n)
{
    int64_t d = 1;
    while (d < n && row[d] == row[0])
        d++;
    return d == n;
}

/* Returns true if views differ from the previous one by noise: at least nine of ten detector pixels
   differ in at least half of the views. */
static bool is_noisy(const float *values, int64_t n_views, int64_t n, int32_t *changes)
{
    int64_t different = 0, noisy = 0;
    memset(changes, 0, (size_t)n * sizeof *changes);
    for (int64_t v = 1; v < n_views; v++) {
        const float *row = values + v * n, *before = row - n;
        if (memcmp(row, before, (size_t)n * sizeof *row) == 0)
            continue;
        different++;
        for (int64_t d = 0; d < n; d++)
            changes[d] += row[d] != before[d];
    }
    for (int64_t d = 0; d < n; d++)
        noisy += 2 * (int64_t)changes[d] >= different;
    return different >= LEAST_DIFFERENT && 10 * noisy >= 9 * n;
}

/* Finds views at different angles whose values equal those of the previous view, in scans with
   noise. Noiseless air does not count, nor do the equal views of a symmetric phantom. `changes` is
   room for n numbers. */
static struct rows_found find_repeated(const struct ts_axis *views, const float *values, int64_t n,
                                       int32_t *changes)
{
    const int64_t n_views = views->n;
    struct rows_found found = {0};
    for (int64_t v = 1; n >= LEAST_PIXELS && v < n_views; v++) {
        const float *row = values + v * n;
        const bool turned = ts_view_degree(views, v) != ts_view_degree(views, v - 1);
        if (turned && memcmp(row, row - n, (size_t)n * sizeof *row) == 0 && !is_constant(row, n))
            note(&found, v);
    }
    return found.amount > 0 && is_noisy(values, n_views, n, changes) ? found
                                                                     : (struct rows_found){0};
}

/* ---- frames without the object --------------------------------------------------------------- */

/* Returns the share of the light that the object takes away in a view; 0 if the row is air. */
static double depth_of(const float *row, int64_t n)
{
    const int64_t strip =
        n / DEPTH_STRIPS > LEAST_DEPTH_STRIP ? n / DEPTH_STRIPS : LEAST_DEPTH_STRIP;
    double least = INFINITY, most = -INFINITY;
    for (int64_t first = 0; first + strip <= n; first += strip) {
        double sum = 0;
        for (int64_t d = first; d < first + strip; d++)
            sum += (double)row[d];
        least = fmin(least, sum / (double)strip);
        most = fmax(most, sum / (double)strip);
    }
    return most > 0 && isfinite(least) ? 1 - least / most : 0;
}

/* Finds views whose least transmission is nearly the largest, if in half of the views, and in the
   views beside these, an object takes away at least a fifth. `depths` is room for 2 * n_views
   numbers. */
static struct rows_found find_blank(const float *transmission, int64_t n_views, int64_t n,
                                    double *depths)
{
    struct rows_found found = {0};
    double *sorted = depths + n_views;
    if (n_views < LEAST_VIEWS)
        return found;
    for (int64_t v = 0; v < n_views; v++)
        sorted[v] = depths[v] = depth_of(transmission + v * n, n);
    qsort(sorted, (size_t)n_views, sizeof *sorted, ts_compare_doubles);
    const double usual = sorted[n_views / 2];
    for (int64_t v = 0, end; usual > object && v < n_views; v = end) {
        for (end = v; end < n_views && depths[end] < usual / 4; end++)
            continue;
        /* An object that is thin in some directions disappears gradually. */
        if (end > v && (v == 0 || depths[v - 1] > usual / 2) &&
            (end == n_views || depths[end] > usual / 2))
            for (int64_t k = v; k < end; k++)
                note(&found, k);
        end += end == v;
    }
    return found;
}

/* ---- what a node looks at -------------------------------------------------------------------- */

/* Returns the node whose image is the input of a node. */
static int32_t maker_of(const struct ts_plan *plan, int32_t node)
{
    return plan->nodes[plan->nodes[node].inputs[0]].image_node;
}

/* Returns whether a node is the first one that computes something of a source's image. */
static bool is_first(const struct ts_plan *plan, int32_t node)
{
    const int32_t source = maker_of(plan, node);
    for (int32_t i = plan->n_sources; i < node; i++)
        if (plan->nodes[i].image_node == i && maker_of(plan, i) == source)
            return false;
    return source < plan->n_sources;
}

enum {
    OF_LIGHT = 1 << ROWS_BLANK | 1 << ROWS_AIR | 1 << ROWS_STEP | 1 << ROWS_DIM | 1 << ROWS_DRIFT |
               1 << ROWS_DARK | 1 << ROWS_ZINGERS
};

/* Returns below or above which value a stage takes pixels for bad ones, by the name of the
 * parameter; NULL if it does not. */
static const double *limit_of(const struct param_set *set, const char *name)
{
    size_t i;
    return ts_param_find(set->params, set->n_params, name, &i) ? ts_param_field(set, i) : NULL;
}

/* Returns whether the input of a stage is a parallel scan whose axis and angles can be looked at.
 */
static bool takes_integrals(const struct stage_context *context)
{
    const struct ts_image *in = &context->in;
    return ts_image_is_sinogram(in) && in->axes[1].kind == TS_AXIS_VIEW &&
           in->quantity == TS_LINE_INTEGRAL && in->beam.kind == TS_BEAM_PARALLEL &&
           in->axes[1].unit && !strcmp(in->axes[1].unit, "degree") && !in->axes[2].positions;
}

static bool reconstructs(const struct stage_context *context)
{
    return takes_integrals(context) && !ts_image_is_sinogram(&context->out);
}

/* Returns whether an axis that a node finds is only found: no reconstruction looks at the slices.
 */
static bool only_finds_axis(const struct ts_plan *plan, int32_t node)
{
    for (int32_t i = node + 1; i < plan->n_nodes; i++)
        if (reconstructs(&plan->nodes[i].context))
            return false;
    return ts_stage_finds_axes(&plan->nodes[node].context) &&
           takes_integrals(&plan->nodes[node].context);
}

unsigned ts_run_rows_kinds(const struct ts_plan *plan, int32_t i)
{
    const struct plan_node *node = &plan->nodes[i];
    const struct stage_context *context = &node->context;
    if (node->image_node != i)
        return only_finds_axis(plan, i) ? 1U << ROWS_OBJECT | 1U << ROWS_CENTER : 0;
    const bool scan =
                   ts_image_is_sinogram(&context->in) && context->in.axes[1].kind == TS_AXIS_VIEW,
               first = scan && is_first(plan, i);
    unsigned kinds = scan ? 1U << ROWS_OBJECT : 0;
    if (context->stage->traits & TRAIT_ROWS_END_IN_AIR)
        kinds |= 1U << ROWS_CUT_OFF;
    if (scan && context->in.quantity == TS_TRANSMISSION && node->out.quantity == TS_LINE_INTEGRAL)
        kinds |= OF_LIGHT | 1U << ROWS_BRIGHT;
    if (reconstructs(context))
        kinds |= 1U << ROWS_DOUBTED | 1U << ROWS_CENTER;
    if (scan && context->stage->traits & TRAIT_ENDS_ARE_AIR)
        kinds |= 1U << ROWS_OBJECT_AS_AIR | 1U << ROWS_DARK;
    if (first)
        kinds |= 1U << ROWS_REPEATED;
    if (first && context->in.quantity == TS_COUNTS)
        kinds |= 1U << ROWS_CLIPPED;
    if (scan && limit_of(&node->set, "lowest"))
        kinds |= 1U << ROWS_STARVED;
    if (first && context->in.quantity == TS_LINE_INTEGRAL)
        kinds |= OF_LIGHT | 1U << ROWS_INVERTED;
    return kinds == 1U << ROWS_OBJECT ? 0 : kinds;
}

/* Returns how many detector pixels a stage with TRAIT_ENDS_ARE_AIR takes for air at each end. */
static int64_t air_width(const struct param_set *set)
{
    size_t i;
    return ts_param_find(set->params, set->n_params, "detectors", &i)
               ? *(const int64_t *)ts_param_field(set, i)
               : 0;
}

/* What is examined: a slice without dark views, its transmission, and room for the search of
 * views. */
struct look {
    struct ts_axis views;
    const struct ts_axis *detectors;
    float *values, *light;
    double *room, *degrees, *starved;
    bool *marked;
    int64_t *kept; /* the number of each view */
    int64_t n;
    const struct plan_node *node;
};

/* Finds a beam that changes. What lasts a few views is no step, and neither of these a drift. */
static void find_changes(const struct look *look, struct rows_found found[ROWS_KINDS])
{
    enum { DEVIATIONS = 4 };
    const struct view_blocks light =
        ts_view_blocks(look->light, look->views.n, look->n, LEAST_VALUES);
    double share = 1;
    if (light.n < 4 * light.strip || !have_air(&light, DEVIATIONS * noise_of_ends(&light)))
        return;
    if (ts_view_beam_dim(&light, air_most, look->room, look->marked, &share) > 0)
        found[ROWS_DIM] = note_marked(look->marked, light.n_views, share);
    const int64_t view = have_air(&light, 0)
                             ? ts_view_beam_step(&light, air_most, look->room, look->marked, &share)
                             : -1;
    if (view >= 0) {
        found[ROWS_STEP] = (struct rows_found){llround(fmin(WHOLE, share) * WHOLE), view, view};
        return;
    }
    share = ts_view_beam_drift(look->light, light.n_views, light.n);
    if (fabs(log(share)) > log(drift_most))
        found[ROWS_DRIFT].amount = llround(fmin(WHOLE, share) * WHOLE);
}

/* Returns whether there is only air, and noise. */
static bool is_empty(const struct view_blocks *light)
{
    return light->n >= light->strip && ts_view_blocks_contrast(light) == 0 &&
           fabs(level_of_ends(light)) < log(air_most);
}

/* Finds counts that are cut off, but for those that the stage itself takes for bad ones, or that
 * overflowed. */
static struct rows_found find_clipped(const struct look *look)
{
    const double *highest = limit_of(&look->node->set, "highest");
    const enum ts_dtype dtype = look->node->context.in.dtype;
    struct rows_found found = {0};
    float level;
    const int64_t count = ts_view_values_clipped(look->values, look->views.n, look->n, &level);
    if (count > 0 && !(highest && *highest <= (double)level)) {
        found.amount = count;
        found.first = llround(WHOLE * (double)level);
    } else if (ts_dtype_is_integer(dtype) && ts_dtype_bytes(dtype) <= 2) {
        double low, high;
        ts_dtype_range(dtype, &low, &high);
        found.amount =
            ts_view_values_wrapped(look->values, look->views.n, look->n, (float)low, (float)high);
        found.share = found.amount > 0;
    }
    return found;
}

static struct rows_found run_rows_find(enum rows_kind kind, const struct look *look)
{
    const int64_t n_views = look->views.n, n = look->n;
    const struct view_blocks blocks = ts_view_blocks(look->values, n_views, n, LEAST_VALUES),
                             light = ts_view_blocks(look->light, n_views, n, LEAST_VALUES);
    struct rows_found found = {0};
    double share;
    switch (kind) {
    case ROWS_OBJECT:
        found.amount = llround(WHOLE * ts_view_blocks_contrast(&light));
        return found;
    case ROWS_CUT_OFF:
        if (is_empty(&light))
            return found;
        share = share_of_ends(&blocks, &found.first);
        found.first &= !ts_view_ends_rise(&light);
        found.amount = ts_view_end_is_cut_off(share) ? (int64_t)(WHOLE * share) : 0;
        return found;
    case ROWS_OBJECT_AS_AIR:
        return find_object_as_air(&light, look->node->context.in.quantity == TS_TRANSMISSION,
                                  air_width(&look->node->set));
    case ROWS_INVERTED:
        return find_inverted(&blocks);
    case ROWS_BRIGHT:
        share = share_of_bright(&light);
        found.amount = share > few_bright ? (int64_t)(WHOLE * share) : 0;
        return found;
    case ROWS_AIR:
        found.amount = llround(fmin(WHOLE, light_of_air(&light)) * WHOLE);
        return found;
    case ROWS_STARVED:
        found.amount =
            ts_starved_pixels(look->values, n_views, n, *limit_of(&look->node->set, "lowest"),
                              look->node->context.in.quantity == TS_LINE_INTEGRAL, look->starved);
        return found;
    case ROWS_CLIPPED:
        return find_clipped(look);
    case ROWS_REPEATED:
        return find_repeated(&look->views, look->values, n, (int32_t *)look->room);
    default:
        return find_blank(look->light, n_views, n, look->room);
    }
}

double ts_run_rows_axis(const struct ts_axis *detectors)
{
    return (0 - detectors->first) / ts_axis_spacing(detectors);
}

/* Sets what contradicts the geometry, its numbers in thousandths, and the axis that is seen. */
static enum ts_status find_doubts(const struct look *look, struct rows_found *found,
                                  struct rows_found *center, struct ts_diag *diag)
{
    struct view_doubts doubts;
    const double *own = ts_plan_own_center(&look->node->set);
    if (!ts_view_doubts(look->values, &look->views, look->n,
                        own ? *own : ts_run_rows_axis(look->detectors), &doubts))
        return ts_diag_no_memory(diag, (size_t)look->n);
    *found = (struct rows_found){doubts.kind, llround(WHOLE * doubts.first),
                                 llround(WHOLE * doubts.second)};
    if (isfinite(doubts.center) && isfinite(doubts.error) && center->amount == 0)
        *center =
            (struct rows_found){1, llround(WHOLE * doubts.center), llround(WHOLE * doubts.error)};
    return TS_OK;
}

static enum ts_status find_zingers(const struct look *look, struct rows_found *found,
                                   struct ts_diag *diag)
{
    float excess;
    found->amount = ts_view_values_zingers(look->light, look->views.n, look->n, &excess);
    if (found->amount < 0)
        return ts_diag_no_memory(diag, (size_t)look->n);
    found->first = found->amount > 0 ? (int64_t)(WHOLE * 0.5 * (double)excess) : 0;
    return TS_OK;
}

/* Loads the slice, and converts line integrals to transmissions. */
static void load(const struct look *look, const void *stored, enum ts_dtype dtype, size_t count,
                 enum ts_quantity quantity)
{
    ts_load_f32(look->values, stored, dtype, count);
    for (size_t i = 0; i < count; i++)
        look->light[i] = quantity == TS_LINE_INTEGRAL ? expf(-look->values[i]) : look->values[i];
}

/* Leaves out views that no light reaches, and returns them. */
static struct rows_found leave_out_dark(struct look *look)
{
    const int64_t n_views = look->views.n, n = look->n,
                  dark = ts_view_beam_dark(look->light, n_views, n, look->room, look->marked);
    if (dark == 0)
        return (struct rows_found){0};
    int64_t n_lit = 0;
    for (int64_t v = 0; v < n_views; v++) {
        if (look->marked[v])
            continue;
        memmove(look->values + n_lit * n, look->values + v * n, (size_t)n * sizeof(float));
        memmove(look->light + n_lit * n, look->light + v * n, (size_t)n * sizeof(float));
        look->degrees[n_lit] = ts_view_degree(&look->views, v);
        look->kept[n_lit++] = v;
    }
    look->views.n = n_lit;
    look->views.positions = look->degrees;
    return note_marked(look->marked, n_views, 0);
}

/* Gives the views of a finding the numbers that they have with those that were left out. */
static void number_views(const struct look *look, enum rows_kind kind, struct rows_found *found)
{
    if (kind == ROWS_DOUBTED && (found->amount == VIEWS_MOVED || found->amount == VIEWS_LEAP ||
                                 found->amount == VIEWS_STRAY))
        found->first = WHOLE * look->kept[found->first / WHOLE];
    if (found->amount == 0 ||
        (kind != ROWS_STEP && kind != ROWS_DIM && kind != ROWS_REPEATED && kind != ROWS_BLANK))
        return;
    found->first = look->kept[found->first];
    found->last = look->kept[found->last];
    for (int64_t i = 0; i < found->n_runs && i < ROWS_RUNS; i++) {
        found->runs[i][0] = look->kept[found->runs[i][0]];
        found->runs[i][1] = look->kept[found->runs[i][1] - 1] + 1;
    }
}

/* Examines what was loaded, for these kinds. */
static enum ts_status look_for(struct run *run, struct rows_found rows[ROWS_KINDS], unsigned kinds,
                               struct look *look)
{
    const struct rows_found dark = kinds & (OF_LIGHT | 1U << ROWS_DARK | 1U << ROWS_DOUBTED)
                                       ? leave_out_dark(look)
                                       : (struct rows_found){0};
    struct rows_found changes[ROWS_KINDS] = {{0}};
    enum ts_status status = TS_OK;
    changes[ROWS_DARK] = dark;
    if (kinds & 1U << ROWS_DIM)
        find_changes(look, changes);
    for (int kind = 0; status == TS_OK && kind < ROWS_KINDS; kind++) {
        struct rows_found found = {0};
        if (!(kinds >> kind & 1) || (kind == ROWS_CENTER && kinds >> ROWS_DOUBTED & 1))
            continue;
        if (kind == ROWS_DARK || kind == ROWS_DIM || kind == ROWS_STEP || kind == ROWS_DRIFT)
            found = changes[kind];
        else if (kind == ROWS_DOUBTED || kind == ROWS_CENTER)
            status = find_doubts(look, &found, &rows[ROWS_CENTER], run->diag);
        else if (kind == ROWS_ZINGERS)
            status = find_zingers(look, &found, run->diag);
        else
            found = run_rows_find((enum rows_kind)kind, look);
        number_views(look, (enum rows_kind)kind, &found);
        if (kind != ROWS_CENTER && found.amount > rows[kind].amount)
            rows[kind] = found;
    }
    return status;
}

/* Places what a look needs behind `base`. Returns how many bytes that are. */
static size_t lay_out(struct look *look, size_t count, void *base)
{
    struct memory_layout layout = {.base = base};
    const size_t n_views = (size_t)look->views.n, of_columns = (size_t)look->n * sizeof(int32_t),
                 of_views = VIEW_BEAM_ROOM * n_views * sizeof(double);
    look->values = ts_layout_add(&layout, count * sizeof *look->values);
    look->light = ts_layout_add(&layout, count * sizeof *look->light);
    look->room = ts_layout_add(&layout, of_views > of_columns ? of_views : of_columns);
    look->degrees = ts_layout_add(&layout, n_views * sizeof *look->degrees);
    look->starved = ts_layout_add(&layout, 2 * (size_t)look->n * sizeof *look->starved);
    look->kept = ts_layout_add(&layout, n_views * sizeof *look->kept);
    look->marked = ts_layout_add(&layout, n_views * sizeof *look->marked);
    return layout.bytes;
}

int64_t ts_run_rows_slice(int64_t nz, int place)
{
    const int64_t middle = (nz - 1) / 2, z = (2 * place + 1) * nz / (2 * ROWS_PLACES);
    if (place == ROWS_MIDDLE)
        return middle;
    const bool other = z == middle || (place > 0 && z == (2 * place - 1) * nz / (2 * ROWS_PLACES));
    return other ? -1 : z;
}

/* Examines slice z of the input. */
static enum ts_status look_at_slice(struct run *run, int32_t node, const struct ts_image *input,
                                    int64_t z, struct rows_found rows[ROWS_KINDS])
{
    struct look look = {.views = input->axes[1],
                        .detectors = &input->axes[2],
                        .n = input->axes[2].n,
                        .node = &run->plan->nodes[node]};
    const size_t count = ts_slice_count(input), bytes = count * ts_dtype_bytes(input->dtype),
                 look_bytes = lay_out(&look, count, NULL);
    void *stored = malloc(bytes), *base = ts_memory_aligned(look_bytes);
    enum ts_status status = stored && base
                                ? run->back_end->fetch(run, stored, ts_slice_data(input, z), bytes)
                                : ts_diag_no_memory(run->diag, bytes + look_bytes);
    if (status == TS_OK) {
        lay_out(&look, count, base);
        load(&look, stored, input->dtype, count, look.node->context.in.quantity);
        for (int64_t v = 0; v < look.views.n; v++)
            look.kept[v] = v;
        status = look_for(run, rows, ts_run_rows_kinds(run->plan, node), &look);
    }
    free(stored);
    free(base);
    return status;
}

enum ts_status ts_run_look_at_rows(struct run *run, int32_t node, const struct ts_image *input)
{
    const int64_t nz = run->plan->nodes[node].context.in.axes[0].n;
    enum ts_status status = TS_OK;
    if (run->captured || ts_run_rows_kinds(run->plan, node) == 0)
        return TS_OK;
    for (int place = 0; status == TS_OK && place < ROWS_PLACES; place++) {
        const int64_t slice = ts_run_rows_slice(nz, place), z = slice - input->z_first;
        if (slice >= 0 && z >= 0 && z < input->axes[0].n)
            status = look_at_slice(run, node, input, z, run->results[node].rows[place]);
    }
    return status;
}

enum ts_status ts_run_look_at_passed(struct run *run, int32_t node, const struct ts_image *image)
{
    enum ts_status status = TS_OK;
    for (int32_t i = node + 1; status == TS_OK && i < run->plan->n_nodes; i++)
        if (run->plan->nodes[i].image_node == node)
            status = ts_run_look_at_rows(run, i, image);
    return status;
}
