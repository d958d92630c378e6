/* SPDX-License-Identifier: Apache-2.0
 *
 * The reduction of statistics with labels on a CUDA device. Partials and results have the layout of
 * the host's (stages/histogram/statistics_labels.h).
 */
#ifndef CUDA_HISTOGRAM_STATISTICS_LABELS_CUH
#define CUDA_HISTOGRAM_STATISTICS_LABELS_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/histogram/statistics_labels.h"
}

enum ts_status ts_cuda_statistics_labels(const struct stage_context *context,
                                         const struct ts_image *slices, void *partials,
                                         const struct cuda_call *call);

#endif
