/* SPDX-License-Identifier: Apache-2.0
 *
 * This writes pictures as PNG files: gray ones for previews and reports, and those in color of the viewer.
 */
#ifndef IO_FILE_PNG_H
#define IO_FILE_PNG_H

#include "core/diag.h"

/* Writes width * height gray pixels, row by row from the top, and replaces an existing file. Returns TS_RUN_FAILED
 * where the file cannot be written; an existing one then stays as it was. */
enum ts_status ts_png_write_gray8(const char *path, int64_t width, int64_t height, const uint8_t *pixels,
                                  struct ts_diag *diag);
/* Encodes the same in memory; free() releases *bytes. Returns TS_RUN_FAILED where memory is out. */
enum ts_status ts_png_gray8(int64_t width, int64_t height, const uint8_t *pixels, void **bytes, size_t *n,
                            struct ts_diag *diag);
/* Does the same as ts_png_write_gray8 for pixels of four bytes: red, green, blue and opacity. */
enum ts_status ts_png_write_rgba8(const char *path, int64_t width, int64_t height, const uint8_t *pixels,
                                  struct ts_diag *diag);

#endif
