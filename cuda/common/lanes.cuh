/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of several slices with the slices' samples side by side: element (row, column) of slice `lane` is
 *
 *     data[((row + margin) * (n_columns + 2 margin) + column + margin) * lanes + lane]
 *
 * so that what is the same for all slices is worked out once and a warp reads its samples at once. Lanes without a
 * slice, and the margin around, are zero.
 */
#ifndef CUDA_COMMON_LANES_CUH
#define CUDA_COMMON_LANES_CUH

#include "cuda/launch.cuh"

/* Lanes for the next slices: padding costs less than a narrower kernel. */
static inline int ts_cuda_lanes_for(int64_t slices_left)
{
    return slices_left > 64 ? 128 : slices_left > 32 ? 64 : 32;
}

static inline size_t ts_cuda_lanes_bytes(int64_t n_rows, int64_t n_columns, int margin, int lanes)
{
    return ts_cuda_stride((size_t)(n_rows + 2 * margin) * (size_t)(n_columns + 2 * margin) * (size_t)lanes *
                          sizeof(float));
}

/* n slices at `slices`, of an image's rows and columns, to lanes; lanes is a multiple of 32, at least n. */
enum ts_status ts_cuda_to_lanes(const struct stage_context *context, const struct ts_image *image, const void *slices,
                                int64_t n, int margin, int lanes, float *out, cudaStream_t stream);
/* n slices from lanes to `slices`, f32. */
enum ts_status ts_cuda_from_lanes(const struct stage_context *context, const struct ts_image *image, float *slices,
                                  int64_t n, int margin, int lanes, const float *in, cudaStream_t stream);

#endif
