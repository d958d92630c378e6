/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds order statistics by order keys of 32 bits.
 *
 * histogram: writes the upper halves of the keys as 16-bit values and counts those (4 bytes read a
 * value, 2 written and read again; the halves of NaN and infinities belong to no finite value and
 * are left out); then counts the lower halves of the values in the buckets of the ranks, in global
 * memory (4 bytes read). A thread takes every grid-th value; lanes of a warp that would add to the
 * same counter add once. For single slices, a block of 1,024 threads finds the ranks in a table of
 * 65,536 counts, 64 for each thread. sort: writes the keys (4 bytes read, 4 written a value), sorts
 * them (cuda/values/radix_sort.cu) and looks the ranks up.
 *
 * 256 threads a block: memory is the limit, and any multiple of a warp reaches it.
 */
#include "cuda/counting/percentile.cuh"

#include "core/clamp.h"

#include "cuda/counting/ranks.cuh"
#include "cuda/values/radix_sort.cuh"
#include "cuda/values/value_keys.cuh"

enum { THREADS = 256, VALUES_A_THREAD = 16, KEYS = VALUE_COUNTS_KEYS_16 };

/* The pixels and slices that go through the tables or the sort at once are limited, which limits
 * the scratch. */
static const int64_t group_pixels = (int64_t)1 << 24;
enum { GROUP_MOST = 16 };

/* The upper halves of the keys of finite floats are in this range: their exponents are below
 * 255. */
enum { FLOAT_LEAST = 0x0080, FLOAT_MOST = 0xFF7F };

/* ---- keys ------------------------------------------------------------------------------------ */

template <typename type>
static __global__ void write_upper(const type *values, uint16_t *upper, int64_t n)
{
    const int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += step)
        upper[i] = (uint16_t)(ts_cuda_order_key(values[i]) >> 16);
}

/* Writes the keys; values that are not finite get the highest, so that they come last. */
template <typename type>
static __global__ void write_keys(const type *values, uint32_t *keys, int64_t n)
{
    const int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += step)
        keys[i] = ts_cuda_is_finite(values[i]) ? ts_cuda_order_key(values[i]) : UINT32_MAX;
}

/* The work on slices of n values each: the addresses of each slice's parts, with strides in
 * bytes. */
struct rank_job {
    const double *percents;
    int n_percentiles;
    bool floats;
    int64_t n;
    const char *counts; /* counts of the upper halves: struct cuda_slice_counts */
    char *search, *tables, *ends;
    size_t counts_stride, search_stride, tables_stride, ends_stride;
};

static __device__ struct percentile_search *search_of(const struct rank_job &job, unsigned slice)
{
    return (struct percentile_search *)(job.search + slice * job.search_stride);
}

static __device__ struct percentile_ends *ends_of(const struct rank_job &job, unsigned slice)
{
    return (struct percentile_ends *)(job.ends + slice * job.ends_stride);
}

/* Counts the lower halves of values in the buckets of the search. Each slice has one search and one
 * set of tables. */
template <typename type> static __global__ void count_lower(const type *values, struct rank_job job)
{
    const struct percentile_search *search = search_of(job, blockIdx.y);
    unsigned long long *tables =
        (unsigned long long *)(job.tables + blockIdx.y * job.tables_stride);
    const int64_t step = (int64_t)gridDim.x * THREADS;
    values += blockIdx.y * job.n;
    for (int64_t first = (int64_t)blockIdx.x * THREADS; first < job.n; first += step) {
        const int64_t i = first + threadIdx.x;
        unsigned bucket = 0, counter = 0;
        if (i < job.n && ts_cuda_is_finite(values[i])) {
            const uint32_t key = ts_cuda_order_key(values[i]);
            bucket = search->bucket_of[key >> 16];
            counter = bucket * KEYS + (key & 0xFFFF);
        }
        const unsigned same = __match_any_sync(0xFFFFFFFFu, bucket ? counter : 0u);
        if (bucket && threadIdx.x % 32 == (unsigned)__ffs(same) - 1)
            atomicAdd(&tables[counter - KEYS], (unsigned long long)__popc(same));
    }
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Finds the buckets (upper halves) of the ranks, with one block for each slice. */
static __global__ void __launch_bounds__(RANK_THREADS) find_buckets(struct rank_job job)
{
    const struct cuda_slice_counts *counts =
        (const struct cuda_slice_counts *)(job.counts + blockIdx.x * job.counts_stride);
    struct percentile_search *search = search_of(job, blockIdx.x);
    __shared__ uint16_t upper[PERCENTILE_BUCKETS_MAX];
    const bool floats = job.floats;
    const auto count = [counts, floats](uint32_t key) -> uint64_t {
        return floats && (key < FLOAT_LEAST || key > FLOAT_MOST) ? 0
                                                                 : ts_cuda_slice_count(counts, key);
    };
    const struct key_run run = ts_cuda_key_run(count, KEYS);
    const uint64_t n = run.total;
    for (uint32_t key = threadIdx.x; key < KEYS; key += RANK_THREADS)
        search->bucket_of[key] = 0;
    for (int i = 0; n > 0 && i < 2 * job.n_percentiles; i++) {
        uint64_t rank = ts_cuda_rank(n, job.percents[i / 2], i % 2);
        uint32_t key;
        if (!ts_cuda_key_at(count, run, &rank, &key))
            continue;
        search->rank[i] = rank;
        upper[i] = (uint16_t)key;
    }
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    ends_of(job, blockIdx.x)->n = n;
    search->n_buckets = 0;
    for (int i = 0; n > 0 && i < 2 * job.n_percentiles; i++) {
        if (search->bucket_of[upper[i]] == 0) {
            search->upper[search->n_buckets] = upper[i];
            search->bucket_of[upper[i]] = (uint8_t)++search->n_buckets;
        }
        search->bucket[i] = search->bucket_of[upper[i]] - 1;
    }
}

/* Finds the key at a rank within its bucket; block (x, y) does slice x and rank y. */
static __global__ void __launch_bounds__(RANK_THREADS) find_keys(struct rank_job job)
{
    const struct percentile_search *search = search_of(job, blockIdx.x);
    struct percentile_ends *ends = ends_of(job, blockIdx.x);
    if (ends->n == 0)
        return;
    const int bucket = search->bucket[blockIdx.y];
    const uint64_t *counts =
        (const uint64_t *)(job.tables + blockIdx.x * job.tables_stride) + (size_t)bucket * KEYS;
    const auto count = [counts](uint32_t key) { return counts[key]; };
    const struct key_run run = ts_cuda_key_run(count, KEYS);
    uint64_t rank = search->rank[blockIdx.y];
    uint32_t key;
    if (ts_cuda_key_at(count, run, &rank, &key))
        ends->keys[blockIdx.y] = (uint32_t)search->upper[bucket] << 16 | key;
}

/* Finds the keys at the ranks among sorted keys, in which those of values that are not finite come
 * last. A block does one slice and a thread one rank. */
static __global__ void pick_keys(struct rank_job job, const uint32_t *keys)
{
    struct percentile_ends *ends = ends_of(job, blockIdx.x);
    uint64_t low = 0, high = (uint64_t)job.n; /* the first key that is not finite is in [low,
                                               * high] */
    keys += blockIdx.x * job.n;
    while (job.floats && low < high) {
        const uint64_t middle = (low + high) / 2;
        if (keys[middle] >> 16 > FLOAT_MOST)
            high = middle;
        else
            low = middle + 1;
    }
    const uint64_t finite = high;
    if (threadIdx.x == 0)
        ends->n = finite;
    if (finite > 0)
        ends->keys[threadIdx.x] =
            keys[ts_cuda_rank(finite, job.percents[threadIdx.x / 2], threadIdx.x % 2)];
}

/* ---- launchers ------------------------------------------------------------------------------- */

static unsigned grid_of(int64_t n)
{
    const int64_t blocks = ts_cuda_parts(n, THREADS * VALUES_A_THREAD);
    return (unsigned)(blocks < 65536 ? blocks : 65536);
}

/* Returns the same slices as 16-bit values. */
static struct ts_image halves_of(const struct ts_image *slices, void *data)
{
    struct ts_image halves = *slices;
    halves.dtype = TS_U16;
    halves.data = data;
    return halves;
}

static size_t halves_bytes(const struct stage_context *context, int64_t n)
{
    return ts_cuda_stride((size_t)n * ts_slice_count(&context->in) * sizeof(uint16_t));
}

static size_t count_scratch_bytes(const struct stage_context *context, bool per_slice, int64_t n)
{
    const struct ts_image halves = halves_of(&context->in, NULL);
    return halves_bytes(context, n) +
           ts_cuda_stride(ts_cuda_value_counts_scratch_bytes(context, &halves, per_slice, n));
}

/* The scratch holds the halves, then the scratch of the counting. */
static enum ts_status count_upper(const struct stage_context *context,
                                  const struct ts_image *slices, bool per_slice, void *partials,
                                  void *scratch, const struct cuda_call *call)
{
    const int64_t n = (int64_t)ts_image_count(slices);
    const struct ts_image halves = halves_of(slices, scratch);
    struct cuda_call counting = *call;
    counting.scratch = (char *)scratch + halves_bytes(context, slices->axes[0].n);
#define WRITE(type)                                                                                \
    write_upper<<<grid_of(n), THREADS, 0, call->stream>>>((const type *)slices->data,              \
                                                          (uint16_t *)scratch, n)
    TS_CUDA_DTYPES_32(slices->dtype, WRITE)
#undef WRITE
    const enum ts_status status = ts_cuda_launched(context, "write_upper");
    return status == TS_OK ? ts_cuda_value_counts(context, &halves, per_slice, partials, &counting)
                           : status;
}

/* Enqueues n_searches searches over job.n values each. */
static enum ts_status count_buckets(const struct stage_context *context,
                                    const struct ts_image *slices, const struct rank_job &job,
                                    int64_t n_searches, cudaStream_t stream)
{
    const dim3 grid(grid_of(job.n), (unsigned)n_searches);
#define COUNT(type) count_lower<<<grid, THREADS, 0, stream>>>((const type *)slices->data, job)
    TS_CUDA_DTYPES_32(slices->dtype, COUNT)
#undef COUNT
    return ts_cuda_launched(context, "count_lower");
}

size_t ts_cuda_percentile_bytes(int round, int n_percentiles)
{
    return round == 0 ? ts_cuda_value_counts_bytes(TS_U16, false)
                      : 2 * (size_t)n_percentiles * KEYS * sizeof(uint64_t);
}

size_t ts_cuda_percentile_scratch_bytes(const struct stage_context *context, int round, int64_t n)
{
    return round == 0 ? count_scratch_bytes(context, false, n) : 0;
}

enum ts_status ts_cuda_percentile_add(const struct stage_context *context, int round,
                                      const struct ts_image *slices,
                                      const struct percentile_search *search, void *partial,
                                      const struct cuda_call *call)
{
    if (round == 0)
        return count_upper(context, slices, false, partial, call->scratch, call);
    struct rank_job job = {.n = (int64_t)ts_image_count(slices)};
    job.search = (char *)search;
    job.tables = (char *)partial;
    return count_buckets(context, slices, job, 1, call->stream);
}

void ts_cuda_percentile_collect(int round, enum ts_dtype dtype, int n_percentiles,
                                const void *partial, void *total)
{
    if (round == 1) {
        memcpy(total, partial, ts_cuda_percentile_bytes(1, n_percentiles));
        return;
    }
    const uint32_t first = dtype == TS_F32 ? FLOAT_LEAST : 0,
                   end = dtype == TS_F32 ? FLOAT_MOST + 1 : KEYS;
    ts_cuda_value_counts_place(TS_U16, (const uint64_t *)partial + first, first, end - first,
                               (struct value_counts *)total);
}

/* ---- slice by slice -------------------------------------------------------------------------- */

/* Offsets in the scratch of one group of slices, which starts with the halves or with the sort's
 * keys. */
struct ends_layout {
    int64_t slices; /* slices of a group */
    size_t counts_stride, search_stride, tables_stride;
    size_t counts, search, tables, bytes;
};

static struct ends_layout layout_of(const struct stage_context *context,
                                    enum percentile_method method, int n_percentiles, int64_t n)
{
    const int64_t pixels = (int64_t)ts_slice_count(&context->in), fit = group_pixels / pixels;
    struct ends_layout layout = {.slices = ts_clamp(fit, 1, GROUP_MOST)};
    if (layout.slices > n)
        layout.slices = n;
    const size_t slices = (size_t)layout.slices;
    layout.counts_stride = ts_cuda_stride(ts_cuda_value_counts_bytes(TS_U16, true));
    layout.search_stride = ts_cuda_stride(sizeof(struct percentile_search));
    layout.tables_stride = ts_cuda_percentile_bytes(1, n_percentiles);
    if (method == PERCENTILE_SORT) {
        layout.counts = ts_cuda_stride(slices * (size_t)pixels * sizeof(uint32_t));
        layout.bytes = layout.counts + ts_cuda_radix_sort_bytes(pixels, layout.slices);
        return layout;
    }
    layout.counts = count_scratch_bytes(context, true, layout.slices);
    layout.search = layout.counts + slices * layout.counts_stride;
    layout.tables = layout.search + slices * layout.search_stride;
    layout.bytes = layout.tables + slices * layout.tables_stride;
    return layout;
}

size_t ts_cuda_percentile_ends_scratch_bytes(const struct stage_context *context,
                                             enum percentile_method method, int n_percentiles,
                                             int64_t n)
{
    return layout_of(context, method, n_percentiles, n).bytes;
}

static enum ts_status count_group(const struct stage_context *context,
                                  const struct ts_image *slices, const struct rank_job &job,
                                  const struct cuda_call *call)
{
    const int64_t n = slices->axes[0].n;
    enum ts_status status =
        count_upper(context, slices, true, (void *)job.counts, call->scratch, call);
    if (status != TS_OK)
        return status;
    find_buckets<<<(unsigned)n, RANK_THREADS, 0, call->stream>>>(job);
    status = ts_cuda_launched(context, "find_buckets");
    if (status == TS_OK &&
        cudaMemsetAsync(job.tables, 0, (size_t)n * job.tables_stride, call->stream) != cudaSuccess)
        status = ts_cuda_launched(context, "clear_buckets");
    if (status == TS_OK)
        status = count_buckets(context, slices, job, n, call->stream);
    if (status == TS_OK) {
        find_keys<<<dim3((unsigned)n, 2 * (unsigned)job.n_percentiles), RANK_THREADS, 0,
                    call->stream>>>(job);
        status = ts_cuda_launched(context, "find_keys");
    }
    return status;
}

static enum ts_status sort_group(const struct stage_context *context, const struct ts_image *slices,
                                 const struct ends_layout *layout, const struct rank_job &job,
                                 const struct cuda_call *call)
{
    uint32_t *keys = (uint32_t *)call->scratch;
    const int64_t n = slices->axes[0].n, count = n * job.n;
#define WRITE(type)                                                                                \
    write_keys<<<grid_of(count), THREADS, 0, call->stream>>>((const type *)slices->data, keys,     \
                                                             count)
    TS_CUDA_DTYPES_32(slices->dtype, WRITE)
#undef WRITE
    enum ts_status status = ts_cuda_launched(context, "write_keys");
    if (status == TS_OK)
        status = ts_cuda_radix_sort(context, keys, (char *)call->scratch + layout->counts, job.n, n,
                                    call->stream);
    if (status == TS_OK) {
        pick_keys<<<(unsigned)n, 2 * (unsigned)job.n_percentiles, 0, call->stream>>>(job, keys);
        status = ts_cuda_launched(context, "pick_keys");
    }
    return status;
}

enum ts_status ts_cuda_percentile_ends(const struct stage_context *context,
                                       enum percentile_method method, const struct ts_image *slices,
                                       const double *percents, int n_percentiles, void *ends,
                                       size_t stride, const struct cuda_call *call)
{
    const int64_t n = slices->axes[0].n;
    const struct ends_layout layout = layout_of(context, method, n_percentiles, n);
    char *const scratch = (char *)call->scratch;
    struct rank_job job = {
        .percents = percents, .n_percentiles = n_percentiles, .floats = slices->dtype == TS_F32};
    job.n = (int64_t)ts_slice_count(slices);
    job.counts = scratch + layout.counts;
    job.search = scratch + layout.search;
    job.tables = scratch + layout.tables;
    job.counts_stride = layout.counts_stride;
    job.search_stride = layout.search_stride;
    job.tables_stride = layout.tables_stride;
    job.ends_stride = stride;
    enum ts_status status = TS_OK;
    for (int64_t z = 0; status == TS_OK && z < n; z += layout.slices) {
        const struct ts_image group =
            ts_image_slices(slices, z, n - z < layout.slices ? n - z : layout.slices);
        job.ends = (char *)ends + (size_t)z * stride;
        status = method == PERCENTILE_SORT ? sort_group(context, &group, &layout, job, call)
                                           : count_group(context, &group, job, call);
    }
    return status;
}
