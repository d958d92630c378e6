/* SPDX-License-Identifier: Apache-2.0
 *
 * Headers that libtiff would not write: one page put together by hand, little endian, its entries chosen by each case.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <tiff.h>

#include "io/tiff.h"
#include "pipeline/chain.h"
#include "tests/support/dicom_open.h"
#include "tests/support/folders.h"
#include "tests/support/support.h"

enum { ENTRIES = 9, DATA = 512, DATA_BYTES = 64 };

/* 8 x 8 bytes in one strip, where a case does not say otherwise. */
struct header {
    const char *code, *words;
    uint32_t kind, width, height, compression, strip_bytes;
};

static void put(unsigned char *at, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static void write_page(const char *path, const struct header *header)
{
    const uint32_t entries[ENTRIES][2] = {
        {TIFFTAG_SUBFILETYPE, header->kind},
        {TIFFTAG_IMAGEWIDTH, header->width ? header->width : 8},
        {TIFFTAG_IMAGELENGTH, header->height ? header->height : 8},
        {TIFFTAG_BITSPERSAMPLE, 8},
        {TIFFTAG_COMPRESSION, header->compression ? header->compression : COMPRESSION_NONE},
        {TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK},
        {TIFFTAG_STRIPOFFSETS, DATA},
        {TIFFTAG_ROWSPERSTRIP, header->height ? header->height : 8},
        {TIFFTAG_STRIPBYTECOUNTS, header->strip_bytes ? header->strip_bytes : DATA_BYTES},
    };
    unsigned char bytes[DATA + DATA_BYTES] = {'I', 'I', 42, 0, 8};
    put(bytes + 8, ENTRIES, 2);
    for (int i = 0; i < ENTRIES; i++) {
        unsigned char *entry = bytes + 10 + 12 * i;
        put(entry, entries[i][0], 2);
        put(entry + 2, TIFF_LONG, 2);
        put(entry + 4, 1, 4);
        put(entry + 8, entries[i][1], 4);
    }
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(bytes, sizeof bytes, 1, file) == 1 && fclose(file) == 0);
}

static enum ts_status open_page(const char *path, struct ts_diag *diag)
{
    char text[600];
    struct ts_chain *chain = NULL;
    struct source *source = NULL;
    snprintf(text, sizeof text,
             "tomostage: 1\ninput: {tiff: %s, pages: slices, pixel_size: 1, spacing_z: 1}\n"
             "stages: [save: {name: a}]\noutput: {hdf5: r.h5}\n",
             path);
    enum ts_status status = ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag);
    if (status == TS_OK)
        status = chain->sources[0].format->open(&chain->sources[0].set, &source, diag);
    if (source)
        source->ops->close(source);
    ts_chain_destroy(chain);
    return status;
}

Test(tiff_headers, each_has_its_own_error)
{
    static const struct header headers[] = {
        {NULL, NULL},
        {"tiff-page-kind", "a reduced copy of another page", .kind = FILETYPE_REDUCEDIMAGE},
        {"tiff-page-kind", "a mask, not an image", .kind = FILETYPE_MASK},
        {"tiff-compression", "compression 34712; none, LZW, deflate and PackBits are read", .compression = 34712},
        {"tiff-size", "70000 x 8 pixels; 1 to 65535 a side", .width = 70000},
        {"tiff-strip-size", "claims 16777216 bytes from 64", .width = 4096, .height = 4096,
         .compression = COMPRESSION_ADOBE_DEFLATE},
        {"tiff-truncated", "65 bytes at 512 of a file of 576", .strip_bytes = 65, .compression = COMPRESSION_LZW},
    };
    char folder[256], path[300];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct ts_diag *diag = ts_diag_create();
        write_page(path, &headers[i]);
        const enum ts_status status = open_page(path, diag);
        cr_assert_eq(status == TS_OK, !headers[i].code, "case %zu", i);
        if (headers[i].code)
            ts_test_expect(diag, headers[i].code, headers[i].words);
        ts_diag_destroy(diag);
    }
    ts_test_remove_folder(folder);
}
