/* SPDX-License-Identifier: Apache-2.0
 *
 * All launches that count into tables of slots go through this file: it cuts the slices into pieces
 * and the slots into passes, and merges the tables that blocks left in scratch.
 *
 * partial[slot] += sum of table[slot] over the tables of a slice: the tables are joined by fan-in
 * or in two levels (fan_in.cuh), and then there is one addition for each slot; or sums of RUN
 * tables are added with atomics. Memory traffic: 4 bytes read for each slot and table, in a fan-in
 * twice, and half of that written. A thread takes one slot; 256 threads a block keep as many loads
 * in flight, side by side.
 */
#include "cuda/counting/table_job.cuh"
#include "cuda/values/fan_in.cuh"

enum { THREADS = 256, RUN = 16, MOST_GRID_SLICES = 65535 };

/* A launch counts at most this many pixels of a partial, so that 32-bit counts suffice. */
static const uint64_t most_pixels = UINT64_C(1) << 31;

/* The grid counts slots, runs of tables, and slices. The first n of n_tables tables are added. */
static __global__ void add_tables(struct table_job job, uint32_t n_tables, uint32_t n)
{
    const uint32_t slot = blockIdx.x * THREADS + threadIdx.x, end = min((blockIdx.y + 1) * RUN, n);
    uint64_t sum = 0;
    if (slot >= job.work.n_keys)
        return;
#pragma unroll 4
    for (uint32_t table = blockIdx.y * RUN; table < end; table++)
        sum += left_table(job, blockIdx.z, table, n_tables)[slot];
    if (sum > 0)
        add_slot(job, blockIdx.z, slot, sum);
}

enum ts_status ts_cuda_table_merge(const struct stage_context *context, const struct table_job *job,
                                   unsigned n_tables, const struct cuda_call *call)
{
    const bool joins = job->merge != REDUCTION_AUTO;
    if (joins)
        ts_cuda_tables_join(job->tables, job->work.n_slices, n_tables, job->work.n_keys, job->merge,
                            call->stream);
    const unsigned left = joins ? 1 : n_tables;
    const dim3 grid((unsigned)ts_cuda_parts(job->work.n_keys, THREADS),
                    (unsigned)ts_cuda_parts(left, RUN), (unsigned)job->work.n_slices);
    add_tables<<<grid, THREADS, 0, call->stream>>>(*job, n_tables, left);
    return ts_cuda_launched(context, "merging of tables");
}

uint32_t ts_cuda_pass_slots(uint32_t n_slots, uint32_t n_counters, uint32_t copies)
{
    const uint32_t fit = n_counters / copies, passes = (n_slots + fit - 1) / fit;
    return (n_slots + passes - 1) / passes;
}

dim3 ts_cuda_table_grid(const struct table_job *job, int64_t at_once, int64_t least,
                        unsigned tables)
{
    const int64_t share = ts_cuda_parts(at_once, job->work.n_slices);
    const int64_t useful = ts_cuda_parts((int64_t)job->work.slice_pixels, least);
    const size_t fit = job->tables_bytes / ((size_t)job->work.n_keys * sizeof(uint32_t) * tables *
                                            (size_t)job->work.n_slices);
    const unsigned blocks = (unsigned)(share < useful ? share : useful);
    return dim3(job->tables && fit < blocks ? (unsigned)fit : blocks, (unsigned)job->work.n_slices,
                (unsigned)ts_cuda_parts(job->work.n_keys, job->pass_slots));
}

enum ts_status ts_cuda_table_pieces(const struct stage_context *context,
                                    const struct ts_image *slices, struct table_job job,
                                    bool per_slice, int64_t most_slices,
                                    ts_cuda_table_counter *count, const struct cuda_call *call)
{
    const struct table_job whole = job;
    const uint64_t columns = (uint64_t)slices->axes[2].n,
                   most_rows = columns < most_pixels ? most_pixels / columns : 1;
    const uint64_t all_rows =
        (per_slice ? ts_slice_count(slices) : ts_image_count(slices)) / columns;
    const int64_t n = per_slice ? slices->axes[0].n : 1;
    if (all_rows > most_rows)
        most_slices = 1;
    else if (most_slices > MOST_GRID_SLICES)
        most_slices = MOST_GRID_SLICES;
    enum ts_status status = TS_OK;
    job.columns = (uint32_t)columns;
    for (int64_t z = 0; status == TS_OK && z < n; z += most_slices) {
        job.work.n_slices = n - z < most_slices ? n - z : most_slices;
        job.work.partials = (char *)whole.work.partials + (size_t)z * job.work.stride;
        job.slice_bins =
            whole.slice_bins ? (const char *)whole.slice_bins + (size_t)z * job.bins_stride : NULL;
        for (uint64_t row = 0; status == TS_OK && row < all_rows; row += most_rows) {
            const size_t first = ((size_t)z * all_rows + row) * columns;
            job.rows = all_rows - row < most_rows ? all_rows - row : most_rows;
            job.work.slice_pixels = job.rows * columns;
            job.work.data = (const char *)slices->data + first * ts_dtype_bytes(slices->dtype);
            if (whole.labels)
                job.labels = (const char *)whole.labels + first * ts_dtype_bytes(job.labels_dtype);
            status = count(context, slices->dtype, &job, call);
        }
    }
    return status;
}
