/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA side of stages/grid/moves.h, which crop and reorient share.
 */
#ifndef CUDA_GRID_MOVES_CUH
#define CUDA_GRID_MOVES_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/grid/moves.h"
}

/* Enqueues the move of a slab in device memory. Both images have the same dtype. */
enum ts_status ts_cuda_moves(const struct stage_context *context, const struct moves *moves,
                             const struct ts_image *in, const struct ts_image *out,
                             const struct cuda_call *call);

#endif
