/* SPDX-License-Identifier: Apache-2.0
 *
 * This does what stages/counting/noise_estimate.h does, on the device. A partial has the sums of
 * the slices (all nz of a volume, or one), then the counts of the coefficients, or the ends of
 * their median in a slice.
 */
#ifndef CUDA_COUNTING_NOISE_ESTIMATE_CUH
#define CUDA_COUNTING_NOISE_ESTIMATE_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/counting/noise_estimate.h"
}

/* Return the bytes of the partial of a round (0 after the estimate's last round), and of the
 * scratch for n slices. */
size_t ts_cuda_noise_bytes(const struct stage_context *context, enum noise_estimate estimate);
size_t ts_cuda_noise_scratch_bytes(const struct stage_context *context,
                                   enum noise_estimate estimate, int64_t n);
/* Adds the slices to the volume's partial, or each slice to a partial of its own, `stride` bytes
 * apart. `result` (on the device) is that of the rounds before; `percent` (on the device) points to
 * the number 50. */
enum ts_status ts_cuda_noise_add(const struct stage_context *context, enum noise_estimate estimate,
                                 const struct ts_image *slices, const struct noise_result *result,
                                 const double *percent, char *partials, size_t stride,
                                 const struct cuda_call *call);
/* Turns a partial that was copied to the host into the one that ts_noise_finish() takes. */
void ts_cuda_noise_collect(const struct stage_context *context, enum noise_estimate estimate,
                           const char *partial, void *total);

#endif
