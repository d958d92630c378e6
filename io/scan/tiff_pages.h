/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds and checks the pages of TIFF files, all of one size and type, without decoding a
 * pixel.
 */
#ifndef IO_SCAN_TIFF_PAGES_H
#define IO_SCAN_TIFF_PAGES_H

#include "io/scan/tiff_rows.h"

/* Lists n files in their order, or the .tif and .tiff files of a folder, or those that fit a
 * pattern such as scan/proj_*.tif, in the natural order of their names (2 before 10), and checks
 * every page of every file. Links to files are followed. `pages` is zeroed but for its arena, span,
 * owner, skip, pattern, pick and doubles, and fd, which is -1; ts_tiff_pages_close closes it, also
 * after a failure. TS_BAD_INPUT names the file and the page. */
enum ts_status ts_tiff_pages_open(struct tiff_pages *pages, const char *const *paths, int64_t n,
                                  struct ts_diag *diag);

#endif
