/* SPDX-License-Identifier: Apache-2.0
 *
 * reorient on a CUDA device: it describes its move of pixels; the kernels of moves.cu do it.
 */
#include "cuda/grid/moves.cuh"

extern "C" {
#include "stages/grid/reorient.h"
}

static enum ts_status reorient_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, const struct cuda_call *call)
{
    const struct moves moves = ts_reorient_moves(context);
    return ts_cuda_moves(context, &moves, in, out, call);
}

const struct stage_cuda reorient_cuda = {.map = reorient_map};
