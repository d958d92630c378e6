/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds the angles of the views of TIFF pages, which are given one by one, by a file, or as a
 * range.
 */
#ifndef IO_SCAN_TIFF_ANGLES_H
#define IO_SCAN_TIFF_ANGLES_H

#include "core/image.h"
#include "core/params.h"
#include "io/scan/tiff.h"
#include "io/scan/tiff_pages.h"

/* Finds the angles of axis->n views in degrees, by a set of the kind tiff_params. A list of them
 * lives in the arena of the pages. Returns TS_BAD_CHAIN if they are not given or given wrongly,
 * TS_BAD_INPUT if the file of angles or the files are refused. */
enum ts_status ts_tiff_angles(const struct param_set *set, const struct tiff_pages *pages,
                              struct ts_axis *axis, struct ts_diag *diag);
/* Converts an angle of the chain's own range to degrees. */
double ts_tiff_degrees(const struct tiff_params *params, double angle);

#endif
