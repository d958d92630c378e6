/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions enqueue the two halves of the compression: segments are compressed into slots, and the slots are
 * joined to chunks. The place of a segment in its chunk is known only when all segments before it are compressed, so
 * that two kernels are needed, and slots that have the size of the worst case.
 */
#ifndef CUDA_DEFLATE_SEGMENTS_CUH
#define CUDA_DEFLATE_SEGMENTS_CUH

#include "cuda/deflate/job.cuh"

/* Enqueues the compression of all segments: job.results gets bytes, sum and ramp of each. */
enum ts_status ts_cuda_deflate_segments(const struct stage_context *context, const struct deflate_job *job,
                                        cudaStream_t stream);
/* Returns how many blocks work on segments at once at level CUDA_DEFLATE_MATCHES, each with an array job.matches of its
 * own. */
int64_t ts_cuda_deflate_blocks(const struct device_numbers *device);
/* Load the kernels of the two onto the current device. */
enum ts_status ts_cuda_deflate_load_segments(const struct stage_context *context, enum cuda_deflate_level level);
enum ts_status ts_cuda_deflate_load_join(const struct stage_context *context);
/* Enqueues what makes encoded chunks of the slots: job.places and job.out are written. */
enum ts_status ts_cuda_deflate_join(const struct stage_context *context, const struct deflate_job *job,
                                    cudaStream_t stream);

#endif
