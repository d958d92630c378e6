/* SPDX-License-Identifier: Apache-2.0
 *
 * The plans of several ranks must be the same. Each rank has read the headers of its own inputs, so what these say of
 * slices and axes is compared too. Pixels are compared when the run ends (pipeline/run/run_ranks.c).
 */
#include <stdlib.h>
#include <string.h>

#include "io/source/source_slices.h"
#include "pipeline/ranks/ranks.h"
#include "pipeline/run/run.h"

static uint64_t add_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 0x100000001B3; /* FNV-1a */
    return hash;
}

/* Adds what a source knows of its slices before it has read their pixels, which have digests. */
static uint64_t add_source(uint64_t hash, const struct source *source)
{
    const int64_t n = ts_source_number(source, ts_source_total(source) - 1) + 1;
    for (int64_t i = 0; i < n; i++) {
        const struct source_slice *slice = &source->slices[i];
        const double numbers[] = {slice->slope, slice->intercept, slice->states_padding};
        hash = add_bytes(hash, numbers, sizeof numbers);
        hash = add_bytes(hash, slice->position_mm, sizeof slice->position_mm);
    }
    return hash;
}

static uint64_t add_node(uint64_t hash, const struct plan_node *node)
{
    const int64_t numbers[] = {node->keep,      node->level,     node->first_pass, node->rounds,   node->domain,
                               node->axes_pass, node->by_volume, node->image_node, node->out.dtype};
    char grid[SOURCE_GRID_BYTES];
    ts_source_grid_text(&node->out, grid);
    hash = add_bytes(hash, numbers, sizeof numbers);
    for (int d = 0; d < node->out.rank; d++)
        if (node->out.axes[d].positions)
            hash = add_bytes(hash, node->out.axes[d].positions,
                             (size_t)node->out.axes[d].n * sizeof *node->out.axes[d].positions);
    if (node->source)
        hash = add_source(hash, node->source);
    return add_bytes(hash, grid, strlen(grid));
}

enum ts_status ts_run_compare_plans(const struct ts_plan *plan, struct ts_diag *diag)
{
    const int64_t numbers[] = {plan->n_passes, plan->n_volumes,    plan->slab_slices,
                               plan->n_nodes,  plan->cuda != NULL, plan->n_devices};
    uint64_t hash = add_bytes(0xCBF29CE484222325, numbers, sizeof numbers);
    char *chain = ts_chain_canonical(plan->chain);
    if (chain)
        hash = add_bytes(hash, chain, strlen(chain));
    free(chain);
    if (plan->chain->output.path)
        hash = add_bytes(hash, plan->chain->output.path, strlen(plan->chain->output.path));
    for (int32_t i = 0; i < plan->n_nodes; i++)
        hash = add_node(hash, &plan->nodes[i]);
    /* All are equal where the least is the greatest. */
    const int64_t mine = (int64_t)(hash >> 1);
    int64_t least[] = {mine, -mine};
    const enum ts_status status = ts_ranks_least(TS_OK, least);
    if (status != TS_OK || plan->n_ranks == 1 || least[0] == -least[1])
        return status;
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "ranks-differ"},
                  "the %d ranks do not see the same input or chain, and have made different plans", plan->n_ranks);
    return ts_diag_hint(diag, "the inputs must be the same on every machine");
}
