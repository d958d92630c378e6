/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the files of histogram: the launches of its methods, beside those of cuda/counting/table_job.cuh.
 */
#ifndef CUDA_HISTOGRAM_HISTOGRAM_CUH
#define CUDA_HISTOGRAM_HISTOGRAM_CUH

#include "cuda/counting/table_job.cuh"

enum { HISTOGRAM_WARP_TABLES = 8 }; /* that a block of warp-tagged has */

/* Each counts the pixels of a job into its partials, which are added to. At most 2^31 pixels a slice. */
enum ts_status ts_cuda_histogram_global(const struct stage_context *context, enum ts_dtype dtype,
                                        const struct slots_job *job, const struct cuda_call *call);
enum ts_status ts_cuda_histogram_sub(const struct stage_context *context, enum ts_dtype dtype,
                                     const struct slots_job *job, const struct cuda_call *call);
/* Scratch of the strips' tables for n partials. */
size_t ts_cuda_histogram_sub_bytes(uint32_t n_slots, int64_t n);
enum ts_status ts_cuda_histogram_warp_tagged(const struct stage_context *context, enum ts_dtype dtype,
                                             const struct slots_job *job, const struct cuda_call *call);
/* Counts of (label, slot) with the labels' image; n_labels + 1 rows of work.n_keys slots in one partial. */
enum ts_status ts_cuda_histogram_labels(const struct stage_context *context, const struct ts_image *slices,
                                        const struct ts_image *labels, uint32_t n_labels, const struct slots_job *job,
                                        const struct cuda_call *call);

#endif
