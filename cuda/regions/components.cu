/* SPDX-License-Identifier: Apache-2.0
 *
 * components on a CUDA device: a reduction collects the bits of the mask, the host joins and
 * numbers its parts, and the map writes labels. A thread writes the label of one voxel: that of its
 * run, whose number in the row is how many runs begin up to the voxel. Memory traffic: each value
 * is read once and a label is written; bits and labels of runs come from the caches. 256 threads
 * keep enough warps in flight to hide the loads.
 */
#include "cuda/regions/mask_bits.cuh"

extern "C" {
#include "stages/regions/components.h"
}

enum { THREADS = 256 };

STAGE_PARAMS_OF(components_params)

static enum ts_status components_reduce(const struct stage_context *context, int,
                                        const struct ts_image *slices, void *partials,
                                        const struct cuda_call *call)
{
    return ts_cuda_mask_volume_reduce(context, slices, ts_components_values(context), NULL,
                                      partials, call);
}

static const struct cuda_reduction reduction = {.partial_bytes = ts_cuda_mask_volume_bytes,
                                                .reduce = components_reduce,
                                                .collect = ts_cuda_mask_volume_collect};

/* The bits of row r of the job are at bits + r * row_words; row[r] is the number of its first
 * run. */
struct label_job {
    const uint32_t *bits, *row, *labels;
    void *out;
    int64_t nx, row_words, n;
};

/* Returns how many runs of the row begin up to voxel x. */
static __device__ inline uint32_t runs_up_to(const uint32_t *bits, int64_t x)
{
    uint32_t n = 0, before = 0;
    for (int64_t i = 0; i <= x / 32; i++) {
        const uint32_t word = bits[i], begins = word & ~(word << 1 | before);
        n += __popc(i < x / 32 ? begins : begins & 0xFFFFFFFFu >> (31 - x % 32));
        before = word >> 31;
    }
    return n;
}

template <typename T>
static __global__ void __launch_bounds__(THREADS) write_labels(struct label_job job)
{
    const int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < job.n; i += step) {
        const int64_t r = i / job.nx, x = i % job.nx;
        const uint32_t *bits = job.bits + r * job.row_words;
        const bool within = bits[x / 32] >> x % 32 & 1;
        ((T *)job.out)[i] = within ? (T)job.labels[job.row[r] + runs_up_to(bits, x) - 1] : (T)0;
    }
}

static enum ts_status components_map(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct cuda_call *call)
{
    size_t bytes;
    const struct components_result result =
        ts_components_result(context, (void *)call->result, &bytes);
    const struct mask_grid grid = ts_mask_grid(out);
    struct label_job job = {};
    job.row_words = 2 * grid.n_words;
    job.bits = (const uint32_t *)result.bits + out->z_first * grid.ny * job.row_words;
    if (params_of(context)->output == COMPONENTS_MASK)
        return ts_cuda_mask_store(context, job.bits, in, out, call);
    job.row = result.row + out->z_first * grid.ny;
    job.labels = result.labels;
    job.out = out->data;
    job.nx = grid.nx;
    job.n = grid.nz * grid.ny * grid.nx;
    const int64_t useful = ts_cuda_parts(job.n, THREADS),
                  most = 4 * ts_cuda_blocks_at_once(context, THREADS);
    const unsigned blocks = (unsigned)(useful < most ? useful : most);
#define WRITE(T) write_labels<T><<<blocks, THREADS, 0, call->stream>>>(job)
    TS_CUDA_WORDS(out->dtype, WRITE)
#undef WRITE
    return ts_cuda_launched(context, "components");
}

const struct stage_cuda components_cuda = {.map = components_map, .reduction = &reduction};
