/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions project and backproject one slice alone with vectors of 512 bits, on machines of x86-64-v4. With no
 * other slices beside it a vector holds 16 rays, or 16 pixels of a row. A permutation picks their two samples each out
 * of two loaded vectors, because gathers are several times as slow. The operations and their order are those of
 * joseph_project.c and backprojection.c, and so are the bytes.
 */
#ifndef STAGES_PROJECTION_AVX512_H
#define STAGES_PROJECTION_AVX512_H

#include "stages/geometry/back_view.h"
#include "stages/projection/joseph_rays.h"

enum {
    AVX512_RAYS = 16,  /* of one vector */
    AVX512_BEYOND = 32 /* samples behind the block's last one that are read, whatever they hold */
};

/* Returns true where this machine and this compiler have these vectors. */
bool ts_avx512_there(void);

/* Adds the block's lines to the sums of n detector pixels, 1 to DETECTOR_RUN, of a parallel beam or a fan. `run` is
 * filled up to a multiple of AVX512_RAYS. */
void ts_avx512_project(const struct slice_block *block, const struct ray_run *run, bool fan, int64_t n, float *sums);

/* Returns true where the vectors are there and neighboring pixels lie close enough together on the detector in all
 * views. */
bool ts_avx512_backprojects(const struct back_view *views, int64_t n_views);
/* Adds the block's views, of which views[0] is the first, to the sums of rows [row, row + n_rows) of n_columns pixels,
 * by linear interpolation. */
void ts_avx512_backproject(const struct back_view *views, const struct slice_block *block, int64_t row, int64_t n_rows,
                           int64_t n_columns, float *sums);

#endif
