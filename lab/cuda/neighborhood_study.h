/* SPDX-License-Identifier: Apache-2.0
 *
 * Three ways to read the neighbors of a pixel, for the study neighborhood: operators of 4, 8 and 24
 * neighbors, which are kernels of the stage convolve. The study takes that stage with its
 * parameters and its oracle and puts one of these launchers in place of its own. They are for
 * floats, one kernel (no magnitude) of 3 x 3 or 5 x 5 weights, and images of at most 2^27 - 512
 * pixels, which one texture holds.
 */
#ifndef LAB_CUDA_NEIGHBORHOOD_STUDY_H
#define LAB_CUDA_NEIGHBORHOOD_STUDY_H

#include "stages/engine/stage.h"

enum neighbor_way {
    NEIGHBORS_PLAIN, /* loads from global memory */
    NEIGHBORS_TILE,  /* a tile of 16 x 16 pixels with its border in shared memory: 18 x 18, or 20 x
                        20 */
    NEIGHBORS_TEXTURE, /* fetches of a texture */
    NEIGHBOR_WAYS
};
extern const struct stage_cuda ts_cuda_neighbor_ways[NEIGHBOR_WAYS];

/* Up to 25 products are summed in float (2^-24 each). Weights come to 32 times their divisor at
 * most, where the result is at least a quarter of that times as large as the image's edges. */
#define NEIGHBOR_WAY_ERROR 1e-5

#endif
