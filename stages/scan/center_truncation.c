/* SPDX-License-Identifier: Apache-2.0
 *
 * An object that the detector cuts off shows at the two ends of a row. Values are averaged over blocks of a 64th of the
 * detector and a 16th of the views, so that noise plays no part and an object that is cut off in some directions alone
 * is seen. A strip of the detector counts with its largest mean, or, where the value of air is not known, with the
 * largest less the smallest.
 */
#include <math.h>

#include "stages/scan/center_search.h"

enum { VIEW_GROUPS = 16, STRIPS = 64, LEAST_STRIP = 2 };

/* An end that sees more than this share has the object going on beyond it. */
static const double cut_off = 0.1;

static double block_mean(const float *p, int64_t first_view, int64_t end_view, int64_t first, int64_t n,
                         int64_t n_detectors)
{
    double sum = 0;
    for (int64_t view = first_view; view < end_view; view++)
        for (int64_t d = first; d < first + n; d++)
            sum += (double)p[view * n_detectors + d];
    return sum / (double)((end_view - first_view) * n);
}

static double strip_of(const struct center_search *search, enum ts_quantity quantity, int64_t first, int64_t n)
{
    const int64_t n_views = search->views->n, n_detectors = search->n_detectors;
    const int64_t groups = n_views < VIEW_GROUPS ? n_views : VIEW_GROUPS;
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < groups; i++) {
        const double mean =
            block_mean(search->p, i * n_views / groups, (i + 1) * n_views / groups, first, n, n_detectors);
        least = fmin(least, mean);
        most = fmax(most, mean);
    }
    if (quantity == TS_LINE_INTEGRAL)
        return most;
    return quantity == TS_TRANSMISSION ? 1 - least : most - least;
}

struct center_truncation ts_center_truncation(const struct center_search *search, enum ts_quantity quantity)
{
    const int64_t n_detectors = search->n_detectors,
                  n = n_detectors / STRIPS > LEAST_STRIP ? n_detectors / STRIPS : LEAST_STRIP;
    double most = 0;
    for (int64_t first = 0; first + n <= n_detectors; first += n)
        most = fmax(most, strip_of(search, quantity, first, n));
    const double left = strip_of(search, quantity, 0, n), right = strip_of(search, quantity, n_detectors - n, n);
    if (!(most > 0))
        return (struct center_truncation){0, 0};
    return (struct center_truncation){fmin(1, fmax(0, left / most)), fmin(1, fmax(0, right / most))};
}

bool ts_center_is_cut_off(const struct center_truncation *truncation)
{
    return truncation->first > cut_off || truncation->last > cut_off;
}
