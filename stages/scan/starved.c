/* SPDX-License-Identifier: Apache-2.0
 *
 * Bad pixels stay on the detector, or are anywhere. Those of photon starvation move with the shadow
 * of the object: the good pixels beside them are dark, or several are next to each other.
 */
#include "stages/scan/starved.h"

#include <math.h>

enum { LEAST = 16, LEAST_RUN = 4, ODDS = 4 };

/* A detector pixel that is bad in this share of the views is bad itself. Fewer starved pixels of a
 * slice than the second share do little. */
static const double all_views = 0.9, least_share = 0.0005;
/* In a shadow there is less light than this share of that beside the object, and so much more as a
 * line integral. */
static const double least_light = 0.05, most_integral = 3;

struct starved {
    const float *p;
    int64_t n_views, n;
    double lowest, limit; /* light below it, or line integrals above it, are in the shadow */
    bool integrals;
    double *bad; /* of each detector pixel: the share of the views in which it is bad */
    int64_t total, shadow, starved, others; /* pixels */
};

static bool is_bad(const struct starved *of, double value)
{
    return !isfinite(value) || value < of->lowest;
}

static bool is_dark(const struct starved *of, double value)
{
    return of->integrals ? value > of->limit : value < of->limit;
}

/* Finds bad detector pixels, and the level of the shadow by the brightest one. */
static void look_at_columns(struct starved *of, double *sums)
{
    const double n_views = (double)of->n_views;
    double best = of->integrals ? INFINITY : -INFINITY;
    for (int64_t d = 0; d < of->n; d++) {
        of->bad[d] = sums[d] = 0;
        for (int64_t v = 0; v < of->n_views; v++) {
            const double value = (double)of->p[v * of->n + d];
            const bool bad = is_bad(of, value);
            of->bad[d] += bad / n_views;
            sums[d] += bad ? 0 : value;
        }
        if (of->bad[d] > all_views)
            continue;
        const double mean = sums[d] / (n_views * (1 - of->bad[d]));
        best = of->integrals ? fmin(best, mean) : fmax(best, mean);
    }
    of->limit = of->integrals ? best + most_integral : least_light * best;
}

/* Counts the pixels of a row. Values between `before` and `behind` are bad ones, or of bad detector
 * pixels. */
static void count_run(struct starved *of, const float *row, int64_t before, int64_t behind)
{
    int64_t count = 0;
    for (int64_t d = before + 1; d < behind; d++)
        count += of->bad[d] <= all_views;
    if (before < 0 && behind == of->n) /* a frame without values */
        return;
    const bool dark = (before < 0 || is_dark(of, (double)row[before])) &&
                      (behind == of->n || is_dark(of, (double)row[behind]));
    of->total += count;
    if (dark || count >= LEAST_RUN)
        of->starved += count;
    else
        of->others += count;
}

int64_t ts_starved_pixels(const float *p, int64_t n_views, int64_t n, double lowest, bool integrals,
                          double *room)
{
    struct starved of = {
        .p = p, .n_views = n_views, .n = n, .lowest = lowest, .integrals = integrals, .bad = room};
    look_at_columns(&of, room + n);
    for (int64_t v = 0; v < n_views; v++) {
        const float *row = p + v * n;
        int64_t before = -1;
        for (int64_t d = 0; d <= n; d++) {
            if (d < n && (of.bad[d] > all_views || is_bad(&of, (double)row[d])))
                continue;
            count_run(&of, row, before, d);
            before = d;
            of.total += d < n;
            of.shadow += d < n && is_dark(&of, (double)row[d]);
        }
    }
    const double shadow = (double)(of.shadow + of.starved), rest = (double)of.total - shadow;
    return of.starved >= LEAST && (double)of.starved >= least_share * (double)of.total &&
                   (double)of.starved * rest > ODDS * (double)of.others * shadow
               ? of.starved
               : 0;
}
