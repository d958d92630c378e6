/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernels of median share: one slab, with the border rule and the constant as a key.
 */
#ifndef CUDA_FILTERS_MEDIAN_JOB_CUH
#define CUDA_FILTERS_MEDIAN_JOB_CUH

#include "cuda/values/border.cuh"
#include "cuda/values/value_keys.cuh"

enum { MOST_BLOCKS_Z = 65535 };

struct median_job {
    int64_t nz, ny, nx, tiles_x;
    int radius, border;
    int32_t constant; /* a key */
    uint32_t flip;
};

/* Enqueues the medians of 3 x 3 windows in each slice. */
enum ts_status ts_cuda_median_march(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct median_job *job, const struct cuda_call *call);

#endif
