/* SPDX-License-Identifier: Apache-2.0
 *
 * threshold on a CUDA device: y = 1 if the key of a value lies in a range of keys
 * (stages/values/value_keys.h) and the pixel is valid, else 0. The keys are those of a threshold
 * that is given, or the host's finish() makes them from counts of values
 * (cuda/counting/value_counts.cu), of bins (cuda/counting/table_job.cuh), or of a percentile's keys
 * (cuda/counting/percentile.cu).
 *
 * A thread compares FLIGHT values, as many as are loaded before the first is used; neighboring
 * threads have neighboring values, so that a warp reads and writes whole sectors and its 32 bits of
 * validity are one word. Memory traffic: each value is read once and a byte is written. 256 threads
 * keep enough warps in flight to hide the loads.
 */
#include "cuda/counting/percentile.cuh"
#include "cuda/counting/table_job.cuh"
#include "cuda/counting/value_counts.cuh"
#include "cuda/regions/region_keys.cuh"
#include "cuda/values/value_range.cuh"

extern "C" {
#include "stages/regions/threshold.h"
#include "stages/values/scope.h"
}

enum { THREADS = 256, FLIGHT = 8, MOST_SLICES = 65535 };

STAGE_PARAMS_OF(threshold_params)

/* ---- reduction ------------------------------------------------------------------------------- */

enum source { FROM_COUNTS, FROM_RANGE, FROM_BINS, FROM_ENDS, FROM_PERCENTILES };

static enum source source_of(const struct stage_context *context)
{
    if (ts_threshold_by_value(context))
        return FROM_COUNTS;
    if (ts_threshold_by_rule(context))
        return ts_threshold_ranging(context) ? FROM_RANGE : FROM_BINS;
    return ts_threshold_by_ends(context) ? FROM_ENDS : FROM_PERCENTILES;
}

static size_t n_slots(const struct stage_context *context)
{
    return (size_t)params_of(context)->bins + BINS_EXTRA_SLOTS;
}

static size_t partial_bytes(const struct stage_context *context, int)
{
    switch (source_of(context)) {
    case FROM_COUNTS:
        return ts_cuda_value_counts_bytes(context->in.dtype, ts_scope_is_slice(context));
    case FROM_RANGE:
        return sizeof(struct cuda_value_range);
    case FROM_BINS:
        return n_slots(context) * sizeof(uint64_t);
    case FROM_ENDS:
        return sizeof(struct percentile_ends);
    default:
        return ts_cuda_percentile_bytes(context->round, 1);
    }
}

static size_t scratch_bytes(const struct stage_context *context, int, int64_t n)
{
    switch (source_of(context)) {
    case FROM_COUNTS:
        return ts_cuda_value_counts_scratch_bytes(context, &context->in, ts_scope_is_slice(context),
                                                  n);
    case FROM_ENDS:
        return ts_cuda_percentile_ends_scratch_bytes(context, PERCENTILE_HISTOGRAM, 1, n);
    case FROM_PERCENTILES:
        return ts_cuda_percentile_scratch_bytes(context, context->round, n);
    default:
        return 0;
    }
}

static size_t constants_bytes(const struct stage_context *context)
{
    return ts_threshold_by_ends(context) ? sizeof(double) : 0;
}

static void threshold_constants(const struct stage_context *context, void *host)
{
    *(double *)host = params_of(context)->percentile;
}

static size_t result_stride(const struct stage_context *context)
{
    return ts_cuda_stride(context->stage->reduction->result_bytes(context));
}

/* struct threshold_result starts with the bins. */
static enum ts_status threshold_reduce(const struct stage_context *context, int input,
                                       const struct ts_image *slices, void *partials,
                                       const struct cuda_call *call)
{
    const bool by_slice = ts_scope_is_slice(context);
    const size_t stride = ts_cuda_stride(partial_bytes(context, input));
    const struct threshold_result *result = (const struct threshold_result *)call->result;
    switch (source_of(context)) {
    case FROM_COUNTS:
        return ts_cuda_value_counts(context, slices, by_slice, partials, call);
    case FROM_RANGE:
        return ts_cuda_value_range_add(context, slices, partials, by_slice, stride, call);
    case FROM_BINS:
        return ts_cuda_bin_counts_add(context, slices, &result->bins, result_stride(context),
                                      (size_t)params_of(context)->bins, partials, by_slice, stride,
                                      call);
    case FROM_ENDS:
        return ts_cuda_percentile_ends(context, PERCENTILE_HISTOGRAM, slices,
                                       (const double *)call->constants, 1, partials, stride, call);
    default:
        return ts_cuda_percentile_add(context, context->round, slices,
                                      context->round ? &result->search : NULL, partials, call);
    }
}

static void threshold_collect(const struct stage_context *context, int, const void *partial,
                              void *total)
{
    const enum ts_dtype dtype = context->in.dtype;
    struct bin_counts *bins = (struct bin_counts *)total;
    switch (source_of(context)) {
    case FROM_COUNTS:
        ts_cuda_value_counts_collect(dtype, ts_scope_is_slice(context), partial,
                                     (struct value_counts *)total);
        break;
    case FROM_RANGE:
        *(struct value_range *)total =
            ts_cuda_value_range_collect((const struct cuda_value_range *)partial, dtype);
        break;
    case FROM_BINS:
        ts_bin_counts_init(bins, params_of(context)->bins);
        memcpy(bins->slots, partial, n_slots(context) * sizeof *bins->slots);
        break;
    case FROM_ENDS:
        memcpy(total, partial, sizeof(struct percentile_ends));
        break;
    default:
        ts_cuda_percentile_collect(context->round, dtype, 1, partial, total);
    }
}

static const struct cuda_reduction reduction = {.partial_bytes = partial_bytes,
                                                .scratch_bytes = scratch_bytes,
                                                .reduce = threshold_reduce,
                                                .collect = threshold_collect};

/* ---- map ------------------------------------------------------------------------------------- */

/* Slices are n pixels and n_words words of bits apart; their results are `stride` bytes apart. */
struct threshold_job {
    const void *in;
    uint8_t *out;
    const uint32_t *valid; /* NULL: all pixels are valid */
    const char *results;   /* NULL: `given` is the range for all slices */
    size_t stride;
    struct key_range given;
    int64_t n, n_words, n_slices;
};

template <typename T>
static __global__ void __launch_bounds__(THREADS) compare_keys(struct threshold_job job)
{
    for (int64_t z = blockIdx.y; z < job.n_slices; z += gridDim.y) {
        const T *in = (const T *)job.in + z * job.n;
        const struct key_range keys =
            job.results ? ((const struct threshold_result *)(job.results + z * job.stride))->keys
                        : job.given;
        const int64_t first = (int64_t)blockIdx.x * (THREADS * FLIGHT) + threadIdx.x;
        int32_t found[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            if (first + i * THREADS < job.n)
                found[i] = ts_cuda_region_key(in[first + i * THREADS]);
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) {
            const int64_t at = first + i * THREADS;
            if (at >= job.n)
                break;
            const bool valid = !job.valid || (job.valid[z * job.n_words + at / 32] >> at % 32 & 1);
            job.out[z * job.n + at] = found[i] >= keys.low && found[i] <= keys.high && valid;
        }
    }
}

static enum ts_status threshold_map(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct cuda_call *call)
{
    struct threshold_job job = {in->data, (uint8_t *)out->data, (const uint32_t *)in->valid};
    job.n = (int64_t)ts_slice_count(out);
    job.n_words = (int64_t)(ts_valid_bytes(in) / sizeof *job.valid);
    job.n_slices = out->axes[0].n;
    if (params_of(context)->method == THRESHOLD_VALUE) {
        job.given = ts_threshold_given(context);
    } else {
        job.results = (const char *)call->result;
        job.stride = ts_scope_is_slice(context) ? result_stride(context) : 0;
    }
    const dim3 grid((unsigned)ts_cuda_parts(job.n, THREADS * FLIGHT),
                    (unsigned)(job.n_slices < MOST_SLICES ? job.n_slices : MOST_SLICES));
#define COMPARE(T) compare_keys<T><<<grid, THREADS, 0, call->stream>>>(job)
    TS_CUDA_DTYPES(in->dtype, COMPARE)
#undef COMPARE
    return ts_cuda_launched(context, "threshold");
}

const struct stage_cuda threshold_cuda = {.constants_bytes = constants_bytes,
                                          .constants = threshold_constants,
                                          .map = threshold_map,
                                          .reduction = &reduction};
