/* SPDX-License-Identifier: Apache-2.0
 *
 * This describes the rays of a scan of any beam over a grid of pixels. Projectors, their exact
 * adjoints and backprojection that is driven by pixels all use it. The section of the parallel beam
 * draws the axes and states Joseph's model.
 *
 * Every ray is a line x cos(phi) + y sin(phi) = s, in mm from the rotation center. With theta the
 * angle of the view and u the detector pixel's position in mm from the central ray:
 *
 *     parallel    phi = theta            s = u
 *     fan-arc     phi = theta + gamma    s = source_axis * sin(gamma)
 *                 with gamma = u / source_detector
 *     fan-flat    phi = theta + gamma    s = source_axis * sin(gamma)
 *                 with tan(gamma) = u / source_detector
 *
 *                     source   at source_axis * (-sin(theta), cos(theta)): above the axis if theta
 *                              is 0
 *                       *
 *                      /|\
 *                     / | \  gamma, rising to the right where theta is 0
 *              ------/--+--\------> x      + the rotation axis
 *                   /   |   \
 *               ---+----+----+--->  u      the detector, source_detector from the source
 *
 * A. C. Kak, M. Slaney, Principles of Computerized Tomographic Imaging, 1988, section 3.4, where
 * beta is our theta. A fan whose source goes to infinity is the parallel beam of the same theta and
 * u.
 */
#ifndef STAGES_GEOMETRY_BEAM_H
#define STAGES_GEOMETRY_BEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/image.h"

/* ---- parallel beam -----------------------------------------------------------------------------
 *
 * The geometry of parallel-beam projection and its discretization, which a projector and its exact
 * adjoint share.
 *
 * A ray is x cos(theta) + y sin(theta) = s, in mm, with x along rising columns, y along falling
 * rows and the origin at the rotation center, pixel ((n_rows - 1) / 2, (n_columns - 1) / 2).
 * Detector pixel d stands at s = (d - center) * spacing.
 *
 *                y  |     / ray: its points have the one s
 *                   |    /
 *                   |   /  .   theta turns from x towards y
 *                   |  / .  s
 *          ---------+-+---------> x (column)
 *                   |/
 *                   /
 *
 * Joseph's model (P. M. Joseph, 1982): the ray is sampled once in every row where |sin| * row
 * spacing <= |cos| * column spacing ("major axis: rows"), else once in every column. The sample is
 * the linear interpolation of the two neighbors along the other, minor axis; outside the image is
 * 0. Every sample stands for the same length of the ray:
 *
 *     projection(view, d) = length(view) * sum over m of (1 - w) * pixel[m][i] + w * pixel[m][i +
 *         1],
 *     i + w = base(view) + m * per_major(view) + d * per_detector(view),   0 <= w < 1
 *
 * with m the index along the major axis and i that along the minor. Weights depend on nothing
 * else, so the adjoint uses the same numbers with pixel and projection exchanged. */

struct beam_geometry {
    int64_t n_rows, n_columns;
    double row_spacing, column_spacing; /* mm between rows (y); mm between columns (x) */
    int64_t n_detectors;
    double detector_spacing, center; /* spacing in mm; index of the detector pixel at the rotation
                                      * center */
};

struct beam_view {
    bool along_rows; /* true: the major axis is rows, m is a row and i a column */
    double base, per_major, per_detector;
    double length_mm; /* length of the ray between two major lines */
};

/* Computes cosine and sine of an angle in degrees. They are exact at multiples of 90, and of equal
 * magnitude at odd multiples of 45. */
void ts_angle_cos_sin(double degree, double *cosine, double *sine);
/* Returns the view at this angle. */
struct beam_view ts_beam_view(const struct beam_geometry *geometry, double degree);

/* Detector pixel d of every view: the angle gamma of its ray from the central ray, and its s. */
struct beam_detector {
    double cosine, sine; /* of gamma */
    double distance_mm;  /* s in mm */
};

struct beam_angle {
    double cosine, sine; /* of theta */
};

struct beam_scan {
    struct beam_geometry grid;
    struct ts_beam beam;
    int64_t n_views;
    const double *angles; /* angles in degrees; NULL: view v is at start + v * arc / n_views */
    double start, arc;
};

/* One ray's crossings in Joseph's model: it crosses line m of the major axis at i + w = base + m *
 * per_major. */
struct beam_ray {
    bool along_rows; /* true: the major axis is rows, m is a row and i a column */
    double base, per_major;
    double length_mm; /* length of the ray between two major lines */
};

/* Detector pixels [first, end) of a view whose rays have the same major axis; a view has at most
 * BEAM_RUNS such runs. */
struct beam_run {
    int32_t first, end;
    bool along_rows;
};
enum { BEAM_RUNS = 4 };

/* Returns the scan of this sinogram over the grid of this volume. Descriptions without data
 * suffice; they must outlive the scan. */
struct beam_scan ts_beam_scan(const struct ts_image *volume, const struct ts_image *sinogram);
/* Returns the angle of a view in degrees. */
double ts_beam_scan_angle(const struct beam_scan *scan, int64_t view);
/* Returns cosine and sine of a view's angle, exact at multiples of 90 degrees as ts_angle_cos_sin()
 * gives them. */
struct beam_angle ts_beam_angle(const struct beam_scan *scan, int64_t view);
struct beam_detector ts_beam_detector(const struct beam_scan *scan, int64_t detector);
/* Returns the distance in mm that the source must keep from the rotation axis, so that it is never
 * among the pixels. */
double ts_beam_least_source_axis(const struct beam_geometry *grid);
/* Writes the runs of one view and returns how many there are; detectors[] are those of the scan. */
int ts_beam_runs(const struct beam_scan *scan, const struct beam_detector *detectors,
                 struct beam_angle angle, struct beam_run runs[BEAM_RUNS]);
/* Returns the detector index, with its fraction, at which the ray through the point (x, y), in mm,
 * meets the detector. The point must be in front of the source. */
double ts_beam_shadow(const struct beam_scan *scan, struct beam_angle angle, double x, double y);

#ifdef __CUDACC__
#define BEAM_INLINE static inline __host__ __device__
#else
#define BEAM_INLINE static inline
#endif

/* Returns the ray of a view and a detector pixel along one major axis. A device computes the same
 * numbers. */
BEAM_INLINE struct beam_ray ts_beam_ray_along(const struct beam_geometry *grid,
                                              struct beam_angle angle,
                                              struct beam_detector detector, bool along_rows)
{
    const double dy = grid->row_spacing, dx = grid->column_spacing;
    const double row_center = 0.5 * (double)(grid->n_rows - 1),
                 column_center = 0.5 * (double)(grid->n_columns - 1);
    const double c = angle.cosine * detector.cosine - angle.sine * detector.sine;
    const double s = angle.sine * detector.cosine + angle.cosine * detector.sine;
    struct beam_ray ray;
    ray.along_rows = along_rows;
    if (along_rows) { /* x = (distance - y sin) / cos at y = -(row - row_center) dy */
        ray.per_major = s * dy / (c * dx);
        ray.base = column_center + detector.distance_mm / (c * dx) - row_center * ray.per_major;
        ray.length_mm = dy / (c < 0 ? -c : c);
    } else { /* y = (distance - x cos) / sin at x = (column - column_center) dx; rows fall with y */
        ray.per_major = c * dx / (s * dy);
        ray.base = row_center - detector.distance_mm / (s * dy) - column_center * ray.per_major;
        ray.length_mm = dx / (s < 0 ? -s : s);
    }
    return ray;
}

/* Returns the ray with that axis as major axis of which it crosses more lines. If both cross
 * equally many, rows are taken, so that rounding does not decide. */
BEAM_INLINE struct beam_ray ts_beam_ray(const struct beam_geometry *grid, struct beam_angle angle,
                                        struct beam_detector detector)
{
    const double c = angle.cosine * detector.cosine - angle.sine * detector.sine;
    const double s = angle.sine * detector.cosine + angle.cosine * detector.sine;
    const bool along_rows = (s < 0 ? -s : s) * grid->row_spacing <=
                            (c < 0 ? -c : c) * grid->column_spacing * (1 + 1e-12);
    return ts_beam_ray_along(grid, angle, detector, along_rows);
}

/* ---- back view ---------------------------------------------------------------------------------
 *
 * This describes parallel-beam backprojection as sums over the detector pixels around the place of
 * an image pixel in a view. The ray through the center of pixel (row, column) meets the detector at
 * index
 *
 *     t = base + row * per_row + column * per_column
 *
 * and the pixel receives from the view
 *
 *     scale * sum over d of max(0, 1 - width |d - t|) * sinogram[view][d],
 *     outside the detector 0.
 *
 * Width 1 is linear interpolation between the two detector pixels beside t. With Joseph's model
 * the width is the distance of neighboring rays in pixels along the minor axis and the scale is
 * a ray's length between two lines, which gives the exact adjoint of the projection above.  */

enum back_model { BACK_JOSEPH, BACK_LINEAR };

struct back_view {
    double base, per_row, per_column;
    double width, scale; /* scale: mm for Joseph, 1 for linear */
};

/* Returns the view at this angle, under one of the two models. */
struct back_view ts_back_view(const struct beam_geometry *geometry, double degree,
                              enum back_model model);

#endif
