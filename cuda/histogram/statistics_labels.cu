/* SPDX-License-Identifier: Apache-2.0
 *
 * The first round adds to the moments of labels and counts the first digits of their percentiles;
 * later rounds count the digits that follow. Every value is added to the limbs (the words of a long
 * integer) of its label as on the CPU (stages/histogram/statistics_labels.c), in integers, so that
 * the order does not matter and the bytes are those of the CPU.
 */
#include "cuda/counting/label_pairs.cuh"
#include "cuda/histogram/statistics_labels.cuh"
#include "cuda/values/value_keys.cuh"

/* Returns the order key of the CPU: for 8- and 16-bit integers the rank in their type, for others
 * all 32 bits. */
template <typename T> static __device__ uint32_t rank_key(T value)
{
    if constexpr (sizeof(T) == 4)
        return ts_cuda_order_key(value);
    else
        return (uint32_t)((int32_t)value -
                          (std::is_signed<T>::value ? -(1 << (8 * sizeof(T) - 1)) : 0));
}

/* ---- moments -----------------------------------------------------------------------------------
 *
 * A thread takes RUN pixels side by side and keeps their moments in registers while the label stays
 * the same: of the limbs it keeps a window, which for floats spans 64 exponents and follows the
 * values. Then they go to a table of PLACES labels in shared memory, or to global memory if a
 * different label has its place, and at the end of the block the table is added to global memory.
 * Memory traffic: value and label are read once, through the first-level cache, since a warp's
 * threads read RUN values apart. 256 threads a block, because the window takes many registers. */

enum {
    MOMENTS_THREADS = 256,
    RUN = 32,
    PLACES = 32,
    SUM_WINDOW = 3,
    SQUARE_WINDOW = 6,
    USUAL_BASE = 3
};

struct moments_job {
    const void *pixels, *labels;
    enum ts_dtype labels_dtype;
    uint32_t n_labels;
    uint64_t n;
    struct label_moments *moments;
};

/* The moments of the pixels of one label since the last flush. sum[i] is limb base + i; squares[i]
 * is limb 2 base + i. */
struct kept {
    uint32_t row, n, n_nan, n_infinite, n_zero, not_low, high, base;
    int64_t sum[SUM_WINDOW], squares[SQUARE_WINDOW];
};

struct shared_table {
    int32_t rows[PLACES];
    struct label_moments moments[PLACES];
};

static __device__ inline void add64(void *to, int64_t value)
{
    if (value != 0)
        atomicAdd((unsigned long long *)to, (unsigned long long)value);
}

static __device__ void add_kept(struct label_moments *to, const struct kept &kept)
{
    add64(&to->n, kept.n);
    add64(&to->n_nan, kept.n_nan);
    add64(&to->n_infinite, kept.n_infinite);
    add64(&to->n_zero, kept.n_zero);
    atomicMax(&to->not_low, kept.not_low);
    atomicMax(&to->high, kept.high);
    for (int i = 0; i < SUM_WINDOW; i++)
        add64(&to->sum[kept.base + i], kept.sum[i]);
    for (int i = 0; i < SQUARE_WINDOW; i++)
        add64(&to->squares[2 * kept.base + i], kept.squares[i]);
}

static __device__ void flush(const struct moments_job &job, struct shared_table &table,
                             struct kept &kept)
{
    const uint32_t place = kept.row % PLACES;
    if (kept.n + kept.n_nan + kept.n_infinite == 0)
        return;
    int32_t holder = *(volatile int32_t *)&table.rows[place];
    if (holder == PAIR_FREE)
        holder = atomicCAS(&table.rows[place], (int32_t)PAIR_FREE, (int32_t)kept.row);
    const bool here = holder == PAIR_FREE || holder == (int32_t)kept.row;
    add_kept(here ? &table.moments[place] : &job.moments[kept.row], kept);
}

static __device__ inline struct kept statistics_labels_begin(uint32_t row, uint32_t base)
{
    struct kept kept = {row};
    kept.base = base;
    return kept;
}

/* Adds parts of 32 bits to the window's limbs, starting with limb `first`. Registers have no index,
 * so each limb is compared. */
template <int N, int PARTS>
static __device__ inline void add_parts(int64_t *limbs, uint32_t first, const int64_t *parts)
{
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
        for (int part = 0; part < PARTS; part++)
            if ((int)first + part == i)
                limbs[i] += parts[part];
}

static __device__ inline void add_float(const struct moments_job &job, struct shared_table &table,
                                        struct kept &kept, uint32_t bits)
{
    const uint32_t exponent = bits >> 23 & 0xFF, fraction = bits & 0x7FFFFF,
                   bit = exponent ? exponent - 1 : 0;
    const uint64_t mantissa = exponent ? fraction | 0x800000u : fraction,
                   square = mantissa * mantissa;
    const uint32_t limb = bit / 32, shift = 2 * bit % 32;
    if (mantissa == 0) {
        kept.n_zero++;
        return;
    }
    if (limb < kept.base || limb > kept.base + 1) {
        const uint32_t base = limb < kept.base ? limb : limb - 1;
        flush(job, table, kept);
        kept = statistics_labels_begin(kept.row, base);
    }
    const uint64_t shifted = mantissa << bit % 32, rest = square >> (32 - shift);
    const int64_t sign = bits >> 31 ? -1 : 1;
    const int64_t parts[2] = {sign * (int64_t)(shifted & 0xFFFFFFFFu),
                              sign * (int64_t)(shifted >> 32)};
    const int64_t squares[3] = {(int64_t)(square << shift & 0xFFFFFFFFu),
                                (int64_t)(rest & 0xFFFFFFFFu), (int64_t)(rest >> 32)};
    add_parts<SUM_WINDOW, 2>(kept.sum, limb - kept.base, parts);
    add_parts<SQUARE_WINDOW, 3>(kept.squares, 2 * bit / 32 - 2 * kept.base, squares);
}

template <typename T> static __device__ inline void add_integer(struct kept &kept, T value)
{
    const int64_t wide = (int64_t)value;
    const uint64_t size = (uint64_t)(wide < 0 ? -wide : wide), square = size * size;
    kept.n_zero += value == 0;
    kept.sum[0] += wide;
    kept.squares[0] += (int64_t)(square & 0xFFFFFFFFu);
    kept.squares[1] += (int64_t)(square >> 32);
}

template <typename T>
static __device__ inline void add_value(const struct moments_job &job, struct shared_table &table,
                                        struct kept &kept, T value)
{
    const uint32_t key = rank_key(value);
    if (!ts_cuda_is_finite(value)) {
        const bool nan = value != value;
        kept.n_nan += nan;
        kept.n_infinite += !nan;
        return;
    }
    if constexpr (std::is_same<T, float>::value)
        add_float(job, table, kept, __float_as_uint(value)); /* this may flush what came before */
    else
        add_integer(kept, value);
    kept.n++;
    kept.not_low = max(kept.not_low, ~key);
    kept.high = max(kept.high, key);
}

static __device__ void add_moments(struct label_moments *to, const struct label_moments &from)
{
    add64(&to->n, (int64_t)from.n);
    add64(&to->n_nan, (int64_t)from.n_nan);
    add64(&to->n_infinite, (int64_t)from.n_infinite);
    add64(&to->n_zero, (int64_t)from.n_zero);
    atomicMax(&to->not_low, from.not_low);
    atomicMax(&to->high, from.high);
    for (int i = 0; i < LABEL_SUM_LIMBS; i++)
        add64(&to->sum[i], from.sum[i]);
    for (int i = 0; i < LABEL_SQUARE_LIMBS; i++)
        add64(&to->squares[i], from.squares[i]);
}

template <typename T>
static __global__ void __launch_bounds__(MOMENTS_THREADS) add_values(struct moments_job job)
{
    __shared__ struct shared_table table;
    const T *pixels = (const T *)job.pixels;
    for (uint32_t i = threadIdx.x; i < sizeof table / sizeof(uint32_t); i += MOMENTS_THREADS)
        ((uint32_t *)&table)[i] = i < PLACES ? (uint32_t)PAIR_FREE : 0;
    __syncthreads();
    struct kept kept = statistics_labels_begin(0, std::is_same<T, float>::value ? USUAL_BASE : 0);
    const uint64_t step = (uint64_t)gridDim.x * MOMENTS_THREADS * RUN;
    for (uint64_t first = ((uint64_t)blockIdx.x * MOMENTS_THREADS + threadIdx.x) * RUN;
         first < job.n; first += step) {
        const uint64_t end = first + RUN < job.n ? first + RUN : job.n;
        for (uint64_t i = first; i < end; i++) {
            const uint32_t row = ts_cuda_label_row(job.labels, job.labels_dtype, i, job.n_labels);
            if (row != kept.row) {
                flush(job, table, kept);
                kept = statistics_labels_begin(row, kept.base);
            }
            add_value(job, table, kept, pixels[i]);
        }
    }
    flush(job, table, kept);
    __syncthreads();
    if (threadIdx.x < PLACES && table.rows[threadIdx.x] != PAIR_FREE)
        add_moments(&job.moments[table.rows[threadIdx.x]], table.moments[threadIdx.x]);
}

/* Passes the carries of a row on, with one thread for each row. */
static __global__ void __launch_bounds__(MOMENTS_THREADS)
    pass_carries(struct label_moments *moments, uint32_t n_rows)
{
    const uint32_t row = blockIdx.x * MOMENTS_THREADS + threadIdx.x;
    if (row >= n_rows)
        return;
    int64_t *limbs[] = {moments[row].sum, moments[row].squares};
    const int n[] = {LABEL_SUM_LIMBS, LABEL_SQUARE_LIMBS};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i + 1 < n[k]; i++) {
            limbs[k][i + 1] += limbs[k][i] >> 32;
            limbs[k][i] &= INT64_C(0xFFFFFFFF);
        }
}

/* Adds the slices' values to the n_labels + 1 moments of their labels, and passes carries on. */
static enum ts_status add_moments_of_labels(const struct stage_context *context,
                                            const struct ts_image *slices,
                                            const struct ts_image *labels, int64_t n_labels,
                                            struct label_moments *moments,
                                            const struct cuda_call *call)
{
    const uint64_t n = ts_image_count(slices);
    const int64_t at_once = ts_cuda_blocks_at_once(context, MOMENTS_THREADS);
    enum ts_status status = TS_OK;
    for (uint64_t first = 0; status == TS_OK && first < n; first += LABEL_MOMENTS_ADDITIONS) {
        struct moments_job job = {
            (const char *)slices->data + first * ts_dtype_bytes(slices->dtype),
            (const char *)labels->data + first * ts_dtype_bytes(labels->dtype), labels->dtype,
            (uint32_t)n_labels};
        job.n = n - first < LABEL_MOMENTS_ADDITIONS ? n - first : LABEL_MOMENTS_ADDITIONS;
        job.moments = moments;
        const int64_t useful = ts_cuda_parts((int64_t)job.n, MOMENTS_THREADS * RUN);
        const unsigned blocks = (unsigned)(at_once < useful ? at_once : useful);
#define ADD(T) add_values<T><<<blocks, MOMENTS_THREADS, 0, call->stream>>>(job)
        TS_CUDA_DTYPES(slices->dtype, ADD)
#undef ADD
        status = ts_cuda_launched(context, "label moments");
        if (status != TS_OK)
            break;
        pass_carries<<<(unsigned)ts_cuda_parts(n_labels + 1, MOMENTS_THREADS), MOMENTS_THREADS, 0,
                       call->stream>>>(moments, (uint32_t)n_labels + 1);
        status = ts_cuda_launched(context, "label carries");
    }
    return status;
}

/* ---- percentiles ------------------------------------------------------------------------------
 *
 * counts[place][digit] += 1 for every place of a pixel's label whose digits so far equal those of
 * the pixel's key; in the first round for every label. Pairs of place and digit are counted through
 * a cache in shared memory (cuda/counting/label_pairs.cuh). Memory traffic: value and label are
 * read once, places lie in the caches. 512 threads and 64 KiB of cache a block, as the histogram of
 * labels. */

enum { RANKS_THREADS = 512, LEAST_PIXELS = 32768 };

struct ranks_job {
    const void *pixels, *labels;
    enum ts_dtype labels_dtype;
    uint32_t n_labels, n_slots; /* slots of a label: its places, or 1 in the first round */
    uint64_t n;
    const struct label_rank *ranks; /* NULL in the first round */
    struct label_digit digit;
    unsigned long long *counts;
};

template <typename T>
static __global__ void __launch_bounds__(RANKS_THREADS) count_digits(struct ranks_job job)
{
    extern __shared__ uint32_t memory[];
    const struct pair_cache cache = ts_cuda_pair_cache(memory);
    const T *pixels = (const T *)job.pixels;
    const uint32_t mask = (1u << job.digit.bits) - 1, above = job.digit.shift + job.digit.bits;
    for (uint64_t i = (uint64_t)blockIdx.x * RANKS_THREADS + threadIdx.x; i < job.n;
         i += (uint64_t)gridDim.x * RANKS_THREADS) {
        const T value = pixels[i];
        const uint32_t row = ts_cuda_label_row(job.labels, job.labels_dtype, i, job.n_labels);
        if (row == job.n_labels || !ts_cuda_is_finite(value))
            continue;
        const uint32_t key = rank_key(value), prefix = (uint32_t)((uint64_t)key >> above);
        for (uint32_t slot = row * job.n_slots; slot < (row + 1) * job.n_slots; slot++)
            if (!job.ranks || job.ranks[slot].prefix == prefix)
                ts_cuda_pair_count(cache, job.counts,
                                   slot * LABEL_DIGITS + (key >> job.digit.shift & mask));
    }
    ts_cuda_pair_cache_empty(cache, job.counts);
}

/* Adds the digits of a round to the counts. `ranks` (on the device) are those after the round
 * before. */
static enum ts_status add_ranks_of_labels(const struct stage_context *context,
                                          const struct ts_image *slices,
                                          const struct ts_image *labels, int64_t n_labels,
                                          int round, const struct label_rank *ranks, int n_places,
                                          uint64_t *counts, const struct cuda_call *call)
{
    struct ranks_job job = {slices->data, labels->data, labels->dtype, (uint32_t)n_labels};
    const int64_t at_once = ts_cuda_blocks_at_once(context, RANKS_THREADS);
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
    kernel<<<(unsigned)(at_once < useful ? at_once : useful), RANKS_THREADS, pair_cache_bytes,
             call->stream>>>(job);
    return ts_cuda_launched(context, "label ranks");
}

enum ts_status ts_cuda_statistics_labels(const struct stage_context *context,
                                         const struct ts_image *slices, void *partials,
                                         const struct cuda_call *call)
{
    const struct statistics_params *params = (const struct statistics_params *)context->params;
    const struct ts_image *labels = &slices[STATISTICS_LABELS];
    enum ts_status status = TS_OK;
    if (context->round == 0)
        status = add_moments_of_labels(context, slices, labels, params->n_labels,
                                       (struct label_moments *)partials, call);
    if (status != TS_OK || ts_statistics_percentiles(context) == 0)
        return status;
    return add_ranks_of_labels(
        context, slices, labels, params->n_labels, context->round,
        ts_statistics_label_ranks(context, call->result), ts_statistics_label_places(context),
        (uint64_t *)((char *)partials + ts_statistics_label_moments(context)), call);
}
