/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses, on all ranks together, the slice of which a warning speaks, and says whether the slices
 * see the rotation axis lean.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/source/drop_views.h"
#include "pipeline/plan/plan_axis.h"
#include "pipeline/run/run_rows.h"
#include "stages/geometry/view_doubts.h"

enum { WHOLE = ROWS_WHOLE };

/* Gives every rank the `found` of the rank with the largest amount; of equal ones, that of the
 * lowest number. ts_ranks_least finds a minimum, so amounts are negated. ts_ranks_unite joins
 * bits, so all other ranks clear theirs. */
static enum ts_status run_rows_choose_join(struct rows_found *found)
{
    const int number = ts_ranks().number;
    int64_t most[2] = {-found->amount, 0};
    enum ts_status status = ts_ranks_least(TS_OK, most);
    if (status != TS_OK || most[0] == 0)
        return status;
    int64_t from[2] = {found->amount == -most[0] ? number : INT64_MAX, 0};
    status = ts_ranks_least(TS_OK, from);
    if (from[0] != number)
        *found = (struct rows_found){0};
    ts_ranks_unite(found, sizeof *found);
    return status;
}

/* Returns whether a stage with this trait is on the way to the input of a node. */
static bool is_behind(const struct ts_plan *plan, int32_t node, enum stage_trait trait)
{
    for (int32_t i = plan->nodes[node].inputs[0]; i >= plan->n_sources;
         i = plan->nodes[i].inputs[0])
        if (plan->nodes[i].context.stage->traits & trait)
            return true;
    return false;
}

/* Returns the source of the views of a node's input, if it can leave some out; else NULL. A source
   that leaves some out already has other numbers of views than its parameter. */
static const struct plan_node *find_droppable(const struct ts_plan *plan, int32_t node)
{
    const int64_t n_views = plan->nodes[node].context.in.axes[1].n;
    while (node >= plan->n_sources && plan->nodes[node].context.in.axes[1].n == n_views)
        node = plan->nodes[node].inputs[0];
    return node < plan->n_sources && ts_drop_views_may(&plan->nodes[node].set) ? &plan->nodes[node]
                                                                               : NULL;
}

/* Writes what drop_views is to be: [3, 4], or [[3, 4], [7, 9]]. Returns false if there are too many
 * ranges. */
static bool spell_ranges(const struct rows_found *found, char *text, size_t size)
{
    size_t used = 0;
    if (found->n_runs > ROWS_RUNS)
        return false;
    for (int64_t i = 0; i < found->n_runs && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s[%lld, %lld]%s",
                                 i > 0               ? ", "
                                 : found->n_runs > 1 ? "["
                                                     : "",
                                 (long long)found->runs[i][0], (long long)found->runs[i][1],
                                 found->n_runs > 1 && i + 1 == found->n_runs ? "]" : "");
    return used < size;
}

static void hint_at_views(struct run *run, int32_t node, const struct rows_found *found)
{
    const struct plan_node *source = find_droppable(run->plan, node);
    char ranges[ROWS_RUNS * 48];
    if (!source)
        return;
    if (spell_ranges(found, ranges, sizeof ranges))
        ts_diag_hint(run->diag, "drop_views: %s of `%s` leaves out these", ranges, source->label);
    else
        ts_diag_hint(run->diag,
                     "drop_views: [%lld, %lld] of `%s` leaves out these and those between them",
                     (long long)found->first, (long long)found->last + 1, source->label);
}

/* Says which parameter of the input gives the right angles, if it has the range from the chain. */
static void hint_at_end(struct run *run, int32_t node, const struct rows_found *found)
{
    const bool meet = found->amount == VIEWS_MEET;
    const int64_t n_views = run->plan->nodes[node].context.in.axes[1].n;
    while (node >= run->plan->n_sources)
        node = run->plan->nodes[node].inputs[0];
    const struct plan_node *source = &run->plan->nodes[node];
    if (source->out.axes[1].n == n_views &&
        (ts_param_given(&source->set, "theta_stop") || ts_param_given(&source->set, "angle_stop")))
        ts_diag_hint(run->diag, "endpoint: %s of `%s` gives the views these angles",
                     meet ? "true" : "false", source->label);
    else
        ts_diag_hint(run->diag,
                     "angles in even steps of %.6g degrees fit the views; those that were taken "
                     "may be planned ones, or lack the last one",
                     (double)found->first / WHOLE / (double)(meet ? n_views - 1 : n_views));
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* What was found at all places of a node. */
struct places {
    struct rows_found found[ROWS_PLACES][ROWS_KINDS];
    int64_t slices[ROWS_PLACES];
    int order[ROWS_PLACES], n; /* those whose slices see the object, that nearest to the middle
                                * first; the middle if none does */
};

static enum ts_status join_places(struct run *run, int32_t node, unsigned kinds,
                                  struct places *places)
{
    static const int by_distance[ROWS_PLACES] = {2, 1, 3, 0, 4};
    enum { LEAST_PART = 10 }; /* of the most that a slice sees */
    enum ts_status status = TS_OK;
    int64_t most = 0;
    memcpy(places->found, run->results[node].rows, sizeof places->found);
    for (int place = 0; status == TS_OK && place < ROWS_PLACES; place++) {
        places->slices[place] =
            ts_run_rows_slice(run->plan->nodes[node].context.in.axes[0].n, place);
        for (int kind = 0; run->fleet && status == TS_OK && kind < ROWS_KINDS; kind++)
            if (kinds >> kind & 1)
                status = run_rows_choose_join(&places->found[place][kind]);
        most = places->found[place][ROWS_OBJECT].amount > most
                   ? places->found[place][ROWS_OBJECT].amount
                   : most;
    }
    for (int i = 0; i < ROWS_PLACES; i++) {
        const int64_t seen = places->found[by_distance[i]][ROWS_OBJECT].amount;
        if (seen > 0 && seen * LEAST_PART >= most)
            places->order[places->n++] = by_distance[i];
    }
    if (places->n == 0)
        places->order[places->n++] = ROWS_MIDDLE;
    return status;
}

/* Finds an axis that leans: two slices see it on other detector pixels by more than one and than
 * their errors, at least one of them says that it is off, and other slices see it between. `axis`
 * is where a search found it; NAN without one. */
static struct rows_found find_lean(const struct places *places, double axis)
{
    enum { ERRORS = 3, PART = 4 };
    int low = -1, high = -1;
    bool off = false;
    for (int i = 0; i < places->n; i++) {
        const int place = places->order[i];
        const struct rows_found *found = places->found[place];
        if (found[ROWS_CENTER].amount == 0)
            continue;
        low = low < 0 || place < low ? place : low;
        high = place > high ? place : high;
        off |= found[ROWS_DOUBTED].amount == VIEWS_OFF_AXIS ||
               fabs((double)found[ROWS_CENTER].first / WHOLE - axis) >
                   1 + ERRORS * (double)found[ROWS_CENTER].last / WHOLE;
    }
    if (!off || low == high)
        return (struct rows_found){0};
    const struct rows_found *a = &places->found[low][ROWS_CENTER],
                            *b = &places->found[high][ROWS_CENTER];
    const double apart = (double)(b->first - a->first) / WHOLE,
                 errors = (double)(a->last + b->last) / WHOLE,
                 slices = (double)(places->slices[high] - places->slices[low]);
    if (fabs(apart) <= 1 + ERRORS * errors)
        return (struct rows_found){0};
    for (int place = low + 1; place < high; place++) {
        const struct rows_found *at = &places->found[place][ROWS_CENTER];
        const double along = (double)(places->slices[place] - places->slices[low]) / slices,
                     beside = (double)(at->first - a->first) / WHOLE - along * apart;
        if (at->amount > 0 && fabs(beside) > fabs(apart) / PART + ERRORS * errors)
            return (struct rows_found){0};
    }
    return (struct rows_found){
        .amount = 1, .runs = {{places->slices[low], a->first}, {places->slices[high], b->first}}};
}

/* Returns what is told of a kind, and of which slice: that nearest to the middle of those that see
 * the object or, of faults that a part of the frame may have, the nearest that has it. An axis
 * that is off only elsewhere is told of if it leans. */
static struct rows_found run_rows_choose_choose(const struct places *places, enum rows_kind kind,
                                                int64_t *slice)
{
    const bool any = kind == ROWS_DOUBTED || kind == ROWS_REPEATED || kind == ROWS_DARK ||
                     kind == ROWS_CLIPPED || kind == ROWS_ZINGERS;
    for (int i = 0; i < (any ? places->n : 1); i++) {
        const struct rows_found *found = &places->found[places->order[i]][kind];
        *slice = places->slices[places->order[i]];
        const bool of_all = kind == ROWS_DOUBTED &&
                            (found->amount == VIEWS_OFF_AXIS || found->amount == VIEWS_UNEQUAL ||
                             found->amount == VIEWS_DRIFT || found->amount == VIEWS_MEET ||
                             found->amount == VIEWS_APART);
        if (found->amount > 0 && (i == 0 || !of_all))
            return *found;
    }
    return (struct rows_found){0};
}

/* Warns of what was found in the input of a node. */
static enum ts_status warn_of_node(struct run *run, int32_t i)
{
    const struct plan_node *node = &run->plan->nodes[i];
    const struct ts_image *in = &node->context.in;
    const unsigned kinds = ts_run_rows_kinds(run->plan, i);
    struct diag_site site = {.span = node->set.span, .stage = node->label};
    const bool has_air = is_behind(run->plan, i, TRAIT_ENDS_ARE_AIR);
    bool is_bright = false, is_told = false; /* that air is not 1 */
    struct places places = {.n = 0};
    const enum ts_status status = join_places(run, i, kinds, &places);
    const struct rows_found lean =
        find_lean(&places, node->image_node == i ? NAN : ts_run_rows_axis(&node->out.axes[2]));
    if (status == TS_OK && lean.amount > 0)
        ts_run_rows_warn(run->diag, &site, ROWS_LEANS, &lean, in, has_air);
    for (int kind = 0; status == TS_OK && kind < ROWS_OBJECT; kind++) {
        int64_t slice;
        struct rows_found found = run_rows_choose_choose(&places, (enum rows_kind)kind, &slice);
        if (found.amount == 0 || (is_bright && (kind == ROWS_AIR || kind == ROWS_STEP)) ||
            (is_told && kind == ROWS_DRIFT) ||
            (lean.amount > 0 && kind == ROWS_DOUBTED && found.amount == VIEWS_OFF_AXIS))
            continue;
        ts_run_rows_name(&found, slice, in->axes[0].n);
        found.own = ts_plan_own_center(&node->set) != NULL;
        ts_run_rows_warn(run->diag, &site, (enum rows_kind)kind, &found, in, has_air);
        if (kind == ROWS_DOUBTED && (found.amount == VIEWS_MEET || found.amount == VIEWS_APART))
            hint_at_end(run, i, &found);
        else if (found.n_runs > 0 && (kind != ROWS_DIM || found.n_runs <= ROWS_RUNS))
            hint_at_views(run, i, &found);
        is_bright |= kind == ROWS_BRIGHT;
        is_told |= kind == ROWS_BRIGHT || kind == ROWS_AIR;
    }
    return status;
}

enum ts_status ts_run_warn_of_rows(struct run *run)
{
    enum ts_status status = TS_OK;
    for (int32_t i = run->plan->n_sources; status == TS_OK && i < run->plan->n_nodes; i++)
        status = warn_of_node(run, i);
    return status;
}
