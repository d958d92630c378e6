/* SPDX-License-Identifier: Apache-2.0
 *
 * This makes histograms by atomic adds to global memory.
 *
 * global: one table. A thread takes every grid-th pixel.
 * sub-histogram: every strip of columns has a table of its own, so that fewer threads meet in a counter. A block of 512
 * threads goes down its strip, a row (or several of a narrow image) at a time; then table_launch.cu adds the strips'
 * counts up. The second cache adds to one counter at a time, and to counters in different slices of it side by side. So
 * strips end after some rows, and there are 16 for each multiprocessor: more were no faster.
 *
 * Memory traffic: each pixel is read once and costs one atomic; strips clear, write and read another 12 bytes for each
 * slot and strip. 256 threads a block: the atomics are the limit, and any multiple of a warp reaches it.
 */
#include "cuda/histogram/histogram.cuh"

enum { THREADS = 256, MOST_BLOCKS = 4096, PIXELS_A_THREAD = 16 };
enum { STRIP_THREADS = 512, LEAST_ROWS = 16 /* of a strip */ };

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
    return share > STRIP_THREADS ? share : STRIP_THREADS;
}

/* The grid has strips side by side, strips below one another, slices. */
template <typename type, bool by_value>
static __global__ void __launch_bounds__(STRIP_THREADS) count_strips(struct table_job job)
{
    const type *slice = (const type *)job.work.data + blockIdx.z * job.work.slice_pixels;
    uint32_t *table = left_table(job, blockIdx.z, blockIdx.y * gridDim.x + blockIdx.x, gridDim.x * gridDim.y);
    const struct slot_rule rule = open_rule<by_value>(job, blockIdx.z);
    const uint32_t width = strip_columns(job.columns), first = blockIdx.x * width;
    const uint32_t end = min(first + width, job.columns);
    const uint64_t height = (job.rows + gridDim.y - 1) / gridDim.y, first_row = blockIdx.y * height;
    const uint64_t end_row = min(first_row + height, job.rows);
    for (uint64_t row = first_row + threadIdx.y; row < end_row; row += blockDim.y)
        for (uint32_t column = first + threadIdx.x; column < end; column += blockDim.x)
            atomicAdd(&table[slot_of<type, by_value>(rule, slice[row * job.columns + column])], 1u);
}

enum ts_status ts_cuda_histogram_sub(const struct stage_context *context, enum ts_dtype dtype,
                                     const struct table_job *job, const struct cuda_call *call)
{
    struct table_job strips = *job;
    void (*kernel)(struct table_job);
    const unsigned across = (unsigned)ts_cuda_parts(job->columns, strip_columns(job->columns));
    const int64_t tables = (int64_t)context->device->multiprocessors * HISTOGRAM_STRIP_TABLES / across;
    unsigned threads_across = 32;
    strips.pass_slots = job->work.n_keys;
    const unsigned down = ts_cuda_table_grid(&strips, tables, (int64_t)job->columns * LEAST_ROWS, across).x;
    const size_t bytes = (size_t)across * down * job->work.n_keys * sizeof(uint32_t) * (size_t)job->work.n_slices;
    while (threads_across < job->columns && threads_across < STRIP_THREADS)
        threads_across *= 2;
    if (cudaMemsetAsync(job->tables, 0, bytes, call->stream) != cudaSuccess)
        return ts_cuda_launched(context, "clearing of strips");
#define KERNEL(type, by_value) kernel = count_strips<type, by_value>
    TS_CUDA_TABLE_TYPES(dtype, KERNEL)
#undef KERNEL
    return ts_cuda_table_launch(context, kernel, "count_strips", job, dim3(across, down, (unsigned)job->work.n_slices),
                                dim3(threads_across, STRIP_THREADS / threads_across), 0, across * down, call);
}
