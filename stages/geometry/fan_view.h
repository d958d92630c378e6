/* SPDX-License-Identifier: Apache-2.0
 *
 * This describes filtered backprojection of a fan without rebinning: the factors of its rows before
 * the filter, the place of a pixel in a view, and the weight of the view there (A. C. Kak, M.
 * Slaney, Principles of Computerized Tomographic Imaging, 1988, sections 3.4.1 and 3.4.2). Let D =
 * source_detector, R = source_axis, d the detector spacing and gamma a ray's angle from the central
 * one. For a pixel at (x, y)
 *
 *     across = x cos(theta) + y sin(theta)    ahead = R + x sin(theta) - y cos(theta)
 *
 *                rows times      filtered at     place u of a pixel        its weight
 *     fan-flat   cos(gamma)      d R / D mm      D across / ahead          (R / ahead)^2
 *     fan-arc    R cos(gamma)    d / D radian    D atan(across / ahead)    1 / (across^2 + ahead^2)
 *
 * The ramp of an arc has n in h[n] replaced by sin(n d / D) D / d. The sum over views is an
 * integral over theta. A whole turn sees each ray twice, so that every view counts half; in a short
 * scan the weights of D. L. Parker (Med. Phys. 9, 1982) share each ray smoothly among the views
 * that see it.
 */
#ifndef STAGES_GEOMETRY_FAN_VIEW_H
#define STAGES_GEOMETRY_FAN_VIEW_H

#include <math.h>

#include "stages/geometry/beam.h"

struct fan_view {
    double cosine, sine; /* of theta */
    double scale;        /* the view's part of the integral, in radian */
};

/* The slice's grid and the beam, from which places of pixels are computed. */
struct fan_grid {
    double center_row, center_column; /* row and column of the rotation axis */
    double dy, dx;                    /* mm from row to row; mm from column to column */
    double source_axis_mm;
    double center, per_slope; /* center: index of the central ray; per_slope: detector pixels for a
                               * slope, or radian, of 1 */
    bool arc;
};

/* The detector index of a pixel's place in a view, and its weight. A CUDA device computes the same
 * numbers. */
struct fan_place {
    double at, weight;
};

/* The arc or circle that contains the views of a scan. */
struct fan_range {
    bool whole;            /* true: a whole turn */
    double first, degrees; /* else the arc's first angle and its length, in degrees */
    double needed;         /* degrees of a scan that measures every ray */
    int64_t before, after; /* the views beside the largest gap */
    double gap;            /* the largest gap in degrees */
};

/* Finds the range of the views. `sorted` is scratch for n_views numbers. */
struct fan_range ts_fan_range(const struct beam_scan *scan, double *sorted);
/* Writes the views. `sorted` is scratch for n_views numbers. */
void ts_fan_views(const struct beam_scan *scan, const struct fan_range *range,
                  struct fan_view *views, double *sorted);
/* Writes the factors of the samples of a view before the filter. detectors[d] are those of the
 * scan. */
void ts_fan_row_weights(const struct beam_scan *scan, const struct fan_range *range,
                        const struct beam_detector *detectors, int64_t view, float *weights);

static inline struct fan_grid ts_fan_grid(const struct beam_scan *scan)
{
    const struct beam_geometry *grid = &scan->grid;
    struct fan_grid fan;
    fan.center_row = 0.5 * (double)(grid->n_rows - 1);
    fan.center_column = 0.5 * (double)(grid->n_columns - 1);
    fan.dy = grid->row_spacing;
    fan.dx = grid->column_spacing;
    fan.source_axis_mm = scan->beam.source_axis_mm;
    fan.center = grid->center;
    fan.per_slope = scan->beam.source_detector_mm / grid->detector_spacing;
    fan.arc = scan->beam.kind == TS_BEAM_FAN_ARC;
    return fan;
}

BEAM_INLINE struct fan_place ts_fan_place(const struct fan_grid *grid, const struct fan_view *view,
                                          double row, double column)
{
    const double x = (column - grid->center_column) * grid->dx,
                 y = (grid->center_row - row) * grid->dy;
    const double across = x * view->cosine + y * view->sine,
                 ahead = grid->source_axis_mm + x * view->sine - y * view->cosine;
    const double inverse = 1 / ahead, slope = across * inverse,
                 near = grid->source_axis_mm * inverse;
    struct fan_place place;
    place.at = grid->center + grid->per_slope * (grid->arc ? atan(slope) : slope);
    place.weight = view->scale * (grid->arc ? 1 / (across * across + ahead * ahead) : near * near);
    return place;
}

#endif
