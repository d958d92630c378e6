/* SPDX-License-Identifier: Apache-2.0
 *
 * counts[label][slot] += 1 for every pixel and its label; row n_labels takes all other labels.
 *
 * The counts are too many for shared memory, but neighbors often share label and bin. So a block keeps a cache of about
 * 8,192 counters in shared memory, each for the first pair of label and slot that came to its place; a pair that finds
 * its place taken is added to global memory at once. In the end every counter is added to its count. Which pairs are
 * cached depends on who comes first, the sums do not.
 *
 * A thread takes every 512th pixel of its block's part, with four loads in flight. Memory traffic: value and label are
 * read once. 512 threads and 64 KiB of cache a block: three blocks fit on a multiprocessor with 228 KiB, one with 64
 * KiB.
 */
#include "cuda/histogram/histogram.cuh"

enum { THREADS = 512, CACHE = 8192 - 64, FLIGHT = 4, LEAST_PIXELS = 32768, FREE = -1 };

struct pair_cache {
    int32_t *pairs;
    uint32_t *counts;
};

/* A negative label is larger than any other once it is unsigned. */
static __device__ uint32_t row_of(const struct table_job &job, uint64_t i)
{
    uint32_t row;
    switch (job.labels_dtype) {
        TS_CUDA_CASE(TS_U8, row = ((const uint8_t *)job.labels)[i])
        TS_CUDA_CASE(TS_I8, row = (uint32_t)((const int8_t *)job.labels)[i])
        TS_CUDA_CASE(TS_U16, row = ((const uint16_t *)job.labels)[i])
        TS_CUDA_CASE(TS_I16, row = (uint32_t)((const int16_t *)job.labels)[i])
    default:
        row = ((const uint32_t *)job.labels)[i];
    }
    return min(row, job.n_labels);
}

static __device__ void count_pair(const struct table_job &job, const struct pair_cache &cache, uint32_t pair)
{
    const uint32_t place = pair % CACHE;
    int32_t holder = *(volatile int32_t *)&cache.pairs[place];
    if (holder == FREE)
        holder = atomicCAS(&cache.pairs[place], (int32_t)FREE, (int32_t)pair);
    if (holder == FREE || holder == (int32_t)pair)
        atomicAdd(&cache.counts[place], 1u);
    else
        add_slot(job, 0, pair, 1);
}

template <typename type> static __global__ void __launch_bounds__(THREADS) count_labels(struct table_job job)
{
    extern __shared__ uint32_t memory[];
    const struct slot_rule rule = open_rule<false>(job, 0);
    const struct pair_cache cache = {(int32_t *)memory, memory + CACHE};
    const type *pixels = (const type *)job.work.data;
    const uint64_t step = (uint64_t)gridDim.x * THREADS, n = job.work.slice_pixels;
    for (uint32_t place = threadIdx.x; place < CACHE; place += THREADS) {
        cache.pairs[place] = FREE;
        cache.counts[place] = 0;
    }
    __syncthreads();
    for (uint64_t first = (uint64_t)blockIdx.x * THREADS + threadIdx.x; first < n; first += FLIGHT * step) {
        type values[FLIGHT];
        uint32_t rows[FLIGHT];
#pragma unroll
        for (uint32_t i = 0; i < FLIGHT; i++)
            if (first + i * step < n) {
                values[i] = pixels[first + i * step];
                rows[i] = row_of(job, first + i * step);
            }
#pragma unroll
        for (uint32_t i = 0; i < FLIGHT; i++)
            if (first + i * step < n)
                count_pair(job, cache, rows[i] * job.work.n_keys + bin_slot(rule, values[i]));
    }
    __syncthreads();
    for (uint32_t place = threadIdx.x; place < CACHE; place += THREADS)
        if (cache.counts[place] > 0)
            add_slot(job, 0, (uint32_t)cache.pairs[place], cache.counts[place]);
}

enum ts_status ts_cuda_histogram_labels(const struct stage_context *context, enum ts_dtype dtype,
                                        const struct table_job *job, const struct cuda_call *call)
{
    void (*kernel)(struct table_job);
    const int64_t at_once = ts_cuda_blocks_at_once(context, THREADS);
    const int64_t useful = ts_cuda_parts((int64_t)job->work.slice_pixels, LEAST_PIXELS);
#define KERNEL(type) kernel = count_labels<type>
    TS_CUDA_DTYPES(dtype, KERNEL)
#undef KERNEL
    return ts_cuda_table_launch(context, kernel, "count_labels", job, (unsigned)(at_once < useful ? at_once : useful),
                                THREADS, CACHE * 2 * sizeof(uint32_t), 0, call);
}
