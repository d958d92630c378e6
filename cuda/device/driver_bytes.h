/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions compute the sizes of a driver's memory, for the driver itself (cuda/device/driver.c). All are rounded
 * up to whole strides (cuda/device/launch.h) where they are of device memory; slab_slices and n: the most slices of one
 * call.
 */
#ifndef CUDA_DEVICE_DRIVER_BYTES_H
#define CUDA_DEVICE_DRIVER_BYTES_H

#include "cuda/device/driver.h"

/* Returns true where the results are made on the device. */
bool ts_cuda_finishes(const struct stage_context *context);
/* Returns true where the device checks slices and the host's finish() is asked later; and the bytes of what is refused,
 * on the device and, pinned, on the host. */
bool ts_cuda_checks(const struct stage_context *context);
size_t ts_cuda_refused_bytes(const struct stage_context *context);
/* Returns the bytes from one result of a slice to the next. */
size_t ts_cuda_result_stride(const struct stage_context *context);
/* Return the bytes of all partials of an input, and of all results. */
size_t ts_cuda_partials_bytes(const struct stage_context *context, int input, int64_t slab_slices);
size_t ts_cuda_results_bytes(const struct stage_context *context, int64_t slab_slices);
/* Returns the bytes of scratch of the launcher that needs most. */
size_t ts_cuda_scratch_bytes(const struct stage_context *context, int64_t n);
size_t ts_cuda_constants_bytes(const struct stage_context *context);
/* Returns the bytes of a slice of the border's constant, not rounded up; 0 where the stage does not pad with one. */
size_t ts_cuda_outside_bytes(const struct stage_context *context);
/* Describes the transforms on the device; returns how many. */
int ts_cuda_transforms(const struct stage_context *context, struct fft_shape shapes[STAGE_TRANSFORMS]);
/* Returns the bytes of the one work area of all transforms, which follow one another; with `tables` also those of the
 * tables of factors that the plans hold. */
size_t ts_cuda_transforms_bytes(const struct stage_context *context, bool tables);
/* Returns the bytes of pinned host memory through which constants, partials and results are copied. */
size_t ts_cuda_pinned_bytes(const struct stage_context *context, int64_t slab_slices);

#endif
