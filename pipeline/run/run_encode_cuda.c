/* SPDX-License-Identifier: Apache-2.0
 *
 * Outputs are compressed on the device that computes them: only what the file will hold crosses the
 * bus, and the processor's threads inflate and check chunks, which is faster than making them. A
 * chunk may need slices of several slabs, so values wait here until their chunk is whole. Built
 * only with CUDA.
 */
#include <stdlib.h>

#include "pipeline/run/run_cuda.h"

enum ts_status ts_run_cuda_encoder_create(struct run *run, int32_t node)
{
    struct device *device = run->back;
    struct plan_encode plan;
    if (!ts_plan_encode(run->plan, node, &plan))
        return TS_OK;
    struct encoder *encoder = device->encoders[node] = calloc(1, sizeof *encoder);
    if (!encoder)
        return ts_diag_no_memory(run->diag, sizeof *encoder);
    encoder->plan = plan;
    encoder->values = ts_cuda_allocate(device->session, plan.values_bytes);
    encoder->ready = encoder->values ? ts_cuda_event_create(device->session) : NULL;
    bool complete = encoder->ready != NULL;
    for (int copy = 0; complete && copy < PLAN_RING; copy++) {
        encoder->chunks[copy] = calloc((size_t)plan.slab_chunks, sizeof *encoder->chunks[copy]);
        if (!encoder->chunks[copy])
            return ts_diag_no_memory(run->diag,
                                     (size_t)plan.slab_chunks * sizeof *encoder->chunks[copy]);
        complete =
            (encoder->encoded[copy] = ts_cuda_allocate(device->session, plan.encoded_bytes)) &&
            (encoder->places[copy] = ts_cuda_allocate(device->session, plan.places_bytes)) &&
            (encoder->found[copy] = ts_cuda_allocate_pinned(device->session, plan.places_bytes));
    }
    return complete ? ts_cuda_deflate_load(plan.level, ts_cuda_session_device(device->session),
                                           run->diag)
                    : TS_RUN_FAILED;
}

void ts_run_cuda_encoder_destroy(struct encoder *encoder)
{
    for (int copy = 0; encoder && copy < PLAN_RING; copy++)
        free(encoder->chunks[copy]);
    free(encoder);
}

/* Returns the number of chunks in the next call: whole ones, of which only the last may be cut by
   the array's end. Fills in the bytes of all and of the last. */
static int64_t next_call(const struct encoder *encoder, int64_t first, size_t available,
                         size_t *bytes, size_t *last)
{
    const struct chunk_grid *grid = &encoder->plan.grid;
    int64_t n = 0, start[TS_MAX_RANK];
    *bytes = *last = 0;
    while (n < encoder->plan.call_chunks && first + n < grid->n_chunks) {
        const size_t inside = ts_chunk_place(grid, first + n, start);
        if (*bytes + inside > available)
            break;
        *bytes += inside;
        *last = inside;
        n++;
        if (inside < grid->chunk_bytes)
            break;
    }
    return n;
}

/* Enqueues one call. Its chunks are numbered from `done` on within the slab, and its output begins
   at `at`. */
static enum ts_status call(struct run *run, struct encoder *encoder, int copy,
                           const struct cuda_deflate *job, const unsigned char *values,
                           int64_t done, size_t at)
{
    const struct device *device = run->back;
    for (int64_t i = done; i < done + job->n_chunks; i++)
        encoder->chunks[copy][i] =
            (struct encoded_chunk){.call = at, .place = &encoder->found[copy][i]};
    return ts_cuda_deflate(job, ts_cuda_session_device(device->session), values,
                           device->encode_scratch, encoder->encoded[copy] + at,
                           encoder->places[copy] + done,
                           ts_cuda_stream(device->session, CUDA_COMPUTE), run->diag);
}

/* If there are several ranks, their slabs have whole chunks (pipeline/plan/fit.c), and none waits:
   the first chunk is the first of the slab. */
static void begin_slab(struct encoder *encoder, int64_t z)
{
    const struct chunk_grid *grid = &encoder->plan.grid;
    encoder->filled = encoder->left = 0;
    encoder->next_chunk = grid->split == 0 ? z / grid->chunk[0] : z * (grid->n_chunks / grid->n[0]);
}

/* Moves the values that wait for their chunk to the front, from the device that has them. That
   device's next slab overwrites them, but only after it has waited for all devices in between. Less
   than a chunk waits, behind at least one that was encoded, so the two places do not overlap. */
static enum ts_status bring_values(struct run *run, int32_t node, struct encoder *encoder)
{
    const struct device *device = run->back;
    int *written = &run->results[node].written;
    const struct device *other = *written < 0 ? device : run->devices[*written].back;
    const struct encoder *last = other->encoders[node];
    const size_t left = last->left;
    enum ts_status status = TS_OK;
    *written = run->device;
    if (last != encoder) {
        status = ts_cuda_queue_waits(device->session, CUDA_COMPUTE, last->ready);
        encoder->filled = last->filled;
        encoder->next_chunk = last->next_chunk;
    }
    encoder->left = 0;
    if (status != TS_OK || encoder->filled == 0 || (last == encoder && left == 0))
        return status;
    return ts_cuda_copy(device->session, CUDA_COMPUTE,
                        last == encoder ? CUDA_ON_DEVICE : CUDA_BETWEEN, encoder->values,
                        last->values + left, encoder->filled);
}

enum ts_status ts_run_cuda_encode(struct run *run, int32_t node, const struct ts_image *slices,
                                  int64_t *n)
{
    struct device *device = run->back;
    struct encoder *encoder = device->encoders[node];
    const int copy = ts_run_cuda_place(run, run->slab_number);
    size_t from = 0, at = 0, bytes = 0, last;
    enum ts_status status = TS_OK;
    if (run->plan->n_ranks > 1)
        begin_slab(encoder, slices->z_first);
    else
        status = bring_values(run, node, encoder);
    if (status == TS_OK)
        status = ts_run_cuda_leave(run, node, slices, encoder->values + encoder->filled, &bytes);
    if (status == TS_OK)
        status = ts_cuda_event_record(device->session, encoder->ready, CUDA_COMPUTE);
    encoder->filled += bytes;
    *n = 0;
    while (status == TS_OK) {
        const int64_t count =
            next_call(encoder, encoder->next_chunk + *n, encoder->filled - from, &bytes, &last);
        if (count == 0)
            break;
        const struct cuda_deflate job = ts_plan_encode_job(&encoder->plan, count, last);
        status = call(run, encoder, copy, &job, encoder->values + from, *n, at);
        from += bytes;
        *n += count;
        at += (size_t)count * encoder->plan.chunk_bound;
    }
    encoder->next_chunk += *n;
    encoder->filled -= from;
    encoder->left = from;
    if (status == TS_OK && *n > 0)
        status = ts_cuda_copy(device->session, CUDA_COMPUTE, CUDA_TO_HOST, encoder->found[copy],
                              encoder->places[copy], (size_t)*n * sizeof *encoder->found[copy]);
    return status;
}
