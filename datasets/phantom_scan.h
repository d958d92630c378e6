/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a phantom as a scanner of parallel beams sees it: counts of photons over half a turn, with
 * darks and flats before them, as an NXtomo file. The object is a cylinder with ellipses in it,
 * whose attenuation falls from the first detector row to the last, so that attenuation and line
 * integrals are known at every point.
 *
 * attenuation(x, y, row) = 0.8 / h (HU(x, y) + 1000) / 1000 (1 - 0.3 row / n_rows) in 1/mm, where
 * HU is the value of ts_scan_phantom and h is half of the detector's width in mm: line integrals do
 * not depend on the detector's size. counts = SCAN_DARK_COUNTS + gain(detector) exp(-integral) +
 * noise, rounded, with a gain around SCAN_BEAM_COUNTS. The noise has the variance gain
 * exp(-integral) + 9: that of counted photons and of the reading. Lengths are mm from the rotation
 * axis, x cos(theta) + y sin(theta) = s as in phantom.h; the axis stands SCAN_AXIS_OFFSET detector
 * pixels right of the detector's middle.
 */
#ifndef DATASETS_PHANTOM_SCAN_H
#define DATASETS_PHANTOM_SCAN_H

#include "datasets/phantom.h"

enum {
    SCAN_DARKS = 10,
    SCAN_FLATS = 10,
    SCAN_AXIS_OFFSET = 3,
    SCAN_DARK_COUNTS = 100,
    SCAN_BEAM_COUNTS = 20000
};
#define SCAN_PIXEL_MM 0.001

struct scan_options {
    int64_t n_detectors, n_rows, n_views; /* each is from 1 to 65535 */
    double noise;                         /* multiplies the noise above; from 0 to 10 */
    uint64_t seed;
    int threads;
    bool force; /* replaces a file that is there */
};

/* It has the name `scan` and the shapes, which do not depend on z. */
extern const struct phantom ts_scan_phantom;

/* Returns the detector pixel of the rotation axis, counted from 0. */
double ts_scan_axis(const struct scan_options *options);
/* Returns the attenuation at a point of the plane of a detector row, in 1/mm. */
double ts_scan_attenuation(const struct scan_options *options, int64_t row, double x_mm,
                           double y_mm);
/* Returns the integral of the attenuation along the line at s_mm, without a unit. */
double ts_scan_integral(const struct scan_options *options, int64_t row, double theta_rad,
                        double s_mm);
/* Writes the scan to an NXtomo file, a new one unless `force` is set: SCAN_DARKS darks, SCAN_FLATS
 * flats, and views at 180 / n_views degrees each. No two frames share a chunk, which has no filter,
 * as detectors write them. Equal arguments but for the threads give equal bytes. TS_BAD_CHAIN:
 * options out of range; TS_RUN_FAILED: the file is there already or cannot be written. */
enum ts_status ts_scan_write(const struct scan_options *options, const char *path,
                             struct ts_diag *diag);

#endif
