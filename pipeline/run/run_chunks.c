/* SPDX-License-Identifier: Apache-2.0
 *
 * A rank of the CPU compresses the chunks that lie whole in its slab, all at once, before rank 0 asks for the first: so
 * the ranks compress beside one another. Slices before and behind them go as values. The bytes are those that the
 * writer would make.
 */
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/plan_chunks.h"
#include "pipeline/run/run.h"

/* The chunks [first, end) of a grid, encoded one behind the other in run->received. */
struct encoded {
    int64_t first, end;
    struct run_chunk *chunks;
};

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
            unsigned char *to = (unsigned char *)run->received + (size_t)i * plan->bound;
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
    unsigned char *data = run->received;
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

enum ts_status ts_run_hand_output(struct run *run, int32_t node, const struct ts_image *slices)
{
    struct plan_chunks plan;
    if (run->plan->rank == 0 || !ts_plan_chunks(run->plan, node, &plan))
        return ts_run_hand_slices(run, node, slices, true);
    const int64_t slice = (int64_t)ts_slice_bytes(slices), chunk = (int64_t)plan.grid.chunk_bytes;
    const int64_t z = slices->z_first, past = z + slices->axes[0].n;
    struct encoded encoded;
    const int64_t n = ts_plan_whole_chunks(&plan, (size_t)slice, z, slices->axes[0].n, &encoded.first);
    if (n == 0)
        return ts_run_hand_slices(run, node, slices, true);
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
