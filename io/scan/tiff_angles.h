/* SPDX-License-Identifier: Apache-2.0
 *
 * The angles of the views of TIFF pages: given one by one, by a file, or as a range; and numbers that are missing among
 * the names of the files, with which a range would be wrong.
 */
#ifndef IO_SCAN_TIFF_ANGLES_H
#define IO_SCAN_TIFF_ANGLES_H

#include "core/image.h"
#include "core/params.h"
#include "io/scan/tiff.h"
#include "io/scan/tiff_pages.h"

/* Finds the angles of axis->n views in degrees, by a set of the kind tiff_params; the arena of the pages holds a list.
 * TS_BAD_CHAIN where they are not given or given wrongly, TS_BAD_INPUT where the file of angles or the files are
 * refused. */
enum ts_status ts_tiff_angles(const struct param_set *set, const struct tiff_pages *pages, struct ts_axis *axis,
                              struct ts_diag *diag);
/* The file after which a number is missing, where the names of the files are numbered evenly, and that number; else -1.
 */
int64_t ts_tiff_find_gap(const struct tiff_pages *pages, int64_t *missing);
/* The first file's number, where another one follows it directly, but lower ones, of which there are fewer than files,
 * are not there; else 0. */
int64_t ts_tiff_late_number(const struct tiff_pages *pages);
/* An angle of the chain's own range in degrees. */
double ts_tiff_degrees(const struct tiff_params *params, double angle);

#endif
