/* SPDX-License-Identifier: Apache-2.0
 *
 * The center of a pixel lies on the slice, where sample (i, j) is the square [i, i + 1) x [j, j +
 * 1). A smooth picture weighs the samples with tents around their centers, which sum to 1 once the
 * outermost samples go on beyond the edge.
 */
#include "tests/program/show/picture_oracle.h"

#include <math.h>

static int64_t clamped(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static double tent(double distance)
{
    return fabs(distance) < 1 ? 1 - fabs(distance) : 0;
}

static double smooth_value(const struct oracle_view *view, double x, double y)
{
    double sum = 0;
    for (int64_t j = (int64_t)floor(y) - 2; j <= (int64_t)floor(y) + 2; j++)
        for (int64_t i = (int64_t)floor(x) - 2; i <= (int64_t)floor(x) + 2; i++) {
            const double weight = tent(x - ((double)i + 0.5)) * tent(y - ((double)j + 0.5));
            if (weight > 0)
                sum +=
                    weight *
                    view->slice[clamped(j, view->rows) * view->columns + clamped(i, view->columns)];
        }
    return sum;
}

int ts_picture_oracle(const struct oracle_view *view, int px, int py)
{
    const double x = view->x + (px + 0.5) * view->across, y = view->y + (py + 0.5) * view->down;
    if (x < 0 || y < 0 || x >= (double)view->columns || y >= (double)view->rows)
        return ORACLE_OUTSIDE;
    const double value = view->smooth
                             ? smooth_value(view, x, y)
                             : view->slice[(int64_t)floor(y) * view->columns + (int64_t)floor(x)];
    if (isnan(value))
        return ORACLE_NAN;
    const double level = round(255 * (value - (view->center - view->window / 2)) / view->window);
    const int gray = level < 0 ? 0 : level > 255 ? 255 : (int)level;
    return view->inverted ? 255 - gray : gray;
}
