/* SPDX-License-Identifier: Apache-2.0
 *
 * out[i] = map[in[i]] for 8- and 16-bit images: one map for all pixels, or one a slice.
 *
 * A block holds the map in shared memory, from the lowest value that occurs on and as many entries as fit; the caches
 * serve the others, and all of them where the block has fewer pixels than the map entries. Floats of more keys than fit
 * are kept in 3 bytes each: shares of pixels only grow from key to key, so the bits of four neighbors are those of the
 * first plus differences of 16 bits; where these do not suffice the caches serve the four. A thread takes some groups
 * of 16 bytes at a time. Memory traffic: each pixel is read and written once. One block of 1,024 threads a
 * multiprocessor, since the map of all 16-bit values takes half of its shared memory.
 */
#include "cuda/histogram/equalize.cuh"

enum { THREADS = 1024, SMALL_THREADS = 128 };

struct value_job {
    const char *maps;
    size_t stride, entries;        /* bytes from a map to the next; bytes from a map's start to its entries */
    size_t range;                  /* bytes from a map's start to the lowest and highest key that occur */
    uint32_t bias, capacity;       /* a key is a value xor bias; capacity: entries that shared memory holds */
    uint32_t near_capacity;        /* entries that it holds in 3 bytes each; 0: they are not stored so */
    int64_t count, n_maps, chunks; /* pixels that one map serves; maps; chunks into which these pixels are cut */
    int64_t phase, out_phase;      /* position of the first pixel within its group of 16 bytes, read and written */
};

template <typename ENTRY> struct window {
    const ENTRY *shared, *all;
    uint32_t base, n;
    const uint32_t *firsts; /* bits of the first entry of each NEAR keys, or far_entries; NULL: entries as they are */
    const uint16_t *differences;
};

enum { NEAR = 4, NEAR_BYTES = sizeof(uint32_t) + NEAR * sizeof(uint16_t) };
static const uint32_t far_entries = 0xFFFFFFFFu;

/* `near` is set where the entries are stored in 3 bytes. */
template <bool near, typename ENTRY>
static __device__ inline ENTRY look_up(const struct window<ENTRY> &window, uint32_t key)
{
    const uint32_t at = key - window.base;
    if constexpr (near) {
        const uint32_t first = window.firsts[at / NEAR];
        return first != far_entries ? __uint_as_float(first + window.differences[at]) : __ldg(window.all + key);
    } else {
        return at < window.n ? window.shared[at] : __ldg(window.all + key);
    }
}

/* Stores four neighboring entries as near ones. Entries outside of the range that occurs may be anything. */
static __device__ inline void store_near(const uint4 &bits, uint32_t *first, uint16_t *differences)
{
    const uint32_t y = bits.y - bits.x, z = bits.z - bits.x, w = bits.w - bits.x;
    *first = max(max(y, z), w) > 0xFFFF ? far_entries : bits.x;
    *(uint2 *)differences = make_uint2(y << 16, __byte_perm(z, w, 0x5410));
}

/* Loads the window of floats as near entries. All threads of the block call it. */
static __device__ void load_near(uint32_t span, uint4 *shared, struct window<float> *window)
{
    const uint32_t groups = (span + NEAR - 1) / NEAR;
    uint32_t *firsts = (uint32_t *)shared;
    uint16_t *differences = (uint16_t *)(firsts + (groups + 1) / 2 * 2);
    for (uint32_t i = threadIdx.x; i < groups; i += blockDim.x)
        store_near(__ldg((const uint4 *)(window->all + window->base) + i), &firsts[i], differences + i * NEAR);
    window->firsts = firsts;
    window->differences = differences;
    __syncthreads();
}

template <typename ENTRY>
static __device__ void load_window(const struct value_job &job, int64_t map, int64_t pixels, uint4 *shared,
                                   struct window<ENTRY> *window)
{
    enum { PER_GROUP = 16 / sizeof(ENTRY) };
    const char *start = job.maps + (size_t)map * job.stride;
    const uint32_t *range = (const uint32_t *)(start + job.range);
    window->all = (const ENTRY *)(start + job.entries);
    window->shared = (const ENTRY *)shared;
    window->base = range[0] / PER_GROUP * PER_GROUP;
    const uint32_t span = range[1] - window->base + 1;
    window->n = (int64_t)span > pixels ? 0 : min((span + PER_GROUP - 1) / PER_GROUP * PER_GROUP, job.capacity);
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
    return can_be_near && window.firsts ? look_up<can_be_near>(window, key) : look_up<false>(window, key);
}

template <bool near, typename T, typename ENTRY>
static __device__ inline void map_group(const uint4 &group, const struct window<ENTRY> &window, uint32_t bias,
                                        ENTRY *out)
{
    enum { N = 16 / sizeof(T), BITS = 8 * sizeof(T) };
    const uint32_t words[4] = {group.x, group.y, group.z, group.w};
    __align__(16) ENTRY mapped[N];
#pragma unroll
    for (int i = 0; i < N; i++)
        mapped[i] = look_up<near>(window, (words[i * sizeof(T) / 4] >> (i * BITS % 32) & ((1u << BITS) - 1)) ^ bias);
#pragma unroll
    for (int i = 0; i < (int)(sizeof mapped / 16); i++)
        __stcs((uint4 *)out + i, ((const uint4 *)mapped)[i]);
}

/* Groups that a thread has in flight. */
template <typename ENTRY> static __host__ __device__ constexpr int flight(void)
{
    return sizeof(ENTRY) == 4 ? 2 : 4;
}

/* T is the unsigned type of a pixel. Where there is one map, blocks take every gridDim-th chunk; else each has
 * neighboring chunks, so that few change their map. They begin with the last chunks, which were counted last. */
template <typename T, typename ENTRY>
static __global__ void __launch_bounds__(THREADS, 1) map_values(const T *all_in, ENTRY *all_out, struct value_job job)
{
    enum { N = 16 / sizeof(T), FLIGHT = flight<ENTRY>() };
    constexpr bool can_be_near = sizeof(T) == 2 && sizeof(ENTRY) == sizeof(float);
    extern __shared__ uint4 shared[];
    const int64_t all = job.n_maps * job.chunks, chunk_groups = (int64_t)blockDim.x * FLIGHT, block = blockIdx.x;
    const int64_t first = block * all / gridDim.x, end = (block + 1) * all / gridDim.x;
    const bool one_map = job.n_maps == 1;
    const int64_t mine = one_map ? (all - 1 - block) / gridDim.x + 1 : end - first;
    int64_t current = -1;
    struct window<ENTRY> window {
    };
    for (int64_t i = 0; i < mine; i++) {
        const int64_t chunk = one_map ? all - 1 - block - i * gridDim.x : end - 1 - i, map = chunk / job.chunks;
        if (map != current)
            load_window(job, map, (mine - i) * chunk_groups * N, shared, &window);
        current = map;
        const int64_t phase = (job.phase + map * job.count) % N, past = job.count + phase;
        const bool aligned = (job.out_phase + map * job.count) % N == phase;
        const T *in = all_in + map * job.count - phase; /* of groups; pixels are [phase, past) */
        ENTRY *out = all_out + map * job.count - phase;
        int64_t at = ((chunk - map * job.chunks) * chunk_groups + threadIdx.x) * N;
        uint4 groups[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            if (at + (int64_t)i * blockDim.x * N >= phase && at + ((int64_t)i * blockDim.x + 1) * N <= past)
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
static enum ts_status launch(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                             struct value_job job, bool grows, const struct cuda_call *call)
{
    const struct device_numbers *device = context->device;
    const int64_t per_group = 16 / sizeof(T), flights = flight<ENTRY>();
    const bool small = job.count * job.n_maps < device->multiprocessors * THREADS * flights * per_group;
    const int threads = small ? SMALL_THREADS : THREADS;
    const size_t capacity = (size_t)device->block_shared_bytes / 16 * 16;
    const size_t table = (size_t)ts_value_counts_keys(in->dtype) * sizeof(ENTRY);
    const size_t shared = small ? 0 : table < capacity ? table : capacity;
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
    map_values<T, ENTRY>
        <<<(unsigned)blocks, threads, shared, call->stream>>>((const T *)in->data, (ENTRY *)out->data, job);
    return ts_cuda_launched(context, "equalize: values");
}

enum ts_status ts_cuda_equalize_values(const struct stage_context *context, const struct ts_image *in,
                                       struct ts_image *out, const struct cuda_maps *maps, const struct cuda_call *call)
{
    const bool on_device = maps->made_on_device, wide = ts_dtype_bytes(in->dtype) == 2;
    struct value_job job = {};
    job.maps = maps->results;
    job.stride = maps->stride;
    job.entries = on_device ? sizeof(struct cuda_value_map) : sizeof(struct equalize_result);
    job.range = on_device ? offsetof(struct cuda_value_map, low) : offsetof(struct equalize_result, low);
    job.bias = ts_dtype_sign_bit(in->dtype);
    job.n_maps = maps->stride ? out->axes[0].n : 1;
    job.count = (int64_t)(maps->stride ? ts_slice_count(out) : ts_image_count(out));
    if (ts_cuda_equalize_levels(context))
        return wide ? launch<uint16_t, uint16_t>(context, in, out, job, on_device, call)
                    : launch<uint8_t, uint8_t>(context, in, out, job, on_device, call);
    return wide ? launch<uint16_t, float>(context, in, out, job, on_device, call)
                : launch<uint8_t, float>(context, in, out, job, on_device, call);
}
