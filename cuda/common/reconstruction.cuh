/* SPDX-License-Identifier: Apache-2.0
 *
 * What the stages of stages/common/reconstruction.h are on the device.
 */
#ifndef CUDA_COMMON_RECONSTRUCTION_CUH
#define CUDA_COMMON_RECONSTRUCTION_CUH

#include "cuda/launch.cuh"

extern "C" {
#include "stages/common/reconstruction.h"
}

/* Rows of struct stage_cuda. */
size_t ts_cuda_reconstruction_constants_bytes(const struct stage_context *context);
void ts_cuda_reconstruction_constants(const struct stage_context *context, void *host);
size_t ts_cuda_reconstruction_scratch(const struct stage_context *context, int64_t n);
enum ts_status ts_cuda_reconstruction_map(const struct stage_context *context, const struct ts_image *in,
                                          struct ts_image *out, const struct cuda_call *call);
int64_t ts_cuda_reconstruction_least_slices(const struct stage_context *context);
int ts_cuda_reconstruction_transforms(const struct stage_context *context, struct fft_shape shapes[STAGE_TRANSFORMS]);

/* Method `stack`: the sinogram's slices at `data`. */
struct cuda_back_views;
size_t ts_cuda_back_stack_scratch(const struct stage_context *context, int64_t n);
enum ts_status ts_cuda_back_stack(const struct stage_context *context, const struct ts_image *sinogram,
                                  struct ts_image *out, const struct cuda_back_views *table, void *scratch,
                                  cudaStream_t stream);

#endif
