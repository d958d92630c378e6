/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the back end of a CUDA device. Images lie on the device; sources and outputs pass through pinned memory.
 * Built only with CUDA.
 *
 * Three slabs are under way at once, on three queues: slab t is read into pinned memory and uploaded while slab t - 1
 * is computed, and slab t - 2 is downloaded and handed to the writer. So sources, outputs and their pinned slabs exist
 * three times; an event for each slab and queue marks when one of them may be used again.
 */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "cuda/device/driver.h"
#include "cuda/device/launch.h"
#include "pipeline/run/run.h"

struct device_node {
    unsigned char *pinned[PLAN_RING];
    size_t used; /* of the pinned slab, by this slab's spans */
};

/* A download that the writer waits for. */
struct pending {
    int64_t slab_number;
    int dataset;
    struct ts_image slices;
};

struct device {
    struct cuda_session *session;
    struct device_node *nodes;
    void *padded; /* shared by the drivers */
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
        node->buffer = ts_cuda_allocate(device->session, (size_t)node->copies * node->copy_bytes);
        if (!node->buffer)
            return TS_RUN_FAILED;
    }
    for (int copy = 0; pinned > 0 && copy < PLAN_RING; copy++) {
        device->nodes[i].pinned[copy] = ts_cuda_allocate_pinned(device->session, pinned);
        if (!device->nodes[i].pinned[copy])
            return TS_RUN_FAILED;
    }
    return TS_OK;
}

static enum ts_status attach_node(struct run *run, int32_t i)
{
    const struct device *device = run->back;
    const struct plan_node *plan = &run->plan->nodes[i];
    const enum ts_status status = attach_images(run, i);
    if (status != TS_OK || !plan->chain_stage || !plan->chain_stage->stage->cuda)
        return status;
    return ts_cuda_driver_create(device->session, &plan->context, ts_plan_reduced_slices(run->plan, i), device->padded,
                                 &run->nodes[i].driver);
}

static enum ts_status device_attach(struct run *run)
{
    struct device *device = run->back;
    enum ts_status status =
        ts_cuda_session_create(run->plan->cuda, (size_t)run->plan->gpu_bytes, run->diag, &device->session);
    if (status != TS_OK)
        return status;
    device->padded = ts_cuda_allocate(device->session, ts_plan_padded_bytes(run->plan));
    device->ready = device->padded ? ts_cuda_event_create(device->session) : NULL;
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
    for (int32_t i = 0; i < run->plan->n_nodes; i++)
        ts_driver_destroy(run->nodes[i].driver);
    ts_cuda_session_destroy(device->session);
    free(device->nodes);
    free(device->pending);
    free(device);
}

/* ---- reading and computing --------------------------------------------------------------------- */

/* The buffers of this slab were last used PLAN_RING slabs ago. */
static enum ts_status device_begin_slab(struct run *run)
{
    struct device *device = run->back;
    const int copy = (int)(run->slab_number % PLAN_RING);
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
    const int copy = (int)(run->slab_number % PLAN_RING);
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

/* ---- writing ----------------------------------------------------------------------------------- */

static enum ts_status device_write(struct run *run, int32_t i, const struct ts_image *slices)
{
    struct device *device = run->back;
    const int32_t image = run->plan->nodes[i].image_node;
    const int copy = (int)(run->slab_number % PLAN_RING);
    struct pending *pending = &device->pending[(device->first_pending + device->n_pending) % device->most_pending];
    *pending = (struct pending){.slab_number = run->slab_number, .dataset = run->nodes[i].dataset, .slices = *slices};
    /* In the pinned memory of a source that is itself an output, the source's slab comes first. */
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

/* Hands the downloads of all slabs up to this one to the writer, and those of later ones that have arrived. */
static enum ts_status flush(struct run *run, int64_t slab_number)
{
    struct device *device = run->back;
    while (device->n_pending > 0) {
        const struct pending *pending = &device->pending[device->first_pending];
        struct cuda_event *downloaded = device->downloaded[pending->slab_number % PLAN_RING];
        if (pending->slab_number > slab_number && !ts_cuda_event_passed(downloaded))
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
    const int copy = (int)(run->slab_number % PLAN_RING);
    enum ts_status status = ts_cuda_event_record(device->session, device->computed[copy], CUDA_COMPUTE);
    if (status == TS_OK)
        status = ts_cuda_event_record(device->session, device->downloaded[copy], CUDA_DOWNLOAD);
    return status == TS_OK ? flush(run, run->slab_number - PLAN_RING + 1) : status;
}

static enum ts_status device_drain(struct run *run)
{
    const struct device *device = run->back;
    enum ts_status status = flush(run, run->slab_number);
    if (status == TS_OK)
        status = ts_cuda_wait(device->session, CUDA_COMPUTE);
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++)
        if (run->nodes[i].driver)
            status = ts_cuda_driver_fetch_tables(run->nodes[i].driver);
    return status;
}

const struct run_back_end ts_run_cuda = {
    .allocate = device_allocate,
    .attach = device_attach,
    .free = device_free,
    .begin_slab = device_begin_slab,
    .end_slab = device_end_slab,
    .read = device_read,
    .write = device_write,
    .drain = device_drain,
};
