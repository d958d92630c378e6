/* SPDX-License-Identifier: Apache-2.0
 *
 * The center of opposite views to a fraction of a pixel, and how far it may be off. The shift that takes one view of a
 * pair best onto the other one, mirrored, is sum(slope * difference) / sum(slope of one * slope of the other): noise of
 * two views has nothing in common, so that the divisor is that of the object.
 *
 * Each of PIECES pieces of the detector, of each pair, has a shift of its own. The deviation of their mean is that of
 * the center.
 *
 * An opposite between two views is interpolated: a point of the object is then at two places whose mean, weighted, is
 * right, at any radius. Views that are not quite opposite, at the ends of half a turn, show the object turned by the
 * angle that is missing: what is far from the axis moves by more than the mean, for which the center makes up. The way
 * at a part of the radius is uncertain, and less of many pairs.
 */
#include <math.h>

#include "stages/geometry/view_angles.h"
#include "stages/scan/center_search.h"

enum { PIECES = 8, STEPS = 4 };

static const double uncertain_radius = 0.14; /* of the detector */

/* Returns view q at position d, between detector pixels. */
static double between(const float *q, double d)
{
    const int64_t at = (int64_t)floor(d);
    const double share = d - (double)at;
    return (1 - share) * (double)q[at] + share * (double)q[at + 1];
}

struct piece {
    double slopes, product;
};

/* Compares p[d] with q mirrored, which is at `sum` - d, for d in [first, end). */
static struct piece piece_of(const float *p, const float *q, double sum, int64_t first, int64_t end)
{
    struct piece piece = {0, 0};
    for (int64_t d = first; d < end; d++) {
        const double at = sum - (double)d;
        const double slope = 0.5 * ((double)p[d + 1] - (double)p[d - 1]),
                     other = 0.5 * (between(q, at - 1) - between(q, at + 1));
        piece.slopes += slope * other;
        piece.product += 0.5 * (slope + other) * (between(q, at) - (double)p[d]);
    }
    return piece;
}

/* Returns the mean angle that is missing, in radian. */
static double lacking(const struct center_pairs *pairs)
{
    double sum = 0;
    for (int pair = 0; pair < pairs->n; pair++)
        sum += fabs(pairs->at[pair].missing);
    return sum / pairs->n * M_PI / 180;
}

/* Returns the mean shift of the center for mirrored views that are at `sum` - d, and its deviation. */
static struct center_fit shift_of(const struct center_search *search, const struct center_pairs *pairs, double sum)
{
    const int64_t n = search->n_detectors, first = (int64_t)fmax(2, ceil(sum - (double)n + 4)),
                  end = (int64_t)fmin((double)n - 2, floor(sum - 3));
    struct piece all = {0, 0};
    double squares = 0, shift = 0;
    if (end - first < PIECES)
        return (struct center_fit){.center = NAN, .deviation = NAN};
    for (int pass = 0; pass < 2; pass++) {
        for (int pair = 0; pair < pairs->n; pair++)
            for (int64_t i = 0; i < PIECES; i++) {
                const struct piece piece =
                    piece_of(search->p + pairs->at[pair].view * n, pairs->rows + pair * n, sum,
                             first + i * (end - first) / PIECES, first + (i + 1) * (end - first) / PIECES);
                const double off = piece.product - piece.slopes * shift;
                all.slopes += pass == 0 ? piece.slopes : 0;
                all.product += pass == 0 ? piece.product : 0;
                squares += pass == 1 ? off * off : 0;
            }
        if (!(all.slopes > 0))
            return (struct center_fit){.center = NAN, .deviation = NAN};
        shift = all.product / all.slopes;
    }
    const double pieces = (double)(PIECES * pairs->n);
    return (struct center_fit){0.5 * shift, 0.5 * sqrt(squares * pieces / (pieces - 1)) / all.slopes};
}

struct center_fit ts_center_refine_opposite(const struct center_search *search, const struct center_pairs *pairs,
                                            const struct center_found *found)
{
    const double off = lacking(pairs);
    struct center_fit fit = shift_of(search, pairs, 2 * (found->center - found->moved));
    const double uncertain = uncertain_radius * (double)search->n_detectors * off / sqrt((double)pairs->n);
    if (off > 0)
        return (struct center_fit){
            .center = found->center, .deviation = hypot(fit.deviation, uncertain), .spread = fit.deviation};
    double center = found->center;
    for (int i = 0; i < STEPS && !isnan(fit.center); i++) {
        fit = shift_of(search, pairs, 2 * center);
        center += fit.center;
    }
    return fabs(center - found->center) <= 1
               ? (struct center_fit){.center = center, .deviation = fit.deviation, .spread = fit.deviation}
               : (struct center_fit){.center = found->center, .deviation = NAN};
}
