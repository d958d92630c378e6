/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the views of TIFF pages look.
 */
#ifndef IO_SCAN_TIFF_ANGLES_H
#define IO_SCAN_TIFF_ANGLES_H

#include "core/image.h"
#include "core/params.h"
#include "io/scan/tiff.h"
#include "io/scan/tiff_pages.h"

/* Of a format's parameters of the kind tiff_params, the angles of axis->n views in degrees; a list is held by the arena
 * of the pages or by the chain. False where they are not said, said wrongly, or refused (reported). */
bool ts_tiff_angles(const struct param_set *set, const struct tiff_pages *pages, struct ts_axis *axis,
                    struct ts_diag *diag);
/* Where the names of the files are numbered evenly and a number is missing: the file before it, and that number; else
 * -1. */
int64_t ts_tiff_find_gap(const struct tiff_pages *pages, int64_t *missing);
/* The first file's number, where another one follows it directly, but lower ones, of which there are fewer than files,
 * are not there; else 0. */
int64_t ts_tiff_late_number(const struct tiff_pages *pages);
/* An angle of the chain's own range in degrees. */
double ts_tiff_degrees(const struct tiff_params *params, double angle);

#endif
