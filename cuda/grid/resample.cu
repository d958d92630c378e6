/* SPDX-License-Identifier: Apache-2.0
 *
 * resample on a CUDA device: it describes where its voxels are in the input, and finds the range of
 * the input if values are clipped to it; the kernels of samples.cu do the rest.
 */
#include "cuda/grid/samples.cuh"
#include "cuda/values/value_range.cuh"

extern "C" {
#include "stages/grid/resample.h"
}

static size_t constants_bytes(const struct stage_context *context)
{
    const struct sampling sampling = ts_resample_sampling(context);
    return ts_cuda_sampling_constants_bytes(&sampling);
}

static void constants(const struct stage_context *context, void *host)
{
    const struct sampling sampling = ts_resample_sampling(context);
    ts_cuda_sampling_constants(&sampling, host);
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct sampling sampling = ts_resample_sampling(context);
    return ts_cuda_sampling_scratch(&sampling, n);
}

static enum ts_status resample_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, const struct cuda_call *call)
{
    struct sampling sampling = ts_resample_sampling(context);
    if (ts_resample_finds_range(context))
        sampling.range = (const float *)call->result;
    return ts_cuda_sampling(context, &sampling, in, out, call);
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    (void)context;
    return input == 0 ? sizeof(struct cuda_value_range) : 0;
}

static enum ts_status reduce(const struct stage_context *context, int input,
                             const struct ts_image *slices, void *partials,
                             const struct cuda_call *call)
{
    return ts_cuda_value_range_add(context, slices, partials, false,
                                   ts_cuda_stride(partial_bytes(context, input)), call);
}

static void collect(const struct stage_context *context, int input, const void *partial,
                    void *total)
{
    (void)input;
    *(struct value_range *)total =
        ts_cuda_value_range_collect((const struct cuda_value_range *)partial, context->in.dtype);
}

static const struct cuda_reduction reduction = {
    .partial_bytes = partial_bytes, .reduce = reduce, .collect = collect};

const struct stage_cuda resample_cuda = {.constants_bytes = constants_bytes,
                                         .constants = constants,
                                         .scratch_bytes = scratch_bytes,
                                         .map = resample_map,
                                         .reduction = &reduction};
