/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows are compared as means over bins, less the mean of the row, which a beam that changes moves.
 * Neighbors leap if the square of their difference is far more than those of the two pairs before
 * and of the two after, even if that grows with the square of the angle between views. What appears
 * and disappears in single views, such as a plate that is seen edge-on, makes at least two high
 * differences among five, and so do noise of single views and zingers. The difference has to be
 * more than that of a row and itself a detector pixel further, and in several bins.
 *
 * The center of mass and the variance of the views follow waves whatever the object is. They leap
 * if both views after a place differ from both views before it, and a single view strays if it
 * differs from both views on each side: by far more than neighbors differ elsewhere.
 */
#include "stages/geometry/view_leaps.h"

#include <math.h>
#include <stdlib.h>

#include "core/search.h"
#include "stages/geometry/view_angles.h"

enum { LEAST_VIEWS = 12, LEAST_DETECTORS = 16, MOST_BINS = 64, BESIDE = 2, LEAST_BINS = 4 };

/* A square that leaps is so many times those beside it. */
static const double times = 8;
/* A moment that leaps differs by so many times the median of differences, and the largest of those
 * beside it. */
static const double medians = 12, beside_most = 3;
/* Of angles between neighbors, what is more than this times the median is a gap of the scan. */
static const double gap = 3;
/* Neighbors that are further apart are not alike, degrees. */
static const double widest = 8;

struct state {
    int64_t n, bins; /* views, in the order of their angles */
    double pixels;   /* of a bin */
    struct view_place *order;
    double *means, *square, *angle, *sorted, *residual[2], *scratch, least[2];
    double of_pixel; /* the square of the difference of a row and itself a pixel further */
};

static double median(struct state *state, const double *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        state->sorted[i] = fabs(values[i]);
    qsort(state->sorted, (size_t)n, sizeof *state->sorted, ts_compare_doubles);
    return state->sorted[n / 2];
}

/* Views whose angles rise or fall stay as they are. */
static void sort_views(struct state *state, const struct ts_axis *views)
{
    bool rises = true, falls = true;
    for (int64_t v = 0; v < state->n; v++) {
        const double degrees = ts_view_degree(views, v);
        state->order[v] = (struct view_place){ts_view_circular(degrees), v};
        rises &= v == 0 || degrees > ts_view_degree(views, v - 1);
        falls &= v == 0 || degrees < ts_view_degree(views, v - 1);
    }
    if (!rises && !falls)
        ts_view_places_sort(state->order, state->n);
    for (int64_t i = 0; i + 1 < state->n; i++) {
        const double step = fabs(state->order[i + 1].degrees - state->order[i].degrees);
        state->angle[i] =
            rises || falls ? fabs(ts_view_degree(views, i + 1) - ts_view_degree(views, i)) : step;
    }
}

/* Falls to 0 over the quarter at each end. */
static double window(int64_t bin, int64_t bins)
{
    const double from_end = fmin((double)bin + 0.5, (double)(bins - bin) - 0.5);
    return 0.5 - 0.5 * cos(M_PI * fmin(1, 4 * from_end / (double)bins));
}

static void find_means(struct state *state, const struct view_rows *rows)
{
    const int64_t n = rows->end - rows->first, bins = state->bins;
    state->of_pixel = 0;
    for (int64_t i = 0; i < state->n; i++) {
        const float *row = rows->p + state->order[i].view * rows->n + rows->first;
        double *mean = state->means + i * bins, all = 0, square = 0;
        for (int64_t bin = 0; bin < bins; bin++) {
            const int64_t first = bin * n / bins, end = (bin + 1) * n / bins;
            double sum = 0;
            for (int64_t d = first; d < end; d++)
                sum += (double)row[d];
            mean[bin] = sum / (double)(end - first);
            all += mean[bin] / (double)bins;
        }
        for (int64_t bin = 0; bin < bins; bin++) {
            mean[bin] = (mean[bin] - all) * (rows->cut ? window(bin, bins) : 1);
            if (bin > 0)
                square += (mean[bin] - mean[bin - 1]) * (mean[bin] - mean[bin - 1]);
        }
        state->of_pixel += square / (state->pixels * state->pixels * (double)state->n);
    }
}

/* Returns in how many bins a and b differ, in the sense of a participation ratio, and sets the
 * square of their difference. */
static double differ(const struct state *state, const double *a, const double *b, double *square)
{
    double squares = 0, fourths = 0;
    for (int64_t bin = 0; bin < state->bins; bin++) {
        const double apart = (a[bin] - b[bin]) * (a[bin] - b[bin]);
        squares += apart;
        fourths += apart * apart;
    }
    *square = squares;
    return fourths > 0 ? squares * squares / fourths : 0;
}

/* Returns whether views i and i + 1 differ far more than those beside them do. */
static bool rows_leap(const struct state *state, int64_t i)
{
    const int64_t bins = state->bins;
    double most = 0, square;
    if (i < BESIDE || i + BESIDE + 1 >= state->n || state->square[i] <= state->of_pixel)
        return false;
    for (int64_t k = i - BESIDE; k <= i + BESIDE; k++) {
        if (state->angle[k] > widest)
            return false;
        if (k == i)
            continue;
        const double share = state->angle[i] / state->angle[k];
        most = fmax(most, state->square[k] * fmax(1, share * share));
    }
    const double *mean = state->means + i * bins;
    return state->square[i] > times * most &&
           differ(state, mean, mean + bins, &square) >= LEAST_BINS;
}

/* Returns whether all four differences over a place have a sign and are at least `least`. */
static bool leaps_by(const double *r, int64_t i, double least)
{
    const double low = fmin(r[i], r[i - 1]), high = fmax(r[i], r[i - 1]);
    return fmin(r[i + 1], r[i + 2]) - high > least || low - fmax(r[i + 1], r[i + 2]) > least;
}

static bool strays_by(const double *r, int64_t i, double least)
{
    const double low = fmin(fmin(r[i - 1], r[i + 1]), fmin(r[i - 2], r[i + 2])),
                 high = fmax(fmax(r[i - 1], r[i + 1]), fmax(r[i - 2], r[i + 2]));
    return fmax(r[i] - high, low - r[i]) > least + 2 * (high - low);
}

/* Returns the largest difference of neighbors beside [i, end), but for that of the other end of two
 * views that leap. */
static double most_beside(const double *r, const struct state *state, int64_t i, int64_t end)
{
    double most = 0;
    for (int64_t k = i - 4; k < end + 4; k++)
        if (k >= 0 && k + 1 < state->n && (k < i || k >= end) && k != i - 2 && k != i + 2)
            most = fmax(most, fabs(r[k + 1] - r[k]));
    return most;
}

/* Returns whether a view differs from what those beside it have in the mean by more than a pixel's
 * motion, in several bins. */
static bool row_strays(const struct state *state, int64_t i, double *between)
{
    const int64_t bins = state->bins;
    const double *mean = state->means + i * bins;
    double square;
    for (int64_t bin = 0; bin < bins; bin++)
        between[bin] = 0.5 * (mean[bin - bins] + mean[bin + bins]);
    return differ(state, mean, between, &square) >= LEAST_BINS && square > state->of_pixel;
}

static void note(struct view_leaps *leaps, const struct state *state, int64_t i)
{
    if (leaps->n++ == 0)
        leaps->view = state->order[i].view;
}

/* Returns what a moment has to differ by at view i, as compared with those in [i - 2, i + 2]. */
static double least_of(const struct state *state, const struct view_residuals *residuals, int k,
                       int64_t i)
{
    double low = INFINITY, high = 0;
    for (int64_t j = i - BESIDE; j <= i + BESIDE; j++) {
        const double mass = residuals->mass[state->order[j].view];
        low = fmin(low, mass);
        high = fmax(high, mass);
    }
    return state->least[k] + 2 * residuals->reach[k] * (high / low - 1);
}

static void find_residuals(struct state *state, const struct view_residuals *residuals)
{
    for (int k = 0; k < 2; k++) {
        double *r = state->residual[k];
        for (int64_t i = 0; i < state->n; i++) {
            r[i] = residuals->of[k][state->order[i].view];
            if (i > 0)
                state->scratch[i - 1] = r[i] - r[i - 1];
        }
        state->least[k] =
            fmax(residuals->bad, medians * median(state, state->scratch, state->n - 1));
    }
}

static void find_leaps(struct state *state, const struct view_residuals *residuals,
                       struct view_leaps *leaps)
{
    const double wide = gap * median(state, state->angle, state->n - 1);
    struct view_leaps strays = {.strays = true};
    if (residuals)
        find_residuals(state, residuals);
    for (int64_t i = BESIDE; i + BESIDE + 1 < state->n; i++) {
        bool leap = rows_leap(state, i), stray = false;
        for (int k = 0; residuals && k < 2; k++) {
            const double *r = state->residual[k], least = least_of(state, residuals, k, i);
            leap |= leaps_by(r, i, fmax(least, beside_most * most_beside(r, state, i, i + 1)));
            stray |=
                strays_by(r, i, fmax(least, beside_most * most_beside(r, state, i - 1, i + 1)));
        }
        if (leap && state->angle[i] <= wide)
            note(leaps, state, i + 1);
        if (stray && row_strays(state, i, state->scratch))
            note(&strays, state, i);
    }
    if (leaps->n == 0)
        *leaps = strays;
}

bool ts_view_leaps(const struct view_rows *rows, const struct view_residuals *residuals,
                   struct view_leaps *leaps)
{
    const int64_t n = rows->views->n, width = rows->end - rows->first,
                  bins = width < MOST_BINS ? width : MOST_BINS;
    *leaps = (struct view_leaps){0};
    if (n < LEAST_VIEWS || width < LEAST_DETECTORS)
        return true;
    double *room = malloc((size_t)(n * (bins + 6) + bins) * sizeof *room);
    struct state state = {.n = n,
                          .bins = bins,
                          .pixels = (double)width / (double)bins,
                          .order = malloc((size_t)n * sizeof *state.order),
                          .means = room};
    if (room && state.order) {
        state.square = state.means + n * bins;
        state.angle = state.square + n;
        state.sorted = state.angle + n;
        state.residual[0] = state.sorted + n;
        state.residual[1] = state.residual[0] + n;
        state.scratch = state.residual[1] + n;
        sort_views(&state, rows->views);
        find_means(&state, rows);
        for (int64_t i = 0; i + 1 < n; i++)
            differ(&state, state.means + i * bins, state.means + (i + 1) * bins, &state.square[i]);
        find_leaps(&state, residuals, leaps);
    }
    const bool enough = room && state.order;
    free(state.order);
    free(room);
    return enough;
}
