/* SPDX-License-Identifier: Apache-2.0
 *
 * Values are averaged over blocks of a 64th of the detector pixels and a 16th of the views, or of more views if that is
 * less than 64 values: noise of a tenth of the largest value is then an 80th of it, and an object that is cut off in
 * some directions only is seen. An end is cut off if a block there has more than a tenth of the most that any block
 * has. Rows whose two outermost values are the same in all views were extended, as `pad` does. Transmissions are too
 * bright if more than a 20th of the blocks is above 1.3: a beam that drifts by 20 % gives less.
 */
#include "pipeline/run/run_rows.h"

#include <math.h>
#include <stdlib.h>

#include "pipeline/ranks/ranks.h"
#include "pipeline/run/run_views.h"

enum { STRIPS = 64, LEAST_STRIP = 2, VIEW_GROUPS = 16, LEAST_VALUES = 64, WHOLE = 1000 };

static const double cut_off = 0.1, bright = 1.3, few_bright = 0.05;

struct rows {
    const float *p;
    int64_t n_views, n, strip, group; /* detector pixels, and those and views of a block */
};

static struct rows cut_rows(const float *p, int64_t n_views, int64_t n)
{
    struct rows rows = {.p = p, .n_views = n_views, .n = n};
    rows.strip = n / STRIPS > LEAST_STRIP ? n / STRIPS : LEAST_STRIP;
    const int64_t least = (LEAST_VALUES + rows.strip - 1) / rows.strip, group = n_views / VIEW_GROUPS;
    rows.group = group > least ? group : least;
    return rows;
}

/* Returns the end of the block of views that starts at `view`; the last one takes what is left. */
static int64_t block_end(const struct rows *rows, int64_t view)
{
    return view + 2 * rows->group > rows->n_views ? rows->n_views : view + rows->group;
}

/* Returns the mean over views [view, end) and detector pixels [first, first + strip). */
static double block_mean(const struct rows *rows, int64_t view, int64_t end, int64_t first)
{
    double sum = 0;
    for (int64_t v = view; v < end; v++)
        for (int64_t d = first; d < first + rows->strip; d++)
            sum += (double)rows->p[v * rows->n + d];
    return sum / (double)((end - view) * rows->strip);
}

/* Returns the largest mean of the blocks at detector pixels [first, first + strip). */
static double most_of(const struct rows *rows, int64_t first)
{
    double most = -INFINITY;
    for (int64_t view = 0; view < rows->n_views; view = block_end(rows, view))
        most = fmax(most, block_mean(rows, view, block_end(rows, view), first));
    return most;
}

/* Returns whether detector pixels a and b, at an end, are the same in all views. */
static bool is_extended(const struct rows *rows, int64_t a, int64_t b)
{
    bool same = true;
    for (int64_t v = 0; v < rows->n_views; v++)
        same &= rows->p[v * rows->n + a] == rows->p[v * rows->n + b];
    return same;
}

/* Returns what the ends see, as a share of the most that is seen anywhere. */
static double share_of_ends(const float *p, int64_t n_views, int64_t n)
{
    const struct rows rows = cut_rows(p, n_views, n);
    double most = 0, ends = 0;
    if (n < 2 * rows.strip)
        return 0;
    for (int64_t first = 0; first + rows.strip <= n; first += rows.strip)
        most = fmax(most, most_of(&rows, first));
    if (!is_extended(&rows, 0, 1))
        ends = fmax(ends, most_of(&rows, 0));
    if (!is_extended(&rows, n - 1, n - 2))
        ends = fmax(ends, most_of(&rows, n - rows.strip));
    return most > 0 ? fmin(1, ends / most) : 0;
}

/* Returns the share of the blocks whose transmission is too bright. */
static double share_of_bright(const float *t, int64_t n_views, int64_t n)
{
    const struct rows rows = cut_rows(t, n_views, n);
    int64_t blocks = 0, above = 0;
    for (int64_t first = 0; first + rows.strip <= n; first += rows.strip)
        for (int64_t view = 0; view < n_views; view = block_end(&rows, view), blocks++)
            above += block_mean(&rows, view, block_end(&rows, view), first) > bright;
    return blocks > 0 ? (double)above / (double)blocks : 0;
}

/* ---- what a node looks at ---------------------------------------------------------------------- */

/* Returns the bits of the kinds that the input of a node may have. */
static unsigned kinds_of(const struct plan_node *node)
{
    const struct stage_context *context = &node->context;
    const bool scan = ts_image_is_sinogram(&context->in) && context->in.axes[1].kind == TS_AXIS_VIEW;
    unsigned kinds = context->stage->traits & TRAIT_ROWS_END_IN_AIR ? 1U << ROWS_CUT_OFF : 0;
    if (scan && context->in.quantity == TS_TRANSMISSION && node->out.quantity == TS_LINE_INTEGRAL)
        kinds |= 1U << ROWS_BRIGHT | 1U << ROWS_BLANK;
    if (scan && context->in.quantity == TS_COUNTS && node->out.quantity == TS_TRANSMISSION)
        kinds |= 1U << ROWS_REPEATED;
    return kinds;
}

static struct rows_found find(enum rows_kind kind, const float *p, int64_t n_views, int64_t n)
{
    struct rows_found found = {0};
    double share = 0;
    switch (kind) {
    case ROWS_CUT_OFF:
        share = share_of_ends(p, n_views, n);
        found.amount = share > cut_off ? (int64_t)(WHOLE * share) : 0;
        break;
    case ROWS_BRIGHT:
        share = share_of_bright(p, n_views, n);
        found.amount = share > few_bright ? (int64_t)(WHOLE * share) : 0;
        break;
    case ROWS_REPEATED:
        found.amount = ts_views_find_repeated(p, n_views, n, &found.first, &found.last);
        break;
    default:
        found.amount = ts_views_find_blank(p, n_views, n, &found.first, &found.last);
    }
    return found;
}

enum ts_status ts_run_look_at_rows(struct run *run, int32_t node, const struct ts_image *input)
{
    const struct plan_node *plan = &run->plan->nodes[node];
    const unsigned kinds = kinds_of(plan);
    const int64_t z = (plan->context.in.axes[0].n - 1) / 2 - input->z_first;
    if (kinds == 0 || z < 0 || z >= input->axes[0].n)
        return TS_OK;
    const size_t count = ts_slice_count(input), bytes = count * ts_dtype_bytes(input->dtype);
    void *stored = malloc(bytes);
    float *values = malloc(count * sizeof *values);
    enum ts_status status = stored && values ? run->back_end->fetch(run, stored, ts_slice_data(input, z), bytes)
                                             : ts_diag_no_memory(run->diag, bytes + count * sizeof *values);
    if (status == TS_OK)
        ts_load_f32(values, stored, input->dtype, count);
    for (int kind = 0; status == TS_OK && kind < ROWS_KINDS; kind++) {
        struct rows_found found = {0}, *most = &run->results[node].rows[kind];
        if (kinds >> kind & 1)
            found = find((enum rows_kind)kind, values, input->axes[1].n, input->axes[2].n);
        if (found.amount > most->amount)
            *most = found;
    }
    free(stored);
    free(values);
    return status;
}

/* ---- warnings ----------------------------------------------------------------------------------- */

/* Makes `found` that of the rank that has found the most. */
static enum ts_status join(struct rows_found *found)
{
    int64_t most[2] = {-found->amount, 0};
    enum ts_status status = ts_ranks_least(TS_OK, most);
    if (status != TS_OK || most[0] == 0)
        return status;
    int64_t views[2] = {INT64_MAX, INT64_MAX};
    if (found->amount == -most[0])
        views[0] = found->first, views[1] = -found->last;
    status = ts_ranks_least(TS_OK, views);
    *found = (struct rows_found){-most[0], views[0], -views[1]};
    return status;
}

static void warn_of_level(struct ts_diag *diag, struct diag_site *site, enum rows_kind kind, double percent)
{
    if (kind == ROWS_CUT_OFF) {
        site->code = "rows-cut-off";
        ts_diag_warning(diag, site,
                        "the rows do not end in air: an end of them in the middle slice sees %.0f %% of the most that "
                        "is seen. The object goes on beyond the detector, which is taken for air, so that values come "
                        "out too high; or air is not 0 there, because the flats or the beam changed",
                        percent);
        ts_diag_hint(diag,
                     "`pad: {}` before it goes on with the outermost values, which lessens that of an object that "
                     "is cut off; if both ends are air, `air` before minus_log makes it 0, with as many "
                     "`detectors` as see no object");
        return;
    }
    site->code = "transmission-bright";
    ts_diag_warning(
        diag, site,
        "%.0f %% of the middle slice have a transmission above %.3g: the flats were darker than the beam of "
        "the views, as of another exposure",
        percent, bright);
    ts_diag_hint(diag, "if both ends of the rows are air, `air` before minus_log makes it 1, with as many `detectors` "
                       "as see no object");
}

static void warn_of_views(struct ts_diag *diag, struct diag_site *site, enum rows_kind kind,
                          const struct rows_found *found, int64_t n_views)
{
    const long long amount = found->amount, of = n_views, first = found->first, last = found->last;
    if (kind == ROWS_REPEATED) {
        site->code = "frames-repeated";
        ts_diag_warning(diag, site,
                        "%lld of %lld views have the very counts of the view before them in the middle slice, noise "
                        "included, from view %lld to view %lld: the camera has given a frame again",
                        amount, of, first, last);
        return;
    }
    site->code = "view-blank";
    ts_diag_warning(diag, site,
                    "%lld of %lld views show nothing of the object in the middle slice, and those beside them do, from "
                    "view %lld to view %lld: they may be flats, or the object leaves the detector",
                    amount, of, first, last);
}

enum ts_status ts_run_warn_of_rows(struct run *run)
{
    enum ts_status status = TS_OK;
    for (int32_t i = run->plan->n_sources; status == TS_OK && i < run->plan->n_nodes; i++) {
        const struct plan_node *node = &run->plan->nodes[i];
        const unsigned kinds = kinds_of(node);
        struct diag_site site = {.span = node->set.span, .stage = node->label};
        for (int kind = 0; status == TS_OK && kind < ROWS_KINDS; kind++) {
            struct rows_found found = run->results[i].rows[kind];
            if (!(kinds >> kind & 1))
                continue;
            status = join(&found);
            if (status != TS_OK || found.amount == 0)
                continue;
            if (kind == ROWS_CUT_OFF || kind == ROWS_BRIGHT)
                warn_of_level(run->diag, &site, (enum rows_kind)kind, 100 * (double)found.amount / WHOLE);
            else
                warn_of_views(run->diag, &site, (enum rows_kind)kind, &found, node->context.in.axes[1].n);
        }
    }
    return status;
}
