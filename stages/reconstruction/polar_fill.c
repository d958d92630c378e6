/* SPDX-License-Identifier: Apache-2.0
 *
 * Spreads the points of a polar grid over the places of a rectangular one around them
 * (stages/reconstruction/polar_grid.h). A call fills a strip of rows: it adds every point whose kernel reaches the
 * strip, views rising, then frequencies, so that neither the strips nor the threads change a sum. The taps of a point
 * along both axes are evaluated together (polar_taps.inc), and the loops (polar_fill.inc) are compiled for 1, 4 and 8
 * pairs side by side.
 */
#include "stages/reconstruction/polar_fill.h"

#include <math.h>
#include <string.h>

#include "core/image.h"

enum { LANES = 8 }; /* GRID_TAPS of them are taps */
/* This is the first of the taps around a point, at ceil(position - GRID_TAPS / 2). */
struct corner {
    int64_t row, column;
};

/* Finds the range *low .. *high of k whose rows lie within half a kernel of [first, end), with at most one more on both
 * sides. Returns false where there are none. */
static bool reaching(double per_row, double first, double end, int64_t most, int64_t *low, int64_t *high)
{
    const double from = first - 0.5 * GRID_TAPS - 1e-6, to = end - 1 + 0.5 * GRID_TAPS + 1e-6;
    *low = -most, *high = most;
    if (per_row == 0)
        return from <= 0 && to >= 0;
    const double a = from / per_row, b = to / per_row;
    const double below = floor(a < b ? a : b), above = ceil(a < b ? b : a);
    if (above < (double)-most || below > (double)most)
        return false;
    *low = below > (double)-most ? (int64_t)below : -most;
    *high = above < (double)most ? (int64_t)above : most;
    return true;
}

/* This is a strip of the grid that one thread fills. */
struct strip {
    const struct polar_points *points;
    float *places;
    int64_t first, end;
};

/* A number times i has its parts exchanged, and these signs. */
#define SWAPPED_2 1, 0
#define SWAPPED_4 SWAPPED_2, 3, 2
#define SWAPPED_8 SWAPPED_4, 5, 4, 7, 6
#define SWAPPED_16 SWAPPED_8, 9, 8, 11, 10, 13, 12, 15, 14
#define SIGNS_2 -1, 1
#define SIGNS_4 SIGNS_2, SIGNS_2
#define SIGNS_8 SIGNS_4, SIGNS_4
#define SIGNS_16 SIGNS_8, SIGNS_8
#define JOIN(a, b) a##b
#define WITH_PAIRS(name, pairs) JOIN(name, pairs)
#define TS_LOOPS "stages/reconstruction/polar_taps.inc"
#include "core/vectors.inc"

void ts_polar_fill(const struct polar_points *points, int64_t first, int64_t end, float *places)
{
    const struct strip strip = {points, places, first, end};
    memset(places, 0, (size_t)((end - first) * points->grid.grid_columns * points->pairs) * 2 * sizeof *places);
    if (points->pairs == 1)
        TS_WIDEST(fill_of_1)(&strip);
    else if (points->pairs == 4)
        TS_WIDEST(fill_of_4)(&strip);
    else
        TS_WIDEST(fill_of_8)(&strip);
}
