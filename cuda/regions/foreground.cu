/* SPDX-License-Identifier: Apache-2.0
 *
 * foreground on a CUDA device: the rounds of the reduction of threshold, one more that collects
 * bits (cuda/regions/mask_bits.cu), which the host cleans, and a map that writes them as bytes.
 */
#include "cuda/regions/mask_bits.cuh"

extern "C" {
#include "stages/regions/foreground.h"
}

STAGE_PARAMS_OF(foreground_params)

static size_t partial_bytes(const struct stage_context *context, int input)
{
    struct foreground_threshold of;
    if (ts_foreground_collects(context))
        return ts_cuda_mask_volume_bytes(context, input);
    ts_foreground_threshold(context, &of);
    return threshold_cuda.reduction->partial_bytes(&of.context, input);
}

static size_t scratch_bytes(const struct stage_context *context, int input, int64_t n)
{
    struct foreground_threshold of;
    if (ts_foreground_collects(context))
        return 0;
    ts_foreground_threshold(context, &of);
    return threshold_cuda.reduction->scratch_bytes(&of.context, input, n);
}

static enum ts_status foreground_reduce(const struct stage_context *context, int input,
                                        const struct ts_image *slices, void *partials,
                                        const struct cuda_call *call)
{
    struct foreground_threshold of;
    ts_foreground_threshold(context, &of);
    if (!ts_foreground_collects(context))
        return threshold_cuda.reduction->reduce(&of.context, input, slices, partials, call);
    const bool given = params_of(context)->method == FOREGROUND_VALUE;
    const struct threshold_result *result = (const struct threshold_result *)call->result;
    struct mask_values values = {{{1, 0}, {1, 0}}};
    if (given)
        values.within[0] = ts_foreground_given(context);
    return ts_cuda_mask_volume_reduce(context, slices, values, given ? NULL : &result->keys,
                                      partials, call);
}

static void foreground_collect(const struct stage_context *context, int input, const void *partial,
                               void *total)
{
    struct foreground_threshold of;
    ts_foreground_threshold(context, &of);
    if (ts_foreground_collects(context))
        ts_cuda_mask_volume_collect(context, input, partial, total);
    else
        threshold_cuda.reduction->collect(&of.context, input, partial, total);
}

static const struct cuda_reduction reduction = {.partial_bytes = partial_bytes,
                                                .scratch_bytes = scratch_bytes,
                                                .reduce = foreground_reduce,
                                                .collect = foreground_collect};

static enum ts_status foreground_map(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct cuda_call *call)
{
    const struct mask_grid grid = ts_mask_grid(out);
    const uint32_t *bits = (const uint32_t *)(const void *)((const char *)call->result +
                                                            ts_foreground_bits_offset(context));
    return ts_cuda_mask_store(context, bits + 2 * out->z_first * ts_mask_slice_words(&grid), in,
                              out, call);
}

const struct stage_cuda foreground_cuda = {.map = foreground_map, .reduction = &reduction};
