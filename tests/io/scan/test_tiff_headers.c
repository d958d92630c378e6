/* SPDX-License-Identifier: Apache-2.0
 *
 * Headers that libtiff would not write: pages put together by hand, little endian, their entries
 * chosen by each case.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <tiff.h>
#include <unistd.h>

#include "io/scan/tiff.h"
#include "io/scan/tiff_pages.h"
#include "pipeline/chain/chain.h"
#include "tests/files/dicom_open.h"
#include "tests/support/folders.h"
#include "tests/support/support.h"

enum { ENTRIES = 11, PAGE_BYTES = 2 + 12 * ENTRIES + 4, DATA = 8, DATA_BYTES = 64 };

/* 8 x 8 bytes in one strip, where a case does not say otherwise. */
struct header {
    const char *code, *words;
    uint32_t kind, width, height, compression, strip_bytes, predictor;
};

static void put(unsigned char *at, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

/* The entries of a page at `at`, and where the next one is; 0: there is none. */
static void put_page(unsigned char *at, const struct header *header, uint32_t next)
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
        {TIFFTAG_PREDICTOR, header->predictor ? header->predictor : PREDICTOR_NONE},
        {TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT},
    };
    put(at, ENTRIES, 2);
    for (int i = 0; i < ENTRIES; i++) {
        unsigned char *entry = at + 2 + 12 * i;
        put(entry, entries[i][0], 2);
        put(entry + 2, TIFF_LONG, 2);
        put(entry + 4, 1, 4);
        put(entry + 8, entries[i][1], 4);
    }
    put(at + 2 + 12 * ENTRIES, next, 4);
}

/* n pages, all of the same data. */
static void write_pages(const char *path, const struct header *header, uint32_t n)
{
    const size_t size = DATA + DATA_BYTES + (size_t)n * PAGE_BYTES;
    unsigned char *bytes = calloc(1, size);
    cr_assert_not_null(bytes);
    memcpy(bytes, "II*", 4);
    put(bytes + 4, DATA + DATA_BYTES, 4);
    for (uint32_t page = 0, at = DATA + DATA_BYTES; page < n; page++, at += PAGE_BYTES)
        put_page(bytes + at, header, page + 1 < n ? at + PAGE_BYTES : 0);
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(bytes, size, 1, file) == 1 && fclose(file) == 0);
    free(bytes);
}

static enum ts_status open_page(const char *path, struct ts_diag *diag)
{
    char text[600];
    struct ts_chain *chain = NULL;
    struct source *source = NULL;
    snprintf(text, sizeof text,
             "tomostage: 2\ninput: {tiff: %s, pages: slices, pixel_size: 1, spacing_z: 1}\n"
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
        {"tiff-compression", "compression 34712; none, LZW, deflate and PackBits are read",
         .compression = 34712},
        {"tiff-compression", "predictor 3, which is for floats", .predictor = 3,
         .compression = COMPRESSION_LZW},
        {"tiff-compression", "predictor 3, which is for floats", .predictor = 3,
         .compression = COMPRESSION_ADOBE_DEFLATE},
        {"tiff-compression", "predictor 9; 1 to 3 are known", .predictor = 9,
         .compression = COMPRESSION_LZW},
        {"tiff-size", "70000 x 8 pixels; 1 to 65535 a side", .width = 70000},
        {"tiff-strip-size", "claims 16777216 bytes from 64", .width = 4096, .height = 4096,
         .compression = COMPRESSION_ADOBE_DEFLATE},
        {"tiff-truncated", "214 bytes at 8 of a file of 210", .strip_bytes = 214,
         .compression = COMPRESSION_LZW},
    };
    char folder[256], path[300];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct ts_diag *diag = ts_diag_create();
        write_pages(path, &headers[i], 1);
        const enum ts_status status = open_page(path, diag);
        cr_assert_eq(status == TS_OK, !headers[i].code, "case %zu", i);
        if (headers[i].code)
            ts_test_expect(diag, headers[i].code, headers[i].words);
        ts_diag_destroy(diag);
    }
    ts_test_remove_folder(folder);
}

/* One file more than are read: nothing of them is looked at. */
Test(tiff_headers, too_many_files_are_refused)
{
    char folder[256], path[300];
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder_in_memory(folder, sizeof folder);
    for (int i = 0; i <= TIFF_MAX_PAGES; i++) {
        snprintf(path, sizeof path, "%s/%05d.tif", folder, i);
        const int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        cr_assert(fd >= 0 && close(fd) == 0);
    }
    cr_assert_eq(open_page(folder, diag), TS_BAD_INPUT);
    ts_test_expect(diag, "too-many-files", "more than 65535 TIFF files");
    ts_test_remove_folder(folder);
    ts_diag_destroy(diag);
}

Test(tiff_headers, too_many_pages_are_refused)
{
    char folder[256], path[300];
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    write_pages(path, &(struct header){0}, TIFF_MAX_PAGES + 1);
    cr_assert_eq(open_page(path, diag), TS_BAD_INPUT);
    ts_test_expect(diag, "too-many-pages", "a.tif: more than 65535 pages in all");
    ts_test_remove_folder(folder);
    ts_diag_destroy(diag);
}
