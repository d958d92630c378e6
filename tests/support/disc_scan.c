/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/disc_scan.h"

#include <math.h>

#include "core/image.h"
#include "stages/geometry/view_angles.h"
#include "tests/support/stage_check.h"

static const double pi = 3.14159265358979323846;

enum { DISCS = 3 };

/* x, y, radius in half detector rows; value. */
static const double discs[DISCS][4] = {
    {0, 0.1, 0.62, 1}, {0.3, -0.2, 0.11, 2}, {-0.25, 0.35, 0.07, -0.8}};

struct ts_image ts_disc_scan(int64_t nz, int64_t n_views, int64_t n_detectors, double first,
                             double step, enum ts_dtype dtype)
{
    struct ts_image image = ts_test_image(nz, n_views, n_detectors, dtype, VALUES_CONSTANT, 1);
    image.axes[1] = (struct ts_axis){
        .kind = TS_AXIS_VIEW, .n = n_views, .spacing = step, .first = first, .unit = "degree"};
    image.axes[2] = (struct ts_axis){.kind = TS_AXIS_DETECTOR,
                                     .n = n_detectors,
                                     .spacing = 0.7,
                                     .first = -0.35 * (double)(n_detectors - 1),
                                     .unit = "mm"};
    image.quantity = TS_LINE_INTEGRAL;
    return image;
}

void ts_disc_scan_draw(struct ts_image *image, int64_t z, double center)
{
    const double half = 0.5 * (double)image->axes[2].n;
    const int64_t n = image->axes[2].n;
    for (int64_t view = 0; view < image->axes[1].n; view++) {
        const double theta = ts_view_degree(&image->axes[1], view) * pi / 180;
        for (int64_t d = 0; d < n; d++) {
            double sum = 0;
            for (int i = 0; i < DISCS; i++) {
                const double s = ((double)d - center) / half - discs[i][0] * cos(theta) -
                                 discs[i][1] * sin(theta);
                const double chord = discs[i][2] * discs[i][2] - s * s;
                sum += chord > 0 ? discs[i][3] * sqrt(chord) : 0;
            }
            if (image->dtype == TS_U16)
                ((uint16_t *)ts_slice_data(image, z))[view * n + d] =
                    (uint16_t)(1000 + 20000 * sum);
            else
                ((float *)ts_slice_data(image, z))[view * n + d] = (float)sum;
        }
    }
}

double ts_disc_scan_value(int64_t n_detectors, double x, double y)
{
    const double half = 0.5 * (double)n_detectors;
    double sum = 0;
    for (int i = 0; i < DISCS; i++)
        sum +=
            hypot(x / half - discs[i][0], y / half - discs[i][1]) < discs[i][2] ? discs[i][3] : 0;
    return sum;
}
