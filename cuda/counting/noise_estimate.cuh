/* SPDX-License-Identifier: Apache-2.0
 *
 * This is stages/counting/noise_estimate.h on the device. A partial has the sums of the slices (all
 * nz of a volume, one of a slice), then the counts of the coefficients, or the ends of their median
 * in a slice.
 */
#ifndef CUDA_COUNTING_NOISE_ESTIMATE_CUH
#define CUDA_COUNTING_NOISE_ESTIMATE_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/counting/noise_estimate.h"
}

/* Bytes of the partial of a round, 0 past the estimate's last, and of the scratch of n slices. */
size_t ts_cuda_noise_bytes(const struct stage_context *context, enum noise_estimate estimate);
size_t ts_cuda_noise_scratch_bytes(const struct stage_context *context,
                                   enum noise_estimate estimate, int64_t n);
/* Adds the slices to the volume's partial, or to one partial a slice, `stride` bytes apart. result:
 * on the device, of the rounds before. percent: on the device, the number 50. */
enum ts_status ts_cuda_noise_add(const struct stage_context *context, enum noise_estimate estimate,
                                 const struct ts_image *slices, const struct noise_result *result,
                                 const double *percent, char *partials, size_t stride,
                                 const struct cuda_call *call);
/* Turns a partial copied to the host into that of ts_noise_finish(). */
void ts_cuda_noise_collect(const struct stage_context *context, enum noise_estimate estimate,
                           const char *partial, void *total);

#endif
