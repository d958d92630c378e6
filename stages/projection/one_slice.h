/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions project and backproject one slice alone with vectors of 32 or 64 bytes. With no
 * other slices beside it a vector holds 8 or 16 rays, or pixels of a row. Permutations pick their
 * two samples each out of loaded vectors, because gathers are several times as slow. The operations
 * and their order are those of joseph.c and backprojection.c, and so are the bytes.
 */
#ifndef STAGES_PROJECTION_ONE_SLICE_H
#define STAGES_PROJECTION_ONE_SLICE_H

#include "stages/geometry/beam.h"
#include "stages/projection/joseph_rays.h"

enum {
    ONE_SLICE_RAYS = 16, /* of one vector at most */
    ONE_SLICE_BEYOND =
        32 /* samples behind the block's last one that are read at most, whatever they hold */
};

/* Adds the block's lines to the sums of n detector pixels, 1 to DETECTOR_RUN, of a parallel beam or
 * a fan. `run` is filled up to a multiple of ONE_SLICE_RAYS. */
typedef void one_slice_projector(const struct slice_block *block, const struct ray_run *run,
                                 bool fan, int64_t n, float *sums);
/* Returns the function for this machine's vectors, or NULL where they are shorter than 32 bytes. */
one_slice_projector *ts_one_slice_projector(void);

/* Adds the block's views, of which views[0] is the first, to the sums of rows [row, row + n_rows)
 * of n_columns pixels, by linear interpolation. */
typedef void one_slice_backprojector(const struct back_view *views, const struct slice_block *block,
                                     int64_t row, int64_t n_rows, int64_t n_columns, float *sums);
/* Returns the function for this machine's vectors, or NULL where they are shorter than 32 bytes or
 * neighboring pixels lie too far apart on the detector in one of the views. */
one_slice_backprojector *ts_one_slice_backprojector(const struct back_view *views, int64_t n_views);

#endif
