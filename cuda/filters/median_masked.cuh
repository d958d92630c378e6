/* SPDX-License-Identifier: Apache-2.0
 *
 * The median over the valid pixels of a window on a CUDA device, as stages/filters/median_masked.h has it.
 */
#ifndef CUDA_FILTERS_MEDIAN_MASKED_CUH
#define CUDA_FILTERS_MEDIAN_MASKED_CUH

#include "cuda/filters/median_job.cuh"

/* Enqueues the medians of the slices of `out`. */
enum ts_status ts_cuda_median_masked(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct median_job *job, const struct cuda_call *call);

#endif
