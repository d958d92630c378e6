/* SPDX-License-Identifier: Apache-2.0
 *
 * fbp on a CUDA device. Filtering: common/row_filter.cu; backprojection, method `pixel`: common/reconstruction.cu,
 * method `stack`: common/back_stack.cuh, methods `tensor` and `tensor-split`: common/back_tensor.cu, fans:
 * common/fan_back.cu. What a thread computes, memory traffic and blocks stand there.
 */
#include "cuda/common/reconstruction.cuh"

extern "C" {
#include "stages/common/finite_values.h"
#include "stages/fbp.h"
}

extern const struct stage_cuda fbp_cuda;
const struct stage_cuda fbp_cuda = {
    .constants_bytes = ts_cuda_reconstruction_constants_bytes,
    .constants = ts_cuda_reconstruction_constants,
    .scratch_bytes = ts_cuda_reconstruction_scratch,
    .map = ts_cuda_reconstruction_map,
    .reduction = &ts_cuda_finite_reduction,
    .least_slices = ts_cuda_reconstruction_least_slices,
    .transforms = ts_cuda_reconstruction_transforms,
};
