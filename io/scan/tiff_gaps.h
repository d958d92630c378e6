/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers that are missing among the names of TIFF files: even angles and slices would then be
 * wrong.
 */
#ifndef IO_SCAN_TIFF_GAPS_H
#define IO_SCAN_TIFF_GAPS_H

#include "io/scan/tiff_file.h"

struct tiff_gap {
    int64_t file;   /* after which a number is missing; -1: none is, or the files are not numbered
                       evenly */
    double missing; /* the number, rounded as those of the names are */
    double step;    /* from one number to the next */
};

/* Finds the first gap among the numbers of sorted files, one at least. Returns TS_RUN_FAILED if
 * memory is out. */
enum ts_status ts_tiff_find_gap(const struct tiff_pages *pages, struct tiff_gap *gap,
                                struct ts_diag *diag);
/* How the numbers in one place of the names follow each other when they are sorted, the surest
 * order last. */
enum tiff_steps {
    TIFF_STEPS_NONE, /* some are there twice, or too long */
    TIFF_STEPS_UNEVEN,
    TIFF_STEPS_GAP, /* even but for some that are missing */
    TIFF_STEPS_EVEN,
    TIFF_STEPS_ONE, /* they count */
};
/* Reads the number `c` of the names, which all have it, in the order of the files. `values` and
 * `scratch` hold one element a file. *angles: the numbers are the angles of the chain's range.
 * *unit is that of their last digit; 0: they have exponents. */
enum tiff_steps ts_tiff_read_steps(const struct tiff_pages *pages, int c, double *values,
                                   double *scratch, bool *angles, double *unit);
/* Returns the first file's number if lower numbers seem to be missing: the next number follows
 * directly, and fewer numbers are missing than there are files. Else returns 0. */
double ts_tiff_late_number(const struct tiff_pages *pages);

#endif
