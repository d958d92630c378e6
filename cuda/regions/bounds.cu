/* SPDX-License-Identifier: Apache-2.0
 *
 * bounds on a CUDA device. A warp takes 32 pixels of a row at a time and keeps the ends of what it
 * saw of the region in registers; at the end its lanes join theirs, and one lane adds them to the
 * box with atomic maxima of integers, whose order does not matter. Rows are dealt out to warps in
 * turn. Memory traffic: value and mask are read once. 256 threads keep enough warps in flight to
 * hide the loads.
 */
#include "cuda/device/launch.cuh"
#include "cuda/regions/region_keys.cuh"
#include "cuda/values/reductions.cuh"

extern "C" {
#include "stages/engine/validity.h"
#include "stages/regions/bounds.h"
}

enum { THREADS = 256, WARP = 32, WARPS = THREADS / WARP };

/* The bits of slices are n_words words apart. */
struct bounds_job {
    const void *in, *mask;              /* mask is NULL if there is none */
    const uint32_t *valid, *mask_valid; /* NULL: all pixels are valid */
    enum ts_dtype mask_dtype;
    struct key_range within;
    int64_t ny, nx, n_words, n_rows, z_first;
    struct bounds_box *box;
};

static __device__ inline bool is_chosen(const struct bounds_job &job, int64_t i)
{
    double value;
    switch (job.mask_dtype) {
        TS_CUDA_CASE(TS_U8, return ((const uint8_t *)job.mask)[i] != 0)
        TS_CUDA_CASE(TS_I8, return ((const int8_t *)job.mask)[i] != 0)
        TS_CUDA_CASE(TS_U16, return ((const uint16_t *)job.mask)[i] != 0)
        TS_CUDA_CASE(TS_I16, return ((const int16_t *)job.mask)[i] != 0)
        TS_CUDA_CASE(TS_F32, value = (double)((const float *)job.mask)[i])
    default:
        return ((const uint32_t *)job.mask)[i] != 0;
    }
    return value != 0 && value == value;
}

static __device__ inline bool bit_at(const uint32_t *bits, int64_t words, int64_t pixel)
{
    return !bits || (bits[words + pixel / 32] >> pixel % 32 & 1);
}

/* Finds the box of the region; each warp takes rows in turn. */
template <typename T>
static __global__ void __launch_bounds__(THREADS) find_box(struct bounds_job job)
{
    const int64_t lane = threadIdx.x % WARP, step = (int64_t)gridDim.x * WARPS;
    uint32_t not_first[3] = {}, end[3] = {}, n = 0;
    for (int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / WARP; row < job.n_rows;
         row += step) {
        const int64_t z = row / job.ny, y = row % job.ny, words = z * job.n_words;
        for (int64_t x = lane; x < job.nx; x += WARP) {
            const int64_t i = row * job.nx + x, pixel = y * job.nx + x;
            const int32_t key = ts_cuda_region_key(((const T *)job.in)[i]);
            if (key < job.within.low || key > job.within.high || !bit_at(job.valid, words, pixel))
                continue;
            if (job.mask && !(is_chosen(job, i) && bit_at(job.mask_valid, words, pixel)))
                continue;
            const uint32_t at[3] = {(uint32_t)(job.z_first + z), (uint32_t)y, (uint32_t)x};
            for (int axis = 0; axis < 3; axis++) {
                not_first[axis] = max(not_first[axis], ~at[axis]);
                end[axis] = max(end[axis], at[axis] + 1);
            }
            n++;
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        not_first[axis] = ts_cuda_warp_highest(not_first[axis]);
        end[axis] = ts_cuda_warp_highest(end[axis]);
    }
    n = warp_sum(n);
    if (lane != 0 || n == 0)
        return;
    atomicAdd((unsigned long long *)&job.box->n, (unsigned long long)n);
    for (int axis = 0; axis < 3; axis++) {
        atomicMax(&job.box->not_first[axis], not_first[axis]);
        atomicMax(&job.box->end[axis], end[axis]);
    }
}

static size_t partial_bytes(const struct stage_context *, int)
{
    return sizeof(struct bounds_box);
}

static enum ts_status bounds_reduce(const struct stage_context *context, int,
                                    const struct ts_image *slices, void *partials,
                                    const struct cuda_call *call)
{
    const int reference = ts_stage_mask(context);
    const struct ts_image *mask = reference < 0 ? NULL : &slices[1 + reference];
    struct bounds_job job = {slices->data};
    job.valid = (const uint32_t *)slices->valid;
    if (mask) {
        job.mask = mask->data;
        job.mask_valid = (const uint32_t *)mask->valid;
        job.mask_dtype = mask->dtype;
    }
    job.within = ts_bounds_keys(context);
    job.ny = slices->axes[1].n;
    job.nx = slices->axes[2].n;
    job.n_words = ((int64_t)ts_slice_count(slices) + 63) / 64 * 2;
    job.n_rows = slices->axes[0].n * job.ny;
    job.z_first = slices->z_first;
    job.box = (struct bounds_box *)partials;
    const int64_t at_once = ts_cuda_blocks_at_once(context, THREADS),
                  useful = ts_cuda_parts(job.n_rows, WARPS);
    const unsigned blocks = (unsigned)(at_once < useful ? at_once : useful);
#define FIND(T) find_box<T><<<blocks, THREADS, 0, call->stream>>>(job)
    TS_CUDA_DTYPES(slices->dtype, FIND)
#undef FIND
    return ts_cuda_launched(context, "bounds");
}

static void bounds_collect(const struct stage_context *, int, const void *partial, void *total)
{
    memcpy(total, partial, sizeof(struct bounds_box));
}

static const struct cuda_reduction reduction = {
    .partial_bytes = partial_bytes, .reduce = bounds_reduce, .collect = bounds_collect};

const struct stage_cuda bounds_cuda = {.reduction = &reduction};
