/* SPDX-License-Identifier: Apache-2.0
 *
 * This writes gray pictures as PNG files, for previews.
 */
#ifndef IO_FILE_PNG_H
#define IO_FILE_PNG_H

#include "core/diag.h"

/* Writes width * height gray pixels, row by row from the top, and replaces an existing file. Returns TS_RUN_FAILED
 * where the file cannot be written, and then leaves none. */
enum ts_status ts_png_write_gray8(const char *path, int64_t width, int64_t height, const uint8_t *pixels,
                                  struct ts_diag *diag);

#endif
