/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the back end of the CPU. Images lie in host memory and each call is done when it returns, so nothing has to
 * be begun, ended or waited for. All drivers share one padded slab and one scratch: their calls follow one another.
 */
#include <stdlib.h>

#include "core/memory.h"
#include "pipeline/run/run.h"

static enum ts_status allocate_node(struct run *run, int32_t i)
{
    const struct plan_node *plan = &run->plan->nodes[i];
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
    return ts_driver_create(&plan->context, ts_plan_reduced_slices(run->plan, i), run->back, &node->driver);
}

static enum ts_status host_allocate(struct run *run)
{
    const size_t padded = ts_plan_padded_bytes(run->plan), scratch = ts_plan_scratch_bytes(run->plan);
    struct stage_buffers *buffers = run->back = calloc(1, sizeof *buffers);
    if (buffers)
        *buffers = (struct stage_buffers){ts_memory_aligned(padded), ts_memory_aligned(scratch)};
    if (!buffers || !buffers->padded || !buffers->scratch)
        return ts_diag_no_memory(run->diag, padded + scratch);
    for (int32_t i = 0; i < run->plan->n_nodes; i++) {
        const enum ts_status status = allocate_node(run, i);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

static void host_free(struct run *run)
{
    struct stage_buffers *buffers = run->back;
    for (int32_t i = 0; run->nodes && i < run->plan->n_nodes; i++) {
        free(run->nodes[i].buffer);
        ts_driver_destroy(run->nodes[i].driver);
    }
    if (buffers) {
        free(buffers->padded);
        free(buffers->scratch);
    }
    free(buffers);
}

static enum ts_status nothing(struct run *run)
{
    (void)run;
    return TS_OK;
}

static enum ts_status host_read(struct run *run, int32_t node, struct ts_image *target)
{
    struct source *source = run->plan->nodes[node].source;
    const double begin = ts_trace_begin(run->plan->trace);
    const enum ts_status status = source->ops->read(source, ts_run_slice(run, source, target->z_first),
                                                    target->axes[0].n, target->data, run->diag);
    ts_trace_add(run->plan->trace, TRACE_READ, begin, ts_image_bytes(target));
    return status;
}

static enum ts_status host_write(struct run *run, int32_t node, const struct ts_image *slices)
{
    return ts_run_put(run, node, slices);
}

const struct run_back_end ts_run_host = {
    .allocate = host_allocate,
    .attach = nothing,
    .free = host_free,
    .begin_slab = nothing,
    .end_slab = nothing,
    .read = host_read,
    .write = host_write,
    .drain = nothing,
};
