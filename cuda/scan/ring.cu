/* SPDX-License-Identifier: Apache-2.0
 *
 * ring on a CUDA device, method sorting (stages/scan/ring.c), in four kernels:
 *   keys     transposes 32 x 32 tiles, so that the values of a detector pixel lie side by side, as
 *            keys
 *   sort     a block sorts one column in shared memory (K. E. Batcher's bitonic network, 1968), the
 *            view in the low half of a 64-bit word; a thread takes 16 words through four steps of
 *            the network at once in registers, and a word of padding every 16 keeps the banks apart
 *   medians  a thread slides the sorted window of one rank over 64 detector pixels, all of it in
 *            registers
 *   back     transposes 32 x 32 tiles back, each value fetched by its rank
 * They move 8, 10, 8 and 10 bytes a value of 4, less where it fits the second cache; the arithmetic
 * of the sort is the limit. Blocks are 256 threads, those of the sort as many threads as there are
 * 16 words.
 *
 * Method fourier-wavelet is in ring_wavelet.cu.
 */
#include "core/clamp.h"
#include "cuda/scan/ring_wavelet.cuh"
#include "cuda/values/border.cuh"
#include "cuda/values/value_keys.cuh"

extern "C" {
#include "stages/scan/ring.h"
#include "stages/values/finite_values.h"
}

enum { TILE = 32, TILE_WARPS = 8, WORDS = RING_LEAST_PLACES, RANKS = 128, RUN = 64, AT_ONCE = 32 };

/* The scratch for the slices that are in work at once. */
struct ring_buffers {
    int32_t *keys;   /* [slice][detector][view], then the medians [rank] */
    int32_t *sorted; /* [slice][detector][rank] */
    uint16_t *ranks; /* [slice][detector][view] */
    int64_t n_views, n_detectors;
    uint32_t flip;
};

static int64_t slices_at_once(int64_t n)
{
    return n < AT_ONCE ? n : AT_ONCE;
}

static bool by_wavelet(const struct stage_context *context)
{
    return ((const struct ring_params *)context->params)->method == RING_WAVELET;
}

static size_t constants_bytes(const struct stage_context *context)
{
    struct ring_levels levels;
    if (!by_wavelet(context))
        return 0;
    ts_ring_levels(context, &levels);
    return (size_t)levels.tables * sizeof(float);
}

static void ring_constants(const struct stage_context *context, void *host)
{
    if (by_wavelet(context))
        ts_ring_tables(context, (float *)host);
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    if (by_wavelet(context))
        return ts_cuda_ring_wavelet_scratch(context, n);
    const size_t count = ts_slice_count(&context->in) * (size_t)slices_at_once(n);
    return 2 * ts_cuda_stride(count * sizeof(int32_t)) + ts_cuda_stride(count * sizeof(uint16_t));
}

/* ---- keys and back --------------------------------------------------------------------------- */

template <typename T>
static __global__ void __launch_bounds__(TILE *TILE_WARPS)
    find_keys(const T *in, struct ring_buffers buffers)
{
    __shared__ int32_t tile[TILE][TILE + 1];
    const int64_t count = buffers.n_views * buffers.n_detectors, d = (int64_t)blockIdx.x * TILE,
                  view = (int64_t)blockIdx.y * TILE;
    in += blockIdx.z * count;
    for (int i = threadIdx.y; i < TILE && view + i < buffers.n_views; i += TILE_WARPS)
        if (d + threadIdx.x < buffers.n_detectors)
            tile[i][threadIdx.x] = ts_cuda_key_of<T>(
                in[(view + i) * buffers.n_detectors + d + threadIdx.x], buffers.flip);
    __syncthreads();
    for (int i = threadIdx.y; i < TILE && d + i < buffers.n_detectors; i += TILE_WARPS)
        if (view + threadIdx.x < buffers.n_views)
            buffers.keys[blockIdx.z * count + (d + i) * buffers.n_views + view + threadIdx.x] =
                tile[threadIdx.x][i];
}

template <typename T>
static __global__ void __launch_bounds__(TILE *TILE_WARPS)
    put_back(T *out, struct ring_buffers buffers)
{
    __shared__ int32_t tile[TILE][TILE + 1];
    const int64_t count = buffers.n_views * buffers.n_detectors, d = (int64_t)blockIdx.x * TILE,
                  view = (int64_t)blockIdx.y * TILE;
    out += blockIdx.z * count;
    for (int i = threadIdx.y; i < TILE && d + i < buffers.n_detectors; i += TILE_WARPS)
        if (view + threadIdx.x < buffers.n_views) {
            const int64_t column = blockIdx.z * count + (d + i) * buffers.n_views;
            tile[threadIdx.x][i] =
                buffers.keys[column + buffers.ranks[column + view + threadIdx.x]];
        }
    __syncthreads();
    for (int i = threadIdx.y; i < TILE && view + i < buffers.n_views; i += TILE_WARPS)
        if (d + threadIdx.x < buffers.n_detectors)
            out[(view + i) * buffers.n_detectors + d + threadIdx.x] =
                ts_cuda_value_of<T>(tile[i][threadIdx.x], buffers.flip);
}

/* ---- sort ------------------------------------------------------------------------------------ */

static __device__ int place_of(int i)
{
    return i + i / WORDS;
}

static __device__ void order(uint64_t &a, uint64_t &b, bool falling)
{
    const bool exchange = (a > b) != falling;
    const uint64_t low = exchange ? b : a;
    b = exchange ? a : b;
    a = low;
}

/* Takes COUNT words that are `distance` apart through the steps of the network with distances
 * distance * COUNT / 2 ... distance. */
template <int COUNT>
static __device__ void merge_words(uint64_t *words, int first, int distance, bool falling)
{
    uint64_t w[COUNT];
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        w[i] = words[place_of(first + i * distance)];
#pragma unroll
    for (int step = COUNT / 2; step > 0; step /= 2)
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            if (!(i & step))
                order(w[i], w[i + step], falling);
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        words[place_of(first + i * distance)] = w[i];
}

/* A thread does COUNT words of one group of `distance * COUNT` words. */
template <int COUNT>
static __device__ void merge_step(uint64_t *words, int n, int length, int distance)
{
    for (int i = threadIdx.x; i < n / COUNT; i += blockDim.x) {
        const int first = i / distance * (distance * COUNT) + i % distance;
        merge_words<COUNT>(words, first, distance, first & length);
    }
    __syncthreads();
}

/* Each thread sorts runs of 16 words by the same network. */
static __device__ void sort_runs(uint64_t *words, int n)
{
    for (int i = threadIdx.x; i < n / WORDS; i += blockDim.x) {
        uint64_t w[WORDS];
#pragma unroll
        for (int j = 0; j < WORDS; j++)
            w[j] = words[place_of(i * WORDS + j)];
#pragma unroll
        for (int length = 2; length <= WORDS; length *= 2)
#pragma unroll
            for (int step = length / 2; step > 0; step /= 2)
#pragma unroll
                for (int j = 0; j < WORDS; j++)
                    if (!(j & step))
                        order(w[j], w[j + step], length == WORDS ? i & 1 : j & length);
#pragma unroll
        for (int j = 0; j < WORDS; j++)
            words[place_of(i * WORDS + j)] = w[j];
    }
    __syncthreads();
}

/* Sorts n words; n is a power of two, at least WORDS. */
static __device__ void sort_words(uint64_t *words, int n)
{
    sort_runs(words, n);
    for (int length = 2 * WORDS; length <= n; length *= 2)
        for (int top = length; top > 1;) {
            /* Each pass does up to four steps of the network, on 2^steps words. The first pass
             * does the remainder by four, so that all later ones do four steps on 16 words. */
            int steps = 31 - __clz(top);
            steps = steps % 4 ? steps % 4 : 4;
            const int distance = top >> steps;
            if (steps == 4)
                merge_step<16>(words, n, length, distance);
            else if (steps == 3)
                merge_step<8>(words, n, length, distance);
            else if (steps == 2)
                merge_step<4>(words, n, length, distance);
            else
                merge_step<2>(words, n, length, distance);
            top = distance;
        }
}

static __global__ void sort_columns(struct ring_buffers buffers, int places)
{
    extern __shared__ uint64_t words[];
    const int64_t column = (int64_t)blockIdx.x * buffers.n_views;
    const int n = (int)buffers.n_views;
    for (int view = threadIdx.x; view < places; view += blockDim.x)
        words[place_of(view)] =
            view < n ? (uint64_t)((uint32_t)buffers.keys[column + view] ^ 0x80000000u) << 32 |
                           (uint32_t)view
                     : UINT64_MAX;
    __syncthreads();
    sort_words(words, places);
    /* Ranks are sorted by view through the memory of the sorted words. */
    uint64_t *own = words;
    for (int rank = threadIdx.x; rank < n; rank += blockDim.x) {
        const uint64_t word = own[place_of(rank)];
        buffers.sorted[column + rank] = (int32_t)((uint32_t)(word >> 32) ^ 0x80000000u);
        buffers.ranks[column + (uint32_t)word] = (uint16_t)rank;
    }
}

/* ---- medians --------------------------------------------------------------------------------- */

/* A window has CAPACITY sorted keys, an odd number. If there are fewer keys, as many lowest as
 * highest keys fill it up. */
template <int CAPACITY> static __device__ void remove_key(int32_t window[CAPACITY], int32_t key)
{
#pragma unroll
    for (int i = 0; i + 1 < CAPACITY; i++)
        window[i] = window[i] < key ? window[i] : window[i + 1];
    window[CAPACITY - 1] = INT32_MAX;
}

/* Inserts a key; the last one is dropped. */
template <int CAPACITY> static __device__ void insert_key(int32_t window[CAPACITY], int32_t key)
{
#pragma unroll
    for (int i = CAPACITY - 1; i > 0; i--)
        window[i] = max(window[i - 1], min(window[i], key));
    window[0] = min(window[0], key);
}

template <int CAPACITY>
static __global__ void __launch_bounds__(RANKS) find_medians(struct ring_buffers buffers, int size)
{
    const int64_t rank = (int64_t)blockIdx.x * RANKS + threadIdx.x,
                  first = (int64_t)blockIdx.y * RUN;
    const int64_t slice = (int64_t)blockIdx.z * buffers.n_views * buffers.n_detectors,
                  n = buffers.n_detectors;
    if (rank >= buffers.n_views)
        return;
    const int32_t *sorted = buffers.sorted + slice + rank;
    int32_t *medians = buffers.keys + slice + rank;
    const int half = size / 2, around = (CAPACITY - size) / 2;
    int32_t window[CAPACITY];
#pragma unroll
    for (int i = 0; i < CAPACITY; i++)
        window[i] = i < around ? INT32_MIN : INT32_MAX;
    for (int i = 0; i < size; i++)
        insert_key<CAPACITY>(
            window,
            sorted[ts_cuda_border_index(first - half + i, n, BORDER_REFLECT) * buffers.n_views]);
    medians[first * buffers.n_views] = window[CAPACITY / 2];
    for (int64_t d = first + 1; d < first + RUN && d < n; d++) {
        const int32_t leaves =
            sorted[ts_cuda_border_index(d - half - 1, n, BORDER_REFLECT) * buffers.n_views];
        const int32_t enters =
            sorted[ts_cuda_border_index(d + half, n, BORDER_REFLECT) * buffers.n_views];
        remove_key<CAPACITY>(window, leaves);
        insert_key<CAPACITY>(window, enters);
        medians[d * buffers.n_views] = window[CAPACITY / 2];
    }
}

/* ---- launch ---------------------------------------------------------------------------------- */

static enum ts_status smooth(const struct stage_context *context,
                             const struct ring_buffers *buffers, int64_t n, cudaStream_t stream)
{
    const int size = (int)((const struct ring_params *)context->params)->size;
    const dim3 blocks((unsigned)ts_cuda_parts(buffers->n_views, RANKS),
                      (unsigned)ts_cuda_parts(buffers->n_detectors, RUN), (unsigned)n);
    if (size <= 7)
        find_medians<7><<<blocks, RANKS, 0, stream>>>(*buffers, size);
    else if (size <= 21)
        find_medians<21><<<blocks, RANKS, 0, stream>>>(*buffers, size);
    else if (size <= 63)
        find_medians<63><<<blocks, RANKS, 0, stream>>>(*buffers, size);
    else
        find_medians<RING_LARGEST><<<blocks, RANKS, 0, stream>>>(*buffers, size);
    return ts_cuda_launched(context, "find_medians");
}

static enum ts_status sort(const struct stage_context *context, const struct ring_buffers *buffers,
                           int64_t n, cudaStream_t stream)
{
    const size_t bytes = ts_ring_column_bytes(buffers->n_views);
    const enum ts_status status = ts_cuda_shared(context, (const void *)sort_columns, bytes);
    const int places = ts_ring_places(buffers->n_views);
    int threads = places / WORDS;
    threads = (int)ts_clamp(threads, TILE, 512);
    if (status != TS_OK)
        return status;
    sort_columns<<<(unsigned)(n * buffers->n_detectors), threads, bytes, stream>>>(*buffers,
                                                                                   places);
    return ts_cuda_launched(context, "sort_columns");
}

template <typename T>
static enum ts_status clean(const struct stage_context *context, const T *in, T *out,
                            const struct ring_buffers *buffers, int64_t n, cudaStream_t stream)
{
    const dim3 tiles((unsigned)ts_cuda_parts(buffers->n_detectors, TILE),
                     (unsigned)ts_cuda_parts(buffers->n_views, TILE), (unsigned)n);
    const dim3 threads(TILE, TILE_WARPS);
    find_keys<T><<<tiles, threads, 0, stream>>>(in, *buffers);
    enum ts_status status = ts_cuda_launched(context, "find_keys");
    if (status == TS_OK)
        status = sort(context, buffers, n, stream);
    if (status == TS_OK)
        status = smooth(context, buffers, n, stream);
    if (status != TS_OK)
        return status;
    put_back<T><<<tiles, threads, 0, stream>>>(out, *buffers);
    return ts_cuda_launched(context, "put_back");
}

static enum ts_status ring_map(const struct stage_context *context, const struct ts_image *in,
                               struct ts_image *out, const struct cuda_call *call)
{
    if (by_wavelet(context))
        return ts_cuda_ring_wavelet(context, in, out, call);
    const int64_t n = out->axes[0].n, at_once = slices_at_once(n);
    const size_t slice = ts_slice_bytes(in), count = ts_slice_count(in) * (size_t)at_once;
    struct ring_buffers buffers = {.n_views = in->axes[1].n,
                                   .n_detectors = in->axes[2].n,
                                   .flip = ts_cuda_key_flip(in->dtype)};
    buffers.keys = (int32_t *)call->scratch;
    buffers.sorted = (int32_t *)((char *)buffers.keys + ts_cuda_stride(count * sizeof(int32_t)));
    buffers.ranks = (uint16_t *)((char *)buffers.sorted + ts_cuda_stride(count * sizeof(int32_t)));
    enum ts_status status = TS_OK;
    for (int64_t z = 0; status == TS_OK && z < n; z += at_once) {
        const int64_t some = n - z < at_once ? n - z : at_once;
        const char *from = (const char *)in->data + (size_t)z * slice;
        char *to = (char *)out->data + (size_t)z * slice;
#define CLEAN(T) status = clean<T>(context, (const T *)from, (T *)to, &buffers, some, call->stream)
        TS_CUDA_BIT_TYPES(in->dtype, CLEAN)
#undef CLEAN
    }
    return status;
}

const struct stage_cuda ring_cuda = {.constants_bytes = constants_bytes,
                                     .constants = ring_constants,
                                     .scratch_bytes = scratch_bytes,
                                     .map = ring_map,
                                     .reduction = &ts_cuda_finite_reduction};
