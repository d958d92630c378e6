/* SPDX-License-Identifier: Apache-2.0
 *
 * counts[place][digit] += 1 for every place of a pixel's label whose digits found so far are those of the pixel's key;
 * in the first round for its label. Pairs of place and digit are counted through a cache in shared memory
 * (cuda/counting/label_pairs.cuh). Memory traffic: value and label are read once, places lie in the caches. 512 threads
 * and 64 KiB of cache a block, as the histogram of labels.
 */
#include "cuda/counting/label_moments.cuh"
#include "cuda/counting/label_pairs.cuh"
#include "cuda/counting/rank_keys.cuh"

enum { THREADS = 512, LEAST_PIXELS = 32768 };

struct ranks_job {
    const void *pixels, *labels;
    enum ts_dtype labels_dtype;
    uint32_t n_labels, n_slots; /* slots of a label: its places, 1 in the first round */
    uint64_t n;
    const struct label_rank *ranks; /* NULL in the first round */
    struct label_digit digit;
    unsigned long long *counts;
};

template <typename T> static __global__ void __launch_bounds__(THREADS) count_digits(struct ranks_job job)
{
    extern __shared__ uint32_t memory[];
    const struct pair_cache cache = ts_cuda_pair_cache(memory);
    const T *pixels = (const T *)job.pixels;
    const uint32_t mask = (1u << job.digit.bits) - 1, above = job.digit.shift + job.digit.bits;
    for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < job.n; i += (uint64_t)gridDim.x * THREADS) {
        const T value = pixels[i];
        const uint32_t row = ts_cuda_label_row(job.labels, job.labels_dtype, i, job.n_labels);
        if (row == job.n_labels || !ts_cuda_is_finite(value))
            continue;
        const uint32_t key = ts_cuda_rank_key(value), prefix = (uint32_t)((uint64_t)key >> above);
        for (uint32_t slot = row * job.n_slots; slot < (row + 1) * job.n_slots; slot++)
            if (!job.ranks || job.ranks[slot].prefix == prefix)
                ts_cuda_pair_count(cache, job.counts, slot * LABEL_DIGITS + (key >> job.digit.shift & mask));
    }
    ts_cuda_pair_cache_empty(cache, job.counts);
}

enum ts_status ts_cuda_label_ranks(const struct stage_context *context, const struct ts_image *slices,
                                   const struct ts_image *labels, int64_t n_labels, int round,
                                   const struct label_rank *ranks, int n_places, uint64_t *counts,
                                   const struct cuda_call *call)
{
    struct ranks_job job = {slices->data, labels->data, labels->dtype, (uint32_t)n_labels};
    const int64_t at_once = ts_cuda_blocks_at_once(context, THREADS);
    void (*kernel)(struct ranks_job);
    job.n_slots = round == 0 ? 1 : (uint32_t)n_places;
    job.n = ts_image_count(slices);
    job.ranks = round == 0 ? NULL : ranks;
    job.digit = ts_label_ranks_digit(slices->dtype, round);
    job.counts = (unsigned long long *)counts;
    const int64_t useful = ts_cuda_parts((int64_t)job.n, LEAST_PIXELS);
#define KERNEL(T) kernel = count_digits<T>
    TS_CUDA_DTYPES(slices->dtype, KERNEL)
#undef KERNEL
    const enum ts_status status = ts_cuda_shared(context, (const void *)kernel, pair_cache_bytes);
    if (status != TS_OK)
        return status;
    kernel<<<(unsigned)(at_once < useful ? at_once : useful), THREADS, pair_cache_bytes, call->stream>>>(job);
    return ts_cuda_launched(context, "label ranks");
}
