/* SPDX-License-Identifier: Apache-2.0
 *
 * The back end of a CUDA device, whose memory holds the images. Built only with CUDA. Three slabs
 * are under way at once, on three queues: slab t is read and uploaded while slab t - 1 is computed,
 * and slab t - 2 is downloaded and handed to the writer. So the device holds sources and outputs
 * three times. They pass through a few pieces of pinned memory that are used in turn, since pinning
 * is slow (a third of a second for a GiB) and takes the memory away from others: a slab may be much
 * larger than all pieces together.
 */
#include "pipeline/run/run_cuda.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/memory.h"
#include "cuda/values/seen.h"
#include "io/sandbox/sandbox.h"
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/run/run_finite.h"
#include "pipeline/run/run_kept.h"

/* ---- set-up ---------------------------------------------------------------------------------- */

/* Returns where the run keeps the pieces of one direction, or NULL. */
static struct kept_staging *kept_staging(const struct run *run, const struct staging *staging)
{
    const struct device *device = run->back;
    struct run_kept *kept = run->options->kept;
    return kept ? &kept->staging[run->device][staging == &device->down] : NULL;
}

/* Allocates the pieces of one direction; none if `bytes` is 0. Uses large pages if the system has
   them, which are faster to get and to pin. */
static bool allocate_staging(struct run *run, struct staging *staging, size_t bytes)
{
    const size_t all = PLAN_PIECES * ts_cuda_stride(bytes);
    struct kept_staging *kept = kept_staging(run, staging);
    if (bytes == 0)
        return true;
    void *memory = kept ? kept->memory : NULL;
    staging->touched = memory != NULL;
    if (!memory)
        memory = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        ts_diag_no_memory(run->diag, all);
        return false;
    }
    (void)madvise(memory, all, MADV_HUGEPAGE);
    staging->memory = memory;
    if (kept)
        *kept = (struct kept_staging){memory, all};
    for (int k = 0; k < PLAN_PIECES; k++)
        staging->pieces[k] = staging->memory + (size_t)k * ts_cuda_stride(bytes);
    return true;
}

static void free_staging(const struct run *run, struct staging *staging, size_t bytes)
{
    if (staging->memory && !kept_staging(run, staging))
        munmap(staging->memory, PLAN_PIECES * ts_cuda_stride(bytes));
}

static enum ts_status device_allocate(struct run *run)
{
    struct device *device = run->back = calloc(1, sizeof *device);
    if (device) {
        device->most_downloads = PLAN_RING * run->plan->n_nodes;
        device->downloads = calloc((size_t)device->most_downloads, sizeof *device->downloads);
        device->encoders = calloc((size_t)run->plan->n_nodes, sizeof *device->encoders);
        device->halves = calloc((size_t)run->plan->n_nodes, sizeof *device->halves);
        device->up_bytes = ts_plan_upload_bytes(run->plan);
        device->down_bytes = ts_plan_download_bytes(run->plan);
    }
    if (!device || !device->downloads || !device->encoders || !device->halves)
        return ts_diag_no_memory(run->diag, (size_t)run->plan->n_nodes * sizeof *device->downloads);
    return allocate_staging(run, &device->up, device->up_bytes) &&
                   allocate_staging(run, &device->down, device->down_bytes)
               ? TS_OK
               : TS_RUN_FAILED;
}

static const struct device_numbers *numbers_of(const struct run *run)
{
    return &run->plan->cuda_devices[run->device];
}

static enum ts_status device_open(struct run *run)
{
    struct device *device = run->back;
    device->opening = ts_cuda_open_begin(numbers_of(run));
    return TS_OK;
}

static enum ts_status device_use(struct run *run)
{
    const struct device *device = run->back;
    return device ? ts_cuda_use(device->session) : TS_OK;
}

/* Each of several devices has the bits of some slices, and zeros for the others. */
static enum ts_status attach_saved(struct run *run, int32_t i)
{
    const struct device *device = run->back;
    const size_t bytes = ts_plan_saved_bytes(run->plan, i);
    run->nodes[i].saved = ts_cuda_allocate(device->session, bytes);
    if (!run->nodes[i].saved)
        return TS_RUN_FAILED;
    return bytes > 0 ? ts_cuda_fill(device->session, CUDA_COMPUTE, run->nodes[i].saved, 0, bytes)
                     : TS_OK;
}

static enum ts_status attach_seen(struct run *run, int32_t i)
{
    const struct device *device = run->back;
    const size_t bytes = ts_plan_seen_bytes(run->plan, i);
    if (bytes == 0)
        return TS_OK;
    run->nodes[i].seen = ts_cuda_allocate(device->session, bytes);
    return run->nodes[i].seen
               ? ts_cuda_fill(device->session, CUDA_COMPUTE, run->nodes[i].seen, 0, bytes)
               : TS_RUN_FAILED;
}

/* Returns the caller's memory in which a node's image is, or NULL. A second array gets a copy. */
static unsigned char *memory_of(const struct run *run, int32_t i)
{
    const struct plan_node *nodes = run->plan->nodes;
    if (ts_plan_lies_in_memory(run->plan, i))
        return (unsigned char *)(uintptr_t)nodes[i].source->resident; /* nobody writes there */
    for (int k = 0; nodes[i].chain_stage && k < run->options->n_takers; k++) {
        const struct run_taker *taker = &run->options->takers[k];
        if (ts_run_takes_on_device(taker) && nodes[taker->node].image_node == i)
            return taker->array.data;
    }
    return NULL;
}

static enum ts_status attach_images(struct run *run, int32_t i)
{
    const struct device *device = run->back;
    const struct plan_node *plan = &run->plan->nodes[i];
    struct run_node *node = &run->nodes[i];
    const size_t slices = (size_t)(plan->keep ? plan->out.axes[0].n : plan->buffer_slices);
    node->copies = ts_plan_copies(run->plan, i);
    node->copy_bytes = ts_cuda_stride(slices * ts_slice_bytes(&plan->out));
    node->valid_bytes = ts_cuda_stride(slices * ts_valid_bytes(&plan->out));
    enum ts_status status = attach_saved(run, i);
    if (status == TS_OK)
        status = attach_seen(run, i);
    if (status != TS_OK || plan->image_node != i || slices == 0)
        return status;
    node->buffer = memory_of(run, i);
    if (!node->buffer)
        node->buffer = ts_cuda_allocate(device->session, (size_t)node->copies * node->copy_bytes);
    node->valid = ts_cuda_allocate(device->session, (size_t)node->copies * node->valid_bytes);
    return node->buffer && node->valid ? TS_OK : TS_RUN_FAILED;
}

/* Pins the pieces of one direction. */
static bool attach_staging(struct device *device, struct staging *staging, size_t bytes)
{
    if (bytes == 0)
        return true;
    bool complete =
        ts_cuda_pin(device->session, staging->memory, PLAN_PIECES * ts_cuda_stride(bytes)) == TS_OK;
    for (int k = 0; complete && k < PLAN_PIECES; k++)
        complete = (staging->started[k] = ts_cuda_event_create(device->session)) &&
                   (staging->copied[k] = ts_cuda_event_create(device->session));
    return complete;
}

static enum ts_status attach_node(struct run *run, int32_t i)
{
    const struct device *device = run->back;
    const struct plan_node *plan = &run->plan->nodes[i];
    enum ts_status status = attach_images(run, i);
    if (status == TS_OK)
        status = ts_run_cuda_encoder_create(run, i);
    if (status != TS_OK || !plan->chain_stage || plan->reused || !plan->chain_stage->stage->cuda)
        return status;
    struct stage_context context = plan->context;
    context.device = numbers_of(run);
    return ts_cuda_driver_create(device->session, &context, ts_plan_reduced_slices(run->plan, i),
                                 device->padded, &run->nodes[i].driver);
}

/* Touches the pages of the pieces, so that the thread that opens the device need not wait for
   them. */
static void touch_staging(const struct staging *staging, size_t bytes)
{
    if (bytes > 0 && !staging->touched)
        memset(staging->memory, 0, PLAN_PIECES * ts_cuda_stride(bytes));
}

/* Has the work of this run follow what the caller has enqueued for its arrays. */
static enum ts_status follow_streams(struct run *run)
{
    const struct device *device = run->back;
    enum ts_status status = TS_OK;
    if (run->captured) /* the work is enqueued there */
        return TS_OK;
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_sources; i++)
        if (ts_plan_lies_in_memory(run->plan, i))
            status = ts_cuda_queue_follows(device->session, CUDA_COMPUTE,
                                           run->plan->nodes[i].source->resident_stream);
    for (int k = 0; status == TS_OK && k < run->options->n_takers; k++)
        if (ts_run_takes_on_device(&run->options->takers[k]))
            status = ts_cuda_queue_follows(device->session, CUDA_COMPUTE,
                                           run->options->takers[k].array.cuda_stream);
    return status;
}

/* Creates the session, with the memory that the run keeps. */
static enum ts_status create_session(struct run *run)
{
    struct device *device = run->back;
    struct cuda_memory **memory =
        run->options->kept ? &run->options->kept->devices[run->device] : NULL;
    const enum ts_status status = ts_cuda_session_create(
        numbers_of(run), (size_t)run->plan->gpu_bytes, run->diag, &device->session);
    if (status != TS_OK || !memory)
        return status;
    if (!*memory)
        *memory = ts_cuda_memory_create(numbers_of(run), &run->options->allocator);
    return *memory ? ts_cuda_session_memory(device->session, *memory)
                   : ts_diag_no_memory(run->diag, 0);
}

static enum ts_status device_attach(struct run *run)
{
    struct device *device = run->back;
    touch_staging(&device->up, device->up_bytes);
    touch_staging(&device->down, device->down_bytes);
    ts_cuda_open_end(device->opening);
    device->opening = NULL;
    enum ts_status status = create_session(run);
    if (status != TS_OK)
        return status;
    device->padded = ts_cuda_allocate(device->session, ts_plan_padded_bytes(run->plan));
    device->uploaded = device->padded ? ts_cuda_event_create(device->session) : NULL;
    device->encode_scratch =
        ts_cuda_allocate(device->session, ts_plan_encode_scratch_bytes(run->plan));
    device->reached = device->uploaded ? ts_cuda_event_create(device->session) : NULL;
    bool complete = device->reached && device->encode_scratch &&
                    attach_staging(device, &device->up, device->up_bytes) &&
                    attach_staging(device, &device->down, device->down_bytes);
    for (int copy = 0; complete && copy < PLAN_RING; copy++)
        complete = (device->computed[copy] = ts_cuda_event_create(device->session));
    status = complete ? ts_run_cuda_half_create(run) : TS_RUN_FAILED;
    if (status == TS_OK)
        status = ts_cuda_seen_load(numbers_of(run), run->diag);
    if (status == TS_OK)
        status = follow_streams(run);
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++)
        status = attach_node(run, i);
    if (status == TS_OK)
        status = ts_run_cuda_begin_profile(run);
    if (run->captured)
        return status == TS_OK ? ts_run_cuda_begin_capture(run) : status;
    return status == TS_OK ? ts_run_cuda_watch(run) : status;
}

static enum ts_status device_settle(struct run *run)
{
    const struct device *device = run->back;
    if (device)
        ts_cuda_settle(device->session);
    return TS_OK;
}

/* Returns true if a device that is freed later is the same one, named twice. */
static bool is_needed_again(const struct run *run)
{
    for (int other = run->device + 1; other < run->plan->n_devices; other++)
        if (run->plan->cuda_devices[other].index == numbers_of(run)->index)
            return true;
    return false;
}

static void free_device(struct run *run)
{
    struct device *device = run->back;
    if (!device)
        return;
    ts_run_cuda_watch_end(run);
    for (int32_t i = 0; i < run->plan->n_nodes; i++)
        ts_driver_destroy(run->nodes[i].driver);
    for (int32_t i = 0; device->encoders && i < run->plan->n_nodes; i++)
        ts_run_cuda_encoder_destroy(device->encoders[i]);
    ts_cuda_open_end(device->opening);
    ts_cuda_session_destroy(device->session);
    /* In a program of others they may use the device, too. */
    if (ts_sandbox_began() && ts_cuda_was_started() && !is_needed_again(run) && !run->options->kept)
        ts_cuda_close_device(numbers_of(run));
    free_staging(run, &device->up, device->up_bytes);
    free_staging(run, &device->down, device->down_bytes);
    free(device->encoders);
    free(device->halves);
    free(device->downloads);
    free(device);
}

static void device_free(struct run *run)
{
    free_device(run);
    if (run->captured) /* a capture forbids what frees, too */
        ts_cuda_capture_end(run->capture_mode);
}

/* ---- reading and computing ------------------------------------------------------------------- */

/* The device's copies of this slab's images were last used PLAN_RING of its slabs ago, or
 * earlier. */
static enum ts_status device_begin_slab(struct run *run)
{
    const struct device *device = run->back;
    if (run->captured)
        return TS_OK;
    const enum ts_status status =
        ts_run_cuda_move(run, run->slab_number - PLAN_RING * run->plan->n_devices);
    return status == TS_OK
               ? ts_cuda_queue_waits(device->session, CUDA_UPLOAD,
                                     device->computed[ts_run_cuda_place(run, run->slab_number)])
               : status;
}

/* Reads slices of a node to the next piece, after its last upload has ended, and uploads them. */
static enum ts_status read_piece(struct run *run, int32_t node, const struct ts_image *slices)
{
    struct device *device = run->back;
    const int place = (int)(device->up.n_used++ % PLAN_PIECES);
    void *piece = device->up.pieces[place];
    enum ts_status status = ts_cuda_host_waits(device->session, device->up.copied[place]);
    if (status == TS_OK)
        status = ts_run_cuda_trace_piece(run, TRACE_UPLOAD, &device->up, place);
    if (status == TS_OK)
        status = ts_run_read(run, node, slices, piece);
    if (status == TS_OK)
        status = ts_cuda_event_record(device->session, device->up.started[place], CUDA_UPLOAD);
    device->up.bytes[place] = ts_image_bytes(slices);
    if (status == TS_OK && slices->masked)
        status = ts_cuda_copy(device->session, CUDA_UPLOAD, CUDA_TO_DEVICE, slices->valid,
                              ts_run_read_valid(run, node, slices->z_first),
                              (size_t)slices->axes[0].n * ts_valid_bytes(slices));
    if (status == TS_OK)
        status = ts_cuda_copy(device->session, CUDA_UPLOAD, CUDA_TO_DEVICE, slices->data, piece,
                              ts_image_bytes(slices));
    if (status == TS_OK)
        status = ts_cuda_event_record(device->session, device->up.copied[place], CUDA_UPLOAD);
    return status;
}

/* Uploads the bits of slices that are on the device, and gives the slices to the source if it makes
   digests of them or counts. */
static enum ts_status read_there(struct run *run, int32_t i, const struct ts_image *slices)
{
    const struct device *device = run->back;
    const bool looks = !run->captured && ts_source_looks(run->plan->nodes[i].source);
    enum ts_status status = TS_OK;
    if (slices->masked)
        status = ts_cuda_copy(device->session, CUDA_COMPUTE, CUDA_TO_DEVICE, slices->valid,
                              ts_run_read_valid(run, i, slices->z_first),
                              (size_t)slices->axes[0].n * ts_valid_bytes(slices));
    const int64_t most = ts_plan_piece_slices(run->plan, slices), end = slices->axes[0].n;
    for (int64_t z = 0; looks && status == TS_OK && z < end; z += most) {
        const struct ts_image part = ts_image_slices(slices, z, end - z < most ? end - z : most);
        void *piece = device->up.pieces[0];
        status = ts_cuda_copy(device->session, CUDA_COMPUTE, CUDA_TO_HOST, piece, part.data,
                              ts_image_bytes(&part));
        if (status == TS_OK)
            status = ts_cuda_wait(device->session, CUDA_COMPUTE);
        if (status == TS_OK)
            status = ts_run_read(run, i, &part, piece);
    }
    return status;
}

static enum ts_status device_read(struct run *run, int32_t i, struct ts_image *target)
{
    const struct device *device = run->back;
    if (ts_plan_lies_in_memory(run->plan, i))
        return read_there(run, i, target);
    const int64_t most = ts_plan_piece_slices(run->plan, target), end = target->axes[0].n;
    enum ts_status status = TS_OK;
    for (int64_t z = 0; status == TS_OK && z < end; z += most) {
        const struct ts_image slices = ts_image_slices(target, z, end - z < most ? end - z : most);
        status = read_piece(run, i, &slices);
        if (status == TS_OK)
            status = ts_run_cuda_move(run, -1);
    }
    if (status == TS_OK)
        status = ts_cuda_event_record(device->session, device->uploaded, CUDA_UPLOAD);
    if (status == TS_OK)
        status = ts_cuda_queue_waits(device->session, CUDA_COMPUTE, device->uploaded);
    return status;
}

static enum ts_status device_look(struct run *run, int32_t node, const struct ts_image *slices,
                                  uint32_t also)
{
    const struct device *device = run->back;
    return ts_cuda_seen_look(numbers_of(run), slices, run->nodes[node].seen + slices->z_first,
                             LOOK_INFINITE, LOOK_NAN, also,
                             ts_cuda_stream(device->session, CUDA_COMPUTE), run->diag);
}

static enum ts_status device_end_slab(struct run *run)
{
    struct device *device = run->back;
    if (run->captured)
        return TS_OK;
    struct cuda_event *computed = device->computed[ts_run_cuda_place(run, run->slab_number)];
    device->slabs_ended = run->slab_number + 1;
    const enum ts_status status = ts_cuda_event_record(device->session, computed, CUDA_COMPUTE);
    return status == TS_OK ? ts_run_cuda_move(run, -1) : status;
}

static enum ts_status device_drain(struct run *run)
{
    struct device *device = run->back;
    if (run->captured)
        return TS_OK;
    enum ts_status status = ts_run_cuda_move(run, run->slab_number);
    if (status == TS_OK)
        status = ts_cuda_wait(device->session, CUDA_COMPUTE);
    ts_run_cuda_report_iterations(run);
    if (status == TS_OK)
        status = ts_run_cuda_add_times(run);
    if (status == TS_OK)
        status = ts_run_cuda_half_report(run);
    for (int place = 0; status == TS_OK && place < PLAN_PIECES; place++)
        status = ts_run_cuda_trace_piece(run, TRACE_UPLOAD, &device->up, place);
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++)
        if (run->nodes[i].driver)
            status = ts_cuda_driver_copy_tables(run->nodes[i].driver, CUDA_TO_HOST);
    return status;
}

static enum ts_status device_save(struct run *run, void *saved, const void *valid, size_t bytes)
{
    const struct device *device = run->back;
    return ts_cuda_copy(device->session, CUDA_COMPUTE, CUDA_ON_DEVICE, saved, valid, bytes);
}

static enum ts_status device_fetch(struct run *run, void *host, const void *saved, size_t bytes)
{
    const struct device *device = run->back;
    const enum ts_status status =
        ts_cuda_copy(device->session, CUDA_COMPUTE, CUDA_TO_HOST, host, saved, bytes);
    return status == TS_OK ? ts_cuda_wait(device->session, CUDA_COMPUTE) : status;
}

static enum ts_status device_bring_total(struct run *run, int from, int32_t node, int input)
{
    const struct device *other = run->devices[from].back;
    return ts_cuda_driver_bring_total(run->nodes[node].driver,
                                      run->devices[from].nodes[node].driver, input, other->reached);
}

static enum ts_status device_collect(struct run *run, int32_t node, int input)
{
    for (int device = 0; device < run->plan->n_devices; device++)
        if (device != run->device)
            ts_cuda_driver_forget(run->devices[device].nodes[node].driver, input);
    return ts_cuda_driver_collect(run->nodes[node].driver, input);
}

static enum ts_status device_load(struct run *run, void *data, const void *host, size_t bytes)
{
    const struct device *device = run->back;
    const enum ts_status status =
        ts_cuda_copy(device->session, CUDA_COMPUTE, CUDA_TO_DEVICE, data, host, bytes);
    return status == TS_OK ? ts_cuda_wait(device->session, CUDA_COMPUTE) : status;
}

static enum ts_status device_fetch_tables(struct run *run, int32_t node)
{
    return ts_cuda_driver_copy_tables(run->nodes[node].driver, CUDA_TO_HOST);
}

static enum ts_status device_load_tables(struct run *run, int32_t node)
{
    return ts_cuda_driver_copy_tables(run->nodes[node].driver, CUDA_TO_DEVICE);
}

const struct run_back_end ts_run_cuda = {
    .use = device_use,
    .settle = device_settle,
    .bring_total = device_bring_total,
    .collect = device_collect,
    .ask_capture = ts_run_cuda_ask_capture,
    .end_capture = ts_run_cuda_end_capture,
    .leave = ts_run_cuda_move,
    .begin_call = ts_run_cuda_begin_call,
    .end_call = ts_run_cuda_end_call,
    .allocate = device_allocate,
    .attach = device_attach,
    .open = device_open,
    .free = device_free,
    .begin_slab = device_begin_slab,
    .end_slab = device_end_slab,
    .read = device_read,
    .look = device_look,
    .write = ts_run_cuda_write,
    .drain = device_drain,
    .save = device_save,
    .fetch = device_fetch,
    .load = device_load,
    .fetch_tables = device_fetch_tables,
    .load_tables = device_load_tables,
};
