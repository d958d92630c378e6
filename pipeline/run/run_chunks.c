/* SPDX-License-Identifier: Apache-2.0
 *
 * A rank of the CPU compresses the chunks that lie whole in its slab, all at once, before rank 0 asks for the first: so
 * the ranks compress beside one another. Slices before and behind them go as values. Where the file holds halves, the
 * rank rounds its slab before. The bytes are those that the writer would make.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "pipeline/run/run.h"

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

enum ts_status ts_run_hand_output(struct run *run, int32_t node, const struct ts_image *computed)
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
