/* SPDX-License-Identifier: Apache-2.0
 *
 * The back end of the CPU. Images are in host memory and each call is done when it returns, so
 * nothing has to be begun, ended or waited for. All drivers share one padded slab and one scratch,
 * since their calls follow one another.
 */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/run/run.h"
#include "pipeline/run/run_finite.h"
#include "pipeline/run/run_kept.h"

/* Allocates what an image needs beside its values: the bits of a masked one, for the slices in
   memory and, if it is an output, for the whole image; and what is seen of floats. */
static enum ts_status allocate_beside(struct run *run, int32_t i, int64_t slices)
{
    const struct plan_node *plan = &run->plan->nodes[i];
    struct run_node *node = &run->nodes[i];
    struct memory_pool *pool = ts_run_pool(run->options);
    const size_t bytes = plan->image_node == i ? (size_t)slices * ts_valid_bytes(&plan->out) : 0;
    const size_t saved = ts_plan_saved_bytes(run->plan, i);
    node->valid = bytes > 0 ? ts_memory_take(pool, bytes) : NULL;
    node->saved = saved > 0 ? ts_memory_take_zeroed(pool, saved) : NULL; /* zeros: ranks unite it */
    const size_t seen = ts_plan_seen_bytes(run->plan, i);
    node->seen = seen > 0 ? ts_memory_take_zeroed(pool, seen) : NULL;
    return (node->valid || bytes == 0) && (node->saved || saved == 0) && (node->seen || seen == 0)
               ? TS_OK
               : ts_diag_no_memory(run->diag, bytes + saved + seen);
}

static enum ts_status allocate_node(struct run *run, int32_t i)
{
    const struct plan_node *plan = &run->plan->nodes[i];
    struct run_node *node = &run->nodes[i];
    const int64_t slices = plan->keep ? plan->out.axes[0].n : plan->buffer_slices;
    node->copies = ts_plan_copies(run->plan, i);
    if (ts_plan_lies_in_memory(run->plan, i)) {
        node->buffer = (unsigned char *)plan->source->resident; /* nobody writes there */
    } else if (plan->image_node == i && slices > 0) {
        node->copy_bytes = (size_t)slices * ts_slice_bytes(&plan->out);
        node->buffer =
            ts_memory_take(ts_run_pool(run->options), (size_t)node->copies * node->copy_bytes);
        if (!node->buffer)
            return ts_diag_no_memory(run->diag, (size_t)node->copies * node->copy_bytes);
    }
    const enum ts_status status = allocate_beside(run, i, slices);
    if (status != TS_OK)
        return status;
    if (!plan->chain_stage || plan->reused)
        return TS_OK;
    return ts_driver_create(&plan->context, ts_plan_reduced_slices(run->plan, i), run->back,
                            &node->driver);
}

static enum ts_status host_allocate(struct run *run)
{
    const size_t padded = ts_plan_padded_bytes(run->plan),
                 scratch = ts_plan_scratch_bytes(run->plan);
    struct memory_pool *pool = ts_run_pool(run->options);
    struct stage_buffers *buffers = run->back = calloc(1, sizeof *buffers);
    if (buffers)
        *buffers =
            (struct stage_buffers){ts_memory_take(pool, padded), ts_memory_take(pool, scratch)};
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
    struct memory_pool *pool = ts_run_pool(run->options);
    struct stage_buffers *buffers = run->back;
    for (int32_t i = 0; run->nodes && i < run->plan->n_nodes; i++) {
        struct source *source = run->plan->nodes[i].source;
        if (ts_plan_reads_in_place(run->plan, i))
            source->ops->prefetch_to(source, 0, 0, NULL);
        if (!ts_plan_lies_in_memory(run->plan, i))
            ts_memory_give(pool, run->nodes[i].buffer);
        ts_memory_give(pool, run->nodes[i].valid);
        ts_memory_give(pool, run->nodes[i].saved);
        ts_memory_give(pool, run->nodes[i].seen);
        ts_driver_destroy(run->nodes[i].driver);
    }
    if (buffers) {
        ts_memory_give(pool, buffers->padded);
        ts_memory_give(pool, buffers->scratch);
    }
    free(buffers);
}

static enum ts_status host_copy(struct run *run, void *to, const void *from, size_t bytes)
{
    (void)run;
    memcpy(to, from, bytes);
    return TS_OK;
}

const struct run_back_end ts_run_host = {
    .allocate = host_allocate,
    .free = host_free,
    .look = ts_run_look_host,
    .save = host_copy,
    .fetch = host_copy,
    .load = host_copy,
};
