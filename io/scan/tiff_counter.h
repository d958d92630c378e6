/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of TIFF files in which several numbers differ everywhere, such as an angle and a counter:
 * decides which of them gives the order.
 */
#ifndef IO_SCAN_TIFF_COUNTER_H
#define IO_SCAN_TIFF_COUNTER_H

#include "io/scan/tiff_file.h"

/* Checks the files from `first` on, which are sorted by their numbers from left to right. If
   numbers that differ everywhere have different orders, sorts the files by the number that counts,
   or by the one with the most even steps. Refuses the names if two of these disagree, or none is
   even (tiff-order). Sets *counted if the order is changed. */
enum ts_status ts_tiff_sort_counted(struct tiff_pages *pages, int64_t first, const char *folder,
                                    bool *counted, struct ts_diag *diag);

#endif
