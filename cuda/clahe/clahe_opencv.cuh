/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the two kernels of OpenCV's rule.
 */
#ifndef CUDA_CLAHE_CLAHE_OPENCV_CUH
#define CUDA_CLAHE_CLAHE_OPENCV_CUH

#include "cuda/clahe/clahe.cuh"

/* Whether the device and the tiles allow the kernel that keeps its tables on the multiprocessor. */
bool ts_cuda_clahe_stream_fits(const struct stage_context *context, const struct clahe_tiles *tiles);
/* Maps all slices of 8-bit images; of 16-bit images those with low values, and sets wide[z] of the others to 1. */
enum ts_status ts_cuda_clahe_stream(const struct stage_context *context, const struct clahe_tiles *tiles,
                                    const struct ts_image *in, struct ts_image *out, uint32_t *wide,
                                    const struct cuda_call *call);

#endif
