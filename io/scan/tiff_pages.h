/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds and checks the pages of TIFF files, all of one size and type, without decoding a pixel.
 */
#ifndef IO_SCAN_TIFF_PAGES_H
#define IO_SCAN_TIFF_PAGES_H

#include "io/scan/tiff_rows.h"

/* Lists a file, or the .tif and .tiff files of a folder in the natural order of their names (2 before 10), and checks
 * every page of every file. Links to files are followed. `pages` is zeroed but for its arena, span, owner, skip and
 * doubles, and fd, which is -1; ts_tiff_pages_close closes it, also after a failure. TS_BAD_INPUT names the file and
 * the page. */
enum ts_status ts_tiff_pages_open(struct tiff_pages *pages, const char *path, struct ts_diag *diag);
/* Orders names with runs of digits as numbers. Returns <0, 0 or >0. */
int ts_tiff_compare_names(const char *a, const char *b);

#endif
