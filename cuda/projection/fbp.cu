/* SPDX-License-Identifier: Apache-2.0
 *
 * fbp on a CUDA device: the stage runs cuda/projection/reconstruction.cu. What a thread computes,
 * its memory traffic and its blocks are described with each step: the filter in row_filter.cu, then
 * method `pixel` in reconstruction.cu, `stack` in back_stack.cuh, `tensor` and `tensor-split` in
 * back_tensor.cu, and both methods of a fan in fan_back.cu.
 */
#include "cuda/projection/reconstruction.cuh"

const struct stage_cuda fbp_cuda = {CUDA_RECONSTRUCTION};
