/* SPDX-License-Identifier: Apache-2.0
 *
 * This applies the filters of filtered backprojection on the device
 * (stages/projection/row_filter.h), for the stages that filter the rows of a sinogram.
 */
#ifndef CUDA_PROJECTION_ROW_FILTER_CUH
#define CUDA_PROJECTION_ROW_FILTER_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/projection/row_filter.h"
}

/* Return the bytes of the response, and write it, for call->constants. */
size_t ts_cuda_row_filter_constants_bytes(const struct stage_context *context,
                                          const struct row_filter *filter);
void ts_cuda_row_filter_constants(const struct stage_context *context,
                                  const struct row_filter *filter, void *host);
/* Describes call->transforms[0], and returns how many transforms there are. */
int ts_cuda_row_filter_transforms(const struct stage_context *context,
                                  const struct row_filter *filter,
                                  struct fft_shape shapes[STAGE_TRANSFORMS]);
size_t ts_cuda_row_filter_scratch(const struct stage_context *context,
                                  const struct row_filter *filter);
/* Filters every row of the slices into `out`; constants and scratch are those of the functions
 * above, on the device. */
enum ts_status ts_cuda_row_filter_run(const struct stage_context *context,
                                      const struct row_filter *filter, const struct ts_image *in,
                                      float *out, const void *constants, void *scratch,
                                      const struct cuda_call *call);

/* Do the same in one kernel, for the lengths that it covers (row_filter_fused.cu). Tables, some of
 * them only for the host, replace the response. */
bool ts_cuda_row_filter_is_fused(const struct stage_context *context,
                                 const struct row_filter *filter);
size_t ts_cuda_row_filter_fused_bytes(const struct row_filter *filter);
void ts_cuda_row_filter_fused_tables(const struct row_filter *filter, void *host);
enum ts_status ts_cuda_row_filter_fused(const struct stage_context *context,
                                        const struct row_filter *filter, const struct ts_image *in,
                                        float *out, const void *tables,
                                        const struct cuda_call *call);

#endif
