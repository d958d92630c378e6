/* SPDX-License-Identifier: Apache-2.0
 *
 * All samples of a trial count together, (view, detector): what changes from view to view tells narrow overlaps apart,
 * of which each row alone looks like a line, and lines always correlate. Source: N. T. Vo and others, Optics Express
 * 29, 2021, who compare overlaps of views 180 degrees apart on both sides of the detector.
 */
#include "stages/scan/center_overlap.h"

#include <math.h>
#include <stdlib.h>

#include "core/image.h"

/* Of the spread of noise's concordance: the highest of thousands of trials. */
static const double noise_spreads = 5;

double ts_center_overlap_search(int64_t n_detectors)
{
    const double least = fmax(8, 0.02 * (double)n_detectors);
    return fmax(1, floor(0.5 * ((double)n_detectors - least)));
}

/* The nearest to half a turn away among the views from `first` on; -1 where none is within half a step. */
static int64_t opposite_of(const double *angles, int64_t n_views, int64_t view, int64_t first)
{
    double best = 0.51 * fabs(angles[n_views - 1] - angles[0]) / (double)(n_views - 1);
    int64_t found = -1;
    for (int64_t other = first; other < n_views; other++) {
        const double off = fabs(fabs(remainder(angles[other] - angles[view], 360)) - 180);
        if (off < best) {
            best = off;
            found = other;
        }
    }
    return found;
}

int64_t ts_center_overlap_lacks(const double *angles, int64_t n_views)
{
    int64_t lacking = 0;
    for (int64_t view = 0; view < n_views; view++)
        lacking += opposite_of(angles, n_views, view, 0) < 0;
    return lacking;
}

int ts_center_overlap_pairs(const double *angles, int64_t n_views, int64_t pairs[OVERLAP_PAIRS][2])
{
    int64_t all = 0, n = 0;
    int taken = 0;
    for (int64_t view = 0; view < n_views; view++)
        all += opposite_of(angles, n_views, view, view + 1) >= 0;
    const int64_t wanted = all < OVERLAP_PAIRS ? all : OVERLAP_PAIRS;
    for (int64_t view = 0; view < n_views && taken < wanted; view++) {
        const int64_t other = opposite_of(angles, n_views, view, view + 1);
        if (other >= 0 && n++ == taken * all / wanted) {
            pairs[taken][0] = view;
            pairs[taken++][1] = other;
        }
    }
    return taken;
}

struct sums {
    double n, p, q, pp, qq, pq;
};

/* Of p[d] and q[s - d], where both are. */
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

/* 0 where all are the same. */
static double concordance(const struct sums *sums)
{
    const double p = sums->p / sums->n, q = sums->q / sums->n;
    const double spread = sums->pp / sums->n - p * p + sums->qq / sums->n - q * q + (p - q) * (p - q);
    return spread > 1e-12 * (sums->pp + sums->qq) / sums->n ? 2 * (sums->pq / sums->n - p * q) / spread : 0;
}

struct center_found ts_center_by_overlap(const struct center_search *search, int64_t pairs[OVERLAP_PAIRS][2],
                                         int n_pairs, double *measure)
{
    const int64_t n = search->n_detectors, n_trials = ts_center_trials(search->search, 0.5), half = n_trials / 2;
    int64_t best = 0;
#pragma omp parallel for schedule(dynamic) num_threads(search->threads)
    for (int64_t i = 0; i < n_trials; i++) {
        struct sums sums = {0};
        for (int pair = 0; pair < n_pairs; pair++)
            add_row(&sums, search->p + pairs[pair][0] * n, search->p + pairs[pair][1] * n, n, n - 1 + i - half);
        measure[i] = concordance(&sums);
    }
    for (int64_t i = 1; i < n_trials; i++)
        best = measure[i] > measure[best] ? i : best;
    const bool inside = best > 0 && best < n_trials - 1;
    const double bend = inside ? measure[best - 1] - 2 * measure[best] + measure[best + 1] : 0;
    const double more = bend < 0 ? 0.5 * (measure[best - 1] - measure[best + 1]) / bend : 0;
    const double overlap = (double)(n - llabs(best - half));
    return (struct center_found){.center = 0.5 * ((double)(n - 1 + best - half) + more),
                                 .noise = noise_spreads / sqrt((double)n_pairs * overlap),
                                 .best = best};
}
