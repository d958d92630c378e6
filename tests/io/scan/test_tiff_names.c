/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of TIFF files in a folder: which are read, in which order, what is missing, and
 * patterns and lists that say so.
 */
#include <criterion/criterion.h>
#include <math.h>
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

TestSuite(tiff_names, .init = begin, .fini = end);

#define SLICES "pages: slices, pixel_size: 0.5, spacing_z: 2"
#define VIEWS "pages: views, pixel_size: 0.5, angle_start: 0, angle_stop: 180"

/* ---- names in a folder ----------------------------------------------------------------------- */

/* Makes n files of a page each, called `before`, a number and `behind`; one without a number has
 * digits 0. */
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

Test(tiff_names, a_folder_of_several_kinds_is_read_by_the_pattern_of_the_hint)
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
        {{{"", 3, ".tif"}, {"", 3, "_ref.tif"}, {"ave", 0, ".tif"}},
         "pattern: \"*_ref.tif\" takes",
         "*_ref.tif"},
        {{{"a_", 2, " (1).tif"}, {"a_", 2, ".tif"}, {"b", 0, ".tif"}},
         "pattern: \"a_??.tif\" takes",
         "a_??.tif"},
    };
    end();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char rest[300];
        struct source *source;
        begin();
        const int counts[3] = {6, i == 0 ? 2 : 7, rows[i].names[2].digits ? 2 : 1};
        for (int k = 0; k < 3; k++)
            make_files(rows[i].names[k].before, rows[i].names[k].digits, rows[i].names[k].behind,
                       counts[k], (const int[]){0, 40, 60}[k]);
        ts_diag_clear(diag);
        cr_assert_eq(ts_tiff_chain_open(VIEWS, path, &source, diag), TS_BAD_INPUT, "row %zu", i);
        ts_test_expect(diag, "tiff-names", "holds files of 3 kinds");
        cr_assert_not_null(strstr(ts_diag_get(diag, 0)->hint, rows[i].hint), "%s",
                           ts_diag_get(diag, 0)->hint);
        snprintf(rest, sizeof rest, SLICES ", pattern: \"%s\"", rows[i].pattern);
        const int pages[] = {i == 0 ? 0 : 40,
                             i == 0 ? 1 : 41,
                             i == 0 ? 2 : 42,
                             i == 0 ? 3 : 43,
                             i == 0 ? 4 : 44,
                             i == 0 ? 5 : 45,
                             46};
        ts_tiff_expect_pages(rest, path, i == 0 ? 6 : 7, pages);
        source = ts_tiff_opened(SLICES ", pattern: \"*\"", path);
        cr_assert_eq(source->n_slices, i == 0 ? 10 : i == 1 ? 15 : 14);
        source->ops->close(source);
        ts_tiff_refused(SLICES ", pattern: \"no*.tif\"", path, "no-image",
                        "has a name of the pattern no*.tif");
        end();
    }
    begin();
}

Test(tiff_names, names_without_numbers_and_other_suffixes_are_no_kinds)
{
    make_files("bottom", 0, ".tif", 1, 0);
    make_files("middle", 0, ".tif", 1, 1);
    make_files("top", 0, ".tif", 1, 2);
    ts_tiff_expect_pages(SLICES, path, 3, (const int[]){0, 1, 2});
    end();
    begin();
    make_files("a_1", 0, ".tif", 1, 0);
    make_files("a_2", 0, ".TIFF", 1, 1);
    make_files("a_10", 0, ".Tif", 1, 2);
    ts_tiff_expect_pages(SLICES, path, 3, (const int[]){0, 1, 2});
}

Test(tiff_names, a_list_of_files_is_read_in_its_order)
{
    static struct program_outcome outcome;
    make_files("v_", 1, ".tif", 3, 0);
    char chain[800];
    snprintf(chain, sizeof chain,
             "tomostage: 2\ninput: {tiff: [v_2.tif, v_0.tif], pages: slices, pixel_size: 1, "
             "spacing_z: 1}\n"
             "stages: []\noutput: {tiff: out}\n");
    ts_test_chain_runs(chain, folder);
    snprintf(path, sizeof path, "%s/out", folder);
    ts_tiff_expect_pages(SLICES, path, 2, (const int[]){2, 0});
    ts_program_run(
        folder,
        ARGUMENTS("check",
                  "tiff v_1.tif,none.tif pages=slices pixel_size=1 spacing_z=1 | hdf5 o.h5"),
        &outcome);
    cr_assert_eq(outcome.code, 3, "%s", outcome.err);
    cr_assert_not_null(strstr(outcome.err, "none.tif"), "%s", outcome.err);
}

/* The names of a scan with signed angles: their order is that of the angles, and one that is
 * missing is told. */
Test(tiff_names, signed_angles_in_names_are_numbers)
{
    static const char *const names[] = {"p_-10.5deg", "p_-10deg", "p_-9.5deg", "p_-9deg", "p_8deg"};
    for (int i = 0; i < 4; i++)
        make_files(names[i], 0, ".tif", 1, i);
    ts_tiff_expect_pages(SLICES, path, 4, (const int[]){0, 1, 2, 3});
    struct source *source = ts_tiff_opened(VIEWS, path);
    source->ops->close(source);
    make_files(names[4], 0, ".tif", 1, 4);
    ts_tiff_refused(VIEWS, path, "page-missing", "the number -8.5 is missing");
}

/* Names in the order that they should have, what becomes of them, and what `pattern: "*"` makes of
 * them. */
struct order {
    const char *names[8];
    const char *code, *hint; /* NULL: taken in silence */
    const char *code_of_all; /* with the pattern *, an error; NULL: taken in this order */
    const char *pattern;     /* of the first ones, n of them; NULL: none */
    int n;
};

Test(tiff_names, names_say_their_order_or_are_refused)
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
        {.names = {"2020-01-01T10_00_00", "2020-01-01T10_00_30", "2020-01-01T10_01_00",
                   "2020-01-01T10_01_30"}},
        {.names = {"x_20240131_235930", "x_20240131_235945", "x_20240201_000000",
                   "x_20240201_000015"}},
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
         .hint = "pattern: \"p_*_1.tif\" takes the files of one scan if it has 3, pattern: "
                 "\"p_000_*.tif\" if it has 2",
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
            cr_expect(strstr(ts_diag_get(diag, 0)->hint, rows[i].hint), "row %zu: %s", i,
                      ts_diag_get(diag, 0)->hint);
        } else {
            cr_assert_eq(status, TS_OK, "row %zu: %s", i, ts_diag_get(diag, 0)->message);
            cr_expect_null(ts_test_record(diag, "tiff-order"), "row %zu", i);
            source->ops->close(source);
            ts_tiff_expect_pages(SLICES, path, n, pages);
        }
        if (rows[i].code_of_all)
            ts_tiff_refused(SLICES ", pattern: \"*\"", path, rows[i].code_of_all, "");
        else
            ts_tiff_expect_pages(SLICES ", pattern: \"*\"", path, n, pages);
        char rest[300];
        snprintf(rest, sizeof rest, SLICES ", pattern: \"%s\"",
                 rows[i].pattern ? rows[i].pattern : "*");
        if (rows[i].pattern)
            ts_tiff_expect_pages(rest, path, rows[i].n, pages);
        end();
    }
    begin();
}

/* Names in the order of several numbers from left to right, and the places of the files in the
 * order of the one that counts; NULL: refused. */
struct counted {
    const char *names[8];
    const int *listed, *even; /* by a list of angles, by a range of them */
};

static const int kept[] = {0, 1, 2, 3, 4, 5, 6, 7}, turned[] = {5, 4, 3, 2, 1, 0},
                 interlaced[] = {0, 2, 4, 1, 3, 5}, golden[] = {0, 4, 2, 5, 3, 1},
                 woven[] = {0, 3, 1, 4, 2, 5};

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
    uint16_t *data = ts_test_read_all(source, diag);
    const bool views = source->image.axes[1].kind == TS_AXIS_VIEW;
    for (int k = 0; order && k < n; k++)
        cr_expect_eq(data[views ? (n + k) * TIFF_COLUMNS + 3 : k * TIFF_ROWS * TIFF_COLUMNS + 40],
                     ts_tiff_value(TS_U16, order[k], 1, 3), "%s %s, page %d", name, rest, k);
    free(data);
    source->ops->close(source);
}

Test(tiff_names, of_several_numbers_that_run_the_counter_gives_the_order)
{
    static const struct counted rows[] = {
        {{"GR_0.0_000", "GR_42.4922_005", "GR_68.7539_002", "GR_84.9844_004", "GR_111.2461_001",
          "GR_153.7_003"},
         golden,
         golden},
        {{"s_0_1", "s_67_6", "s_68_3", "s_90_5", "s_134_2", "s_171_4"}, golden, golden},
        {{"s_000_000", "s_030_003", "s_060_001", "s_090_004", "s_120_002", "s_150_005"},
         interlaced,
         NULL},
        {{"s_-75_000", "s_-45_003", "s_-15_001", "s_15_004", "s_45_002", "s_75_005"},
         interlaced,
         NULL},
        /* the counter restarts nowhere, though angles come back */
        {{"g_0_10", "g_0_12", "g_0_14", "g_90_11", "g_90_13", "g_90_15"}, woven, NULL},
        /* falling angles */
        {{"s_0_105", "s_30_104", "s_60_103", "s_90_102", "s_120_101", "s_150_100"}, turned, kept},
        {{"s_0001_150", "s_0002_120", "s_0003_90", "s_0004_60", "s_0005_30", "s_0006_0"},
         kept,
         kept},
        /* what else is in names */
        {{"s_0001_23.51", "s_0002_23.49", "s_0003_23.5", "s_0004_22", "s_0005_24.01",
          "s_0006_23.9"},
         kept,
         kept},
        {{"s_0.0_17", "s_0.5_92", "s_1.0_13", "s_1.5_55", "s_2.0_40", "s_2.5_71"}, kept, kept},
        {{"s_0001_1723", "s_0002_1760", "s_0003_1801", "s_0004_1833", "s_0005_1871", "s_0006_1912"},
         kept,
         kept},
        /* two that count, and none that does */
        {{"s_0_0", "s_1_3", "s_2_1", "s_3_4", "s_4_2", "s_5_5"}, NULL, NULL},
        {{"s_0.0_1723", "s_42.5_1912", "s_68.8_1801", "s_85_1871", "s_111.2_1760", "s_153.7_1833"},
         NULL,
         NULL},
        {{"s_0.0_20240131_235930", "s_42.5_20240201_000047", "s_68.8_20240131_235955",
          "s_85_20240201_000012", "s_111_20240131_235941", "s_154_20240201_000001"},
         NULL,
         NULL},
    };
    end();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin();
        int n = 0;
        for (; n < 8 && rows[i].names[n]; n++)
            make_files(rows[i].names[n], 0, ".tif", 1, n);
        expect_order(rows[i].names[0], "pages: views, pixel_size: 0.5, angles: [0, 1, 2, 3, 4, 5]",
                     rows[i].listed, n);
        if (rows[i].listed != woven) { /* else two scans */
            expect_order(rows[i].names[0], SLICES, rows[i].even, n);
            struct source *flats =
                ts_tiff_opened("pages: views, pixel_size: 0.5, frames: flats", path);
            flats->ops->close(flats);
        }
        end();
    }
    begin();
}

/* The range that the chain gives says which of the numbers is the angle. */
Test(tiff_names, of_several_numbers_that_run_the_angles_of_the_range_give_the_order)
{
    static const struct {
        const char *names[8], *range;
        const int *order; /* NULL: refused */
    } rows[] = {
        {{"s_000_000", "s_030_003", "s_060_001", "s_090_004", "s_120_002", "s_150_005"},
         "angle_start: 0, angle_stop: 180",
         kept},
        {{"s_-75_000", "s_-45_003", "s_-15_001", "s_15_004", "s_45_002", "s_75_005"},
         "angle_start: -75, angle_stop: 75, endpoint: true",
         kept},
        {{"s_000_10", "s_026_13", "s_051_11", "s_077_14", "s_103_12", "s_129_15", "s_154_16"},
         "angle_start: 0, angle_stop: 180",
         kept},
        {{"s_0.0_10", "s_25.7_13", "s_51.4_11", "s_77.1_14", "s_102.8_12", "s_128.5_15",
          "s_154.2_16"}, /* cut off */
         "angle_start: 0, angle_stop: 180deg",
         kept},
        {{"s_0_105", "s_30_104", "s_60_103", "s_90_102", "s_120_101", "s_150_100"},
         "angle_start: 0, angle_stop: 180",
         kept},
        {{"s_0_100", "s_30_103", "s_60_101", "s_90_104", "s_120_102", "s_150_105"},
         "angle_start: 150, angle_stop: -30",
         turned},
        {{"s_0001_150", "s_0002_120", "s_0003_90", "s_0004_60", "s_0005_30", "s_0006_0"},
         "angle_start: 0, angle_stop: 180",
         turned},
        /* not these angles, one of them missing, or a number beside them that has them too */
        {{"s_000_000", "s_030_003", "s_060_001", "s_090_004", "s_120_002", "s_150_005"},
         "angle_start: 0, angle_stop: 360",
         NULL},
        {{"s_000_000", "s_030_003", "s_060_001", "s_120_002", "s_150_005"},
         "angle_start: 0, angle_stop: 180",
         NULL},
        {{"s_0_0", "s_1_3", "s_2_1", "s_3_4", "s_4_2", "s_5_5"},
         "angle_start: 0, angle_stop: 6",
         NULL},
    };
    end();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char rest[200];
        begin();
        int n = 0;
        for (; n < 8 && rows[i].names[n]; n++)
            make_files(rows[i].names[n], 0, ".tif", 1, n);
        snprintf(rest, sizeof rest, "pages: views, pixel_size: 0.5, %s", rows[i].range);
        expect_order(rows[i].names[0], rest, rows[i].order, n);
        end();
    }
    begin();
}

/* Angles of 1.2 degrees in whole degrees have steps of one and two, as a counter with gaps has. */
Test(tiff_names, rounded_angles_of_the_range_have_no_gaps)
{
    static const struct {
        double step, rounding; /* of what is written, in its last digit */
        int n, digits, lost;   /* a file that is missing; 0: none */
        const char *range;
        bool taken;
    } rows[] = {{1.2, 0.5, 60, 0, 0, "0, angle_stop: 72", true},
                {1.45, 0, 60, 0, 0, "0, angle_stop: 87", true},
                {0.12, 0.5, 60, 1, 0, "0, angle_stop: 7.2", true},
                {1.2, 0.5, 61, 0, 0, "0, angle_stop: 72, endpoint: true", true},
                {1.2, 0.5, 60, 0, 0, "0, angle_stop: 60", false},
                {1, 0.5, 61, 0, 30, "0, angle_stop: 61", false},
                {1.2, 0.5, 20, 0, 0, "0, angle_stop: 24", false}};
    end();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double unit = rows[i].digits ? 0.1 : 1;
        char rest[200], name[32];
        begin();
        for (int k = 0; k < rows[i].n; k++) {
            snprintf(name, sizeof name, "p_%.*f", rows[i].digits,
                     floor(k * rows[i].step / unit + rows[i].rounding + 1e-9) * unit);
            if (k == 0 || k != rows[i].lost)
                make_files(name, 0, ".tif", 1, k);
        }
        snprintf(rest, sizeof rest, "pages: views, pixel_size: 0.5, angle_start: %s",
                 rows[i].range);
        if (rows[i].taken) {
            struct source *source = ts_tiff_opened(rest, path);
            source->ops->close(source);
        } else {
            ts_tiff_refused(rest, path, "page-missing", "is missing between");
        }
        end();
    }
    begin();
}

/* Two scans whose numbers have other widths, or other suffixes, are not read by turns. */
Test(tiff_names, a_number_that_is_there_twice_is_refused)
{
    static const struct {
        const char *names[6]; /* in their order, with the suffix */
        const char *pattern;  /* of the hint; NULL: another hint */
        int n, pages[3];      /* that it takes */
    } rows[] = {
        {{"p_0.tif", "p_0000.tif", "p_0001.tif", "p_1.tif", "p_0002.tif", "p_2.tif"},
         "p_????.tif",
         3,
         {1, 2, 4}},
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
        snprintf(words, sizeof words, "pattern: \"%s\" takes the files of one scan",
                 rows[i].pattern);
        cr_expect(strstr(ts_diag_get(diag, 0)->hint, rows[i].pattern ? words : "tiff: [FILE"),
                  "row %zu: %s", i, ts_diag_get(diag, 0)->hint);
        snprintf(words, sizeof words, SLICES ", pattern: \"%s\"", rows[i].pattern);
        if (rows[i].pattern)
            ts_tiff_expect_pages(words, path, rows[i].n, rows[i].pages);
        end();
        begin();
    }
    make_files("v9", 0, ".tif", 1, 0); /* other widths of other numbers */
    make_files("v0010", 0, ".tif", 1, 1);
    make_files("v11", 0, ".tif", 1, 2);
    ts_tiff_expect_pages(SLICES, path, 3, (const int[]){0, 1, 2});
}

/* The path, its pattern and what stands beside it, in any of these forms; the chain lies in the
 * folder. */
Test(tiff_names, a_map_or_a_pattern_is_a_path)
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
        snprintf(chain, sizeof chain,
                 "tomostage: 2\ninput: {%s}\nstages: []\noutput: {tiff: out}\n", rows[i].input);
        ts_test_chain_runs(chain, folder);
        snprintf(path, sizeof path, "%s/out", folder);
        ts_tiff_expect_pages(SLICES, path, rows[i].n, rows[i].pages);
        end();
        begin();
    }
}

/* The pattern of a map stays where the command line names another folder. */
Test(tiff_names, the_pattern_of_a_map_holds_in_any_folder)
{
    static struct program_outcome outcome;
    static const char chain[] =
        "tomostage: 2\ninput: {tiff: {pattern: 'v_*.tif'}, " SLICES "}\nstages: []\n"
        "output: {tiff: out}\n";
    char name[300];
    make_files("v_", 1, ".tif", 3, 0);
    make_files("w_", 1, ".tif", 2, 10);
    snprintf(name, sizeof name, "%s/c.yaml", folder);
    ts_fixture_write_bytes(name, chain, sizeof chain - 1);
    ts_program_run(folder, ARGUMENTS("run", "c.yaml", "-i", folder, "--quiet"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    snprintf(path, sizeof path, "%s/out", folder);
    ts_tiff_expect_pages(SLICES, path, 3, (const int[]){0, 1, 2});
}

Test(tiff_names, a_map_that_cannot_be_a_path_is_refused)
{
    static struct program_outcome outcome;
    static const char *const rows[][2] = {
        {"tiff: {path: ., pages: slices}, pages: slices, pixel_size: 1, spacing_z: 1",
         "duplicate-key"},
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
        snprintf(chain, sizeof chain,
                 "tomostage: 2\ninput: {%s}\nstages: []\noutput: {tiff: out}\n", rows[i][0]);
        ts_fixture_write_bytes(name, chain, strlen(chain));
        ts_program_run(folder, ARGUMENTS("check", "c.yaml"), &outcome);
        cr_expect(outcome.code == 2 || outcome.code == 3, "%s: %d", rows[i][0], outcome.code);
        cr_expect_not_null(strstr(outcome.err, rows[i][1]), "%s: %s", rows[i][0], outcome.err);
    }
}

Test(tiff_names, flats_that_are_not_alike_are_warned_of)
{
    make_files("f_", 1, ".tif", 3, 0); /* ts_tiff_value differs from page to page */
    struct source *source =
        ts_tiff_opened_warned("pages: views, frames: flats, pixel_size: 1", path, diag,
                              "flats-differ", "the 3 flats are not alike");
    source->ops->close(source);
    end();
    begin();
    make_files("f", 0, "_a.tif", 1, 7);
    make_files("f", 0, "_b.tif", 1, 7);
    ts_diag_clear(diag);
    cr_assert_eq(
        ts_tiff_chain_open("pages: views, frames: flats, pixel_size: 1", path, &source, diag),
        TS_OK);
    cr_assert_eq(ts_diag_count(diag), 0);
    source->ops->close(source);
}
