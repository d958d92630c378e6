/* SPDX-License-Identifier: Apache-2.0
 *
 * stages/counting/label_moments.h and label_ranks.h on a CUDA device, with the same moments, counts and places, so that
 * what comes to the host needs no conversion.
 */
#ifndef CUDA_COUNTING_LABEL_MOMENTS_CUH
#define CUDA_COUNTING_LABEL_MOMENTS_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/counting/label_moments.h"
#include "stages/counting/label_ranks.h"
}

/* Adds the slices' values to the n_labels + 1 moments of their labels, and passes carries on. */
enum ts_status ts_cuda_label_moments(const struct stage_context *context, const struct ts_image *slices,
                                     const struct ts_image *labels, int64_t n_labels, struct label_moments *moments,
                                     const struct cuda_call *call);
/* Adds the digits of a round to the counts; ranks: those after the round before, on the device. */
enum ts_status ts_cuda_label_ranks(const struct stage_context *context, const struct ts_image *slices,
                                   const struct ts_image *labels, int64_t n_labels, int round,
                                   const struct label_rank *ranks, int n_places, uint64_t *counts,
                                   const struct cuda_call *call);

#endif
