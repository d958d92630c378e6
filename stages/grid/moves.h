/* SPDX-License-Identifier: Apache-2.0
 *
 * A move takes every pixel of its output from one pixel of its input: each axis of the output runs
 * along an axis of the input, forwards or backwards, from a given start. crop and reorient are such
 * moves. The functions here describe the output with its geometry and copy the values, so that a
 * stage only needs to describe the move. The CUDA code is cuda/grid/moves.cuh.
 */
#ifndef STAGES_GRID_MOVES_H
#define STAGES_GRID_MOVES_H

#include "stages/engine/stage.h"

/* Index i of output axis d (0: z, 1: y, 2: x) is index start[d] + sign[d] * i of input axis
 * from[d]. `from` is a permutation of 0, 1, 2, n[d] is the length of the output axis, and every
 * index is within the input. */
struct moves {
    int from[3], sign[3]; /* sign: 1 or -1 */
    int64_t start[3], n[3];
};

/* Describes the output of a move in *out, which is a copy of the description `in`: axes, origin,
 * directions and the step in z. An axis that runs backwards has its positions negated. */
void ts_moves_shape(const struct moves *moves, const struct ts_image *in, struct ts_image *out);
/* Returns the input slices that output slices [first, end) are taken from. */
struct stage_slices ts_moves_read(const struct moves *moves, int64_t first, int64_t end);

/* The elements of a slab: output element (z, y, x) is input element base + z * step[0] + y *
 * step[1] + x * step[2]. */
struct moved_slab {
    int64_t n[3], step[3], base;
};

/* Returns the move of slab `in`, which begins at slice in->z_first of the whole input, to slab
 * `out`. */
struct moved_slab ts_moves_slab(const struct moves *moves, const struct ts_image *in,
                                const struct ts_image *out);
/* Copies the values of a slab in host memory. Both images have the same dtype. */
void ts_moves_copy(const struct moves *moves, const struct ts_image *in, struct ts_image *out,
                   int threads);

#endif
