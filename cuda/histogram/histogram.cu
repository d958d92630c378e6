/* SPDX-License-Identifier: Apache-2.0
 *
 * This file chooses the partials of histogram's rounds on a CUDA device, and the kernels that fill
 * them: those of cuda/values/value_range.cu find the range, those of cuda/counting/value_counts.cu
 * count 8- and 16-bit values fastest, and those of cuda/counting/table_counts.cu and
 * cuda/histogram/histogram_*.cu are the named methods, and count bins and labels.
 *
 * A range is a struct cuda_value_range; the fastest methods have the partials of value_counts.cuh;
 * labels and all other methods have uint64_t counts of slots (cuda/counting/table_job.cuh). Counts
 * of 16-bit values become bins (cuda/counting/histogram_bins.cu) on the device, so that the bins
 * alone go to the host.
 */
#include "cuda/histogram/histogram.cuh"

#include "cuda/counting/histogram_bins.cuh"
#include "cuda/counting/label_pairs.cuh"
#include "cuda/values/value_range.cuh"

extern "C" {
#include "stages/counting/bins.h"
#include "stages/engine/traits.h"
#include "stages/histogram/histogram.h"
#include "stages/values/scope.h"
#include "stages/values/value_range.h"
}

enum { HISTOGRAM_STRIPS = 16 }; /* sub-histogram has at most this many strips side by side */
enum {
    HISTOGRAM_STRIP_TABLES = 16
}; /* most strips for each multiprocessor, if there is scratch for them */

/* ---- histogram global --------------------------------------------------------------------------
 *
 * This makes histograms by atomic adds to global memory.
 *
 * global: one table. A thread takes every grid-th pixel. sub-histogram: every strip of columns has
 * a table of its own, so that fewer threads add to the same counter. A block of 512 threads goes
 * down its strip, a row (or several of a narrow image) at a time; then table_launch.cu adds up the
 * strips' counts. The second cache handles one addition to a counter at a time, but different parts
 * of it work in parallel. So strips end after some rows, and there are 16 for each multiprocessor:
 * more were no faster.
 *
 * Memory traffic: each pixel is read once and costs one atomic; strips clear, write and read
 * another 12 bytes for each slot and strip. 256 threads a block: the atomics are the limit, and any
 * multiple of a warp reaches it.  */

enum { THREADS = 256, MOST_BLOCKS = 4096, PIXELS_A_THREAD = 16 };
enum { STRIP_THREADS = 512, LEAST_ROWS = 16 /* least rows of a strip */ };

/* ---- global ---------------------------------------------------------------------------------- */

template <typename type, bool by_value> static __global__ void count_global(struct table_job job)
{
    const type *slice = (const type *)job.work.data + blockIdx.y * job.work.slice_pixels;
    const struct slot_rule rule = open_rule<by_value>(job, blockIdx.y);
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < job.work.slice_pixels;
         i += step)
        add_slot(job, blockIdx.y, slot_of<type, by_value>(rule, slice[i]), 1);
}

static enum ts_status histogram_global(const struct stage_context *context, enum ts_dtype dtype,
                                       const struct table_job *job, const struct cuda_call *call)
{
    void (*kernel)(struct table_job);
    const int64_t wanted =
        ts_cuda_parts((int64_t)job->work.slice_pixels, THREADS * PIXELS_A_THREAD);
    const dim3 grid((unsigned)(wanted < MOST_BLOCKS ? wanted : (int64_t)MOST_BLOCKS),
                    (unsigned)job->work.n_slices);
#define KERNEL(type, by_value) kernel = count_global<type, by_value>
    TS_CUDA_TABLE_TYPES(dtype, KERNEL)
#undef KERNEL
    return ts_cuda_table_launch(context, kernel, "count_global", job, grid, THREADS, 0, 0, call);
}

/* ---- sub-histogram --------------------------------------------------------------------------- */

static __host__ __device__ uint32_t strip_columns(uint32_t columns)
{
    const uint32_t share = (columns + HISTOGRAM_STRIPS - 1) / HISTOGRAM_STRIPS;
    return share > STRIP_THREADS ? share : STRIP_THREADS;
}

/* The grid counts strips side by side, strips below one another, and slices. */
template <typename type, bool by_value>
static __global__ void __launch_bounds__(STRIP_THREADS) count_strips(struct table_job job)
{
    const type *slice = (const type *)job.work.data + blockIdx.z * job.work.slice_pixels;
    uint32_t *table =
        left_table(job, blockIdx.z, blockIdx.y * gridDim.x + blockIdx.x, gridDim.x * gridDim.y);
    const struct slot_rule rule = open_rule<by_value>(job, blockIdx.z);
    const uint32_t width = strip_columns(job.columns), first = blockIdx.x * width;
    const uint32_t end = min(first + width, job.columns);
    const uint64_t height = (job.rows + gridDim.y - 1) / gridDim.y, first_row = blockIdx.y * height;
    const uint64_t end_row = min(first_row + height, job.rows);
    for (uint64_t row = first_row + threadIdx.y; row < end_row; row += blockDim.y)
        for (uint32_t column = first + threadIdx.x; column < end; column += blockDim.x)
            atomicAdd(&table[slot_of<type, by_value>(rule, slice[row * job.columns + column])], 1u);
}

/* Leaves a table for every strip. The job must have scratch for HISTOGRAM_STRIPS tables of each
 * slice. */
static enum ts_status histogram_sub(const struct stage_context *context, enum ts_dtype dtype,
                                    const struct table_job *job, const struct cuda_call *call)
{
    struct table_job strips = *job;
    void (*kernel)(struct table_job);
    const unsigned across = (unsigned)ts_cuda_parts(job->columns, strip_columns(job->columns));
    const int64_t tables =
        (int64_t)context->device->multiprocessors * HISTOGRAM_STRIP_TABLES / across;
    unsigned threads_across = 32;
    strips.pass_slots = job->work.n_keys;
    const unsigned down =
        ts_cuda_table_grid(&strips, tables, (int64_t)job->columns * LEAST_ROWS, across).x;
    const size_t bytes =
        (size_t)across * down * job->work.n_keys * sizeof(uint32_t) * (size_t)job->work.n_slices;
    while (threads_across < job->columns && threads_across < STRIP_THREADS)
        threads_across *= 2;
    if (cudaMemsetAsync(job->tables, 0, bytes, call->stream) != cudaSuccess)
        return ts_cuda_launched(context, "clearing of strips");
#define KERNEL(type, by_value) kernel = count_strips<type, by_value>
    TS_CUDA_TABLE_TYPES(dtype, KERNEL)
#undef KERNEL
    return ts_cuda_table_launch(
        context, kernel, "count_strips", job, dim3(across, down, (unsigned)job->work.n_slices),
        dim3(threads_across, STRIP_THREADS / threads_across), 0, across * down, call);
}

/* ---- histogram labels --------------------------------------------------------------------------
 *
 * counts[label][slot] += 1 for every pixel and its label; row n_labels takes all other labels.
 *
 * Pairs of label and slot are counted through a cache in shared memory
 * (cuda/counting/label_pairs.cuh). A thread takes every 512th pixel of its block's part, with four
 * loads in flight. Memory traffic: value and label are read once. 512 threads and 64 KiB of cache a
 * block: three blocks fit on a multiprocessor with 228 KiB, one with 64 KiB. */

enum { LABELS_THREADS = 512, FLIGHT = 4, LEAST_PIXELS = 32768 };

template <typename type>
static __global__ void __launch_bounds__(LABELS_THREADS) count_labels(struct table_job job)
{
    extern __shared__ uint32_t memory[];
    const struct slot_rule rule = open_rule<false>(job, 0);
    const struct pair_cache cache = ts_cuda_pair_cache(memory);
    unsigned long long *counts = (unsigned long long *)job.work.partials;
    const type *pixels = (const type *)job.work.data;
    const uint64_t step = (uint64_t)gridDim.x * LABELS_THREADS, n = job.work.slice_pixels;
    for (uint64_t first = (uint64_t)blockIdx.x * LABELS_THREADS + threadIdx.x; first < n;
         first += FLIGHT * step) {
        type values[FLIGHT];
        uint32_t rows[FLIGHT];
#pragma unroll
        for (uint32_t i = 0; i < FLIGHT; i++)
            if (first + i * step < n) {
                values[i] = pixels[first + i * step];
                rows[i] =
                    ts_cuda_label_row(job.labels, job.labels_dtype, first + i * step, job.n_labels);
            }
#pragma unroll
        for (uint32_t i = 0; i < FLIGHT; i++)
            if (first + i * step < n)
                ts_cuda_pair_count(cache, counts,
                                   rows[i] * job.work.n_keys + bin_slot(rule, values[i]));
    }
    ts_cuda_pair_cache_empty(cache, counts);
}

/* Counts pairs of label and slot, in partials of n_labels + 1 rows of work.n_keys slots. */
static enum ts_status histogram_labels(const struct stage_context *context, enum ts_dtype dtype,
                                       const struct table_job *job, const struct cuda_call *call)
{
    void (*kernel)(struct table_job);
    const int64_t at_once = ts_cuda_blocks_at_once(context, LABELS_THREADS);
    const int64_t useful = ts_cuda_parts((int64_t)job->work.slice_pixels, LEAST_PIXELS);
#define KERNEL(type) kernel = count_labels<type>
    TS_CUDA_DTYPES(dtype, KERNEL)
#undef KERNEL
    return ts_cuda_table_launch(context, kernel, "count_labels", job,
                                (unsigned)(at_once < useful ? at_once : useful), LABELS_THREADS,
                                pair_cache_bytes, 0, call);
}

enum { BLOCKS_A_PROCESSOR = 8 /* blocks of 256 threads */ };
static const size_t most_tables_bytes = (size_t)64 << 20;

STAGE_PARAMS_OF(histogram_params)

static bool of_labels(const struct stage_context *context, int input)
{
    return input == 0 && context->references[HISTOGRAM_LABELS - 1];
}

static bool per_slice(const struct stage_context *context, int input)
{
    return input == 0 && ts_scope_is_slice(context);
}

/* Returns the method: the parameter `method` applies to the input; a reference is counted by the
 * fastest method. */
static enum histogram_method method_of(const struct stage_context *context, int input)
{
    if (input == 0 && params_of(context)->method != HISTOGRAM_AUTO)
        return (enum histogram_method)params_of(context)->method;
    return ts_histogram_fastest(ts_stage_input(context, input)->dtype,
                                ts_histogram_by_value(context, input));
}

/* Returns true if the kernels of value_counts.cu count, which other stages use as well. */
static bool by_common_kernels(const struct stage_context *context, int input)
{
    const enum histogram_method method = method_of(context, input);
    if (of_labels(context, input) || !ts_histogram_by_value(context, input))
        return false;
    return method == HISTOGRAM_SAMPLED ||
           (method == HISTOGRAM_LANE_PRIVATE &&
            ts_dtype_bytes(ts_stage_input(context, input)->dtype) == 1);
}

/* Returns log2 of how many neighboring values share one counter. It is 0 unless 16-bit values
 * are counted over their whole type in a power of two of bins: then a bin holds whole groups of
 * values. A group has at most 256 values, so there are at least 256 counters, because fewer are
 * not faster. */
static uint32_t log2_group(const struct stage_context *context, int input)
{
    const struct histogram_params *params = params_of(context);
    const bool whole = input == 0 && !params->range.values && params->limits == LIMITS_DTYPE &&
                       ts_dtype_bytes(context->in.dtype) == 2 &&
                       (params->bins & (params->bins - 1)) == 0;
    uint32_t log2 = 0;
    while (whole && log2 < 8 && params->bins << log2 < VALUE_COUNTS_KEYS_16)
        log2++;
    return log2;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static uint32_t clamped_key(double key, uint32_t n_keys)
{
    return key <= 0 ? 0 : key >= n_keys - 1 ? n_keys - 1 : (uint32_t)key;
}

/* Finds the keys that matter: all of them or, if the range is known, the keys within it and one on
 * each side, which counts all that are outside. */
static void key_window(const struct stage_context *context, int input, uint32_t *first,
                       uint32_t *last)
{
    const enum ts_dtype dtype = ts_stage_input(context, input)->dtype;
    const uint32_t n_keys = ts_value_counts_keys(dtype);
    double lowest, highest;
    ts_dtype_range(dtype, &lowest, &highest);
    *first = 0;
    *last = n_keys - 1;
    if (ts_histogram_fixed_bins(context)) {
        const struct bins bins = ts_histogram_bins(context);
        *first = clamped_key(ceil(bins.low) - lowest - 1, n_keys);
        *last = clamped_key(floor(bins.high) - lowest + 1, n_keys);
    }
}

static uint32_t slot_count(const struct stage_context *context, int input)
{
    uint32_t first, last;
    if (!ts_histogram_by_value(context, input))
        return (uint32_t)params_of(context)->bins + BINS_EXTRA_SLOTS;
    key_window(context, input, &first, &last);
    return last - first + 1;
}

/* Returns true if the counts of groups are already the bins. */
static bool are_bins(const struct stage_context *context, int input)
{
    const struct histogram_params *params = params_of(context);
    return input == 0 && by_common_kernels(context, input) && !params->range.values &&
           params->limits == LIMITS_DTYPE &&
           ts_value_counts_keys(context->in.dtype) >> log2_group(context, input) ==
               (uint32_t)params->bins;
}

static bool counts_slices(const struct stage_context *context, int input)
{
    return by_common_kernels(context, input) && per_slice(context, input);
}

/* Returns true if the device turns the counts into bins before they are copied to the host. */
static bool makes_bins(const struct stage_context *context, int input)
{
    return ts_histogram_binned(context, input) && !are_bins(context, input);
}

static size_t bins_bytes(const struct stage_context *context, int input)
{
    return sizeof(struct cuda_value_bins) +
           ((size_t)params_of(context)->bins + BINS_EXTRA_SLOTS) *
               (counts_slices(context, input) ? sizeof(uint32_t) : sizeof(uint64_t));
}

/* Returns the bytes of the counts of one slice, or of the volume. */
static size_t counts_bytes(const struct stage_context *context, int input)
{
    if (of_labels(context, input))
        return ((size_t)params_of(context)->n_labels + 1) * slot_count(context, input) *
               sizeof(uint64_t);
    return by_common_kernels(context, input)
               ? ts_cuda_group_counts_bytes(ts_stage_input(context, input)->dtype,
                                            log2_group(context, input), per_slice(context, input))
               : slot_count(context, input) * sizeof(uint64_t);
}

/* Partials of slices are only their bins. Those of the volume keep the counts for the next slab,
 * and the bins so far follow behind these. */
static size_t bins_offset(const struct stage_context *context, int input)
{
    return per_slice(context, input) ? 0 : ts_cuda_stride(counts_bytes(context, input));
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    if (ts_histogram_ranging(context))
        return input == 0 ? sizeof(struct cuda_value_range) : 0;
    if (input == HISTOGRAM_LABELS)
        return 0;
    if (!makes_bins(context, input))
        return counts_bytes(context, input);
    return bins_offset(context, input) + bins_bytes(context, input);
}

static bool overwrites(const struct stage_context *context)
{
    return !ts_histogram_ranging(context) &&
           (by_common_kernels(context, 0) || makes_bins(context, 0));
}

/* ---- tables that are left to be merged ------------------------------------------------------- */

/* Returns true if blocks leave their tables: those of `sub` always do, others where the tables
 * are merged without atomics. */
static bool leaves_tables(const struct stage_context *context, int input)
{
    const int32_t merge = params_of(context)->merge;
    if (by_common_kernels(context, input) || of_labels(context, input))
        return false;
    return method_of(context, input) == HISTOGRAM_SUB ||
           (input == 0 && (merge == HISTOGRAM_MERGE_FAN_IN || merge == HISTOGRAM_MERGE_TWO_LEVEL));
}

/* Returns the bytes of the tables that one slice needs at least: that of one block, or those of the
 * strips that are side by side. */
static size_t slice_tables_bytes(const struct stage_context *context, int input)
{
    const size_t tables = method_of(context, input) == HISTOGRAM_SUB ? HISTOGRAM_STRIPS : 1;
    return tables * slot_count(context, input) * sizeof(uint32_t);
}

/* Returns the bytes for the tables of as many blocks as the device holds (or of the strips that it
 * is given), and for those of n slices, if they are not too many. */
static size_t tables_bytes(const struct stage_context *context, int input, int64_t n)
{
    const size_t slice = slice_tables_bytes(context, input),
                 one = slot_count(context, input) * sizeof(uint32_t);
    const size_t least = slice > most_tables_bytes ? slice : most_tables_bytes;
    const bool strips = method_of(context, input) == HISTOGRAM_SUB;
    const size_t each = strips ? (size_t)HISTOGRAM_STRIP_TABLES : (size_t)BLOCKS_A_PROCESSOR;
    const size_t wanted = (size_t)context->device->multiprocessors * each * one + (size_t)n * slice;
    return wanted < least ? wanted : least;
}

static enum reduction_method reduction_of(const struct stage_context *context)
{
    const int32_t merge = params_of(context)->merge;
    if (merge == HISTOGRAM_MERGE_FAN_IN)
        return REDUCTION_FAN_IN;
    return merge == HISTOGRAM_MERGE_TWO_LEVEL ? REDUCTION_TWO_LEVEL : REDUCTION_AUTO;
}

/* Returns the bytes of the counts of n slices from which bins are made. */
static size_t slices_bytes(const struct stage_context *context, int input, int64_t n)
{
    return makes_bins(context, input) && per_slice(context, input)
               ? (size_t)n * ts_cuda_stride(counts_bytes(context, input))
               : 0;
}

/* Returns the scratch of the kernels that count n slices. */
static size_t counting_bytes(const struct stage_context *context, int input, int64_t n)
{
    if (leaves_tables(context, input))
        return tables_bytes(context, input, per_slice(context, input) ? n : 1);
    if (by_common_kernels(context, input))
        return ts_cuda_value_counts_scratch_bytes(context, ts_stage_input(context, input),
                                                  per_slice(context, input), n);
    return 0;
}

static size_t scratch_bytes(const struct stage_context *context, int input, int64_t n)
{
    if (ts_histogram_ranging(context) || input == HISTOGRAM_LABELS)
        return 0;
    return slices_bytes(context, input, n) + counting_bytes(context, input, n);
}

/* ---- bins of counts -------------------------------------------------------------------------- */

/* Makes bins from the counts of n slices, or of the volume (n = 1). */
static enum ts_status make_bins(const struct stage_context *context, int input, const void *counts,
                                void *binned, int64_t n, const struct cuda_call *call)
{
    const enum ts_dtype dtype = ts_stage_input(context, input)->dtype;
    struct binning_job job = {};
    double highest;
    job.counts = (const char *)counts;
    job.stride = ts_cuda_stride(counts_bytes(context, input));
    job.of_slices = counts_slices(context, input);
    job.n_keys = ts_value_counts_keys(dtype);
    if (by_common_kernels(context, input)) {
        job.log2_group = log2_group(context, input);
        job.n_keys >>= job.log2_group;
    } else {
        uint32_t last;
        key_window(context, input, &job.first, &last);
        job.n_keys = last - job.first + 1;
    }
    ts_dtype_range(dtype, &job.lowest, &highest);
    job.known = ts_histogram_known_bins(context);
    job.bins.n = params_of(context)->bins;
    if (job.known)
        job.bins = ts_histogram_bins(context);
    job.binned = (char *)binned;
    job.binned_stride = ts_cuda_stride(bins_bytes(context, input));
    return ts_cuda_histogram_bins(context, &job, n, call);
}

/* Fills all slots if the counts are the bins. */
static void collect_groups(const struct stage_context *context, int input, const void *partial,
                           uint64_t *slots)
{
    const struct cuda_slice_counts *slice = (const struct cuda_slice_counts *)partial;
    const size_t n = (size_t)params_of(context)->bins;
    memset(slots, 0, (n + BINS_EXTRA_SLOTS) * sizeof *slots);
    if (!counts_slices(context, input))
        memcpy(slots + 1, partial, n * sizeof *slots);
    for (uint32_t key = slice->low; counts_slices(context, input) && key <= slice->high; key++)
        slots[1 + key] = slice->counts[key];
}

static void collect_bins(const struct stage_context *context, int input, const void *partial,
                         struct histogram_binned *total)
{
    const struct cuda_value_bins *binned =
        (const struct cuda_value_bins *)((const char *)partial +
                                         (are_bins(context, input) ? 0
                                                                   : bins_offset(context, input)));
    const size_t n_slots = (size_t)params_of(context)->bins + BINS_EXTRA_SLOTS;
    if (ts_histogram_known_bins(context)) {
        total->bins = ts_histogram_bins(context);
    } else {
        struct value_range range = {};
        double lowest, highest;
        ts_dtype_range(context->in.dtype, &lowest, &highest);
        range.n_finite = binned->low <= binned->high;
        range.low = lowest + binned->low;
        range.high = lowest + binned->high;
        ts_bins_init_data(&total->bins, &range, params_of(context)->bins);
    }
    if (are_bins(context, input))
        collect_groups(context, input, partial, total->slots);
    else if (counts_slices(context, input))
        for (size_t i = 0; i < n_slots; i++)
            total->slots[i] = ((const uint32_t *)(binned + 1))[i];
    else
        memcpy(total->slots, binned + 1, n_slots * sizeof *total->slots);
}

/* ---- launching ------------------------------------------------------------------------------- */

static ts_cuda_table_counter *counter_of(const struct stage_context *context, int input)
{
    if (of_labels(context, input))
        return histogram_labels;
    switch (method_of(context, input)) {
    case HISTOGRAM_GLOBAL:
        return histogram_global;
    case HISTOGRAM_SUB:
        return histogram_sub;
    case HISTOGRAM_OCCUPANCY:
        return ts_cuda_table_counts_occupancy;
    case HISTOGRAM_WARP_TAGGED:
        return ts_cuda_histogram_warp_tagged;
    default:
        return ts_cuda_table_counts_shared;
    }
}

/* Counts whole slices, or the rows of one partial. */
static enum ts_status count_slots(const struct stage_context *context, int input,
                                  const struct ts_image *slices, void *partials,
                                  const struct cuda_call *call)
{
    const bool each = per_slice(context, input);
    const int64_t n = each ? slices->axes[0].n : 1;
    struct table_job job = {};
    int64_t most_slices = n;
    job.work.n_keys = slot_count(context, input);
    job.work.bias = ts_dtype_sign_bit(ts_stage_input(context, input)->dtype);
    job.work.partials = partials;
    job.work.stride = each ? ts_cuda_stride(counts_bytes(context, input)) : 0;
    job.log2_copies = method_of(context, input) == HISTOGRAM_LANE_PRIVATE ? 5 : 0;
    job.merge = input == 0 ? reduction_of(context) : REDUCTION_AUTO;
    if (ts_histogram_by_value(context, input)) {
        key_window(context, input, &job.first, &job.last);
    } else if (each && !ts_histogram_fixed_bins(context)) {
        job.slice_bins =
            call->result; /* struct histogram_result of the first round starts with the bins */
        job.bins_stride = ts_cuda_stride(context->stage->reduction->result_bytes(context));
    } else {
        job.bins = ts_histogram_bins(context);
    }
    if (leaves_tables(context, input)) {
        job.tables = (uint32_t *)call->scratch;
        job.tables_bytes = tables_bytes(context, input, n);
        most_slices = (int64_t)(job.tables_bytes / slice_tables_bytes(context, input));
    }
    if (of_labels(context, input)) {
        job.labels = slices[HISTOGRAM_LABELS].data;
        job.labels_dtype = slices[HISTOGRAM_LABELS].dtype;
        job.n_labels = (uint32_t)params_of(context)->n_labels;
    }
    return ts_cuda_table_pieces(context, slices, job, each, most_slices, counter_of(context, input),
                                call);
}

static enum ts_status histogram_count(const struct stage_context *context, int input,
                                      const struct ts_image *slices, void *counts,
                                      const struct cuda_call *call)
{
    struct value_groups groups = {log2_group(context, input), 0, 0};
    if (!by_common_kernels(context, input))
        return count_slots(context, input, slices, counts, call);
    key_window(context, input, &groups.first, &groups.last);
    return ts_cuda_group_counts(context, slices, &groups, per_slice(context, input), counts, call);
}

static enum ts_status count_into_bins(const struct stage_context *context, int input,
                                      const struct ts_image *slices, void *partials,
                                      const struct cuda_call *call)
{
    const bool each = per_slice(context, input);
    const int64_t n = each ? slices->axes[0].n : 1;
    const size_t bytes = slices_bytes(context, input, n);
    void *counts = each ? call->scratch : partials;
    struct cuda_call counting = *call;
    counting.scratch = (char *)call->scratch + bytes;
    if (each && !by_common_kernels(context, input) &&
        cudaMemsetAsync(counts, 0, bytes, call->stream) != cudaSuccess)
        return ts_cuda_launched(context, "clearing of counts");
    const enum ts_status status = histogram_count(context, input, slices, counts, &counting);
    return status == TS_OK ? make_bins(context, input, counts,
                                       (char *)partials + bins_offset(context, input), n, call)
                           : status;
}

static enum ts_status histogram_reduce(const struct stage_context *context, int input,
                                       const struct ts_image *slices, void *partials,
                                       const struct cuda_call *call)
{
    const bool each = per_slice(context, input);
    if (ts_histogram_ranging(context))
        return ts_cuda_value_range_add(context, slices, partials, each,
                                       ts_cuda_stride(sizeof(struct cuda_value_range)), call);
    return makes_bins(context, input) ? count_into_bins(context, input, slices, partials, call)
                                      : histogram_count(context, input, slices, partials, call);
}

static void histogram_collect(const struct stage_context *context, int input, const void *partial,
                              void *total)
{
    const enum ts_dtype dtype = ts_stage_input(context, input)->dtype;
    const uint64_t *slots = (const uint64_t *)partial;
    const uint32_t n_slots = slot_count(context, input);
    if (ts_histogram_ranging(context)) {
        *(struct value_range *)total =
            ts_cuda_value_range_collect((const struct cuda_value_range *)partial, dtype);
    } else if (of_labels(context, input)) {
        struct label_counts *counts = (struct label_counts *)total;
        ts_label_counts_init(counts, params_of(context)->n_labels, params_of(context)->bins);
        memcpy(counts->counts, slots, partial_bytes(context, input));
    } else if (ts_histogram_binned(context, input)) {
        collect_bins(context, input, partial, (struct histogram_binned *)total);
    } else if (by_common_kernels(context, input)) {
        ts_cuda_value_counts_collect(dtype, per_slice(context, input), partial,
                                     (struct value_counts *)total);
    } else if (ts_histogram_by_value(context, input)) {
        uint32_t first, last;
        key_window(context, input, &first, &last);
        ts_cuda_value_counts_place(dtype, slots, first, n_slots, (struct value_counts *)total);
    } else {
        struct bin_counts *counts = (struct bin_counts *)total;
        ts_bin_counts_init(counts, params_of(context)->bins);
        memcpy(counts->slots, slots, n_slots * sizeof *slots);
    }
}

static const struct cuda_reduction reduction = {
    .partial_bytes = partial_bytes,
    .overwrites = overwrites,
    .scratch_bytes = scratch_bytes,
    .reduce = histogram_reduce,
    .collect = histogram_collect,
};

const struct stage_cuda histogram_cuda = {.reduction = &reduction};
