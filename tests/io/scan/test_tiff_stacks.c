/* SPDX-License-Identifier: Apache-2.0
 *
 * TIFF files whose images are not pages of one kind one after the other: stacks with one page for all images, pages of
 * several channels and times, folders of projections and flats, and types of values that have to be converted.
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

/* ---- a file of one page, byte by byte -------------------------------------------------------------- */

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

static void *read_all(struct source *source)
{
    void *data = malloc(ts_image_bytes(&source->image));
    cr_assert_eq(source->ops->read(source, 0, source->n_slices, data, diag), TS_OK);
    return data;
}

static struct source *open_warned(const char *rest, const char *code, const char *text)
{
    struct source *source;
    ts_diag_clear(diag);
    cr_assert_eq(ts_tiff_chain_open(rest, path, &source, diag), TS_OK, "%s", ts_diag_first_error(diag));
    ts_test_expect_warning(diag, code, text);
    return source;
}

/* ---- one page for many images ---------------------------------------------------------------------- */

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
            uint16_t *data = read_all(source);
            for (int k = 0; k < rows[i].n * PLANE; k++)
                cr_assert_eq(data[k], 100 * (k / PLANE) + k % PLANE, "row %zu, value %d", i, k);
            free(data);
            source->ops->close(source);
            source = ts_tiff_opened(VIEWS, path);
            cr_assert(source->n_slices == HEIGHT && source->image.axes[1].n == rows[i].n);
            data = read_all(source);
            cr_assert_eq(data[(HEIGHT - 1) * rows[i].n * WIDTH + WIDTH], 100 + (HEIGHT - 1) * WIDTH);
            free(data);
            source->ops->close(source);
        }
}

Test(tiff_stacks, images_that_are_not_there_are_told)
{
    write_stack("ImageJ=1.53t\nimages=7\nslices=7\n", false, 6);
    ts_tiff_refused(SLICES, path, "tiff-planes", "7 images in one page, and has room for 6");
    write_stack("ImageJ=1.53t\nimages=7\nslices=7\n", false, 1); /* a page that was taken out of a stack */
    struct source *source = open_warned(SLICES, "tiff-planes", "says that it has 7 images, and 1 are there");
    cr_assert_eq(source->n_slices, 1);
    source->ops->close(source);
    struct tiff_writing w = ts_tiff_plain;
    w.description = "ImageJ=1.53t\nimages=5\nslices=5\n";
    ts_tiff_write(path, &w);
    source = open_warned(SLICES, "tiff-planes", "says that it has 5 images, and 3 are there");
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
    struct source *source = open_warned(SLICES, "tiff-planes", "behind its only page are bytes for 2 more");
    cr_assert_eq(source->n_slices, 1);
    source->ops->close(source);
}

/* ---- several axes ---------------------------------------------------------------------------------- */

static void expect_pages(const char *rest, int n, const int *pages)
{
    struct source *source = ts_tiff_opened(rest, path);
    cr_assert_eq(source->n_slices, n);
    uint16_t *data = read_all(source);
    for (int k = 0; k < n; k++)
        cr_assert_eq(data[k * TIFF_ROWS * TIFF_COLUMNS + 40], ts_tiff_value(TS_U16, pages[k], 1, 3), "slice %d", k);
    free(data);
    source->ops->close(source);
}

Test(tiff_stacks, channels_and_times_are_picked_as_the_hint_says)
{
    static const struct {
        const char *text, *hint, *pick;
        int pages[3];
    } rows[] = {
        {"ImageJ=1.53t\nimages=6\nchannels=2\nslices=3\nhyperstack=true\n",
         "pick: [0, 2, 3] takes the slices of the first channel, pick: [1, 2, 3] those of the second",
         "[1, 2, 3]",
         {1, 3, 5}},
        {"ImageJ=1.53t\nimages=6\nslices=3\nframes=2\nhyperstack=true\n",
         "pick: [0, 1, 3] takes the slices of the first time, pick: [3, 1, 3] those of the second",
         "[3, 1, 3]",
         {3, 4, 5}},
        {"<?xml version=\"1.0\"?><OME><Image><Pixels DimensionOrder=\"XYZCT\" SizeX=\"37\" SizeY=\"23\" SizeZ=\"3\" "
         "SizeC=\"2\" SizeT=\"1\" Type=\"uint16\"></Pixels></Image></OME>",
         "pick: [0, 1, 3] takes the slices of the first channel, pick: [3, 1, 3]",
         "[3, 1, 3]",
         {3, 4, 5}},
        {"<OME><Pixels DimensionOrder=\"XYCTZ\" SizeZ=\"1\" SizeC=\"2\" SizeT=\"3\"/></OME>",
         "pick: [0, 2, 3] takes the times of the first channel, pick: [1, 2, 3]",
         "[0, 2, 3]",
         {0, 2, 4}}};
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
        cr_assert_not_null(strstr(ts_diag_get(diag, 0)->hint, rows[i].hint), "%s", ts_diag_get(diag, 0)->hint);
        snprintf(rest, sizeof rest, SLICES ", pick: %s", rows[i].pick);
        expect_pages(rest, 3, rows[i].pages);
    }
}

Test(tiff_stacks, pages_of_one_axis_are_read_whatever_it_is_called)
{
    static const char *const texts[] = {
        "ImageJ=1.53t\nimages=3\nchannels=3\n", "ImageJ=1.53t\nimages=3\nframes=3\n",
        "<OME><Pixels DimensionOrder=\"XYCZT\" SizeZ=\"3\" SizeC=\"1\" SizeT=\"1\"/></OME>",
        "<OME><Pixels DimensionOrder=\"XY\" SizeZ=\"-3\" /></OME>", "{\"shape\": [3, 23, 37]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct tiff_writing w = ts_tiff_plain;
        w.description = texts[i];
        ts_tiff_write(path, &w);
        expect_pages(SLICES, 3, (const int[]){0, 1, 2});
    }
    expect_pages(SLICES ", pick: [1, 1]", 2, (const int[]){1, 2});
    expect_pages(SLICES ", pick: [0, 2]", 2, (const int[]){0, 2});
    ts_tiff_refused(SLICES ", pick: [3, 1]", path, "pick-range", "of the 3 pages");
    ts_tiff_refused(SLICES ", pick: [0, 0]", path, "pick-range", "of the 3 pages");
    ts_tiff_refused(SLICES ", pick: [0, 1, 4]", path, "pick-range", "of the 3 pages");
    ts_tiff_refused(SLICES ", pick: [0.5, 1]", path, "pick-range", "of the 3 pages");
}

/* ---- names in a folder ----------------------------------------------------------------------------- */

/* Makes n files of a page each, called `before`, a number and `behind`; one without a number has digits 0. */
static void make_files(const char *before, int digits, const char *behind, int n, int first_page)
{
    for (int i = 0; i < n; i++) {
        struct tiff_writing w = ts_tiff_plain;
        char number[16] = "";
        w.n_pages = 1;
        w.first_page = first_page + i;
        if (digits > 0)
            snprintf(number, sizeof number, "%0*d", digits, i);
        snprintf(path, sizeof path, "%s/%s%s%s", folder, before, number, behind);
        ts_tiff_write(path, &w);
    }
    snprintf(path, sizeof path, "%s", folder);
}

Test(tiff_stacks, a_folder_of_several_kinds_is_read_by_the_pattern_of_the_hint)
{
    static const struct {
        struct {
            const char *before;
            int digits;
            const char *behind;
        } names[3];
        const char *hint, *pattern;
    } rows[] = {
        {{{"tomo_", 4, ".tif"}, {"flat_", 4, ".tif"}, {"dark_", 4, ".tif"}},
         "pattern: \"tomo_*.tif\" takes",
         "tomo_*.tif"},
        {{{"scan_", 1, ".tif"}, {"scan_flat_", 1, ".tif"}, {"scan_", 1, "_dark.tif"}},
         "pattern: \"scan_flat_*.tif\" takes",
         "scan_flat_*.tif"},
        {{{"", 3, ".tif"}, {"", 3, "_ref.tif"}, {"ave", 0, ".tif"}}, "pattern: \"*_ref.tif\" takes", "*_ref.tif"},
        {{{"a_", 2, " (1).tif"}, {"a_", 2, ".tif"}, {"b", 0, ".tif"}}, "pattern: \"a_??.tif\" takes", "a_??.tif"},
    };
    end();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char rest[300];
        struct source *source;
        begin();
        const int counts[3] = {6, i == 0 ? 2 : 7, rows[i].names[2].digits ? 2 : 1};
        for (int k = 0; k < 3; k++)
            make_files(rows[i].names[k].before, rows[i].names[k].digits, rows[i].names[k].behind, counts[k],
                       (const int[]){0, 40, 60}[k]);
        ts_diag_clear(diag);
        cr_assert_eq(ts_tiff_chain_open(VIEWS, path, &source, diag), TS_BAD_INPUT, "row %zu", i);
        ts_test_expect(diag, "tiff-names", "holds files of 3 kinds");
        cr_assert_not_null(strstr(ts_diag_get(diag, 0)->hint, rows[i].hint), "%s", ts_diag_get(diag, 0)->hint);
        snprintf(rest, sizeof rest, SLICES ", pattern: \"%s\"", rows[i].pattern);
        const int pages[] = {
            i == 0 ? 0 : 40, i == 0 ? 1 : 41, i == 0 ? 2 : 42, i == 0 ? 3 : 43, i == 0 ? 4 : 44, i == 0 ? 5 : 45, 46};
        expect_pages(rest, i == 0 ? 6 : 7, pages);
        source = ts_tiff_opened(SLICES ", pattern: \"*\"", path);
        cr_assert_eq(source->n_slices, i == 0 ? 10 : i == 1 ? 15 : 14);
        source->ops->close(source);
        ts_tiff_refused(SLICES ", pattern: \"no*.tif\"", path, "no-image", "has a name of the pattern no*.tif");
        end();
    }
    begin();
}

Test(tiff_stacks, names_without_numbers_and_other_suffixes_are_no_kinds)
{
    make_files("bottom", 0, ".tif", 1, 0);
    make_files("middle", 0, ".tif", 1, 1);
    make_files("top", 0, ".tif", 1, 2);
    expect_pages(SLICES, 3, (const int[]){0, 1, 2});
    end();
    begin();
    make_files("a_1", 0, ".tif", 1, 0);
    make_files("a_2", 0, ".TIFF", 1, 1);
    make_files("a_10", 0, ".Tif", 1, 2);
    expect_pages(SLICES, 3, (const int[]){0, 1, 2});
}

Test(tiff_stacks, a_list_of_files_is_read_in_its_order)
{
    static struct program_outcome outcome;
    make_files("v_", 1, ".tif", 3, 0);
    char chain[800];
    snprintf(chain, sizeof chain,
             "tomostage: 2\ninput: {tiff: [v_2.tif, v_0.tif], pages: slices, pixel_size: 1, spacing_z: 1}\n"
             "stages: []\noutput: {tiff: out}\n");
    ts_test_chain_runs(chain, folder);
    snprintf(path, sizeof path, "%s/out", folder);
    expect_pages(SLICES, 2, (const int[]){2, 0});
    ts_program_run(folder,
                   ARGUMENTS("check", "tiff v_1.tif,none.tif pages=slices pixel_size=1 spacing_z=1 | hdf5 o.h5"),
                   &outcome);
    cr_assert_eq(outcome.code, 3, "%s", outcome.err);
    cr_assert_not_null(strstr(outcome.err, "none.tif"), "%s", outcome.err);
}

/* The names of a scan with signed angles: their order is that of the angles, and one that is missing is told. */
Test(tiff_stacks, signed_angles_in_names_are_numbers)
{
    static const char *const names[] = {"p_-10.5deg", "p_-10deg", "p_-9.5deg", "p_-9deg", "p_8deg"};
    for (int i = 0; i < 4; i++)
        make_files(names[i], 0, ".tif", 1, i);
    expect_pages(SLICES, 4, (const int[]){0, 1, 2, 3});
    struct source *source = ts_tiff_opened(VIEWS, path);
    source->ops->close(source);
    make_files(names[4], 0, ".tif", 1, 4);
    ts_tiff_refused(VIEWS, path, "page-missing", "the number -8.5 is missing");
}

/* Names in the order that they should have, what becomes of them, and what `pattern: "*"` makes of them. */
struct order {
    const char *names[8];
    const char *code, *hint; /* NULL: taken in silence */
    const char *code_of_all; /* with the pattern *, an error; NULL: taken in this order */
    const char *pattern;     /* of the first ones, n of them; NULL: none */
    int n;
};

Test(tiff_stacks, names_say_their_order_or_are_refused)
{
    static const struct order rows[] = {
        /* decimal numbers */
        {.names = {"p_0", "p_0.75", "p_1.5", "p_2.25", "p_3", "p_10.5"}},
        {.names = {"p_0.0", "p_0.25", "p_0.5", "p_0.75", "p_1.0", "p_1.25"}},
        {.names = {"p_0.05_x", "p_0.1_x", "p_0.15_x", "p_0.2_x", "p_1_x"}},
        {.names = {"p_1.0e-01", "p_5.0e-01", "p_1.0e+00", "p_2.0e+00", "p_1.0e+01", "p_1.1e+01"}},
        {.names = {"a_9.5", "a_10.0", "a_10.5", "a_11.0"}},
        /* counters and dates */
        {.names = {"p1.8", "p1.9", "p1.10", "p1.11"}},
        {.names = {"2024.01.9", "2024.01.10", "2024.01.11"}},
        {.names = {"scan_2024_0001", "scan_2024_0002", "scan_2024_0003"}},
        {.names = {"2020-01-01T10_00_00", "2020-01-01T10_00_30", "2020-01-01T10_01_00", "2020-01-01T10_01_30"}},
        {.names = {"x_20240131_235930", "x_20240131_235945", "x_20240201_000000", "x_20240201_000015"}},
        {.names = {"s1_1", "s1_2", "s2_3", "s2_4"}},
        {.names = {"p_0001_-10deg", "p_0002_-5deg", "p_0003_0deg", "p_0004_-10deg"}},
        /* either */
        {.names = {"p_0.9", "p_1.12", "p_1.7"},
         .code = "tiff-order",
         .hint = "tiff: [FILE",
         .code_of_all = "tiff-order"},
        {.names = {"v_3.11", "v_3.12", "v_3.9"},
         .code = "tiff-order",
         .hint = "tiff: [FILE",
         .code_of_all = "tiff-order"},
        {.names = {"a0.3x", "a0.25x", "a1.5x"},
         .code = "tiff-order",
         .hint = "tiff: [FILE",
         .code_of_all = "tiff-order"},
        /* several runs */
        {.names = {"s1_1", "s1_2", "s1_3", "s2_1", "s2_2", "s2_3"},
         .code = "tiff-names",
         .hint = "pattern: \"s1_*.tif\" takes",
         .pattern = "s1_*.tif",
         .n = 3},
        {.names = {"p0_000", "p0_001", "p1_000", "p1_001"},
         .code = "tiff-names",
         .hint = "pattern: \"p0_*.tif\" takes",
         .pattern = "p0_*.tif",
         .n = 2},
        {.names = {"view_001_z_01", "view_001_z_02", "view_002_z_01", "view_002_z_02"},
         .code = "tiff-names",
         .hint = "pattern: \"view_001_z_*.tif\" takes",
         .pattern = "view_001_z_*.tif",
         .n = 2},
        {.names = {"p_000_1", "p_000_2", "p_001_1", "p_001_2", "p_002_1", "p_002_2"},
         .code = "tiff-names",
         .hint = "pattern: \"p_*_1.tif\" takes the files of one scan if it has 3, pattern: \"p_000_*.tif\" if it has 2",
         .pattern = "p_000_*.tif",
         .n = 2},
        {.names = {"s1_5", "s1_6", "s2_1", "s2_2"},
         .code = "tiff-names",
         .hint = "pattern: \"s1_*.tif\" takes the files of one; ",
         .pattern = "s1_*.tif",
         .n = 2},
        {.names = {"r1_1_5deg", "r1_2_10deg", "r2_1_5deg", "r2_2_10deg"},
         .code = "tiff-names",
         .hint = "pattern: \"r1_*_*deg.tif\" takes",
         .pattern = "r1_*_*deg.tif",
         .n = 2},
        /* names that say no order */
        {.names = {"8", "9", "a", "b", "10", "11"},
         .code = "tiff-names",
         .hint = "tiff: [FILE",
         .code_of_all = "tiff-order"},
        {.names = {"s_08", "s_09", "s_0a", "s_0b", "s_10", "s_11", "s_1a", "s_1b"},
         .code = "tiff-names",
         .hint = "tiff: [FILE",
         .code_of_all = "tiff-order"},
        {.names = {"img0_A", "IMG1_A", "img2_A", "IMG3_A"},
         .code = "tiff-names",
         .hint = "tiff: [FILE",
         .code_of_all = "tiff-order"},
        {.names = {"a-12", "a-6", "a0", "a6"},
         .code = "tiff-names",
         .hint = "tiff: [FILE",
         .code_of_all = "tiff-order"},
    };
    end();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int n = 0, pages[8];
        struct source *source = NULL;
        begin();
        for (; n < 8 && rows[i].names[n]; n++) {
            make_files(rows[i].names[n], 0, ".tif", 1, n);
            pages[n] = n;
        }
        ts_diag_clear(diag);
        const enum ts_status status = ts_tiff_chain_open(SLICES, path, &source, diag);
        if (rows[i].code) {
            cr_assert_eq(status, TS_BAD_INPUT, "row %zu", i);
            cr_expect_str_eq(ts_diag_get(diag, 0)->code, rows[i].code, "row %zu", i);
            cr_expect(strstr(ts_diag_get(diag, 0)->hint, rows[i].hint), "row %zu: %s", i, ts_diag_get(diag, 0)->hint);
        } else {
            cr_assert_eq(status, TS_OK, "row %zu: %s", i, ts_diag_get(diag, 0)->message);
            cr_expect_null(ts_test_record(diag, "tiff-order"), "row %zu", i);
            source->ops->close(source);
            expect_pages(SLICES, n, pages);
        }
        if (rows[i].code_of_all)
            ts_tiff_refused(SLICES ", pattern: \"*\"", path, rows[i].code_of_all, "");
        else
            expect_pages(SLICES ", pattern: \"*\"", n, pages);
        char rest[300];
        snprintf(rest, sizeof rest, SLICES ", pattern: \"%s\"", rows[i].pattern ? rows[i].pattern : "*");
        if (rows[i].pattern)
            expect_pages(rest, rows[i].n, pages);
        end();
    }
    begin();
}

/* Names in the order of several numbers from left to right, and the places of the files in the order of the one that
 * counts; NULL: refused. */
struct counted {
    const char *names[8];
    const int *listed, *even; /* by a list of angles, by a range of them */
};

static const int kept[] = {0, 1, 2, 3, 4, 5, 6, 7}, turned[] = {5, 4, 3, 2, 1, 0}, interlaced[] = {0, 2, 4, 1, 3, 5},
                 golden[] = {0, 4, 2, 5, 3, 1}, woven[] = {0, 3, 1, 4, 2, 5};

/* Row 1 of the pages k is at 40 of slices, and at view k of the second slice of views. */
static void expect_order(const char *name, const char *rest, const int *order, int n)
{
    struct source *source = NULL;
    ts_diag_clear(diag);
    const enum ts_status status = ts_tiff_chain_open(rest, path, &source, diag);
    cr_expect_eq(status, order ? TS_OK : TS_BAD_INPUT, "%s %s", name, rest);
    if (!order)
        ts_test_expect(diag, "tiff-order", "several numbers run in names");
    if (status != TS_OK)
        return;
    cr_expect_eq(ts_test_record(diag, "tiff-order") != NULL, order != kept, "%s %s", name, rest);
    uint16_t *data = read_all(source);
    const bool views = source->image.axes[1].kind == TS_AXIS_VIEW;
    for (int k = 0; order && k < n; k++)
        cr_expect_eq(data[views ? (n + k) * TIFF_COLUMNS + 3 : k * TIFF_ROWS * TIFF_COLUMNS + 40],
                     ts_tiff_value(TS_U16, order[k], 1, 3), "%s %s, page %d", name, rest, k);
    free(data);
    source->ops->close(source);
}

Test(tiff_stacks, of_several_numbers_that_run_the_counter_gives_the_order)
{
    static const struct counted rows[] = {
        {{"GR_0.0_000", "GR_42.4922_005", "GR_68.7539_002", "GR_84.9844_004", "GR_111.2461_001", "GR_153.7_003"},
         golden,
         golden},
        {{"s_0_1", "s_67_6", "s_68_3", "s_90_5", "s_134_2", "s_171_4"}, golden, golden},
        {{"s_000_000", "s_030_003", "s_060_001", "s_090_004", "s_120_002", "s_150_005"}, interlaced, NULL},
        {{"s_-75_000", "s_-45_003", "s_-15_001", "s_15_004", "s_45_002", "s_75_005"}, interlaced, NULL},
        /* the counter restarts nowhere, though angles come back */
        {{"g_0_10", "g_0_12", "g_0_14", "g_90_11", "g_90_13", "g_90_15"}, woven, NULL},
        /* falling angles */
        {{"s_0_105", "s_30_104", "s_60_103", "s_90_102", "s_120_101", "s_150_100"}, turned, kept},
        {{"s_0001_150", "s_0002_120", "s_0003_90", "s_0004_60", "s_0005_30", "s_0006_0"}, kept, kept},
        /* what else is in names */
        {{"s_0001_23.51", "s_0002_23.49", "s_0003_23.5", "s_0004_22", "s_0005_24.01", "s_0006_23.9"}, kept, kept},
        {{"s_0.0_17", "s_0.5_92", "s_1.0_13", "s_1.5_55", "s_2.0_40", "s_2.5_71"}, kept, kept},
        {{"s_0001_1723", "s_0002_1760", "s_0003_1801", "s_0004_1833", "s_0005_1871", "s_0006_1912"}, kept, kept},
        /* two that count, and none that does */
        {{"s_0_0", "s_1_3", "s_2_1", "s_3_4", "s_4_2", "s_5_5"}, NULL, NULL},
        {{"s_0.0_1723", "s_42.5_1912", "s_68.8_1801", "s_85_1871", "s_111.2_1760", "s_153.7_1833"}, NULL, NULL},
        {{"s_0.0_20240131_235930", "s_42.5_20240201_000047", "s_68.8_20240131_235955", "s_85_20240201_000012",
          "s_111_20240131_235941", "s_154_20240201_000001"},
         NULL,
         NULL},
    };
    end();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin();
        int n = 0;
        for (; n < 8 && rows[i].names[n]; n++)
            make_files(rows[i].names[n], 0, ".tif", 1, n);
        expect_order(rows[i].names[0], "pages: views, pixel_size: 0.5, angles: [0, 1, 2, 3, 4, 5]", rows[i].listed, n);
        if (rows[i].listed != woven) { /* else two scans */
            expect_order(rows[i].names[0], SLICES, rows[i].even, n);
            struct source *flats = ts_tiff_opened("pages: views, pixel_size: 0.5, frames: flats", path);
            flats->ops->close(flats);
        }
        end();
    }
    begin();
}

/* Two scans whose numbers have other widths, or other suffixes, are not read by turns. */
Test(tiff_stacks, a_number_that_is_there_twice_is_refused)
{
    static const struct {
        const char *names[6]; /* in their order, with the suffix */
        const char *pattern;  /* of the hint; NULL: another hint */
        int n, pages[3];      /* that it takes */
    } rows[] = {
        {{"p_0.tif", "p_0000.tif", "p_0001.tif", "p_1.tif", "p_0002.tif", "p_2.tif"}, "p_????.tif", 3, {1, 2, 4}},
        {{"p_00.tif", "p_000.tif", "p_001.tif", "p_01.tif"}, "p_???.tif", 2, {1, 2}},
        {{"s1_01deg.tif", "s1_1deg.tif", "s1_02deg.tif", "s1_2deg.tif"}, "s?_??deg.tif", 2, {0, 2}},
        {{"p_1.tif", "p_2.tif", "p_1.tiff", "p_2.tiff"}, "p_*.tiff", 2, {2, 3}},
        {{"p_1.tif", "p_1.tiff", "p_2.tif"}, NULL, 0, {0}},
        {{"p_0.tif", "p_00.tif", "p_000.tif", "p_0001.tif"}, NULL, 0, {0}},
        {{"p_00.tif", "p_0.tif", "p_10.tif", "p_11.tif"}, NULL, 0, {0}}, /* p_?? has a gap */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char words[300];
        struct source *source = NULL;
        for (int k = 0; k < 6 && rows[i].names[k]; k++)
            make_files(rows[i].names[k], 0, "", 1, k);
        ts_diag_clear(diag);
        cr_assert_eq(ts_tiff_chain_open(SLICES, path, &source, diag), TS_BAD_INPUT, "row %zu", i);
        ts_test_expect(diag, "tiff-names", "holds two files of the same number");
        snprintf(words, sizeof words, "pattern: \"%s\" takes the files of one scan", rows[i].pattern);
        cr_expect(strstr(ts_diag_get(diag, 0)->hint, rows[i].pattern ? words : "tiff: [FILE"), "row %zu: %s", i,
                  ts_diag_get(diag, 0)->hint);
        snprintf(words, sizeof words, SLICES ", pattern: \"%s\"", rows[i].pattern);
        if (rows[i].pattern)
            expect_pages(words, rows[i].n, rows[i].pages);
        end();
        begin();
    }
    make_files("v9", 0, ".tif", 1, 0); /* other widths of other numbers */
    make_files("v0010", 0, ".tif", 1, 1);
    make_files("v11", 0, ".tif", 1, 2);
    expect_pages(SLICES, 3, (const int[]){0, 1, 2});
}

/* The path, its pattern and what stands beside it, in any of these forms; the chain lies in the folder. */
Test(tiff_stacks, a_map_or_a_pattern_is_a_path)
{
    static const struct {
        const char *input;
        int n, pages[3];
    } rows[] = {
        {"tiff: {pattern: 'v_*.tif'}, " SLICES, 3, {0, 1, 2}},
        {"tiff: {path: ., pattern: 'v_*.tif', " SLICES "}", 3, {0, 1, 2}},
        {"tiff: {folder: ., pattern: 'w_*.tif'}, " SLICES, 2, {10, 11}},
        {"tiff: {files: [w_1.tif, v_0.tif], " SLICES "}", 2, {11, 0}},
        {"tiff: {tiff: v_1.tif, " SLICES "}", 1, {1}},
        {"tiff: {pattern: './v_*.tif'}, " SLICES, 3, {0, 1, 2}},
        {"tiff: 'v_*.tif', " SLICES, 3, {0, 1, 2}},
        {"tiff: './v_?.tif', " SLICES, 3, {0, 1, 2}},
        {"tiff: ['w_*.tif', v_2.tif], " SLICES, 3, {10, 11, 2}},
        {"tiff: {pattern: ['w_*.tif', 'v_2.*']}, " SLICES, 3, {10, 11, 2}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char chain[800];
        make_files("v_", 1, ".tif", 3, 0);
        make_files("w_", 1, ".tif", 2, 10);
        snprintf(chain, sizeof chain, "tomostage: 2\ninput: {%s}\nstages: []\noutput: {tiff: out}\n", rows[i].input);
        ts_test_chain_runs(chain, folder);
        snprintf(path, sizeof path, "%s/out", folder);
        expect_pages(SLICES, rows[i].n, rows[i].pages);
        end();
        begin();
    }
}

/* The pattern of a map stays where the command line names another folder. */
Test(tiff_stacks, the_pattern_of_a_map_holds_in_any_folder)
{
    static struct program_outcome outcome;
    static const char chain[] = "tomostage: 2\ninput: {tiff: {pattern: 'v_*.tif'}, " SLICES "}\nstages: []\n"
                                "output: {tiff: out}\n";
    char name[300];
    make_files("v_", 1, ".tif", 3, 0);
    make_files("w_", 1, ".tif", 2, 10);
    snprintf(name, sizeof name, "%s/c.yaml", folder);
    ts_fixture_write_bytes(name, chain, sizeof chain - 1);
    ts_program_run(folder, ARGUMENTS("run", "c.yaml", "-i", folder, "--quiet"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    snprintf(path, sizeof path, "%s/out", folder);
    expect_pages(SLICES, 3, (const int[]){0, 1, 2});
}

Test(tiff_stacks, a_map_that_cannot_be_a_path_is_refused)
{
    static struct program_outcome outcome;
    static const char *const rows[][2] = {
        {"tiff: {path: ., pages: slices}, pages: slices, pixel_size: 1, spacing_z: 1", "duplicate-key"},
        {"tiff: {path: ., tiff: v_1.tif, " SLICES "}", "unknown-parameter"},
        {"tiff: {pages: slices}, pixel_size: 1, spacing_z: 1", "parameter-missing"},
        {"tiff: {pattern: 'x_*.tif'}, " SLICES, "no-image"},
        {"tiff: 'gone_*.tif', " SLICES, "no-image"},
        {"tiff: 'gone/v_*.tif', " SLICES, "input-unreadable"},
        {"tiff: {path: {path: .}}, " SLICES, "wrong-kind"},
    };
    make_files("v_", 1, ".tif", 3, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char chain[800], name[300];
        snprintf(name, sizeof name, "%s/c.yaml", folder);
        snprintf(chain, sizeof chain, "tomostage: 2\ninput: {%s}\nstages: []\noutput: {tiff: out}\n", rows[i][0]);
        ts_fixture_write_bytes(name, chain, strlen(chain));
        ts_program_run(folder, ARGUMENTS("check", "c.yaml"), &outcome);
        cr_expect(outcome.code == 2 || outcome.code == 3, "%s: %d", rows[i][0], outcome.code);
        cr_expect_not_null(strstr(outcome.err, rows[i][1]), "%s: %s", rows[i][0], outcome.err);
    }
}

Test(tiff_stacks, flats_that_are_not_alike_are_warned_of)
{
    make_files("f_", 1, ".tif", 3, 0); /* ts_tiff_value differs from page to page */
    struct source *source =
        open_warned("pages: views, frames: flats, pixel_size: 1", "flats-differ", "the 3 flats are not alike");
    source->ops->close(source);
    end();
    begin();
    make_files("f", 0, "_a.tif", 1, 7);
    make_files("f", 0, "_b.tif", 1, 7);
    ts_diag_clear(diag);
    cr_assert_eq(ts_tiff_chain_open("pages: views, frames: flats, pixel_size: 1", path, &source, diag), TS_OK);
    cr_assert_eq(ts_diag_count(diag), 0);
    source->ops->close(source);
}

/* ---- values ---------------------------------------------------------------------------------------- */

static struct source *open_values(const void *values, size_t bytes, uint32_t bits, uint32_t format, bool big_endian)
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
    static const uint16_t halves[4] = {0x3C00, 0xC000, 0x7BFF, 0x0001}, swapped[4] = {0x003C, 0x00C0, 0xFF7B, 0x0100};
    static const float half_values[4] = {1, -2, 65504, 5.9604644775390625e-8F};
    static const int64_t whole[4] = {-3, 1 << 24, (INT64_C(1) << 53) + 1, INT64_MIN};
    static const uint64_t unsigned_values[4] = {3, 16777217, 5, UINT64_MAX};
    for (int big = 0; big < 2; big++) {
        struct source *source = open_values(big ? swapped : halves, sizeof halves, 16, SAMPLEFORMAT_IEEEFP, big);
        cr_assert_eq(source->image.dtype, TS_F32);
        float *data = read_all(source);
        cr_assert_arr_eq(data, half_values, sizeof half_values);
        free(data);
        source->ops->close(source);
    }
    struct source *source = open_values(whole, sizeof whole, 64, SAMPLEFORMAT_INT, false);
    cr_assert_eq(source->image.dtype, TS_F32);
    float *data = read_all(source);
    cr_assert(data[0] == -3 && data[1] == 16777216 && data[2] == 9007199254740992.0F &&
              data[3] == -9223372036854775808.0F);
    ts_test_expect_rounding(source, -1, 1);
    free(data);
    source->ops->close(source);
    source = open_values(unsigned_values, sizeof unsigned_values, 64, SAMPLEFORMAT_UINT, false);
    data = read_all(source);
    cr_assert(data[0] == 3 && data[1] == 16777216 && data[3] == 18446744073709551616.0F);
    ts_test_expect_rounding(source, -1, 1);
    free(data);
    source->ops->close(source);
}

Test(tiff_stacks, zero_is_white_is_warned_of_and_a_resolution_that_differs)
{
    static const uint16_t values[4] = {1, 2, 3, 60000};
    struct raw raw = {.width = 4, .height = 1, .bits = 16, .values = values, .bytes = sizeof values};
    write_raw(&raw); /* photometric 0 */
    struct source *source = open_warned(SLICES, "tiff-inverted", "1 page says that zero is white");
    uint16_t *data = read_all(source);
    cr_assert_arr_eq(data, values, sizeof values);
    free(data);
    source->ops->close(source);
    raw.photometric = PHOTOMETRIC_MINISBLACK;
    raw.per_cm = 10000;
    write_raw(&raw);
    source = open_warned(SLICES, "pixel-size-differs",
                         "rows are 0.001 mm apart and columns 0.001 mm, and pixel_size is 0.5");
    source->ops->close(source);
    ts_diag_clear(diag);
    cr_assert_eq(ts_tiff_chain_open("pages: slices, pixel_size: 0.001, spacing_z: 1", path, &source, diag), TS_OK);
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        cr_assert_str_neq(ts_diag_get(diag, i)->code, "pixel-size-differs");
    source->ops->close(source);
}
