/* SPDX-License-Identifier: Apache-2.0
 *
 * The slot that a pixel is counted in, the same as the CPU's, and the work of one launch that counts slots: a method of
 * `histogram` (cuda/histogram_*.cu and table_counts.cu), or bins of `equalize` (bin_counts.cu).
 *
 * Counted by value: slot = key - first, keys outside of [first, last] at the nearer end. In bins
 * (stages/counting/bins.h): 0 below, 1 to n the bins, n + 1 above, n + 2 NaN. There the edges decide in double; but
 * where single precision puts a value further from an edge than it can err, it has found the bin already, which saves
 * most of the double arithmetic.
 */
#ifndef CUDA_COUNTING_TABLE_JOB_CUH
#define CUDA_COUNTING_TABLE_JOB_CUH

#include "cuda/counting/bins.cuh"
#include "cuda/counting/count_job.cuh"

extern "C" {
#include "stages/values/fan_in.h"
}

/* Partials are uint64_t counts of n_slots each, work.stride bytes apart where there is one a slice. */
struct slots_job {
    struct count_job work; /* n_keys: slots */
    uint32_t first, last;  /* keys, by value */
    struct bins bins;
    const void *slice_bins; /* on the device, struct bins of each slice, bins_stride bytes apart; NULL: bins of all */
    size_t bins_stride;
    uint64_t rows;      /* of a slice (of all slices together, where they share one partial) */
    uint32_t columns;   /* of a row */
    uint32_t at_a_time; /* slots that one pass counts; blockIdx.z is the pass */
    /* Scratch where blocks (or their warps) leave their tables, [slice][table][slot]; NULL: they add them to the
     * partials at once. */
    uint32_t *tables;
    size_t tables_bytes;
    enum reduction_method merge; /* of the tables; REDUCTION_AUTO: with atomics */
};

/* What a thread needs to find slots. */
struct slot_rule {
    uint32_t bias, first, last;
    float low, per_value, n, margin; /* margin: how far (value - low) * per_value may be off, in bins */
    const struct bins *bins;         /* in shared memory */
};

/* Counters of a table in shared memory, beside what open_rule takes there. */
static inline uint32_t most_counters(const struct stage_context *context)
{
    return (uint32_t)(context->device->block_shared_bytes - (int)ts_cuda_stride(sizeof(struct bins))) /
           (uint32_t)sizeof(uint32_t);
}

/* All threads of the block come here. */
template <bool by_value> static __device__ struct slot_rule open_rule(const struct slots_job &job, int64_t slice)
{
    __shared__ struct bins bins;
    struct slot_rule rule = {job.work.bias, job.first, job.last};
    if (by_value)
        return rule;
    if (threadIdx.x == 0 && threadIdx.y == 0)
        bins = job.slice_bins ? *(const struct bins *)((const char *)job.slice_bins + (uint64_t)slice * job.bins_stride)
                              : job.bins;
    __syncthreads();
    rule.bins = &bins;
    rule.low = (float)bins.low;
    rule.per_value = (float)bins.per_value;
    rule.n = (float)bins.n;
    /* Four roundings of numbers up to low, high and n in size; and single precision must reach as far at all. */
    const bool ordinary = bins.per_value > 1e-30 && bins.per_value < 1e30 && fabs(bins.low) < 1e30;
    const double error = (fabs(bins.low) * bins.per_value + (double)bins.n) * 0x1p-20 + 0x1p-148 * bins.per_value;
    rule.margin = ordinary ? (float)error : INFINITY;
    return rule;
}

template <typename type> static __device__ uint32_t bin_slot(const struct slot_rule &rule, type pixel)
{
    const float at = ((float)pixel - rule.low) * rule.per_value, whole = floorf(at), part = at - whole;
    if (part > rule.margin && part < 1 - rule.margin && at > 0 && at < rule.n)
        return (uint32_t)whole + 1;
    if (at < -rule.margin)
        return 0;
    if (at > rule.n + rule.margin)
        return (uint32_t)rule.n + 1;
    return (uint32_t)ts_cuda_bin_slot(*rule.bins, (double)pixel);
}

template <typename type, bool by_value> static __device__ uint32_t slot_of(const struct slot_rule &rule, type pixel)
{
    if (!by_value)
        return bin_slot(rule, pixel);
    const uint32_t key = (uint32_t)pixel ^ rule.bias;
    return min(max(key, rule.first), rule.last) - rule.first;
}

/* Adds to slot `slot` of the partial of this slice. */
static __device__ void add_slot(const struct slots_job &job, int64_t slice, uint32_t slot, uint64_t n)
{
    char *partial = (char *)job.work.partials + (uint64_t)slice * job.work.stride;
    atomicAdd((unsigned long long *)partial + slot, (unsigned long long)n);
}

/* Where table `table` of `n_tables` of the slice lies. */
static __device__ uint32_t *left_slots(const struct slots_job &job, int64_t slice, uint32_t table, uint32_t n_tables)
{
    return job.tables + ((uint64_t)slice * n_tables + table) * job.work.n_keys;
}

/* Blocks of so many tables for which there is room. */
static inline unsigned blocks_with_room(const struct slots_job *job, unsigned blocks, unsigned tables)
{
    const size_t fit =
        job->tables_bytes / ((size_t)job->work.n_keys * sizeof(uint32_t) * tables * (size_t)job->work.n_slices);
    return job->tables && fit < blocks ? (unsigned)fit : blocks;
}

/* Tests compile a method of histogram for themselves, with tags that run over sooner, and call it from outside the
 * library. */
#pragma GCC visibility push(default)
/* Merges the n_tables that were left for each slice and adds them to the partials. */
enum ts_status ts_cuda_slot_tables_merge(const struct stage_context *context, const struct slots_job *job,
                                         unsigned n_tables, const struct cuda_call *call);
#pragma GCC visibility pop

/* Calls MACRO(C type, by value) for the type of the pixels. */
#define TS_CUDA_SLOT_TYPES(dtype, MACRO)                                                                               \
    switch (dtype) {                                                                                                   \
    case TS_U8:                                                                                                        \
    case TS_I8:                                                                                                        \
        MACRO(uint8_t, true);                                                                                          \
        break;                                                                                                         \
    case TS_U16:                                                                                                       \
    case TS_I16:                                                                                                       \
        MACRO(uint16_t, true);                                                                                         \
        break;                                                                                                         \
    case TS_U32:                                                                                                       \
        MACRO(uint32_t, false);                                                                                        \
        break;                                                                                                         \
    case TS_I32:                                                                                                       \
        MACRO(int32_t, false);                                                                                         \
        break;                                                                                                         \
    default:                                                                                                           \
        MACRO(float, false);                                                                                           \
        break;                                                                                                         \
    }

/* Each counts the pixels of a job into its partials, which are added to. At most 2^31 pixels a slice. */

/* With 1 or 32 copies of the table for the lanes of a warp, in a table of so many bytes at most. */
enum ts_status ts_cuda_slot_counts_shared(const struct stage_context *context, enum ts_dtype dtype,
                                          const struct slots_job *job, uint32_t copies, size_t most_bytes,
                                          const struct cuda_call *call);
enum ts_status ts_cuda_slot_counts_occupancy(const struct stage_context *context, enum ts_dtype dtype,
                                             const struct slots_job *job, const struct cuda_call *call);

#endif
