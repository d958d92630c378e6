/* SPDX-License-Identifier: Apache-2.0
 *
 * The back end of a CUDA device: images on the device, sources and outputs through pinned memory. Built only with CUDA.
 *
 * Three slabs are under way at once, on three queues: slab t is read into pinned memory and uploaded while slab t - 1
 * is computed, and slab t - 2 is downloaded and handed to the writer. So sources, outputs and their pinned slabs exist
 * three times; an event a slab and queue says when one of them may be used again.
 */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "cuda/device/launch.h"
#include "cuda/device/stage_state.h"
#include "pipeline/run/run.h"
#include "stages/engine/border.h"

struct device_node {
    struct cuda_stage *stage;
    void *constant; /* on the device: a slice outside the volume */
    unsigned char *pinned[PLAN_RING];
    size_t used; /* of the pinned slab, by this slab's spans */
};

/* A download that the writer waits for. */
struct pending {
    int64_t turn;
    int dataset;
    struct ts_image slices;
};

struct device {
    struct cuda_session *session;
    struct device_node *nodes;
    void *room;
    struct cuda_event *uploaded[PLAN_RING], *computed[PLAN_RING], *downloaded[PLAN_RING], *ready;
    struct pending *pending; /* a ring, oldest first */
    int n_pending, first_pending, most_pending;
};

/* ---- set-up ------------------------------------------------------------------------------------ */

static enum ts_status device_allocate(struct run *run)
{
    const size_t n = (size_t)run->plan->n_nodes;
    struct device *device = run->back = calloc(1, sizeof *device);
    if (device) {
        device->most_pending = PLAN_RING * (int)n;
        device->nodes = calloc(n, sizeof *device->nodes);
        device->pending = calloc((size_t)device->most_pending, sizeof *device->pending);
    }
    if (!device || !device->nodes || !device->pending)
        return ts_diag_no_memory(run->diag, n * sizeof *device->nodes);
    return TS_OK;
}

/* A slice of the border's constant, made on the host. */
static enum ts_status attach_constant(struct run *run, int32_t i)
{
    struct device *device = run->back;
    const struct stage_context *context = &run->plan->nodes[i].context;
    const size_t bytes = ts_slice_bytes(&context->in);
    void *slice = ts_memory_aligned(bytes);
    if (!slice)
        return ts_diag_no_memory(run->diag, bytes);
    ts_constant_fill(slice, context->in.dtype, ts_stage_reach(context).constant, (int64_t)ts_slice_count(&context->in));
    device->nodes[i].constant = ts_cuda_take(device->session, bytes);
    enum ts_status status = device->nodes[i].constant ? TS_OK : TS_RUN_FAILED;
    if (status == TS_OK)
        status = ts_cuda_copy(device->session, CUDA_COMPUTE, CUDA_TO_DEVICE, device->nodes[i].constant, slice, bytes);
    if (status == TS_OK)
        status = ts_cuda_wait(device->session, CUDA_COMPUTE);
    free(slice);
    return status;
}

static enum ts_status attach_images(struct run *run, int32_t i)
{
    struct device *device = run->back;
    const struct plan_node *plan = &run->plan->nodes[i];
    struct run_node *node = &run->nodes[i];
    const size_t slices = (size_t)(plan->keep ? plan->out.axes[0].n : plan->buffer_slices);
    const size_t pinned = ts_plan_pinned_bytes(run->plan, i);
    node->copies = ts_plan_copies(run->plan, i);
    node->copy_bytes = ts_cuda_stride(slices * ts_slice_bytes(&plan->out));
    if (plan->image_node == i && slices > 0) {
        node->buffer = ts_cuda_take(device->session, (size_t)node->copies * node->copy_bytes);
        if (!node->buffer)
            return TS_RUN_FAILED;
    }
    for (int copy = 0; pinned > 0 && copy < PLAN_RING; copy++) {
        device->nodes[i].pinned[copy] = ts_cuda_take_pinned(device->session, pinned);
        if (!device->nodes[i].pinned[copy])
            return TS_RUN_FAILED;
    }
    return TS_OK;
}

static enum ts_status attach_node(struct run *run, int32_t i)
{
    struct device *device = run->back;
    const struct plan_node *plan = &run->plan->nodes[i];
    enum ts_status status = attach_images(run, i);
    if (status == TS_OK && ts_plan_pads_constant(plan))
        status = attach_constant(run, i);
    if (status != TS_OK || !plan->chain_stage || !plan->chain_stage->stage->cuda)
        return status;
    status = ts_cuda_stage_create(device->session, &plan->context, ts_plan_reduced_slices(run->plan, i),
                                  &device->nodes[i].stage);
    if (status == TS_OK)
        run->nodes[i].reduced = ts_cuda_stage_reduced(device->nodes[i].stage);
    return status;
}

static enum ts_status device_attach(struct run *run)
{
    struct device *device = run->back;
    enum ts_status status =
        ts_cuda_session_create(run->plan->cuda, (size_t)run->plan->gpu_bytes, run->diag, &device->session);
    if (status != TS_OK)
        return status;
    device->room = ts_cuda_take(device->session, ts_plan_room_bytes(run->plan));
    device->ready = device->room ? ts_cuda_event_create(device->session) : NULL;
    bool complete = device->ready != NULL;
    for (int copy = 0; complete && copy < PLAN_RING; copy++)
        complete = (device->uploaded[copy] = ts_cuda_event_create(device->session)) &&
                   (device->computed[copy] = ts_cuda_event_create(device->session)) &&
                   (device->downloaded[copy] = ts_cuda_event_create(device->session));
    status = complete ? TS_OK : TS_RUN_FAILED;
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++)
        status = attach_node(run, i);
    return status;
}

static void device_free(struct run *run)
{
    struct device *device = run->back;
    if (!device)
        return;
    for (int32_t i = 0; device->nodes && i < run->plan->n_nodes; i++)
        ts_cuda_stage_destroy(device->nodes[i].stage);
    ts_cuda_session_destroy(device->session);
    free(device->nodes);
    free(device->pending);
    free(device);
}

/* ---- reading and computing --------------------------------------------------------------------- */

/* The buffers of this turn were last used three slabs ago. */
static enum ts_status device_begin_slab(struct run *run)
{
    struct device *device = run->back;
    const int copy = (int)(run->turn % PLAN_RING);
    for (int32_t i = 0; i < run->plan->n_nodes; i++)
        device->nodes[i].used = 0;
    enum ts_status status = ts_cuda_host_waits(device->session, device->uploaded[copy]);
    if (status == TS_OK)
        status = ts_cuda_queue_waits(device->session, CUDA_UPLOAD, device->computed[copy]);
    if (status == TS_OK)
        status = ts_cuda_queue_waits(device->session, CUDA_COMPUTE, device->downloaded[copy]);
    return status;
}

static enum ts_status device_read(struct run *run, int32_t i, struct ts_image *target)
{
    struct device *device = run->back;
    struct device_node *node = &device->nodes[i];
    struct source *source = run->plan->nodes[i].source;
    const int copy = (int)(run->turn % PLAN_RING);
    void *pinned = node->pinned[copy] + node->used;
    node->used += ts_image_bytes(target);
    enum ts_status status = source->ops->read(source, target->z_first, target->axes[0].n, pinned, run->diag);
    if (status == TS_OK)
        status =
            ts_cuda_copy(device->session, CUDA_UPLOAD, CUDA_TO_DEVICE, target->data, pinned, ts_image_bytes(target));
    if (status == TS_OK)
        status = ts_cuda_event_record(device->session, device->uploaded[copy], CUDA_UPLOAD);
    if (status == TS_OK)
        status = ts_cuda_queue_waits(device->session, CUDA_COMPUTE, device->uploaded[copy]);
    return status;
}

/* As ts_stage_pad, by copies on the device: one for each run of slices that stay neighbors. */
static enum ts_status pad(struct run *run, int32_t i, int64_t z, int64_t n, struct ts_image *padded)
{
    const struct device *device = run->back;
    const struct plan_node *plan = &run->plan->nodes[i];
    const struct run_node *from = &run->nodes[run->plan->nodes[plan->inputs[0]].image_node];
    const struct ts_image *whole = &plan->context.in;
    const struct stage_reach reach = ts_stage_reach(&plan->context);
    const int64_t nz = whole->axes[0].n, first = z - reach.halo, count = n + 2 * reach.halo;
    const size_t slice = ts_slice_bytes(whole);
    const struct ts_image *holder = ts_stage_part(from->parts, from->n_parts, first);
    *padded = *whole;
    padded->axes[0].n = count;
    padded->z_first = first;
    padded->data = device->room;
    if (holder && first + count <= holder->z_first + holder->axes[0].n) {
        padded->data = ts_slice_data(holder, first - holder->z_first);
        return TS_OK;
    }
    for (int64_t k = 0, run_length; k < count; k += run_length) {
        const int64_t index = ts_border_index(first + k, nz, reach.border);
        const struct ts_image *part = index < 0 ? NULL : ts_stage_part(from->parts, from->n_parts, index);
        const void *source = part ? ts_slice_data(part, index - part->z_first) : device->nodes[i].constant;
        for (run_length = 1; part && k + run_length < count && index + run_length < part->z_first + part->axes[0].n &&
                             ts_border_index(first + k + run_length, nz, reach.border) == index + run_length;)
            run_length++;
        const enum ts_status status = ts_cuda_copy(device->session, CUDA_COMPUTE, CUDA_ON_DEVICE,
                                                   ts_slice_data(padded, k), source, (size_t)run_length * slice);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

static enum ts_status device_map(struct run *run, int32_t i, struct ts_image slices[STAGE_INPUTS],
                                 struct ts_image *target)
{
    const struct device *device = run->back;
    const enum ts_status status = pad(run, i, target->z_first, target->axes[0].n, &slices[0]);
    return status == TS_OK ? ts_cuda_stage_map(device->nodes[i].stage, slices, target) : status;
}

static enum ts_status device_reduce_slices(struct run *run, int32_t node, const struct ts_image *slices)
{
    const struct device *device = run->back;
    return ts_cuda_stage_slab(device->nodes[node].stage, slices);
}

static enum ts_status device_reduce(struct run *run, int32_t node, int input, const struct ts_image *slices)
{
    const struct device *device = run->back;
    return ts_cuda_stage_add(device->nodes[node].stage, input, slices);
}

static enum ts_status device_renew(struct run *run, int32_t i)
{
    const struct device *device = run->back;
    const struct stage_context *context = &run->plan->nodes[i].context;
    return device->nodes[i].stage ? ts_cuda_stage_renew(device->nodes[i].stage, context) : TS_OK;
}

static enum ts_status device_finish(struct run *run, int32_t node)
{
    const struct device *device = run->back;
    return ts_cuda_stage_finish(device->nodes[node].stage);
}

/* ---- writing ----------------------------------------------------------------------------------- */

static enum ts_status device_write(struct run *run, int32_t i, const struct ts_image *slices)
{
    struct device *device = run->back;
    const int32_t image = run->plan->nodes[i].image_node;
    const int copy = (int)(run->turn % PLAN_RING);
    struct pending *pending = &device->pending[(device->first_pending + device->n_pending) % device->most_pending];
    *pending = (struct pending){.turn = run->turn, .dataset = run->nodes[i].dataset, .slices = *slices};
    /* A source that is itself an output has its own pinned slab first. */
    pending->slices.data = device->nodes[image].pinned[copy] + ts_plan_pinned_source_bytes(run->plan, image);
    device->n_pending++;
    enum ts_status status = ts_cuda_event_record(device->session, device->ready, CUDA_COMPUTE);
    if (status == TS_OK)
        status = ts_cuda_queue_waits(device->session, CUDA_DOWNLOAD, device->ready);
    if (status == TS_OK)
        status = ts_cuda_copy(device->session, CUDA_DOWNLOAD, CUDA_TO_HOST, pending->slices.data, slices->data,
                              ts_image_bytes(slices));
    return status;
}

/* Hands the downloads up to this turn to the writer, and later ones that need no waiting for. */
static enum ts_status flush(struct run *run, int64_t turn)
{
    struct device *device = run->back;
    while (device->n_pending > 0) {
        const struct pending *pending = &device->pending[device->first_pending];
        struct cuda_event *downloaded = device->downloaded[pending->turn % PLAN_RING];
        if (pending->turn > turn && !ts_cuda_event_passed(downloaded))
            break;
        enum ts_status status = ts_cuda_host_waits(device->session, downloaded);
        if (status == TS_OK)
            status = ts_hdf5_write(run->writer, pending->dataset, &pending->slices);
        if (status != TS_OK)
            return status;
        device->first_pending = (device->first_pending + 1) % device->most_pending;
        device->n_pending--;
    }
    return TS_OK;
}

static enum ts_status device_end_slab(struct run *run)
{
    struct device *device = run->back;
    const int copy = (int)(run->turn % PLAN_RING);
    enum ts_status status = ts_cuda_event_record(device->session, device->computed[copy], CUDA_COMPUTE);
    if (status == TS_OK)
        status = ts_cuda_event_record(device->session, device->downloaded[copy], CUDA_DOWNLOAD);
    return status == TS_OK ? flush(run, run->turn - PLAN_RING + 1) : status;
}

static enum ts_status device_drain(struct run *run)
{
    const struct device *device = run->back;
    enum ts_status status = flush(run, run->turn);
    if (status == TS_OK)
        status = ts_cuda_wait(device->session, CUDA_COMPUTE);
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++)
        if (device->nodes[i].stage)
            status = ts_cuda_stage_fetch_tables(device->nodes[i].stage);
    return status;
}

const struct run_back_end ts_run_cuda = {
    .allocate = device_allocate,
    .attach = device_attach,
    .free = device_free,
    .begin_slab = device_begin_slab,
    .end_slab = device_end_slab,
    .read = device_read,
    .map = device_map,
    .reduce_slices = device_reduce_slices,
    .reduce = device_reduce,
    .finish = device_finish,
    .renew = device_renew,
    .write = device_write,
    .drain = device_drain,
};
