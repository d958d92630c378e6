/* SPDX-License-Identifier: Apache-2.0
 *
 * What the stages of stages/projection/reconstruction.h are on the device.
 */
#ifndef CUDA_PROJECTION_RECONSTRUCTION_CUH
#define CUDA_PROJECTION_RECONSTRUCTION_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/projection/reconstruction.h"
}

/* Rows of struct stage_cuda. Where call->result is given it is that of stages/values/finite_values.h, of the input. */
size_t ts_cuda_reconstruction_constants_bytes(const struct stage_context *context);
void ts_cuda_reconstruction_constants(const struct stage_context *context, void *host);
size_t ts_cuda_reconstruction_scratch(const struct stage_context *context, int64_t n);
enum ts_status ts_cuda_reconstruction_map(const struct stage_context *context, const struct ts_image *in,
                                          struct ts_image *out, const struct cuda_call *call);
int64_t ts_cuda_reconstruction_least_slices(const struct stage_context *context);
int ts_cuda_reconstruction_transforms(const struct stage_context *context, struct fft_shape shapes[STAGE_TRANSFORMS]);

/* A fan, fan_back.cu: constants, what they take, and the two steps around the filter. `constants` are the device's. */
size_t ts_cuda_fan_constants_bytes(const struct stage_context *context);
void ts_cuda_fan_constants(const struct stage_context *context, void *host);
/* Rows times what comes before the filter, f32. */
enum ts_status ts_cuda_fan_weigh(const struct stage_context *context, const struct ts_image *in, float *out,
                                 const void *constants, cudaStream_t stream);
/* The f32 sinogram to the volume, by the method chosen; scratch as of ts_cuda_back_stack_scratch(). */
enum ts_status ts_cuda_fan_back(const struct stage_context *context, const struct ts_image *sinogram,
                                struct ts_image *out, const void *constants, void *scratch, cudaStream_t stream);

/* Method `stack`: the sinogram's slices at `data`. */
struct cuda_back_views;
size_t ts_cuda_back_stack_scratch(const struct stage_context *context, int64_t n);
enum ts_status ts_cuda_back_stack(const struct stage_context *context, const struct ts_image *sinogram,
                                  struct ts_image *out, const struct cuda_back_views *table, void *scratch,
                                  cudaStream_t stream);

#endif
