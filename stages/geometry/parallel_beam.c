/* SPDX-License-Identifier: Apache-2.0
 *
 * A view of a parallel beam is straight lines in index space: the line equation of the header is solved for the column
 * where rows are the major axis, else for the row. All numbers are double.
 */
#include "stages/geometry/parallel_beam.h"

#include <math.h>

void ts_angle_cos_sin(double degree, double *cosine, double *sine)
{
    const double turn = fmod(degree, 360), positive = turn < 0 ? turn + 360 : turn;
    const int quarter = (int)(positive / 90) % 4;
    const double rest = positive - 90 * floor(positive / 90), radian = M_PI / 180;
    /* Both from an angle of at most 45 degrees, so that symmetric angles get the same digits. */
    const double c = rest <= 45 ? cos(rest * radian) : sin((90 - rest) * radian);
    const double s = rest < 45 ? sin(rest * radian) : cos((90 - rest) * radian);
    const double cosines[] = {c, -s, -c, s}, sines[] = {s, c, -s, -c};
    *cosine = cosines[quarter] + 0.0; /* no -0 */
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
