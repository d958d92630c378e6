/* SPDX-License-Identifier: Apache-2.0
 *
 * Parallel-beam backprojection as sums over detectors around the place where a pixel lies in a view. With
 *
 *     t = base + row * per_row + column * per_column
 *
 * the detector index of the ray through the center of pixel (row, column), the pixel takes from the view
 *
 *     scale * sum over d of max(0, 1 - width |d - t|) * sinogram[view][d],   outside the detectors 0.
 *
 * Width 1 is linear interpolation between the two detectors beside t. Width and scale of Joseph's rays, the distance in
 * pixels of neighboring rays along the minor axis and the ray's length between two lines, give the exact adjoint of
 * the projection in stages/geometry/parallel_beam.h.
 */
#ifndef STAGES_GEOMETRY_BACK_VIEW_H
#define STAGES_GEOMETRY_BACK_VIEW_H

#include "stages/geometry/parallel_beam.h"

enum back_model { BACK_JOSEPH, BACK_LINEAR };

struct back_view {
    double base, per_row, per_column;
    double width, scale; /* scale: mm for Joseph, 1 for linear */
};

/* The view at this angle, under one of the two models. */
struct back_view ts_back_view(const struct beam_geometry *geometry, double degree, enum back_model model);

/* The share of each view in a sum over angles, in radian: half the distance of its two neighbors on the circle modulo
 * 180 degrees; views in one direction share theirs. Sums up to pi. `order` is room for n numbers. */
void ts_view_weights(const double *degrees, int64_t n, double *weights, int64_t *order);
/* The largest distance of neighboring directions in degrees, the views on both sides of it, and how many directions
 * there are. */
struct view_gap {
    double degrees;
    int64_t before, after, directions;
};
/* `order` is room for n numbers. */
struct view_gap ts_view_gap(const double *degrees, int64_t n, int64_t *order);

#endif
