/* SPDX-License-Identifier: Apache-2.0
 *
 * TIFF files whose images are not pages of one kind one after the other: stacks with one page for
 * all images, pages of several channels and times, folders of projections and flats, and types of
 * values that have to be converted.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

#include "io/scan/tiff.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/files/tiff_fixture.h"
#include "tests/support/chain_run.h"
#include "tests/support/folders.h"
#include "tests/support/program.h"
#include "tests/support/support.h"

static char folder[256], path[300];
static struct ts_diag *diag;

static void begin(void)
{
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    diag = ts_diag_create();
}

static void end(void)
{
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

TestSuite(tiff_stacks, .init = begin, .fini = end);

#define SLICES "pages: slices, pixel_size: 0.5, spacing_z: 2"
#define VIEWS "pages: views, pixel_size: 0.5, angle_start: 0, angle_stop: 180"

/* ---- a file of one page, byte by byte -------------------------------------------------------- */

struct raw {
    const char *text; /* Image Description */
    uint32_t width, height, bits, format, photometric, per_cm;
    bool big_endian, compressed; /* as it says */
    const void *values;
    size_t bytes;
};

struct bytes {
    unsigned char at[4096];
    size_t n;
    bool big_endian;
};

static void put(struct bytes *out, uint32_t value, int n)
{
    for (int i = 0; i < n; i++)
        out->at[out->n++] = (unsigned char)(value >> 8 * (out->big_endian ? n - 1 - i : i));
}

static void put_tag(struct bytes *out, uint32_t tag, uint32_t type, uint32_t count, uint32_t value)
{
    put(out, tag, 2);
    put(out, type, 2);
    put(out, count, 4);
    put(out, value, type == 3 ? 2 : 4);
    if (type == 3)
        put(out, 0, 2);
}

static void write_raw(const struct raw *raw)
{
    enum { TAGS = 13, TEXT = 8 + 2 + 12 * TAGS + 4, RATIO = 1024, PIXELS = 1040 };
    struct bytes out = {.big_endian = raw->big_endian};
    const uint32_t length = raw->text ? (uint32_t)strlen(raw->text) + 1 : 1;
    cr_assert_leq(TEXT + length, RATIO);
    memcpy(out.at, raw->big_endian ? "MM" : "II", out.n = 2);
    put(&out, 42, 2);
    put(&out, 8, 4);
    put(&out, TAGS, 2);
    put_tag(&out, TIFFTAG_IMAGEWIDTH, 4, 1, raw->width);
    put_tag(&out, TIFFTAG_IMAGELENGTH, 4, 1, raw->height);
    put_tag(&out, TIFFTAG_BITSPERSAMPLE, 3, 1, raw->bits);
    put_tag(&out, TIFFTAG_COMPRESSION, 3, 1, COMPRESSION_NONE);
    put_tag(&out, TIFFTAG_PHOTOMETRIC, 3, 1, raw->photometric);
    put_tag(&out, TIFFTAG_IMAGEDESCRIPTION, 2, length < 5 ? 5 : length, TEXT);
    put_tag(&out, TIFFTAG_STRIPOFFSETS, 4, 1, PIXELS);
    put_tag(&out, TIFFTAG_ROWSPERSTRIP, 4, 1, raw->height);
    put_tag(&out, TIFFTAG_STRIPBYTECOUNTS, 4, 1, raw->width * raw->height * raw->bits / 8);
    put_tag(&out, TIFFTAG_XRESOLUTION, 5, 1, RATIO);
    put_tag(&out, TIFFTAG_YRESOLUTION, 5, 1, RATIO);
    put_tag(&out, TIFFTAG_RESOLUTIONUNIT, 3, 1, raw->per_cm ? RESUNIT_CENTIMETER : RESUNIT_NONE);
    put_tag(&out, TIFFTAG_SAMPLEFORMAT, 3, 1, raw->format ? raw->format : SAMPLEFORMAT_UINT);
    put(&out, 0, 4);
    cr_assert_eq(out.n, TEXT);
    memcpy(out.at + TEXT, raw->text ? raw->text : "", length);
    out.n = RATIO;
    put(&out, raw->per_cm ? raw->per_cm : 1, 4);
    put(&out, 1, 4);
    out.n = PIXELS;
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(out.at, 1, out.n, file) == out.n);
    cr_assert(fwrite(raw->values, 1, raw->bytes, file) == raw->bytes && fclose(file) == 0);
}

enum { WIDTH = 5, HEIGHT = 4, PLANE = WIDTH * HEIGHT };

/* Writes n images of u16 behind one page. Pixel i of image k is 100 k + i. */
static void write_stack(const char *text, bool big_endian, int n)
{
    uint16_t *values = malloc((size_t)n * PLANE * sizeof *values);
    for (int i = 0; i < n * PLANE; i++) {
        const uint16_t value = (uint16_t)(100 * (i / PLANE) + i % PLANE);
        values[i] = big_endian ? __builtin_bswap16(value) : value;
    }
    write_raw(&(struct raw){.text = text,
                            .width = WIDTH,
                            .height = HEIGHT,
                            .bits = 16,
                            .photometric = PHOTOMETRIC_MINISBLACK,
                            .big_endian = big_endian,
                            .values = values,
                            .bytes = (size_t)n * PLANE * sizeof *values});
    free(values);
}

/* ---- one page for many images ---------------------------------------------------------------- */

Test(tiff_stacks, images_behind_the_only_page_are_read)
{
    static const struct {
        const char *text;
        int n;
    } rows[] = {{"ImageJ=1.53t\nimages=2\nslices=2\n", 2},
                {"ImageJ=1.53t\nimages=90\nslices=90\nloop=false\n", 90},
                {"ImageJ=1.11a\nimages=65\nchannels=65\nhyperstack=true\n", 65},
                {"{\"shape\": [3, 4, 5], \"truncated\": true}", 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int big = 0; big < 2; big++) {
            write_stack(rows[i].text, big, rows[i].n);
            struct source *source = ts_tiff_opened(SLICES, path);
            cr_assert_eq(source->n_slices, rows[i].n);
            uint16_t *data = ts_test_read_all(source, diag);
            for (int k = 0; k < rows[i].n * PLANE; k++)
                cr_assert_eq(data[k], 100 * (k / PLANE) + k % PLANE, "row %zu, value %d", i, k);
            free(data);
            source->ops->close(source);
            source = ts_tiff_opened(VIEWS, path);
            cr_assert(source->n_slices == HEIGHT && source->image.axes[1].n == rows[i].n);
            data = ts_test_read_all(source, diag);
            cr_assert_eq(data[(HEIGHT - 1) * rows[i].n * WIDTH + WIDTH],
                         100 + (HEIGHT - 1) * WIDTH);
            free(data);
            source->ops->close(source);
        }
}

Test(tiff_stacks, images_that_are_not_there_are_told)
{
    write_stack("ImageJ=1.53t\nimages=7\nslices=7\n", false, 6);
    ts_tiff_refused(SLICES, path, "tiff-planes", "7 images in one page, and has room for 6");
    write_stack("ImageJ=1.53t\nimages=7\nslices=7\n", false,
                1); /* a page that was taken out of a stack */
    struct source *source = ts_tiff_opened_warned(SLICES, path, diag, "tiff-planes",
                                                  "says that it has 7 images, and 1 are there");
    cr_assert_eq(source->n_slices, 1);
    source->ops->close(source);
    struct tiff_writing w = ts_tiff_plain;
    w.description = "ImageJ=1.53t\nimages=5\nslices=5\n";
    ts_tiff_write(path, &w);
    source = ts_tiff_opened_warned(SLICES, path, diag, "tiff-planes",
                                   "says that it has 5 images, and 3 are there");
    source->ops->close(source);
}

Test(tiff_stacks, bytes_behind_the_only_page_of_a_file_that_says_nothing_are_told)
{
    static uint16_t values[3 * 64 * 64];
    write_raw(&(struct raw){.width = 64,
                            .height = 64,
                            .bits = 16,
                            .photometric = PHOTOMETRIC_MINISBLACK,
                            .values = values,
                            .bytes = sizeof values});
    struct source *source = ts_tiff_opened_warned(SLICES, path, diag, "tiff-planes",
                                                  "behind its only page are bytes for 2 more");
    cr_assert_eq(source->n_slices, 1);
    source->ops->close(source);
}

/* ---- several axes ---------------------------------------------------------------------------- */

Test(tiff_stacks, channels_and_times_are_picked_as_the_hint_says)
{
    static const struct {
        const char *text, *hint, *pick;
        int pages[3];
    } rows[] = {
        {"ImageJ=1.53t\nimages=6\nchannels=2\nslices=3\nhyperstack=true\n",
         "pick: [0, 2, 3] takes the slices of the first channel, pick: [1, 2, 3] those of the "
         "second",
         "[1, 2, 3]",
         {1, 3, 5}},
        {"ImageJ=1.53t\nimages=6\nslices=3\nframes=2\nhyperstack=true\n",
         "pick: [0, 1, 3] takes the slices of the first time, pick: [3, 1, 3] those of the second",
         "[3, 1, 3]",
         {3, 4, 5}},
        {"<?xml version=\"1.0\"?><OME><Image><Pixels DimensionOrder=\"XYZCT\" SizeX=\"37\" "
         "SizeY=\"23\" SizeZ=\"3\" SizeC=\"2\" SizeT=\"1\" Type=\"uint16\"></Pixels></Image></OME>",
         "pick: [0, 1, 3] takes the slices of the first channel, pick: [3, 1, 3]",
         "[3, 1, 3]",
         {3, 4, 5}},
        {"<OME><Pixels DimensionOrder=\"XYCTZ\" SizeZ=\"1\" SizeC=\"2\" SizeT=\"3\"/></OME>",
         "pick: [0, 2, 3] takes the times of the first channel, pick: [1, 2, 3]",
         "[0, 2, 3]",
         {0, 2, 4}},
        {"{\"shape\": [2, 3, 23, 37], \"axes\": \"TZYX\"}",
         "pick: [0, 1, 3] takes the slices of the first time, pick: [3, 1, 3] those of the second",
         "[3, 1, 3]",
         {3, 4, 5}},
        {"{\"shape\": [3, 1, 2, 23, 37], \"axes\": \"ZTCYX\"}",
         "pick: [0, 2, 3] takes the slices of the first channel, pick: [1, 2, 3] those",
         "[1, 2, 3]",
         {1, 3, 5}},
        {"{\"shape\": [2, 3, 23, 37]}",
         "pick: [0, 1, 3] takes the slices of the first group, pick: [3, 1, 3] those",
         "[0, 1, 3]",
         {0, 1, 2}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tiff_writing w = ts_tiff_plain;
        char rest[200];
        struct source *source;
        w.n_pages = 6;
        w.description = rows[i].text;
        ts_tiff_write(path, &w);
        ts_diag_clear(diag);
        cr_assert_eq(ts_tiff_chain_open(SLICES, path, &source, diag), TS_BAD_INPUT);
        ts_test_expect(diag, "tiff-axes", "says that its 6 images are of");
        cr_assert_not_null(strstr(ts_diag_get(diag, 0)->hint, rows[i].hint), "%s",
                           ts_diag_get(diag, 0)->hint);
        snprintf(rest, sizeof rest, SLICES ", pick: %s", rows[i].pick);
        ts_tiff_expect_pages(rest, path, 3, rows[i].pages);
    }
}

#define OME_OF(z, c, t)                                                                            \
    "<OME><Pixels DimensionOrder=\"XYCZT\" SizeZ=\"" #z "\" SizeC=\"" #c "\" SizeT=\"" #t          \
    "\"/></OME>"

Test(tiff_stacks, images_of_one_axis_that_is_none_of_slices_are_no_volume)
{
    static const struct {
        const char *text, *said, *hint;
    } rows[] = {
        {"ImageJ=1.53t\nimages=3\nchannels=3\n", "of 3 channels, 1 slices",
         "pick: [0, 3] takes the first channel, pick: [0, 1] all images"},
        {"ImageJ=1.53t\nimages=3\nframes=3\n", "1 slices and 3 times", "takes the first time"},
        {"ImageJ=1.11a\nimages=3\nchannels=3\n", "of 3 channels", "takes the first channel"},
        {OME_OF(1, 3, 1), "of 3 channels", "takes the first channel"},
        {OME_OF(1, 1, 3), "and 3 times", "takes the first time"},
        {"{\"shape\": [3, 23, 37], \"axes\": \"TYX\"}", "and 3 times", "takes the first time"},
        {"{\"shape\": [3, 23, 37], \"axes\": \"CYX\"}", "of 3 channels", "the first channel"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tiff_writing w = ts_tiff_plain;
        struct source *source;
        w.description = rows[i].text;
        ts_tiff_write(path, &w);
        ts_diag_clear(diag);
        cr_assert_eq(ts_tiff_chain_open(SLICES, path, &source, diag), TS_BAD_INPUT, "row %zu", i);
        ts_test_expect(diag, "tiff-axes", rows[i].said);
        cr_assert_not_null(strstr(ts_diag_get(diag, 0)->hint, rows[i].hint), "%s",
                           ts_diag_get(diag, 0)->hint);
        ts_tiff_expect_pages(SLICES ", pick: [0, 3]", path, 1, (const int[]){0});
        ts_tiff_expect_pages(SLICES ", pick: [0, 1]", path, 3, (const int[]){0, 1, 2});
        /* views follow each other in time, and are no channels */
        if (!strstr(rows[i].said, "times")) {
            ts_tiff_refused(VIEWS, path, "tiff-axes", rows[i].said);
            continue;
        }
        source = ts_tiff_opened(VIEWS, path);
        source->ops->close(source);
    }
}

Test(tiff_stacks, a_channel_of_each_file_of_a_folder_is_picked_as_the_hint_says)
{
    struct tiff_writing w = ts_tiff_plain;
    struct source *source;
    w.n_pages = 2;
    w.description = "ImageJ=1.53t\nimages=2\nchannels=2\nmode=composite\n";
    for (w.first_page = 0; w.first_page < 6; w.first_page += 2) {
        snprintf(path, sizeof path, "%s/z%d.tif", folder, w.first_page / 2);
        ts_tiff_write(path, &w);
    }
    cr_assert_eq(ts_tiff_chain_open(SLICES, folder, &source, diag), TS_BAD_INPUT);
    ts_test_expect(diag, "tiff-axes", "its 2 images are of 2 channels");
    cr_assert_not_null(
        strstr(ts_diag_get(diag, 0)->hint, "pick: [0, 2] takes the first channel of each file"));
    ts_tiff_expect_pages(SLICES ", pick: [0, 2]", folder, 3, (const int[]){0, 2, 4});
}

Test(tiff_stacks, pages_of_one_axis_are_read)
{
    static const char *const texts[] = {
        "ImageJ=1.53t\nimages=3\nslices=3\n",
        "<OME><Pixels DimensionOrder=\"XYCZT\" SizeZ=\"3\" SizeC=\"1\" SizeT=\"1\"/></OME>",
        "<OME><Pixels DimensionOrder=\"XY\" SizeZ=\"-3\" /></OME>",
        "{\"shape\": [3, 23, 37]}",
        "{\"shape\": [3, 23, 37], \"axes\": \"ZYX\"}",
        "{\"shape\": [1, 3, 1, 23, 37], \"axes\": \"TQCYX\"}",
        "{\"shape\": [2, 23, 37], \"axes\": \"CYX\"}", /* of the first pages */
        "{\"shape\": [0, 23]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct tiff_writing w = ts_tiff_plain;
        w.description = texts[i];
        ts_tiff_write(path, &w);
        ts_tiff_expect_pages(SLICES, path, 3, (const int[]){0, 1, 2});
    }
    ts_tiff_expect_pages(SLICES ", pick: [1, 1]", path, 2, (const int[]){1, 2});
    ts_tiff_expect_pages(SLICES ", pick: [0, 2]", path, 2, (const int[]){0, 2});
    ts_tiff_refused(SLICES ", pick: [3, 1]", path, "pick-range", "of the 3 pages");
    ts_tiff_refused(SLICES ", pick: [0, 0]", path, "pick-range", "of the 3 pages");
    ts_tiff_refused(SLICES ", pick: [0, 1, 4]", path, "pick-range", "of the 3 pages");
    ts_tiff_refused(SLICES ", pick: [0.5, 1]", path, "pick-range", "of the 3 pages");
}

/* ---- values ---------------------------------------------------------------------------------- */

static struct source *open_values(const void *values, size_t bytes, uint32_t bits, uint32_t format,
                                  bool big_endian)
{
    write_raw(&(struct raw){.width = 4,
                            .height = 1,
                            .bits = bits,
                            .format = format,
                            .photometric = PHOTOMETRIC_MINISBLACK,
                            .big_endian = big_endian,
                            .values = values,
                            .bytes = bytes});
    return ts_tiff_opened(SLICES, path);
}

Test(tiff_stacks, halves_and_integers_of_64_bits_become_floats)
{
    static const uint16_t halves[4] = {0x3C00, 0xC000, 0x7BFF, 0x0001},
                          swapped[4] = {0x003C, 0x00C0, 0xFF7B, 0x0100};
    static const float half_values[4] = {1, -2, 65504, 5.9604644775390625e-8F};
    static const int64_t whole[4] = {-3, 1 << 24, (INT64_C(1) << 53) + 1, INT64_MIN};
    static const uint64_t unsigned_values[4] = {3, 16777217, 5, UINT64_MAX};
    for (int big = 0; big < 2; big++) {
        struct source *source =
            open_values(big ? swapped : halves, sizeof halves, 16, SAMPLEFORMAT_IEEEFP, big);
        cr_assert_eq(source->image.dtype, TS_F32);
        float *data = ts_test_read_all(source, diag);
        cr_assert_arr_eq(data, half_values, sizeof half_values);
        free(data);
        source->ops->close(source);
    }
    struct source *source = open_values(whole, sizeof whole, 64, SAMPLEFORMAT_INT, false);
    cr_assert_eq(source->image.dtype, TS_F32);
    float *data = ts_test_read_all(source, diag);
    cr_assert(data[0] == -3 && data[1] == 16777216 && data[2] == 9007199254740992.0F &&
              data[3] == -9223372036854775808.0F);
    ts_test_expect_rounding(source, -1, 1);
    free(data);
    source->ops->close(source);
    source = open_values(unsigned_values, sizeof unsigned_values, 64, SAMPLEFORMAT_UINT, false);
    data = ts_test_read_all(source, diag);
    cr_assert(data[0] == 3 && data[1] == 16777216 && data[3] == 18446744073709551616.0F);
    ts_test_expect_rounding(source, -1, 1);
    free(data);
    source->ops->close(source);
}

Test(tiff_stacks, zero_is_white_is_warned_of_and_a_resolution_that_differs)
{
    static const uint16_t values[4] = {1, 2, 3, 60000};
    struct raw raw = {
        .width = 4, .height = 1, .bits = 16, .values = values, .bytes = sizeof values};
    write_raw(&raw); /* photometric 0 */
    struct source *source = ts_tiff_opened_warned(SLICES, path, diag, "tiff-inverted",
                                                  "1 page says that zero is white");
    uint16_t *data = ts_test_read_all(source, diag);
    cr_assert_arr_eq(data, values, sizeof values);
    free(data);
    source->ops->close(source);
    raw.photometric = PHOTOMETRIC_MINISBLACK;
    raw.per_cm = 10000;
    write_raw(&raw);
    source = ts_tiff_opened_warned(
        SLICES, path, diag, "pixel-size-differs",
        "rows are 0.001 mm apart and columns 0.001 mm, and pixel_size is 0.5");
    source->ops->close(source);
    ts_diag_clear(diag);
    cr_assert_eq(
        ts_tiff_chain_open("pages: slices, pixel_size: 0.001, spacing_z: 1", path, &source, diag),
        TS_OK);
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        cr_assert_str_neq(ts_diag_get(diag, i)->code, "pixel-size-differs");
    source->ops->close(source);
}
