/* SPDX-License-Identifier: Apache-2.0
 *
 * The launchers of a stage's .cu file call these functions. A .cu file includes
 * cuda/device/launch.cuh, which includes this and stages/engine/stage.h for C++.
 */
#ifndef CUDA_DEVICE_LAUNCH_H
#define CUDA_DEVICE_LAUNCH_H

#include "stages/engine/stage.h"

/* Counts a launch, and turns an error of it into a diagnostic of the stage. Call it after every
 * kernel launch. */
enum ts_status ts_cuda_launched(const struct stage_context *context, const char *kernel);
/* Allows a kernel more than 48 KiB of dynamic shared memory. Call it before the launch. It is an
 * error (code cuda-shared) to ask for more than a block of the context's device can have beside the
 * kernel's static memory. */
enum ts_status ts_cuda_shared(const struct stage_context *context, const void *kernel,
                              size_t bytes);
/* Loads kernels onto the current device. Otherwise CUDA loads each at its first launch, and first
 * waits until the device has no work: a slab would then start only after the slab before it is
 * done. */
enum ts_status ts_cuda_load(const struct stage_context *context, const void *const *kernels, int n);
/* Launches a kernel whose blocks wait for each other: as many blocks as the device holds at once,
 * at most `most` on each multiprocessor. It counts the launch. Messages use `name`. */
enum ts_status ts_cuda_launch_together(const struct stage_context *context, const void *kernel,
                                       const char *name, int threads, int most, void **arguments,
                                       struct CUstream_st *stream);

/* Enqueues the transforms in call->transforms, on samples on the device that are laid out as
 * core/fft.h says. They count as launches. */
struct cuda_fft;
enum ts_status ts_cuda_fft_forward(const struct stage_context *context, const struct cuda_fft *fft,
                                   float *in, float *out);
enum ts_status ts_cuda_fft_inverse(const struct stage_context *context, const struct cuda_fft *fft,
                                   float *in, float *out);

/* Returns true if a double costs about as much as two floats, which holds for processors made for
 * computing; on the others it costs as much as 32 to 64 floats. */
static inline bool ts_cuda_fast_doubles(const struct stage_context *context)
{
    return context->device->double_ratio <= 4;
}

/* Arrays on the device begin at multiples of this many bytes. */
enum { CUDA_ALIGNMENT = 256 };

/* Returns the next multiple of CUDA_ALIGNMENT from `bytes` on: the distance of partials and results
 * of neighboring slices. */
static inline size_t ts_cuda_stride(size_t bytes)
{
    return (bytes + CUDA_ALIGNMENT - 1) / CUDA_ALIGNMENT * CUDA_ALIGNMENT;
}

#endif
