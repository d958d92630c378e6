/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums over the counts c[k] of the values v[k] of a slice: c, c v, c v^2 and c log|v|, integers exactly; and the values
 * at the ranks of percentiles.
 *
 * A block a slice. Sums: a thread takes every 256th key, then the threads fan in. Ranks: a thread takes a run of
 * neighbors. 4 bytes read a key, and 8 of the logarithms, which all slices share; 256 and 1,024 threads a block: a
 * slice has 256 or 65,536 keys.
 */
#include "cuda/common/count_moments.cuh"

#include "cuda/common/fan_in.cuh"
#include "cuda/common/ranks.cuh"

enum { THREADS = 256 };

/* Zero bytes are nothing. */
struct count_moments {
    unsigned __int128 squares;
    int64_t sum;
    uint64_t n, n_zero, n_negative;
    double logs;
    uint32_t low, high; /* keys */
};

static __device__ void ts_cuda_join(struct count_moments *into, const struct count_moments *from)
{
    into->squares += from->squares;
    into->sum += from->sum;
    into->n += from->n;
    into->n_zero += from->n_zero;
    into->n_negative += from->n_negative;
    into->logs += from->logs;
}

/* Struct cuda_slice_counts of each slice, and what goes where; strides in bytes. */
struct count_job {
    const char *counts;
    char *out;
    size_t counts_stride, out_stride;
    int32_t lowest; /* value of key 0 */
    uint32_t n_keys;
};

static __global__ void __launch_bounds__(THREADS) sum_counts(struct count_job job, const double *logs)
{
    __shared__ struct count_moments shared[THREADS / 2];
    const struct cuda_slice_counts *counts =
        (const struct cuda_slice_counts *)(job.counts + blockIdx.x * job.counts_stride);
    struct count_moments moments = {};
    for (uint32_t key = counts->low + threadIdx.x; key <= counts->high; key += THREADS) {
        const int64_t value = job.lowest + (int64_t)key, n = counts->counts[key];
        moments.squares += (unsigned __int128)(uint64_t)(value * value) * (uint64_t)n;
        moments.sum += value * n;
        moments.n += (uint64_t)n;
        moments.n_zero += value == 0 ? (uint64_t)n : 0;
        moments.n_negative += value < 0 ? (uint64_t)n : 0;
        moments.logs += (double)n * logs[key];
    }
    ts_cuda_fan_in(&moments, shared, THREADS);
    if (threadIdx.x == 0) {
        moments.low = counts->low;
        moments.high = counts->high;
        *(struct count_moments *)(job.out + blockIdx.x * job.out_stride) = moments;
    }
}

static __global__ void __launch_bounds__(RANK_THREADS)
    find_values(struct count_job job, const double *percents, int n_percentiles)
{
    const struct cuda_slice_counts *counts =
        (const struct cuda_slice_counts *)(job.counts + blockIdx.x * job.counts_stride);
    struct percentile_ends *ends = (struct percentile_ends *)(job.out + blockIdx.x * job.out_stride);
    const uint32_t run = (job.n_keys + RANK_THREADS - 1) / RANK_THREADS, first = threadIdx.x * run;
    uint64_t sum = 0, n;
    for (uint32_t key = first; key < first + run && key < job.n_keys; key++)
        sum += ts_cuda_slice_count(counts, key);
    const uint64_t before = ts_cuda_sum_before(sum, &n);
    for (int i = 0; i < 2 * n_percentiles; i++) {
        uint64_t rank = ts_cuda_rank(n, percents[i / 2], i % 2);
        if (rank < before || rank >= before + sum)
            continue;
        uint32_t key = first;
        for (rank -= before; rank >= ts_cuda_slice_count(counts, key); key++)
            rank -= ts_cuda_slice_count(counts, key);
        ends->keys[i] = key;
    }
    if (threadIdx.x == 0)
        ends->n = n;
}

static struct count_job job_of(enum ts_dtype dtype, const void *counts, void *out, size_t stride)
{
    double low, high;
    ts_dtype_range(dtype, &low, &high);
    struct count_job job = {.counts = (const char *)counts, .out = (char *)out, .out_stride = stride};
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

enum ts_status ts_cuda_count_moments(const struct stage_context *context, enum ts_dtype dtype, const void *counts,
                                     int64_t n, const double *logs, void *moments, size_t stride,
                                     const struct cuda_call *call)
{
    sum_counts<<<(unsigned)n, THREADS, 0, call->stream>>>(job_of(dtype, counts, moments, stride), logs);
    return ts_cuda_launched(context, "sum_counts");
}

enum ts_status ts_cuda_count_ends(const struct stage_context *context, enum ts_dtype dtype, const void *counts,
                                  int64_t n, const double *percents, int n_percentiles, void *ends, size_t stride,
                                  const struct cuda_call *call)
{
    find_values<<<(unsigned)n, RANK_THREADS, 0, call->stream>>>(job_of(dtype, counts, ends, stride), percents,
                                                                n_percentiles);
    return ts_cuda_launched(context, "find_values");
}

void ts_cuda_count_moments_collect(enum ts_dtype dtype, const void *copied, struct moments *moments,
                                   struct value_range *range)
{
    struct count_moments from;
    memcpy(&from, copied, sizeof from);
    double low, high;
    ts_dtype_range(dtype, &low, &high);
    const struct value_range own = {.n_finite = from.n, .low = low + from.low, .high = low + from.high};
    memset(moments, 0, sizeof *moments);
    moments->n = from.n;
    moments->n_zero = from.n_zero;
    moments->n_negative = from.n_negative;
    moments->log_rest = from.logs;
    ts_moments_of_sums(moments, from.sum, (__int128)from.squares);
    ts_value_range_merge(range, &own);
}
