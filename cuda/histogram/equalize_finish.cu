/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes maps from counts: the share of values that are v or below, or OpenCV's level, with the roundings of
 * stages/histogram/equalize.c.
 *
 * A cluster of blocks (one block for 256 keys, for many slices, or where the device has no clusters) makes one map; a
 * thread sums eight neighboring keys, and keeps their counts where it has no others. Memory traffic: 8 bytes read for
 * each key of the volume, 4 of a slice, and 1 to 4 written. Blocks have 1,024 threads where few blocks make a map, and
 * 256 where many maps keep the device busy.
 */
#include <cooperative_groups.h>

#include "cuda/counting/value_counts.cuh"
#include "cuda/histogram/equalize.cuh"
#include "cuda/values/reductions.cuh"

extern "C" {
#include "cuda/device/code.h"
#include "stages/counting/value_maps.h"
}

enum { THREADS = 1024, FEW_THREADS = 256, KEYS = 8, CLUSTER = 8, MANY_SLICES = 64 };

struct finish_job {
    const char *partials;
    size_t partial_stride, result_stride;
    char *results;
    unsigned long long total; /* pixels of a map */
    uint32_t n_keys, bias, blocks, threads;
};

/* The sum and the range of a block's keys. */
struct part {
    unsigned long long sum;
    uint32_t low, high;        /* the keys that occur lie between; low > high: none does */
    unsigned long long lowest; /* count of the key low */
};

/* Loads the counts of eight keys from `key` on, 0 outside [low, high]. */
static __device__ inline void load_counts(const unsigned long long *counts, uint32_t key, uint32_t, uint32_t,
                                          unsigned long long loaded[KEYS])
{
#pragma unroll
    for (int i = 0; i < KEYS; i += 2) {
        const ulonglong2 two = *(const ulonglong2 *)(counts + key + i);
        loaded[i] = two.x;
        loaded[i + 1] = two.y;
    }
}

static __device__ inline void load_counts(const uint32_t *counts, uint32_t key, uint32_t low, uint32_t high,
                                          uint32_t loaded[KEYS])
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

/* Finds the sum and the range of the keys [begin, end) for the block, which are valid behind a barrier. `loaded`
 * becomes the last counts of this thread. */
template <typename COUNT>
static __device__ void describe_part(const COUNT *counts, uint32_t begin, uint32_t end, uint32_t low, uint32_t high,
                                     unsigned long long *warp_sums, struct part *part, COUNT loaded[KEYS])
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
    sum = block_sum(sum, warp_sums); /* with barriers */
    join_range(own_low, own_high, part);
    __syncthreads();
    if (own_low == part->low && own_low <= own_high)
        part->lowest = own_count;
    if (threadIdx.x == 0)
        part->sum = sum;
}

/* Adds up the parts of the cluster: *part becomes the map's range, with the sum of all keys before this block's. */
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
    cluster.sync(); /* no block leaves while another reads its part */
#else
    __syncthreads();
    *part = *shared_part;
    part->sum = 0;
#endif
}

struct levels {
    unsigned long long total, lowest; /* lowest: the count of the lowest value */
    uint32_t low, n_keys, bias;
};

static __device__ inline void set_entry(float *entry, unsigned long long below, const struct levels &levels)
{
    *entry = levels.total ? (float)((double)below / (double)levels.total) : 0;
}

/* Sets an entry by OpenCV's rule. Where an image has one value alone, that value stays as it is. */
template <typename T>
static __device__ inline void set_entry(T *entry, unsigned long long below, const struct levels &levels)
{
    const unsigned long long above = below > levels.lowest ? below - levels.lowest : 0;
    const uint32_t key =
        levels.lowest == levels.total ? levels.low : ts_value_level(above, levels.total - levels.lowest, levels.n_keys);
    *entry = (T)(key ^ levels.bias);
}

/* Counts of 4 bytes are those of a slice, which stand behind struct cuda_slice_counts. */
template <typename COUNT, typename ENTRY>
static __global__ void __launch_bounds__(THREADS) make_maps(struct finish_job job)
{
    __shared__ unsigned long long warp_sums[CUDA_BLOCK_WARPS];
    __shared__ struct part shared_part;
    const uint32_t map = blockIdx.x / job.blocks, rank = blockIdx.x % job.blocks;
    const char *partial = job.partials + map * job.partial_stride;
    const bool of_slice = sizeof(COUNT) == 4;
    const struct cuda_slice_counts *slice = (const struct cuda_slice_counts *)partial;
    const COUNT *counts = (const COUNT *)(of_slice ? (const char *)slice->counts : partial);
    const uint32_t per_block = job.n_keys / job.blocks, begin = rank * per_block, end = begin + per_block;
    struct part part = {0, 0, job.n_keys - 1, 0};
    if (of_slice) {
        part.low = slice->low;
        part.high = slice->high;
    }
    const uint32_t low = part.low, high = part.high; /* where counts are valid */
    const bool described = !of_slice || job.blocks > 1;
    COUNT loaded[KEYS] = {0};
    if (described) {
        describe_part(counts, begin, end, low, high, warp_sums, &shared_part, loaded);
        join_parts(&shared_part, &part);
    } else {
        part.lowest = counts[low];
    }
    struct cuda_value_map *result = (struct cuda_value_map *)(job.results + map * job.result_stride);
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
        if (inside && !(described && per_block <= step)) /* else they are at hand */
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

size_t ts_cuda_equalize_map_bytes(const struct stage_context *context)
{
    const size_t entry = ts_cuda_equalize_levels(context) ? ts_dtype_bytes(context->in.dtype) : sizeof(float);
    return sizeof(struct cuda_value_map) + ts_value_counts_keys(context->in.dtype) * entry;
}

template <typename COUNT, typename ENTRY>
static enum ts_status launch(const struct stage_context *context, const struct finish_job *job, int64_t n,
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

enum ts_status ts_cuda_equalize_finish(const struct stage_context *context, const void *partials, bool per_slice,
                                       void *results, int64_t n, const struct cuda_call *call)
{
    const enum ts_dtype dtype = context->in.dtype;
    const uint32_t n_keys = ts_value_counts_keys(dtype);
    const bool wide = n_keys == VALUE_COUNTS_KEYS_16, levels = ts_cuda_equalize_levels(context);
    const bool clusters = context->device->code >= CUDA_CLUSTER_CODE && wide && n < MANY_SLICES;
    const struct finish_job job = {
        .partials = (const char *)partials,
        .partial_stride = ts_cuda_stride(ts_cuda_value_counts_bytes(dtype, per_slice)),
        .result_stride = ts_cuda_stride(ts_cuda_equalize_map_bytes(context)),
        .results = (char *)results,
        .total = per_slice ? ts_slice_count(&context->in) : ts_image_count(&context->in),
        .n_keys = n_keys,
        .bias = levels ? ts_dtype_sign_bit(dtype) : 0,
        .blocks = clusters ? (uint32_t)CLUSTER : 1u,
        .threads = !wide || n >= MANY_SLICES ? (uint32_t)FEW_THREADS : (uint32_t)THREADS,
    };
    if (per_slice)
        return !levels ? launch<uint32_t, float>(context, &job, n, call)
               : wide  ? launch<uint32_t, uint16_t>(context, &job, n, call)
                       : launch<uint32_t, uint8_t>(context, &job, n, call);
    return !levels ? launch<unsigned long long, float>(context, &job, n, call)
           : wide  ? launch<unsigned long long, uint16_t>(context, &job, n, call)
                   : launch<unsigned long long, uint8_t>(context, &job, n, call);
}
