/* SPDX-License-Identifier: Apache-2.0
 *
 * The back end of the CPU: images in host memory, each call done when it returns.
 */
#include <stdlib.h>

#include "core/memory.h"
#include "pipeline/run/run.h"

struct host {
    void *room, *scratch;
};

static enum ts_status allocate_node(struct run *run, int32_t i)
{
    struct plan_node *plan = &run->plan->nodes[i];
    struct run_node *node = &run->nodes[i];
    const int64_t slices = plan->keep ? plan->out.axes[0].n : plan->buffer_slices;
    node->copies = ts_plan_copies(run->plan, i);
    if (plan->image_node == i && slices > 0) {
        const size_t bytes = (size_t)slices * ts_slice_bytes(&plan->out);
        node->buffer = ts_memory_aligned(bytes);
        if (!node->buffer)
            return ts_diag_no_memory(run->diag, bytes);
    }
    if (!plan->chain_stage)
        return TS_OK;
    const enum ts_status status = ts_stage_transforms_create(&plan->context);
    if (status != TS_OK || !ts_stage_has_state(&plan->context))
        return status;
    return ts_stage_reduced_create(&plan->context, ts_plan_reduced_slices(run->plan, i), &node->reduced);
}

static enum ts_status host_allocate(struct run *run)
{
    const size_t room = ts_plan_room_bytes(run->plan), scratch = ts_plan_scratch_bytes(run->plan);
    struct host *host = run->back = calloc(1, sizeof *host);
    if (host) {
        host->room = ts_memory_aligned(room);
        host->scratch = ts_memory_aligned(scratch);
    }
    if (!host || !host->room || !host->scratch)
        return ts_diag_no_memory(run->diag, room + scratch);
    for (int32_t i = 0; i < run->plan->n_nodes; i++) {
        const enum ts_status status = allocate_node(run, i);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

static void host_free(struct run *run)
{
    struct host *host = run->back;
    for (int32_t i = 0; run->nodes && i < run->plan->n_nodes; i++) {
        free(run->nodes[i].buffer);
        ts_stage_reduced_destroy(run->nodes[i].reduced);
        ts_stage_transforms_destroy(&run->plan->nodes[i].context);
    }
    if (host) {
        free(host->room);
        free(host->scratch);
    }
    free(host);
}

static enum ts_status nothing(struct run *run)
{
    (void)run;
    return TS_OK;
}

static enum ts_status host_read(struct run *run, int32_t node, struct ts_image *target)
{
    struct source *source = run->plan->nodes[node].source;
    return source->ops->read(source, target->z_first, target->axes[0].n, target->data, run->diag);
}

static enum ts_status host_map(struct run *run, int32_t i, struct ts_image slices[STAGE_INPUTS],
                               struct ts_image *target)
{
    const struct host *host = run->back;
    struct plan_node *plan = &run->plan->nodes[i];
    const struct run_node *from = &run->nodes[run->plan->nodes[plan->inputs[0]].image_node];
    const struct stage_reach reach = ts_stage_reach(&plan->context);
    struct ts_image rows[STAGE_TABLES];
    ts_stage_pad(&reach, &plan->context.in, from->parts, from->n_parts, target->z_first, target->axes[0].n, host->room,
                 &slices[0]);
    ts_stage_reduced_lend(run->nodes[i].reduced, target, rows, &plan->context);
    return plan->context.stage->map(&plan->context, slices, target, host->scratch);
}

static enum ts_status host_reduce_slices(struct run *run, int32_t node, const struct ts_image *slices)
{
    return ts_stage_reduced_slab(run->nodes[node].reduced, slices);
}

static enum ts_status host_reduce(struct run *run, int32_t node, int input, const struct ts_image *slices)
{
    ts_stage_reduced_add(run->nodes[node].reduced, input, slices);
    return TS_OK;
}

static enum ts_status host_finish(struct run *run, int32_t node)
{
    return ts_stage_reduced_finish(run->nodes[node].reduced);
}

static enum ts_status host_renew(struct run *run, int32_t node)
{
    struct stage_reduced *reduced = run->nodes[node].reduced;
    return reduced ? ts_stage_reduced_renew(reduced, &run->plan->nodes[node].context) : TS_OK;
}

static enum ts_status host_write(struct run *run, int32_t node, const struct ts_image *slices)
{
    return ts_hdf5_write(run->writer, run->nodes[node].dataset, slices);
}

const struct run_back_end ts_run_host = {
    .allocate = host_allocate,
    .attach = nothing,
    .free = host_free,
    .begin_slab = nothing,
    .end_slab = nothing,
    .read = host_read,
    .map = host_map,
    .reduce_slices = host_reduce_slices,
    .reduce = host_reduce,
    .finish = host_finish,
    .renew = host_renew,
    .write = host_write,
    .drain = nothing,
};
