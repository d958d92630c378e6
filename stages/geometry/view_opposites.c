/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/geometry/view_opposites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"

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

/* Sums over the values a, b of two rows. */
struct sums {
    double a, b, aa, bb, ab;
};

static void view_opposites_add(struct sums *sums, double a, double b)
{
    sums->a += a;
    sums->b += b;
    sums->aa += a * a;
    sums->bb += b * b;
    sums->ab += a * b;
}

/* Returns the square that is left with the best factor and constant. */
static double left_of(const struct sums *sums, int64_t n)
{
    const double count = (double)n, aa = sums->aa - sums->a * sums->a / count,
                 bb = sums->bb - sums->b * sums->b / count,
                 ab = sums->ab - sums->a * sums->b / count;
    return bb > 0 ? fmax(0, aa - ab * ab / bb) : aa;
}

double ts_view_rows_unlike(const double *p, const double *q, int64_t n, bool mirrored)
{
    struct sums sums = {0};
    for (int64_t i = 0; i < n; i++)
        view_opposites_add(&sums, p[i], q[mirrored ? n - 1 - i : i]);
    return left_of(&sums, n);
}

double ts_view_subtract_mirrored(double *row, const double *other, int64_t n, double center)
{
    struct sums sums = {0};
    const double count = (double)n;
    for (int pass = 0; pass < 2; pass++) {
        const double bb = sums.bb - sums.b * sums.b / count,
                     factor = bb > 0 ? (sums.ab - sums.a * sums.b / count) / bb : 0,
                     constant = (sums.a - factor * sums.b) / count;
        for (int64_t d = 0; d < n; d++) {
            const double at = 2 * center - (double)d, past = at - floor(at);
            const int64_t low = (int64_t)floor(at);
            const double mirrored =
                low >= 0 && low + 1 < n ? (1 - past) * other[low] + past * other[low + 1] : 0;
            if (pass == 0)
                view_opposites_add(&sums, row[d], mirrored);
            else
                row[d] -= constant + factor * mirrored;
        }
    }
    return sums.aa - sums.a * sums.a / count;
}

double ts_view_stripes(const double *mean, int64_t n)
{
    enum { STRIPE = 9 }; /* detector pixels, of which a stripe is less than half */
    double near[STRIPE], squares = 0;
    for (int64_t d = 0; d + STRIPE <= n; d++) {
        memcpy(near, mean + d, sizeof near);
        qsort(near, STRIPE, sizeof *near, ts_compare_doubles);
        const double off = mean[d + STRIPE / 2] - near[STRIPE / 2];
        squares += off * off;
    }
    return squares;
}

bool ts_view_alternate(const float *p, const double *degrees, int64_t n_views, int64_t n)
{
    enum { TIMES = 2 };
    double next = 0, after = 0;
    for (int64_t v = 0; v + 2 < n_views; v++) {
        const float *row = p + v * n;
        struct sums with_next = {0}, with_after = {0};
        if ((degrees[v + 2] - degrees[v + 1]) * (degrees[v + 1] - degrees[v]) <= 0)
            return false;
        for (int64_t d = 0; d < n; d++) {
            view_opposites_add(&with_next, (double)row[d], (double)row[n + d]);
            view_opposites_add(&with_after, (double)row[d], (double)row[2 * n + d]);
        }
        next += left_of(&with_next, n);
        after += left_of(&with_after, n);
    }
    return next > TIMES * after;
}
