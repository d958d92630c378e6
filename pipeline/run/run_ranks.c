/* SPDX-License-Identifier: Apache-2.0
 *
 * Several ranks in one run. Slabs are dealt out to them in turn. In each round every rank computes a slab, all meet,
 * and then exchange what they have: running totals of reductions, and slices of outputs, which rank 0 writes in rising
 * z. So the writer gets what it would get from one process, and no rank holds back slabs.
 *
 * Halos are not exchanged. Each rank reads and computes those of its slabs, as one process does that does not keep the
 * images whole.
 */
#include <stdlib.h>
#include <string.h>

#include "io/source/source_slices.h"
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/ranks/ranks.h"
#include "pipeline/run/run.h"

/* ---- the same plan ----------------------------------------------------------------------------- */

static uint64_t add_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 0x100000001B3; /* FNV-1a */
    return hash;
}

static uint64_t add_node(uint64_t hash, const struct plan_node *node)
{
    const int64_t numbers[] = {node->keep,      node->level,     node->first_pass, node->rounds,   node->domain,
                               node->axes_pass, node->by_volume, node->image_node, node->out.dtype};
    char grid[SOURCE_GRID_BYTES];
    ts_source_grid_text(&node->out, grid);
    hash = add_bytes(hash, numbers, sizeof numbers);
    return add_bytes(hash, grid, strlen(grid));
}

enum ts_status ts_run_compare_plans(const struct ts_plan *plan, struct ts_diag *diag)
{
    const int64_t numbers[] = {plan->n_passes, plan->n_volumes, plan->slab_slices, plan->n_nodes};
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

/* ---- totals ------------------------------------------------------------------------------------ */

static struct stage_reduced *reduced_of(const struct run *run, int32_t node)
{
    return run->nodes[node].driver->reduced;
}

static bool is_exact(const struct run *run, int32_t node)
{
    return run->plan->nodes[node].context.stage->reduction->exact;
}

static void send_total(const struct stage_reduced *reduced, int input, int to)
{
    const void *total = ts_stage_reduced_sum(reduced, input);
    const bool begun = total != NULL;
    ts_ranks_send(to, &begun, sizeof begun);
    if (begun)
        ts_ranks_send(to, total, ts_stage_reduced_sum_bytes(reduced, input));
}

static void receive_total(struct stage_reduced *reduced, int input, int from)
{
    bool begun;
    ts_ranks_receive(from, &begun, sizeof begun);
    if (begun)
        ts_ranks_receive(from, ts_stage_reduced_total(reduced, input), ts_stage_reduced_sum_bytes(reduced, input));
    else
        ts_stage_reduced_forget(reduced, input);
}

/* The total of an input that is about to come from the rank before. */
struct awaited {
    struct stage_reduced *reduced;
    int input, from;
};

static void await(void *user)
{
    const struct awaited *awaited = user;
    receive_total(awaited->reduced, awaited->input, awaited->from);
}

enum ts_status ts_run_add(struct run *run, int32_t node, int input, const struct ts_image *slices)
{
    const struct ts_plan *plan = run->plan;
    struct awaited awaited = {.input = input, .from = plan->rank - 1};
    if (plan->n_ranks == 1 || is_exact(run, node))
        return slices ? ts_driver_add(run->nodes[node].driver, input, slices) : TS_OK;
    awaited.reduced = reduced_of(run, node);
    if (slices)
        ts_stage_reduced_add_after(awaited.reduced, input, slices, plan->rank > 0 ? await : NULL, &awaited);
    else if (plan->rank > 0)
        await(&awaited);
    if (plan->rank + 1 < plan->n_ranks)
        send_total(awaited.reduced, input, plan->rank + 1);
    return TS_OK;
}

void ts_run_return_total(struct run *run, int32_t node, int input)
{
    const int last = run->plan->n_ranks - 1;
    if (last == 0 || is_exact(run, node))
        return;
    if (run->plan->rank == last)
        send_total(reduced_of(run, node), input, 0);
    else if (run->plan->rank == 0)
        receive_total(reduced_of(run, node), input, last);
}

/* Rank 0 joins the totals of the others to its own, which may come in any grouping. */
static void join_exact(struct stage_reduced *reduced, int input, const struct ts_plan *plan)
{
    if (plan->rank > 0)
        send_total(reduced, input, 0);
    for (int from = 1; plan->rank == 0 && from < plan->n_ranks; from++) {
        bool begun;
        ts_ranks_receive(from, &begun, sizeof begun);
        if (!begun)
            continue;
        ts_ranks_receive(from, ts_stage_reduced_spare(reduced), ts_stage_reduced_sum_bytes(reduced, input));
        ts_stage_reduced_join(reduced, input, ts_stage_reduced_spare(reduced));
    }
}

void ts_run_join_totals(struct run *run, int32_t node, int input)
{
    struct stage_reduced *reduced = reduced_of(run, node);
    if (run->plan->n_ranks == 1)
        return;
    if (is_exact(run, node))
        join_exact(reduced, input, run->plan);
    bool begun = ts_stage_reduced_sum(reduced, input) != NULL;
    ts_ranks_share(&begun, sizeof begun);
    if (begun)
        ts_ranks_share(ts_stage_reduced_total(reduced, input), ts_stage_reduced_sum_bytes(reduced, input));
    else
        ts_stage_reduced_forget(reduced, input);
}

/* ---- outputs ----------------------------------------------------------------------------------- */

enum ts_status ts_run_send(struct run *run, int32_t node, const struct ts_image *slices)
{
    if (run->plan->rank == 0)
        return run->back_end->write(run, node, slices);
    ts_ranks_send(0, slices->data, ts_image_bytes(slices));
    return TS_OK;
}

enum ts_status ts_run_receive(struct run *run, int from, int32_t node, struct ts_image *slices, enum ts_status status)
{
    slices->data = run->received;
    ts_ranks_receive(from, slices->data, ts_image_bytes(slices));
    return status == TS_OK ? run->back_end->write(run, node, slices) : status;
}

/* ---- what each rank knows of its slices -------------------------------------------------------- */

enum ts_status ts_run_unite_tables(struct run *run, enum ts_status status)
{
    status = ts_ranks_agree(status);
    if (status != TS_OK || run->plan->n_ranks == 1)
        return status;
    for (int32_t i = 0; i < run->plan->n_nodes; i++) {
        const struct stage_table *tables;
        const struct stage_reduced *reduced = ts_run_reduced(run, i);
        const int n = reduced ? ts_stage_reduced_tables(reduced, &tables) : 0;
        for (int t = 0; t < n; t++)
            ts_ranks_unite(tables[t].image.data, ts_image_bytes(&tables[t].image));
    }
    return TS_OK;
}

/* Joins what the ranks know of the slices of a source. Each rank has noted what its own readings lost, in slices that
 * others read as well, so that the largest loss of all is noted in the place of theirs. Refuses slices that have other
 * pixels on another rank. */
static enum ts_status unite_facts(const struct source *source, const char *name, struct ts_diag *diag)
{
    const int64_t n = ts_source_number(source, ts_source_total(source) - 1) + 1;
    struct ts_rounding some = {0};
    for (int64_t i = 0; i < n; i++)
        if (source->slices[i].rounding.n == ROUNDING_SOME) {
            ts_rounding_join(&some, &source->slices[i].rounding);
            source->slices[i].rounding = (struct ts_rounding){0};
        }
    /* Positive doubles are ordered as the integers of their bits. */
    int64_t least[2] = {some.n, 0};
    memcpy(&least[1], &some.most, sizeof some.most);
    least[1] = -least[1];
    ts_ranks_least(TS_OK, least);
    least[1] = -least[1];
    memcpy(&some.most, &least[1], sizeof some.most);
    some.n = least[0];
    const size_t bytes = (size_t)n * sizeof *source->slices;
    struct source_slice *own = malloc(bytes);
    if (own)
        memcpy(own, source->slices, bytes);
    ts_ranks_unite(source->slices, bytes);
    if (some.n == ROUNDING_SOME)
        ts_rounding_join(&source->slices[0].rounding, &some);
    enum ts_status status = own ? TS_OK : ts_diag_no_memory(diag, bytes);
    for (int64_t i = 0; status == TS_OK && i < n; i++)
        if (*own[i].pixel_sha256 && strcmp(own[i].pixel_sha256, source->slices[i].pixel_sha256) != 0) {
            status = ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "ranks-differ", .stage = name},
                                   "slice %lld has other pixels on another rank", (long long)i);
            ts_diag_hint(diag, "the inputs must be the same on every machine");
        }
    free(own);
    return status;
}

enum ts_status ts_run_unite_slices(struct run *run, enum ts_status status)
{
    status = ts_ranks_agree(status);
    if (status != TS_OK || run->plan->n_ranks == 1)
        return status;
    for (int32_t i = 0; i < run->plan->n_nodes; i++) {
        const struct source *source = run->plan->nodes[i].source;
        const enum ts_status united = source ? unite_facts(source, run->plan->nodes[i].label, run->diag) : TS_OK;
        status = status == TS_OK ? united : status;
        if (run->nodes[i].saved)
            ts_ranks_unite(run->nodes[i].saved, ts_plan_saved_bytes(run->plan, i));
    }
    return ts_ranks_agree(status);
}
