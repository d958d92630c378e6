/* SPDX-License-Identifier: Apache-2.0
 *
 * The geometry of parallel-beam projection and its discretization, which a projector and its exact adjoint share.
 *
 * A ray is x cos(theta) + y sin(theta) = s, in mm, with x along rising columns, y along falling rows and the origin at
 * the rotation center, pixel ((n_rows - 1) / 2, (n_columns - 1) / 2). Detector pixel d stands at s = (d - center) *
 * spacing.
 *
 *                y  |     / ray: its points have the one s
 *                   |    /
 *                   |   /  .   theta turns from x towards y
 *                   |  / .  s
 *          ---------+-+---------> x (column)
 *                   |/
 *                   /
 *
 * Joseph's model (P. M. Joseph, 1982): the ray is sampled once in every row where |sin| * row spacing <= |cos| * column
 * spacing ("major axis: rows"), else once in every column. The sample is the linear interpolation of the two
 * neighbors along the other, minor axis; outside the image is 0. Every sample stands for the same length of the ray:
 *
 *     projection(view, d) = length(view) * sum over m of (1 - w) * pixel[m][i] + w * pixel[m][i + 1],
 *     i + w = base(view) + m * per_major(view) + d * per_detector(view),   0 <= w < 1
 *
 * with m the index along the major axis and i that along the minor. Weights depend on nothing else, so the adjoint uses
 * the same numbers with pixel and projection exchanged.
 */
#ifndef STAGES_GEOMETRY_PARALLEL_BEAM_H
#define STAGES_GEOMETRY_PARALLEL_BEAM_H

#include <stdbool.h>
#include <stdint.h>

struct beam_geometry {
    int64_t n_rows, n_columns;
    double row_spacing, column_spacing; /* mm between rows (y), between columns (x) */
    int64_t n_detectors;
    double detector_spacing, center; /* mm, index */
};

struct beam_view {
    bool along_rows; /* the major axis is rows: m is a row, i a column */
    double base, per_major, per_detector;
    double length_mm; /* of the ray between two major lines */
};

/* Computes cosine and sine of an angle in degrees. They are exact at multiples of 90, and of equal magnitude at odd
 * multiples of 45. */
void ts_angle_cos_sin(double degree, double *cosine, double *sine);
/* Returns the view at this angle. */
struct beam_view ts_beam_view(const struct beam_geometry *geometry, double degree);

#endif
