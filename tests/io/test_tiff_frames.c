/* SPDX-License-Identifier: Apache-2.0
 *
 * A scan in TIFF files from its counts to transmissions: projections, flats and darks are inputs of their own, and only
 * projections have angles.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <tiffio.h>

#include "io/tiff.h"
#include "pipeline/chain.h"
#include "tests/support/chain_run.h"
#include "tests/support/dicom_open.h"
#include "tests/support/folders.h"
#include "tests/support/hdf5_data.h"
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
static void write_frames(const char *name, int n, bool apart, int (*value_at)(int frame, int y, int x))
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
        "tomostage: 1\n"
        "input: {tiff: projections, pages: views, pixel_size: 0.5, angle_start: 0, angle_stop: 180}\n"
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
                const double dark = mean_of(DARKS, dark_at, y, x), flat = mean_of(FLATS, flat_at, y, x);
                cr_assert_float_eq(values[(y * VIEWS + view) * COLUMNS + x],
                                   (count_at(view, y, x) - dark) / (flat - dark), 1e-6, "%d %d %d", y, view, x);
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
                 "tomostage: 1\ninput: {tiff: flats.tif, pages: %s, frames: %s, pixel_size: 2}\nstages: [save: {name: "
                 "a}]\noutput: {hdf5: r.h5}\n",
                 pages[i % 2], i / 2 ? "darks" : "flats");
        cr_assert_eq(ts_chain_parse(text, strlen(text), "test", folder, &chain, diag), TS_OK);
        cr_assert_eq(tiff_format.open(&chain->sources[0].set, &source, diag), TS_OK);
        const struct ts_axis *view = &source->image.axes[1];
        cr_assert(view->kind == TS_AXIS_VIEW && view->n == (i % 2 ? ROWS : FLATS) && !view->positions);
        cr_assert(view->first == 0 && view->spacing == 1);
        cr_assert_str_eq(view->unit, "");
        cr_assert_eq(source->image.quantity, TS_COUNTS);
        source->ops->close(source);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
    }
}

Test(tiff_frames, projections_without_angles_are_refused)
{
    write_frames("projections", VIEWS, true, count_at);
    ts_test_chain_refused("tomostage: 1\ninput: {tiff: projections, pages: views, pixel_size: 0.5}\n"
                          "stages:\n  - save: {name: a}\noutput: {hdf5: out.h5}\n",
                          folder, TS_BAD_CHAIN, "angles-missing");
}
