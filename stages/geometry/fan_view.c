/* SPDX-License-Identifier: Apache-2.0
 *
 * The views of a fan are sorted on the circle. If no gap is much wider than the others they cover a
 * whole turn, and each gets half the distance between its neighbors as weight; otherwise they are a
 * short scan, whose rays are shared by Parker's weights. All numbers are double.
 */
#include "stages/geometry/fan_view.h"

#include <stdlib.h>

#include "core/search.h"
#include "stages/geometry/view_angles.h"

/* Neighboring views of a whole turn may be this many times further apart than the average. */
static const double widest_gap = 4;
/* Angles that are closer than this (degrees) count as one: angles are often written with few
 * digits. */
static const double same_angle = 1e-6;

static double on_circle(double degree)
{
    const double positive = ts_view_circular(degree);
    return positive < 360 - same_angle / 2 ? positive : 0;
}

/* Writes the angles on the circle, rising, each once, and returns how many there are. */
static int64_t sort_angles(const struct beam_scan *scan, double *sorted)
{
    int64_t n = 0;
    for (int64_t v = 0; v < scan->n_views; v++)
        sorted[v] = on_circle(ts_beam_scan_angle(scan, v));
    qsort(sorted, (size_t)scan->n_views, sizeof *sorted, ts_compare_doubles);
    for (int64_t v = 0; v < scan->n_views; v++)
        if (n == 0 || sorted[v] - sorted[n - 1] > same_angle)
            sorted[n++] = sorted[v];
    return n;
}

/* Returns the angle from the central ray to the ray that is furthest from it, in degrees. */
static double half_fan(const struct beam_scan *scan)
{
    const double pitch = scan->grid.detector_spacing, center = scan->grid.center;
    const double u = fmax(center, (double)(scan->grid.n_detectors - 1) - center) * pitch /
                     scan->beam.source_detector_mm;
    return (scan->beam.kind == TS_BEAM_FAN_ARC ? u : atan(u)) * (180 / M_PI);
}

static int64_t view_at(const struct beam_scan *scan, double degree)
{
    for (int64_t v = 0; v < scan->n_views; v++)
        if (fabs(on_circle(ts_beam_scan_angle(scan, v)) - degree) <= same_angle)
            return v;
    return 0;
}

struct fan_range ts_fan_range(const struct beam_scan *scan, double *sorted)
{
    const int64_t n = sort_angles(scan, sorted);
    int64_t after = 0; /* the gap is before this view */
    struct fan_range range = {.gap = sorted[0] + 360 - sorted[n - 1],
                              .needed = 180 + 2 * half_fan(scan)};
    for (int64_t i = 1; i < n; i++)
        if (sorted[i] - sorted[i - 1] > range.gap) {
            range.gap = sorted[i] - sorted[i - 1];
            after = i;
        }
    const double step = n > 1 ? (360 - range.gap) / (double)(n - 1) : 360;
    range.first = sorted[after];
    range.degrees = 360 - range.gap;
    range.whole = range.gap <= widest_gap * step;
    range.before = view_at(scan, sorted[(after + n - 1) % n]);
    range.after = view_at(scan, sorted[after]);
    return range;
}

/* Returns half the distance between an angle's neighbors on the circle, in degrees; a short scan
 * ends at its first and last angle. */
static double share_of(double degree, const double *sorted, int64_t n,
                       const struct fan_range *range)
{
    const double least = degree - same_angle;
    const int64_t low = (int64_t)ts_lower_bound(&least, sorted, (size_t)(n - 1), sizeof *sorted,
                                                ts_compare_doubles);
    const double before = low > 0 ? sorted[low] - sorted[low - 1] : sorted[0] + 360 - sorted[n - 1],
                 after =
                     low + 1 < n ? sorted[low + 1] - sorted[low] : sorted[0] + 360 - sorted[n - 1];
    const double widest = range->whole ? INFINITY : range->gap - same_angle;
    return 0.5 * ((before < widest ? before : 0) + (after < widest ? after : 0));
}

void ts_fan_views(const struct beam_scan *scan, const struct fan_range *range,
                  struct fan_view *views, double *sorted)
{
    const int64_t n = sort_angles(scan, sorted);
    const double radian = M_PI / 180;
    for (int64_t v = 0; v < scan->n_views; v++) {
        const struct beam_angle angle = ts_beam_angle(scan, v);
        const double degree = on_circle(ts_beam_scan_angle(scan, v));
        views[v] = (struct fan_view){.cosine = angle.cosine,
                                     .sine = angle.sine,
                                     .scale = share_of(degree, sorted, n, range) * radian *
                                              (range->whole ? 0.5 : 1)};
    }
    /* Views with the same angle divide its share. Few scans have any, so searching all views is
     * fast enough. */
    for (int64_t v = 0; n < scan->n_views && v < scan->n_views; v++) {
        const double degree = on_circle(ts_beam_scan_angle(scan, v));
        int64_t same = 0;
        for (int64_t other = 0; other < scan->n_views; other++)
            same += fabs(on_circle(ts_beam_scan_angle(scan, other)) - degree) <= same_angle;
        views[v].scale /= (double)same;
    }
}

/* Returns the weight of the ray at gamma in the view that lies beta after the first. All angles are
 * in radian; delta is half of the angle that the scan covers beyond pi. The same ray is measured
 * again, in the opposite direction, in the view beta + 2 gamma + pi. */
static double parker(double beta, double gamma, double delta)
{
    const double in = 2 * (delta - gamma), out = M_PI - 2 * gamma, end = M_PI + 2 * delta;
    if (beta < in)
        return pow(sin(0.5 * M_PI * beta / in), 2);
    if (beta > out)
        return end > out ? pow(sin(0.5 * M_PI * (end - beta) / (end - out)), 2) : 0;
    return 1;
}

void ts_fan_row_weights(const struct beam_scan *scan, const struct fan_range *range,
                        const struct beam_detector *detectors, int64_t view, float *weights)
{
    const double radian = M_PI / 180, delta = 0.5 * (range->degrees - 180) * radian;
    double beta = on_circle(ts_beam_scan_angle(scan, view)) - range->first;
    beta = (beta < -same_angle ? beta + 360 : beta) * radian;
    for (int64_t d = 0; d < scan->grid.n_detectors; d++) {
        const double length = scan->beam.kind == TS_BEAM_FAN_ARC ? scan->beam.source_axis_mm : 1;
        const double share =
            range->whole ? 1 : parker(beta, atan2(detectors[d].sine, detectors[d].cosine), delta);
        weights[d] = (float)(length * detectors[d].cosine * share);
    }
}
