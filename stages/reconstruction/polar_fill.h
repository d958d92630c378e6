/* SPDX-License-Identifier: Apache-2.0
 *
 * The gridding of fourier on the CPU: points of the polar grid are spread over a strip of the rectangular one
 * (stages/reconstruction/polar_grid.h). A pair is two slices as one complex number; pairs lie side by side, so that the
 * weights of a point serve them all.
 */
#ifndef STAGES_RECONSTRUCTION_POLAR_FILL_H
#define STAGES_RECONSTRUCTION_POLAR_FILL_H

#include <stdbool.h>

#include "stages/reconstruction/polar_grid.h"

enum {
    POLAR_PAIRS = 8, /* side by side at most */
    POLAR_RUN = 16   /* frequencies that lie together */
};

struct polar_points {
    struct polar_grid grid;
    const struct polar_view *views;
    float kernel[GRID_TERMS];
    int pairs;            /* 1, 4 or POLAR_PAIRS */
    const float *spectra; /* of the rows, k = 0 .. padded - 1: [place][pairs][2], on a 64-byte boundary */
    const float *factors; /* C over them, k = 0 .. most: [place][2]; below 0 their conjugates */
};

/* Returns the place of frequency k of a view. Frequencies lie in runs, [run][view][POLAR_RUN], because neighboring
 * views meet a strip at about the same frequencies. */
static inline int64_t ts_polar_place(int64_t n_views, int64_t view, int64_t k)
{
    const uint64_t at = (uint64_t)k;
    return (int64_t)((at / POLAR_RUN * (uint64_t)n_views + (uint64_t)view) * POLAR_RUN + at % POLAR_RUN);
}

/* Overwrites `places` with rows [first, end) of the grid, [row][column][pairs][2]; on a 64-byte boundary. */
void ts_polar_fill(const struct polar_points *points, int64_t first, int64_t end, float *places);

#endif
