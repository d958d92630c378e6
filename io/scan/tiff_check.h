/* SPDX-License-Identifier: Apache-2.0
 *
 * One TIFF file opened through libtiff, and the strict check of a page before anything is decoded.
 */
#ifndef IO_SCAN_TIFF_CHECK_H
#define IO_SCAN_TIFF_CHECK_H

#include <tiffio.h>

#include "io/scan/tiff_pages.h"

#define TIFF_UNREADABLE_HINT "supply the file anew or remove it; `unreadable: skip` reads what is left of the folder"

/* Opens file i, which stays open until another is. Where `known`, it must be the file that was checked. */
enum ts_status ts_tiff_open(struct tiff_pages *pages, int64_t i, bool known, struct ts_diag *diag);
void ts_tiff_close_file(struct tiff_pages *pages);
/* Checks the page whose directory was read last; the first one sets size and type, the others must be like it. */
enum ts_status ts_tiff_check(struct tiff_pages *pages, const struct tiff_page *page, struct ts_diag *diag);
/* An error about a page: "FILE, page N: ..." */
enum ts_status ts_tiff_refuse(const struct tiff_pages *pages, const struct tiff_page *page, const char *code,
                              struct ts_diag *diag, const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
