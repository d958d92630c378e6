/* SPDX-License-Identifier: Apache-2.0
 *
 * counts[label][slot] += 1 for every pixel and its label; row n_labels takes all other labels.
 *
 * Pairs of label and slot are counted through a cache in shared memory (cuda/counting/label_pairs.cuh). A thread takes
 * every 512th pixel of its block's part, with four loads in flight. Memory traffic: value and label are read once. 512
 * threads and 64 KiB of cache a block: three blocks fit on a multiprocessor with 228 KiB, one with 64 KiB.
 */
#include "cuda/counting/label_pairs.cuh"
#include "cuda/histogram/histogram.cuh"

enum { THREADS = 512, FLIGHT = 4, LEAST_PIXELS = 32768 };

template <typename type> static __global__ void __launch_bounds__(THREADS) count_labels(struct table_job job)
{
    extern __shared__ uint32_t memory[];
    const struct slot_rule rule = open_rule<false>(job, 0);
    const struct pair_cache cache = ts_cuda_pair_cache(memory);
    unsigned long long *counts = (unsigned long long *)job.work.partials;
    const type *pixels = (const type *)job.work.data;
    const uint64_t step = (uint64_t)gridDim.x * THREADS, n = job.work.slice_pixels;
    for (uint64_t first = (uint64_t)blockIdx.x * THREADS + threadIdx.x; first < n; first += FLIGHT * step) {
        type values[FLIGHT];
        uint32_t rows[FLIGHT];
#pragma unroll
        for (uint32_t i = 0; i < FLIGHT; i++)
            if (first + i * step < n) {
                values[i] = pixels[first + i * step];
                rows[i] = ts_cuda_label_row(job.labels, job.labels_dtype, first + i * step, job.n_labels);
            }
#pragma unroll
        for (uint32_t i = 0; i < FLIGHT; i++)
            if (first + i * step < n)
                ts_cuda_pair_count(cache, counts, rows[i] * job.work.n_keys + bin_slot(rule, values[i]));
    }
    ts_cuda_pair_cache_empty(cache, counts);
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
                                THREADS, pair_cache_bytes, 0, call);
}
