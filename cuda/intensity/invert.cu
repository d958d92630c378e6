/* SPDX-License-Identifier: Apache-2.0
 *
 * invert on a CUDA device: y = low + high - x. Each value is read once and written once (twice its
 * bytes), once more where the range is that of the data. Threads, blocks and their reasons:
 * cuda/values/point_map.cu, cuda/values/value_range.cu.
 */
#include "cuda/values/point_map.cuh"
#include "cuda/values/value_range.cuh"

extern "C" {
#include "stages/intensity/invert.h"
#include "stages/values/scope.h"
}

static bool of_data(const struct stage_context *context)
{
    const struct invert_params *params = (const struct invert_params *)context->params;
    return !params->range.values && params->limits == INVERT_DATA;
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    (void)context;
    return input == 0 ? sizeof(struct cuda_value_range) : 0;
}

static enum ts_status invert_reduce(const struct stage_context *context, int input,
                                    const struct ts_image *slices, void *partials,
                                    const struct cuda_call *call)
{
    return ts_cuda_value_range_add(context, slices, partials, ts_scope_per_slice(context),
                                   ts_cuda_stride(partial_bytes(context, input)), call);
}

static void invert_collect(const struct stage_context *context, int input, const void *partial,
                           void *total)
{
    (void)input;
    *(struct value_range *)total =
        ts_cuda_value_range_collect((const struct cuda_value_range *)partial, context->in.dtype);
}

static const struct cuda_reduction reduction = {
    .partial_bytes = partial_bytes, .reduce = invert_reduce, .collect = invert_collect};

static enum ts_status invert_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, const struct cuda_call *call)
{
    const struct invert_params *params = (const struct invert_params *)context->params;
    struct point_function function = {.kind = POINT_REVERSE};
    double low, high;
    ts_dtype_range(context->in.dtype, &low, &high);
    if (of_data(context))
        function.fit = POINT_FIT_MIDDLE;
    else if (params->range.values)
        function.middle = params->range.values[0] + params->range.values[1];
    else
        function.middle = ts_dtype_is_integer(context->in.dtype) ? low + high : 1;
    return ts_cuda_point_map(context, in, out, &function, ts_scope_per_slice(context),
                             sizeof(double), call);
}

const struct stage_cuda invert_cuda = {
    .scratch_bytes = ts_cuda_point_scratch, .map = invert_map, .reduction = &reduction};
