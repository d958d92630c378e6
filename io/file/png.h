/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes pictures as PNG files: slices of an output, gray pictures of previews and reports, and
 * color pictures of the viewer.
 */
#ifndef IO_FILE_PNG_H
#define IO_FILE_PNG_H

#include "core/diag.h"

enum { PNG_LONGEST_SIDE = 1 << 20, PNG_COMMENT = 128 };

/* The samples of a pixel: gray of 8 bits, gray of 16 bits with the high byte first, or red, green,
 * blue and opacity. */
enum png_kind { PNG_GRAY8, PNG_GRAY16, PNG_RGBA8 };

struct png_picture {
    int64_t width, height; /* 1 to PNG_LONGEST_SIDE */
    enum png_kind kind;
    double pixel_mm[2];  /* width and height of a pixel in mm; 0: not stated */
    const char *comment; /* shorter than PNG_COMMENT; NULL: none */
};

size_t ts_png_pixel_bytes(enum png_kind kind);
/* Encodes the pixels, row by row from the top, as a whole file in memory, which free() releases.
 * Returns 0, or ENOMEM. */
int ts_png_encode(const struct png_picture *picture, const unsigned char *pixels, void **bytes,
                  size_t *n);
/* Writes width * height gray pixels, and replaces an existing file. Returns TS_RUN_FAILED if the
   file cannot be written; an existing one is then unchanged. */
enum ts_status ts_png_write_gray8(const char *path, int64_t width, int64_t height,
                                  const uint8_t *pixels, struct ts_diag *diag);
/* Encodes the same in memory; the caller frees *bytes. Returns TS_RUN_FAILED if memory is out. */
enum ts_status ts_png_gray8(int64_t width, int64_t height, const uint8_t *pixels, void **bytes,
                            size_t *n, struct ts_diag *diag);
/* Does the same as ts_png_write_gray8 for pixels of four bytes: red, green, blue and opacity. */
enum ts_status ts_png_write_rgba8(const char *path, int64_t width, int64_t height,
                                  const uint8_t *pixels, struct ts_diag *diag);

#endif
