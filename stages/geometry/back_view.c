/* SPDX-License-Identifier: Apache-2.0
 *
 * Pixels in views, and views among one another; all in double.
 */
#include "stages/geometry/back_view.h"

#include <math.h>

struct back_view ts_back_view(const struct beam_geometry *geometry, double degree, enum back_model model)
{
    const struct beam_view ray = ts_beam_view(geometry, degree);
    const double base = -ray.base / ray.per_detector, per_major = -ray.per_major / ray.per_detector,
                 per_minor = 1 / ray.per_detector;
    return (struct back_view){.base = base,
                              .per_row = ray.along_rows ? per_major : per_minor,
                              .per_column = ray.along_rows ? per_minor : per_major,
                              .width = model == BACK_JOSEPH ? fabs(ray.per_detector) : 1,
                              .scale = model == BACK_JOSEPH ? ray.length_mm : 1};
}

/* ---- views on the circle modulo 180 degrees ---------------------------------------------------- */

/* Closer directions are one: angles are often written with a few digits. */
static const double same_direction = 1e-6;

static double direction(double degree)
{
    const double turned = fmod(degree, 180);
    const double positive = turned < 0 ? turned + 180 : turned;
    return positive < 180 - same_direction / 2 ? positive : 0;
}

/* Heapsort by direction, then by index. */
static int is_after(const double *degrees, int64_t a, int64_t b)
{
    const double left = direction(degrees[a]), right = direction(degrees[b]);
    return left > right || (left == right && a > b);
}

static void sift(const double *degrees, int64_t *order, int64_t at, int64_t n)
{
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_after(degrees, order[child + 1], order[child]))
            child++;
        if (!is_after(degrees, order[child], order[at]))
            return;
        const int64_t kept = order[at];
        order[at] = order[child];
        order[child] = kept;
    }
}

static void sort_views(const double *degrees, int64_t n, int64_t *order)
{
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t i = n / 2; i-- > 0;)
        sift(degrees, order, i, n);
    for (int64_t i = n; i-- > 1;) {
        const int64_t kept = order[0];
        order[0] = order[i];
        order[i] = kept;
        sift(degrees, order, 0, i);
    }
}

/* The end of the group of views in one direction that starts at place i of the order. */
static int64_t group_end(const double *degrees, const int64_t *order, int64_t i, int64_t n)
{
    const double first = direction(degrees[order[i]]);
    while (i < n && direction(degrees[order[i]]) - first <= same_direction)
        i++;
    return i;
}

void ts_view_weights(const double *degrees, int64_t n, double *weights, int64_t *order)
{
    sort_views(degrees, n, order);
    const double radian = M_PI / 180;
    /* Of the group before the first, which is the last, half a turn back. */
    double before = direction(degrees[order[n - 1]]) - 180;
    for (int64_t i = n - 1;
         i > 0 && direction(degrees[order[n - 1]]) - direction(degrees[order[i - 1]]) <= same_direction;)
        before = direction(degrees[order[--i]]) - 180;
    const double first = direction(degrees[order[0]]);
    for (int64_t i = 0, end; i < n; i = end) {
        const double here = direction(degrees[order[i]]);
        end = group_end(degrees, order, i, n);
        const double next = end < n ? direction(degrees[order[end]]) : first + 180;
        for (int64_t k = i; k < end; k++)
            weights[order[k]] = 0.5 * (next - before) * radian / (double)(end - i);
        before = here;
    }
}

struct view_gap ts_view_gap(const double *degrees, int64_t n, int64_t *order)
{
    sort_views(degrees, n, order);
    struct view_gap gap = {.degrees = direction(degrees[order[0]]) + 180 - direction(degrees[order[n - 1]]),
                           .before = order[n - 1],
                           .after = order[0]};
    for (int64_t i = 0, end; i < n; i = end, gap.directions++) {
        end = group_end(degrees, order, i, n);
        const double next = end < n ? direction(degrees[order[end]]) - direction(degrees[order[i]]) : 0;
        if (next > gap.degrees)
            gap.degrees = next, gap.before = order[end - 1], gap.after = order[end];
    }
    return gap;
}
