/* SPDX-License-Identifier: Apache-2.0
 *
 * Fourier transforms on a CUDA device: plans of cuFFT, which is opened when the first one is made,
 * so that whoever needs none needs no cuFFT. Transforming: cuda/device/launch.h. Built only with
 * CUDA.
 */
#ifndef CUDA_DEVICE_FFT_H
#define CUDA_DEVICE_FFT_H

#include "core/fft.h"
#include "cuda/device/session.h"

struct cuda_fft;

/* Returns an upper bound of the bytes of a plan's work area, which is known before there is a
 * plan. */
size_t ts_cuda_fft_work_bytes(const struct fft_shape *shape);
/* Creates a plan for the queue CUDA_COMPUTE with this work area; several plans may share one. */
enum ts_status ts_cuda_fft_create(struct cuda_session *session, const char *stage,
                                  const struct fft_shape *shape, void *work, struct ts_diag *diag,
                                  struct cuda_fft **fft);
void ts_cuda_fft_destroy(struct cuda_fft *fft); /* NULL does nothing */

#endif
