/* SPDX-License-Identifier: Apache-2.0
 *
 * partial[slot] += sum of table[slot] over the tables of a slice: by fan-in or two-level (fan_in.cuh), and then one
 * addition a slot; or by one atomic addition a slot of every table. 4 bytes read a slot and table, in a fan-in twice,
 * and half of that written. A thread takes one slot; 256 threads, as many loads as there are side by side.
 */
#include "cuda/counting/table_job.cuh"
#include "cuda/values/fan_in.cuh"

enum { THREADS = 256 };

/* blockIdx: slots, table, slice. */
static __global__ void add_tables(struct slots_job job, uint32_t n_tables)
{
    const uint32_t slot = blockIdx.x * THREADS + threadIdx.x;
    if (slot >= job.work.n_keys)
        return;
    const uint32_t n = left_slots(job, blockIdx.z, blockIdx.y, n_tables)[slot];
    if (n > 0)
        add_slot(job, blockIdx.z, slot, n);
}

enum ts_status ts_cuda_slot_tables_merge(const struct stage_context *context, const struct slots_job *job,
                                         unsigned n_tables, const struct cuda_call *call)
{
    const bool joins = job->merge != REDUCTION_AUTO;
    if (!job->tables)
        return TS_OK;
    if (joins)
        ts_cuda_tables_join(job->tables, job->work.n_slices, n_tables, job->work.n_keys, job->merge, call->stream);
    const dim3 grid((unsigned)ts_cuda_parts(job->work.n_keys, THREADS), joins ? 1 : n_tables,
                    (unsigned)job->work.n_slices);
    add_tables<<<grid, THREADS, 0, call->stream>>>(*job, n_tables);
    return ts_cuda_launched(context, "merging of tables");
}
