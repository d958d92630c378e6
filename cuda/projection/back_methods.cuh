/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda/projection/reconstruction.cu calls the methods of backprojection that stand in files of their own through these
 * launchers, with their scratch bytes for n slices. Sinograms have their slices at `data`.
 */
#ifndef CUDA_PROJECTION_BACK_METHODS_CUH
#define CUDA_PROJECTION_BACK_METHODS_CUH

#include "cuda/geometry/back_view.cuh"

extern "C" {
#include "stages/projection/reconstruction.h"
}

/* Method stack: back_stack.cu. */
size_t ts_cuda_back_stack_scratch(const struct stage_context *context, int64_t n);
enum ts_status ts_cuda_back_stack(const struct stage_context *context, const struct ts_image *sinogram,
                                  struct ts_image *out, const struct cuda_back_views *table, void *scratch,
                                  cudaStream_t stream);

/* Methods tensor and tensor-split: back_tensor.cu. known: call->result of the reduction of
 * stages/values/finite_values.h where it looked at these very values; NULL: nothing is known. The scratch begins with
 * the bits of each slice's largest magnitude (cuda/values/slice_maximum.cuh). The pixels of slices with a NaN or an
 * infinity have no meaning afterwards. */
size_t ts_cuda_back_tensor_scratch(const struct stage_context *context, int64_t n);
enum ts_status ts_cuda_back_tensor(const struct stage_context *context, const struct ts_image *sinogram,
                                   const void *known, struct ts_image *out, const struct cuda_back_views *table,
                                   void *scratch, cudaStream_t stream);

/* A fan: fan_back.cu. Constants, and the two steps around the filter; `constants` are the device's. */
size_t ts_cuda_fan_constants_bytes(const struct stage_context *context);
void ts_cuda_fan_constants(const struct stage_context *context, void *host);
/* Writes the rows times their weights before the filter, f32. */
enum ts_status ts_cuda_fan_weigh(const struct stage_context *context, const struct ts_image *in, float *out,
                                 const void *constants, cudaStream_t stream);
/* Backprojects an f32 sinogram by the method chosen; scratch as of ts_cuda_back_stack_scratch(). */
enum ts_status ts_cuda_fan_back(const struct stage_context *context, const struct ts_image *sinogram,
                                struct ts_image *out, const void *constants, void *scratch, cudaStream_t stream);

#endif
