/* SPDX-License-Identifier: Apache-2.0
 *
 * TIFF files of known values, written through libtiff, and chains that read them.
 */
#ifndef TESTS_FILES_TIFF_FIXTURE_H
#define TESTS_FILES_TIFF_FIXTURE_H

#include "io/source/source.h"

enum { TIFF_COLUMNS = 37, TIFF_ROWS = 23 };

struct tiff_writing {
    enum ts_dtype dtype;
    bool tiled, one_strip;
    int compression, n_pages, samples, photometric, orientation, bits;
    int width, first_page;
    const char *mode;
    const char *description; /* of the first page; NULL: none */
    float resolution;        /* of both axes, per unit; 0: none */
    uint16_t resolution_unit;
};

/* Three pages of u16, nothing compressed. */
extern const struct tiff_writing ts_tiff_plain;

/* Returns the value that is written at a pixel of a page. */
double ts_tiff_value(enum ts_dtype dtype, int64_t page, int64_t y, int64_t x);
void ts_tiff_write(const char *path, const struct tiff_writing *w);
/* Opens a chain's input {tiff: path, rest}; the source is NULL where that is refused, and without
 * angles. */
enum ts_status ts_tiff_chain_open(const char *rest, const char *path, struct source **source,
                                  struct ts_diag *diag);
/* Fails the test unless opening is refused with this code, these words and a place in the chain. */
void ts_tiff_refused(const char *rest, const char *path, const char *code, const char *text);
/* Fails the test where opening is refused. */
struct source *ts_tiff_opened(const char *rest, const char *path);
/* Fails the test unless it opens with this warning, which `diag` holds. */
struct source *ts_tiff_opened_warned(const char *rest, const char *path, struct ts_diag *diag,
                                     const char *code, const char *text);
/* Fails the test unless the slices are these pages of ts_tiff_write. */
void ts_tiff_expect_pages(const char *rest, const char *path, int n, const int *pages);

#endif
