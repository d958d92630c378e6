/* SPDX-License-Identifier: Apache-2.0
 *
 * Histograms by atomic adds to global memory.
 *
 * global: one table. A thread takes every grid-th pixel.
 * sub-histogram: every strip of columns has a table of its own, so that fewer threads meet in a counter. A block of 32
 * x 8 threads walks down its strip, a warp a row at a time; then table_merge.cu adds the strips' counts up.
 *
 * One pixel read and one atomic each; for strips, 4 bytes a slot and strip written and read besides. 256 threads a
 * block: any multiple of a warp does, the atomics are the limit.
 */
#include "cuda/histogram/histogram.cuh"

enum { THREADS = 256, ROWS = 8, STRIPS = 16, NARROWEST_STRIP = 32, MOST_BLOCKS = 4096, PIXELS_A_THREAD = 16 };

/* ---- global ------------------------------------------------------------------------------------ */

template <typename type, bool by_value> static __global__ void count_global(struct slots_job job)
{
    const type *slice = (const type *)job.work.data + blockIdx.y * job.work.slice_pixels;
    const struct slot_rule rule = open_rule<by_value>(job, blockIdx.y);
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < job.work.slice_pixels; i += step)
        add_slot(job, blockIdx.y, slot_of<type, by_value>(rule, slice[i]), 1);
}

enum ts_status ts_cuda_histogram_global(const struct stage_context *context, enum ts_dtype dtype,
                                        const struct slots_job *job, const struct cuda_call *call)
{
    const int64_t wanted = ts_cuda_parts((int64_t)job->work.slice_pixels, THREADS * PIXELS_A_THREAD);
    const dim3 grid((unsigned)(wanted < MOST_BLOCKS ? wanted : (int64_t)MOST_BLOCKS), (unsigned)job->work.n_slices);
#define LAUNCH(type, by_value) count_global<type, by_value><<<grid, THREADS, 0, call->stream>>>(*job)
    TS_CUDA_SLOT_TYPES(dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "count_global");
}

/* ---- sub-histogram ----------------------------------------------------------------------------- */

static uint32_t strip_columns(uint32_t columns)
{
    const uint32_t share = (columns + STRIPS - 1) / STRIPS;
    return share > NARROWEST_STRIP ? share : NARROWEST_STRIP;
}

/* blockIdx: strip, chunk of rows, slice. tables[slice][strip][slot]. */
template <typename type, bool by_value>
static __global__ void count_strips(struct slots_job job, uint32_t *tables, uint32_t width)
{
    const type *slice = (const type *)job.work.data + blockIdx.z * job.work.slice_pixels;
    uint32_t *table = tables + ((uint64_t)blockIdx.z * gridDim.x + blockIdx.x) * job.work.n_keys;
    const struct slot_rule rule = open_rule<by_value>(job, blockIdx.z);
    const uint32_t first = blockIdx.x * width, end = min(first + width, job.columns);
    for (uint64_t row = blockIdx.y * (uint64_t)blockDim.y + threadIdx.y; row < job.rows;
         row += (uint64_t)gridDim.y * blockDim.y)
        for (uint32_t column = first + threadIdx.x; column < end; column += blockDim.x)
            atomicAdd(&table[slot_of<type, by_value>(rule, slice[row * job.columns + column])], 1u);
}

size_t ts_cuda_histogram_sub_bytes(uint32_t n_slots, int64_t n)
{
    const size_t one = (size_t)STRIPS * n_slots * sizeof(uint32_t), most = (size_t)64 << 20;
    const size_t fit = most / one > 0 ? most / one : 1;
    return ts_cuda_stride(one * ((size_t)n < fit ? (size_t)n : fit));
}

enum ts_status ts_cuda_histogram_sub(const struct stage_context *context, enum ts_dtype dtype,
                                     const struct slots_job *job, const struct cuda_call *call)
{
    const uint32_t width = strip_columns(job->columns), n_strips = (job->columns + width - 1) / width;
    const size_t one = (size_t)n_strips * job->work.n_keys * sizeof(uint32_t);
    const size_t room = ts_cuda_histogram_sub_bytes(job->work.n_keys, job->work.n_slices);
    const int64_t batch = (int64_t)(room / one), chunks = ts_cuda_parts((int64_t)job->rows, ROWS * 16);
    enum ts_status status = TS_OK;
    for (int64_t done = 0; status == TS_OK && done < job->work.n_slices; done += batch) {
        struct slots_job part = *job;
        const int64_t left = job->work.n_slices - done, n = left < batch ? left : batch;
        part.work.data = (const char *)job->work.data + (size_t)done * job->work.slice_pixels * ts_dtype_bytes(dtype);
        part.work.partials = (char *)job->work.partials + (size_t)done * job->work.stride;
        part.work.n_slices = n;
        part.tables = (uint32_t *)call->scratch;
        part.slice_bins = job->slice_bins ? (const char *)job->slice_bins + (size_t)done * job->bins_stride : NULL;
        if (cudaMemsetAsync(call->scratch, 0, one * (size_t)n, call->stream) != cudaSuccess)
            return ts_cuda_launched(context, "clearing of strips");
        const dim3 grid(n_strips, (unsigned)(chunks < 256 ? chunks : 256), (unsigned)n), block(THREADS / ROWS, ROWS);
#define LAUNCH(type, by_value) count_strips<type, by_value><<<grid, block, 0, call->stream>>>(part, part.tables, width)
        TS_CUDA_SLOT_TYPES(dtype, LAUNCH)
#undef LAUNCH
        status = ts_cuda_launched(context, "count_strips");
        if (status == TS_OK)
            status = ts_cuda_slot_tables_merge(context, &part, n_strips, call);
    }
    return status;
}
