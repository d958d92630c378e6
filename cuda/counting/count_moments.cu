/* SPDX-License-Identifier: Apache-2.0
 *
 * This sums c k and c k^2 (exact integers) and c log|v| over the counts c of the keys k of a slice,
 * and finds the values at the ranks of percentiles.
 *
 * Sums: a block handles two slices, so that a logarithm is read once for two counts; a thread reads
 * every 512th key of both, and then the sums of the threads are joined in a tree. Memory traffic: 4
 * bytes read for each key and slice, and 8 for the logarithm, which stays in the second cache.
 * Ranks: one block for each slice, and a thread for a run of neighboring keys. A slice has 256 or
 * 65,536 keys, which 512 threads (for ranks 1,024) read in few rounds.
 */
#include "cuda/counting/count_moments.cuh"

#include "cuda/counting/ranks.cuh"
#include "cuda/values/fan_in.cuh"

enum { THREADS = 512, SLICES = 2 };

/* All sums stay below 2^64, because a slice has fewer than 2^32 pixels. */
struct count_moments {
    uint64_t keys, squares; /* sums of the keys and of their squares */
    uint64_t n, n_zero, n_negative;
    double logs;
    uint32_t low, high; /* range of keys with a count */
};

static __device__ void ts_cuda_join(struct count_moments *into, const struct count_moments *from)
{
    into->keys += from->keys;
    into->squares += from->squares;
    into->n += from->n;
    into->n_negative += from->n_negative;
    into->logs += from->logs;
}

/* Counts are a struct cuda_slice_counts for each slice; strides are in bytes. */
struct sum_job {
    const char *counts;
    char *out;
    size_t counts_stride, out_stride;
    int32_t lowest; /* the value of key 0 */
    uint32_t n_keys;
};

static __device__ const struct cuda_slice_counts *counts_of(const struct sum_job &job,
                                                            int64_t slice)
{
    return (const struct cuda_slice_counts *)(job.counts + slice * job.counts_stride);
}

static __global__ void __launch_bounds__(THREADS)
    sum_counts(struct sum_job job, const double *logs, int64_t n_slices)
{
    __shared__ struct count_moments shared[THREADS / 2];
    const int64_t first = (int64_t)blockIdx.x * SLICES;
    const struct cuda_slice_counts *counts[SLICES];
    struct count_moments moments[SLICES] = {};
    const uint32_t zero_key = (uint32_t)-job.lowest;
    uint32_t low = UINT32_MAX, high = 0;
    for (int i = 0; i < SLICES; i++) {
        counts[i] = counts_of(job, first + i < n_slices ? first + i : first);
        low = min(low, counts[i]->low);
        high = max(high, counts[i]->high);
    }
#pragma unroll 4
    for (uint32_t key = low + threadIdx.x; key <= high; key += THREADS) {
        const double logarithm = logs[key];
#pragma unroll
        for (int i = 0; i < SLICES; i++) {
            const uint32_t count = ts_cuda_slice_count(counts[i], key);
            moments[i].keys += (uint64_t)key * count;
            moments[i].squares += (uint64_t)(key * key) * count; /* a key is below 2^16 */
            moments[i].n += count;
            moments[i].n_negative += key < zero_key ? count : 0;
            moments[i].logs += (double)count * logarithm;
        }
    }
#pragma unroll
    for (int i = 0; i < SLICES; i++) {
        ts_cuda_fan_in(&moments[i], shared, THREADS);
        if (threadIdx.x > 0 || first + i >= n_slices)
            continue;
        moments[i].n_zero = ts_cuda_slice_count(counts[i], zero_key);
        moments[i].low = counts[i]->low;
        moments[i].high = counts[i]->high;
        *(struct count_moments *)(job.out + (first + i) * job.out_stride) = moments[i];
    }
}

static __global__ void __launch_bounds__(RANK_THREADS)
    find_values(struct sum_job job, const double *percents, int n_percentiles)
{
    const struct cuda_slice_counts *counts = counts_of(job, blockIdx.x);
    struct percentile_ends *ends =
        (struct percentile_ends *)(job.out + blockIdx.x * job.out_stride);
    const auto count = [counts](uint32_t key) { return ts_cuda_slice_count(counts, key); };
    const struct key_run run = ts_cuda_key_run(count, job.n_keys);
    for (int i = 0; i < 2 * n_percentiles; i++) {
        uint64_t rank = ts_cuda_rank(run.total, percents[i / 2], i % 2);
        uint32_t key;
        if (ts_cuda_key_at(count, run, &rank, &key))
            ends->keys[i] = key;
    }
    if (threadIdx.x == 0)
        ends->n = run.total;
}

static struct sum_job job_of(enum ts_dtype dtype, const void *counts, void *out, size_t stride)
{
    double low, high;
    ts_dtype_range(dtype, &low, &high);
    struct sum_job job = {.counts = (const char *)counts, .out = (char *)out, .out_stride = stride};
    job.counts_stride = ts_cuda_stride(ts_cuda_value_counts_bytes(dtype, true));
    job.lowest = (int32_t)low;
    job.n_keys = ts_value_counts_keys(dtype);
    return job;
}

size_t ts_cuda_count_moments_bytes(void)
{
    return sizeof(struct count_moments);
}

size_t ts_cuda_count_logs_bytes(enum ts_dtype dtype)
{
    return ts_value_counts_keys(dtype) * sizeof(double);
}

void ts_cuda_count_logs(enum ts_dtype dtype, double *logs)
{
    double low, high;
    ts_dtype_range(dtype, &low, &high);
    for (uint32_t key = 0; key < ts_value_counts_keys(dtype); key++)
        logs[key] = low + key != 0 ? log(fabs(low + key)) : 0;
}

enum ts_status ts_cuda_count_moments(const struct stage_context *context, enum ts_dtype dtype,
                                     const void *counts, int64_t n, const double *logs,
                                     void *moments, size_t stride, const struct cuda_call *call)
{
    const unsigned blocks = (unsigned)ts_cuda_parts(n, SLICES);
    sum_counts<<<blocks, THREADS, 0, call->stream>>>(job_of(dtype, counts, moments, stride), logs,
                                                     n);
    return ts_cuda_launched(context, "sum_counts");
}

enum ts_status ts_cuda_count_ends(const struct stage_context *context, enum ts_dtype dtype,
                                  const void *counts, int64_t n, const double *percents,
                                  int n_percentiles, void *ends, size_t stride,
                                  const struct cuda_call *call)
{
    find_values<<<(unsigned)n, RANK_THREADS, 0, call->stream>>>(job_of(dtype, counts, ends, stride),
                                                                percents, n_percentiles);
    return ts_cuda_launched(context, "find_values");
}

void ts_cuda_count_moments_collect(enum ts_dtype dtype, const void *copied, struct moments *moments,
                                   struct value_range *range)
{
    struct count_moments from;
    memcpy(&from, copied, sizeof from);
    double low, high;
    ts_dtype_range(dtype, &low, &high);
    const struct value_range own = {
        .n_finite = from.n, .low = low + from.low, .high = low + from.high};
    memset(moments, 0, sizeof *moments);
    moments->n = from.n;
    moments->n_zero = from.n_zero;
    moments->n_negative = from.n_negative;
    moments->log_rest = from.logs;
    /* A value is key + low. */
    const __int128 n = (__int128)from.n, keys = (__int128)from.keys, least = (__int128)low;
    ts_moments_of_sums(moments, keys + least * n,
                       (__int128)from.squares + 2 * least * keys + least * least * n);
    ts_value_range_merge(range, &own);
}
