/* SPDX-License-Identifier: Apache-2.0
 *
 * TIFF files that are cut, changed or run in circles: errors, and never a part of an image.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

#include "io/scan/tiff.h"
#include "io/scan/tiff_pages.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/files/scan_file.h"
#include "tests/files/tiff_fixture.h"
#include "tests/support/chain_text.h"
#include "tests/support/support.h"

#define SLICES "pages: slices, pixel_size: 0.5, spacing_z: 2"
#define VIEWS "pages: views, pixel_size: 0.5, "

/* Cut at every length, and with bytes changed: never a crash, and a file that was cut is never read
 * whole. */
Test(tiff_damage, damaged_files_are_errors)
{
    static const int codecs[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE,
                                 COMPRESSION_PACKBITS};
    char folder[256], path[300];
    uint64_t random = 5;
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
        struct tiff_writing w = ts_tiff_plain;
        w.compression = codecs[c];
        w.tiled = c & 1;
        ts_tiff_write(path, &w);
        size_t length;
        unsigned char *whole = (unsigned char *)ts_test_read(path, &length),
                      data[3 * TIFF_COLUMNS * TIFF_ROWS * 4 * 4];
        for (int i = 0; i < 400; i++) {
            const bool cut = i < 200;
            const size_t kept = cut ? (size_t)i * (length - 1) / 200 : length;
            FILE *file = fopen(path, "wb");
            const size_t at = (size_t)(ts_random_next(&random) % length);
            const unsigned char before = whole[at];
            if (!cut)
                whole[at] ^= (unsigned char)(1 + ts_random_next(&random) % 255);
            cr_assert_eq(fwrite(whole, 1, kept, file), kept);
            fclose(file);
            whole[at] = before;
            struct source *source;
            struct ts_diag *diag = ts_diag_create();
            enum ts_status status = ts_tiff_chain_open(SLICES, path, &source, diag);
            if (status == TS_OK && ts_image_bytes(&source->image) <= sizeof data)
                status = source->ops->read(source, 0, source->n_slices, data, diag);
            cr_assert(!cut || status == TS_BAD_INPUT, "%zu of %zu bytes were taken", kept, length);
            if (status != TS_OK)
                cr_assert_gt(ts_diag_count(diag), 0);
            if (source)
                source->ops->close(source);
            ts_diag_destroy(diag);
        }
        free(whole);
    }
    ts_test_remove_folder(folder);
}

static uint64_t number_at(const unsigned char *bytes, size_t n, bool big_endian)
{
    uint64_t number = 0;
    for (size_t i = 0; i < n; i++)
        number = number << 8 | bytes[big_endian ? i : n - 1 - i];
    return number;
}

/* Cut within the pointer of a directory to the next one, in the middle of the file and at its end:
 * the pages before the cut are whole, and must not pass for all there are. */
Test(tiff_damage, files_cut_within_the_pointer_to_the_next_page_are_refused)
{
    static const char *const modes[] = {"wl", "wb", "w8l", "w8b"};
    char folder[256], path[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        const bool big = strchr(modes[m], '8'), swapped = strchr(modes[m], 'b');
        const size_t count = big ? 8 : 2, entry = big ? 20 : 12, pointer = big ? 8 : 4;
        struct tiff_writing w = ts_tiff_plain;
        w.n_pages = 20;
        w.one_strip = true; /* then nothing lies between a directory and the next page */
        w.mode = modes[m];
        ts_tiff_write(path, &w);
        size_t length;
        unsigned char *whole = (unsigned char *)ts_test_read(path, &length);
        uint64_t at = number_at(whole + (big ? 8 : 4), pointer, swapped);
        for (int page = 1; at; page++) {
            const size_t end = at + count + entry * number_at(whole + at, count, swapped) + pointer;
            cr_assert_leq(end, length);
            for (size_t missing = 1; missing <= pointer && (page == 10 || end == length);
                 missing++) {
                char text[64];
                FILE *file = fopen(path, "wb");
                cr_assert_eq(fwrite(whole, 1, end - missing, file), end - missing);
                fclose(file);
                snprintf(text, sizeof text, "page %d: its directory at %llu of", page,
                         (unsigned long long)at);
                ts_tiff_refused(VIEWS "angle_start: 0, angle_stop: 180", path, "tiff-truncated",
                                text);
            }
            at = number_at(whole + end - pointer, pointer, swapped);
            cr_assert_leq(page, w.n_pages);
        }
        free(whole);
    }
    ts_test_remove_folder(folder);
}

/* The directory of a page that names itself as the next one. */
Test(tiff_damage, directories_in_a_loop_are_refused)
{
    char folder[256], path[300];
    struct tiff_writing w = ts_tiff_plain;
    w.n_pages = 1;
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    ts_tiff_write(path, &w);
    FILE *file = fopen(path, "r+b");
    uint32_t at;
    uint16_t n;
    cr_assert(fseek(file, 4, SEEK_SET) == 0 && fread(&at, 4, 1, file) == 1);
    cr_assert(fseek(file, at, SEEK_SET) == 0 && fread(&n, 2, 1, file) == 1);
    cr_assert(fseek(file, (long)at + 2 + 12 * n, SEEK_SET) == 0 && fwrite(&at, 4, 1, file) == 1);
    fclose(file);
    ts_tiff_refused(SLICES, path, "tiff-directory", "the page after page 1");
    ts_test_remove_folder(folder);
}

Test(tiff_damage, a_file_changed_after_the_check_is_an_error)
{
    char folder[256], path[300];
    unsigned char data[3 * TIFF_COLUMNS * TIFF_ROWS * 2];
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder_in_memory(folder, sizeof folder);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%d.tif", folder, i);
        ts_tiff_write(path, &ts_tiff_plain);
    }
    struct source *source = ts_tiff_opened(SLICES, folder);
    snprintf(path, sizeof path, "%s/0.tif", folder);
    cr_assert_eq(truncate(path, 1000), 0);
    cr_assert_eq(source->ops->read(source, 0, 1, data, diag), TS_BAD_INPUT);
    ts_test_expect(diag, "file-changed", "0.tif");
    source->ops->close(source);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

/* The process that decodes crashes, or is stopped for longer than a job may take: an error that
 * names the file and the page. Another process reads on. One that is killed has another in its
 * place, once. */
Test(tiff_damage, a_reader_that_dies_or_hangs_is_an_error_that_names_the_file)
{
    static const struct {
        int signal, times;
        enum ts_status status;
        const char *code, *text;
    } ends[] = {{SIGSEGV, 1, TS_BAD_INPUT, "decoder-died",
                 "a.tif, page 2: the process that read it was killed by signal 11"},
                {SIGSTOP, 1, TS_BAD_INPUT, "decoder-died",
                 "a.tif, page 2: the process that read it took longer than 1 s"},
                {SIGKILL, 1, TS_OK, NULL, NULL},
                {SIGTERM, 1, TS_OK, NULL, NULL},
                {SIGKILL, 2, TS_RUN_FAILED, "decoder-killed",
                 "a.tif: the process that reads it was killed by signal 9"}};
    char folder[256], path[300];
    unsigned char sound[TIFF_COLUMNS * TIFF_ROWS * 2], data[sizeof sound];
    struct tiff_writing w = ts_tiff_plain;
    w.compression = COMPRESSION_LZW;
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    ts_tiff_write(path, &w);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct tiff_pages pages = {
            .arena = ts_arena_create(), .owner = "input", .fd = -1, .job_seconds = 1};
        enum ts_status status = TS_OK;
        cr_assert_eq(ts_tiff_pages_open(&pages, &(const char *){path}, 1, diag), TS_OK);
        cr_assert_eq(ts_tiff_pages_read(&pages, 1, 0, TIFF_ROWS, sound, TIFF_COLUMNS * 2, diag),
                     TS_OK);
        for (int k = 0; k < ends[i].times && status == TS_OK; k++) {
            cr_assert_eq(kill(ts_workers_pid(pages.worker, 0), ends[i].signal), 0);
            memset(data, 0x55, sizeof data);
            status = ts_tiff_pages_read(&pages, 1, 0, TIFF_ROWS, data, TIFF_COLUMNS * 2, diag);
            cr_assert(status != TS_OK || memcmp(data, sound, sizeof data) == 0);
        }
        cr_assert_eq(status, ends[i].status, "end %zu", i);
        if (ends[i].code)
            ts_test_expect(diag, ends[i].code, ends[i].text);
        cr_assert_eq(ts_tiff_pages_read(&pages, 1, 0, TIFF_ROWS, data, TIFF_COLUMNS * 2, diag),
                     TS_OK);
        cr_assert_eq(memcmp(data, sound, sizeof data), 0);
        ts_tiff_pages_close(&pages);
        ts_arena_destroy(pages.arena);
        ts_diag_destroy(diag);
    }
    ts_test_remove_folder(folder);
}
