/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions compress the segments of chunks into slots. The place of a segment in its chunk
 * is known only when all segments before it are compressed, so that another kernel joins the slots
 * to chunks (cuda/deflate/deflate.cu), and slots have the size of the worst case.
 */
#ifndef CUDA_DEFLATE_SEGMENTS_CUH
#define CUDA_DEFLATE_SEGMENTS_CUH

#include "cuda/deflate/job.cuh"

/* Enqueues the compression of all segments: job.results gets bytes, sum and ramp of each. */
enum ts_status ts_cuda_deflate_segments(const struct stage_context *context,
                                        const struct deflate_job *job, cudaStream_t stream);
/* Returns how many blocks work on segments at once at level CUDA_DEFLATE_MATCHES; each needs an
 * array job.matches of its own. */
int64_t ts_cuda_deflate_blocks(const struct device_numbers *device);
/* Loads the kernels of the level onto the current device. */
enum ts_status ts_cuda_deflate_load_segments(const struct stage_context *context,
                                             enum cuda_deflate_level level);

#endif
