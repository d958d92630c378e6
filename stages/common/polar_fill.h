/* SPDX-License-Identifier: Apache-2.0
 *
 * The gridding of fourier on the CPU. A pair is two slices as one complex number; pairs lie side by side, so that the
 * weights of a point serve them all.
 */
#ifndef STAGES_COMMON_POLAR_FILL_H
#define STAGES_COMMON_POLAR_FILL_H

#include <stdbool.h>

#include "stages/common/polar_grid.h"

enum { POLAR_PAIRS = 4 }; /* side by side at most, and as many in a vector */

struct polar_points {
    struct polar_grid grid;
    const struct polar_view *views;
    float kernel[GRID_TERMS];
    int pairs;           /* 1 or POLAR_PAIRS */
    const float *points; /* [view][padded + 1][pairs][2], k = -padded / 2 first; on 32-byte boundaries */
};

/* Overwrites `places` with rows [first, end) of the grid, [row][column][pairs][2]; on a 32-byte boundary. */
void ts_polar_fill(const struct polar_points *points, int64_t first, int64_t end, float *places);

#endif
