/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/projection/tensor_method.h"

/* Slices side by side, as cuda/projection/interleave.cuh groups them. */
static int64_t lanes_of(int64_t slices)
{
    return slices > 64 ? 128 : slices > 32 ? 64 : 32;
}

enum ts_status ts_tensor_check(const struct stage_context *context, int64_t n_major, int64_t n_minor, bool split)
{
    const struct device_numbers *device = context->device;
    const int64_t slices = context->in.axes[0].n,
                  blocks = (TENSOR_LEFT + n_minor + TENSOR_RIGHT - 1) / TENSOR_WINDOW + 1,
                  places = lanes_of(slices) * (split ? 2 : 1);
    if (device->code < CUDA_TENSOR_CODE) {
        ts_param_error(context->set, "method", "tensor-capability", context->diag,
                       "this build's code for %s is of compute capability %d.%d, and tensor needs that of 8.0",
                       device->name, device->code / 10, device->code % 10);
        ts_diag_hint(context->diag, "method: stack computes the same in single precision");
        return TS_BAD_CHAIN;
    }
    if (n_major * blocks + 2 <= UINT32_MAX / places) /* loads reach into the block after a window */
        return TS_OK;
    ts_param_error(context->set, "method", "tensor-size", context->diag,
                   "%s counts the samples of up to %lld slices side by side in 32 bits, and slices of %lld x %lld are "
                   "too large for that",
                   split ? "tensor-split" : "tensor", (long long)lanes_of(slices), (long long)n_major,
                   (long long)n_minor);
    ts_diag_hint(context->diag, "method: stack");
    return TS_BAD_CHAIN;
}
