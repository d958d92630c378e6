/* SPDX-License-Identifier: Apache-2.0
 *
 * Weighted means over the valid pixels of a window on a CUDA device, as stages/filters/masked_means.h has them, with
 * the same sums in the same order.
 */
#ifndef CUDA_FILTERS_MASKED_MEANS_CUH
#define CUDA_FILTERS_MASKED_MEANS_CUH

#include "cuda/values/border.cuh"

extern "C" {
#include "stages/filters/masked_means.h"
}

/* Returns the bytes of scratch for n slices. */
size_t ts_cuda_masked_means_bytes(const struct stage_context *context, int64_t n);
/* Enqueues the means of the slices of `out`; the weights of the window lie on the device. */
enum ts_status ts_cuda_masked_means(const struct stage_context *context, const struct masked_window *window,
                                    const struct ts_image *in, struct ts_image *out, const struct cuda_call *call);

#endif
