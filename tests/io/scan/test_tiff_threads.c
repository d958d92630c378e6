/* SPDX-License-Identifier: Apache-2.0
 *
 * TIFF pages by several threads: the same values for every number of threads, slab and memory,
 * strips decoded once, and the first failure whichever thread was faster.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

#include "tests/files/dicom_open.h"
#include "tests/files/tiff_fixture.h"
#include "tests/support/folders.h"
#include "tests/support/support.h"

enum { PAGES = 9 };

#define SLICES "pages: slices, pixel_size: 0.5, spacing_z: 2"
#define VIEWS "pages: views, pixel_size: 0.5, angle_start: 0, angle_stop: 180"

/* Makes one file of all pages, or a folder of files of one page. Returns what the chain names. */
static const char *write_pages(const char *folder, bool files, bool one_strip, char path[300])
{
    struct tiff_writing w = ts_tiff_plain;
    w.one_strip = one_strip;
    w.compression = one_strip ? COMPRESSION_ADOBE_DEFLATE : COMPRESSION_NONE;
    w.n_pages = files ? 1 : PAGES;
    for (w.first_page = 0; w.first_page < (files ? PAGES : 1); w.first_page++) {
        snprintf(path, 300, "%s/p%d.tif", folder, w.first_page);
        ts_tiff_write(path, &w);
    }
    return files ? folder : path;
}

/* Reads all in slabs of `slab`, announcing each next one, to memory that the caller frees. */
static void *read_slabs(struct source *source, int threads, int64_t slab, struct ts_diag *diag)
{
    const size_t bytes = ts_slice_bytes(&source->image);
    unsigned char *data = malloc(ts_image_bytes(&source->image));
    cr_assert_eq(source->ops->start(source, threads, slab, diag), TS_OK);
    for (int64_t z = 0; z < source->n_slices; z += slab) {
        const int64_t left = source->n_slices - z, n = left < slab ? left : slab;
        cr_assert_eq(source->ops->read(source, z, n, data + (size_t)z * bytes, diag), TS_OK);
        if (left > n)
            source->ops->prefetch(source, z + n, left - n < slab ? left - n : slab);
    }
    return data;
}

Test(tiff_threads, same_values_for_every_number_and_slab)
{
    struct ts_diag *diag = ts_diag_create();
    for (int kind = 0; kind < 8; kind++) {
        const bool views = kind & 1;
        char folder[256], path[300];
        ts_test_folder_in_memory(folder, sizeof folder);
        const char *input = write_pages(folder, kind & 2, kind & 4, path);
        struct source *source = ts_tiff_opened(views ? VIEWS : SLICES, input);
        const size_t bytes = ts_image_bytes(&source->image);
        void *whole = ts_test_read_all(source, diag);
        const uint16_t *values = whole;
        cr_assert_eq(values[5], (uint16_t)ts_tiff_value(TS_U16, 0, 0, 5));
        source->ops->close(source);
        for (int threads = 1; threads <= 4; threads++)
            for (int64_t slab = 1; slab < 12; slab += 3) {
                source = ts_tiff_opened(views ? VIEWS : SLICES, input);
                source->ops->may_hold(source, slab == 4 ? 3 * ts_slice_bytes(&source->image)
                                                        : (size_t)1 << 20);
                void *data = read_slabs(source, threads, slab, diag);
                cr_assert_arr_eq(data, whole, bytes);
                free(data);
                source->ops->close(source);
            }
        free(whole);
        ts_test_remove_folder(folder);
    }
    cr_assert_eq(ts_diag_count(diag), 0);
    ts_diag_destroy(diag);
}

/* Pages of one strip: the files are gone after the first row was read, and every other row comes
 * all the same. */
Test(tiff_threads, a_strip_is_decoded_once)
{
    struct ts_diag *diag = ts_diag_create();
    char folder[256], path[300], row[PAGES * TIFF_COLUMNS * 2];
    ts_test_folder_in_memory(folder, sizeof folder);
    struct source *source = ts_tiff_opened(VIEWS, write_pages(folder, true, true, path));
    cr_assert_eq(source->ops->start(source, 2, 1, diag), TS_OK);
    cr_assert_eq(source->ops->read(source, 0, 1, row, diag), TS_OK);
    ts_test_remove_folder(folder);
    for (int64_t z = 1; z < TIFF_ROWS; z++) {
        cr_assert_eq(source->ops->read(source, z, 1, row, diag), TS_OK);
        for (int page = 0; page < PAGES; page++) {
            uint16_t value;
            memcpy(&value, row + (size_t)page * TIFF_COLUMNS * 2 + 6, sizeof value);
            cr_assert_eq(value, (uint16_t)ts_tiff_value(TS_U16, page, z, 3));
        }
    }
    source->ops->close(source);
    ts_diag_destroy(diag);
}

/* Strips without a codec are not held: rows are read by themselves, whatever the strip. */
Test(tiff_threads, plain_rows_are_not_held)
{
    char folder[256], path[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    struct tiff_writing w = ts_tiff_plain;
    w.one_strip = true;
    snprintf(path, sizeof path, "%s/plain.tif", folder);
    ts_tiff_write(path, &w);
    struct source *source =
        ts_tiff_opened("pages: views, pixel_size: 0.5, angles: [0, 1, 2]", path);
    const size_t slice = ts_slice_bytes(&source->image);
    cr_assert_lt(source->ops->memory_bytes(source, 1, 1), 8 * slice + 4096);
    source->ops->close(source);
    w.compression = COMPRESSION_LZW;
    ts_tiff_write(path, &w);
    source = ts_tiff_opened("pages: views, pixel_size: 0.5, angles: [0, 1, 2]", path);
    cr_assert_gt(source->ops->memory_bytes(source, 1, 1), TIFF_ROWS * slice);
    source->ops->close(source);
    ts_test_remove_folder(folder);
}

Test(tiff_threads, the_first_failure_is_reported)
{
    for (int threads = 1; threads <= 4; threads++) {
        struct ts_diag *diag = ts_diag_create();
        char folder[256], path[300], row[PAGES * TIFF_COLUMNS * 2];
        ts_test_folder_in_memory(folder, sizeof folder);
        struct source *source = ts_tiff_opened(VIEWS, write_pages(folder, true, false, path));
        for (int page = 3; page < PAGES; page++) {
            snprintf(path, sizeof path, "%s/p%d.tif", folder, page);
            cr_assert_eq(unlink(path), 0);
        }
        cr_assert_eq(source->ops->start(source, threads, 2, diag), TS_OK);
        source->ops->prefetch(source, 0, 2);
        cr_assert_eq(source->ops->read(source, 0, 1, row, diag), TS_BAD_INPUT);
        ts_test_expect(diag, "input-unreadable", "p3.tif: No such file");
        cr_assert_eq(ts_diag_error_count(diag), 1);
        source->ops->close(source);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}
