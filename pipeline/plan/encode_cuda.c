/* SPDX-License-Identifier: Apache-2.0
 *
 * This works out which outputs a CUDA device compresses before they leave it, and the device memory
 * for that. Values wait on the device until their chunk is whole; the chunks of a slab are encoded
 * in calls of at most CALL_BYTES, which fill the device and keep the scratch memory small. Built
 * only with CUDA.
 */
#include "core/clamp.h"
#include "cuda/device/launch.h"
#include "pipeline/plan/plan_encode.h"

enum { CALL_BYTES = 128 << 20 };

struct cuda_deflate ts_plan_encode_job(const struct plan_encode *encode, int64_t n_chunks,
                                       size_t last_bytes)
{
    return (struct cuda_deflate){.n_chunks = n_chunks,
                                 .chunk_bytes = encode->grid.chunk_bytes,
                                 .last_bytes = last_bytes,
                                 .width = (int)encode->grid.element_bytes,
                                 .level = encode->level};
}

/* Returns the most slices that may wait for their chunk in addition to those of a slab. */
static int64_t waiting_slices(const struct chunk_grid *grid)
{
    return grid->split == 0 ? grid->chunk[0] - 1 : 0;
}

/* Returns the most chunks that become whole within n slices. The last chunk of the volume counts,
   even if it is not full. */
static int64_t chunks_of(const struct chunk_grid *grid, int64_t n)
{
    const int64_t slices = n + waiting_slices(grid), c = grid->chunk[0];
    return grid->split == 0 ? (slices + c - 1) / c : slices * (grid->n_chunks / grid->n[0]);
}

bool ts_plan_encode(const struct ts_plan *plan, int32_t i, struct plan_encode *encode)
{
    const struct ts_image image = ts_plan_written(plan, i);
    int64_t n[TS_MAX_RANK];
    if (!ts_plan_encodes(plan) || !ts_plan_is_output(plan, i))
        return false;
    *encode = (struct plan_encode){.level = plan->chain->output.compression == CHAIN_SMALL
                                                ? CUDA_DEFLATE_MATCHES
                                                : CUDA_DEFLATE_RUNS};
    for (int d = 0; d < image.rank; d++)
        n[d] = image.axes[d].n;
    struct chunk_grid *grid = &encode->grid;
    if (!ts_chunk_grid_init(grid, image.rank, n, ts_dtype_bytes(image.dtype)))
        return false;
    encode->slab_chunks = chunks_of(grid, plan->slab_slices);
    const int64_t most = (int64_t)(CALL_BYTES / grid->chunk_bytes);
    encode->call_chunks = ts_clamp(most, 1, encode->slab_chunks);
    const struct cuda_deflate one = ts_plan_encode_job(encode, 1, grid->chunk_bytes),
                              call = ts_plan_encode_job(encode, encode->call_chunks,
                                                        grid->chunk_bytes);
    encode->values_bytes =
        (size_t)(plan->slab_slices + waiting_slices(grid)) * ts_slice_bytes(&image);
    encode->chunk_bound = ts_cuda_stride(ts_cuda_deflate_bound(&one));
    encode->encoded_bytes = (size_t)encode->slab_chunks * encode->chunk_bound;
    encode->places_bytes = (size_t)encode->slab_chunks * sizeof(struct cuda_deflate_place);
    encode->piece_bytes =
        encode->chunk_bound > plan->piece_bytes ? encode->chunk_bound : plan->piece_bytes;
    if (encode->piece_bytes > encode->encoded_bytes)
        encode->piece_bytes = encode->encoded_bytes;
    encode->scratch_bytes = ts_cuda_deflate_scratch_bytes(&call, plan->cuda);
    return true;
}

size_t ts_plan_encode_scratch_bytes(const struct ts_plan *plan)
{
    struct plan_encode encode;
    size_t largest = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++)
        if (ts_plan_encode(plan, i, &encode) && encode.scratch_bytes > largest)
            largest = encode.scratch_bytes;
    return largest;
}
