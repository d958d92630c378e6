/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of struct stage_cuda that the stages of stages/projection/reconstruction.h share.
 * call->result, if given, is the result of stages/values/finite_values.h for the input.
 */
#ifndef CUDA_PROJECTION_RECONSTRUCTION_CUH
#define CUDA_PROJECTION_RECONSTRUCTION_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/projection/reconstruction.h"
#include "stages/values/finite_values.h"
}

size_t ts_cuda_reconstruction_constants_bytes(const struct stage_context *context);
void ts_cuda_reconstruction_constants(const struct stage_context *context, void *host);
size_t ts_cuda_reconstruction_scratch(const struct stage_context *context, int64_t n);
/* Returns the views, which are behind the filter's response: struct cuda_back_views, or what
 * ts_cuda_fan_constants() writes. */
const void *ts_cuda_reconstruction_tables(const struct stage_context *context,
                                          const void *constants);
enum ts_status ts_cuda_reconstruction_map(const struct stage_context *context,
                                          const struct ts_image *in, struct ts_image *out,
                                          const struct cuda_call *call);
int64_t ts_cuda_reconstruction_least_slices(const struct stage_context *context);
int ts_cuda_reconstruction_transforms(const struct stage_context *context,
                                      struct fft_shape shapes[STAGE_TRANSFORMS]);
/* The members of struct stage_cuda that these are. */
#define CUDA_RECONSTRUCTION                                                                        \
    .constants_bytes = ts_cuda_reconstruction_constants_bytes,                                     \
    .constants = ts_cuda_reconstruction_constants,                                                 \
    .scratch_bytes = ts_cuda_reconstruction_scratch, .map = ts_cuda_reconstruction_map,            \
    .reduction = &ts_cuda_finite_reduction, .least_slices = ts_cuda_reconstruction_least_slices,   \
    .transforms = ts_cuda_reconstruction_transforms

#endif
