/* SPDX-License-Identifier: Apache-2.0
 *
 * These are scratch_bytes() and map() of ring's method fourier-wavelet on the device.
 */
#ifndef CUDA_SCAN_RING_WAVELET_CUH
#define CUDA_SCAN_RING_WAVELET_CUH

#include "cuda/device/launch.cuh"

size_t ts_cuda_ring_wavelet_scratch(const struct stage_context *context, int64_t n);
/* The constants are the tables of ts_ring_tables(). */
enum ts_status ts_cuda_ring_wavelet(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct cuda_call *call);

#endif
