/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of the TIFF files of a folder: how the numbers in their names are read, and whether one
 * of them runs.
 */
#ifndef IO_SCAN_TIFF_ORDER_H
#define IO_SCAN_TIFF_ORDER_H

#include "io/scan/tiff_file.h"

/* Sorts the files from `first` on by the text and the numbers in their names. A point between
 * digits is one of a decimal number, or parts two counters; names that do not say which are refused
 * (tiff-order). */
enum ts_status ts_tiff_sort(struct tiff_pages *pages, int64_t first, const char *folder,
                            struct ts_diag *diag);
/* Refuses sorted files of which one number restarts when an earlier one changes, or two have the
 * same numbers (p_1 and p_0001), as those of two scans in one folder (tiff-names). Dates and times
 * of day are one number. */
enum ts_status ts_tiff_check_running(const struct tiff_pages *pages, const char *folder,
                                     struct ts_diag *diag);

#endif
