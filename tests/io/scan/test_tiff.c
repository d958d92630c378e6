/* SPDX-License-Identifier: Apache-2.0
 *
 * The tiff source on files written here through libtiff: every type, byte order, layout and codec,
 * what pages mean, angles, order of names, and files that are not fit.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

#include "io/file/digest.h"
#include "io/scan/tiff.h"
#include "io/scan/tiff_names.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/files/scan_file.h"
#include "tests/files/tiff_fixture.h"
#include "tests/support/chain_text.h"
#include "tests/support/support.h"

/* Reads in slabs of `step` and compares with the formula; then the digests. */
static void check_values(struct source *source, bool views, int64_t step)
{
    const struct ts_image *image = &source->image;
    const size_t bytes = ts_slice_bytes(image);
    struct ts_diag *diag = ts_diag_create();
    unsigned char *data = malloc((size_t)step * bytes);
    for (int64_t z = 0; z < source->n_slices; z += step) {
        const int64_t n = z + step < source->n_slices ? step : source->n_slices - z;
        memset(data, 0xA5, (size_t)step * bytes);
        cr_assert_eq(source->ops->read(source, z, n, data, diag), TS_OK);
        for (int64_t i = 0; i < n; i++)
            for (int64_t y = 0; y < image->axes[1].n; y++)
                for (int64_t x = 0; x < image->axes[2].n; x++) {
                    double value;
                    const size_t at = (size_t)((i * image->axes[1].n + y) * image->axes[2].n + x);
                    ts_load_f64(&value, data + at * ts_dtype_bytes(image->dtype), image->dtype, 1);
                    cr_assert_eq(value, views ? ts_tiff_value(image->dtype, y, z + i, x)
                                              : ts_tiff_value(image->dtype, z + i, y, x));
                }
        char digest[DIGEST_TEXT_BYTES];
        cr_assert(ts_digest_of(data, bytes, digest));
        cr_assert_str_eq(digest, source->slices[z].pixel_sha256);
    }
    free(data);
    ts_diag_destroy(diag);
}

#define SLICES "pages: slices, pixel_size: 0.5, spacing_z: 2"
#define VIEWS "pages: views, pixel_size: 0.5, "

Test(tiff, every_type_order_layout_and_codec)
{
    static const enum ts_dtype dtypes[] = {TS_U8,  TS_I8,  TS_U16, TS_I16,
                                           TS_U32, TS_I32, TS_F32, TS_F64};
    static const char *const modes[] = {"wl", "wb", "w8l", "w8b"};
    static const int codecs[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE,
                                 COMPRESSION_DEFLATE, COMPRESSION_PACKBITS};
    char folder[256], path[300];
    int n = 0;
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
            for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++)
                for (int tiled = 0; tiled < 2; tiled++, n++) {
                    struct tiff_writing w = ts_tiff_plain;
                    w.dtype = dtypes[d];
                    w.mode = modes[m];
                    w.compression = codecs[c];
                    w.tiled = tiled;
                    ts_tiff_write(path, &w);
                    struct source *source = ts_tiff_opened(SLICES, path);
                    cr_assert_eq(source->image.dtype, w.dtype == TS_F64 ? TS_F32 : w.dtype);
                    check_values(source, false, 2);
                    source->ops->close(source);
                    source = ts_tiff_opened(VIEWS "angles: [0, 1, 2]", path);
                    check_values(source, true, 4);
                    source->ops->close(source);
                }
    cr_assert_eq(n, 320);
    ts_test_remove_folder(folder);
}

/* Doubles are read as floats; integers beyond those that a float holds stay what they are. */
Test(tiff, values_that_no_float_holds_are_counted)
{
    static const enum ts_dtype dtypes[] = {TS_F64, TS_F32, TS_I32, TS_U32};
    char folder[256], path[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        struct tiff_writing w = ts_tiff_plain;
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        w.dtype = dtypes[i];
        ts_tiff_write(path, &w);
        cr_assert_eq(ts_tiff_chain_open(SLICES, path, &source, diag), TS_OK);
        cr_expect_eq(source->image.dtype, i == 0 ? TS_F32 : dtypes[i]);
        free(ts_test_read_all(source, diag));
        int64_t n = 0;
        double most = 0;
        for (int64_t p = 0; p < w.n_pages; p++)
            for (int64_t k = 0; k < TIFF_ROWS * TIFF_COLUMNS; k++) {
                const double value =
                    ts_tiff_value(dtypes[i], p, k / TIFF_COLUMNS, k % TIFF_COLUMNS);
                n += (double)(float)value != value;
                most = fmax(most, fabs((double)(float)value - value));
            }
        cr_expect_eq(n > 0, i == 3); /* the others of the fixture are short */
        ts_test_expect_rounding(source, n, most);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
    ts_test_remove_folder(folder);
}

/* Rows of pages are slices of a sinogram here, and every thread has counted some of them. A second
 * reading counts nothing again. */
Test(tiff, doubles_that_change_are_counted_once)
{
    enum { PAGES = 5, ROWS = 3, COLUMNS = 4 };
    static const char *const chains[] = {SLICES, VIEWS "angle_start: 0, angle_stop: 180"};
    char folder[256], path[300];
    double most = 0;
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    TIFF *tiff = TIFFOpen(path, "w");
    for (int page = 0; page < PAGES; page++) {
        double row[COLUMNS] = {0.5, 0.1 + page, NAN, 1e9};
        most = fmax(most, fabs((double)(float)row[1] - row[1]));
        TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, COLUMNS);
        TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, ROWS);
        TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 64);
        TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
        TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_IEEEFP);
        TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        for (uint32_t y = 0; y < ROWS; y++)
            cr_assert_eq(TIFFWriteScanline(tiff, row, y, 0), 1);
        cr_assert_eq(TIFFWriteDirectory(tiff), 1);
    }
    TIFFClose(tiff);
    for (size_t i = 0; i < 2; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source = ts_tiff_opened(chains[i], path);
        for (int time = 0; time < 2; time++) {
            free(ts_test_read_all(source, diag));
            ts_test_expect_rounding(source, ROUNDING_SOME, most);
        }
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
    ts_test_remove_folder(folder);
}

Test(tiff, what_pages_are)
{
    char folder[256], path[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    ts_tiff_write(path, &ts_tiff_plain);
    struct source *source = ts_tiff_opened(VIEWS "angle_start: 10, angle_stop: 190", path);
    const struct ts_axis *axes = source->image.axes;
    cr_assert(axes[0].n == TIFF_ROWS && axes[1].n == 3 && axes[2].n == TIFF_COLUMNS &&
              source->n_slices == TIFF_ROWS);
    cr_assert(axes[1].kind == TS_AXIS_VIEW && axes[1].first == 10 && axes[1].spacing == 60);
    cr_assert(axes[2].kind == TS_AXIS_DETECTOR && axes[2].first == -9 && axes[2].spacing == 0.5);
    cr_assert(source->image.quantity == TS_COUNTS && source->slices[4].position_mm[2] == 2);
    source->ops->close(source);
    source = ts_tiff_opened(
        VIEWS "angle_start: 10, angle_stop: 190, angle_sense: y-to-x, angle_offset: 5", path);
    cr_assert(source->image.axes[1].first == -5 && source->image.axes[1].spacing == -60);
    source->ops->close(source);
    source =
        ts_tiff_opened(VIEWS "angles: [0, 1, 3], angle_sense: y-to-x, angle_offset: 180", path);
    const double *turned = source->image.axes[1].positions;
    cr_assert(turned[0] == 180 && turned[1] == 179 && turned[2] == 177);
    source->ops->close(source);
    source = ts_tiff_opened("pages: sinograms, pixel_size: 0.5, angle_start: 0, angle_stop: 44, "
                            "endpoint: true, quantity: line_integral",
                            path);
    axes = source->image.axes;
    cr_assert(axes[0].n == 3 && axes[1].n == TIFF_ROWS && axes[1].spacing == 2 &&
              axes[1].kind == TS_AXIS_VIEW);
    cr_assert_eq(source->image.quantity, TS_LINE_INTEGRAL);
    check_values(source, false, 1);
    source->ops->close(source);
    source = ts_tiff_opened(SLICES, path);
    axes = source->image.axes;
    cr_assert(axes[0].spacing == 2 && axes[1].kind == TS_AXIS_Y && axes[2].spacing == 0.5);
    cr_assert_eq(source->image.quantity, TS_INTENSITY);
    source->ops->close(source);
    ts_test_remove_folder(folder);
}

Test(tiff, folders_are_read_in_natural_order)
{
    static const char *const names[] = {"v10.tif", "v9.TIFF", "v0100.tif"};
    static const int first[] = {1, 0, 3}, count[] = {2, 1, 1};
    char folder[256], path[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    for (int i = 0; i < 3; i++) {
        struct tiff_writing w = ts_tiff_plain;
        w.first_page = first[i];
        w.n_pages = count[i];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        ts_tiff_write(path, &w);
    }
    snprintf(path, sizeof path, "%s/notes.txt", folder);
    fclose(fopen(path, "w"));
    struct source *source = ts_tiff_opened(SLICES, folder);
    cr_assert_eq(source->n_slices, 4);
    check_values(source, false, 3);
    source->ops->close(source);
    struct tiff_writing odd = ts_tiff_plain;
    odd.width = 36;
    snprintf(path, sizeof path, "%s/v101.tif", folder);
    ts_tiff_write(path, &odd);
    ts_tiff_refused(SLICES, folder, "tiff-pages-differ",
                    "v101.tif, page 1: 36 x 23 pixels of u16, but the first page has 37");
    cr_assert_lt(ts_tiff_compare_names("a2b", "a10a", false), 0);
    cr_assert_gt(ts_tiff_compare_names("a2b1", "a2b", false), 0);
    cr_assert_neq(ts_tiff_compare_names("a02", "a2", false), 0);
    cr_assert_eq(ts_tiff_compare_names("x1", "x1", false), 0);
    static const char *const sorted[] = {"a_-10.5deg", "a_-10.25deg", "a_-5deg",   "a_-0.5deg",
                                         "a_0deg",     "a_0.25deg",   "a_00.5deg", "a_5deg",
                                         "a_10deg",    "a_b"};
    for (int i = 0; i < 10; i++)
        for (int k = 0; k < 10; k++)
            cr_expect_eq((ts_tiff_compare_names(sorted[i], sorted[k], false) > 0) - (i > k), 0,
                         "%s %s", sorted[i], sorted[k]);
    /* These are no signs and no fractions. */
    cr_assert_lt(ts_tiff_compare_names("scan-2", "scan-10", false), 0);
    cr_assert_lt(ts_tiff_compare_names("2024-01-2", "2024-01-10", false), 0);
    cr_assert_lt(ts_tiff_compare_names("p1.9.tif", "p1.10.tif", false), 0);
    ts_test_remove_folder(folder);
}

/* A file that is missing shifts the angles of all after it, where they are evenly spaced by their
 * number alone. */
Test(tiff, numbers_that_are_missing_are_refused)
{
    static const struct {
        int numbers[6];
        const char *words; /* NULL: taken */
        int n;             /* 0: six */
    } folders[] = {
        {{0, 1, 2, 4, 5, 6}, "the number 3 is missing between p2.tif and p4.tif"},
        {{8, 9, 10, 11, 12, 13}, NULL},
        {{0, 20, 40, 60, 100, 120}, "the number 80 is missing between p60.tif and p100.tif"},
        {{0, 30, 60, 90, 120, 150}, NULL},
        {{3, 10, 17, 25, 31, 38}, NULL}, /* no even step: times, perhaps */
        {{7, 9, 10, 11, 14, 15}, "the number 8 is missing between p7.tif and p9.tif"},
        {{1, 2, 4}, "the number 3 is missing between p2.tif and p4.tif", 3},
        {{1, 3, 4}, "the number 2 is missing between p1.tif and p3.tif", 3},
        {{0, 20, 60, 120}, "the number 40 is missing between p20.tif and p60.tif", 4},
        {{0, 2, 3, 5}, "the number 1 is missing between p0.tif and p2.tif", 4},
        {{1, 2, 4, 5, 7}, "the number 3 is missing between p2.tif and p4.tif", 5},
        {{0, 20, 40}, NULL, 3},
        {{0, 2, 5}, NULL, 3},
        {{1, 3}, NULL, 2}};
    struct tiff_writing w = ts_tiff_plain;
    w.n_pages = 1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char folder[256], path[300];
        ts_test_folder_in_memory(folder, sizeof folder);
        const int n = folders[i].n > 0 ? folders[i].n : 6;
        for (int k = 0; k < n; k++) {
            snprintf(path, sizeof path, "%s/p%d.tif", folder, folders[i].numbers[k]);
            ts_tiff_write(path, &w);
        }
        if (folders[i].words)
            ts_tiff_refused(VIEWS "angle_start: 0, angle_stop: 180", folder, "page-missing",
                            folders[i].words);
        struct source *source =
            ts_tiff_opened(folders[i].words ? VIEWS "angle_start: 0, angle_stop: 180, gaps: accept"
                                            : VIEWS "angle_start: 0, angle_stop: 180",
                           folder);
        cr_assert_eq(source->image.axes[1].n, n);
        source->ops->close(source);
        if (n == 6) {
            source = ts_tiff_opened(VIEWS "angles: [0, 1, 2, 4, 5, 6]", folder);
            source->ops->close(source);
        }
        ts_test_remove_folder(folder);
    }
}

/* Names with leading zeros have the same gaps. */
Test(tiff, padded_numbers_that_are_missing_are_refused)
{
    static const struct {
        const char *format;
        int numbers[6];
        const char *words; /* NULL: taken */
    } folders[] = {
        {"p_%04d",
         {38, 39, 41, 42, 43, 44},
         "the number 40 is missing between p_0039.tif and p_0041.tif"},
        {"p_%03d",
         {97, 98, 99, 100, 103, 104},
         "the number 101 is missing between p_100.tif and p_103.tif"},
        {"%05d", {0, 1, 2, 4, 5, 6}, "the number 3 is missing between 00002.tif and 00004.tif"},
        {"scan_2024_%06d_a", {0, 10, 20, 30, 50, 60}, "the number 40 is missing"},
        {"p_%020d", {7, 8, 10, 11, 12, 13}, "the number 9 is missing"},
        {"p_-%03ddeg", {9, 8, 6, 5, 4, 3}, "the number -7 is missing"},
        {"p_%04d", {0, 1, 2, 3, 4, 5}, NULL},
        {"p_%03d", {98, 99, 100, 101, 102, 103}, NULL}};
    struct tiff_writing w = ts_tiff_plain;
    w.n_pages = 1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char folder[256], name[64], path[400];
        ts_test_folder_in_memory(folder, sizeof folder);
        for (int k = 0; k < 6; k++) {
            const int number = folders[i].numbers[k];
            const char *format = folders[i].format;
            snprintf(name, sizeof name, "%s", format);
            char *at = strchr(name, '%');
            const int width = atoi(at + 1);
            snprintf(path, sizeof path, "%s/%.*s%0*d%s.tif", folder, (int)(at - name), name, width,
                     number, strchr(at, 'd') + 1);
            ts_tiff_write(path, &w);
        }
        if (folders[i].words) {
            ts_tiff_refused(VIEWS "angle_start: 0, angle_stop: 180", folder, "page-missing",
                            folders[i].words);
        } else {
            struct source *source = ts_tiff_opened(VIEWS "angle_start: 0, angle_stop: 180", folder);
            cr_assert_eq(source->image.axes[1].n, 6);
            source->ops->close(source);
        }
        ts_test_remove_folder(folder);
    }
}

/* Names of a time, a counter, a number and a suffix: of n files, without the file `lost`. */
struct naming {
    bool stamp;         /* an uneven time of day */
    int counter;        /* its digits; 0: there is none */
    double step;        /* of the number; 0: there is none */
    int digits;         /* of its fraction */
    const char *suffix; /* behind it */
    int n, lost;        /* -1: none is lost */
    bool renumbered;    /* the counter has no gap */
    const char *words;  /* NULL: taken */
};

static void write_named(const struct naming *row, const char *folder)
{
    struct tiff_writing w = ts_tiff_plain;
    w.n_pages = 1;
    for (int i = 0, seconds = 36000; i < row->n; i++) {
        char path[400];
        int used = snprintf(path, sizeof path, "%s/p", folder);
        if (row->stamp)
            used += snprintf(path + used, sizeof path - (size_t)used, "_20230501_%02d%02d%02d",
                             seconds / 3600, seconds / 60 % 60, seconds % 60);
        if (row->counter)
            used += snprintf(path + used, sizeof path - (size_t)used, "_%0*d", row->counter,
                             row->renumbered && i > row->lost ? i - 1 : i);
        if (row->step != 0)
            used += snprintf(path + used, sizeof path - (size_t)used, "_%.*f", row->digits,
                             -20 + i * row->step);
        snprintf(path + used, sizeof path - (size_t)used, "%s.tif", row->suffix);
        if (i != row->lost)
            ts_tiff_write(path, &w);
        seconds += 7 + i * i % 5;
    }
}

/* Each number of the names tells which is missing, also if steps are rounded; dates and times do
 * not. */
Test(tiff, one_of_several_numbers_that_is_missing_is_refused)
{
    static const struct naming rows[] = {
        {.counter = 4,
         .step = 1.5,
         .digits = 1,
         .n = 30,
         .lost = 11,
         .words = "the number -3.5 is missing between"},
        {.counter = 3,
         .step = 6,
         .suffix = "deg",
         .n = 30,
         .lost = 4,
         .words = "the number 4 is missing between"},
        {.counter = 4,
         .step = -1.5,
         .digits = 1,
         .n = 30,
         .lost = 11,
         .words = "the number 11 is missing"},
        {.stamp = true, .counter = 4, .n = 30, .lost = 28, .words = "the number 28 is missing"},
        {.stamp = true,
         .counter = 4,
         .step = 0.5,
         .digits = 2,
         .n = 30,
         .lost = 7,
         .words = "the number -16.5 is"},
        {.counter = 4,
         .step = 1.5,
         .digits = 1,
         .n = 30,
         .lost = 11,
         .renumbered = true,
         .words = "-3.5 is missing"},
        {.step = 180.0 / 91,
         .digits = 1,
         .n = 91,
         .lost = 40,
         .words = "the number 59.1 is missing"},
        {.step = 180.0 / 91,
         .digits = 2,
         .n = 91,
         .lost = 11,
         .words = "the number 1.76 is missing"},
        {.step = 180.0 / 91,
         .digits = 2,
         .suffix = "deg",
         .n = 91,
         .lost = 89,
         .words = "the number 156.04 is missing"},
        {.step = 0.36, .digits = 1, .n = 200, .lost = 40, .words = "the number -5.6 is missing"},
        {.step = 7.2, .n = 25, .lost = 13, .words = "the number 74 is missing"},
        {.counter = 4, .step = 1.5, .digits = 1, .n = 30, .lost = -1},
        {.counter = 4, .step = -1.5, .digits = 1, .n = 30, .lost = -1},
        {.stamp = true, .n = 30, .lost = -1},
        {.stamp = true, .counter = 4, .n = 30, .lost = -1},
        {.counter = 4, .step = 0.12, .digits = 1, .n = 100, .lost = -1},
        {.counter = 4, .step = 1.4, .n = 60, .lost = -1},
        {.step = 180.0 / 91, .digits = 1, .n = 91, .lost = -1},
        {.step = 0.36, .digits = 1, .n = 200, .lost = -1},
        {.step = 7.2, .n = 25, .lost = -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[256];
        struct naming row = rows[i];
        row.suffix = row.suffix ? row.suffix : "";
        ts_test_folder_in_memory(folder, sizeof folder);
        write_named(&row, folder);
        if (row.words)
            ts_tiff_refused(VIEWS "angle_start: 0, angle_stop: 180", folder, "page-missing",
                            row.words);
        struct source *source =
            ts_tiff_opened(row.words ? VIEWS "angle_start: 0, angle_stop: 180, gaps: accept"
                                     : VIEWS "angle_start: 0, angle_stop: 180",
                           folder);
        cr_assert_eq(source->image.axes[1].n, row.n - (row.lost >= 0), "row %zu", i);
        source->ops->close(source);
        ts_test_remove_folder(folder);
    }
}

Test(tiff, angles_are_said_in_one_way)
{
    char folder[256], path[300], angles[96], text[256];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    snprintf(angles, sizeof angles, "%s/angles.txt", folder);
    ts_tiff_write(path, &ts_tiff_plain);
    ts_tiff_refused(VIEWS "quantity: counts", path, "angles-missing",
                    "not given, and no TIFF file holds them");
    ts_tiff_refused(VIEWS "angles: [0, 1, 2], angle_start: 3, angle_stop: 5", path, "angles-twice",
                    "in 2 ways");
    ts_tiff_refused(VIEWS "angles: [0, 1]", path, "angle-count", "2 angles for 3 views");
    ts_tiff_refused(VIEWS "angle_start: 3", path, "angles-missing", "together");
    ts_tiff_refused(VIEWS "angle_start: 3, angle_stop: 3", path, "angle-range", "no step");
    ts_tiff_refused(VIEWS "angles: [0, 1, 2], endpoint: true", path, "endpoint-idle", "belongs");
    ts_tiff_refused(SLICES ", angles: [0, 1, 2]", path, "angles-idle", "no angles");
    ts_tiff_refused(VIEWS "frames: flats, angles: [0, 1, 2]", path, "angles-idle",
                    "flats have no angles");
    ts_tiff_refused(VIEWS "frames: darks, angle_start: 0, angle_stop: 5", path, "angles-idle",
                    "darks have no angles");
    ts_tiff_refused(SLICES ", frames: flats", path, "frames-idle", "slices are not frames");
    ts_tiff_refused("pages: slices, pixel_size: 1", path, "spacing-z", "required");
    ts_tiff_refused(VIEWS "angles: [0, 1, 2], spacing_z: 1", path, "spacing-z", "alone");
    ts_tiff_refused("pixel_size: 1", path, "parameter-missing", "required");
    ts_tiff_refused("pages: pictures, pixel_size: 1", path, "parameter-choice",
                    "'pictures' is not a choice");
    snprintf(text, sizeof text, VIEWS "angles_file: %s", angles);
    ts_tiff_refused(text, path, "input-unreadable", "angles.txt");
    static const struct {
        const char *text, *code, *message;
    } files[] = {{"0\n1\nx\n", "angle-not-a-number", "line 3"},
                 {"0\n1 2\n3\n", "angle-not-a-number", "line 2"},
                 {"nan\n1\n2\n", "angle-not-a-number", "line 1"},
                 {"0\n1\n2\n3\n", "angle-count", "angles.txt has 4 angles, expected 3"},
                 {"0\n1.0471976\n2.0943951\n", "angle-unit", "as radians would"},
                 {"\xEF\xBB\xBF# degrees\n0\n1 # the second\nx#\n", "angle-not-a-number", "line 4"},
                 {" 0\r\n\n1.5\n-2e1", NULL, NULL},
                 {"\xEF\xBB\xBF# angles in degrees\r\n0\r\n  # more\n1.5 # the second\n-2e1#\n",
                  NULL, NULL}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        FILE *file = fopen(angles, "w");
        fputs(files[i].text, file);
        fclose(file);
        if (files[i].code) {
            ts_tiff_refused(text, path, files[i].code, files[i].message);
        } else {
            struct source *source = ts_tiff_opened(text, path);
            cr_assert_eq(source->image.axes[1].n, 3);
            source->ops->close(source);
        }
    }
    ts_tiff_refused(VIEWS "angles: [0, 1, 2], angle_unit: radian", path, "angle-unit-idle",
                    "belongs to angles_file");
    ts_tiff_refused(VIEWS "angles: [0, 1, 2], gaps: accept", path, "gaps-idle",
                    "belongs to angle_start");
    ts_tiff_refused(
        VIEWS "angle_start: 0, angle_stop: 3.14159265", path, "angle-unit",
        "3 views from 0 to 3.14159 degrees are what half a turn or a turn would be in radians");
    struct source *radians = ts_tiff_opened(
        VIEWS "angle_start: 0, angle_stop: 3.14159265358979, angle_unit: radian", path);
    cr_assert_float_eq(radians->image.axes[1].spacing, 60, 1e-9);
    radians->ops->close(radians);
    ts_test_remove_folder(folder);
}

Test(tiff, a_file_of_angles_may_be_in_radians)
{
    static const double factors[] = {1, 180 / M_PI};
    char folder[256], path[300], angles[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    snprintf(angles, sizeof angles, "%s/angles.txt", folder);
    ts_tiff_write(path, &ts_tiff_plain);
    FILE *file = fopen(angles, "w");
    cr_assert(file && fputs("0\n1.0471976\n2.0943951\n", file) >= 0 && fclose(file) == 0);
    for (int i = 0; i < 2; i++) {
        struct tiff_params params = {.tiff = {1, &(const char *){path}},
                                     .pages = TIFF_VIEWS,
                                     .pixel_size = 1,
                                     .angles_file = angles,
                                     .angle_unit = i ? ANGLE_UNIT_RADIAN : ANGLE_UNIT_DEGREE,
                                     .quantity = TIFF_QUANTITY_AUTO};
        struct param_set set = {.params = tiff_format.params,
                                .n_params = tiff_format.n_params,
                                .values = &params,
                                .owner = "input"};
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        ts_scan_file_give(&set, "angles_file");
        cr_assert_eq(tiff_format.open(&set, &source, diag), TS_OK);
        ts_diag_destroy(diag);
        cr_assert_float_eq(source->image.axes[1].positions[1], 1.0471976 * factors[i], 1e-9);
        cr_assert_float_eq(source->image.axes[1].positions[2], 2.0943951 * factors[i], 1e-9);
        source->ops->close(source);
    }
    ts_test_remove_folder(folder);
}

Test(tiff, what_is_not_gray_and_lossless_is_refused)
{
    static const struct {
        struct tiff_writing w;
        const char *code;
    } rows[] = {
        {{.dtype = TS_U8, .photometric = 1 + PHOTOMETRIC_CIELAB}, "tiff-color"},
        {{.dtype = TS_U8, .orientation = ORIENTATION_BOTLEFT}, "tiff-orientation"},
        {{.dtype = TS_U8, .samples = 2}, "tiff-channels"},
        {{.dtype = TS_U8, .bits = 4}, "tiff-type"},
    };
    char folder[256], path[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tiff_writing w = rows[i].w;
        w.n_pages = 1;
        w.mode = "wl";
        w.compression = COMPRESSION_NONE;
        ts_tiff_write(path, &w);
        ts_tiff_refused(SLICES, path, rows[i].code, "page 1");
    }
    ts_tiff_refused(SLICES, "/no/such/file.tif", "input-unreadable", "No such file");
    unlink(path);
    ts_tiff_refused(SLICES, folder, "no-image", "no .tif");
    ts_test_remove_folder(folder);
}

Test(tiff, real_neutron_sinogram)
{
    char path[512];
    SKIP_WITHOUT_DATA("tiff");
    snprintf(path, sizeof path, "%s/projections/sarepy_neutron360/sinogram_360_neutron_image.tif",
             ts_test_data());
    struct source *source = ts_tiff_opened(
        "pages: sinograms, pixel_size: 0.1, angle_start: 0, angle_stop: 360, endpoint: true", path);
    struct ts_diag *diag = ts_diag_create();
    cr_assert(source->n_slices == 1 && source->image.axes[1].n == 459 &&
              source->image.axes[2].n == 503);
    cr_assert_eq(source->image.dtype, TS_U16);
    uint16_t *data = malloc(ts_image_bytes(&source->image));
    cr_assert_eq(source->ops->read(source, 0, 1, data, diag), TS_OK);
    /* The strip lies uncompressed at byte 8 or wherever its tag says: the same numbers, big-endian,
     * in the file. */
    size_t length, at = 0;
    unsigned char *whole = (unsigned char *)ts_test_read(path, &length);
    const size_t n = 459 * 503;
    for (bool same = false; !same && at + 2 * n <= length; at += !same) {
        same = true;
        for (size_t i = 0; same && i < n; i++)
            same = data[i] == (whole[at + 2 * i] << 8 | whole[at + 2 * i + 1]);
        if (same)
            break;
    }
    cr_assert_leq(at + 2 * n, length, "the file does not hold the values that were read");
    free(whole);
    free(data);
    source->ops->close(source);
    ts_diag_destroy(diag);
}
