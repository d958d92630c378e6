/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the chunks that ranks of the CPU compress themselves.
 */
#include "pipeline/plan/plan_chunks.h"

int ts_plan_level(const struct ts_plan *plan)
{
    static const int levels[] = {[CHAIN_DEFLATE] = 1, [CHAIN_STORED] = 0, [CHAIN_SMALL] = 6};
    return levels[plan->chain->output.compression];
}

bool ts_plan_chunks(const struct ts_plan *plan, int32_t node, struct plan_chunks *chunks)
{
    const struct ts_image one = ts_plan_written(plan, node), image = ts_plan_with_volumes(plan, node, &one);
    struct chunk_grid *grid = &chunks->grid;
    int64_t n[TS_MAX_RANK];
    if (plan->n_ranks == 1 || plan->cuda || ts_plan_level(plan) == 0 || plan->chain->output.n_sinks > 0)
        return false;
    for (int d = 0; d < image.rank; d++)
        n[d] = image.axes[d].n;
    if (!ts_chunk_grid_init(grid, image.rank, n, ts_dtype_bytes(image.dtype)))
        return false;
    chunks->filters = (struct chunk_filters){.element_bytes = grid->element_bytes, .level = ts_plan_level(plan)};
    chunks->bound = ts_chunk_bound(&chunks->filters, grid->chunk_bytes);
    return grid->split == 0 || grid->n[grid->split] % grid->chunk[grid->split] == 0;
}

int64_t ts_plan_whole_chunks(const struct plan_chunks *chunks, size_t slice_bytes, int64_t z, int64_t n, int64_t *first)
{
    const int64_t slice = (int64_t)slice_bytes, chunk = (int64_t)chunks->grid.chunk_bytes;
    const int64_t end = (z + n) * slice / chunk;
    *first = (z * slice + chunk - 1) / chunk;
    return end > *first ? end - *first : 0;
}
