/* SPDX-License-Identifier: Apache-2.0
 *
 * warp-tagged: a histogram for every warp in shared memory, written without atomic adds (V. Podlozhnyuk, Histogram
 * calculation in CUDA, NVIDIA 2007). The top 5 bits of a count are the number of the lane that wrote it last, the other
 * 27 the count. Every lane reads its count, adds one, puts its number on top and writes it back; of several lanes with
 * the same slot one write stays, and the lanes that do not find their own number try again.
 *
 * This method was written for warps whose lanes run in step. Here __syncwarp() keeps every read, write and look back
 * apart, all lanes repeat as long as one of them must, and the write is an exchange, so that of two writes to one word
 * one stays whole. A warp adds its table to the partial (or to the table that it leaves for table_launch.cu) after at
 * most FLUSH_SLOTS pixels a slot, far fewer than the 2^27 that would run into the tag.
 *
 * A thread counts every 32nd pixel of its warp's part. Memory traffic: each pixel is read once in each pass over the
 * slots, and makes three accesses to shared memory for each try. 8 warps a block have 8 KiB of tables with 256 slots,
 * so that registers and threads, not tables, limit how many blocks fit.
 */
#include "cuda/histogram/histogram.cuh"

#ifndef HISTOGRAM_TAG_SHIFT /* a test takes fewer bits, so that it sees them run over */
#define HISTOGRAM_TAG_SHIFT 27
#endif
enum {
    WARPS = HISTOGRAM_WARP_TABLES,
    LANES = 32,
    TAG_SHIFT = HISTOGRAM_TAG_SHIFT,
    FLUSH_SLOTS = 64,
    LEAST_PIXELS = 32768
};
static const uint32_t count_mask = (1u << TAG_SHIFT) - 1;

struct warp_table {
    uint32_t *counts;
    uint32_t first, n; /* slots of this pass */
    uint32_t lane;
};

/* Counts one pixel for each lane, and none with a slot outside of the pass. All lanes of the warp call it. */
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
static __device__ void flush(const struct warp_table &table, const struct table_job &job, int64_t slice, bool before)
{
    uint32_t *left =
        job.tables ? left_table(job, slice, blockIdx.x * WARPS + threadIdx.x / LANES, gridDim.x * WARPS) : NULL;
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
static __global__ void __launch_bounds__(WARPS *LANES) count_warp_tagged(struct table_job job)
{
    extern __shared__ uint32_t tables[];
    const struct slot_rule rule = open_rule<by_value>(job, blockIdx.y);
    const uint32_t warp = threadIdx.x / LANES, n_warps = gridDim.x * WARPS, none = ~0u;
    const uint32_t first = blockIdx.z * job.pass_slots, left = job.work.n_keys - first, n = min(left, job.pass_slots);
    const struct warp_table table = {tables + warp * job.pass_slots, first, n, threadIdx.x % LANES};
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
                                             const struct table_job *job, const struct cuda_call *call)
{
    struct table_job passes = *job;
    void (*kernel)(struct table_job);
    passes.pass_slots = ts_cuda_pass_slots(job->work.n_keys, ts_cuda_most_counters(context), WARPS);
    const size_t bytes = (size_t)passes.pass_slots * WARPS * sizeof(uint32_t);
    const dim3 grid =
        ts_cuda_table_grid(&passes, ts_cuda_blocks_at_once(context, WARPS * LANES), WARPS * LEAST_PIXELS, WARPS);
#define KERNEL(type, by_value) kernel = count_warp_tagged<type, by_value>
    TS_CUDA_TABLE_TYPES(dtype, KERNEL)
#undef KERNEL
    return ts_cuda_table_launch(context, kernel, "count_warp_tagged", &passes, grid, WARPS * LANES, bytes,
                                grid.x * WARPS, call);
}
