/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes bins of equal width from counts of single values, so that only the bins go to the host; the
 * numbers are those that histogram makes from the same counts. With key(value) = value - lowest
 * value of the type, a bin is the run of keys from key(ceil(edge)) up to, but without, that of the
 * next edge; edges that are not integers are computed in double as on the host.
 *
 * 1, 2, 4, ... or 32 lanes sum the keys of a bin, as many as it has keys, so that neighboring lanes
 * read neighboring counts; all threads of the block sum a bin of more than WIDE_KEYS keys, and the
 * keys outside of the bins. Memory traffic: 4 bytes read for each key between the lowest and the
 * highest of a slice (8 for each key of a volume), mostly from the second cache because the counts
 * are new, and as many written for each bin. 512 threads a block: four blocks fill a
 * multiprocessor, and the device works on about 512 slices at once.
 */
#include "cuda/counting/histogram_bins.cuh"
#include "cuda/device/occupancy.cuh"

enum {
    BINNING_THREADS = 512,
    BINNING_BLOCKS = 4,
    BINNING_WARPS = BINNING_THREADS / 32,
    WIDE_KEYS = 1024
};
/* A block makes at least this many bins. */
enum { LEAST_BINS = 8 };

/* The counts of the keys first + i, with i in [low, high]. */
template <typename type> struct counted_keys {
    const type *counts;
    uint32_t first, low, high; /* low > high means that there are none */
};

template <typename type> struct binning_shared {
    type sums[BINNING_WARPS];
    uint32_t low, high;
};

/* ---- sums ------------------------------------------------------------------------------------ */

template <typename type>
static __device__ type lane_sum(const struct counted_keys<type> &keys, uint32_t begin, uint32_t end,
                                uint32_t lane, uint32_t lanes)
{
    type sum = 0;
    begin = max(begin > keys.first ? begin - keys.first : 0, keys.low) + lane;
    end = min(end > keys.first ? end - keys.first : 0, keys.high + 1);
    /* The number is computed before the loop, so that its loads need not wait for one another. */
    const uint32_t n = begin < end ? (end - begin + lanes - 1) / lanes : 0;
    const type *counts = keys.counts + begin;
#pragma unroll 8
    for (uint32_t i = 0; i < n; i++)
        sum += counts[i * lanes];
    return sum;
}

/* Returns the sum over a group of `lanes` (a power of two) neighboring lanes. All lanes of the warp
 * call it. */
template <typename type> static __device__ type join_lanes(type sum, uint32_t lanes)
{
    for (uint32_t distance = lanes / 2; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(~0u, sum, (int)distance);
    return sum;
}

/* Returns the sum in all threads. All threads of the block call it. */
template <typename type>
static __device__ type block_sum(const struct counted_keys<type> &keys, uint32_t begin,
                                 uint32_t end, struct binning_shared<type> *shared)
{
    const type warp = join_lanes(lane_sum(keys, begin, end, threadIdx.x, BINNING_THREADS), 32);
    type sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        shared->sums[threadIdx.x / 32] = warp;
    __syncthreads();
    for (uint32_t i = 0; i < BINNING_WARPS; i++)
        sum += shared->sums[i];
    return sum;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Narrows [low, high] to the first and the last count that is not zero. All threads of the block
 * call it. */
static __device__ void find_keys(struct counted_keys<uint64_t> &keys,
                                 struct binning_shared<uint64_t> *shared)
{
    uint32_t low = UINT32_MAX, high = 0;
    if (threadIdx.x == 0) {
        shared->low = keys.high + 1;
        shared->high = 0;
    }
    const uint32_t n = (keys.high + BINNING_THREADS - threadIdx.x) / BINNING_THREADS;
#pragma unroll 8
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = threadIdx.x + k * BINNING_THREADS;
        if (keys.counts[i] > 0) {
            low = min(low, i);
            high = i;
        }
    }
    __syncthreads();
    if (low <= high) {
        atomicMin(&shared->low, low);
        atomicMax(&shared->high, high);
    }
    __syncthreads();
    keys.low = shared->low;
    keys.high = shared->high;
}

/* The partial of a slice says which keys occur. */
static __device__ void open_keys(const struct binning_job &, const char *counts,
                                 struct counted_keys<uint32_t> &keys,
                                 struct binning_shared<uint32_t> *)
{
    const struct cuda_slice_counts *slice = (const struct cuda_slice_counts *)counts;
    keys = {slice->counts, 0, slice->low, slice->high};
}

/* For other counts, the keys that occur are searched, if that matters. */
static __device__ void open_keys(const struct binning_job &job, const char *counts,
                                 struct counted_keys<uint64_t> &keys,
                                 struct binning_shared<uint64_t> *shared)
{
    keys = {(const uint64_t *)counts, job.first, 0, job.n_keys - 1};
    if (!job.known)
        find_keys(keys, shared);
}

/* Returns the bins that ts_bins_init_data() makes. */
static __device__ struct bins bins_between(double low, double high, int64_t n)
{
    struct bins bins = {low, high, 0, 0, n};
    if (low == high) {
        bins.low = low - 0.5;
        bins.high = high + 0.5;
    }
    bins.step = (bins.high - bins.low) / (double)n;
    return bins;
}

/* Returns the first key (of a group of values) whose value is at least `edge`. */
static __device__ uint32_t first_key(const struct binning_job &job, double edge)
{
    const double key = ceil(edge) - job.lowest;
    const uint32_t first = !(key > 0)                   ? 0
                           : key < VALUE_COUNTS_KEYS_16 ? (uint32_t)key
                                                        : VALUE_COUNTS_KEYS_16;
    return first >> job.log2_group;
}

/* The keys at which bins begin and end. */
struct key_edges {
    struct bins bins;
    uint32_t end; /* end of the last bin, which is closed: the first key with a value above
                   * `high` */
    bool whole;   /* true if all edges are integers: edge i is then the value of key first + i *
                   * step */
    int32_t first, step;
};

static __device__ struct key_edges edges_of(const struct binning_job &job, const struct bins &bins)
{
    const double most = 1 << 30;
    struct key_edges edges = {bins, first_key(job, floor(bins.high) + 1)};
    edges.whole = bins.low == floor(bins.low) && bins.step == floor(bins.step) &&
                  bins.low > -most && bins.high < most;
    if (edges.whole) {
        edges.first = (int32_t)(bins.low - job.lowest);
        edges.step = (int32_t)bins.step;
    }
    return edges;
}

/* Returns the first key at or above edge i of the n + 1 edges. */
static __device__ uint32_t edge_key(const struct binning_job &job, const struct key_edges &edges,
                                    uint32_t i)
{
    if (i == edges.bins.n)
        return edges.end;
    if (!edges.whole)
        return first_key(job, edges.bins.low + (double)i * edges.bins.step);
    const int32_t key =
        min(max(edges.first + (int32_t)i * edges.step, 0), (int32_t)VALUE_COUNTS_KEYS_16);
    return (uint32_t)key >> job.log2_group;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

template <typename type>
static __device__ void make_bins(const struct binning_job &job, const struct key_edges &edges,
                                 const struct counted_keys<type> &keys, uint32_t bin,
                                 uint32_t end_bin, type *slots, struct binning_shared<type> *shared)
{
    const double in_bin = ldexp(edges.bins.step, -(int)job.log2_group);
    uint32_t lanes = 1;
    if (in_bin > WIDE_KEYS) {
        for (; bin < end_bin; bin++) {
            const type sum =
                block_sum(keys, edge_key(job, edges, bin), edge_key(job, edges, bin + 1), shared);
            if (threadIdx.x == 0)
                slots[1 + bin] = sum;
        }
        return;
    }
    while (lanes < 32 && 2 * lanes <= in_bin)
        lanes *= 2;
    for (; bin < end_bin; bin += BINNING_THREADS / lanes) {
        const uint32_t own = bin + threadIdx.x / lanes;
        type sum = 0;
        if (own < end_bin)
            sum = lane_sum(keys, edge_key(job, edges, own), edge_key(job, edges, own + 1),
                           threadIdx.x % lanes, lanes);
        sum = join_lanes(sum, lanes);
        if (own < end_bin && threadIdx.x % lanes == 0)
            slots[1 + own] = sum;
    }
}

/* Block (x, y) works on partial x and on one of gridDim.y shares of its bins. */
template <typename type>
static __global__ void __launch_bounds__(BINNING_THREADS,
                                         TS_CUDA_BLOCKS(BINNING_THREADS, BINNING_BLOCKS))
    bin_counted(struct binning_job job)
{
    __shared__ struct binning_shared<type> shared;
    struct cuda_value_bins *out =
        (struct cuda_value_bins *)(job.binned + (uint64_t)blockIdx.x * job.binned_stride);
    type *slots = (type *)(out + 1);
    struct counted_keys<type> keys;
    struct bins bins = job.bins;
    open_keys(job, job.counts + (uint64_t)blockIdx.x * job.stride, keys, &shared);
    if (!job.known)
        bins = keys.low <= keys.high
                   ? bins_between(job.lowest + keys.low, job.lowest + keys.high, bins.n)
                   : bins_between(0, 1, bins.n);
    const uint32_t n = (uint32_t)bins.n, from = (uint32_t)((uint64_t)n * blockIdx.y / gridDim.y);
    const uint32_t to = (uint32_t)((uint64_t)n * (blockIdx.y + 1) / gridDim.y);
    const struct key_edges edges = edges_of(job, bins);
    make_bins(job, edges, keys, from, to, slots, &shared);
    if (blockIdx.y == 0) {
        const type below = block_sum(keys, 0, edge_key(job, edges, 0), &shared);
        if (threadIdx.x == 0) {
            *out = {keys.low, keys.high};
            slots[0] = below;
            slots[n + 2] = 0; /* slot of NaN */
        }
    }
    if (blockIdx.y == gridDim.y - 1) {
        const type above = block_sum(keys, edges.end, UINT32_MAX, &shared);
        if (threadIdx.x == 0)
            slots[n + 1] = above;
    }
}

enum ts_status ts_cuda_histogram_bins(const struct stage_context *context,
                                      const struct binning_job *job, int64_t n,
                                      const struct cuda_call *call)
{
    const int64_t share = (int64_t)context->device->multiprocessors * BINNING_BLOCKS / n;
    const int64_t useful = (job->bins.n + LEAST_BINS - 1) / LEAST_BINS,
                  parts = share < useful ? share : useful;
    const dim3 grid((unsigned)n, (unsigned)(parts > 1 ? parts : 1));
    if (job->of_slices)
        bin_counted<uint32_t><<<grid, BINNING_THREADS, 0, call->stream>>>(*job);
    else
        bin_counted<uint64_t><<<grid, BINNING_THREADS, 0, call->stream>>>(*job);
    return ts_cuda_launched(context, "bin_counted");
}
