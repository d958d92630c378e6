/* SPDX-License-Identifier: Apache-2.0
 *
 * This describes parallel-beam backprojection as sums over the detector pixels around the place where an image pixel
 * lies in a view. The ray through the center of pixel (row, column) meets the detector at index
 *
 *     t = base + row * per_row + column * per_column
 *
 * and the pixel receives from the view
 *
 *     scale * sum over d of max(0, 1 - width |d - t|) * sinogram[view][d],   outside the detector 0.
 *
 * Width 1 is linear interpolation between the two detector pixels beside t. With Joseph's model the width is the
 * distance of neighboring rays in pixels along the minor axis and the scale is a ray's length between two lines, which
 * gives the exact adjoint of the projection in stages/geometry/parallel_beam.h.
 */
#ifndef STAGES_GEOMETRY_BACK_VIEW_H
#define STAGES_GEOMETRY_BACK_VIEW_H

#include "stages/geometry/parallel_beam.h"

enum back_model { BACK_JOSEPH, BACK_LINEAR };

struct back_view {
    double base, per_row, per_column;
    double width, scale; /* scale: mm for Joseph, 1 for linear */
};

/* Returns the view at this angle, under one of the two models. */
struct back_view ts_back_view(const struct beam_geometry *geometry, double degree, enum back_model model);

#endif
