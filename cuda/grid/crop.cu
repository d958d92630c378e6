/* SPDX-License-Identifier: Apache-2.0
 *
 * crop on a CUDA device: it describes its move of pixels; the kernels of moves.cu do it.
 */
#include "cuda/grid/moves.cuh"

extern "C" {
#include "stages/grid/crop.h"
}

static enum ts_status crop_map(const struct stage_context *context, const struct ts_image *in,
                               struct ts_image *out, const struct cuda_call *call)
{
    const struct moves moves = ts_crop_moves(context);
    return ts_cuda_moves(context, &moves, in, out, call);
}

const struct stage_cuda crop_cuda = {.map = crop_map};
