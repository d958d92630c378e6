/* SPDX-License-Identifier: Apache-2.0
 *
 * The gridding of fourier on the CPU.
 */
#ifndef STAGES_COMMON_POLAR_FILL_H
#define STAGES_COMMON_POLAR_FILL_H

#include <stdbool.h>

#include "stages/common/polar_grid.h"

/* A complex number, or one of two slices each. */
typedef float polar_pair __attribute__((vector_size(8), aligned(8), may_alias));

struct polar_points {
    struct polar_grid grid;
    const struct polar_view *views;
    float kernel[GRID_TERMS];
    const polar_pair *points; /* [view][padded + 1], k = -padded / 2 first */
    polar_pair *places;       /* [row][column] of the grid */
};

/* Overwrites rows [first, end) of the places; strips may be filled at the same time. */
void ts_polar_fill(const struct polar_points *points, int64_t first, int64_t end);

#endif
