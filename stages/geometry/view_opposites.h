/* SPDX-License-Identifier: Apache-2.0
 *
 * Which views of a scan are opposite, and how their rows differ once these are laid upon each other
 * about their centers of mass.
 */
#ifndef STAGES_GEOMETRY_VIEW_OPPOSITES_H
#define STAGES_GEOMETRY_VIEW_OPPOSITES_H

#include "stages/geometry/view_angles.h"

enum { VIEW_PAIRS = 16 };
struct view_pair {
    int64_t view, opposite;
};

/* Finds pairs of sorted views that are opposite within half a step or, if there are none, those
 * that lack the least, a step at most. Returns how many. */
int ts_view_pairs(const struct view_place *places, int64_t n, double step,
                  struct view_pair pairs[VIEW_PAIRS]);

/* Returns the square of the difference of two rows of n values, the second one mirrored or not. */
double ts_view_rows_apart(const double *p, const double *q, int64_t n, bool mirrored);
/* Returns what is left of that with the factor and the constant for the second row that leave the
 * least: beams that drift, and air that is not 0, make no difference. */
double ts_view_rows_unlike(const double *p, const double *q, int64_t n, bool mirrored);
/* Subtracts from a row of n the mirror image of another one about `center`, with the factor and the
 * constant that fit best. Returns the square of the row without its mean. */
double ts_view_subtract_mirrored(double *row, const double *other, int64_t n, double center);
/* Returns the square of what stripes add to a row: the mean of all views, without what neighboring
 * detector pixels see. */
double ts_view_stripes(const double *mean, int64_t n);
/* Returns whether views p (view, detector) whose angles rise or fall are far more like those after
 * the next ones than like these, as those of two scans in turn are. */
bool ts_view_alternate(const float *p, const double *degrees, int64_t n_views, int64_t n);

#endif
