/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes what stages/counting/moments.h and stages/values/value_range.h do, on the device,
 * for every slice of 32-bit integers or floats. Both results come from one pass, so each value is
 * read once.
 */
#ifndef CUDA_COUNTING_MOMENTS_CUH
#define CUDA_COUNTING_MOMENTS_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/counting/moments.h"
#include "stages/values/value_range.h"
}

/* Returns the bytes of the moments of one slice. */
size_t ts_cuda_moments_bytes(void);
/* Returns the bytes of scratch for n slices of slice_pixels values. */
size_t ts_cuda_moments_scratch_bytes(int64_t slice_pixels, enum reduction_method method, int64_t n);
/* Enqueues the moments of slice i of `slices` (data on the device) to (char *)moments + i * stride,
 * which must be zero bytes before. */
enum ts_status ts_cuda_moments(const struct stage_context *context, const struct ts_image *slices,
                               enum reduction_method method, void *moments, size_t stride,
                               const struct cuda_call *call);
/* Turns the moments of one slice, copied to the host, into those of the host, and adds them to
 * *range. */
void ts_cuda_moments_collect(enum ts_dtype dtype, const void *copied, struct moments *moments,
                             struct value_range *range);

#endif
