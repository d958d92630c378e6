/* SPDX-License-Identifier: Apache-2.0
 *
 * The areas of two contours, each by the even-odd rule, and of what both enclose are measured along
 * lines of x through their common box: between two crossings of a line with either it is known what
 * it is in.
 */
#include "io/mask/contour_pair.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { PAIR_LINES = 256, PAIR_CROSSINGS = 1 << 22 };

struct pair_crossing {
    int32_t line, of;
    double x;
};

struct pair_areas {
    double one, other, both; /* in pixels */
};

static int by_line(const void *a, const void *b)
{
    const struct pair_crossing *one = a, *other = b;
    if (one->line != other->line)
        return one->line < other->line ? -1 : 1;
    return one->x < other->x ? -1 : one->x > other->x;
}

/* Writes where the lines y = low + (i + 1/2) step meet the contour. NULL: only counts. */
static size_t cross_lines(const struct contour_outline *contour, int32_t of, double low,
                          double step, struct pair_crossing *out)
{
    size_t n = 0;
    for (size_t i = 0; i < contour->n; i++) {
        const double *a = contour->corners + 2 * i,
                     *b = contour->corners + 2 * (i + 1 < contour->n ? i + 1 : 0);
        const double from = ceil((fmin(a[1], b[1]) - low) / step - 0.5),
                     to = ceil((fmax(a[1], b[1]) - low) / step - 0.5);
        const int32_t first = (int32_t)fmin(fmax(from, 0), PAIR_LINES),
                      end = (int32_t)fmin(fmax(to, 0), PAIR_LINES);
        for (int32_t line = first; line < end && out; line++) {
            const double y = low + (line + 0.5) * step;
            out[n + (size_t)(line - first)] =
                (struct pair_crossing){line, of, a[0] + (y - a[1]) / (b[1] - a[1]) * (b[0] - a[0])};
        }
        n += (size_t)(end - first);
    }
    return n;
}

/* Measures the areas; false: there is nothing to measure, memory is out, or `left` is used up. */
static bool measure_pair(const struct contour_outline *one, const struct contour_outline *other,
                         double *left, struct pair_areas *areas)
{
    const double low = fmin(one->low[1], other->low[1]),
                 step = (fmax(one->high[1], other->high[1]) - low) / PAIR_LINES;
    *areas = (struct pair_areas){0};
    if (!(step > 0))
        return false;
    const size_t n_one = cross_lines(one, 0, low, step, NULL),
                 n = n_one + cross_lines(other, 1, low, step, NULL);
    *left -= (double)(n + one->n + other->n);
    struct pair_crossing *at =
        *left > 0 && n <= PAIR_CROSSINGS ? malloc((n + 1) * sizeof *at) : NULL;
    if (!at)
        return false;
    cross_lines(one, 0, low, step, at);
    cross_lines(other, 1, low, step, at + n_one);
    qsort(at, n, sizeof *at, by_line);
    bool in[2] = {false, false};
    for (size_t i = 0; i + 1 < n; i++) {
        if (i == 0 || at[i].line != at[i - 1].line)
            in[0] = in[1] = false;
        in[at[i].of] = !in[at[i].of];
        const double area = at[i + 1].line == at[i].line ? (at[i + 1].x - at[i].x) * step : 0;
        areas->one += in[0] ? area : 0;
        areas->other += in[1] ? area : 0;
        areas->both += in[0] && in[1] ? area : 0;
    }
    free(at);
    return true;
}

static double length_of(const struct contour_outline *contour)
{
    double length = 0;
    for (size_t i = 0; i < contour->n; i++) {
        const double *a = contour->corners + 2 * i,
                     *b = contour->corners + 2 * (i + 1 < contour->n ? i + 1 : 0);
        length += hypot(b[0] - a[0], b[1] - a[1]);
    }
    return length;
}

/* True where the second contour is the first once more: they differ by a tenth of their area, and
 * cross, which a hole does not; or by less than a fraction of a pixel all around. */
static bool repeats(const struct contour_outline *one, const struct contour_outline *other,
                    const struct pair_areas *areas)
{
    const double apart = areas->one + areas->other - 2 * areas->both,
                 least = fmin(areas->one, areas->other), inside = least - areas->both;
    const double around = apart / fmax(length_of(one), length_of(other));
    return least > 0 && ((apart <= 0.1 * least && inside >= 0.1 * apart) ||
                         (apart <= 0.25 * least && around <= 0.15));
}

/* True where they cross by more than a touch. */
static bool overlap(const struct pair_areas *areas)
{
    const double least = fmin(areas->one, areas->other);
    return areas->both >= 0.5 && areas->both >= 0.05 * least && least - areas->both >= 0.05 * least;
}

struct contour_outline ts_contour_outline(const double *corners, size_t n)
{
    struct contour_outline outline = {corners, n, {INFINITY, INFINITY}, {-INFINITY, -INFINITY}};
    for (size_t i = 0; i < 2 * n; i++) {
        outline.low[i % 2] = fmin(outline.low[i % 2], corners[i]);
        outline.high[i % 2] = fmax(outline.high[i % 2], corners[i]);
    }
    return outline;
}

static bool boxes_meet(const struct contour_outline *one, const struct contour_outline *other)
{
    return one->low[0] < other->high[0] && other->low[0] < one->high[0] &&
           one->low[1] < other->high[1] && other->low[1] < one->high[1];
}

enum contour_relation ts_contour_relate(const struct contour_outline *one,
                                        const struct contour_outline *other, double *left)
{
    struct pair_areas areas;
    if (!boxes_meet(one, other) || !measure_pair(one, other, left, &areas))
        return CONTOURS_APART;
    if (repeats(one, other, &areas))
        return CONTOURS_REPEAT;
    return overlap(&areas) ? CONTOURS_CROSS : CONTOURS_APART;
}
