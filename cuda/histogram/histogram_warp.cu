/* SPDX-License-Identifier: Apache-2.0
 *
 * warp-tagged: a histogram for every warp in shared memory, written without atomic adds (V. Podlozhnyuk, Histogram
 * calculation in CUDA, NVIDIA 2007). The top 5 bits of a count are the number of the lane that wrote it last, the other
 * 27 the count. Every lane reads its count, adds one, puts its number on top and writes it back; of several lanes with
 * the same slot one write stays, and the lanes that do not find their own number try again.
 *
 * That was written for warps whose lanes march in step. Here every read, write and look back are kept apart by
 * __syncwarp(), all lanes go round as long as one of them has to, and the write is an exchange, so that of two writes
 * to one word either stays whole. A warp adds its table to the partial (or to its table for table_merge.cu) after at
 * most FLUSH_SLOTS pixels a slot, far fewer than the 2^27 that would run into the tag.
 *
 * A thread counts every 32nd pixel of its warp's part. Each pixel read once a pass over the slots; three accesses to
 * shared memory a pixel and try. 8 warps a block: with 256 slots 8 KiB of tables, so that registers and threads, not
 * tables, limit how many fit.
 */
#include "cuda/histogram/histogram.cuh"

#ifndef HISTOGRAM_TAG_SHIFT /* a test has a few bits alone, so that it sees them run over */
#define HISTOGRAM_TAG_SHIFT 27
#endif
enum {
    WARPS = HISTOGRAM_WARP_TABLES,
    LANES = 32,
    TAG_SHIFT = HISTOGRAM_TAG_SHIFT,
    FLUSH_SLOTS = 64,
    LEAST_PIXELS = 32768,
    SMALL_TABLE = 48 << 10
};
static const uint32_t count_mask = (1u << TAG_SHIFT) - 1;

struct warp_table {
    uint32_t *counts;
    uint32_t first, n; /* slots of this pass */
    uint32_t lane;
};

/* One pixel a lane; slots outside of the pass are left out. All lanes of the warp come here. */
static __device__ void count_tagged(const struct warp_table &table, uint32_t slot)
{
    const uint32_t at = slot - table.first, tag = table.lane << TAG_SHIFT;
    bool waiting = at < table.n;
    while (__any_sync(~0u, waiting)) {
        uint32_t tagged = 0;
        if (waiting)
            tagged = ((*(volatile uint32_t *)&table.counts[at] & count_mask) + 1) | tag;
        __syncwarp();
        if (waiting)
            atomicExch(&table.counts[at], tagged);
        __syncwarp();
        if (waiting)
            waiting = *(volatile uint32_t *)&table.counts[at] != tagged;
        __syncwarp();
    }
}

/* Adds the counts to the partial, or to what the warp left before, and clears them. */
static __device__ void flush(const struct warp_table &table, const struct slots_job &job, int64_t slice, bool before)
{
    uint32_t *left =
        job.tables ? left_slots(job, slice, blockIdx.x * WARPS + threadIdx.x / LANES, gridDim.x * WARPS) : NULL;
    __syncwarp();
    for (uint32_t at = table.lane; at < table.n; at += LANES) {
        const uint32_t n = table.counts[at] & count_mask;
        table.counts[at] = 0;
        if (left)
            left[table.first + at] = n + (before ? left[table.first + at] : 0);
        else if (n > 0)
            add_slot(job, slice, table.first + at, n);
    }
    __syncwarp();
}

template <typename type, bool by_value>
static __global__ void __launch_bounds__(WARPS *LANES) count_warp_tagged(struct slots_job job)
{
    extern __shared__ uint32_t tables[];
    const struct slot_rule rule = open_rule<by_value>(job, blockIdx.y);
    const uint32_t warp = threadIdx.x / LANES, n_warps = gridDim.x * WARPS, none = ~0u;
    const uint32_t first = blockIdx.z * job.at_a_time, left = job.work.n_keys - first, n = min(left, job.at_a_time);
    const struct warp_table table = {tables + warp * job.at_a_time, first, n, threadIdx.x % LANES};
    const type *slice = (const type *)job.work.data + blockIdx.y * job.work.slice_pixels;
    const uint64_t share = (job.work.slice_pixels + n_warps - 1) / n_warps;
    const uint64_t begin = min((blockIdx.x * WARPS + warp) * share, job.work.slice_pixels);
    const uint64_t end = min(begin + share, job.work.slice_pixels);
    const uint32_t tries = FLUSH_SLOTS * max(n, (uint32_t)LANES) / LANES;
    uint32_t since = 0;
    bool flushed = false;
    for (uint32_t at = table.lane; at < n; at += LANES)
        table.counts[at] = 0;
    __syncwarp();
    for (uint64_t i = begin; i < end; i += LANES) {
        const uint64_t pixel = i + table.lane;
        count_tagged(table, pixel < end ? slot_of<type, by_value>(rule, slice[pixel]) : none);
        if (++since == tries) {
            flush(table, job, blockIdx.y, flushed);
            flushed = true;
            since = 0;
        }
    }
    flush(table, job, blockIdx.y, flushed);
}

enum ts_status ts_cuda_histogram_warp_tagged(const struct stage_context *context, enum ts_dtype dtype,
                                             const struct slots_job *job, const struct cuda_call *call)
{
    struct slots_job passes = *job;
    const uint32_t fit = most_counters(context) / WARPS;
    const uint32_t n_passes = (job->work.n_keys + fit - 1) / fit;
    passes.at_a_time = (job->work.n_keys + n_passes - 1) / n_passes;
    const size_t bytes = (size_t)passes.at_a_time * WARPS * sizeof(uint32_t);
    const int64_t resident = (int64_t)context->device->multiprocessors * (context->device->threads / (WARPS * LANES));
    const int64_t share = ts_cuda_parts(resident, job->work.n_slices);
    const int64_t useful = ts_cuda_parts((int64_t)job->work.slice_pixels, WARPS * LEAST_PIXELS);
    const unsigned blocks = (unsigned)(share < useful ? share : useful);
    const dim3 grid(blocks_with_room(job, blocks, WARPS), (unsigned)job->work.n_slices, n_passes);
    enum ts_status status = TS_OK;
#define LAUNCH(type, by_value)                                                                                         \
    if (bytes > SMALL_TABLE)                                                                                           \
        status = ts_cuda_shared(context, (const void *)count_warp_tagged<type, by_value>, bytes);                      \
    if (status == TS_OK)                                                                                               \
    count_warp_tagged<type, by_value><<<grid, WARPS * LANES, bytes, call->stream>>>(passes)
    TS_CUDA_SLOT_TYPES(dtype, LAUNCH)
#undef LAUNCH
    if (status == TS_OK)
        status = ts_cuda_launched(context, "count_warp_tagged");
    return status == TS_OK ? ts_cuda_slot_tables_merge(context, job, grid.x * WARPS, call) : status;
}
