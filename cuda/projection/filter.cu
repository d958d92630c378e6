/* SPDX-License-Identifier: Apache-2.0
 *
 * filter on a CUDA device: the stage passes its filter to cuda/projection/row_filter.cu, which
 * describes the kernels, their traffic and their blocks.
 */
#include "cuda/projection/row_filter.cuh"

extern "C" {
#include "stages/projection/filter.h"
}

static size_t constants_bytes(const struct stage_context *context)
{
    const struct row_filter filter = ts_filter_of(context);
    return ts_cuda_row_filter_constants_bytes(context, &filter);
}

static void filter_constants(const struct stage_context *context, void *host)
{
    const struct row_filter filter = ts_filter_of(context);
    ts_cuda_row_filter_constants(context, &filter, host);
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct row_filter filter = ts_filter_of(context);
    (void)n;
    return ts_cuda_row_filter_scratch(context, &filter);
}

static int transforms(const struct stage_context *context,
                      struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const struct row_filter filter = ts_filter_of(context);
    return ts_cuda_row_filter_transforms(context, &filter, shapes);
}

static enum ts_status filter_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, const struct cuda_call *call)
{
    const struct row_filter filter = ts_filter_of(context);
    return ts_cuda_row_filter_run(context, &filter, in, (float *)out->data, call->constants,
                                  call->scratch, call);
}

const struct stage_cuda filter_cuda = {
    .constants_bytes = constants_bytes,
    .constants = filter_constants,
    .scratch_bytes = scratch_bytes,
    .map = filter_map,
    .transforms = transforms,
};
