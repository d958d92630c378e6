/* SPDX-License-Identifier: Apache-2.0
 *
 * This makes histograms by atomic adds to global memory.
 *
 * global: one table. A thread takes every grid-th pixel.
 * sub-histogram: every strip of columns has a table of its own, so that fewer threads meet in a counter. A block of 32
 * x 8 threads goes down its strip, a warp a row at a time; then table_launch.cu adds the strips' counts up.
 *
 * Memory traffic: each pixel is read once and costs one atomic; strips write and read another 4 bytes for each slot and
 * strip. 256 threads a block: the atomics are the limit, and any multiple of a warp reaches it.
 */
#include "cuda/histogram/histogram.cuh"

enum { THREADS = 256, ROWS = 8, NARROWEST_STRIP = 32, MOST_BLOCKS = 4096, PIXELS_A_THREAD = 16, MOST_CHUNKS = 256 };

/* ---- global ------------------------------------------------------------------------------------ */

template <typename type, bool by_value> static __global__ void count_global(struct table_job job)
{
    const type *slice = (const type *)job.work.data + blockIdx.y * job.work.slice_pixels;
    const struct slot_rule rule = open_rule<by_value>(job, blockIdx.y);
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < job.work.slice_pixels; i += step)
        add_slot(job, blockIdx.y, slot_of<type, by_value>(rule, slice[i]), 1);
}

enum ts_status ts_cuda_histogram_global(const struct stage_context *context, enum ts_dtype dtype,
                                        const struct table_job *job, const struct cuda_call *call)
{
    void (*kernel)(struct table_job);
    const int64_t wanted = ts_cuda_parts((int64_t)job->work.slice_pixels, THREADS * PIXELS_A_THREAD);
    const dim3 grid((unsigned)(wanted < MOST_BLOCKS ? wanted : (int64_t)MOST_BLOCKS), (unsigned)job->work.n_slices);
#define KERNEL(type, by_value) kernel = count_global<type, by_value>
    TS_CUDA_TABLE_TYPES(dtype, KERNEL)
#undef KERNEL
    return ts_cuda_table_launch(context, kernel, "count_global", job, grid, THREADS, 0, 0, call);
}

/* ---- sub-histogram ----------------------------------------------------------------------------- */

static __host__ __device__ uint32_t strip_columns(uint32_t columns)
{
    const uint32_t share = (columns + HISTOGRAM_STRIPS - 1) / HISTOGRAM_STRIPS;
    return share > NARROWEST_STRIP ? share : NARROWEST_STRIP;
}

/* The grid has strips, chunks of rows, slices. */
template <typename type, bool by_value> static __global__ void count_strips(struct table_job job)
{
    const type *slice = (const type *)job.work.data + blockIdx.z * job.work.slice_pixels;
    uint32_t *table = left_table(job, blockIdx.z, blockIdx.x, gridDim.x);
    const struct slot_rule rule = open_rule<by_value>(job, blockIdx.z);
    const uint32_t width = strip_columns(job.columns), first = blockIdx.x * width;
    const uint32_t end = min(first + width, job.columns);
    for (uint64_t row = blockIdx.y * (uint64_t)blockDim.y + threadIdx.y; row < job.rows;
         row += (uint64_t)gridDim.y * blockDim.y)
        for (uint32_t column = first + threadIdx.x; column < end; column += blockDim.x)
            atomicAdd(&table[slot_of<type, by_value>(rule, slice[row * job.columns + column])], 1u);
}

enum ts_status ts_cuda_histogram_sub(const struct stage_context *context, enum ts_dtype dtype,
                                     const struct table_job *job, const struct cuda_call *call)
{
    void (*kernel)(struct table_job);
    const unsigned n_strips = (unsigned)ts_cuda_parts(job->columns, strip_columns(job->columns));
    const int64_t chunks = ts_cuda_parts((int64_t)job->rows, ROWS * 16);
    const size_t bytes = (size_t)n_strips * job->work.n_keys * sizeof(uint32_t) * (size_t)job->work.n_slices;
    const dim3 grid(n_strips, (unsigned)(chunks < MOST_CHUNKS ? chunks : (int64_t)MOST_CHUNKS),
                    (unsigned)job->work.n_slices);
    if (cudaMemsetAsync(job->tables, 0, bytes, call->stream) != cudaSuccess)
        return ts_cuda_launched(context, "clearing of strips");
#define KERNEL(type, by_value) kernel = count_strips<type, by_value>
    TS_CUDA_TABLE_TYPES(dtype, KERNEL)
#undef KERNEL
    return ts_cuda_table_launch(context, kernel, "count_strips", job, grid, dim3(THREADS / ROWS, ROWS), 0, n_strips,
                                call);
}
