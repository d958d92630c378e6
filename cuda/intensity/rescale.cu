/* SPDX-License-Identifier: Apache-2.0
 *
 * rescale on a CUDA device: formulas in stages/intensity/rescale.c. The numbers that values are
 * scaled by come from a range (cuda/values/value_range.cu), from the counts of 8- and 16-bit values
 * (cuda/counting/value_counts.cu), or from percentiles and moments of the other types
 * (cuda/counting/percentile.cu, cuda/counting/moments.cu); the host's finish() makes them, as on
 * the CPU. Each value is read once and written once by the map, and once or twice more for the
 * numbers.
 *
 * A partial is the range, or the counts, or the counts of a round of percentiles (for a slice: the
 * keys at the ranks), or the moments of all slices of a volume (or of one). There are no kernels in
 * this file.
 */
#include "cuda/counting/moments.cuh"
#include "cuda/counting/percentile.cuh"
#include "cuda/counting/value_counts.cuh"
#include "cuda/values/point_map.cuh"
#include "cuda/values/value_range.cuh"

extern "C" {
#include "stages/intensity/rescale.h"
#include "stages/values/scope.h"
#include "stages/values/value_range.h"
}

enum { N_PERCENTILES = 2 };
enum source { FROM_RANGE, FROM_COUNTS, FROM_PERCENTILES, FROM_ENDS, FROM_MOMENTS };

STAGE_PARAMS_OF(rescale_params)

static enum source source_of(const struct stage_context *context)
{
    if (params_of(context)->method == RESCALE_RANGE)
        return FROM_RANGE;
    if (ts_value_counts_fit(context->in.dtype))
        return FROM_COUNTS;
    if (params_of(context)->method == RESCALE_Z_SCORE)
        return FROM_MOMENTS;
    return ts_rescale_by_ends(context) ? FROM_ENDS : FROM_PERCENTILES;
}

/* ---- reduction ------------------------------------------------------------------------------- */

static size_t partial_bytes(const struct stage_context *context, int input)
{
    (void)input;
    switch (source_of(context)) {
    case FROM_COUNTS:
        return ts_cuda_value_counts_bytes(context->in.dtype, ts_scope_is_slice(context));
    case FROM_PERCENTILES:
        return ts_cuda_percentile_bytes(context->round, N_PERCENTILES);
    case FROM_ENDS:
        return sizeof(struct percentile_ends);
    case FROM_MOMENTS:
        return ts_scope_slices(context) * ts_cuda_moments_bytes();
    default:
        return sizeof(struct cuda_value_range);
    }
}

static size_t scratch_bytes(const struct stage_context *context, int input, int64_t n)
{
    (void)input;
    switch (source_of(context)) {
    case FROM_COUNTS:
        return ts_cuda_value_counts_scratch_bytes(context, &context->in, ts_scope_is_slice(context),
                                                  n);
    case FROM_PERCENTILES:
        return ts_cuda_percentile_scratch_bytes(context, context->round, n);
    case FROM_ENDS:
        return ts_cuda_percentile_ends_scratch_bytes(context, PERCENTILE_HISTOGRAM, N_PERCENTILES,
                                                     n);
    case FROM_MOMENTS:
        return ts_cuda_moments_scratch_bytes((int64_t)ts_slice_count(&context->in),
                                             REDUCTION_TWO_LEVEL, n);
    default:
        return 0;
    }
}

static size_t constants_bytes(const struct stage_context *context)
{
    return source_of(context) == FROM_ENDS ? N_PERCENTILES * sizeof(double) : 0;
}

static void rescale_constants(const struct stage_context *context, void *host)
{
    ((double *)host)[0] = params_of(context)->low_percentile;
    ((double *)host)[1] = params_of(context)->high_percentile;
}

static enum ts_status rescale_reduce(const struct stage_context *context, int input,
                                     const struct ts_image *slices, void *partials,
                                     const struct cuda_call *call)
{
    const bool by_slice = ts_scope_is_slice(context);
    const size_t stride = ts_cuda_stride(partial_bytes(context, input)),
                 moments = ts_cuda_moments_bytes();
    const struct rescale_result *result = (const struct rescale_result *)call->result;
    switch (source_of(context)) {
    case FROM_COUNTS:
        return ts_cuda_value_counts(context, slices, by_slice, partials, call);
    case FROM_PERCENTILES:
        return ts_cuda_percentile_add(context, context->round, slices,
                                      context->round ? &result->search : NULL, partials, call);
    case FROM_ENDS:
        return ts_cuda_percentile_ends(context, PERCENTILE_HISTOGRAM, slices,
                                       (const double *)call->constants, N_PERCENTILES, partials,
                                       stride, call);
    case FROM_MOMENTS:
        return ts_cuda_moments(context, slices, REDUCTION_TWO_LEVEL,
                               (char *)partials +
                                   (by_slice ? 0 : (size_t)slices->z_first * moments),
                               by_slice ? stride : moments, call);
    default:
        return ts_cuda_value_range_add(context, slices, partials, by_slice, stride, call);
    }
}

static void collect_moments(const struct stage_context *context, const void *partial,
                            struct moments *moments)
{
    struct value_range range = {};
    for (size_t z = 0; z < ts_scope_slices(context); z++)
        ts_cuda_moments_collect(context->in.dtype,
                                (const char *)partial + z * ts_cuda_moments_bytes(), &moments[z],
                                &range);
}

static void rescale_collect(const struct stage_context *context, int input, const void *partial,
                            void *total)
{
    const enum ts_dtype dtype = context->in.dtype;
    (void)input;
    switch (source_of(context)) {
    case FROM_COUNTS:
        ts_cuda_value_counts_collect(dtype, ts_scope_is_slice(context), partial,
                                     (struct value_counts *)total);
        break;
    case FROM_PERCENTILES:
        ts_cuda_percentile_collect(context->round, dtype, N_PERCENTILES, partial, total);
        break;
    case FROM_ENDS:
        memcpy(total, partial, sizeof(struct percentile_ends));
        break;
    case FROM_MOMENTS:
        collect_moments(context, partial, (struct moments *)total);
        break;
    default:
        *(struct value_range *)total =
            ts_cuda_value_range_collect((const struct cuda_value_range *)partial, dtype);
    }
}

static const struct cuda_reduction reduction = {.partial_bytes = partial_bytes,
                                                .scratch_bytes = scratch_bytes,
                                                .reduce = rescale_reduce,
                                                .collect = rescale_collect};

/* ---- map ------------------------------------------------------------------------------------- */

static enum ts_status rescale_map(const struct stage_context *context, const struct ts_image *in,
                                  struct ts_image *out, const struct cuda_call *call)
{
    const struct rescale_params *params = params_of(context);
    struct point_function function = {.kind = POINT_LINEAR, .fit = POINT_FIT_RANGE, .span = 1};
    if (params->method == RESCALE_Z_SCORE) {
        function.fit = POINT_FIT_SCALE;
    } else {
        function.fit = params->clip ? POINT_FIT_CLIP : POINT_FIT_RANGE;
        function.span = params->out_high - params->out_low;
        function.base = function.below = params->out_low;
        function.above = params->out_high;
    }
    function.low = function.high = NAN;
    if (ts_rescale_is_fixed(context)) {
        double ends[2];
        ts_dtype_range(context->in.dtype, &ends[0], &ends[1]);
        if (params->range.values)
            memcpy(ends, params->range.values, sizeof ends);
        ts_cuda_point_fit(&function, ends[0], ends[1]);
    }
    return ts_cuda_point_map(context, in, out, &function, ts_scope_per_slice(context),
                             context->stage->reduction->result_bytes(context), call);
}

const struct stage_cuda rescale_cuda = {.constants_bytes = constants_bytes,
                                        .constants = rescale_constants,
                                        .scratch_bytes = ts_cuda_point_scratch,
                                        .map = rescale_map,
                                        .reduction = &reduction};
