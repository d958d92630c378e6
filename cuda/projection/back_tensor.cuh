/* SPDX-License-Identifier: Apache-2.0
 *
 * The methods `tensor` and `tensor-split` of a backprojection.
 */
#ifndef CUDA_PROJECTION_BACK_TENSOR_CUH
#define CUDA_PROJECTION_BACK_TENSOR_CUH

#include "cuda/geometry/back_view.cuh"
#include "cuda/projection/reconstruction.cuh"

size_t ts_cuda_back_tensor_scratch(const struct stage_context *context, int64_t n);
/* The sinogram's slices at `data`. known: call->result of the reduction of stages/values/finite_values.h where it
 * looked at these very values; NULL: nothing is known. The scratch begins with the bits of each slice's largest
 * magnitude, as cuda/values/slice_maximum.cuh tells: pixels of slices with a NaN or an infinity are left without a
 * meaning. */
enum ts_status ts_cuda_back_tensor(const struct stage_context *context, const struct ts_image *sinogram,
                                   const void *known, struct ts_image *out, const struct cuda_back_views *table,
                                   void *scratch, cudaStream_t stream);

#endif
