/* SPDX-License-Identifier: Apache-2.0
 *
 * Values are averaged over blocks of a 64th of the detector pixels and a 16th of the views, or of more views if that is
 * less than 64 values: noise of a tenth of the largest value is then an 80th of it, and an object that is cut off in
 * some directions only is seen. An end is cut off if a block there has more than a tenth of the most that any block
 * has. Rows whose two outermost values are the same in all views were extended, as `pad` does.
 */
#include "pipeline/run/run_rows.h"

#include <math.h>
#include <stdlib.h>

#include "pipeline/ranks/ranks.h"

enum { STRIPS = 64, LEAST_STRIP = 2, VIEW_GROUPS = 16, LEAST_VALUES = 64, WHOLE = 1000 };

static const double cut_off = 0.1;

struct rows {
    const float *p;
    int64_t n_views, n, strip, group; /* detector pixels, and those and views of a block */
};

/* Returns the largest mean of the blocks at detector pixels [first, first + strip). */
static double most_of(const struct rows *rows, int64_t first)
{
    double most = -INFINITY;
    for (int64_t view = 0; view == 0 || view + rows->group <= rows->n_views; view += rows->group) {
        const int64_t end = view + 2 * rows->group > rows->n_views ? rows->n_views : view + rows->group;
        double sum = 0;
        for (int64_t v = view; v < end; v++)
            for (int64_t d = first; d < first + rows->strip; d++)
                sum += (double)rows->p[v * rows->n + d];
        most = fmax(most, sum / (double)((end - view) * rows->strip));
    }
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
    struct rows rows = {.p = p, .n_views = n_views, .n = n};
    double most = 0, ends = 0;
    rows.strip = n / STRIPS > LEAST_STRIP ? n / STRIPS : LEAST_STRIP;
    const int64_t least = (LEAST_VALUES + rows.strip - 1) / rows.strip, group = n_views / VIEW_GROUPS;
    if (n < 2 * rows.strip)
        return 0;
    rows.group = group > least ? group : least;
    for (int64_t first = 0; first + rows.strip <= n; first += rows.strip)
        most = fmax(most, most_of(&rows, first));
    if (!is_extended(&rows, 0, 1))
        ends = fmax(ends, most_of(&rows, 0));
    if (!is_extended(&rows, n - 1, n - 2))
        ends = fmax(ends, most_of(&rows, n - rows.strip));
    return most > 0 ? fmin(1, ends / most) : 0;
}

enum ts_status ts_run_look_at_rows(struct run *run, int32_t node, const struct ts_image *input)
{
    const struct stage_context *context = &run->plan->nodes[node].context;
    const int64_t z = (context->in.axes[0].n - 1) / 2 - input->z_first;
    if (!(context->stage->traits & TRAIT_ROWS_END_IN_AIR) || z < 0 || z >= input->axes[0].n)
        return TS_OK;
    const size_t count = ts_slice_count(input), bytes = count * ts_dtype_bytes(input->dtype);
    void *stored = malloc(bytes);
    float *values = malloc(count * sizeof *values);
    enum ts_status status = stored && values ? run->back_end->fetch(run, stored, ts_slice_data(input, z), bytes)
                                             : ts_diag_no_memory(run->diag, bytes + count * sizeof *values);
    if (status == TS_OK) {
        ts_load_f32(values, stored, input->dtype, count);
        const double share = share_of_ends(values, input->axes[1].n, input->axes[2].n);
        struct run_result *result = &run->results[node];
        if (share > cut_off)
            result->rows_cut_off = fmax(result->rows_cut_off, share);
    }
    free(stored);
    free(values);
    return status;
}

enum ts_status ts_run_warn_of_rows(struct run *run)
{
    enum ts_status status = TS_OK;
    for (int32_t i = run->plan->n_sources; status == TS_OK && i < run->plan->n_nodes; i++) {
        const struct plan_node *node = &run->plan->nodes[i];
        int64_t least[2] = {-(int64_t)(WHOLE * run->results[i].rows_cut_off), 0};
        status = ts_ranks_least(TS_OK, least);
        if (status != TS_OK || least[0] == 0)
            continue;
        ts_diag_warning(
            run->diag, &(struct diag_site){.code = "rows-cut-off", .span = node->set.span, .stage = node->label},
            "the detector cuts off the object: an end of the rows in the middle slice sees %.0f %% of the most that is "
            "seen, and what lies beyond is taken for air, so that values come out too high",
            100 * (double)-least[0] / WHOLE);
        ts_diag_hint(run->diag, "`pad: {}` before it goes on with the outermost values, which lessens that");
    }
    return status;
}
