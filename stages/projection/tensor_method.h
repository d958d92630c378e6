/* SPDX-License-Identifier: Apache-2.0
 *
 * What methods `tensor` and `tensor-split` of projectors and backprojections need: a device that multiplies halves, and
 * images whose samples can be counted. cuda/projection/tensor.cuh stacks up to 128 slices side by side: a line of
 * n_minor samples has zeros before and after and is cut into blocks of TENSOR_WINDOW; kernels count places of 16 bytes,
 * one a slice and block (two of split operands), in 32 bits.
 */
#ifndef STAGES_PROJECTION_TENSOR_METHOD_H
#define STAGES_PROJECTION_TENSOR_METHOD_H

#include "stages/engine/stage.h"

enum {
    TENSOR_LEFT = 2,  /* zeros before a line's first sample, */
    TENSOR_RIGHT = 8, /* and after its last, at least */
    TENSOR_WINDOW = 8 /* samples of a line in one product */
};

/* For context->in cut into lines, n_major of n_minor samples a slice. Refuses `method`, by codes tensor-capability and
 * tensor-size. context->device is not NULL. */
enum ts_status ts_tensor_check(const struct stage_context *context, int64_t n_major, int64_t n_minor, bool split);

#endif
