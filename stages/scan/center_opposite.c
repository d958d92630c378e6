/* SPDX-License-Identifier: Apache-2.0
 *
 * Views half a turn apart mirror each other about the center. For each trial center, in half
 * pixels, one view of each pair is mirrored and compared with the other one if both see
 * something; the best trial is refined by a parabola.
 *
 * Method opposite uses the mean correlation of up to 16 pairs, as most packages do. Method overlap
 * is for half acquisition: it compares overlaps of views 180 degrees apart on both sides of the
 * detector, as N. T. Vo, R. C. Atwood, M. Drakopoulos, T. Connolley, Optics Express 29, 2021, do.
 * All samples of a trial count together, because changes from view to view distinguish narrow
 * overlaps: a single row of a narrow overlap looks like a line, and lines always correlate.
 */
#include <math.h>
#include <stdlib.h>

#include "stages/geometry/view_angles.h"
#include "stages/scan/center_search.h"

enum { MOST_DEGREES = 10 };    /* most degrees between views whose movement is compared */
enum { MOST_CORRELATED = 16 }; /* most pairs that are correlated */

/* A view is the opposite of another if it is at most this fraction of a step away from the exact
 * place. */
static const double same_angle = 0.01;
/* An opposite is interpolated between two views that are at most this many steps apart. */
static const double widest_steps = 2.5;

/* The measure that the best trial center reaches in white noise, times the root of the number of
 * values. For overlap it is the highest of thousands of trials, in standard deviations of noise's
 * concordance. */
static const double noise_correlation = 4.5, noise_spreads = 5;

/* Finds the best of the trials, which are half a pixel apart, and refines it. `noise` is the noise
 * of one value. */
static struct center_found best_of(const struct center_search *search, const double *measure,
                                   double moved, double noise, int n_pairs)
{
    const int64_t n = search->n_detectors, n_trials = ts_center_trials(search->search, 0.5),
                  half = n_trials / 2;
    int64_t best = 0;
    for (int64_t i = 1; i < n_trials; i++)
        best = measure[i] > measure[best] ? i : best;
    const bool inside = best > 0 && best < n_trials - 1;
    const double more =
        inside ? ts_center_turning_point(measure[best - 1], measure[best], measure[best + 1]) : 0;
    const double overlap = (double)(n - llabs(best - half));
    return (struct center_found){.center = 0.5 * ((double)(n - 1 + best - half) + more + moved),
                                 .noise = noise / sqrt((double)n_pairs * overlap),
                                 .moved = 0.5 * moved,
                                 .best = best};
}

static double degree(const struct center_search *search, int64_t view)
{
    return ts_view_degree(search->views, view);
}

/* ---- opposite -------------------------------------------------------------------------------- */

/* The three kinds of pairs, the best first: the opposite is a view; it is between two views; it is
 * beyond the last view. */
enum kind { PAIR_EXACT, PAIR_BETWEEN, PAIR_BEYOND, KINDS };

/* Returns the mean angle between neighboring views on the circle. */
static double mean_step(const struct ts_axis *views)
{
    return fmin(ts_view_arc(views).length, 360) / (double)(views->n - 1);
}

/* Finds the opposite of a view, modulo 360 degrees. Returns KINDS if there is none. */
static enum kind find_opposite(const struct ts_axis *views, int64_t view, double step,
                               struct center_pair *pair)
{
    const double from = ts_view_degree(views, view) + 180;
    double before = -INFINITY, after = INFINITY;
    int64_t first = view, second = view;
    for (int64_t other = 0; other < views->n; other++) {
        const double apart = ts_view_degree(views, other) - from,
                     off = apart - 360 * rint(apart / 360);
        if (off <= 0 && off > before) {
            before = off;
            first = other;
        }
        if (off >= 0 && off < after) {
            after = off;
            second = other;
        }
    }
    const bool earlier = -before < after;
    const double off = earlier ? before : after;
    *pair = (struct center_pair){.view = view,
                                 .opposite = {earlier ? first : second, earlier ? first : second}};
    if (fabs(off) <= same_angle * step)
        return PAIR_EXACT;
    if (after - before <= widest_steps * step) {
        *pair = (struct center_pair){view, {first, second}, -before / (after - before), 0};
        return PAIR_BETWEEN;
    }
    pair->missing = -off;
    return fabs(off) <= 1.001 * step ? PAIR_BEYOND : KINDS;
}

/* Returns true if a pair of this kind is wanted, given how many of each kind there are. An exact
 * pair counts once. */
static bool is_wanted(const struct center_pair *pair, enum kind kind, const int64_t count[KINDS],
                      double nearest)
{
    if (kind == PAIR_EXACT)
        return pair->view < pair->opposite[0];
    if (kind == PAIR_BETWEEN)
        return count[PAIR_BETWEEN] > count[PAIR_EXACT];
    return kind == PAIR_BEYOND && count[PAIR_EXACT] + count[PAIR_BETWEEN] == 0 &&
           pair->view < pair->opposite[0] && fabs(pair->missing) <= nearest;
}

int ts_center_pairs(const struct ts_axis *views, struct center_pairs *pairs)
{
    const double step = mean_step(views);
    int64_t count[KINDS + 1] = {0}, all = 0, n = 0;
    double nearest = INFINITY;
    struct center_pair pair;
    for (int64_t v = 0; v < views->n; v++) {
        const enum kind kind = find_opposite(views, v, step, &pair);
        count[kind]++;
        nearest = kind == PAIR_BEYOND ? fmin(nearest, fabs(pair.missing)) : nearest;
    }
    nearest += 0.1 * step;
    pairs->n = 0;
    for (int64_t v = 0; v < views->n; v++) {
        const enum kind kind = find_opposite(views, v, step, &pair);
        all += is_wanted(&pair, kind, count, nearest);
    }
    const int64_t wanted = all < CENTER_PAIRS ? all : CENTER_PAIRS;
    for (int64_t v = 0; v < views->n && pairs->n < wanted; v++) {
        const enum kind kind = find_opposite(views, v, step, &pair);
        if (is_wanted(&pair, kind, count, nearest) && n++ == pairs->n * all / wanted)
            pairs->at[pairs->n++] = pair;
    }
    return pairs->n;
}

void ts_center_mirror(const struct center_search *search, struct center_pairs *pairs, float *rows)
{
    const int64_t n = search->n_detectors;
    for (int i = 0; i < pairs->n; i++) {
        const struct center_pair *pair = &pairs->at[i];
        const float *p = search->p + pair->opposite[0] * n, *q = search->p + pair->opposite[1] * n;
        for (int64_t d = 0; d < n; d++)
            rows[i * n + d] = (float)((1 - pair->past) * (double)p[d] + pair->past * (double)q[d]);
    }
    pairs->rows = rows;
}

/* Returns the correlation of p[first .. end) with q[at], q[at + step], ... */
static double correlation(const float *p, const float *q, int64_t first, int64_t end, int64_t at,
                          int step)
{
    double sum_p = 0, sum_q = 0, pp = 0, qq = 0, pq = 0;
    for (int64_t d = first; d < end; d++) {
        sum_p += (double)p[d];
        sum_q += (double)q[at + step * (d - first)];
    }
    const double mean_p = sum_p / (double)(end - first), mean_q = sum_q / (double)(end - first);
    for (int64_t d = first; d < end; d++) {
        const double x = (double)p[d] - mean_p, y = (double)q[at + step * (d - first)] - mean_q;
        pp += x * x;
        qq += y * y;
        pq += x * y;
    }
    return pp > 0 && qq > 0 ? pq / sqrt(pp * qq) : 0;
}

/* Returns the correlation of p[d] with q[s - d], over all d for which both exist. */
static double mirrored_correlation(const float *p, const float *q, int64_t n, int64_t s)
{
    const int64_t first = s - n + 1 > 0 ? s - n + 1 : 0, end = (s < n - 1 ? s : n - 1) + 1;
    return correlation(p, q, first, end, s - first, -1);
}

/* Returns the correlation of p[d] with q[d + s], over all d for which both exist. */
static double shifted_correlation(const float *p, const float *q, int64_t n, int64_t s)
{
    const int64_t first = s < 0 ? -s : 0, end = s < 0 ? n : n - s;
    return correlation(p, q, first, end, first + s, 1);
}

/* Returns how far the features of view a have moved in view b, in detector pixels: the peak of
 * their correlation that is nearest to 0. */
static double movement(const struct center_search *search, int64_t a, int64_t b)
{
    const int64_t n = search->n_detectors;
    const float *p = search->p + a * n, *q = search->p + b * n;
    int64_t s = 0;
    double before = shifted_correlation(p, q, n, -1), at = shifted_correlation(p, q, n, 0),
           after = shifted_correlation(p, q, n, 1);
    const int64_t way = after > before ? 1 : -1;
    while ((way > 0 ? after : before) > at && llabs(s) < n / 4) {
        s += way;
        before = way > 0 ? at : shifted_correlation(p, q, n, s - 1);
        after = way > 0 ? shifted_correlation(p, q, n, s + 1) : at;
        at = shifted_correlation(p, q, n, s);
    }
    return (double)s + ts_center_turning_point(before, at, after);
}

/* Finds the movement in detector pixels per degree between views a and b. Returns false if one of
 * them does not exist, or if they have too little in common. */
static bool movement_rate(const struct center_search *search, int64_t a, int64_t b, double *rate)
{
    if (a < 0 || b < 0 || a >= search->views->n || b >= search->views->n ||
        degree(search, a) == degree(search, b) ||
        fabs(degree(search, a) - degree(search, b)) > MOST_DEGREES)
        return false;
    *rate = movement(search, a, b) / (degree(search, b) - degree(search, a));
    return true;
}

/* The opposite of a pair is near the angle that is exactly half a turn from its view. Returns how
 * far the image of the object moves on the detector from that opposite to that angle. It is the
 * difference of the angles times the movement per degree, which is the mean of two rates: from each
 * view of the pair to its neighbor on the side of the missing angle. If there is no such neighbor,
 * as in half a turn without its end point, the neighbors on the other sides are used. The first
 * view shows the object mirrored, so its rate has the opposite sign. */
static double missing_movement(const struct center_search *search, const struct center_pair *pair)
{
    const int64_t i = pair->view, j = pair->opposite[0];
    const double missing = pair->missing;
    if (missing == 0)
        return 0;
    /* j + way is the neighbor of j towards the missing angle; for i it is i - way, because its view
     * is mirrored. */
    const int way = (missing > 0) == (degree(search, j) > degree(search, i)) ? 1 : -1;
    double rates[2], sum = 0;
    int n = 0;
    for (int side = 0; side < 2 && n == 0; side++) {
        const int step = side == 0 ? way : -way;
        if (movement_rate(search, j, j + step, &rates[0]))
            sum += rates[0], n++;
        if (movement_rate(search, i, i - step, &rates[1]))
            sum -= rates[1], n++;
    }
    return n > 0 ? missing * sum / n : 0;
}

struct center_found ts_center_by_opposite(const struct center_search *search,
                                          const struct center_pairs *pairs, double *measure)
{
    const int64_t n = search->n_detectors, n_trials = ts_center_trials(search->search, 0.5),
                  half = n_trials / 2;
    const int used = pairs->n < MOST_CORRELATED ? pairs->n : MOST_CORRELATED;
    double moved = 0;
#pragma omp parallel for schedule(static) num_threads(search->threads)
    for (int64_t i = 0; i < n_trials; i++) {
        double sum = 0;
        for (int k = 0; k < used; k++) {
            const int pair = k * pairs->n / used;
            sum += mirrored_correlation(search->p + pairs->at[pair].view * n,
                                        pairs->rows + pair * n, n, n - 1 + i - half);
        }
        measure[i] = sum / used;
    }
    for (int pair = 0; pair < pairs->n; pair++)
        moved += missing_movement(search, &pairs->at[pair]) / pairs->n;
    return best_of(search, measure, moved, noise_correlation, used);
}

/* ---- overlap --------------------------------------------------------------------------------- */

double ts_center_overlap_search(int64_t n_detectors)
{
    const double least = fmax(8, 0.02 * (double)n_detectors);
    return fmax(1, floor(0.5 * ((double)n_detectors - least)));
}

int64_t ts_center_overlap_lacks(const struct ts_axis *views)
{
    const double step = mean_step(views);
    struct center_pair pair;
    int64_t lacking = 0;
    for (int64_t view = 0; view < views->n; view++)
        lacking += find_opposite(views, view, step, &pair) > PAIR_BETWEEN;
    return lacking;
}

struct sums {
    double n, p, q, pp, qq, pq;
};

/* Adds the samples p[d] and q[s - d], for all d for which both exist. */
TS_VECTORIZED
static void add_row(struct sums *sums, const float *p, const float *q, int64_t n, int64_t s)
{
    const int64_t first = s - n + 1 > 0 ? s - n + 1 : 0, end = (s < n - 1 ? s : n - 1) + 1;
    for (int64_t d = first; d < end; d++) {
        const double x = (double)p[d], y = (double)q[s - d];
        sums->p += x;
        sums->q += y;
        sums->pp += x * x;
        sums->qq += y * y;
        sums->pq += x * y;
    }
    sums->n += (double)(end - first);
}

/* Returns 0 if all samples are the same. */
static double concordance(const struct sums *sums)
{
    const double p = sums->p / sums->n, q = sums->q / sums->n;
    const double spread =
        sums->pp / sums->n - p * p + sums->qq / sums->n - q * q + (p - q) * (p - q);
    return spread > 1e-12 * (sums->pp + sums->qq) / sums->n
               ? 2 * (sums->pq / sums->n - p * q) / spread
               : 0;
}

struct center_found ts_center_by_overlap(const struct center_search *search,
                                         const struct center_pairs *pairs, double *measure)
{
    const int64_t n = search->n_detectors, n_trials = ts_center_trials(search->search, 0.5),
                  half = n_trials / 2;
#pragma omp parallel for schedule(dynamic) num_threads(search->threads)
    for (int64_t i = 0; i < n_trials; i++) {
        struct sums sums = {0};
        for (int pair = 0; pair < pairs->n; pair++)
            add_row(&sums, search->p + pairs->at[pair].view * n, pairs->rows + pair * n, n,
                    n - 1 + i - half);
        measure[i] = concordance(&sums);
    }
    return best_of(search, measure, 0, noise_spreads, pairs->n);
}
