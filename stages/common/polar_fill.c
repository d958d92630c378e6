/* SPDX-License-Identifier: Apache-2.0
 *
 * Points of a polar grid to the places of a rectangular one around them, on the CPU: a strip of rows a call, into which
 * every point whose kernel reaches it goes, views rising, then frequencies (stages/common/polar_grid.h).
 */
#include "stages/common/polar_fill.h"

#include <math.h>
#include <string.h>

#include "pipeline/image.h"

static inline __attribute__((always_inline)) float kernel_at(const float terms[GRID_TERMS], float distance)
{
    const float t = distance * (2.0f / GRID_TAPS), u = 1 - t * t;
    float value = terms[GRID_TERMS - 1];
    for (int i = GRID_TERMS - 2; i >= 0; i--)
        value = value * u + terms[i];
    return value;
}

enum { LANES = 8 }; /* taps and what fills a vector */

/* The kernel's taps around `position`: their first place, from ceil(position - GRID_TAPS / 2) on. */
static inline __attribute__((always_inline)) int64_t taps_at(const float terms[GRID_TERMS], double position,
                                                             float taps[LANES])
{
    const double first = ceil(position - 0.5 * GRID_TAPS);
    const float start = (float)(first - position);
    for (int i = 0; i < LANES; i++)
        taps[i] = kernel_at(terms, start + (float)i);
    for (int i = GRID_TAPS; i < LANES; i++)
        taps[i] = 0;
    return (int64_t)first;
}

/* Adds one point to the rows [row_first, row_end) of the grid; row: of the first tap there. */
static inline __attribute__((always_inline)) void add_point(const struct polar_points *points, polar_pair point,
                                                            int64_t row, int64_t row_first, int64_t row_end,
                                                            const float down[LANES], double at_column)
{
    const int64_t columns = points->grid.grid_columns;
    float across[LANES];
    int64_t column = taps_at(points->kernel, at_column, across) % columns;
    column += column < 0 ? columns : 0;
    const int64_t low = row_first > row ? row_first - row : 0;
    const int64_t high = row_end - row < GRID_TAPS ? row_end - row : GRID_TAPS;
    if (column + GRID_TAPS <= columns) {
        for (int64_t i = low; i < high; i++) {
            float *to = (float *)(points->places + (row + i) * columns + column);
            const float re = point[0] * down[i], im = point[1] * down[i];
            for (int k = 0; k < GRID_TAPS; k++) {
                to[2 * k] += re * across[k];
                to[2 * k + 1] += im * across[k];
            }
        }
        return;
    }
    for (int64_t i = low; i < high; i++)
        for (int k = 0; k < GRID_TAPS; k++)
            points->places[(row + i) * columns + (column + k) % columns] += point * (down[i] * across[k]);
}

/* k from *low to *high: those whose row lies within half a kernel of [first, end), by at most one more on both sides.
 */
static bool reaching(double per_row, double first, double end, int64_t half, int64_t *low, int64_t *high)
{
    const double from = first - 0.5 * GRID_TAPS - 1e-6, to = end - 1 + 0.5 * GRID_TAPS + 1e-6;
    *low = -half, *high = half;
    if (per_row == 0)
        return from <= 0 && to >= 0;
    const double a = from / per_row, b = to / per_row;
    const double least = floor(a < b ? a : b), most = ceil(a < b ? b : a);
    if (most < (double)-half || least > (double)half)
        return false;
    *low = least > (double)-half ? (int64_t)least : -half;
    *high = most < (double)half ? (int64_t)most : half;
    return true;
}

/* The grid repeats itself every grid_rows. */
TS_VECTORIZED void ts_polar_fill(const struct polar_points *points, int64_t first, int64_t end)
{
    const int64_t rows = points->grid.grid_rows, columns = points->grid.grid_columns, half = points->grid.padded / 2;
    memset(points->places + first * columns, 0, (size_t)((end - first) * columns) * sizeof *points->places);
    for (int64_t v = 0; v < points->grid.n_views; v++) {
        const struct polar_view *view = &points->views[v];
        const polar_pair *own = points->points + v * (2 * half + 1) + half;
        const double reach = (double)half * fabs(view->per_row) + GRID_TAPS;
        const int64_t most = (int64_t)ceil(reach / (double)rows);
        for (int64_t turn = -most - 1; turn <= most; turn++) {
            const int64_t shifted = first + turn * rows;
            int64_t low, high;
            if (!reaching(view->per_row, (double)shifted, (double)(shifted + end - first), half, &low, &high))
                continue;
            for (int64_t k = low; k <= high; k++) {
                float down[LANES];
                const int64_t row = taps_at(points->kernel, (double)k * view->per_row, down) - turn * rows;
                if (row < end && row + GRID_TAPS > first)
                    add_point(points, own[k], row, first, end, down, (double)k * view->per_column);
            }
        }
    }
}
