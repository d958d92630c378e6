/* SPDX-License-Identifier: Apache-2.0
 *
 * The object of the scan, its attenuation and its line integrals. Values and integrals of ellipses
 * are those of phantom.h in Hounsfield units; here they become attenuation. See phantom_scan.h.
 */
#include "datasets/phantom_scan.h"

#include <math.h>

static const struct phantom_shape shapes[] = {
    {{0, 0, 0}, {0.8, 0.8, INFINITY}, 0, 1000, {0}},
    {{0.45, 0.2, 0}, {0.12, 0.2, INFINITY}, 30, 500, {0}},
    {{-0.4, 0.3, 0}, {0.16, 0.1, INFINITY}, 110, 400, {0}},
    {{-0.35, -0.35, 0}, {0.18, 0.12, INFINITY}, 150, -400, {0}},
    {{0.2, -0.45, 0}, {0.13, 0.16, INFINITY}, 20, 600, {0}},
    {{0.05, 0.5, 0}, {0.05, 0.19, INFINITY}, 56, 250, {0}},
    {{0.1, -0.05, 0}, {0.17, 0.11, INFINITY}, 92, 350, {0}},
    {{-0.1, 0.05, 0}, {0.03, 0.1, INFINITY}, 115, -300, {0}},
    {{0.62, -0.2, 0}, {0.04, 0.04, INFINITY}, 0, 900, {0}},
    {{-0.6, -0.05, 0}, {0.02, 0.06, INFINITY}, 24, -800, {0}},
};

const struct phantom ts_scan_phantom = {
    .name = "scan",
    .summary = "a scan of ellipses as NXtomo: counts of half a turn, with darks and flats",
    .shapes = shapes,
    .n_shapes = sizeof shapes / sizeof *shapes,
};

double ts_scan_axis(const struct scan_options *options)
{
    return 0.5 * (double)(options->n_detectors - 1) + SCAN_AXIS_OFFSET;
}

static struct phantom_options field_of(const struct scan_options *options)
{
    return (struct phantom_options){.nx = options->n_detectors,
                                    .ny = options->n_detectors,
                                    .nz = 1,
                                    .spacing_x_mm = SCAN_PIXEL_MM,
                                    .spacing_y_mm = SCAN_PIXEL_MM,
                                    .spacing_z_mm = SCAN_PIXEL_MM};
}

/* Returns the attenuation in 1/mm that 1 HU more makes in this row. */
static double attenuation_of_one(const struct scan_options *options, int64_t row)
{
    const double half_width_mm = 0.5 * SCAN_PIXEL_MM * (double)options->n_detectors;
    return 0.8 / half_width_mm / 1000 * (1 - 0.3 * (double)row / (double)options->n_rows);
}

double ts_scan_attenuation(const struct scan_options *options, int64_t row, double x_mm,
                           double y_mm)
{
    const struct phantom_options field = field_of(options);
    return attenuation_of_one(options, row) *
           (ts_phantom_value(&ts_scan_phantom, &field, x_mm, y_mm, 0) - PHANTOM_AIR_HU);
}

double ts_scan_integral(const struct scan_options *options, int64_t row, double theta_rad,
                        double s_mm)
{
    const struct phantom_options field = field_of(options);
    return attenuation_of_one(options, row) *
           ts_phantom_integral(&ts_scan_phantom, &field, theta_rad, s_mm, 0);
}
