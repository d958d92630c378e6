/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of TIFF files in which several numbers differ everywhere, such as an angle and a counter:
 * which of them gives the order.
 */
#ifndef IO_SCAN_TIFF_COUNTER_H
#define IO_SCAN_TIFF_COUNTER_H

#include "io/scan/tiff_file.h"

/* Looks at the files from `first` on, which are in the order of their numbers from left to right.
 * Where numbers that differ everywhere have other orders, the files get the order of the one that
 * counts, or that has the most even steps; where two of these disagree, or none is even, the names
 * are refused (tiff-order). Sets *counted where the order is changed. */
enum ts_status ts_tiff_sort_counted(struct tiff_pages *pages, int64_t first, const char *folder,
                                    bool *counted, struct ts_diag *diag);

#endif
