/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole chains over TIFF files: from the counts of a scan to transmissions, where projections,
 * flats and darks are inputs of their own and only projections have angles, and what is refused or
 * told on the way.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <tiffio.h>
#include <unistd.h>

#include "io/scan/tiff.h"
#include "pipeline/chain/chain.h"
#include "tests/files/dicom_open.h"
#include "tests/files/hdf5_data.h"
#include "tests/files/output_fixture.h"
#include "tests/support/chain_run.h"
#include "tests/support/folders.h"
#include "tests/support/program.h"

enum { COLUMNS = 11, ROWS = 5, VIEWS = 7, FLATS = 3, DARKS = 2 };

static char folder[256];

static void begin(void)
{
    ts_test_folder_in_memory(folder, sizeof folder);
}

static void end(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(tiff_frames, .init = begin, .fini = end);

static int dark_at(int frame, int y, int x)
{
    return 100 + 2 * frame + y + x % 3;
}

static int flat_at(int frame, int y, int x)
{
    return 4000 + 6 * frame + 10 * y + 3 * x;
}

static int count_at(int view, int y, int x)
{
    return 700 + 50 * view + 20 * y + 7 * x;
}

/* name.tif of n pages, or the folder `name` of n files of one. */
static void write_frames(const char *name, int n, bool apart,
                         int (*value_at)(int frame, int y, int x))
{
    char path[512];
    TIFF *tiff = NULL;
    if (apart) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
        cr_assert_eq(mkdir(path, 0777), 0);
    }
    for (int frame = 0; frame < n; frame++) {
        snprintf(path, sizeof path, apart ? "%s/%s/%d.tif" : "%s/%s", folder, name, frame + 8);
        if (!tiff)
            tiff = TIFFOpen(path, "w");
        cr_assert_not_null(tiff);
        TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, COLUMNS);
        TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, ROWS);
        TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 16);
        TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        for (int y = 0; y < ROWS; y++) {
            uint16_t row[COLUMNS];
            for (int x = 0; x < COLUMNS; x++)
                row[x] = (uint16_t)value_at(frame, y, x);
            cr_assert_eq(TIFFWriteScanline(tiff, row, (uint32_t)y, 0), 1);
        }
        cr_assert(TIFFWriteDirectory(tiff));
        if (apart) {
            TIFFClose(tiff);
            tiff = NULL;
        }
    }
    if (tiff)
        TIFFClose(tiff);
}

static double mean_of(int n, int (*value_at)(int frame, int y, int x), int y, int x)
{
    double sum = 0;
    for (int frame = 0; frame < n; frame++)
        sum += value_at(frame, y, x);
    return sum / n;
}

Test(tiff_frames, flats_and_darks_need_no_angles)
{
    static const char chain[] =
        "tomostage: 2\n"
        "input: {tiff: projections, pages: views, pixel_size: 0.5, angle_start: 0, angle_stop: "
        "180}\n"
        "inputs:\n"
        "  flats: {tiff: flats.tif, pages: views, frames: flats, pixel_size: 0.5}\n"
        "  darks: {tiff: darks, pages: views, frames: darks, pixel_size: 0.5}\n"
        "stages:\n  - flat_field: {flats: flats, darks: darks}\noutput: {hdf5: out.h5}\n";
    char path[512];
    size_t n;
    write_frames("projections", VIEWS, true, count_at);
    write_frames("flats.tif", FLATS, false, flat_at);
    write_frames("darks", DARKS, true, dark_at);
    ts_test_chain_runs(chain, folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    double *values = ts_test_read_hdf5_at(path, "/entry/data/data", &n);
    cr_assert_eq(n, ROWS * VIEWS * COLUMNS);
    for (int y = 0; y < ROWS; y++)
        for (int view = 0; view < VIEWS; view++)
            for (int x = 0; x < COLUMNS; x++) {
                const double dark = mean_of(DARKS, dark_at, y, x),
                             flat = mean_of(FLATS, flat_at, y, x);
                cr_assert_float_eq(values[(y * VIEWS + view) * COLUMNS + x],
                                   (count_at(view, y, x) - dark) / (flat - dark), 1e-6, "%d %d %d",
                                   y, view, x);
            }
    free(values);
}

/* Their views have numbers for positions, and no unit; a page may be a detector row here too. */
Test(tiff_frames, flats_and_darks_are_numbered)
{
    static const char *const pages[] = {"views", "sinograms"};
    write_frames("flats.tif", FLATS, false, flat_at);
    for (int i = 0; i < 4; i++) {
        char text[1024];
        struct ts_chain *chain = NULL;
        struct source *source = NULL;
        struct ts_diag *diag = ts_diag_create();
        snprintf(text, sizeof text,
                 "tomostage: 2\ninput: {tiff: flats.tif, pages: %s, frames: %s, pixel_size: "
                 "2}\nstages: [save: {name: a}]\noutput: {hdf5: r.h5}\n",
                 pages[i % 2], i / 2 ? "darks" : "flats");
        cr_assert_eq(ts_chain_parse(text, strlen(text), "test", folder, &chain, diag), TS_OK);
        cr_assert_eq(tiff_format.open(&chain->sources[0].set, &source, diag), TS_OK);
        const struct ts_axis *view = &source->image.axes[1];
        cr_assert(view->kind == TS_AXIS_VIEW && view->n == (i % 2 ? ROWS : FLATS) &&
                  !view->positions);
        cr_assert(view->first == 0 && view->spacing == 1);
        cr_assert_str_eq(view->unit, "");
        cr_assert_eq(source->image.quantity, TS_COUNTS);
        source->ops->close(source);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
    }
}

/* The unit of a file of angles is always the chain's word: more than two turns in radians are
 * taken, and told. */
Test(tiff_frames, degrees_that_the_chain_calls_radians_are_told)
{
    static const char chain[] = "tomostage: 2\ninput: {tiff: a.tif, pages: views, pixel_size: 1, "
                                "angles_file: angles.txt, angle_unit: radian}\n"
                                "stages:\n  - save: {name: a}\noutput: {hdf5: out.h5}\n";
    char path[512];
    write_frames("a.tif", FLATS, false, count_at);
    for (int i = 0; i < 2; i++) {
        struct ts_diag *diag = ts_diag_create();
        snprintf(path, sizeof path, "%s/angles.txt", folder);
        FILE *file = fopen(path, "w");
        cr_assert(file && fputs(i ? "0\n2\n6.2\n" : "0\n89.25\n178.5\n", file) >= 0 &&
                  fclose(file) == 0);
        cr_assert_eq(ts_test_chain(chain, folder, diag), TS_OK);
        if (i)
            cr_assert(!ts_test_has_code(diag, "angle-turns"));
        else
            ts_test_expect_warning(diag, "angle-turns",
                                   "the 3 angles in radians, as angle_unit says, are 28.41 turns");
        ts_diag_destroy(diag);
    }
}

Test(tiff_frames, a_range_of_degrees_that_the_chain_calls_radians_is_told)
{
    static const char *const ranges[][2] = {{"0, angle_stop: 180", "are 19.1 turns"},
                                            {"10, angle_stop: 370", "are 38.2 turns"},
                                            {"180, angle_stop: 0", "are 19.1 turns"},
                                            {"0, angle_stop: 180deg", NULL},
                                            {"0, angle_stop: 6", NULL}};
    write_frames("a.tif", FLATS, false, count_at);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        char chain[400];
        struct ts_diag *diag = ts_diag_create();
        snprintf(chain, sizeof chain,
                 "tomostage: 2\ninput: {tiff: a.tif, pages: views, pixel_size: 1, angle_start: %s, "
                 "angle_unit: radian}\n"
                 "stages:\n  - save: {name: a}\noutput: {hdf5: out.h5}\n",
                 ranges[i][0]);
        cr_assert_eq(ts_test_chain(chain, folder, diag), TS_OK);
        cr_expect_eq(ts_test_has_code(diag, "angle-turns"), ranges[i][1] != NULL, "%s",
                     ranges[i][0]);
        if (ranges[i][1])
            ts_test_expect_warning(diag, "angle-turns", ranges[i][1]);
        ts_diag_destroy(diag);
    }
}

/* Floats of 64 bits that one of 32 cannot hold, in either byte order; what is infinite or NaN stays
 * so. */
Test(tiff_frames, values_past_the_range_of_floats_are_refused)
{
    static const char chain[] =
        "tomostage: 2\ninput: {tiff: a.tif, pages: slices, pixel_size: 1, spacing_z: 1}\n"
        "stages:\n  - save: {name: a}\noutput: {hdf5: out.h5}\n";
    static const double wrong[] = {1e39, -1e300, INFINITY, NAN, 3.4e38, 1e-300};
    char path[512];
    snprintf(path, sizeof path, "%s/a.tif", folder);
    for (int i = 0; i < 12; i++) {
        double row[COLUMNS] = {1, 2, 3, 0.1};
        row[5] = wrong[i / 2];
        TIFF *tiff = TIFFOpen(path, i % 2 ? "wb" : "wl");
        TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, COLUMNS);
        TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 1);
        TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 64);
        TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_IEEEFP);
        TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        cr_assert_eq(TIFFWriteScanline(tiff, row, 0, 0),
                     1); /* may turn its bytes around in place */
        TIFFClose(tiff);
        if (i < 4) {
            ts_test_chain_refused(chain, folder, TS_BAD_INPUT, "tiff-range");
            continue;
        }
        ts_test_chain_runs(chain, folder);
        size_t n;
        char result[512];
        snprintf(result, sizeof result, "%s/out.h5", folder);
        double *values = ts_test_read_hdf5_at(result, "/entry/data/data", &n);
        const double expected = (float)wrong[i / 2];
        cr_assert(n == COLUMNS && values[3] == (double)0.1F);
        cr_assert(values[5] == expected || (isnan(values[5]) && isnan(expected)));
        free(values);
        cr_assert_eq(unlink(result), 0);
    }
}

Test(tiff_frames, projections_without_angles_are_refused)
{
    write_frames("projections", VIEWS, true, count_at);
    ts_test_chain_refused(
        "tomostage: 2\ninput: {tiff: projections, pages: views, pixel_size: 0.5}\n"
        "stages:\n  - save: {name: a}\noutput: {hdf5: out.h5}\n",
        folder, TS_BAD_CHAIN, "angles-missing");
}
