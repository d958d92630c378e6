/* SPDX-License-Identifier: Apache-2.0
 *
 * A view has another light than those beside it if both of its ends differ from their medians over
 * the views around it, since a hot pixel or a zinger is at one end only. What lasts longer than the
 * half of these views is a step: the means of a 16th of the views before and behind it differ most,
 * and it is where two means fit best. A beam that drifts changes little in so few views; the line
 * through the means of the blocks shows it.
 */
#include "stages/geometry/view_beam.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"

enum {
    PARTS = 16,
    LEAST = 4,
    DEVIATIONS = 6,
    STRIPS = 16,
    LEAST_STRIP = 4,
    LEAST_VIEWS = 4,
    SOME = 4
};

/* A dark view has at most this share of the usual light, and views beside it have at least this
 * one. Between them is one that a shutter opens or closes in. */
static const double most_dark = 0.05, least_lit = 0.5;
/* A line fits the drift if what is left is at most this share of it. */
static const double left_of_drift = 0.15;
/* The deviation of a normal distribution, of the median of the differences of two of its values. */
static const double of_differences = 1.0484;

/* ---- dark views ------------------------------------------------------------------------------ */

static int64_t strip_of(int64_t n)
{
    return n / STRIPS > LEAST_STRIP ? n / STRIPS : LEAST_STRIP;
}

/* Returns the brightest mean of a 16th of the row. */
static double brightest(const float *row, int64_t n)
{
    const int64_t strip = strip_of(n);
    double most = -INFINITY;
    for (int64_t first = 0; first + strip <= n; first += strip) {
        double sum = 0;
        for (int64_t d = first; d < first + strip; d++)
            sum += (double)row[d];
        most = fmax(most, sum / (double)strip);
    }
    return most;
}

/* Returns the view next to a run of dark ones, in this direction, that is not half dark. */
static int64_t find_lit(const double *light, int64_t n_views, int64_t next, int64_t step,
                        double lit)
{
    return next >= 0 && next < n_views && light[next] < lit ? next + step : next;
}

int64_t ts_view_beam_dark(const float *light, int64_t n_views, int64_t n, double *room, bool *dark)
{
    double *sorted = room + n_views;
    int64_t count = 0;
    memset(dark, 0, (size_t)n_views * sizeof *dark);
    if (n_views < LEAST_VIEWS || n < LEAST_STRIP)
        return 0;
    for (int64_t v = 0; v < n_views; v++)
        sorted[v] = room[v] = brightest(light + v * n, n);
    qsort(sorted, (size_t)n_views, sizeof *sorted, ts_compare_doubles);
    const double usual = sorted[n_views / 2], lit = least_lit * usual;
    for (int64_t v = 0, end; usual > 0 && v < n_views; v = end + 1) {
        for (end = v; end < n_views && room[end] < most_dark * usual;)
            end++;
        if (end == v)
            continue;
        const int64_t before = find_lit(room, n_views, v - 1, -1, lit),
                      behind = find_lit(room, n_views, end, 1, lit);
        /* What an object lets pass in some directions fades. */
        if ((before >= 0 && room[before] < lit) || (behind < n_views && room[behind] < lit))
            continue;
        for (int64_t k = before + 1; k < behind; k++) {
            count += !dark[k];
            dark[k] = true;
        }
    }
    return 2 * count < n_views ? count : 0;
}

/* ---- what differs from the views around it --------------------------------------------------- */

/* Returns how many views on each side of one are looked at. */
static int64_t reach_of(int64_t n_views)
{
    return n_views / PARTS > LEAST ? n_views / PARTS : LEAST;
}

/* Writes the median of the values about each one: `reach` on both sides, or as many in all at the
 * ends. `sorted` is room for n numbers. */
static void find_medians(const double *values, int64_t n, int64_t reach, double *sorted,
                         double *medians)
{
    const int64_t size = 2 * reach + 1 < n ? 2 * reach + 1 : n;
    memcpy(sorted, values, (size_t)size * sizeof *sorted);
    qsort(sorted, (size_t)size, sizeof *sorted, ts_compare_doubles);
    for (int64_t v = 0; v < n; v++) {
        const int64_t first = v - reach;
        if (first > 0 && first + size <= n) {
            int64_t i = 0;
            while (i < size - 1 && sorted[i] != values[first - 1])
                i++;
            const double value = values[first + size - 1];
            for (; i > 0 && sorted[i - 1] > value; i--)
                sorted[i] = sorted[i - 1];
            for (; i + 1 < size && sorted[i + 1] < value; i++)
                sorted[i] = sorted[i + 1];
            sorted[i] = value;
        }
        medians[v] = sorted[size / 2];
    }
}

/* Returns the deviation by noise of a value, by the median of the differences of neighbors. */
static double noise_of(const double *values, int64_t n, double *sorted)
{
    for (int64_t v = 1; v < n; v++)
        sorted[v - 1] = fabs(values[v] - values[v - 1]);
    qsort(sorted, (size_t)(n - 1), sizeof *sorted, ts_compare_doubles);
    return of_differences * sorted[(n - 1) / 2];
}

static double air_of(const struct view_blocks *light, int64_t v, int64_t first)
{
    double sum = 0;
    for (int64_t d = first; d < first + light->strip; d++)
        sum += (double)light->p[v * light->n + d];
    return sum / (double)light->strip;
}

/* Returns by how much both of two ends differ from 1, or 0 if they do in two directions. */
static double common(double left, double right)
{
    if ((left - 1) * (right - 1) <= 0)
        return 0;
    return fabs(left - 1) < fabs(right - 1) ? left - 1 : right - 1;
}

/* Writes by how much both ends of each view differ from their medians, as a share of these, to
 * `room`. Returns the deviation of that by noise; INFINITY if there is no light. */
static double compare_with_medians(const struct view_blocks *light, double *room)
{
    const int64_t n = light->n_views, last = light->n - light->strip;
    double *first_end = room + n, *ends = room + n, *medians = room + 3 * n, *sorted = room + 5 * n,
           noise = 0;
    for (int64_t end = 0; end < 2; end++, ends += n, medians += n) {
        for (int64_t v = 0; v < n; v++)
            ends[v] = air_of(light, v, end ? last : 0);
        const double deviation = noise_of(ends, n, sorted);
        find_medians(ends, n, reach_of(n), sorted, medians);
        for (int64_t v = 0; v < n; v++) {
            if (!(medians[v] > 0))
                return INFINITY;
            noise = fmax(noise, deviation / medians[v]);
            ends[v] /= medians[v];
        }
    }
    for (int64_t v = 0; v < n; v++)
        room[v] = common(first_end[v], first_end[n + v]);
    return noise;
}

/* Returns the mean of a strip over views [first, end). */
static double mean_of_strip(const struct view_blocks *light, int64_t first, int64_t end, int64_t d,
                            int64_t strip)
{
    double sum = 0;
    for (int64_t v = first; v < end; v++)
        for (int64_t k = d; k < d + strip; k++)
            sum += (double)light->p[v * light->n + k];
    return sum / (double)((end - first) * strip);
}

/* Returns whether views [at, end) have `factor` times the light of views [first, at), of SOME next
 * to `at`, in more than half of the row: by half of that at least. An object that comes to the ends
 * changes little else. Also if one of these has no view. */
static bool changes_row(const struct view_blocks *light, int64_t first, int64_t at, int64_t end,
                        double factor)
{
    const int64_t n = light->n, strip = strip_of(n);
    const double half = sqrt(factor);
    int64_t strips = 0, changed = 0;
    first = first > at - SOME ? first : at - SOME;
    end = end < at + SOME ? end : at + SOME;
    for (int64_t d = 0; first < at && at < end && d + strip <= n; d += strip, strips++) {
        const double change =
            mean_of_strip(light, at, end, d, strip) / mean_of_strip(light, first, at, d, strip);
        changed += half < 1 ? change < half : change > half;
    }
    return 2 * changed > strips || strips == 0;
}

int64_t ts_view_beam_dim(const struct view_blocks *light, double factor, double *room, bool *dim,
                         double *share)
{
    const int64_t n = light->n_views;
    double all = 0;
    int64_t count = 0;
    memset(dim, 0, (size_t)n * sizeof *dim);
    if (n < 2 * reach_of(n) + 1)
        return 0;
    const double least = DEVIATIONS * compare_with_medians(light, room);
    for (int64_t v = 0, end; v < n; v = end + 1) {
        double sum = 0;
        for (end = v; end < n && fabs(room[end]) > least &&
                      (room[end] > factor - 1 || room[end] < 1 / factor - 1);)
            sum += room[end++];
        const double times = 1 + sum / (double)(end - v);
        if (end == v || !changes_row(light, 0, v, end, times) ||
            !changes_row(light, v, end, n, 1 / times))
            continue;
        memset(dim + v, true, (size_t)(end - v) * sizeof *dim);
        all += sum;
        count += end - v;
    }
    *share = count > 0 ? 1 + all / (double)count : 1;
    return count;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Returns the view from which on a second mean fits best, among those in [first, end). */
static int64_t place_step(const double *air, int64_t first, int64_t end)
{
    double all = 0, before = 0, most = -1;
    int64_t best = first;
    for (int64_t v = first; v < end; v++)
        all += air[v];
    for (int64_t v = first + 1; v < end; v++) {
        before += air[v - 1];
        const double n = (double)(v - first), rest = (double)(end - v),
                     apart = before / n - (all - before) / rest, squares = n * rest * apart * apart;
        if (squares > most) {
            most = squares;
            best = v;
        }
    }
    return best;
}

int64_t ts_view_beam_step(const struct view_blocks *light, double factor, double *room,
                          const bool *dim, double *share)
{
    const int64_t n = light->n_views, width = reach_of(n), last = light->n - light->strip;
    double *air = room, most = log(factor), squares = 0;
    int64_t found = -1;
    for (int64_t v = 0, kept = -1; v < n; v++) {
        air[v] = 0.5 * (air_of(light, v, 0) + air_of(light, v, last));
        if (dim[v] && kept >= 0)
            air[v] = air[kept];
        else if (!dim[v]) {
            for (int64_t k = kept < 0 ? 0 : v; k < v; k++)
                air[k] = air[v];
            kept = v;
        }
        squares += v > 0 ? 0.5 * (air[v] - air[v - 1]) * (air[v] - air[v - 1]) : 0;
    }
    const double noise = DEVIATIONS * sqrt(2 * squares / (double)(n - 1) / (double)width);
    for (int64_t v = width; v + width <= n; v++) {
        double before = 0, after = 0;
        for (int64_t k = 0; k < width; k++) {
            before += air[v - 1 - k] / (double)width;
            after += air[v + k] / (double)width;
        }
        const double change = fabs(log(fmax(after, DBL_MIN) / fmax(before, DBL_MIN)));
        if (change <= most || fabs(after - before) <= noise)
            continue;
        most = change;
        *share = after / before;
        found = place_step(air, v - width, v + width);
    }
    return found > 0 && changes_row(light, 0, found, n, *share) ? found : -1;
}

/* ---- drift ----------------------------------------------------------------------------------- */

double ts_view_beam_drift(const float *p, int64_t n_views, int64_t n)
{
    const struct view_blocks blocks = ts_view_blocks(p, n_views, n, 1), *light = &blocks;
    const int64_t groups = light->groups, last = n - light->strip;
    double slope[2] = {0}, left[2] = {0}, products = 0;
    if (groups < LEAST)
        return 1;
    for (int end = 0; end < 2; end++) {
        double mean = 0;
        for (int64_t g = 0; g < groups; g++)
            mean += log(fmax(ts_view_block_mean(light, g, end ? last : 0), DBL_MIN));
        mean /= (double)groups;
        products = 0;
        for (int64_t g = 0; g < groups; g++) {
            const double at = ((double)g - 0.5 * (double)(groups - 1)) / (double)groups,
                         level = log(fmax(ts_view_block_mean(light, g, end ? last : 0), DBL_MIN));
            slope[end] += at * (level - mean);
            left[end] += (level - mean) * (level - mean);
            products += at * at;
        }
        slope[end] /= products;
        left[end] -= slope[end] * slope[end] * products;
    }
    const double change = 0.5 * (slope[0] + slope[1]),
                 rest = sqrt(fmax(0, fmax(left[0], left[1])) / (double)groups);
    return rest <= left_of_drift * fabs(change) ? exp(change) : 1;
}
