/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/files/tiff_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

#include "pipeline/chain/chain.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

const struct tiff_writing ts_tiff_plain = {
    .dtype = TS_U16, .compression = COMPRESSION_NONE, .n_pages = 3, .mode = "wl"};

double ts_tiff_value(enum ts_dtype dtype, int64_t page, int64_t y, int64_t x)
{
    const double value = (double)((page * 53 + y * 7 + x * 3) % 120);
    switch (dtype) {
    case TS_U8:
        return value;
    case TS_U16:
        return value * 500;
    case TS_U32:
        return value * 3e7;
    case TS_I8:
        return value - 60;
    case TS_I16:
        return (value - 60) * 500;
    case TS_I32:
        return (value - 60) * 3e7;
    default:
        return (value - 60) * 0.25;
    }
}

static void store(enum ts_dtype dtype, unsigned char *out, double value)
{
    const uint32_t bits = (uint32_t)(int64_t)value;
    const float real = (float)value;
    memcpy(out,
           dtype == TS_F32   ? (const void *)&real
           : dtype == TS_F64 ? (const void *)&value
                             : (const void *)&bits,
           ts_dtype_bytes(dtype));
}

static void write_blocks(TIFF *tiff, const struct tiff_writing *w, int page, int width)
{
    const size_t bytes = ts_dtype_bytes(w->dtype);
    const int across = w->tiled ? 16 : width, down = w->tiled ? 16 : w->one_strip ? TIFF_ROWS : 5;
    _Alignas(8) unsigned char block[16 * 64 * 8];
    if (w->tiled) {
        TIFFSetField(tiff, TIFFTAG_TILEWIDTH, across);
        TIFFSetField(tiff, TIFFTAG_TILELENGTH, down);
    } else {
        TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, down);
    }
    uint32_t index = 0;
    for (int y = 0; y < TIFF_ROWS; y += down)
        for (int x = 0; x < width; x += across, index++) {
            const int rows = w->tiled || y + down <= TIFF_ROWS ? down : TIFF_ROWS - y;
            for (int i = 0; i < rows * across; i++)
                store(w->dtype, block + (size_t)i * bytes,
                      ts_tiff_value(w->dtype, page, y + i / across, x + i % across));
            const tmsize_t size = (tmsize_t)((size_t)(rows * across) * bytes);
            cr_assert_gt(w->tiled ? TIFFWriteEncodedTile(tiff, index, block, size)
                                  : TIFFWriteEncodedStrip(tiff, index, block, size),
                         0);
        }
}

void ts_tiff_write(const char *path, const struct tiff_writing *w)
{
    TIFFSetWarningHandler(NULL); /* it advises against one of the codecs */
    TIFF *tiff = TIFFOpen(path, w->mode);
    cr_assert_not_null(tiff);
    for (int page = 0; page < w->n_pages; page++) {
        const int width = w->width ? w->width : TIFF_COLUMNS;
        TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width);
        TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, TIFF_ROWS);
        if (w->description && page == 0)
            TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, w->description);
        if (w->resolution > 0) {
            TIFFSetField(tiff, TIFFTAG_XRESOLUTION, w->resolution);
            TIFFSetField(tiff, TIFFTAG_YRESOLUTION, w->resolution);
            TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, w->resolution_unit);
        }
        TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE,
                     w->bits ? w->bits : 8 * (int)ts_dtype_bytes(w->dtype));
        TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, w->samples ? w->samples : 1);
        TIFFSetField(tiff, TIFFTAG_PLANARCONFIG,
                     w->samples ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
        TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC,
                     w->photometric ? w->photometric - 1 : PHOTOMETRIC_MINISBLACK);
        TIFFSetField(tiff, TIFFTAG_COMPRESSION, w->compression);
        TIFFSetField(tiff, TIFFTAG_ORIENTATION,
                     w->orientation ? w->orientation : ORIENTATION_TOPLEFT);
        TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT,
                     w->dtype == TS_F32 || w->dtype == TS_F64 ? SAMPLEFORMAT_IEEEFP
                     : w->dtype == TS_I8 || w->dtype == TS_I16 || w->dtype == TS_I32
                         ? SAMPLEFORMAT_INT
                         : SAMPLEFORMAT_UINT);
        write_blocks(tiff, w, w->first_page + page, width);
        cr_assert(TIFFWriteDirectory(tiff));
    }
    TIFFClose(tiff);
}

enum ts_status ts_tiff_chain_open(const char *rest, const char *path, struct source **source,
                                  struct ts_diag *diag)
{
    char input[512], text[700];
    struct ts_chain *chain = NULL;
    snprintf(input, sizeof input, "tiff: %s, %s", path, rest);
    snprintf(text, sizeof text,
             "tomostage: 2\ninput: {%s}\nstages: [save: {name: a}]\noutput: {hdf5: r.h5}\n", input);
    *source = NULL;
    enum ts_status status = ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag);
    if (status == TS_OK)
        status = chain->sources[0].format->open(&chain->sources[0].set, source, diag);
    ts_chain_destroy(chain);
    return status;
}

void ts_tiff_refused(const char *rest, const char *path, const char *code, const char *text)
{
    struct source *source = NULL;
    struct ts_diag *diag = ts_diag_create();
    cr_assert_neq(ts_tiff_chain_open(rest, path, &source, diag), TS_OK, "%s: %s was taken", code,
                  path);
    cr_assert_null(source);
    ts_test_expect(diag, code, text);
    cr_assert_eq(ts_diag_get(diag, ts_diag_count(diag) - 1)->span.line, 2,
                 "%s: no place in the chain", code);
    ts_diag_destroy(diag);
}

struct source *ts_tiff_opened(const char *rest, const char *path)
{
    struct source *source;
    struct ts_diag *diag = ts_diag_create();
    const enum ts_status status = ts_tiff_chain_open(rest, path, &source, diag);
    cr_assert_eq(status, TS_OK, "%s: %s", path,
                 ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
    ts_diag_destroy(diag);
    return source;
}

struct source *ts_tiff_opened_warned(const char *rest, const char *path, struct ts_diag *diag,
                                     const char *code, const char *text)
{
    struct source *source;
    ts_diag_clear(diag);
    cr_assert_eq(ts_tiff_chain_open(rest, path, &source, diag), TS_OK, "%s",
                 ts_diag_first_error(diag));
    ts_test_expect_warning(diag, code, text);
    return source;
}

void ts_tiff_expect_pages(const char *rest, const char *path, int n, const int *pages)
{
    struct ts_diag *diag = ts_diag_create();
    struct source *source = ts_tiff_opened(rest, path);
    cr_assert_eq(source->n_slices, n);
    uint16_t *data = ts_test_read_all(source, diag);
    for (int k = 0; k < n; k++)
        cr_assert_eq(data[k * TIFF_ROWS * TIFF_COLUMNS + 40], ts_tiff_value(TS_U16, pages[k], 1, 3),
                     "slice %d", k);
    free(data);
    source->ops->close(source);
    ts_diag_destroy(diag);
}
