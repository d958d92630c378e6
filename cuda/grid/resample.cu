/* SPDX-License-Identifier: Apache-2.0
 *
 * resample on a CUDA device: it describes where its voxels are in the input; the kernels of
 * samples.cu do the rest.
 */
#include "cuda/grid/samples.cuh"

extern "C" {
#include "stages/grid/resample.h"
}

static enum ts_status resample_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, const struct cuda_call *call)
{
    const struct sampling sampling = ts_resample_sampling(context);
    return ts_cuda_sampling(context, &sampling, in, out, call);
}

const struct stage_cuda resample_cuda = {.map = resample_map};
