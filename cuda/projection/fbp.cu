/* SPDX-License-Identifier: Apache-2.0
 *
 * fbp on a CUDA device. Filtering: cuda/projection/row_filter.cu; backprojection, method `pixel`:
 * cuda/projection/reconstruction.cu, method `stack`: cuda/projection/back_stack.cuh, methods `tensor` and
 * `tensor-split`: cuda/projection/back_tensor.cu, fans: cuda/projection/fan_back.cu. What a thread computes, memory
 * traffic and blocks stand there.
 */
#include "cuda/projection/reconstruction.cuh"

extern "C" {
#include "stages/projection/reconstruction.h"
#include "stages/values/finite_values.h"
}

const struct stage_cuda fbp_cuda = {
    .constants_bytes = ts_cuda_reconstruction_constants_bytes,
    .constants = ts_cuda_reconstruction_constants,
    .scratch_bytes = ts_cuda_reconstruction_scratch,
    .map = ts_cuda_reconstruction_map,
    .reduction = &ts_cuda_finite_reduction,
    .least_slices = ts_cuda_reconstruction_least_slices,
    .transforms = ts_cuda_reconstruction_transforms,
};
