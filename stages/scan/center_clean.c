/* SPDX-License-Identifier: Apache-2.0
 *
 * This prepares the copy of the sinogram that is searched: it removes what stays on the detector
 * while the object turns. Such features fit their own mirror image about the middle of the
 * detector, and would draw every search there.
 *
 * A dead column keeps its value while those on both sides change: it is filled in from the nearest
 * others. A stripe adds the same to all views: it is the mean of a column over all views minus the
 * median of such means around it, and is subtracted. A median keeps the edges of an object that are
 * the same in all views.
 *
 * Then the views of half a turn are laid out in even steps: copied if they are even, else
 * interpolated between the neighbors of each angle.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/search.h"
#include "stages/geometry/view_angles.h"
#include "stages/scan/center_search.h"

enum { AROUND = CENTER_AROUND, WINDOW = 2 * AROUND + 1 };

/* With fewer views, the mean is that of the object, so nothing is treated as a stripe or a dead
 * column. */
enum { LEAST_CLEANED = 12 };

/* A dead column changes by less than this fraction of what the columns around it do. */
static const double dead_share = 0.01;
/* Views are even if they, and the end of half a turn, differ from even steps by at most this
 * fraction of a step. */
static const double even_share = 0.01;
/* Most distance of neighboring views of half a turn: in steps, or in degrees if that is more. */
static const double widest_steps = 3.5, widest_degrees = 5;

/* ---- what stays on the detector -------------------------------------------------------------- */

/* Returns the median of those of values[first .. end) that exist, at most WINDOW of them. */
static double median_of(const double *values, int64_t n, int64_t first, int64_t end)
{
    double sorted[WINDOW];
    first = first > 0 ? first : 0;
    end = end < n ? end : n;
    memcpy(sorted, values + first, (size_t)(end - first) * sizeof *sorted);
    qsort(sorted, (size_t)(end - first), sizeof *sorted, ts_compare_doubles);
    return 0.5 * (sorted[(end - first) / 2] + sorted[(end - first - 1) / 2]);
}

/* Finds for each column its mean over the views and, in `spread`, the sum of the squared
 * differences from it. */
static void find_columns(const float *p, int64_t n_views, int64_t n, double *mean, double *spread)
{
    memset(mean, 0, (size_t)n * sizeof *mean);
    memset(spread, 0, (size_t)n * sizeof *spread);
    for (int64_t v = 0; v < n_views; v++)
        for (int64_t d = 0; d < n; d++)
            mean[d] += (double)p[v * n + d];
    for (int64_t d = 0; d < n; d++)
        mean[d] /= (double)n_views;
    for (int64_t v = 0; v < n_views; v++)
        for (int64_t d = 0; d < n; d++)
            spread[d] += ((double)p[v * n + d] - mean[d]) * ((double)p[v * n + d] - mean[d]);
}

/* Fills columns [first, end) from the two beside them. */
static void fill_columns(float *p, int64_t n_views, int64_t n, int64_t first, int64_t end)
{
    for (int64_t v = 0; v < n_views; v++) {
        float *row = p + v * n;
        const double left = (double)row[first - 1], right = (double)row[end];
        for (int64_t d = first; d < end; d++)
            row[d] = (float)(left +
                             (right - left) * (double)(d - first + 1) / (double)(end - first + 1));
    }
}

/* Returns true if a column is dead: those on both of its sides change far more. */
static bool is_dead(const double *spread, int64_t n, int64_t d)
{
    return d > 0 && d < n - 1 &&
           spread[d] < dead_share * fmin(median_of(spread, n, d - AROUND, d),
                                         median_of(spread, n, d + 1, d + 1 + AROUND));
}

static void fill_dead(float *p, int64_t n_views, int64_t n, const double *spread)
{
    for (int64_t d = 0, first = -1; d <= n; d++) {
        const bool dead = is_dead(spread, n, d);
        if (dead && first < 0)
            first = d;
        if (!dead && first >= 0) {
            fill_columns(p, n_views, n, first, d);
            first = -1;
        }
    }
}

void ts_center_clean(const float *p, int64_t n_views, int64_t n_detectors, float *out,
                     void *scratch)
{
    const int64_t n = n_detectors;
    double *mean = scratch, *spread = mean + n;
    memcpy(out, p, (size_t)(n_views * n) * sizeof *out);
    if (n_views < LEAST_CLEANED)
        return;
    find_columns(p, n_views, n, mean, spread);
    fill_dead(out, n_views, n, spread);
    find_columns(out, n_views, n, mean, spread);
    for (int64_t d = 0; d < n; d++)
        spread[d] = mean[d] - median_of(mean, n, d - AROUND, d + AROUND + 1);
    for (int64_t v = 0; v < n_views; v++)
        for (int64_t d = 0; d < n; d++)
            out[v * n + d] = (float)((double)out[v * n + d] - spread[d]);
}

/* Returns the deviation of normal values, of which n are given less the medians of WINDOW. */
static double deviation_of(double *values, int64_t n)
{
    static const double of_median = 1.4826 / 0.97;
    for (int64_t i = 0; i < n; i++)
        values[i] = isfinite(values[i]) ? fabs(values[i]) : 0;
    qsort(values, (size_t)n, sizeof *values, ts_compare_doubles);
    return of_median * values[n / 2];
}

/* Returns the sum of the squares of a row's slopes, in means over WINDOW columns. */
static double smooth_slopes(const float *p, const double *mean, int64_t n)
{
    double squares = 0;
    for (int64_t d = AROUND + 1; d + AROUND + 1 < n; d++) {
        const int64_t at[] = {d + AROUND + 1, d + AROUND, d - AROUND, d - AROUND - 1};
        const double slope =
            p ? (double)p[at[0]] + (double)p[at[1]] - (double)p[at[2]] - (double)p[at[3]]
              : mean[at[0]] + mean[at[1]] - mean[at[2]] - mean[at[3]];
        squares += 0.25 * slope * slope / (WINDOW * WINDOW);
    }
    return squares;
}

/* The shared noise, of which medians of WINDOW columns are left, moves a row by the sum of its
 * products with the slopes, divided by the sum of their squares, of which the noise of the views is
 * left out by products with those of the next view. Of opposite views of a whole turn the slopes of
 * the mean over all views count. The fit to the sinogram compares single views most. */
struct center_shared ts_center_shared(const struct center_search *search, const float *raw,
                                      void *scratch)
{
    static const double of_fit = 2; /* found from simulated scans */
    const int64_t n = search->n_detectors, n_views = search->views->n;
    const float *p = search->p;
    double *mean = scratch, *apart = mean + n, slopes = 0, smooth = 0;
    struct center_shared shared;
    find_columns(p, n_views, n, mean, apart);
    const double of_mean = smooth_slopes(NULL, mean, n);
    for (int64_t v = 0; v + 1 < n_views; v++, p += n) {
        for (int64_t d = 1; d + 1 < n; d++)
            slopes += 0.25 * ((double)p[d + 1] - (double)p[d - 1]) *
                      ((double)p[n + d + 1] - (double)p[n + d - 1]) / (double)(n_views - 1);
        smooth += smooth_slopes(p, NULL, n) / (double)(n_views - 1);
    }
    for (int64_t d = 0; d < n; d++)
        apart[d] = (double)raw[d] - (double)search->p[d];
    for (int64_t d = 0; d < n; d++)
        mean[d] = apart[d] / mean[d];
    shared.noise = deviation_of(apart, n);
    shared.share = deviation_of(mean, n);
    const double moved = slopes > 0 ? shared.noise * sqrt(0.5 * M_PI) / slopes : 0;
    shared.of_opposite = moved * sqrt(of_mean);
    shared.of_sinogram = of_fit * moved * sqrt(smooth);
    return shared;
}

/* ---- views in even steps --------------------------------------------------------------------- */

bool ts_center_views_are_even(const struct ts_axis *views)
{
    const double first = ts_view_degree(views, 0),
                 step = (ts_view_degree(views, views->n - 1) - first) / (double)(views->n - 1);
    for (int64_t i = 0; i < views->n; i++)
        if (!(fabs(ts_view_degree(views, i) - first - (double)i * step) <= even_share * fabs(step)))
            return false;
    const double half_turn =
        180 / fabs(step); /* an odd number of views over a whole turn is not even over half of it */
    return fabs(half_turn - rint(half_turn)) <= even_share && half_turn < (double)views->n + 0.5;
}

int64_t ts_center_half_turn(const struct ts_axis *views)
{
    const double arc = ts_view_degree(views, views->n - 1) - ts_view_degree(views, 0);
    if (ts_center_views_are_even(views))
        return llround(180 / fabs(arc / (double)(views->n - 1)));
    const double whole = fmin(ts_view_arc(views).length, 360),
                 n = 180 * (double)(views->n - 1) / whole;
    /* The last of the even steps over half a turn must not be beyond the last view. */
    return (int64_t)fmin(fmin(floor(n + 0.5), (double)views->n),
                         whole < 180 ? floor(180 / (180 - whole)) : INFINITY);
}

/* Sorts the views on a circle if they cover more than a turn, else on a line. */
static double place_views(const struct ts_axis *views, struct view_place *places)
{
    const struct view_arc arc = ts_view_arc(views);
    const bool circle = arc.length > 360 + 1e-6;
    for (int64_t v = 0; v < views->n; v++) {
        const double degrees = ts_view_past(&arc, views, v);
        places[v] = (struct view_place){circle ? fmod(degrees, 360) : degrees, v};
    }
    ts_view_places_sort(places, views->n);
    return places[views->n - 1].degrees;
}

/* Returns the widest gap between neighbors in the half turn that starts at `from`. */
static double widest_gap(const struct view_place *places, int64_t n, double from)
{
    double widest = 0;
    for (int64_t i = 1; i < n; i++)
        if (places[i].degrees > from && places[i - 1].degrees < from + 180)
            widest = fmax(widest, places[i].degrees - places[i - 1].degrees);
    return widest;
}

/* Returns the place at which the half turn begins: it is the first or the last half turn of the
 * scan, whichever has smaller gaps. */
static double begin_of(const struct view_place *places, int64_t n, double last)
{
    const double late = fmax(0, last - 180);
    return widest_gap(places, n, late) < widest_gap(places, n, 0) ? late : 0;
}

double ts_center_gap(const struct ts_axis *views, struct view_place *places, double *most)
{
    const double last = place_views(views, places), step = 180 / (double)ts_center_half_turn(views);
    *most = fmax(widest_steps * step, widest_degrees);
    return widest_gap(places, views->n, begin_of(places, views->n, last));
}

void ts_center_even_views(const struct center_search *search, int64_t half_turn,
                          struct view_place *places, float *out)
{
    const int64_t n = search->n_detectors, n_views = search->views->n;
    const double last = place_views(search->views, places), from = begin_of(places, n_views, last);
    int64_t at = 0;
    for (int64_t view = 0; view < half_turn; view++) {
        const double degrees = from + 180 * (double)view / (double)half_turn;
        while (at < n_views - 2 && places[at + 1].degrees <= degrees)
            at++;
        const double gap = places[at + 1].degrees - places[at].degrees;
        const double share = gap > 0 ? fmin(1, fmax(0, (degrees - places[at].degrees) / gap)) : 0;
        const float *p = search->p + places[at].view * n, *q = search->p + places[at + 1].view * n;
        for (int64_t d = 0; d < n; d++)
            out[view * n + d] = (float)((1 - share) * (double)p[d] + share * (double)q[d]);
    }
}
