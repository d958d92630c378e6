/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/geometry/view_opposites.h"

#include <math.h>

double ts_view_circular(double degrees)
{
    const double turned = fmod(degrees, 360);
    return turned < 0 ? turned + 360 : turned;
}

/* Returns how far the nearest view is from the opposite of places[i], and sets which it is. */
static double find_opposite(const struct view_place *places, int64_t n, int64_t i,
                            int64_t *opposite)
{
    const double target = ts_view_circular(places[i].degrees + 180);
    const int64_t after = ts_view_places_up_to(places, n, target) % n, before = (after + n - 1) % n;
    const double past = ts_view_circular(places[after].degrees - target),
                 short_of = ts_view_circular(target - places[before].degrees);
    *opposite = places[past < short_of ? after : before].view;
    return fmin(past, short_of);
}

int ts_view_pairs(const struct view_place *places, int64_t n, double step,
                  struct view_pair pairs[VIEW_PAIRS])
{
    double least = INFINITY;
    int64_t opposite, all = 0, seen = 0;
    int found = 0;
    for (int64_t i = 0; i < n; i++)
        least = fmin(least, find_opposite(places, n, i, &opposite));
    const double limit =
        least <= 0.5001 * step ? 0.5001 * step : fmin(1.01 * step, least + 0.1 * step);
    for (int64_t i = 0; i < n; i++)
        all += find_opposite(places, n, i, &opposite) <= limit;
    const int64_t wanted = all < VIEW_PAIRS ? all : VIEW_PAIRS;
    for (int64_t i = 0; i < n && found < wanted; i++)
        if (find_opposite(places, n, i, &opposite) <= limit && seen++ == found * all / wanted)
            pairs[found++] = (struct view_pair){places[i].view, opposite};
    return found;
}

double ts_view_rows_apart(const double *p, const double *q, int64_t n, bool mirrored)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double apart = p[i] - q[mirrored ? n - 1 - i : i];
        sum += apart * apart;
    }
    return sum;
}

double ts_view_rows_unlike(const double *p, const double *q, int64_t n, bool mirrored)
{
    double of_p = 0, of_q = 0, p_squared = 0, q_squared = 0, product = 0;
    for (int64_t i = 0; i < n; i++) {
        const double a = p[i], b = q[mirrored ? n - 1 - i : i];
        of_p += a;
        of_q += b;
        p_squared += a * a;
        q_squared += b * b;
        product += a * b;
    }
    const double count = (double)n, p_varies = p_squared - of_p * of_p / count,
                 q_varies = q_squared - of_q * of_q / count, both = product - of_p * of_q / count;
    return q_varies > 0 ? fmax(0, p_varies - both * both / q_varies) : p_varies;
}
