/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans of Fourier transforms on a CUDA device. cuFFT is opened when the first plan is made, so
 * chains without transforms do not need it. cuda/device/launch.h enqueues transforms. Built only
 * with CUDA.
 */
#ifndef CUDA_DEVICE_FFT_H
#define CUDA_DEVICE_FFT_H

#include "core/fft.h"
#include "cuda/device/session.h"

struct cuda_fft;

/* Returns an upper bound of the bytes of a plan's work area, before there is a plan. */
size_t ts_cuda_fft_work_bytes(const struct fft_shape *shape);
/* Creates a plan for the queue CUDA_COMPUTE with the work area `work`, which several plans may
 * share. */
enum ts_status ts_cuda_fft_create(struct cuda_session *session, const char *stage,
                                  const struct fft_shape *shape, void *work, struct ts_diag *diag,
                                  struct cuda_fft **fft);
/* Makes its transforms work on what is now the queue CUDA_COMPUTE. NULL does nothing. */
enum ts_status ts_cuda_fft_follow(const struct cuda_fft *fft, const struct cuda_session *session,
                                  const char *stage, struct ts_diag *diag);
void ts_cuda_fft_destroy(struct cuda_fft *fft); /* NULL does nothing */

#endif
