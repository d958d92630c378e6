/* SPDX-License-Identifier: Apache-2.0
 *
 * Backprojection of one slice of a parallel beam with vectors of 512 bits, by linear interpolation: the same operations
 * in the same order as stages/projection/backprojection.c has for several slices, 16 pixels of a row at a time.
 */
#ifndef STAGES_PROJECTION_BACK_WIDE_H
#define STAGES_PROJECTION_BACK_WIDE_H

#include "stages/geometry/back_view.h"
#include "stages/projection/slice_block.h"

/* Samples past a place in the block's data that are read, whatever they hold. */
enum { BACK_WIDE_BEYOND = 32 };

/* Whether this machine and compiler have it, and the views are as far apart in pixels as it takes. */
bool ts_back_wide_takes(const struct back_view *views, int64_t n_views);
/* Adds the block's views to the sums of rows [row, row + n_rows) of n_columns pixels. */
void ts_back_wide_add(const struct back_view *views, const struct slice_block *block, int64_t row, int64_t n_rows,
                      int64_t n_columns, float *sums);

#endif
