/* SPDX-License-Identifier: Apache-2.0
 *
 * Means over blocks of a 64th of the detectors and a 16th of the views, so that noise plays no part and an object that
 * is cut off in some directions alone is seen. Of a strip of detectors it is the largest such mean; where the value of
 * air is not known, the largest less the smallest.
 */
#include "stages/scan/center_truncation.h"

#include <math.h>

enum { VIEW_GROUPS = 16, STRIPS = 64, LEAST_STRIP = 2 };

const double ts_center_cut_off = 0.1;

static double block_mean(const float *p, int64_t first_view, int64_t end_view, int64_t first, int64_t n,
                         int64_t n_detectors)
{
    double sum = 0;
    for (int64_t view = first_view; view < end_view; view++)
        for (int64_t d = first; d < first + n; d++)
            sum += (double)p[view * n_detectors + d];
    return sum / (double)((end_view - first_view) * n);
}

static double strip_of(const float *p, int64_t n_views, int64_t n_detectors, enum ts_quantity quantity, int64_t first,
                       int64_t n)
{
    const int64_t groups = n_views < VIEW_GROUPS ? n_views : VIEW_GROUPS;
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < groups; i++) {
        const double mean = block_mean(p, i * n_views / groups, (i + 1) * n_views / groups, first, n, n_detectors);
        least = fmin(least, mean);
        most = fmax(most, mean);
    }
    if (quantity == TS_LINE_INTEGRAL)
        return most;
    return quantity == TS_TRANSMISSION ? 1 - least : most - least;
}

struct center_truncation ts_center_truncation(const float *p, int64_t n_views, int64_t n_detectors,
                                              enum ts_quantity quantity)
{
    const int64_t n = n_detectors / STRIPS > LEAST_STRIP ? n_detectors / STRIPS : LEAST_STRIP;
    double most = 0;
    for (int64_t first = 0; first + n <= n_detectors; first += n)
        most = fmax(most, strip_of(p, n_views, n_detectors, quantity, first, n));
    const double left = strip_of(p, n_views, n_detectors, quantity, 0, n),
                 right = strip_of(p, n_views, n_detectors, quantity, n_detectors - n, n);
    if (!(most > 0))
        return (struct center_truncation){0, 0};
    return (struct center_truncation){fmin(1, fmax(0, left / most)), fmin(1, fmax(0, right / most))};
}

bool ts_center_is_cut_off(const struct center_truncation *truncation)
{
    return truncation->first > ts_center_cut_off || truncation->last > ts_center_cut_off;
}
