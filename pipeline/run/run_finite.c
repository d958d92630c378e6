/* SPDX-License-Identifier: Apache-2.0
 *
 * The check costs one read of what was just written. What a slice holds is noted beside the image,
 * on the device that has it. When a volume ends, it is compared with what the slices held from
 * which it was made, so that only the first stage in the chain that makes such values is named. The
 * slice that the warning names depends neither on slabs nor on devices.
 */
#include "pipeline/run/run_finite.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/plan_reuse.h"
#include "stages/engine/border.h"

enum { CHUNK = 1 << 16 };

static TS_VECTORIZED uint32_t kinds_of(const uint32_t *values, size_t n)
{
    const uint32_t infinity = 0x7F800000u;
    uint32_t largest = 0, n_infinite = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t magnitude = values[i] & 0x7FFFFFFFu;
        largest = magnitude > largest ? magnitude : largest;
        n_infinite += magnitude == infinity;
    }
    return (n_infinite > 0 ? LOOK_INFINITE : 0u) | (largest > infinity ? LOOK_NAN : 0u);
}

enum ts_status ts_run_look_host(struct run *run, int32_t node, const struct ts_image *slices,
                                uint32_t also)
{
    const size_t count = ts_slice_count(slices);
    const int64_t chunks = (int64_t)((count + CHUNK - 1) / CHUNK), n = slices->axes[0].n;
    uint32_t *seen = run->nodes[node].seen + slices->z_first;
#pragma omp parallel for schedule(static) num_threads(run->plan->threads) if (n * chunks > 1)
    for (int64_t task = 0; task < n * chunks; task++) {
        const int64_t z = task / chunks;
        const size_t first = (size_t)(task % chunks) * CHUNK, left = count - first;
        const uint32_t *values = (const uint32_t *)ts_slice_data(slices, z) + first;
        const uint32_t kinds = kinds_of(values, left < CHUNK ? left : CHUNK) | also;
        if (kinds)
            __atomic_fetch_or(&seen[z], kinds, __ATOMIC_RELAXED);
    }
    return TS_OK;
}

enum ts_status ts_run_look(struct run *run, int32_t node, const struct ts_image *slices,
                           uint32_t also)
{
    return run->nodes[node].seen && !run->captured ? run->back_end->look(run, node, slices, also)
                                                   : TS_OK;
}

/* What every slice of every node holds, in host memory; NULL for a node whose image is not of
   floats. */
typedef uint32_t *all_seen[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];

static void free_seen(all_seen seen)
{
    for (size_t i = 0; i < CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES; i++)
        free(seen[i]);
}

static enum ts_status fetch_seen(struct run *run, all_seen seen)
{
    enum ts_status status = TS_OK;
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++) {
        const size_t bytes = ts_plan_seen_bytes(run->plan, i);
        if (bytes == 0)
            continue;
        seen[i] = malloc(bytes);
        status = seen[i] ? run->back_end->fetch(run, seen[i], run->nodes[i].seen, bytes)
                         : ts_diag_no_memory(run->diag, bytes);
    }
    return status;
}

/* Returns true if slice z of a node was made from a slice of the input that holds such values. */
static bool is_inherited(const struct ts_plan *plan, const struct plan_node *node, int input,
                         const all_seen seen, int64_t z)
{
    const struct stage_context *context = &node->context;
    const int32_t from = node->inputs[input] < 0 ? -1 : plan->nodes[node->inputs[input]].image_node;
    if (from < 0 || !seen[from])
        return false;
    const struct stage_reach reach = ts_stage_reach(context);
    const int64_t n = plan->nodes[from].out.axes[0].n;
    struct stage_slices made = {0, n}; /* a reference that is reduced affects every slice */
    if (input == 0)
        made = ts_stage_reads(context, z, z + 1);
    else if (ts_stage_streams(context, input - 1))
        made = (struct stage_slices){z, z + 1};
    bool inherited = false;
    for (int64_t y = made.first; y < made.end; y++) {
        const int64_t at = y >= 0 && y < n ? y : ts_border_index(y, n, reach.border);
        inherited |= at >= 0 && (seen[from][at] & (LOOK_INFINITE | LOOK_NAN));
    }
    return inherited;
}

/* Returns the first of slices [z, end) in which the stage makes such values from others; -1:
   none. */
static int64_t first_made(const struct ts_plan *plan, int32_t i, const all_seen seen, int64_t z,
                          int64_t end)
{
    const struct plan_node *node = &plan->nodes[i];
    if (!seen[i] || ts_plan_reader(node) || !node->chain_stage)
        return -1;
    const uint32_t kinds =
        node->context.stage->gives_nan ? LOOK_INFINITE : LOOK_INFINITE | LOOK_NAN;
    for (; z < end; z++) {
        bool inherited = !(seen[i][z] & kinds) || (seen[i][z] & LOOK_LOADED);
        for (int input = 0; !inherited && input < STAGE_INPUTS; input++)
            inherited = is_inherited(plan, node, input, seen, z);
        if (!inherited)
            return z;
    }
    return -1;
}

enum ts_status ts_run_finds_not_finite(struct run *run, bool *found)
{
    all_seen seen = {0};
    const enum ts_status status = fetch_seen(run, seen);
    *found = false;
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++)
        for (int span = 0; span < run->now[i].todo.n; span++) {
            const struct span todo = run->now[i].todo.at[span];
            *found |= first_made(run->plan, i, seen, todo.first, todo.end) >= 0;
        }
    free_seen(seen);
    return status;
}

enum ts_status ts_run_note_not_finite(struct run *run)
{
    all_seen seen = {0};
    enum ts_status status = run->captured ? TS_OK : fetch_seen(run, seen);
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++) {
        const int64_t n = run->plan->nodes[i].out.axes[0].n,
                      z = first_made(run->plan, i, seen, 0, n);
        int64_t *first = &run->results[i].not_finite;
        if (z >= 0 && run->volume * n + z < *first)
            *first = run->volume * n + z;
    }
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++)
        if (seen[i]) {
            const size_t bytes = ts_plan_seen_bytes(run->plan, i);
            memset(seen[i], 0, bytes);
            status = run->back_end->load(run, run->nodes[i].seen, seen[i], bytes);
        }
    free_seen(seen);
    return status;
}

enum ts_status ts_run_warn_not_finite(struct run *run)
{
    static const char too_large[] = ": they are too large for sums in single precision, which ends "
                                    "at 3.4e38";
    enum ts_status status = TS_OK;
    for (int32_t i = run->plan->n_sources; status == TS_OK && i < run->plan->n_nodes; i++) {
        const struct plan_node *node = &run->plan->nodes[i];
        int64_t first[2] = {run->results[i].not_finite, 0};
        char volume[64] = "";
        const bool added = node->chain_stage && node->context.stage->origin;
        status = run->fleet ? ts_ranks_least(TS_OK, first) : TS_OK;
        if (status != TS_OK || first[0] == INT64_MAX)
            continue;
        const int64_t n = node->out.axes[0].n;
        if (run->plan->n_volumes > 1 && node->by_volume)
            snprintf(volume, sizeof volume, " of volume %lld", (long long)(first[0] / n));
        ts_diag_warning(run->diag,
                        &(struct diag_site){.code = "not-finite-result",
                                            .span = node->set.span,
                                            .stage = node->label},
                        "its image holds infinite values or NaN, first in slice %lld%s, though all "
                        "values that the slice is made from are finite%s",
                        (long long)(first[0] % n), volume, added ? "" : too_large);
        if (added)
            ts_diag_hint(run->diag, "its map() computes them, or leaves values unwritten");
        else if (node->context.in.quantity == TS_COUNTS)
            ts_diag_hint(
                run->diag,
                "`bad_pixels: {highest: 1e+37}` before it fills counts that no detector gives");
        else
            ts_diag_hint(run->diag, "`rescale: {range: [0, 3e+38]}` before it makes the values "
                                    "small enough, with the range that `statistics` tells");
    }
    return status;
}
