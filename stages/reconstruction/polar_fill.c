/* SPDX-License-Identifier: Apache-2.0
 *
 * Spreads the points of a polar grid over the places of a rectangular one around them
 * (stages/reconstruction/polar_grid.h). A call fills a strip of rows: it adds every point whose kernel reaches the
 * strip, views rising, then frequencies, so that neither the strips nor the threads change a sum. The taps of a point
 * along both axes are evaluated together in one vector, and the loops are compiled for 1, 4 and 8 pairs side by side,
 * whose numbers are one vector each.
 */
#include "stages/reconstruction/polar_fill.h"

#include <math.h>
#include <string.h>

#include "core/image.h"

enum { LANES = 8 }; /* GRID_TAPS of them are taps */
/* The taps down and across of one point. */
typedef float tap_pair __attribute__((vector_size(2 * LANES * sizeof(float))));

/* Evaluates K at these distances. Terms are joined two by two and these again, which is a shorter chain of operations
 * than one term after the other. */
static inline __attribute__((always_inline)) void kernel_at(const float terms[GRID_TERMS], tap_pair *values)
{
    const tap_pair t = *values * (2.0f / GRID_TAPS), u = 1 - t * t, u2 = u * u, u4 = u2 * u2;
    const tap_pair low = (terms[0] + terms[1] * u) + (terms[2] + terms[3] * u) * u2,
                   high = (terms[4] + terms[5] * u) + (terms[6] + terms[7] * u) * u2;
    *values = low + high * u4;
}
_Static_assert(GRID_TERMS == 8, "as many as kernel_at() knows");

/* The first of the taps around a point, at ceil(position - GRID_TAPS / 2). */
struct corner {
    int64_t row, column;
};

static inline __attribute__((always_inline)) struct corner taps_at(const float terms[GRID_TERMS], double row,
                                                                   double column, tap_pair *taps)
{
    const tap_pair steps = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};
    const double first_row = ceil(row - 0.5 * GRID_TAPS), first_column = ceil(column - 0.5 * GRID_TAPS);
    const float down = (float)(first_row - row), across = (float)(first_column - column);
    *taps = steps + (tap_pair){down,   down,   down,   down,   down,   down,   down,   down,
                               across, across, across, across, across, across, across, across};
    kernel_at(terms, taps);
    return (struct corner){(int64_t)first_row, (int64_t)first_column};
}

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

/* A strip of the grid in work. */
struct strip {
    const struct polar_points *points;
    float *places;
    int64_t first, end;
};

/* A number times i has its parts exchanged, and these signs. */
#define SWAPPED_1 1, 0
#define SWAPPED_4 SWAPPED_1, 3, 2, 5, 4, 7, 6
#define SWAPPED_8 SWAPPED_4, 9, 8, 11, 10, 13, 12, 15, 14
#define SIGNS_1 -1, 1
#define SIGNS_4 SIGNS_1, SIGNS_1, SIGNS_1, SIGNS_1
#define SIGNS_8 SIGNS_4, SIGNS_4
#define JOIN(a, b) a##b
#define WITH_PAIRS(name, pairs) JOIN(name, pairs)

#define PAIRS 1
#include "stages/reconstruction/polar_fill.inc"
#undef PAIRS
#define PAIRS 4
#include "stages/reconstruction/polar_fill.inc"
#undef PAIRS
#define PAIRS 8
#include "stages/reconstruction/polar_fill.inc"
#undef PAIRS
_Static_assert(POLAR_PAIRS == 8, "the last instance");

void ts_polar_fill(const struct polar_points *points, int64_t first, int64_t end, float *places)
{
    const struct strip strip = {points, places, first, end};
    memset(places, 0, (size_t)((end - first) * points->grid.grid_columns * points->pairs) * 2 * sizeof *places);
    if (points->pairs == 1)
        fill_of_1(&strip);
    else if (points->pairs == 4)
        fill_of_4(&strip);
    else
        fill_of_8(&strip);
}
