/* SPDX-License-Identifier: Apache-2.0
 *
 * backproject on a CUDA device: the stage runs cuda/projection/reconstruction.cu. What a thread
 * computes, its memory traffic and its blocks are described with each method: `pixel` in
 * reconstruction.cu, `stack` in back_stack.cuh, `tensor` and `tensor-split` in back_tensor.cu;
 * Joseph's weights by rays, as in a fan, in joseph_back.cu.
 */
#include "cuda/projection/reconstruction.cuh"

const struct stage_cuda backproject_cuda = {CUDA_RECONSTRUCTION};
