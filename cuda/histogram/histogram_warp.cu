/* SPDX-License-Identifier: Apache-2.0
 *
 * warp-tagged: a histogram for every warp in shared memory, written without atomic adds
 * (warp_tags.cuh).
 *
 * A warp takes as many tries for 32 pixels as the most frequent slot has among them. Neighbors are
 * often equal, so the lanes read pixels far from one another: each has a 32nd of the slice, and
 * begins at a different place of it, a golden section of its length further than the lane before.
 * If there is room, a warp has several tables for different lanes: four for 256 slots. The counts
 * of a slot are side by side, in banks of their own. The tables of warps are added to one of the
 * block, which is added to the partial or left for table_launch.cu. Whenever a count could grow
 * into the tag, the warp adds its counts to the partial earlier.
 *
 * A thread counts the pixels of a 16-byte vector. Memory traffic: each pixel is read once in each
 * pass over the slots, and takes one access to shared memory, and two more for each try. 8 warps a
 * block have 32 KiB of tables with 256 slots, and six blocks fill a multiprocessor.
 */
#include "cuda/histogram/histogram.cuh"
#include "cuda/histogram/warp_tags.cuh"

enum { WARPS = 8, LANES = 32, LEAST_PIXELS = 16384 };
enum {
    MOST_TABLES = 4 /* most tables of a warp */,
    TABLE_BYTES = 40 << 10 /* bytes of tables of a block whose warps have several */
};

/* Counts the pixels of one vector of each lane; `there` is false for lanes without one. */
template <typename type, bool by_value>
static __device__ void count_vector(const struct warp_table &table, const struct slot_rule &rule,
                                    uint4 vector, bool there)
{
#pragma unroll 1
    for (uint32_t word = 0; word < sizeof vector / sizeof vector.x; word++) {
#pragma unroll
        for (uint32_t i = 0; i < sizeof vector.x / sizeof(type); i++)
            count_tagged(table,
                         there ? slot_of<type, by_value>(rule, pixel_of<type>(vector.x, i)) : ~0u);
        vector = make_uint4(vector.y, vector.z, vector.w, 0);
    }
}

/* Adds the counts of a warp's slots to the partial and clears them. */
static __device__ void flush(uint32_t *counts, const struct warp_table &table,
                             const struct table_job &job)
{
    __syncwarp();
    for (uint32_t i = threadIdx.x % LANES; i < table.n << table.log2_copies; i += LANES) {
        const uint32_t n = counts[i] & count_mask;
        counts[i] = 0;
        if (n > 0)
            add_slot(job, blockIdx.y, table.first + (i >> table.log2_copies), n);
    }
    __syncwarp();
}

/* Adds the tables of the warps up to one of the block. All threads call it. */
static __device__ void add_warps(const uint32_t *tables, const struct warp_table &table,
                                 const struct table_job &job)
{
    uint32_t *left = job.tables ? left_table(job, blockIdx.y, blockIdx.x, gridDim.x) : NULL;
    const uint32_t copies = 1u << table.log2_copies;
    __syncthreads();
    for (uint32_t at = threadIdx.x; at < table.n; at += blockDim.x) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < WARPS * copies; i++)
            sum += tables[((i / copies * job.pass_slots + at) * copies) + i % copies] & count_mask;
        if (left)
            left[table.first + at] = sum;
        else if (sum > 0)
            add_slot(job, blockIdx.y, table.first + at, sum);
    }
}

template <typename type, bool by_value>
static __global__ void __launch_bounds__(WARPS *LANES) count_warp_tagged(struct table_job job)
{
    extern __shared__ uint32_t tables[];
    const struct slot_rule rule = open_rule<by_value>(job, blockIdx.y);
    const uint32_t warp = threadIdx.x / LANES, lane = threadIdx.x % LANES,
                   copies = 1u << job.log2_copies;
    const uint32_t first = blockIdx.z * job.pass_slots,
                   n = min(job.work.n_keys - first, job.pass_slots);
    uint32_t *own = tables + warp * copies * job.pass_slots;
    const struct warp_table table = {own + lane % copies, first, n, job.log2_copies,
                                     lane << TAG_SHIFT | 1};
    const struct pixel_span<type> span = span_of<type>(job.work, blockIdx.y, 0, 1);
    const uint32_t share = (span.n_vectors + LANES - 1) / LANES,
                   golden = (uint32_t)(0.618034 * share);
    const uint32_t turn = share > 0 ? (uint32_t)((uint64_t)lane * golden % share) : 0;
    const uint32_t most_steps = count_mask / (LANES * (sizeof(uint4) / sizeof(type))) - 1;
    uint32_t steps = 0;
    for (uint32_t i = threadIdx.x; i < WARPS * copies * job.pass_slots; i += blockDim.x)
        tables[i] = 0;
    __syncthreads();
    for (uint32_t i = blockIdx.x * WARPS + warp; i < share; i += gridDim.x * WARPS) {
        const uint32_t turned = i + turn < share ? i + turn : i + turn - share,
                       at = lane * share + turned;
        const bool there = at < span.n_vectors;
        count_vector<type, by_value>(table, rule, there ? load_vector(span.vectors + at) : uint4(),
                                     there);
        if (++steps == most_steps) {
            flush(own, table, job);
            steps = 0;
        }
    }
    if (blockIdx.x == 0 && warp == 0) {
        count_tagged(table,
                     lane < span.n_head ? slot_of<type, by_value>(rule, span.head[lane]) : ~0u);
        count_tagged(table,
                     lane < span.n_tail ? slot_of<type, by_value>(rule, span.tail[lane]) : ~0u);
    }
    add_warps(tables, table, job);
}

enum ts_status ts_cuda_histogram_warp_tagged(const struct stage_context *context,
                                             enum ts_dtype dtype, const struct table_job *job,
                                             const struct cuda_call *call)
{
    struct table_job passes = *job;
    void (*kernel)(struct table_job);
    passes.pass_slots = ts_cuda_pass_slots(job->work.n_keys, ts_cuda_most_counters(context), WARPS);
    size_t bytes = (size_t)passes.pass_slots * WARPS * sizeof(uint32_t);
    for (passes.log2_copies = 0; 1 << passes.log2_copies < MOST_TABLES && 2 * bytes <= TABLE_BYTES;
         bytes *= 2)
        passes.log2_copies++;
#define KERNEL(type, by_value) kernel = count_warp_tagged<type, by_value>
    TS_CUDA_TABLE_TYPES(dtype, KERNEL)
#undef KERNEL
    const int64_t at_once = ts_cuda_table_blocks(context, kernel, WARPS * LANES, bytes);
    const dim3 grid = ts_cuda_table_grid(&passes, at_once, LEAST_PIXELS, 1);
    return ts_cuda_table_launch(context, kernel, "count_warp_tagged", &passes, grid, WARPS * LANES,
                                bytes, grid.x, call);
}
