/* SPDX-License-Identifier: Apache-2.0
 *
 * backproject on a CUDA device. Method `pixel`: cuda/projection/reconstruction.cu, method `stack`:
 * cuda/projection/back_stack.cuh, methods `tensor` and `tensor-split`: cuda/projection/back_tensor.cu; Joseph's weights
 * for one ray after the other, and fans: cuda/projection/joseph_back.cu. What a thread computes, memory traffic and
 * blocks stand there.
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
