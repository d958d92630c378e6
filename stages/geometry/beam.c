/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes the angles of a scan's views, the rays of its detector pixels, runs of rays with
 * the same major axis, and the place on the detector that the ray through a point meets. beam.h has
 * the formulas. All numbers are double, because positions are differences of large numbers.
 */
#include "stages/geometry/beam.h"

#include <math.h>

/* ---- parallel beam -----------------------------------------------------------------------------
 *
 * The rays of a view are straight lines in index space: the line equation of the header is solved
 * for the column if rows are the major axis, else for the row. */

void ts_angle_cos_sin(double degree, double *cosine, double *sine)
{
    const double turn = fmod(degree, 360), positive = turn < 0 ? turn + 360 : turn;
    const int quarter = (int)(positive / 90) % 4;
    const double rest = positive - 90 * floor(positive / 90), radian = M_PI / 180;
    /* Both are computed from an angle of at most 45 degrees, so that symmetric angles get the same
     * digits. */
    const double c = rest <= 45 ? cos(rest * radian) : sin((90 - rest) * radian);
    const double s = rest < 45 ? sin(rest * radian) : cos((90 - rest) * radian);
    const double cosines[] = {c, -s, -c, s}, sines[] = {s, c, -s, -c};
    *cosine = cosines[quarter] + 0.0; /* + 0.0 avoids -0 */
    *sine = sines[quarter] + 0.0;
}

struct beam_view ts_beam_view(const struct beam_geometry *geometry, double degree)
{
    const double dy = geometry->row_spacing, dx = geometry->column_spacing;
    const double row_center = 0.5 * (double)(geometry->n_rows - 1),
                 column_center = 0.5 * (double)(geometry->n_columns - 1);
    const double s_first = -geometry->center * geometry->detector_spacing;
    double c, s;
    ts_angle_cos_sin(degree, &c, &s);
    struct beam_view view = {.along_rows = fabs(s) * dy <= fabs(c) * dx};
    if (view.along_rows) { /* x = (s - y sin) / cos at y = -(row - row_center) dy */
        view.per_major = s * dy / (c * dx);
        view.per_detector = geometry->detector_spacing / (c * dx);
        view.base = column_center + s_first / (c * dx) - row_center * view.per_major;
        view.length_mm = dy / fabs(c);
    } else { /* y = (s - x cos) / sin at x = (column - column_center) dx; rows fall with y */
        view.per_major = c * dx / (s * dy);
        view.per_detector = -geometry->detector_spacing / (s * dy);
        view.base = row_center - s_first / (s * dy) - column_center * view.per_major;
        view.length_mm = dx / fabs(s);
    }
    return view;
}

struct beam_scan ts_beam_scan(const struct ts_image *volume, const struct ts_image *sinogram)
{
    const struct ts_axis *view = &sinogram->axes[1], *detector = &sinogram->axes[2];
    const double pitch = ts_axis_spacing(detector);
    return (struct beam_scan){.grid = {.n_rows = volume->axes[1].n,
                                       .n_columns = volume->axes[2].n,
                                       .row_spacing = ts_axis_spacing(&volume->axes[1]),
                                       .column_spacing = ts_axis_spacing(&volume->axes[2]),
                                       .n_detectors = detector->n,
                                       .detector_spacing = pitch,
                                       .center = -detector->first / pitch},
                              .beam = sinogram->beam,
                              .n_views = view->n,
                              .angles = view->positions,
                              .start = view->first,
                              .arc = view->spacing * (double)view->n};
}

double ts_beam_scan_angle(const struct beam_scan *scan, int64_t view)
{
    return scan->angles ? scan->angles[view]
                        : scan->start + (double)view * scan->arc / (double)scan->n_views;
}

struct beam_angle ts_beam_angle(const struct beam_scan *scan, int64_t view)
{
    struct beam_angle angle;
    ts_angle_cos_sin(ts_beam_scan_angle(scan, view), &angle.cosine, &angle.sine);
    return angle;
}

struct beam_detector ts_beam_detector(const struct beam_scan *scan, int64_t detector)
{
    const double u = ((double)detector - scan->grid.center) * scan->grid.detector_spacing;
    const double far = scan->beam.source_detector_mm;
    if (scan->beam.kind == TS_BEAM_PARALLEL)
        return (struct beam_detector){.cosine = 1, .sine = 0, .distance_mm = u};
    struct beam_detector result;
    if (scan->beam.kind == TS_BEAM_FAN_ARC) {
        result.cosine = cos(u / far);
        result.sine = sin(u / far);
    } else {
        result.cosine = far / hypot(u, far);
        result.sine = u / hypot(u, far);
    }
    result.distance_mm = scan->beam.source_axis_mm * result.sine;
    return result;
}

double ts_beam_least_source_axis(const struct beam_geometry *grid)
{
    return 0.5 * hypot((double)(grid->n_rows + 1) * grid->row_spacing,
                       (double)(grid->n_columns + 1) * grid->column_spacing);
}

int ts_beam_runs(const struct beam_scan *scan, const struct beam_detector *detectors,
                 struct beam_angle angle, struct beam_run runs[BEAM_RUNS])
{
    const int32_t n = (int32_t)scan->grid.n_detectors;
    int n_runs = 0;
    for (int32_t d = 0; d < n; d++) {
        const bool along_rows = ts_beam_ray(&scan->grid, angle, detectors[d]).along_rows;
        if (n_runs > 0 && (runs[n_runs - 1].along_rows == along_rows || n_runs == BEAM_RUNS))
            runs[n_runs - 1].end = d + 1;
        else
            runs[n_runs++] = (struct beam_run){.first = d, .end = d + 1, .along_rows = along_rows};
        if (scan->beam.kind == TS_BEAM_PARALLEL) {
            runs[0].end = n; /* all rays have the same direction */
            break;
        }
    }
    return n_runs;
}

double ts_beam_shadow(const struct beam_scan *scan, struct beam_angle angle, double x, double y)
{
    const double across = x * angle.cosine + y * angle.sine;
    double u = across;
    if (scan->beam.kind != TS_BEAM_PARALLEL) {
        const double ahead = scan->beam.source_axis_mm + x * angle.sine - y * angle.cosine;
        u = scan->beam.source_detector_mm *
            (scan->beam.kind == TS_BEAM_FAN_ARC ? atan2(across, ahead) : across / ahead);
    }
    return scan->grid.center + u / scan->grid.detector_spacing;
}

struct back_view ts_back_view(const struct beam_geometry *geometry, double degree,
                              enum back_model model)
{
    const struct beam_view ray = ts_beam_view(geometry, degree);
    const double base = -ray.base / ray.per_detector, per_major = -ray.per_major / ray.per_detector,
                 per_minor = 1 / ray.per_detector;
    return (struct back_view){.base = base,
                              .per_row = ray.along_rows ? per_major : per_minor,
                              .per_column = ray.along_rows ? per_minor : per_major,
                              .width = model == BACK_JOSEPH ? fabs(ray.per_detector) : 1,
                              .scale = model == BACK_JOSEPH ? ray.length_mm : 1};
}
