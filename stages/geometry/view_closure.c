/* SPDX-License-Identifier: Apache-2.0
 *
 * The first two views are compared with the last two, mirrored about the axis after half a turn. If
 * the last view is at the end, it shows what the first one does, and the others differ by as much
 * as views do that are one, one and two steps apart at both ends. If it is a step before the end,
 * these are one, two, two and three steps. So the noise need not be known, and an object that looks
 * the same from everywhere says nothing. All differences are those of the best shift along the row,
 * since a sample that drifts is moved and the axis may be off; and rows are averaged over as many
 * detector pixels as make views most unlike those after the next.
 *
 * An object that only moves along the row, such as a disc, says nothing then. Of a whole turn, the
 * centers of mass or the variances of all views tell, if they fit the wave of an object that turns
 * much better with the other angles.
 */
#include "stages/geometry/view_closure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/geometry/view_angles.h"
#include "stages/geometry/view_wave.h"

enum { LEAST_VIEWS = 12, LEAST_DETECTORS = 16, LAGS = 3, ENDS = LAGS + 1, MOST_REACH = 24 };

/* Steps are even, and the range is one of both, within these parts of a step. Views further apart
 * are not alike. */
static const double even = 0.02, off_range = 0.1, widest = 8.5;
/* The ends of a row have to move by so many detector pixels in a step for a difference between a
 * row and a mirrored one to be more than what interpolation makes. */
static const double least_motion = 0.75, times_interpolation = 2;
/* The squares that waves leave with the other angles, as a part of those with these: much better,
 * and worse. What they leave is not told from less than this many detector pixels. */
static const double better = 0.25, worse = 1.5, least_left = 0.01;

struct closure {
    const struct view_closure_rows *rows;
    int64_t n, n_views;
    double turn, step; /* degrees */
    bool open;         /* the angles end a step before it */
    int64_t width;     /* over which the rows are averaged */
    double reach;      /* of shifts */
    double *first[ENDS], *last[ENDS], *sums;
    double *degrees, *trial; /* of the views */
};

/* ---- rows ------------------------------------------------------------------------------------ */

/* Finds which range the views cover, and whether they end before it. Returns false if they are not
 * even, or cover another range. */
static bool find_range(struct closure *closure)
{
    const struct ts_axis *views = closure->rows->views;
    double *degrees = closure->degrees;
    degrees[0] = ts_view_degree(views, 0);
    for (int64_t v = 1; v < closure->n_views; v++)
        degrees[v] = degrees[v - 1] +
                     remainder(ts_view_degree(views, v) - ts_view_degree(views, v - 1), 360);
    const double length = degrees[closure->n_views - 1] - degrees[0],
                 step = length / (double)(closure->n_views - 1);
    for (int64_t v = 0; v < closure->n_views; v++)
        if (!(fabs(degrees[v] - degrees[0] - step * (double)v) < even * fabs(step)))
            return false;
    closure->step = fabs(step);
    for (closure->turn = 180; closure->turn <= 360; closure->turn *= 2) {
        const double missing = (closure->turn - fabs(length)) / closure->step;
        closure->open = fabs(missing - 1) < off_range;
        if (closure->open || fabs(missing) < off_range)
            return closure->step <= widest;
    }
    return false;
}

/* Averages a row over `width` detector pixels, twice, so that it can be interpolated. */
static void average(const struct closure *closure, int64_t view, double *out)
{
    const int64_t n = closure->n, half = closure->width / 2;
    const float *row = closure->rows->p + view * n;
    for (int64_t d = 0; d < n; d++)
        out[d] = (double)row[d];
    for (int pass = 0; pass < 2; pass++) {
        closure->sums[0] = 0;
        for (int64_t d = 0; d < n; d++)
            closure->sums[d + 1] = closure->sums[d] + out[d];
        for (int64_t d = 0; d < n; d++) {
            const int64_t from = d > half ? d - half : 0, end = d + half < n ? d + half + 1 : n;
            out[d] = (closure->sums[end] - closure->sums[from]) / (double)(end - from);
        }
    }
}

static void average_all(const struct closure *closure)
{
    for (int64_t i = 0; i < ENDS; i++) {
        average(closure, i, closure->first[i]);
        average(closure, closure->n_views - 1 - i, closure->last[i]);
    }
}

/* ---- differences ----------------------------------------------------------------------------- */

/* Returns the variance of a[d] - b[shift + d] or, mirrored, of a[d] - b[shift - d]. */
static double apart_at(const double *a, const double *b, int64_t n, double shift, bool mirrored)
{
    const int64_t low = (int64_t)floor(shift), way = mirrored ? -1 : 1;
    const double past = shift - (double)low;
    int64_t first = low < 0 ? -low : 0, end = n - 1 - low < n ? n - 1 - low : n;
    if (mirrored) {
        first = low - n + 2 > 0 ? low - n + 2 : 0;
        end = low + 1 < n ? low + 1 : n;
    }
    if (end - first < LEAST_DETECTORS)
        return INFINITY;
    double sum = 0, squares = 0;
    for (int64_t d = first; d < end; d++) {
        const double *at = b + low + way * d, off = a[d] - (1 - past) * at[0] - past * at[1];
        sum += off;
        squares += off * off;
    }
    const double mean = sum / (double)(end - first);
    return fmax(0, squares / (double)(end - first) - mean * mean);
}

/* Returns that of the best shift. */
static double rows_apart(const struct closure *closure, const double *a, const double *b,
                         bool mirrored)
{
    static const double coarse = 0.5, fine = 0.01;
    double best = mirrored ? 2 * closure->rows->axis : 0, least = INFINITY;
    const double end = best + closure->reach;
    for (double shift = best - closure->reach; shift <= end; shift += coarse) {
        const double at = apart_at(a, b, closure->n, shift, mirrored);
        best = at < least ? shift : best;
        least = fmin(least, at);
    }
    for (double move = 0.5 * coarse; move > fine; move /= 2) {
        const double middle = best;
        for (int way = -1; way <= 1; way += 2) {
            const double at = apart_at(a, b, closure->n, middle + way * move, mirrored);
            best = at < least ? middle + way * move : best;
            least = fmin(least, at);
        }
    }
    return least;
}

/* Returns the square that interpolation between two detector pixels may make. */
static double of_interpolation(const double *row, int64_t n)
{
    double squares = 0;
    for (int64_t d = 1; d + 1 < n; d++) {
        const double bend = (row[d - 1] - 2 * row[d] + row[d + 1]) / 8;
        squares += bend * bend;
    }
    return squares / (double)n;
}

/* Chooses over how many detector pixels the rows are averaged: noise makes views as unlike those
 * beside them as those after, and a motion makes them a quarter as unlike. */
static void choose_width(struct closure *closure)
{
    enum { TIMES = 8 };
    static const double least_better = 1.3;
    const int64_t n = closure->n;
    double best = 0;
    int64_t chosen = 3;
    for (int64_t width = 3; width <= 3 + n / 6; width = 2 * width + 1) {
        double next = 0, after = 0;
        closure->width = width;
        average_all(closure);
        for (int end = 0; end < 2; end++) {
            double *const *rows = end ? closure->last : closure->first;
            for (int64_t i = 0; i < 2; i++) {
                next += apart_at(rows[i], rows[i + 1], n, 0, false);
                after += apart_at(rows[i], rows[i + 2], n, 0, false);
            }
        }
        next += TIMES *
                (of_interpolation(closure->first[0], n) + of_interpolation(closure->last[0], n));
        const double ratio = next > 0 ? after / next : 0;
        if (ratio > least_better * best) {
            best = ratio;
            chosen = width;
        }
    }
    closure->width = chosen;
    average_all(closure);
}

/* Differences of views that are 1, 2 and 3 steps apart, at the first and the last one, and their
 * mean; and of the last two and the first two. */
struct apart {
    double first[ENDS], last[ENDS], mean[ENDS], over[2][2];
    double of_step, noise; /* what one step makes of the mean, and noise: 1, 4 and 9 times that */
};

static void compare(const struct closure *closure, struct apart *apart)
{
    for (int lag = 1; lag <= LAGS; lag++) {
        apart->first[lag] = rows_apart(closure, closure->first[0], closure->first[lag], false);
        apart->last[lag] = rows_apart(closure, closure->last[0], closure->last[lag], false);
        apart->mean[lag] = 0.5 * (apart->first[lag] + apart->last[lag]);
    }
    apart->of_step = (apart->mean[2] - apart->mean[1]) / 3;
    apart->noise = apart->mean[1] - apart->of_step;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            apart->over[i][k] =
                rows_apart(closure, closure->last[i], closure->first[k], closure->turn < 360);
}

/* Returns whether neighbors differ by a motion, and by about the same one at both ends. */
static bool shows_motion(const struct closure *closure, const struct apart *apart)
{
    static const double least_rise = 1.3, most_unlike = 3.2;
    const double interpolated = fmax(of_interpolation(closure->first[0], closure->n),
                                     of_interpolation(closure->last[0], closure->n));
    return fmax(apart->first[1], apart->last[1]) <
               most_unlike * fmin(apart->first[1], apart->last[1]) &&
           fmin(apart->first[1], apart->last[1]) > times_interpolation * interpolated &&
           apart->first[2] > least_rise * apart->first[1] &&
           apart->last[2] > least_rise * apart->last[1];
}

static bool is_between(double value, double least, double most)
{
    return value > least && value < most;
}

/* Returns whether the last view shows what the first does. In a view that is symmetric, the views
 * on both sides are alike: the last but one and the second must not be. */
static bool ends_meet(const struct apart *apart)
{
    const double *first = apart->first, *last = apart->last, *mean = apart->mean;
    const double meet = apart->over[0][0], after = apart->over[0][1], before = apart->over[1][0];
    const double share = meet / fmin(first[1], last[1]);
    return apart->noise < (share < 0.15 ? 0.7 : 0.5) * mean[1] && mean[3] > 2.4 * mean[1] &&
           share < 0.4 && meet < 0.5 * fmin(after, before) &&
           is_between(after, 0.5 * first[1], 1.6 * first[1]) &&
           is_between(before, 0.5 * last[1], 1.6 * last[1]) &&
           is_between(apart->over[1][1], fmax(0.5 * mean[2], 1.5 * mean[1]), 2 * mean[2]);
}

/* The same if all four differences over the ends are larger by something that came during the scan,
 * such as a stripe that changed: t steps are missing if they rise as (i + k + t)^2. */
static bool ends_meet_but_for_change(const struct apart *apart)
{
    static const double off = 0.3;
    const double *mean = apart->mean, meet = apart->over[0][0], after = apart->over[0][1],
                 before = apart->over[1][0];
    const double of_step = apart->of_step, rise = (mean[3] - mean[2]) / (mean[2] - mean[1]);
    const double by_one = (0.5 * (after + before) - meet) / (2 * of_step) - 0.5,
                 by_two = (apart->over[1][1] - meet) / (4 * of_step) - 1;
    return meet < 0.8 * fmin(apart->first[1], apart->last[1]) && fabs(by_one) < off &&
           fabs(by_two) < off && is_between(rise, 1.3, 2) && apart->noise < 0.5 * mean[1] &&
           fmin(after, before) - meet > 0.5 * of_step;
}

/* Returns whether the last view shows what is a step before the first. */
static bool ends_are_apart(const struct apart *apart)
{
    const double *first = apart->first, *last = apart->last, *mean = apart->mean;
    const double meet = apart->over[0][0], after = apart->over[0][1], before = apart->over[1][0],
                 both = apart->over[1][1];
    return apart->noise < 0.4 * mean[1] && mean[3] > 3.5 * mean[1] &&
           fmin(after, before) > 1.8 * meet && both > 3 * meet &&
           is_between(meet, 0.55 * mean[1], 1.6 * mean[1]) &&
           is_between(after, 0.55 * first[2], 1.5 * first[2]) &&
           is_between(before, 0.55 * last[2], 1.5 * last[2]) &&
           is_between(both, 0.65 * mean[3], 1.5 * mean[3]);
}

/* Returns whether the ends show the other closure than the angles say. */
static bool ends_differ(struct closure *closure)
{
    const bool mirrored = closure->turn < 360;
    struct apart apart;
    choose_width(closure);
    compare(closure, &apart);
    if (!shows_motion(closure, &apart))
        return false;
    if (closure->open)
        return ends_meet(&apart) || (!mirrored && ends_meet_but_for_change(&apart));
    const double motion = closure->step * M_PI / 180 * 0.5 * (double)closure->n;
    return (!mirrored || motion >= least_motion) && ends_are_apart(&apart);
}

/* ---- waves ----------------------------------------------------------------------------------- */

/* Returns the square that a wave of these angles leaves, for centers of mass that of one with an
 * even drift. */
static double left_by_wave(const double *values, const double *degrees, int64_t n, int turns)
{
    double wave[3], error;
    const double left = ts_view_wave(values, degrees, n, turns, wave, &error),
                 drift = turns == 1 ? ts_view_wave_drift(values, degrees, n) : 0;
    return left * left - drift * drift;
}

/* Returns how what a wave leaves with the other angles is to what it does with these. */
static double wave_ratio(const struct closure *closure, const double *values, int turns,
                         double least)
{
    const int64_t n = closure->n_views;
    const double steps = (double)(n - 1);
    for (int64_t v = 0; v < n; v++)
        closure->trial[v] =
            closure->degrees[v] * (closure->open ? (steps + 1) / steps : steps / (steps + 1));
    return (left_by_wave(values, closure->trial, n, turns) + least * least) /
           (left_by_wave(values, closure->degrees, n, turns) + least * least);
}

/* Waves of a whole turn are enough; those of half a turn are much the same with both angles. */
static bool is_other(struct closure *closure)
{
    const struct view_closure_rows *rows = closure->rows;
    double com = 1, var = 1, radius = 0;
    for (int64_t v = 0; rows->com && v < closure->n_views; v++)
        radius += sqrt(fmax(1, rows->var[v])) / (double)closure->n_views;
    if (rows->com) {
        com = wave_ratio(closure, rows->com, 1, least_left);
        var = wave_ratio(closure, rows->var, 2, 2 * radius * least_left);
    }
    if (com > worse || var > worse)
        return false;
    return ends_differ(closure) || (closure->turn > 180 && fmin(com, var) < better);
}

bool ts_view_closure(const struct view_closure_rows *rows, enum view_closure *found, double *turn)
{
    struct closure closure = {.rows = rows, .n = rows->n, .n_views = rows->views->n};
    const int64_t n = rows->n, n_views = closure.n_views;
    *found = CLOSURE_AS_SAID;
    if (n_views < LEAST_VIEWS || n < LEAST_DETECTORS)
        return true;
    double *room = malloc((size_t)((2 * ENDS + 1) * n + 1 + 2 * n_views) * sizeof *room);
    if (!room)
        return false;
    for (int64_t i = 0; i < ENDS; i++) {
        closure.first[i] = room + 2 * i * n;
        closure.last[i] = closure.first[i] + n;
    }
    closure.sums = room + (int64_t)2 * ENDS * n;
    closure.degrees = closure.sums + n + 1;
    closure.trial = closure.degrees + n_views;
    if (find_range(&closure)) {
        closure.reach = fmin(fmin(MOST_REACH, (double)n / 16),
                             ceil(2 + closure.step * M_PI / 180 * 0.5 * (double)n));
        if (is_other(&closure))
            *found = closure.open ? CLOSURE_AT_END : CLOSURE_BEFORE_END;
        *turn = closure.turn;
    }
    free(room);
    return true;
}
