/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions project and backproject a single slice with vectors of 32 or 64 bytes. With no
 * other slices beside it a vector holds 8 or 16 rays, or pixels of a row. Permutations select the
 * two samples of each from loaded vectors, because gathers are several times as slow. The
 * operations and their order are those of joseph.c and backprojection.c, and so are the bytes.
 */
#ifndef STAGES_PROJECTION_ONE_SLICE_H
#define STAGES_PROJECTION_ONE_SLICE_H

#include "stages/geometry/beam.h"
#include "stages/projection/joseph_rays.h"

enum {
    ONE_SLICE_RAYS = 16, /* most rays of one vector */
    ONE_SLICE_BEYOND =
        32 /* most samples behind the block's last one that are read, whatever their values */
};

/* Adds the block's lines to the sums of n <= DETECTOR_RUN detector pixels of a parallel beam or a
 * fan. Callers fill `run` up to a multiple of ONE_SLICE_RAYS. */
typedef void one_slice_projector(const struct slice_block *block, const struct ray_run *run,
                                 bool fan, int64_t n, float *sums);
/* Returns the function for this machine's vectors, or NULL if they are shorter than 32 bytes. */
one_slice_projector *ts_one_slice_projector(void);

/* Adds the block's views, which start with views[0], to the sums of rows [row, row + n_rows) of
 * n_columns pixels, by linear interpolation. */
typedef void one_slice_backprojector(const struct back_view *views, const struct slice_block *block,
                                     int64_t row, int64_t n_rows, int64_t n_columns, float *sums);
/* Returns the function for this machine's vectors, or NULL if they are shorter than 32 bytes, or if
 * neighboring pixels are too far apart on the detector in one of the views. */
one_slice_backprojector *ts_one_slice_backprojector(const struct back_view *views, int64_t n_views);

#endif
