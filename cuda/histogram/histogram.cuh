/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of histogram share the launches of its methods here and in cuda/counting/table_job.cuh.
 */
#ifndef CUDA_HISTOGRAM_HISTOGRAM_CUH
#define CUDA_HISTOGRAM_HISTOGRAM_CUH

#include "cuda/counting/table_job.cuh"

/* The method warp-tagged. */
ts_cuda_table_counter ts_cuda_histogram_warp_tagged;

#endif
