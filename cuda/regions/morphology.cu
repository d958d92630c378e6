/* SPDX-License-Identifier: Apache-2.0
 *
 * morphology on a CUDA device: the slab with its halo becomes bits, each step of the operation is
 * one kernel, and bits become bytes. A thread makes one word of 32 voxels of a step: it gathers the
 * words of the rows of the ball, and as many to the left and right as the ball reaches, from the
 * widest rows to the narrowest, and in between all of them grow by one voxel along x
 * (stages/regions/morphology.c). Bits that would come from beyond the outermost words do not reach
 * the word in the middle.
 *
 * Memory traffic: each value is read once and a byte is written; a step reads three words or more
 * for each row of the ball, of which the caches have nearly all. 128 threads: the words of a thread
 * are in registers.
 *
 * Holes are filled on the host, from bits that a reduction collects.
 */
#include "cuda/regions/mask_bits.cuh"

extern "C" {
#include "stages/engine/traits.h"
#include "stages/regions/morphology.h"
}

enum { THREADS = 128 };

STAGE_PARAMS_OF(morphology_params)

static struct mask_values values_of(const struct stage_context *context)
{
    return ts_mask_values(context->in.dtype, &params_of(context)->label);
}

/* ---- holes ------------------------------------------------------------------------------------*/

static enum ts_status morphology_reduce(const struct stage_context *context, int,
                                        const struct ts_image *slices, void *partials,
                                        const struct cuda_call *call)
{
    return ts_cuda_mask_volume_reduce(context, slices, values_of(context), NULL, partials, call);
}

static const struct cuda_reduction reduction = {.partial_bytes = ts_cuda_mask_volume_bytes,
                                                .reduce = morphology_reduce,
                                                .collect = ts_cuda_mask_volume_collect};

/* ---- steps ------------------------------------------------------------------------------------*/

static size_t constants_bytes(const struct stage_context *context)
{
    return ts_morphology_fills(context) ? 0 : ts_morphology_rows_bytes(context);
}

static void morphology_constants(const struct stage_context *context, void *host)
{
    ts_morphology_rows(context, (struct morphology_rows *)host);
}

static int64_t halo_of(const struct stage_context *context)
{
    return ts_stage_reach(context).halo;
}

/* Bytes of the bits of a slab of n output slices with its halo. */
static size_t slab_bytes(const struct stage_context *context, int64_t n)
{
    const struct mask_grid grid = ts_mask_grid(&context->in);
    return ts_cuda_stride(ts_mask_bytes(&grid, n + 2 * halo_of(context)));
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    return ts_morphology_fills(context) ? 0 : 3 * slab_bytes(context, n);
}

/* Words [first, end) of the slab are made. */
struct step_job {
    const struct morphology_rows *rows;
    const uint32_t *from, *valid;
    uint32_t *to;
    int64_t ny, row_words, first, end;
    bool inverts;
};

/* Grows the words by one voxel along x. */
template <int N> static __device__ inline void widen(uint32_t (&words)[N])
{
    uint32_t before = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const uint32_t here = words[i], after = i + 1 < N ? words[i + 1] : 0;
        words[i] = here | here << 1 | before >> 31 | here >> 1 | after << 31;
        before = here;
    }
}

template <int SIDE> static __global__ void __launch_bounds__(THREADS) make_step(struct step_job job)
{
    const int64_t word = job.first + (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (word >= job.end)
        return;
    const int64_t row = word / job.row_words, y = row % job.ny, at = word % job.row_words;
    uint32_t words[2 * SIDE + 1] = {};
    for (int i = 0; i <= job.rows->reach[2]; i++) {
        if (i > 0)
            widen(words);
        for (int k = job.rows->start[i]; k < job.rows->start[i + 1]; k++) {
            const int dz = job.rows->rows[k].z, dy = job.rows->rows[k].y;
            if (y + dy < 0 || y + dy >= job.ny)
                continue;
            const uint32_t *from = job.from + (row + dz * job.ny + dy) * job.row_words;
#pragma unroll
            for (int side = -SIDE; side <= SIDE; side++)
                if (at + side >= 0 && at + side < job.row_words)
                    words[SIDE + side] |= from[at + side];
        }
    }
    job.to[word] = job.valid[word] & (job.inverts ? ~words[SIDE] : words[SIDE]);
}

/* Makes slices [first, end) of the slab. */
static enum ts_status launch_step(const struct stage_context *context, struct step_job *job,
                                  int64_t first, int64_t end, const struct cuda_call *call)
{
    const int64_t slice = job->ny * job->row_words;
    int64_t reach[3];
    ts_morphology_reach(context, reach);
    job->first = first * slice;
    job->end = end * slice;
    const unsigned blocks = (unsigned)ts_cuda_parts(job->end - job->first, THREADS);
    if (reach[2] <= 32)
        make_step<1><<<blocks, THREADS, 0, call->stream>>>(*job);
    else if (reach[2] <= 64)
        make_step<2><<<blocks, THREADS, 0, call->stream>>>(*job);
    else
        make_step<4><<<blocks, THREADS, 0, call->stream>>>(*job);
    return ts_cuda_launched(context, "morphology");
}

static enum ts_status morphology_map(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct cuda_call *call)
{
    const struct mask_grid grid = ts_mask_grid(&context->in);
    const int64_t n = out->axes[0].n, halo = halo_of(context), all = n + 2 * halo,
                  slice = 2 * ts_mask_slice_words(&grid);
    if (ts_morphology_fills(context))
        return ts_cuda_mask_store(context, (const uint32_t *)call->result + out->z_first * slice,
                                  in, out, call);
    const size_t bytes = slab_bytes(context, n);
    const struct morphology_steps steps = ts_morphology_steps(context);
    uint32_t *from = (uint32_t *)call->scratch, *valid = (uint32_t *)((char *)from + bytes),
             *to = (uint32_t *)((char *)from + 2 * bytes);
    struct cuda_mask slab = {from, valid, steps.complement};
    enum ts_status status =
        ts_cuda_mask_load(context, in, values_of(context), out->z_first - halo, all, slab, call);
    for (int i = 0; status == TS_OK && i < steps.n; i++) {
        struct step_job job = {(const struct morphology_rows *)call->constants, from, valid, to};
        job.ny = grid.ny;
        job.row_words = 2 * grid.n_words;
        job.inverts = steps.inverts[i];
        const int64_t reach = (i + 1) * (halo / steps.n);
        status = launch_step(context, &job, reach, all - reach, call);
        uint32_t *made = to;
        to = from;
        from = made;
    }
    return status == TS_OK ? ts_cuda_mask_store(context, from + halo * slice, NULL, out, call)
                           : status;
}

const struct stage_cuda morphology_cuda = {.constants_bytes = constants_bytes,
                                           .constants = morphology_constants,
                                           .scratch_bytes = scratch_bytes,
                                           .map = morphology_map,
                                           .reduction = &reduction};
