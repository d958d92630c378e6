/* SPDX-License-Identifier: Apache-2.0
 *
 * A scan and its transpose over one slice, ray by ray from the definition of Joseph's method, in
 * double.
 */
#ifndef TESTS_STAGES_PROJECTION_SCAN_ORACLE_H
#define TESTS_STAGES_PROJECTION_SCAN_ORACLE_H

#include "stages/engine/stage.h"

/* The description of a sinogram with the rotation axis at this detector index. */
struct ts_image ts_scan_centered(const struct ts_image *sinogram, double center);
/* rays[view][detector] = A pixels; volume and sinogram are descriptions. */
void ts_scan_project_oracle(const struct ts_image *volume, const struct ts_image *sinogram,
                            const double *pixels, double *rays);
/* pixels = A' rays. */
void ts_scan_backproject_oracle(const struct ts_image *volume, const struct ts_image *sinogram,
                                const double *rays, double *pixels);

#endif
