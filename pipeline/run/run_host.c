/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the back end of the CPU. Images lie in host memory and each call is done when it returns, so nothing has to
 * be begun, ended or waited for. All drivers share one padded slab and one scratch: their calls follow one another.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/memory.h"
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/run/run.h"
#include "pipeline/run/run_finite.h"

/* ---- outputs of several ranks -------------------------------------------------------------------- */

/* A rank of the CPU compresses the chunks that lie whole in its slab, all at once, before rank 0 asks for the first: so
 * the ranks compress beside one another. Slices before and behind them go as values. Where the file holds halves, the
 * rank rounds its slab before. The bytes are those that the writer would make. */

/* The chunks [first, end) of a grid, encoded one behind the other in `data`. */
struct encoded {
    int64_t first, end;
    struct run_chunk *chunks;
    unsigned char *data;
};

/* Rounds slices to halves, which begin run->received, and keeps the largest magnitude that none could hold. */
static void round_slices(struct run *run, int32_t node, struct ts_image *slices)
{
    const int64_t n = slices->axes[0].n;
    const size_t values = ts_image_count(slices) / (size_t)n;
    const float *from = slices->data;
    uint16_t *to = run->received;
    float largest = run->results[node].largest;
#pragma omp parallel for num_threads(run->plan->threads) reduction(max : largest)
    for (int64_t z = 0; z < n; z++)
        largest = fmaxf(largest, ts_half_round(to + (size_t)z * values, from + (size_t)z * values, values));
    run->results[node].largest = largest;
    slices->dtype = TS_F16;
    slices->data = to;
}

/* Encodes chunk `first + i` to place i of `bound` bytes each. Returns false where memory is out. */
static bool encode_all(const struct run *run, const struct plan_chunks *plan, const unsigned char *values,
                       const struct encoded *encoded)
{
    const size_t bytes = plan->grid.chunk_bytes;
    const int64_t n = encoded->end - encoded->first;
    int64_t n_failed = 0;
#pragma omp parallel num_threads(run->plan->threads) reduction(+ : n_failed)
    {
        struct chunk_coder *coder = ts_chunk_coder_create();
#pragma omp for schedule(dynamic, 1)
        for (int64_t i = 0; i < n; i++) {
            unsigned char *to = encoded->data + (size_t)i * plan->bound;
            struct run_chunk *chunk = &encoded->chunks[i];
            chunk->offset = (uint64_t)i * plan->bound;
            chunk->bytes =
                coder ? ts_chunk_encode(coder, &plan->filters, values + (size_t)i * bytes, bytes, to, plan->bound) : 0;
            n_failed += chunk->bytes == 0;
        }
        ts_chunk_coder_destroy(coder);
    }
    return n_failed == 0;
}

/* Hands the chunks over, RUN_CHUNKS at once, without the gaps between them. */
static enum ts_status hand_all(struct run *run, int32_t node, const struct encoded *encoded, bool last)
{
    unsigned char *data = encoded->data;
    const int64_t n = encoded->end - encoded->first;
    enum ts_status status = TS_OK;
    for (int64_t done = 0, some; status == TS_OK && done < n; done += some) {
        struct run_chunk *chunks = encoded->chunks + done;
        uint64_t bytes = 0;
        some = n - done < RUN_CHUNKS ? n - done : RUN_CHUNKS;
        for (int64_t i = 0; i < some; i++) {
            memmove(data + bytes, data + chunks[i].offset, chunks[i].bytes);
            chunks[i].offset = bytes;
            bytes += chunks[i].bytes;
        }
        status = ts_run_hand_chunks(run, node, chunks, some, data, last && done + some == n);
    }
    return status;
}

/* Hands slices [z, end) over as values, where there are any. */
static enum ts_status hand_values(struct run *run, int32_t node, const struct ts_image *slices, int64_t z, int64_t end,
                                  bool last)
{
    const struct ts_image some = z < end ? ts_image_slices(slices, z - slices->z_first, end - z) : *slices;
    return z < end ? ts_run_hand_slices(run, node, &some, last) : TS_OK;
}

/* Hands the slab of an output, which lies in host memory, over: another rank than 0 rounds it to halves where the file
 * holds such, and compresses its whole chunks before. */
static enum ts_status hand_output(struct run *run, int32_t node, const struct ts_image *computed)
{
    struct plan_chunks plan;
    struct ts_image written = *computed, *slices = &written;
    struct encoded encoded = {.data = run->received};
    if (run->plan->rank == 0)
        return ts_run_hand_slices(run, node, slices, true);
    if (ts_plan_leaves_rounded(run->plan, node)) {
        round_slices(run, node, slices);
        encoded.data += ts_image_bytes(slices);
    }
    const int64_t slice = (int64_t)ts_slice_bytes(slices);
    const int64_t z = slices->z_first, past = z + slices->axes[0].n;
    const int64_t n = ts_plan_chunks(run->plan, node, &plan)
                          ? ts_plan_whole_chunks(&plan, (size_t)slice, z, slices->axes[0].n, &encoded.first)
                          : 0;
    if (n == 0)
        return ts_run_hand_slices(run, node, slices, true);
    const int64_t chunk = (int64_t)plan.grid.chunk_bytes;
    encoded.end = encoded.first + n;
    const int64_t first = encoded.first * chunk / slice, end = encoded.end * chunk / slice;
    const size_t bytes = (size_t)(encoded.end - encoded.first) * sizeof *encoded.chunks;
    encoded.chunks = malloc(bytes);
    enum ts_status status = TS_OK;
    if (!encoded.chunks || !encode_all(run, &plan, ts_slice_data(slices, first - z), &encoded))
        status = ts_diag_no_memory(run->diag, bytes + plan.bound);
    if (status == TS_OK)
        status = hand_values(run, node, slices, z, first, false);
    if (status == TS_OK)
        status = hand_all(run, node, &encoded, end == past);
    if (status == TS_OK)
        status = hand_values(run, node, slices, end, past, true);
    free(encoded.chunks);
    return status;
}

/* ---- the back end -------------------------------------------------------------------------------- */

/* Allocates what lies beside an image: the bits of a masked one, of the slices at hand and of the whole one where it is
 * an output; and what is seen of floats. */
static enum ts_status allocate_beside(struct run *run, int32_t i, int64_t slices)
{
    const struct plan_node *plan = &run->plan->nodes[i];
    struct run_node *node = &run->nodes[i];
    const size_t bytes = plan->image_node == i ? (size_t)slices * ts_valid_bytes(&plan->out) : 0;
    const size_t saved = ts_plan_saved_bytes(run->plan, i);
    node->valid = bytes > 0 ? ts_memory_aligned(bytes) : NULL;
    node->saved = saved > 0 ? ts_memory_zeroed(saved) : NULL; /* zeros: ranks unite it */
    const size_t seen = ts_plan_seen_bytes(run->plan, i);
    node->seen = seen > 0 ? ts_memory_zeroed(seen) : NULL;
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
    if (plan->image_node == i && slices > 0) {
        node->copy_bytes = (size_t)slices * ts_slice_bytes(&plan->out);
        node->buffer = ts_memory_aligned((size_t)node->copies * node->copy_bytes);
        if (!node->buffer)
            return ts_diag_no_memory(run->diag, (size_t)node->copies * node->copy_bytes);
    }
    const enum ts_status status = allocate_beside(run, i, slices);
    if (status != TS_OK)
        return status;
    if (!plan->chain_stage || plan->reused)
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
        struct source *source = run->plan->nodes[i].source;
        if (ts_plan_reads_in_place(run->plan, i))
            source->ops->prefetch_to(source, 0, 0, NULL);
        free(run->nodes[i].buffer);
        free(run->nodes[i].valid);
        free(run->nodes[i].saved);
        free(run->nodes[i].seen);
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
    const enum ts_status status = ts_run_read(run, node, target, target->data);
    if (status == TS_OK && target->masked)
        memcpy(target->valid, ts_run_read_valid(run, node, target->z_first),
               (size_t)target->axes[0].n * ts_valid_bytes(target));
    return status;
}

static enum ts_status host_write(struct run *run, int32_t node, const struct ts_image *slices)
{
    return hand_output(run, node, slices);
}

static enum ts_status host_copy(struct run *run, void *to, const void *from, size_t bytes)
{
    (void)run;
    memcpy(to, from, bytes);
    return TS_OK;
}

const struct run_back_end ts_run_host = {
    .allocate = host_allocate,
    .attach = nothing,
    .free = host_free,
    .begin_slab = nothing,
    .end_slab = nothing,
    .read = host_read,
    .look = ts_run_look_host,
    .write = host_write,
    .drain = nothing,
    .save = host_copy,
    .fetch = host_copy,
    .load = host_copy,
};
