/* SPDX-License-Identifier: Apache-2.0
 *
 * These launchers make weighted means and medians over the valid pixels of a window on a CUDA
 * device, for box, gaussian and median of masked images:
 *
 *     mean = F(valid * in) / F(valid)
 *
 * where F sums over a window with weights wz[k] * wy[j] * wx[i], in double and in a fixed order.
 * This is normalized convolution (H. Knutsson, C.-F. Westin, 1993), with a certainty of 0 or 1. An
 * invalid pixel keeps its value.
 */
#ifndef CUDA_FILTERS_MASKED_WINDOWS_CUH
#define CUDA_FILTERS_MASKED_WINDOWS_CUH

#include "cuda/filters/median_job.cuh"

extern "C" {
#include "stages/filters/masked_mend.h"
}

/* Returns the bytes of scratch of the means of n slices. */
size_t ts_cuda_masked_means_bytes(const struct stage_context *context, int64_t n);
/* Enqueues the means of the slices of `out`; the weights of the window are on the device. */
enum ts_status ts_cuda_masked_means(const struct stage_context *context,
                                    const struct masked_window *window, const struct ts_image *in,
                                    struct ts_image *out, const struct cuda_call *call);
/* Enqueues the medians of the slices of `out`. */
enum ts_status ts_cuda_median_masked(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct median_job *job,
                                     const struct cuda_call *call);

#endif
