/* SPDX-License-Identifier: Apache-2.0
 *
 * stages/common/finite_values.h on a CUDA device: each value is read once. Threads and blocks: value_range.cu.
 */
#include "cuda/common/value_range.cuh"

extern "C" {
#include "stages/common/finite_values.h"
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    (void)context;
    return input == 0 ? sizeof(struct cuda_value_range) : 0;
}

static enum ts_status reduce(const struct stage_context *context, int input, const struct ts_image *slices,
                             void *partials, const struct cuda_call *call)
{
    return ts_cuda_value_range_add(context, slices, partials, true, ts_cuda_stride(partial_bytes(context, input)),
                                   call);
}

static void collect(const struct stage_context *context, int input, const void *partial, void *total)
{
    (void)input;
    *(struct value_range *)total =
        ts_cuda_value_range_collect((const struct cuda_value_range *)partial, context->in.dtype);
}

extern const struct cuda_reduction ts_cuda_finite_reduction;
const struct cuda_reduction ts_cuda_finite_reduction = {
    .partial_bytes = partial_bytes, .reduce = reduce, .collect = collect};
