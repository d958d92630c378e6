/* SPDX-License-Identifier: Apache-2.0
 *
 * equalize on a CUDA device. 8- and 16-bit images without a reference stay there: value_counts.cuh
 * counts every value, and kernels of this file make the maps and apply them. For all others, the
 * host makes the maps from the counts: images with a reference or with pixels that are left out,
 * and values in bins, whose edges follow from the range (value_range.cuh, table_job.cuh).
 */
#include <cooperative_groups.h>

#include "cuda/counting/table_job.cuh"
#include "cuda/counting/value_counts.cuh"
#include "cuda/device/launch.cuh"
#include "cuda/values/reductions.cuh"
#include "cuda/values/value_range.cuh"

extern "C" {
#include "cuda/device/device.h"
#include "stages/engine/traits.h"
#include "stages/engine/validity.h"
#include "stages/histogram/equalize.h"
#include "stages/values/scope.h"
}

/* ---- equalize ----------------------------------------------------------------------------------
 *
 * The files of equalize share this: the result that the finish on the device writes, and the
 * launches of its parts. */

/* A result made on the device. Entries follow, one for each key: floats (scikit-image's rule), or
 * values of the image's type (OpenCV's). Entries outside [low, high] have no meaning. */
struct cuda_value_map {
    uint32_t low, high; /* keys of the lowest and the highest value */
    uint32_t reserved[2];
};

static inline bool ts_cuda_equalize_levels(const struct stage_context *context)
{
    return ((const struct equalize_params *)context->params)->method == EQUALIZE_OPENCV;
}

/* The maps of a slab. */
struct cuda_maps {
    const char *results; /* on the device */
    size_t stride;       /* bytes from one slice's result to the next; 0: one result for all */
    bool made_on_device; /* true: results are struct cuda_value_map; false: struct
                          * equalize_result */
};

/* ---- equalize bins -----------------------------------------------------------------------------
 *
 * Sends floats and 32-bit integers through the map that the host made of their bins, as equalize.c
 * does: linear between the middles of the bins, or the entry of the bin that a value was counted in
 * (if each integer has a bin of its own, or if there is a reference).
 *
 * A thread maps one value at a time. Memory traffic: 4 bytes read and 4 written a pixel; the map
 * lies in the caches. 256 threads a block, because the registers of the double arithmetic are the
 * limit.  */

enum { THREADS = 256, VALUES_A_THREAD = 8 };

static __device__ inline float map_linear(const struct bins &bins, const double *map, double value)
{
    const double middle = bins.low + bins.step / 2, last = (double)(bins.n - 1);
    const double at = (value - middle) * bins.per_value,
                 inside = at > 0 ? at < last ? at : last : 0;
    const int32_t left = (int32_t)(inside < last ? inside : last - 1);
    const double mapped = map[left] + (map[left + 1] - map[left]) * (inside - (double)left);
    return (float)(value == value ? mapped : value);
}

/* Infinite values take the entries at the ends; NaN stays NaN. */
static __device__ inline float map_step(const struct bins &bins, const double *map, double value)
{
    const int64_t bin = ts_cuda_bin_slot(bins, value) - 1;
    return bin > bins.n ? NAN : (float)map[bin < 0 ? 0 : bin < bins.n ? bin : bins.n - 1];
}

/* The grid counts values and maps. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    map_bins(const T *in, float *out, size_t count, const char *results, size_t stride, bool steps)
{
    const struct equalize_result *result =
        (const struct equalize_result *)(results + blockIdx.y * stride);
    const struct bins bins = result->bins[0];
    const double *map = (const double *)(result + 1);
    const bool step_by_step = steps || result->single[0];
    in += blockIdx.y * count;
    out += blockIdx.y * count;
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < count;
         i += (size_t)gridDim.x * THREADS) {
        const double value = (double)in[i];
        out[i] = step_by_step ? map_step(bins, map, value) : map_linear(bins, map, value);
    }
}

static enum ts_status equalize_bins(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct cuda_maps *maps,
                                    const struct cuda_call *call)
{
    const int64_t n = maps->stride ? out->axes[0].n : 1,
                  most = 65535; /* limit of blocks along y of a grid */
    const size_t count = maps->stride ? ts_slice_count(out) : ts_image_count(out);
    const int64_t blocks = ts_cuda_parts((int64_t)count, (int64_t)THREADS * VALUES_A_THREAD),
                  limit = INT32_MAX;
    const bool steps = context->references[0] != NULL;
    enum ts_status status = TS_OK;
    for (int64_t z = 0; status == TS_OK && z < n; z += most) {
        const dim3 grid((unsigned)(blocks < limit ? blocks : limit),
                        (unsigned)(n - z < most ? n - z : most));
        const size_t first = (size_t)z * count;
        const char *results = maps->results + (size_t)z * maps->stride;
#define MAP(type)                                                                                  \
    map_bins<type><<<grid, THREADS, 0, call->stream>>>((const type *)in->data + first,             \
                                                       (float *)out->data + first, count, results, \
                                                       maps->stride, steps)
        TS_CUDA_DTYPES_32(in->dtype, MAP)
#undef MAP
        status = ts_cuda_launched(context, "equalize: bins");
    }
    return status;
}

/* ---- equalize values ---------------------------------------------------------------------------
 *
 * out[i] = map[in[i]] for 8- and 16-bit images: one map for all pixels, or one a slice.
 *
 * A block holds as much of the map in shared memory as fits, from the lowest value that occurs on;
 * other entries come from the caches, and so do all if the block has fewer pixels than the map has
 * entries. If floats do not fit, each takes 3 bytes: the map only rises from key to key, so four
 * neighbors are stored as the first one's bits and differences of 16 bits; if these are too small,
 * the four come from the caches. A thread takes some groups of 16 bytes at a time. Memory traffic:
 * each pixel is read and written once. One block of 1,024 threads a multiprocessor, since the map
 * of all 16-bit values takes half of its shared memory. */

enum { VALUES_THREADS = 1024, SMALL_THREADS = 128 };

struct value_job {
    const char *maps;
    size_t stride,
        entries;  /* bytes from one map to the next; bytes from a map's start to its entries */
    size_t range; /* bytes from a map's start to the lowest and highest key that occur */
    uint32_t bias, capacity; /* a key is value xor bias; capacity: number of entries that shared
                              * memory holds */
    uint32_t near_capacity;  /* number of entries that it holds with 3 bytes each; 0: they are not
                              * stored so */
    int64_t count, n_maps, chunks; /* pixels that one map serves; number of maps; chunks into which
                                    * these pixels are cut */
    int64_t phase, out_phase; /* place of the first pixel in its group of 16 bytes, when it is read
                               * and when it is written */
};

template <typename ENTRY> struct window {
    const ENTRY *shared, *all;
    uint32_t base, n;
    const uint32_t *firsts; /* bits of the first of each NEAR entries, or far_entries; NULL: entries
                             * are stored as they are */
    const uint16_t *differences;
};

enum { NEAR = 4, NEAR_BYTES = sizeof(uint32_t) + NEAR * sizeof(uint16_t) };
static const uint32_t far_entries = 0xFFFFFFFFu;

/* `near` is true if entries are stored in 3 bytes. */
template <bool near, typename ENTRY>
static __device__ inline ENTRY look_up(const struct window<ENTRY> &window, uint32_t key)
{
    const uint32_t at = key - window.base;
    if constexpr (near) {
        const uint32_t first = window.firsts[at / NEAR];
        return first != far_entries ? __uint_as_float(first + window.differences[at])
                                    : __ldg(window.all + key);
    } else {
        return at < window.n ? window.shared[at] : __ldg(window.all + key);
    }
}

/* Stores four neighboring entries with 3 bytes each. Entries outside of the range that occurs may
 * be anything. */
static __device__ inline void store_near(const uint4 &bits, uint32_t *first, uint16_t *differences)
{
    const uint32_t y = bits.y - bits.x, z = bits.z - bits.x, w = bits.w - bits.x;
    *first = max(max(y, z), w) > 0xFFFF ? far_entries : bits.x;
    *(uint2 *)differences = make_uint2(y << 16, __byte_perm(z, w, 0x5410));
}

/* Loads the window of floats with 3 bytes each. All threads of the block call it. */
static __device__ void load_near(uint32_t span, uint4 *shared, struct window<float> *window)
{
    const uint32_t groups = (span + NEAR - 1) / NEAR;
    uint32_t *firsts = (uint32_t *)shared;
    uint16_t *differences = (uint16_t *)(firsts + (groups + 1) / 2 * 2);
    for (uint32_t i = threadIdx.x; i < groups; i += blockDim.x)
        store_near(__ldg((const uint4 *)(window->all + window->base) + i), &firsts[i],
                   differences + i * NEAR);
    window->firsts = firsts;
    window->differences = differences;
    __syncthreads();
}

template <typename ENTRY>
static __device__ void load_window(const struct value_job &job, int64_t map, int64_t pixels,
                                   uint4 *shared, struct window<ENTRY> *window)
{
    enum { PER_GROUP = 16 / sizeof(ENTRY) };
    const char *start = job.maps + (size_t)map * job.stride;
    const uint32_t *range = (const uint32_t *)(start + job.range);
    window->all = (const ENTRY *)(start + job.entries);
    window->shared = (const ENTRY *)shared;
    window->base = range[0] / PER_GROUP * PER_GROUP;
    const uint32_t span = range[1] - window->base + 1;
    window->n = (int64_t)span > pixels
                    ? 0
                    : min((span + PER_GROUP - 1) / PER_GROUP * PER_GROUP, job.capacity);
    window->firsts = NULL;
    __syncthreads();
    if constexpr (sizeof(ENTRY) == sizeof(float))
        if (window->n < span && window->n > 0 && span <= job.near_capacity) {
            load_near(span, shared, window);
            return;
        }
    for (uint32_t i = threadIdx.x; i < window->n / PER_GROUP; i += blockDim.x)
        shared[i] = __ldg((const uint4 *)(window->all + window->base) + i);
    __syncthreads();
}

template <bool can_be_near, typename ENTRY>
static __device__ inline ENTRY look_up_any(const struct window<ENTRY> &window, uint32_t key)
{
    return can_be_near && window.firsts ? look_up<can_be_near>(window, key)
                                        : look_up<false>(window, key);
}

template <bool near, typename T, typename ENTRY>
static __device__ inline void map_group(const uint4 &group, const struct window<ENTRY> &window,
                                        uint32_t bias, ENTRY *out)
{
    enum { N = 16 / sizeof(T), BITS = 8 * sizeof(T) };
    const uint32_t words[4] = {group.x, group.y, group.z, group.w};
    __align__(16) ENTRY mapped[N];
#pragma unroll
    for (int i = 0; i < N; i++)
        mapped[i] = look_up<near>(
            window, (words[i * sizeof(T) / 4] >> (i * BITS % 32) & ((1u << BITS) - 1)) ^ bias);
#pragma unroll
    for (int i = 0; i < (int)(sizeof mapped / 16); i++)
        __stcs((uint4 *)out + i, ((const uint4 *)mapped)[i]);
}

/* Returns how many groups a thread has in flight. */
template <typename ENTRY> static __host__ __device__ constexpr int flight(void)
{
    return sizeof(ENTRY) == 4 ? 2 : 4;
}

/* T is the unsigned type of a pixel. With one map, a block takes every gridDim-th chunk; else it
 * takes neighboring chunks, so that it seldom changes its map. Blocks begin with the last chunks,
 * which were counted last and may still be in the cache. */
template <typename T, typename ENTRY>
static __global__ void __launch_bounds__(VALUES_THREADS, 1)
    map_values(const T *all_in, ENTRY *all_out, struct value_job job)
{
    enum { N = 16 / sizeof(T), FLIGHT = flight<ENTRY>() };
    constexpr bool can_be_near = sizeof(T) == 2 && sizeof(ENTRY) == sizeof(float);
    extern __shared__ uint4 shared[];
    const int64_t all = job.n_maps * job.chunks, chunk_groups = (int64_t)blockDim.x * FLIGHT,
                  block = blockIdx.x;
    const int64_t first = block * all / gridDim.x, end = (block + 1) * all / gridDim.x;
    const bool one_map = job.n_maps == 1;
    const int64_t mine = one_map ? (all - 1 - block) / gridDim.x + 1 : end - first;
    int64_t current = -1;
    struct window<ENTRY> window {
    };
    for (int64_t i = 0; i < mine; i++) {
        const int64_t chunk = one_map ? all - 1 - block - i * gridDim.x : end - 1 - i,
                      equalize_map = chunk / job.chunks;
        if (equalize_map != current)
            load_window(job, equalize_map, (mine - i) * chunk_groups * N, shared, &window);
        current = equalize_map;
        const int64_t phase = (job.phase + equalize_map * job.count) % N, past = job.count + phase;
        const bool aligned = (job.out_phase + equalize_map * job.count) % N == phase;
        const T *in = all_in + equalize_map * job.count - phase; /* start of the first group; pixels
                                                                  * are at [phase, past) */
        ENTRY *out = all_out + equalize_map * job.count - phase;
        int64_t at = ((chunk - equalize_map * job.chunks) * chunk_groups + threadIdx.x) * N;
        uint4 groups[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            if (at + (int64_t)i * blockDim.x * N >= phase &&
                at + ((int64_t)i * blockDim.x + 1) * N <= past)
                groups[i] = __ldcs((const uint4 *)(in + at + (int64_t)i * blockDim.x * N));
#pragma unroll
        for (int i = 0; i < FLIGHT; i++, at += (int64_t)blockDim.x * N)
            if (at < phase || at + N > past || !aligned)
                for (int64_t j = at < phase ? phase : at; j < at + N && j < past; j++)
                    out[j] = look_up_any<can_be_near>(window, (uint32_t)in[j] ^ job.bias);
            else if (can_be_near && window.firsts)
                map_group<can_be_near, T>(groups[i], window, job.bias, out + at);
            else
                map_group<false, T>(groups[i], window, job.bias, out + at);
    }
}

template <typename T, typename ENTRY>
static enum ts_status equalize_launch(const struct stage_context *context,
                                      const struct ts_image *in, struct ts_image *out,
                                      struct value_job job, bool grows,
                                      const struct cuda_call *call)
{
    const struct device_numbers *device = context->device;
    const int64_t per_group = 16 / sizeof(T), flights = flight<ENTRY>();
    const bool small =
        job.count * job.n_maps < device->multiprocessors * VALUES_THREADS * flights * per_group;
    const int threads = small ? SMALL_THREADS : VALUES_THREADS;
    const size_t capacity = (size_t)device->block_shared_bytes / 16 * 16;
    const size_t table = (size_t)ts_value_counts_keys(in->dtype) * sizeof(ENTRY);
    size_t shared = table < capacity ? table : capacity;
    if (small)
        shared = 0;
    job.phase = (int64_t)((uintptr_t)in->data / sizeof(T)) % per_group;
    job.out_phase = (int64_t)((uintptr_t)out->data / sizeof(ENTRY)) % per_group;
    job.chunks = ts_cuda_parts(job.count + per_group - 1, threads * flights * per_group);
    job.capacity = (uint32_t)(shared / sizeof(ENTRY));
    job.near_capacity = grows ? (uint32_t)(shared / NEAR_BYTES * NEAR) : 0;
    const int64_t chunks = job.n_maps * job.chunks, processors = device->multiprocessors;
    const int64_t blocks = small || chunks < processors ? chunks : processors;
    enum ts_status status = TS_OK;
    if (shared > 48 << 10)
        status = ts_cuda_shared(context, (const void *)map_values<T, ENTRY>, shared);
    if (status != TS_OK)
        return status;
    map_values<T, ENTRY><<<(unsigned)blocks, threads, shared, call->stream>>>(
        (const T *)in->data, (ENTRY *)out->data, job);
    return ts_cuda_launched(context, "equalize: values");
}

/* Enqueue the map of a slab: for values that are counted one by one, and for others. */
static enum ts_status equalize_values(const struct stage_context *context,
                                      const struct ts_image *in, struct ts_image *out,
                                      const struct cuda_maps *maps, const struct cuda_call *call)
{
    const bool on_device = maps->made_on_device, wide = ts_dtype_bytes(in->dtype) == 2;
    struct value_job job = {};
    job.maps = maps->results;
    job.stride = maps->stride;
    job.entries = on_device ? sizeof(struct cuda_value_map) : sizeof(struct equalize_result);
    job.range =
        on_device ? offsetof(struct cuda_value_map, low) : offsetof(struct equalize_result, low);
    job.bias = ts_dtype_sign_bit(in->dtype);
    job.n_maps = maps->stride ? out->axes[0].n : 1;
    job.count = (int64_t)(maps->stride ? ts_slice_count(out) : ts_image_count(out));
    if (ts_cuda_equalize_levels(context))
        return wide ? equalize_launch<uint16_t, uint16_t>(context, in, out, job, on_device, call)
                    : equalize_launch<uint8_t, uint8_t>(context, in, out, job, on_device, call);
    return wide ? equalize_launch<uint16_t, float>(context, in, out, job, on_device, call)
                : equalize_launch<uint8_t, float>(context, in, out, job, on_device, call);
}

/* ---- equalize finish ---------------------------------------------------------------------------
 *
 * These kernels make maps from counts: the fraction of values that are v or below, or OpenCV's
 * level, rounded as in stages/histogram/equalize.c.
 *
 * A cluster of blocks (one block for 256 keys, for many slices, or if the device has no clusters)
 * makes one map; a thread sums eight neighboring keys at a time, and keeps their counts in
 * registers if it has no others. Memory traffic: 8 bytes read for each key of a volume's map, 4 of
 * a slice's, and 1 to 4 written. Blocks have 1,024 threads where few blocks make a map, and 256 if
 * many maps keep the device busy. */

enum { FINISH_THREADS = 1024, FEW_THREADS = 256, KEYS = 8, CLUSTER = 8, MANY_SLICES = 64 };

struct finish_job {
    const char *partials;
    size_t partial_stride, result_stride;
    char *results;
    unsigned long long total; /* number of pixels that a map is made from */
    uint32_t n_keys, bias, blocks, threads;
};

/* The sum and the range of a block's keys. */
struct part {
    unsigned long long sum;
    uint32_t low, high;        /* all keys that occur are between these; low > high: none occurs */
    unsigned long long lowest; /* count of key `low` */
};

/* Loads the counts of the eight keys that start with `key`, 0 for keys outside [low, high]. */
static __device__ inline void load_counts(const unsigned long long *counts, uint32_t key, uint32_t,
                                          uint32_t, unsigned long long loaded[KEYS])
{
#pragma unroll
    for (int i = 0; i < KEYS; i += 2) {
        const ulonglong2 two = *(const ulonglong2 *)(counts + key + i);
        loaded[i] = two.x;
        loaded[i + 1] = two.y;
    }
}

static __device__ inline void load_counts(const uint32_t *counts, uint32_t key, uint32_t low,
                                          uint32_t high, uint32_t loaded[KEYS])
{
#pragma unroll
    for (int i = 0; i < KEYS; i += 4) {
        const uint4 four = *(const uint4 *)(counts + key + i);
        loaded[i] = four.x;
        loaded[i + 1] = four.y;
        loaded[i + 2] = four.z;
        loaded[i + 3] = four.w;
    }
#pragma unroll
    for (uint32_t i = 0; i < KEYS; i++)
        loaded[i] = key + i >= low && key + i <= high ? loaded[i] : 0;
}

/* Widens the range of the block by what a warp has seen. */
static __device__ inline void join_range(uint32_t low, uint32_t high, struct part *part)
{
    low = ts_cuda_warp_lowest(low);
    high = ts_cuda_warp_highest(high);
    if (threadIdx.x % CUDA_WARP == 0 && low <= high) {
        atomicMin(&part->low, low);
        atomicMax(&part->high, high);
    }
}

/* Finds the sum and the range of the keys [begin, end) of the block, which are valid after the next
 * barrier. `loaded` becomes the last counts of this thread. */
template <typename COUNT>
static __device__ void describe_part(const COUNT *counts, uint32_t begin, uint32_t end,
                                     uint32_t low, uint32_t high, unsigned long long *warp_sums,
                                     struct part *part, COUNT loaded[KEYS])
{
    unsigned long long sum = 0, own_count = 0;
    uint32_t own_low = 0xFFFFFFFFu, own_high = 0;
    if (threadIdx.x == 0)
        *part = (struct part){0, own_low, own_high, 0};
    for (uint32_t key = begin + threadIdx.x * KEYS; key < end; key += blockDim.x * KEYS) {
        load_counts(counts, key, low, high, loaded);
#pragma unroll
        for (uint32_t i = 0; i < KEYS; i++) {
            sum += loaded[i];
            if (loaded[i] && own_low > own_high)
                own_low = key + i, own_count = loaded[i];
            own_high = loaded[i] ? key + i : own_high;
        }
    }
    sum = block_sum(sum, warp_sums); /* contains barriers */
    join_range(own_low, own_high, part);
    __syncthreads();
    if (own_low == part->low && own_low <= own_high)
        part->lowest = own_count;
    if (threadIdx.x == 0)
        part->sum = sum;
}

/* Joins the parts of the cluster: *part becomes the map's range, with the sum of all keys before
 * this block's. */
static __device__ void join_parts(struct part *shared_part, struct part *part)
{
#if __CUDA_ARCH__ >= 900
    namespace groups = cooperative_groups;
    const groups::cluster_group cluster = groups::this_cluster();
    const unsigned rank = cluster.block_rank(), n = cluster.num_blocks();
    cluster.sync();
    *part = (struct part){0, 0xFFFFFFFFu, 0, 0};
#pragma unroll
    for (unsigned i = 0; i < CLUSTER; i++) {
        if (i >= n)
            break;
        const struct part other = *cluster.map_shared_rank(shared_part, i);
        part->sum += i < rank ? other.sum : 0;
        part->lowest = other.low < part->low ? other.lowest : part->lowest;
        part->low = min(part->low, other.low);
        part->high = max(part->high, other.high);
    }
    cluster.sync(); /* no block may end while another one reads its part */
#else
    __syncthreads();
    *part = *shared_part;
    part->sum = 0;
#endif
}

struct levels {
    unsigned long long total, lowest; /* lowest: count of the lowest value */
    uint32_t low, n_keys, bias;
};

static __device__ inline void set_entry(float *entry, unsigned long long below,
                                        const struct levels &levels)
{
    *entry = levels.total ? (float)((double)below / (double)levels.total) : 0;
}

/* Sets an entry by OpenCV's rule. If an image has only one value, that value stays as it is. */
template <typename T>
static __device__ inline void set_entry(T *entry, unsigned long long below,
                                        const struct levels &levels)
{
    const unsigned long long above = below > levels.lowest ? below - levels.lowest : 0;
    const uint32_t key = levels.lowest == levels.total
                             ? levels.low
                             : ts_value_level(above, levels.total - levels.lowest, levels.n_keys);
    *entry = (T)(key ^ levels.bias);
}

/* Counts of 4 bytes belong to a slice, and are behind a struct cuda_slice_counts. */
template <typename COUNT, typename ENTRY>
static __global__ void __launch_bounds__(FINISH_THREADS) make_maps(struct finish_job job)
{
    __shared__ unsigned long long warp_sums[CUDA_BLOCK_WARPS];
    __shared__ struct part shared_part;
    const uint32_t map = blockIdx.x / job.blocks, rank = blockIdx.x % job.blocks;
    const char *partial = job.partials + map * job.partial_stride;
    const bool of_slice = sizeof(COUNT) == 4;
    const struct cuda_slice_counts *slice = (const struct cuda_slice_counts *)partial;
    const COUNT *counts = (const COUNT *)(of_slice ? (const char *)slice->counts : partial);
    const uint32_t per_block = job.n_keys / job.blocks, begin = rank * per_block,
                   end = begin + per_block;
    struct part part = {0, 0, job.n_keys - 1, 0};
    if (of_slice) {
        part.low = slice->low;
        part.high = slice->high;
    }
    const uint32_t low = part.low, high = part.high; /* counts are valid in this range */
    const bool described = !of_slice || job.blocks > 1;
    COUNT loaded[KEYS] = {0};
    if (described) {
        describe_part(counts, begin, end, low, high, warp_sums, &shared_part, loaded);
        join_parts(&shared_part, &part);
    } else {
        part.lowest = counts[low];
    }
    struct cuda_value_map *result =
        (struct cuda_value_map *)(job.results + map * job.result_stride);
    ENTRY *entries = (ENTRY *)(result + 1);
    if (rank == 0 && threadIdx.x == 0)
        *result = (struct cuda_value_map){part.low, part.high, {0, 0}};
    const struct levels levels = {job.total, part.lowest, part.low, job.n_keys, job.bias};
    unsigned long long before = part.sum, total;
    const uint32_t step = blockDim.x * KEYS;
    for (uint32_t first = begin; first < end && first <= part.high; first += step) {
        if (first + step <= part.low)
            continue;
        const uint32_t key = first + threadIdx.x * KEYS;
        const bool inside = key < end && key <= part.high && key + KEYS > part.low;
        unsigned long long sum = 0;
        if (inside && !(described && per_block <= step)) /* else the counts are still in
                                                          * registers */
            load_counts(counts, key, low, high, loaded);
#pragma unroll
        for (int i = 0; i < KEYS; i++)
            sum += inside ? loaded[i] : 0;
        unsigned long long below = before + block_exclusive_sum(sum, warp_sums, &total);
        before += total;
        __align__(16) ENTRY made[KEYS];
#pragma unroll
        for (int i = 0; i < KEYS; i++) {
            below += loaded[i];
            set_entry(&made[i], below, levels);
        }
        for (int i = 0; inside && i < (int)(sizeof made / 8); i++)
            ((uint2 *)(entries + key))[i] = ((const uint2 *)made)[i];
    }
}

static size_t equalize_map_bytes(const struct stage_context *context)
{
    const size_t entry =
        ts_cuda_equalize_levels(context) ? ts_dtype_bytes(context->in.dtype) : sizeof(float);
    return sizeof(struct cuda_value_map) + ts_value_counts_keys(context->in.dtype) * entry;
}

template <typename COUNT, typename ENTRY>
static enum ts_status finish_launch(const struct stage_context *context,
                                    const struct finish_job *job, int64_t n,
                                    const struct cuda_call *call)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {job->blocks, 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)n * job->blocks);
    config.blockDim = dim3(job->threads);
    config.stream = call->stream;
    config.attrs = &attribute;
    config.numAttrs = job->blocks > 1 ? 1 : 0;
    cudaLaunchKernelEx(&config, make_maps<COUNT, ENTRY>, *job);
    return ts_cuda_launched(context, "equalize: maps");
}

/* Makes n results of struct cuda_value_map from the counts of the volume (per_slice false) or of
 * slices. */
static enum ts_status equalize_finish(const struct stage_context *context, const void *partials,
                                      bool per_slice, void *results, int64_t n,
                                      const struct cuda_call *call)
{
    const enum ts_dtype dtype = context->in.dtype;
    const uint32_t n_keys = ts_value_counts_keys(dtype);
    const bool wide = n_keys == VALUE_COUNTS_KEYS_16, levels = ts_cuda_equalize_levels(context);
    const bool clusters = context->device->code >= CUDA_CLUSTER_CODE && wide && n < MANY_SLICES;
    const struct finish_job job = {
        .partials = (const char *)partials,
        .partial_stride = ts_cuda_stride(ts_cuda_value_counts_bytes(dtype, per_slice)),
        .result_stride = ts_cuda_stride(equalize_map_bytes(context)),
        .results = (char *)results,
        .total = per_slice ? ts_slice_count(&context->in) : ts_image_count(&context->in),
        .n_keys = n_keys,
        .bias = levels ? ts_dtype_sign_bit(dtype) : 0,
        .blocks = clusters ? (uint32_t)CLUSTER : 1u,
        .threads = !wide || n >= MANY_SLICES ? (uint32_t)FEW_THREADS : (uint32_t)FINISH_THREADS,
    };
    if (per_slice)
        return !levels ? finish_launch<uint32_t, float>(context, &job, n, call)
               : wide  ? finish_launch<uint32_t, uint16_t>(context, &job, n, call)
                       : finish_launch<uint32_t, uint8_t>(context, &job, n, call);
    return !levels ? finish_launch<unsigned long long, float>(context, &job, n, call)
           : wide  ? finish_launch<unsigned long long, uint16_t>(context, &job, n, call)
                   : finish_launch<unsigned long long, uint8_t>(context, &job, n, call);
}

static bool by_value(const struct stage_context *context, int input)
{
    return ts_value_counts_fit(ts_stage_input(context, input)->dtype);
}

static bool in_slices(const struct stage_context *context, int input)
{
    return input == 0 && ts_scope_is_slice(context);
}

static bool ranging(const struct stage_context *context)
{
    return context->round + 1 < ts_stage_rounds(context);
}

static bool finishes(const struct stage_context *context)
{
    return by_value(context, 0) && !context->references[0] && !ts_stage_packs(context, 0);
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    if (input > 1)
        return 0;
    if (ranging(context))
        return by_value(context, input) ? 0 : sizeof(struct cuda_value_range);
    return by_value(context, input)
               ? ts_cuda_value_counts_bytes(ts_stage_input(context, input)->dtype,
                                            in_slices(context, input))
               : (ts_equalize_capacity(context, input) + BINS_EXTRA_SLOTS) *
                     sizeof(unsigned long long);
}

static size_t scratch_bytes(const struct stage_context *context, int input, int64_t n)
{
    const struct ts_image *image = input == 0 ? &context->in : context->references[input - 1];
    return by_value(context, input)
               ? ts_cuda_value_counts_scratch_bytes(context, image, in_slices(context, input), n)
               : 0;
}

static bool overwrites(const struct stage_context *context)
{
    return by_value(context, 0);
}

/* struct equalize_result starts with the bins */
static enum ts_status equalize_reduce(const struct stage_context *context, int input,
                                      const struct ts_image *slices, void *partials,
                                      const struct cuda_call *call)
{
    const bool slice_by_slice = in_slices(context, input);
    const size_t bytes = partial_bytes(context, input), stride = ts_cuda_stride(bytes);
    if (bytes == 0)
        return TS_OK;
    if (by_value(context, input))
        return ts_cuda_value_counts(context, slices, slice_by_slice, partials, call);
    if (ranging(context))
        return ts_cuda_value_range_add(context, slices, partials, slice_by_slice, stride, call);
    const struct equalize_result *result = (const struct equalize_result *)call->result;
    return ts_cuda_bin_counts_add(context, slices, &result->bins[input],
                                  ts_cuda_stride(context->stage->reduction->result_bytes(context)),
                                  ts_equalize_capacity(context, input), partials, slice_by_slice,
                                  stride, call);
}

static void equalize_collect(const struct stage_context *context, int input, const void *partial,
                             void *total)
{
    if (partial_bytes(context, input) == 0)
        return;
    if (by_value(context, input)) {
        ts_cuda_value_counts_collect(ts_stage_input(context, input)->dtype,
                                     in_slices(context, input), partial,
                                     (struct value_counts *)total);
    } else if (ranging(context)) {
        *(struct value_range *)total = ts_cuda_value_range_collect(
            (const struct cuda_value_range *)partial, ts_stage_input(context, input)->dtype);
    } else {
        struct bin_counts *counts = (struct bin_counts *)total;
        ts_bin_counts_init(counts, (int64_t)ts_equalize_capacity(context, input));
        memcpy(counts->slots, partial, counts->n_slots * sizeof *counts->slots);
    }
}

static enum ts_status finish(const struct stage_context *context, const void *partials,
                             void *results, int64_t n, const struct cuda_call *call)
{
    return equalize_finish(context, partials, in_slices(context, 0), results, n, call);
}

static const struct cuda_reduction reduction = {
    .partial_bytes = partial_bytes,
    .overwrites = overwrites,
    .scratch_bytes = scratch_bytes,
    .reduce = equalize_reduce,
    .collect = equalize_collect,
    .finishes = finishes,
    .result_bytes = equalize_map_bytes,
    .finish = finish,
};

static enum ts_status equalize_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, const struct cuda_call *call)
{
    const bool on_device = finishes(context);
    const size_t bytes =
        on_device ? equalize_map_bytes(context) : context->stage->reduction->result_bytes(context);
    const struct cuda_maps maps = {.results = (const char *)call->result,
                                   .stride = in_slices(context, 0) ? ts_cuda_stride(bytes) : 0,
                                   .made_on_device = on_device};
    return by_value(context, 0) ? equalize_values(context, in, out, &maps, call)
                                : equalize_bins(context, in, out, &maps, call);
}

const struct stage_cuda equalize_cuda = {
    .map = equalize_map,
    .reduction = &reduction,
};
