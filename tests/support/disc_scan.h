/* SPDX-License-Identifier: Apache-2.0
 *
 * Parallel sinograms of three discs of which no two directions look alike, with a rotation axis
 * anywhere.
 */
#ifndef TESTS_SUPPORT_DISC_SCAN_H
#define TESTS_SUPPORT_DISC_SCAN_H

#include "include/tomostage.h"

/* n_views from angle `first` on, `step` degrees apart, of line integrals; detectors 0.7 mm apart.
 * free(image.data). */
struct ts_image ts_disc_scan(int64_t nz, int64_t n_views, int64_t n_detectors, double first,
                             double step, enum ts_dtype dtype);
/* Slice z, f32 or u16, with the rotation axis on detector `center`. */
void ts_disc_scan_draw(struct ts_image *image, int64_t z, double center);
/* The discs at (x, y) detectors from the axis, y upwards, for that many detectors. */
double ts_disc_scan_value(int64_t n_detectors, double x, double y);

#endif
