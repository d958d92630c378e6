/* SPDX-License-Identifier: Apache-2.0
 *
 * Angles in the names of TIFF files, such as p_0012_045.00.tif and a_45deg.tif.
 */
#ifndef IO_SCAN_TIFF_NAMED_H
#define IO_SCAN_TIFF_NAMED_H

#include "io/scan/tiff_file.h"

struct tiff_named {
    const double *values; /* one for each file, in degrees; NULL: no number is an angle */
    double step;          /* from each to the next; 0: they are not even */
    double unit;          /* of their last digit */
};

/* Finds the number of the names that is an angle, if each file has one page: one beside a word such
 * as `angle`, or an even one that goes over half a turn or a turn and is decimal, or counts by more
 * than one beside a number that counts. The values are in the arena of the pages. */
enum ts_status ts_tiff_named_angles(const struct tiff_pages *pages, struct tiff_named *named,
                                    struct ts_diag *diag);
/* Warns (angles-named) if the angles of the views turn by other steps than those in the names.
 * *told: it does. A list of angles has no range. */
enum ts_status ts_tiff_check_named(const struct tiff_pages *pages, const struct ts_axis *views,
                                   bool list, bool *told, struct ts_diag *diag);

#endif
