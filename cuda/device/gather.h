/* SPDX-License-Identifier: Apache-2.0
 *
 * The two steps around the map of a transpose (stages/engine/transpose.h), on float images on the
 * device; and slices put one behind the other.
 */
#ifndef CUDA_DEVICE_GATHER_H
#define CUDA_DEVICE_GATHER_H

#include "stages/engine/driver.h"

/* The benchmark calls this function from outside the library. */
#pragma GCC visibility push(default)
/* Copies an image to the middle of a larger one, whose margins stay as they are. */
enum ts_status ts_cuda_embed(const struct stage_context *context, const int64_t n[3],
                             const int64_t wide[3], const float *in, float *out,
                             struct CUstream_st *stream);
#pragma GCC visibility pop
/* Does what ts_gather_run() does; the lists are on the device. */
enum ts_status ts_cuda_gather(const struct stage_context *context,
                              const struct stage_gather *gather, const float *in, float *out,
                              struct CUstream_st *stream);

/* Copies n slices, each from its place, to one behind the other. */
struct cuda_slices {
    const void *from[DRIVER_COLLECT_SLICES];
};
enum ts_status ts_cuda_collect(const struct stage_context *context,
                               const struct cuda_slices *slices, int n, size_t slice_bytes,
                               void *to, struct CUstream_st *stream);

#endif
