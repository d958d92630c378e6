/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce on a CUDA device: the operations of the CPU in the same order, by ts_reduce_add, and a
 * median by its bits, from the highest on: how many values that agree so far have a 0 next says on
 * which side it is.
 *
 * Along z a thread makes one pixel from all slices: it reads each value once, for a median once for
 * each bit of the type and twice more, of which the caches have a part. Along the volumes of a
 * series a thread adds one value to its pixel of the total (8 to 20 bytes read and written, 4
 * written for the median), and at the end one makes a pixel of the result, which the map copies.
 * Threads side by side have pixels side by side, and a warp the 32 pixels of a word of bits. 256
 * threads keep enough warps in flight to hide the loads.
 */
#include "cuda/values/reductions.cuh"

extern "C" {
#include "stages/engine/validity.h"
#include "stages/intensity/reduce.h"
}

enum { THREADS = 256, WARPS = THREADS / CUDA_WARP };

STAGE_PARAMS_OF(reduce_params)

/* ---- pixels ---------------------------------------------------------------------------------- */

/* Turns values into unsigned keys of the same order, as wide as the type, and back. */
template <typename T> static __device__ inline uint32_t key_of(T value)
{
    if constexpr (std::is_same<T, float>::value) {
        const uint32_t bits = __float_as_uint(value);
        return bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);
    } else {
        const uint32_t sign = std::is_signed<T>::value ? 1u << (8 * sizeof(T) - 1) : 0;
        return (uint32_t)(typename std::make_unsigned<T>::type)value ^ sign;
    }
}

template <typename T> static __device__ inline double value_of(uint32_t key)
{
    if constexpr (std::is_same<T, float>::value) {
        return (double)__uint_as_float(key >> 31 ? key ^ 0x80000000u : ~key);
    } else {
        const uint32_t sign = std::is_signed<T>::value ? 1u << (8 * sizeof(T) - 1) : 0;
        return (double)(T)(key ^ sign);
    }
}

/* The keys of one pixel: value i is *at(i) unless it is invalid. */
template <typename T> struct slice_keys {
    const T *values;
    const uint32_t *valid; /* the word of the pixel in the first slice; NULL: all are valid */
    int64_t n, slice, n_words;
    unsigned lane;

    __device__ bool get(int64_t i, uint32_t *key) const
    {
        *key = key_of(values[i * slice]);
        return !valid || (valid[i * n_words] >> lane & 1);
    }
};

struct held_keys {
    const uint32_t *keys;
    int64_t n, pixels;

    __device__ bool get(int64_t i, uint32_t *key) const
    {
        *key = keys[i * pixels];
        return true;
    }
};

/* Returns the k-th of the keys, counted from 0 in rising order, and sets *up_to to how many are not
 * above it. */
template <typename KEYS>
static __device__ uint32_t find_key(const KEYS &keys, int bits, int64_t k, int64_t *up_to)
{
    uint32_t found = 0, same = 0;
    int64_t below = 0, equal = 0;
    for (int bit = bits - 1; bit >= 0; bit--) {
        int64_t zeros = 0, ones = 0;
        for (int64_t i = 0; i < keys.n; i++) {
            uint32_t key;
            if (!keys.get(i, &key) || (key & same) != found)
                continue;
            zeros += !(key >> bit & 1);
            ones += key >> bit & 1;
        }
        same |= 1u << bit;
        equal = zeros;
        if (k >= below + zeros) {
            found |= 1u << bit;
            below += zeros;
            equal = ones;
        }
    }
    *up_to = below + equal;
    return found;
}

/* Returns the median of `count` keys. */
template <typename T, typename KEYS>
static __device__ double median_of(const KEYS &keys, int64_t count)
{
    int64_t up_to;
    if (count == 0)
        return 0;
    if (std::is_same<T, float>::value)
        for (int64_t i = 0; i < keys.n; i++) {
            uint32_t key;
            const double value = keys.get(i, &key) ? value_of<T>(key) : 0;
            if (value != value)
                return NAN;
        }
    const uint32_t low = find_key(keys, (int)(8 * sizeof(T)), (count - 1) / 2, &up_to);
    uint32_t high = low;
    if (up_to <= count / 2) {
        high = ~0u;
        for (int64_t i = 0; i < keys.n; i++) {
            uint32_t key;
            if (keys.get(i, &key) && key > low && key < high)
                high = key;
        }
    }
    return ts_reduce_middle(value_of<T>(low), value_of<T>(high));
}

static __device__ void store_value(enum ts_dtype dtype, void *out, int64_t at, double value)
{
#define STORE(T) ((T *)out)[at] = (T)value
    TS_CUDA_DTYPES(dtype, STORE)
#undef STORE
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* Slices are `slice` pixels apart, and n_words words of bits. */
struct slices_job {
    const void *in;
    const uint32_t *valid; /* NULL: all pixels are valid */
    void *out;
    uint32_t *out_valid; /* NULL: the output has no such bits */
    enum ts_dtype dtype;
    int32_t method;
    int64_t nz, slice, n_words;
};

/* A warp has a word of the output; all its lanes vote. */
template <typename T>
static __global__ void __launch_bounds__(THREADS) reduce_slices(struct slices_job job)
{
    const int64_t word = (int64_t)blockIdx.x * WARPS + threadIdx.x / CUDA_WARP;
    const unsigned lane = threadIdx.x % CUDA_WARP;
    const int64_t pixel = word * CUDA_WARP + lane;
    if (word >= job.n_words)
        return;
    const struct slice_keys<T> keys = {
        (const T *)job.in + pixel, job.valid ? job.valid + word : NULL,
            pixel < job.slice ? job.nz : 0, job.slice, job.n_words, lane
    };
    struct reduce_sums sums = {0, 0};
    int64_t count = 0;
    for (int64_t z = 0; z < keys.n; z++) {
        if (keys.valid && !(keys.valid[z * job.n_words] >> lane & 1))
            continue;
        count++;
        if (job.method != REDUCE_MEDIAN)
            sums =
                ts_reduce_add(job.method, sums, (double)count, (double)keys.values[z * job.slice]);
    }
    const uint32_t some = __ballot_sync(~0u, count > 0);
    if (job.out_valid && lane == 0)
        job.out_valid[word] = some;
    if (pixel < job.slice)
        store_value(job.dtype, job.out, pixel,
                    job.method == REDUCE_MEDIAN
                        ? median_of<T>(keys, count)
                        : ts_reduce_result(job.method, sums, (double)count));
}

/* ---- the volumes of a series ----------------------------------------------------------------- */

struct series_job {
    const void *in;
    const uint32_t *valid; /* NULL: all pixels are valid */
    struct reduce_total total;
    struct reduce_result result;
    enum ts_dtype dtype; /* of the result */
    int32_t method;
    int64_t n, z_first; /* pixels to add, and the first of their slices, counted over all volumes */
    int64_t nz, slice, n_words, volumes;
};

/* A thread adds one value. */
template <typename T>
static __global__ void __launch_bounds__(THREADS) add_volume(struct series_job job)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= job.n)
        return;
    const int64_t z = i / job.slice, pixel = i % job.slice, at = job.z_first + z,
                  to = at % job.nz * job.slice + pixel;
    if (job.valid && !(job.valid[z * job.n_words + pixel / 32] >> pixel % 32 & 1))
        return;
    const T value = ((const T *)job.in)[i];
    const int64_t before = job.total.counts ? job.total.counts[to]++ : at / job.nz;
    if (job.method == REDUCE_MEDIAN) {
        job.total.values[before * job.nz * job.slice + to] = key_of(value);
        return;
    }
    struct reduce_sums sums = {job.total.a[to], job.total.b ? job.total.b[to] : 0};
    sums = ts_reduce_add(job.method, sums, (double)(before + 1), (double)value);
    job.total.a[to] = sums.a;
    if (job.total.b)
        job.total.b[to] = sums.b;
}

/* A warp makes a word of the result of the type T; all its lanes vote. */
template <typename T>
static __global__ void __launch_bounds__(THREADS) finish_series(struct series_job job)
{
    const int64_t word = (int64_t)blockIdx.x * WARPS + threadIdx.x / CUDA_WARP;
    const unsigned lane = threadIdx.x % CUDA_WARP;
    const int64_t z = word / job.n_words, pixel = word % job.n_words * CUDA_WARP + lane,
                  at = z * job.slice + pixel;
    if (z >= job.nz)
        return;
    const bool inside = pixel < job.slice;
    const int64_t all = job.total.counts && inside ? job.total.counts[at] : job.volumes,
                  count = inside ? all : 0;
    const uint32_t some = __ballot_sync(~0u, count > 0);
    if (job.result.valid && lane == 0)
        ((uint32_t *)job.result.valid)[word] = some;
    if (!inside)
        return;
    if (job.method == REDUCE_MEDIAN) {
        const struct held_keys keys = {job.total.values + at, count, job.nz * job.slice};
        store_value(job.dtype, job.result.values, at, median_of<T>(keys, count));
        return;
    }
    const struct reduce_sums sums = {job.total.a[at], job.total.b ? job.total.b[at] : 0};
    store_value(job.dtype, job.result.values, at,
                ts_reduce_result(job.method, sums, (double)count));
}

static struct series_job series_of(const struct stage_context *context, const void *total)
{
    struct series_job job = {};
    size_t bytes;
    job.total = ts_reduce_total(context, (void *)total, &bytes);
    job.dtype = context->out.dtype;
    job.method = params_of(context)->method;
    job.nz = context->out.axes[0].n;
    job.slice = (int64_t)ts_slice_count(&context->out);
    job.n_words = (job.slice + 63) / 64 * 2;
    job.volumes = ts_reduce_volumes(context);
    return job;
}

static enum ts_status reduce_reduce(const struct stage_context *context, int,
                                    const struct ts_image *slices, void *partial,
                                    const struct cuda_call *call)
{
    struct series_job job = series_of(context, partial);
    job.in = slices->data;
    job.valid = (const uint32_t *)slices->valid;
    job.z_first = slices->z_first;
    job.n = slices->axes[0].n * job.slice;
    const unsigned blocks = (unsigned)ts_cuda_parts(job.n, THREADS);
#define ADD(T) add_volume<T><<<blocks, THREADS, 0, call->stream>>>(job)
    TS_CUDA_DTYPES(slices->dtype, ADD)
#undef ADD
    return ts_cuda_launched(context, "reduce volume");
}

static enum ts_status reduce_finish(const struct stage_context *context, const void *partial,
                                    void *memory, int64_t, const struct cuda_call *call)
{
    struct series_job job = series_of(context, partial);
    size_t bytes;
    job.result = ts_reduce_result_of(context, memory, &bytes);
    const unsigned blocks = (unsigned)ts_cuda_parts(job.nz * job.n_words, WARPS);
#define FINISH(T) finish_series<T><<<blocks, THREADS, 0, call->stream>>>(job)
    TS_CUDA_DTYPES(context->in.dtype, FINISH)
#undef FINISH
    return ts_cuda_launched(context, "reduce end");
}

static const struct cuda_reduction reduction = {
    .partial_bytes = ts_reduce_partial_bytes,
    .reduce = reduce_reduce,
    .finishes = ts_reduce_joins,
    .result_bytes = ts_reduce_result_bytes,
    .finish = reduce_finish,
};

/* ---- map ------------------------------------------------------------------------------------- */

static enum ts_status copy_slices(const struct stage_context *context, struct ts_image *out,
                                  const struct cuda_call *call)
{
    size_t bytes;
    const struct reduce_result result = ts_reduce_result_of(context, (void *)call->result, &bytes);
    const size_t slice = ts_slice_bytes(out), valid = ts_valid_bytes(out), z = (size_t)out->z_first,
                 n = (size_t)out->axes[0].n;
    cudaMemcpyAsync(out->data, (const char *)result.values + z * slice, n * slice,
                    cudaMemcpyDeviceToDevice, call->stream);
    if (out->valid)
        cudaMemcpyAsync(out->valid, (const char *)result.valid + z * valid, n * valid,
                        cudaMemcpyDeviceToDevice, call->stream);
    return ts_cuda_launched(context, "reduce copy");
}

static enum ts_status reduce_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, const struct cuda_call *call)
{
    struct slices_job job = {in->data, (const uint32_t *)in->valid, out->data};
    if (ts_reduce_joins(context))
        return copy_slices(context, out, call);
    job.out_valid = (uint32_t *)out->valid;
    job.dtype = out->dtype;
    job.method = params_of(context)->method;
    job.nz = in->axes[0].n;
    job.slice = (int64_t)ts_slice_count(out);
    job.n_words = (job.slice + 63) / 64 * 2;
    const unsigned blocks = (unsigned)ts_cuda_parts(job.n_words, WARPS);
#define REDUCE(T) reduce_slices<T><<<blocks, THREADS, 0, call->stream>>>(job)
    TS_CUDA_DTYPES(in->dtype, REDUCE)
#undef REDUCE
    return ts_cuda_launched(context, "reduce");
}

const struct stage_cuda reduce_cuda = {.map = reduce_map, .reduction = &reduction};
