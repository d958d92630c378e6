/* SPDX-License-Identifier: Apache-2.0
 *
 * Views that are left out: the others have the values and angles that they have in the whole.
 */
#include "io/source/drop_views.h"

#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/hdf5_data.h"
#include "tests/files/scan_file.h"
#include "tests/files/tiff_fixture.h"
#include "tests/support/chain_run.h"

static const char *place(const char *name)
{
    static char path[500];
    snprintf(path, sizeof path, "%s/%s", ts_scan_file.folder, name);
    return path;
}

/* A scan of 7 views, and 9 pages of TIFF. */
static void begin(void)
{
    static const double theta[SCAN_FRAMES] = {0, 26, 50, 77, 103, 129, 154.5};
    struct tiff_writing pages = ts_tiff_plain;
    pages.n_pages = 9;
    ts_scan_file_begin();
    H5Fclose(ts_scan_file_exchange(NULL, SCAN_FRAMES, theta));
    ts_tiff_write(place("pages.tif"), &pages);
    FILE *file = fopen(place("angles.txt"), "w");
    cr_assert(file && fputs("0\n20\n41\n60\n80\n101\n120\n140\n161\n", file) >= 0);
    fclose(file);
}

TestSuite(drop_views, .init = begin, .fini = ts_scan_file_end);

static void run(const char *input, const char *output)
{
    char text[2048];
    snprintf(text, sizeof text,
             "tomostage: 2\ninput: {%s}\nstages:\n  - save: {name: same}\noutput: {hdf5: %s}\n",
             input, output);
    ts_test_chain_runs(text, ts_scan_file.folder);
}

/* The numbers of n_z slices, one or a row for each of n views, are those of the views that are
 * kept. */
static void expect_kept(const char *path, size_t n_z, size_t n, const int *kept, size_t n_kept)
{
    size_t n_whole, n_cut;
    double *whole = ts_test_read_hdf5_at(place("whole.h5"), path, &n_whole),
           *cut = ts_test_read_hdf5_at(place("cut.h5"), path, &n_cut);
    const size_t row = n_whole / n_z / n;
    cr_assert_eq(n_cut, n_z * n_kept * row, "%s: %zu", path, n_cut);
    for (size_t i = 0; i < n_cut; i++) {
        const size_t z = i / row / n_kept, view = (size_t)kept[i / row % n_kept];
        cr_assert(cut[i] == whole[(z * n + view) * row + i % row], "%s: %zu", path, i);
    }
    free(whole);
    free(cut);
}

#define TIFF "tiff: pages.tif, pages: views, pixel_size: 0.5, "
#define HDF5 "hdf5: scan.h5, path: /exchange/data, axes: [view, z, detector], theta_start: 0, "

Test(drop_views, of_every_format)
{
    static const struct {
        const char *input, *drop;
        size_t n_z, n, n_kept;
        int kept[8];
    } rows[] = {
        {"exchange: scan.h5", "2", SCAN_ROWS, SCAN_FRAMES, 6, {0, 1, 3, 4, 5, 6}},
        {"exchange: scan.h5", "[5, 7]", SCAN_ROWS, SCAN_FRAMES, 5, {0, 1, 2, 3, 4}},
        {"exchange: scan.h5, slices: [1, 3]", "[[0, 1], [4, 6]]", 2, SCAN_FRAMES, 4, {1, 2, 3, 6}},
        {HDF5 "theta_stop: 180", "[0, 5]", SCAN_ROWS, SCAN_FRAMES, 2, {5, 6}},
        {TIFF "angle_start: 0, angle_stop: 180", "[3, 5]", 23, 9, 7, {0, 1, 2, 5, 6, 7, 8}},
        {TIFF "angles_file: angles.txt, angle_sense: y-to-x",
         "[[1, 2], [8, 9]]",
         23,
         9,
         7,
         {0, 2, 3, 4, 5, 6, 7}},
        {TIFF "angles: [0, 20, 41, 60, 80, 101, 120, 140, 161]",
         "0",
         23,
         9,
         8,
         {1, 2, 3, 4, 5, 6, 7, 8}},
        {TIFF "frames: flats", "4", 23, 9, 8, {0, 1, 2, 3, 5, 6, 7, 8}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char input[600];
        snprintf(input, sizeof input, "%s, drop_views: %s", rows[i].input, rows[i].drop);
        run(rows[i].input, "whole.h5");
        run(input, "cut.h5");
        expect_kept("/entry/data/data", rows[i].n_z, rows[i].n, rows[i].kept, rows[i].n_kept);
        expect_kept("/entry/data/view", 1, rows[i].n, rows[i].kept, rows[i].n_kept);
    }
}

/* The record has the angles of all views, as it drops some of them again. */
Test(drop_views, are_recorded)
{
    run(TIFF "angles_file: angles.txt, angle_offset: 1, drop_views: [2, 4]", "cut.h5");
    const hid_t file = H5Fopen(place("cut.h5"), H5F_ACC_RDONLY, H5P_DEFAULT),
                data = H5Dopen2(file, "/entry/provenance/chain", H5P_DEFAULT),
                type = H5Dget_type(data);
    char chain[4096] = "";
    cr_assert_lt(H5Tget_size(type), sizeof chain);
    cr_assert(H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, chain) >= 0);
    H5Tclose(type);
    H5Dclose(data);
    H5Fclose(file);
    cr_expect(strstr(chain, "angles: [1, 21, 42, 61, 81, 102, 121, 141, 162]"), "%s", chain);
    cr_expect(strstr(chain, "drop_views: [2, 4]"), "%s", chain);
}

Test(drop_views, refuses_what_is_none)
{
    static const char *const rows[][2] = {
        {"exchange: scan.h5", "7"},
        {"exchange: scan.h5", "[3, 3]"},
        {"exchange: scan.h5", "[5, 8]"},
        {"exchange: scan.h5", "[0, 7]"},
        {"exchange: scan.h5", "[1, 2, 3]"},
        {"exchange: scan.h5", "1.5"},
        {"exchange: scan.h5", "[[1, 2], [4, 3]]"},
        {"exchange: scan.h5, frames: flats", "2"},
        {"hdf5: scan.h5, path: /exchange/data, axes: [z, y, x]", "2"},
        {"tiff: pages.tif, pages: sinograms, pixel_size: 0.5, angle_start: 0, angle_stop: 180",
         "2"},
        {"tiff: pages.tif, pages: slices, pixel_size: 0.5, spacing_z: 1", "2"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "tomostage: 2\ninput: {%s, drop_views: %s}\nstages:\n  - save: {name: same}\n"
                 "output: {hdf5: out.h5}\n",
                 rows[i][0], rows[i][1]);
        ts_test_chain_refused(text, ts_scan_file.folder, TS_BAD_CHAIN, "drop-views");
    }
}
