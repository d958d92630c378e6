/* SPDX-License-Identifier: Apache-2.0
 *
 * center on a CUDA device: one slice is copied out of the volume as floats, and the host searches
 * it. A thread converts one value: up to 8 bytes are moved for each pixel of that slice, and none
 * for others. A block is 256 threads because any size would do.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/scan/center.h"
}

enum { THREADS = 256 };

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    copy_slice(const T *in, int64_t n, struct center_sinogram *sinogram)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i == 0)
        sinogram->there = 1;
    if (i < n)
        ((float *)(sinogram + 1))[i] = (float)in[i];
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    return center_stage.reduction->partial_bytes(context, input);
}

static enum ts_status center_reduce(const struct stage_context *context, int input,
                                    const struct ts_image *slices, void *partials,
                                    const struct cuda_call *call)
{
    const int64_t slice = ((const struct center_params *)context->params)->slice - slices->z_first;
    const int64_t n = (int64_t)ts_slice_count(slices);
    (void)input;
    if (slice < 0 || slice >= slices->axes[0].n)
        return TS_OK;
#define COPY(type)                                                                                 \
    copy_slice<type><<<(unsigned)ts_cuda_parts(n, THREADS), THREADS, 0, call->stream>>>(           \
        (const type *)ts_slice_data(slices, slice), n, (struct center_sinogram *)partials)
    TS_CUDA_DTYPES(slices->dtype, COPY)
#undef COPY
    return ts_cuda_launched(context, "copy slice");
}

static void center_collect(const struct stage_context *context, int input, const void *partial,
                           void *total)
{
    memcpy(total, partial, partial_bytes(context, input));
}

static const struct cuda_reduction reduction = {
    .partial_bytes = partial_bytes, .reduce = center_reduce, .collect = center_collect};
const struct stage_cuda center_cuda = {.reduction = &reduction};
