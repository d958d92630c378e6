/* SPDX-License-Identifier: Apache-2.0
 *
 * backproject on a CUDA device. Method `pixel`: common/reconstruction.cu, method `stack`: common/back_stack.cuh,
 * methods `tensor` and `tensor-split`: common/back_tensor.cu; Joseph's weights for one ray after the other, and fans:
 * common/joseph_back.cu. What a thread computes, memory traffic and blocks stand there.
 */
#include "cuda/common/reconstruction.cuh"

extern "C" {
#include "stages/backproject.h"
#include "stages/common/finite_values.h"
}

extern const struct stage_cuda backproject_cuda;
const struct stage_cuda backproject_cuda = {
    .constants_bytes = ts_cuda_reconstruction_constants_bytes,
    .constants = ts_cuda_reconstruction_constants,
    .scratch_bytes = ts_cuda_reconstruction_scratch,
    .map = ts_cuda_reconstruction_map,
    .reduction = &ts_cuda_finite_reduction,
    .least_slices = ts_cuda_reconstruction_least_slices,
    .transforms = ts_cuda_reconstruction_transforms,
};
