/* SPDX-License-Identifier: Apache-2.0
 *
 * backproject on a CUDA device: the stage runs cuda/projection/reconstruction.cu. What a thread
 * computes, its memory traffic and its blocks are described with each method: `pixel` in
 * reconstruction.cu, `stack` in back_stack.cuh, `tensor` and `tensor-split` in back_tensor.cu;
 * Joseph's weights by rays, as in a fan, in joseph_back.cu.
 */
#include "cuda/projection/reconstruction.cuh"

extern "C" {
#include "stages/projection/reconstruction.h"
#include "stages/values/finite_values.h"
}

const struct stage_cuda backproject_cuda = {
    .constants_bytes = ts_cuda_reconstruction_constants_bytes,
    .constants = ts_cuda_reconstruction_constants,
    .scratch_bytes = ts_cuda_reconstruction_scratch,
    .map = ts_cuda_reconstruction_map,
    .reduction = &ts_cuda_finite_reduction,
    .least_slices = ts_cuda_reconstruction_least_slices,
    .transforms = ts_cuda_reconstruction_transforms,
};
