/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of a gather are in the order in which a sum takes them, so that sums are the same on every
 * device and for any number of threads.
 */
#include "stages/engine/transpose.h"

#include "core/arena.h"

bool ts_gather_axis(struct stage_gather *gather, int d, const struct transpose_entry *entries,
                    int64_t n, struct arena *arena)
{
    const int64_t n_out = gather->n_out[d];
    int64_t *start = ts_arena_alloc(arena, (size_t)(n_out + 1) * sizeof *start);
    int64_t *index = ts_arena_alloc(arena, (size_t)(n > 0 ? n : 1) * sizeof *index);
    float *weight = ts_arena_alloc(arena, (size_t)(n > 0 ? n : 1) * sizeof *weight);
    if (!start || !index || !weight)
        return false;
    for (int64_t i = 0; i < n; i++)
        start[entries[i].to + 1]++;
    for (int64_t i = 0; i < n_out; i++)
        start[i + 1] += start[i];
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = start[entries[i].to]++;
        index[at] = entries[i].from;
        weight[at] = entries[i].weight;
    }
    for (int64_t i = n_out; i > 0; i--)
        start[i] = start[i - 1];
    start[0] = 0;
    gather->start[d] = start;
    gather->index[d] = index;
    gather->weight[d] = weight;
    return true;
}

/* ---- borders --------------------------------------------------------------------------------- */

/* Lists for every sample those that the border rule makes of it, itself included. */
static enum ts_status fold_axis(const struct stage_context *context, int d, int64_t radius,
                                enum ts_border border, struct stage_gather *gather,
                                struct arena *arena)
{
    const int64_t n = context->in.axes[d].n, wide = n + 2 * radius;
    struct transpose_entry *entries = ts_arena_alloc(arena, (size_t)wide * sizeof *entries);
    gather->n_in[d] = wide;
    gather->n_out[d] = n;
    if (!entries)
        return ts_diag_no_memory(context->diag, (size_t)wide * sizeof *entries);
    for (int64_t i = 0; i < wide; i++)
        entries[i] = (struct transpose_entry){i, ts_border_index(i - radius, n, border), 1};
    return ts_gather_axis(gather, d, entries, wide, arena)
               ? TS_OK
               : ts_diag_no_memory(context->diag, (size_t)wide * sizeof *entries);
}

/* `constant` 0 and `wrap` are their own transposes. So is `reflect` with an even window: sample i
 * is as far from the image of j as j from that of i. `mirror` and `nearest` repeat some samples
 * more often than others. For these, and for `reflect` with another window, the border becomes
 * constant 0 and a gather folds it back. */
enum ts_status ts_transpose_border(const struct stage_context *context,
                                   const struct transpose_window *window, double constant,
                                   int32_t *border, struct stage_gather *gather,
                                   struct arena *arena)
{
    const enum ts_border rule = (enum ts_border) * border;
    enum ts_status status = TS_OK;
    if (rule == BORDER_CONSTANT && constant != 0)
        return ts_param_error(context->set, "constant", "transpose-constant", context->diag,
                              "%g would be added to every image, and an operator is linear: only 0 "
                              "is",
                              constant);
    if (rule == BORDER_CONSTANT || rule == BORDER_WRAP || (rule == BORDER_REFLECT && window->even))
        return TS_OK;
    *border = BORDER_CONSTANT;
    for (int d = 0; status == TS_OK && d < 3; d++)
        status = fold_axis(context, d, window->radius[d], rule, gather, arena);
    return status;
}

/* ---- the CPU --------------------------------------------------------------------------------- */

/* Computes one output sample. */
static float gathered(const struct stage_gather *gather, const float *in, int64_t z, int64_t y,
                      int64_t x)
{
    double sum = 0;
    for (int64_t k = gather->start[0][z]; k < gather->start[0][z + 1]; k++)
        for (int64_t j = gather->start[1][y]; j < gather->start[1][y + 1]; j++) {
            const double weight = (double)gather->weight[0][k] * gather->weight[1][j];
            const float *row = in + (gather->index[0][k] * gather->n_in[1] + gather->index[1][j]) *
                                        gather->n_in[2];
            for (int64_t i = gather->start[2][x]; i < gather->start[2][x + 1]; i++)
                sum += weight * gather->weight[2][i] * row[gather->index[2][i]];
        }
    return (float)sum;
}

void ts_gather_run(const struct stage_gather *gather, const float *in, float *out, int threads)
{
    const int64_t ny = gather->n_out[1], nx = gather->n_out[2];
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t i = 0; i < gather->n_out[0] * ny; i++)
        for (int64_t x = 0; x < nx; x++)
            out[i * nx + x] = gathered(gather, in, i / ny, i % ny, x);
}
