/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of gaussian share this: the sizes of an image and the weights of its three axes. Sums
 * are made in float, with one rounding for each weight.
 */
#ifndef CUDA_FILTERS_GAUSSIAN_CUH
#define CUDA_FILTERS_GAUSSIAN_CUH

#include "cuda/values/border.cuh"

extern "C" {
#include "stages/filters/gaussian.h"
}

/* The output is n[0] x n[1] x n[2], along z, y and x. The input has radius[0] more slices at both
 * ends. */
struct gaussian_job {
    const void *in;
    float *out;
    int64_t n[3];
    int radius[3], border;
    float constant;
    const float *weights[3]; /* on the device, 2 radius + 1 for each axis */
};

/* These do all passes at once, for radii of at most GAUSSIAN_FUSED_RADIUS (gaussian_fused.cu). */
size_t ts_cuda_gaussian_fused_bytes(const struct stage_context *context,
                                    const struct gaussian_job *job);
enum ts_status ts_cuda_gaussian_fused(const struct stage_context *context,
                                      const struct gaussian_job *job, const struct cuda_call *call);

#endif
