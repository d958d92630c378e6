/* SPDX-License-Identifier: Apache-2.0
 *
 * unshear on a CUDA device: it describes where its voxels are in the input; the kernels of
 * samples.cu do the rest.
 */
#include "cuda/grid/samples.cuh"

extern "C" {
#include "stages/grid/unshear.h"
}

static enum ts_status unshear_map(const struct stage_context *context, const struct ts_image *in,
                                  struct ts_image *out, const struct cuda_call *call)
{
    const struct sampling sampling = ts_unshear_sampling(context);
    return ts_cuda_sampling(context, &sampling, in, out, call);
}

const struct stage_cuda unshear_cuda = {.map = unshear_map};
