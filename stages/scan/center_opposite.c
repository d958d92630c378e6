/* SPDX-License-Identifier: Apache-2.0
 *
 * Views half a turn apart mirror each other about the center. For each trial center, in half pixels, one view of each
 * pair is mirrored and compared with the other one where both see something; the best trial is refined by a parabola.
 *
 * Method opposite uses the mean correlation of up to 16 pairs, as most packages do. Method overlap is for half
 * acquisition: N. T. Vo, R. C. Atwood, M. Drakopoulos, T. Connolley, Optics Express 29, 2021, compare overlaps of views
 * 180 degrees apart on both sides of the detector so. All samples of a trial count together, because what changes from
 * view to view distinguishes narrow overlaps: a row of a narrow overlap alone looks like a line, and lines always
 * correlate.
 */
#include <math.h>
#include <stdlib.h>

#include "stages/geometry/view_angles.h"
#include "stages/scan/center_search.h"

enum { MOST_DEGREES = 10 }; /* between views whose movement is compared */

/* The measure that the best trial center reaches in white noise, times the root of the number of values. For overlap it
 * is the highest of thousands of trials, in spreads of noise's concordance. */
static const double noise_correlation = 4.5, noise_spreads = 5;

/* Finds the best of the trials, which are half pixels apart, and refines it. `noise` is that of one value. */
static struct center_found best_of(const struct center_search *search, const double *measure, double moved,
                                   double noise, int n_pairs)
{
    const int64_t n = search->n_detectors, n_trials = ts_center_trials(search->search, 0.5), half = n_trials / 2;
    int64_t best = 0;
    for (int64_t i = 1; i < n_trials; i++)
        best = measure[i] > measure[best] ? i : best;
    const bool inside = best > 0 && best < n_trials - 1;
    const double more = inside ? ts_center_turning_point(measure[best - 1], measure[best], measure[best + 1]) : 0;
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

/* ---- opposite ---------------------------------------------------------------------------------- */

/* Returns how far views i and j are from half a turn apart, in degrees. */
static double off_half_turn(const struct ts_axis *views, int64_t i, int64_t j)
{
    return fabs(fabs(ts_view_degree(views, j) - ts_view_degree(views, i)) - 180);
}

int ts_center_pairs(const struct ts_axis *views, int64_t most, struct center_pairs *pairs)
{
    const int64_t n_views = views->n;
    const double arc = ts_view_degree(views, n_views - 1) - ts_view_degree(views, 0),
                 tolerance = 1.001 * fabs(arc / (double)(n_views - 1));
    double best = INFINITY;
    int64_t n = 0;
    pairs->n = 0;
    for (int64_t i = 0; i < n_views; i++)
        for (int64_t j = i + 1; j < n_views; j++)
            best = fmin(best, off_half_turn(views, i, j));
    if (!(best <= tolerance))
        return 0;
    for (int pass = 0; pass < 2; pass++) { /* counts them, then keeps every so many */
        const int64_t all = n, wanted = all < most ? all : most;
        n = 0;
        for (int64_t i = 0; i < n_views; i++)
            for (int64_t j = i + 1; j < n_views; j++) {
                if (off_half_turn(views, i, j) > best + 0.1 * tolerance)
                    continue;
                if (pass == 1 && pairs->n < wanted && n == pairs->n * all / wanted) {
                    pairs->view[pairs->n][0] = i;
                    pairs->view[pairs->n++][1] = j;
                }
                n++;
            }
    }
    return pairs->n;
}

/* Returns the correlation of p[first .. end) with q[at], q[at + step], ... */
static double correlation(const float *p, const float *q, int64_t first, int64_t end, int64_t at, int step)
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

/* Returns the correlation of p[d] with q[s - d], where both are. */
static double mirrored_correlation(const float *p, const float *q, int64_t n, int64_t s)
{
    const int64_t first = s - n + 1 > 0 ? s - n + 1 : 0, end = (s < n - 1 ? s : n - 1) + 1;
    return correlation(p, q, first, end, s - first, -1);
}

/* Returns the correlation of p[d] with q[d + s], where both are. */
static double shifted_correlation(const float *p, const float *q, int64_t n, int64_t s)
{
    const int64_t first = s < 0 ? -s : 0, end = s < 0 ? n : n - s;
    return correlation(p, q, first, end, first + s, 1);
}

/* Returns how far what view a shows has moved in view b, in detector pixels: the peak of their correlation next to 0.
 */
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

/* Finds the movement in detector pixels per degree between views a and b. Returns false where one of them is not there,
 * or they have too little in common. */
static bool movement_rate(const struct center_search *search, int64_t a, int64_t b, double *rate)
{
    if (a < 0 || b < 0 || a >= search->views->n || b >= search->views->n || degree(search, a) == degree(search, b) ||
        fabs(degree(search, a) - degree(search, b)) > MOST_DEGREES)
        return false;
    *rate = movement(search, a, b) / (degree(search, b) - degree(search, a));
    return true;
}

/* View pair[1] lies near the angle that is exactly half a turn from view pair[0]. Returns how far the image of the
 * object moves on the detector from that view to that angle. It is the difference of the angles times the movement per
 * degree, which is the mean of two rates: from each view of the pair to its neighbor on the side of the missing angle.
 * Where there is no such neighbor, as in half a turn without its end point, the neighbors on the other sides take their
 * place. View pair[0] shows the object mirrored, so its rate has the opposite sign. */
static double missing_movement(const struct center_search *search, const int64_t pair[2])
{
    const int64_t i = pair[0], j = pair[1];
    const double turn = degree(search, j) > degree(search, i) ? 180 : -180,
                 missing = degree(search, i) + turn - degree(search, j);
    if (fabs(missing) < 1e-6)
        return 0;
    /* j + way is the neighbor of j towards the missing angle, and i - way that of i, because its view is mirrored. */
    const int way = (missing > 0) == (turn > 0) ? 1 : -1;
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

struct center_found ts_center_by_opposite(const struct center_search *search, const struct center_pairs *pairs,
                                          double *measure)
{
    const int64_t n = search->n_detectors, n_trials = ts_center_trials(search->search, 0.5), half = n_trials / 2;
    double moved = 0;
#pragma omp parallel for schedule(static) num_threads(search->threads)
    for (int64_t i = 0; i < n_trials; i++) {
        double sum = 0;
        for (int pair = 0; pair < pairs->n; pair++)
            sum += mirrored_correlation(search->p + pairs->view[pair][0] * n, search->p + pairs->view[pair][1] * n, n,
                                        n - 1 + i - half);
        measure[i] = sum / pairs->n;
    }
    for (int pair = 0; pair < pairs->n; pair++)
        moved += missing_movement(search, pairs->view[pair]) / pairs->n;
    return best_of(search, measure, moved, noise_correlation, pairs->n);
}

/* ---- overlap ----------------------------------------------------------------------------------- */

double ts_center_overlap_search(int64_t n_detectors)
{
    const double least = fmax(8, 0.02 * (double)n_detectors);
    return fmax(1, floor(0.5 * ((double)n_detectors - least)));
}

/* Returns the view nearest to half a turn away among the views from `first` on; -1 where none is within half a step. */
static int64_t opposite_of(const struct ts_axis *views, int64_t view, int64_t first)
{
    const double arc = ts_view_degree(views, views->n - 1) - ts_view_degree(views, 0);
    double best = 0.51 * fabs(arc) / (double)(views->n - 1);
    int64_t found = -1;
    for (int64_t other = first; other < views->n; other++) {
        const double apart = remainder(ts_view_degree(views, other) - ts_view_degree(views, view), 360),
                     off = fabs(fabs(apart) - 180);
        if (off < best) {
            best = off;
            found = other;
        }
    }
    return found;
}

int64_t ts_center_overlap_lacks(const struct ts_axis *views)
{
    int64_t lacking = 0;
    for (int64_t view = 0; view < views->n; view++)
        lacking += opposite_of(views, view, 0) < 0;
    return lacking;
}

/* Finds pairs of opposite views, spread over all that there are. */
static void overlap_pairs(const struct ts_axis *views, struct center_pairs *pairs)
{
    int64_t all = 0, n = 0;
    for (int64_t view = 0; view < views->n; view++)
        all += opposite_of(views, view, view + 1) >= 0;
    const int64_t wanted = all < OVERLAP_PAIRS ? all : OVERLAP_PAIRS;
    pairs->n = 0;
    for (int64_t view = 0; view < views->n && pairs->n < wanted; view++) {
        const int64_t other = opposite_of(views, view, view + 1);
        if (other >= 0 && n++ == pairs->n * all / wanted) {
            pairs->view[pairs->n][0] = view;
            pairs->view[pairs->n++][1] = other;
        }
    }
}

struct sums {
    double n, p, q, pp, qq, pq;
};

/* Adds the samples p[d] and q[s - d], where both are. */
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

/* Returns 0 where all samples are the same. */
static double concordance(const struct sums *sums)
{
    const double p = sums->p / sums->n, q = sums->q / sums->n;
    const double spread = sums->pp / sums->n - p * p + sums->qq / sums->n - q * q + (p - q) * (p - q);
    return spread > 1e-12 * (sums->pp + sums->qq) / sums->n ? 2 * (sums->pq / sums->n - p * q) / spread : 0;
}

struct center_found ts_center_by_overlap(const struct center_search *search, double *measure)
{
    const int64_t n = search->n_detectors, n_trials = ts_center_trials(search->search, 0.5), half = n_trials / 2;
    struct center_pairs pairs;
    overlap_pairs(search->views, &pairs);
#pragma omp parallel for schedule(dynamic) num_threads(search->threads)
    for (int64_t i = 0; i < n_trials; i++) {
        struct sums sums = {0};
        for (int pair = 0; pair < pairs.n; pair++)
            add_row(&sums, search->p + pairs.view[pair][0] * n, search->p + pairs.view[pair][1] * n, n,
                    n - 1 + i - half);
        measure[i] = concordance(&sums);
    }
    return best_of(search, measure, 0, noise_spreads, pairs.n);
}
