/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads masks as bits and stores bits as bytes. A lane of a warp compares the key of one voxel with
 * those of the mask, and the vote of the warp is a word; a row's last words may have voxels behind
 * its end, which are 0. To store, a thread writes one byte. Memory traffic: each value is read, or
 * each byte written, once; bits add an eighth of a byte. 256 threads keep enough warps in flight to
 * hide the loads.
 */
#include "cuda/regions/mask_bits.cuh"
#include "cuda/regions/region_keys.cuh"

enum { THREADS = 256, WARP = 32 };

/* Slices are n pixels, n_words words of bits and n_valid words of validity apart. Slice 0 of the
 * job is slice `before` of `in`; those of `in` that are in the volume are [from, end) of the job.
 */
struct load_job {
    const void *in;
    const uint32_t *in_valid; /* NULL: all pixels are valid */
    struct mask_values values;
    struct cuda_mask to;
    int64_t ny, nx, row_words, n_valid, before, from, end, n_words;
};

static __device__ inline bool is_within(int32_t key, struct key_range range)
{
    return key >= range.low && key <= range.high;
}

template <typename T>
static __global__ void __launch_bounds__(THREADS) load_bits(struct load_job job)
{
    const int64_t lane = threadIdx.x % WARP, step = (int64_t)gridDim.x * (THREADS / WARP);
    if (job.to.found)
        job.values.within[0] = *job.to.found;
    for (int64_t word = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP; word < job.n_words;
         word += step) {
        const int64_t row = word / job.row_words, z = row / job.ny, y = row % job.ny,
                      x = word % job.row_words * WARP + lane, pixel = y * job.nx + x;
        bool valid = x < job.nx && z >= job.from && z < job.end, within = false;
        if (valid) {
            const int64_t at = z + job.before;
            const int32_t key =
                ts_cuda_region_key(((const T *)job.in)[at * job.ny * job.nx + pixel]);
            valid =
                !job.in_valid || (job.in_valid[at * job.n_valid + pixel / 32] >> pixel % 32 & 1);
            within = is_within(key, job.values.within[0]) || is_within(key, job.values.within[1]);
        }
        const uint32_t all = __ballot_sync(0xFFFFFFFF, valid),
                       mask = __ballot_sync(0xFFFFFFFF, valid && within != job.to.complement);
        if (lane > 0)
            continue;
        job.to.mask[word] = mask;
        if (job.to.valid)
            job.to.valid[word] = all;
    }
}

static int64_t valid_words(const struct ts_image *image)
{
    return (int64_t)(ts_valid_bytes(image) / sizeof(uint32_t));
}

enum ts_status ts_cuda_mask_load(const struct stage_context *context, const struct ts_image *slices,
                                 struct mask_values values, int64_t first, int64_t n,
                                 struct cuda_mask to, const struct cuda_call *call)
{
    const struct mask_grid grid = ts_mask_grid(slices);
    struct load_job job = {slices->data, (const uint32_t *)slices->valid, values, to};
    job.ny = grid.ny;
    job.nx = grid.nx;
    job.row_words = 2 * grid.n_words;
    job.n_valid = valid_words(slices);
    job.before = first - slices->z_first;
    job.from = first < 0 ? -first : 0;
    job.end = context->in.axes[0].n - first;
    job.n_words = n * job.ny * job.row_words;
    const int64_t useful = ts_cuda_parts(job.n_words, THREADS / WARP),
                  most = 4 * ts_cuda_blocks_at_once(context, THREADS);
    const unsigned blocks = (unsigned)(useful < most ? useful : most);
#define LOAD(T) load_bits<T><<<blocks, THREADS, 0, call->stream>>>(job)
    TS_CUDA_DTYPES(slices->dtype, LOAD)
#undef LOAD
    return ts_cuda_launched(context, "mask bits");
}

struct store_job {
    const uint32_t *bits, *valid;
    uint8_t *out;
    int64_t nx, row_words, slice, n_valid, n;
};

static __global__ void __launch_bounds__(THREADS) store_bits(struct store_job job)
{
    const int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < job.n; i += step) {
        const int64_t row = i / job.nx, x = i % job.nx, pixel = i % job.slice;
        const bool valid =
            !job.valid || (job.valid[i / job.slice * job.n_valid + pixel / 32] >> pixel % 32 & 1);
        job.out[i] = valid && (job.bits[row * job.row_words + x / 32] >> x % 32 & 1);
    }
}

enum ts_status ts_cuda_mask_store(const struct stage_context *context, const uint32_t *bits,
                                  const struct ts_image *in, struct ts_image *out,
                                  const struct cuda_call *call)
{
    const struct mask_grid grid = ts_mask_grid(out);
    struct store_job job = {bits, in ? (const uint32_t *)in->valid : NULL, (uint8_t *)out->data};
    job.nx = grid.nx;
    job.row_words = 2 * grid.n_words;
    job.slice = grid.ny * grid.nx;
    job.n_valid = in ? valid_words(in) : 0;
    job.n = grid.nz * job.slice;
    const int64_t useful = ts_cuda_parts(job.n, THREADS),
                  most = 4 * ts_cuda_blocks_at_once(context, THREADS);
    store_bits<<<(unsigned)(useful < most ? useful : most), THREADS, 0, call->stream>>>(job);
    return ts_cuda_launched(context, "mask store");
}

size_t ts_cuda_mask_volume_bytes(const struct stage_context *context, int)
{
    const struct mask_grid grid = ts_mask_grid(&context->in);
    return ts_mask_bytes(&grid, grid.nz);
}

enum ts_status ts_cuda_mask_volume_reduce(const struct stage_context *context,
                                          const struct ts_image *slices, struct mask_values values,
                                          const struct key_range *found, void *partial,
                                          const struct cuda_call *call)
{
    const struct mask_grid grid = ts_mask_grid(&context->in);
    struct cuda_mask to = {(uint32_t *)partial + 2 * slices->z_first * ts_mask_slice_words(&grid)};
    to.found = found;
    return ts_cuda_mask_load(context, slices, values, slices->z_first, slices->axes[0].n, to, call);
}

void ts_cuda_mask_volume_collect(const struct stage_context *context, int input,
                                 const void *partial, void *total)
{
    struct mask_volume *volume = (struct mask_volume *)total;
    volume->first = 0;
    volume->end = context->in.axes[0].n;
    memcpy(volume->bits, partial, ts_cuda_mask_volume_bytes(context, input));
}
