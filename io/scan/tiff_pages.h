/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds and checks the pages of TIFF files, all of one size and type, without decoding a pixel, and then reads
 * them by rows.
 */
#ifndef IO_SCAN_TIFF_PAGES_H
#define IO_SCAN_TIFF_PAGES_H

#include "io/scan/tiff_check.h"

/* Lists a file, or the .tif and .tiff files of a folder in the natural order of their names (2 before 10), and checks
 * every page of every file. Links to files are followed. `pages` is zeroed but for its arena, span, owner and skip.
 * TS_BAD_INPUT names the file and the page. */
enum ts_status ts_tiff_pages_open(struct tiff_pages *pages, const char *path, struct ts_diag *diag);
void ts_tiff_pages_close(struct tiff_pages *pages); /* frees what the arena does not hold */
/* Returns a copy through which another thread reads pages; it is closed as pages are. */
struct tiff_pages ts_tiff_pages_copy(const struct tiff_pages *pages);
/* Reads rows [row, row + n) of a page to `out`, each `pitch` bytes after the one before it. A page that decodes in part
 * is an error. */
enum ts_status ts_tiff_pages_read(struct tiff_pages *pages, int64_t page, int64_t row, int64_t n, void *out,
                                  size_t pitch, struct ts_diag *diag);
/* Orders names with runs of digits as numbers. Returns <0, 0 or >0. */
int ts_tiff_compare_names(const char *a, const char *b);

#endif
