/* SPDX-License-Identifier: Apache-2.0
 *
 * Ways to compute box that were published and that the stage does not need, for the studies
 * box-ladder and box-grain. A study takes the stage as it is, with its parameters, checks and
 * oracle, and puts one of these launchers in place of its own. They are for floats in 2D; the
 * parameter `method` has no meaning.
 */
#ifndef LAB_CUDA_BOX_STUDY_H
#define LAB_CUDA_BOX_STUDY_H

#include "stages/engine/stage.h"

enum box_way {
    BOX_WAY_ROWS, /* a block takes a row and reads every sample of each window from global memory */
    BOX_WAY_ROWS_UNROLLED, /* the same, in loops whose length is known when compiling */
    BOX_WAY_TILE_UNROLLED, /* a block of 32 x 32 threads loads its tile into shared memory and adds
                              there, unrolled */
    BOX_WAY_RUNS_PLAIN,    /* running sums along the rows, which each thread reads for itself from
                              global memory */
    BOX_WAYS
};
extern const struct stage_cuda ts_cuda_box_ways[BOX_WAYS];

/* The radii, in pixels, whose loops are unrolled: X(radius). Others are not. */
#define BOX_UNROLLED_RADII(X) X(1) X(2) X(3) X(5) X(7) X(11) X(15) X(23) X(31)

/* Sums of rows are made in float, up to 63 samples one after the other (u = 2^-24 each), and added
 * in double. */
#define BOX_WAY_ERROR 4e-6

#endif
