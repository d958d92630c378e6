/* SPDX-License-Identifier: Apache-2.0
 *
 * This describes the work of one launch that counts into tables of slots (a method of `histogram`,
 * cuda/histogram/histogram_*.cu and table_counts.cu, or the bins of `equalize`), and finds the slot
 * of a pixel, which is the CPU's.
 *
 * If pixels are counted by value, slot = key - first, and keys outside of [first, last] count at
 * the nearer end. If they are counted in bins, slots are those of stages/counting/bins.h, whose
 * edges decide in double; but if single precision puts a value further from an edge than its error,
 * it has found the bin already, which saves most of the double arithmetic.
 */
#ifndef CUDA_COUNTING_TABLE_JOB_CUH
#define CUDA_COUNTING_TABLE_JOB_CUH

#include "core/clamp.h"
#include "cuda/counting/count_job.cuh"
#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/counting/bins.h"
#include "stages/values/fan_in.h"
}

/* ---- bins --------------------------------------------------------------------------------------
 *
 * This finds the slot of a value among bins of equal width on a CUDA device. It is the slot that
 * stages/counting/bins.h finds. */

/* Slot 0 is below the bins, 1 to n are the bins, n + 1 is above, and n + 2 is for NaN. A
 * multiplication guesses the bin, and comparisons with its edges correct the guess. */
static __device__ inline int32_t ts_cuda_bin_slot(const struct bins &bins, double value)
{
    const int32_t n = (int32_t)bins.n;
    if (!(value >= bins.low))
        return value != value ? n + 2 : 0;
    if (value > bins.high)
        return n + 1;
    const double guess = (value - bins.low) * bins.per_value, last = (double)(n - 1);
    const int32_t bin = (int32_t)(guess < last ? guess : last);
    const int32_t down = value < bins.low + (double)bin * bins.step;
    const int32_t up = value >= bins.low + (double)(bin + 1) * bins.step;
    const int32_t slot = bin - down + up + 1;
    return slot < n ? slot : n;
}

/* Partials are uint64_t counts of n_keys slots each, work.stride bytes apart if there is one for
 * each slice. */
struct table_job {
    struct count_job work; /* work.n_keys is the number of slots */
    uint32_t first, last;  /* keys, if pixels are counted by value */
    struct bins bins;
    const void *slice_bins; /* on the device: struct bins of each slice, bins_stride bytes apart;
                             * NULL: `bins` is for all */
    size_t bins_stride;
    uint64_t rows;        /* rows of a slice (of all slices together, if they share one partial) */
    uint32_t columns;     /* pixels of a row */
    uint32_t pass_slots;  /* slots that one pass counts; blockIdx.z is the pass */
    uint32_t log2_copies; /* copies of the table in the method shared, for the lanes of a warp */
    size_t most_bytes;    /* limit of that table's bytes; 0: as many as a block may have */
    /* Scratch in which blocks (or their warps) leave their tables, [slice][table][slot]; NULL: they
     * add them to the partials at once. */
    uint32_t *tables;
    size_t tables_bytes;
    enum reduction_method merge; /* how the tables are merged; REDUCTION_AUTO: with atomics */
    const void *labels;          /* the label of each pixel; NULL: without labels */
    enum ts_dtype labels_dtype;
    uint32_t n_labels;
};

/* ---- on the device --------------------------------------------------------------------------- */

/* The rule by which threads find slots. */
struct slot_rule {
    uint32_t bias, first, last;
    float low, per_value, n,
        margin;              /* margin: how far (value - low) * per_value may be wrong, in bins */
    const struct bins *bins; /* in shared memory */
};

/* Returns the rule for a slice. All threads of the block call it. */
template <bool by_value>
static __device__ struct slot_rule open_rule(const struct table_job &job, int64_t slice)
{
    __shared__ struct bins bins;
    struct slot_rule rule = {job.work.bias, job.first, job.last};
    if (by_value)
        return rule;
    if (threadIdx.x == 0 && threadIdx.y == 0)
        bins = job.slice_bins ? *(const struct bins *)((const char *)job.slice_bins +
                                                       (uint64_t)slice * job.bins_stride)
                              : job.bins;
    __syncthreads();
    rule.bins = &bins;
    rule.low = (float)bins.low;
    rule.per_value = (float)bins.per_value;
    rule.n = (float)bins.n;
    /* The error is that of four roundings of numbers up to low, high and n in size; and the numbers
     * must be in the range of single precision. */
    const bool ordinary = bins.per_value > 1e-30 && bins.per_value < 1e30 && fabs(bins.low) < 1e30;
    const double error =
        (fabs(bins.low) * bins.per_value + (double)bins.n) * 0x1p-20 + 0x1p-148 * bins.per_value;
    rule.margin = ordinary ? (float)error : INFINITY;
    return rule;
}

template <typename type>
static __device__ uint32_t bin_slot(const struct slot_rule &rule, type pixel)
{
    const float at = ((float)pixel - rule.low) * rule.per_value, whole = floorf(at),
                part = at - whole;
    if (part > rule.margin && part < 1 - rule.margin && at > 0 && at < rule.n)
        return (uint32_t)whole + 1;
    if (at < -rule.margin)
        return 0;
    if (at > rule.n + rule.margin)
        return (uint32_t)rule.n + 1;
    return (uint32_t)ts_cuda_bin_slot(*rule.bins, (double)pixel);
}

template <typename type, bool by_value>
static __device__ uint32_t slot_of(const struct slot_rule &rule, type pixel)
{
    if (!by_value)
        return bin_slot(rule, pixel);
    const uint32_t key = (uint32_t)pixel ^ rule.bias;
    return min(max(key, rule.first), rule.last) - rule.first;
}

/* Returns pixel i of the word. */
template <typename type> static __device__ type pixel_of(uint32_t word, uint32_t i)
{
    const uint32_t bits = word >> 8 * sizeof(type) * i;
    type pixel;
    memcpy(&pixel, &bits, sizeof pixel);
    return pixel;
}

/* Adds n to slot `slot` of the partial of this slice. */
static __device__ void add_slot(const struct table_job &job, int64_t slice, uint32_t slot,
                                uint64_t n)
{
    char *partial = (char *)job.work.partials + (uint64_t)slice * job.work.stride;
    atomicAdd((unsigned long long *)partial + slot, (unsigned long long)n);
}

/* Returns table number `table` of the `n_tables` that are left for the slice. */
static __device__ uint32_t *left_table(const struct table_job &job, int64_t slice, uint32_t table,
                                       uint32_t n_tables)
{
    return job.tables + ((uint64_t)slice * n_tables + table) * job.work.n_keys;
}

/* ---- launchers ------------------------------------------------------------------------------- */

/* Calls MACRO(C type, by value) for the type of the pixels. */
#define TS_CUDA_TABLE_TYPES(dtype, MACRO)                                                          \
    switch (dtype) {                                                                               \
    case TS_U8:                                                                                    \
        TS_CUDA_CASE(TS_I8, MACRO(uint8_t, true))                                                  \
    case TS_U16:                                                                                   \
        TS_CUDA_CASE(TS_I16, MACRO(uint16_t, true))                                                \
        TS_CUDA_CASE(TS_U32, MACRO(uint32_t, false))                                               \
        TS_CUDA_CASE(TS_I32, MACRO(int32_t, false))                                                \
    default:                                                                                       \
        MACRO(float, false);                                                                       \
    }

/* Returns how many counters of a table fit in shared memory, beside what open_rule() takes
 * there. */
static inline uint32_t ts_cuda_most_counters(const struct stage_context *context)
{
    return (uint32_t)(context->device->block_shared_bytes -
                      (int)ts_cuda_stride(sizeof(struct bins))) /
           (uint32_t)sizeof(uint32_t);
}

/* Counts the pixels of a job and adds the counts to its partials. The job has at most 2^31 pixels a
 * slice. */
typedef enum ts_status ts_cuda_table_counter(const struct stage_context *context,
                                             enum ts_dtype dtype, const struct table_job *job,
                                             const struct cuda_call *call);
ts_cuda_table_counter ts_cuda_table_counts_shared,
    ts_cuda_table_counts_occupancy; /* in table_counts.cu */

/* Calls `count` for pieces of the slices that fit 32-bit counts and a grid, of at most
 * `most_slices` slices each. The job describes the whole: its partials, bins and labels. */
enum ts_status ts_cuda_table_pieces(const struct stage_context *context,
                                    const struct ts_image *slices, struct table_job job,
                                    bool per_slice, int64_t most_slices,
                                    ts_cuda_table_counter *count, const struct cuda_call *call);
/* Counts 32-bit values in bins (at most most_bins), with one table a block, and adds the counts to
 * the slots of *partials. The bins are at the device address `bins`. With per_slice, slice i has
 * the slots i * stride bytes further and the bins i * bins_stride bytes further. */
enum ts_status ts_cuda_bin_counts_add(const struct stage_context *context,
                                      const struct ts_image *slices, const void *bins,
                                      size_t bins_stride, size_t most_bins, void *partials,
                                      bool per_slice, size_t stride, const struct cuda_call *call);

/* A test compiles a method of histogram for itself, with tags that overflow sooner, and calls these
 * from outside the library. */
#pragma GCC visibility push(default)
/* Returns the slots of one pass, so that `copies` tables of them fit in n_counters: all slots, or
 * equal shares. */
uint32_t ts_cuda_pass_slots(uint32_t n_slots, uint32_t n_counters, uint32_t copies);
/* Returns the grid of a job whose pass_slots are set: blocks of a slice, slices, passes. The device
 * holds `at_once` blocks; each should have at least `least` pixels, and leaves `tables` tables if
 * the job has scratch for them. */
dim3 ts_cuda_table_grid(const struct table_job *job, int64_t at_once, int64_t least,
                        unsigned tables);
/* Merges the n_tables tables that were left for each slice, and adds them to the partials. */
enum ts_status ts_cuda_table_merge(const struct stage_context *context, const struct table_job *job,
                                   unsigned n_tables, const struct cuda_call *call);
#pragma GCC visibility pop

/* Reserves `bytes` of dynamic shared memory for blocks of the kernel. This and the next function
 * are inline because a test's kernel is only known to the test's own code. */
static inline enum ts_status ts_cuda_table_reserve(const struct stage_context *context,
                                                   void (*kernel)(struct table_job), size_t bytes)
{
    const size_t small = 48 << 10; /* up to this size no reservation is needed */
    return bytes > small ? ts_cuda_shared(context, (const void *)kernel, bytes) : TS_OK;
}

/* Returns how many such blocks the device holds at once, as limited by their threads, registers and
 * tables. */
static inline int64_t ts_cuda_table_blocks(const struct stage_context *context,
                                           void (*kernel)(struct table_job), int threads,
                                           size_t bytes)
{
    int blocks = 0;
    const int most = context->device->threads / threads;
    if (ts_cuda_table_reserve(context, kernel, bytes) == TS_OK)
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, bytes);
    return (int64_t)context->device->multiprocessors * ts_clamp(blocks, 1, most);
}

/* Launches the kernel with `bytes` of dynamic shared memory, then merges the n_tables tables that
 * it left for each slice, if any. */
static inline enum ts_status ts_cuda_table_launch(const struct stage_context *context,
                                                  void (*kernel)(struct table_job),
                                                  const char *name, const struct table_job *job,
                                                  dim3 grid, dim3 block, size_t bytes,
                                                  unsigned n_tables, const struct cuda_call *call)
{
    enum ts_status status = ts_cuda_table_reserve(context, kernel, bytes);
    if (status != TS_OK)
        return status;
    kernel<<<grid, block, bytes, call->stream>>>(*job);
    status = ts_cuda_launched(context, name);
    return status == TS_OK && job->tables && n_tables > 0
               ? ts_cuda_table_merge(context, job, n_tables, call)
               : status;
}

#endif
