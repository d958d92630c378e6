/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads rows of TIFF pages: directly if they are unchanged in the file, else through a worker.
 */
#ifndef IO_SCAN_TIFF_ROWS_H
#define IO_SCAN_TIFF_ROWS_H

#include "io/scan/tiff_file.h"

/* Returns a copy through which another thread reads pages; it is closed as pages are. */
struct tiff_pages ts_tiff_pages_copy(const struct tiff_pages *pages);
void ts_tiff_pages_close(struct tiff_pages *pages); /* frees what the arena does not hold */
/* Reads rows [row, row + n) of a page to `out`, each `pitch` bytes after the one before it. A page
 * that decodes in part is an error. */
enum ts_status ts_tiff_pages_read(struct tiff_pages *pages, int64_t page, int64_t row, int64_t n,
                                  void *out, size_t pitch, struct ts_diag *diag);
/* Returns how many rows of a page one job decodes: whole strips or rows of tiles, and all of the
 * page at most. */
int64_t ts_tiff_piece_rows(const struct tiff_pages *pages, const struct tiff_page *page);
/* Returns the bytes that a thread and its worker take to read. */
size_t ts_tiff_reading_bytes(const struct tiff_pages *pages);

#endif
