/* SPDX-License-Identifier: Apache-2.0
 *
 * A range of the slices of every format: the slices, places and digests that the whole has there,
 * and nothing else.
 */
#include "io/source/source_slices.h"

#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/phantom.h"
#include "tests/files/hdf5_data.h"
#include "tests/files/scan_file.h"
#include "tests/files/tiff_fixture.h"
#include "tests/support/chain_run.h"

enum { FIRST = 1, END = 3 }; /* the range that is cut out */

static const char *place(const char *name)
{
    static char path[500];
    snprintf(path, sizeof path, "%s/%s", ts_scan_file.folder, name);
    return path;
}

/* A scan of three rows, a study of five slices, and a TIFF file of three pages. */
static void begin(void)
{
    static const double theta[SCAN_FRAMES] = {0, 26, 50, 77, 103, 129, 154.5};
    static const struct phantom_options options = {.nx = 41,
                                                   .ny = 33,
                                                   .nz = 5,
                                                   .spacing_x_mm = 2,
                                                   .spacing_y_mm = 2.5,
                                                   .spacing_z_mm = 4,
                                                   .noise_hu = 10};
    ts_scan_file_begin();
    H5Fclose(ts_scan_file_exchange(NULL, SCAN_FRAMES, theta));
    cr_assert_eq(ts_phantom_write("head", &options, place("study"), ts_scan_file.diag), TS_OK);
    ts_tiff_write(place("pages.tif"), &ts_tiff_plain);
}

TestSuite(source_slices, .init = begin, .fini = ts_scan_file_end);

/* ---- what is read ---------------------------------------------------------------------------- */

static void run(const char *input, const char *inputs, const char *stages, const char *output)
{
    char text[2048];
    snprintf(text, sizeof text, "tomostage: 2\ninput: {%s}\n%sstages:\n%soutput: {hdf5: %s}\n",
             input, inputs, stages, output);
    ts_test_chain_runs(text, ts_scan_file.folder);
}

/* The numbers of a dataset whose first axis is z are those of the slices from FIRST on. */
static void expect_slices(const char *path, size_t n_whole, size_t first, size_t n)
{
    size_t n_values, n_cut;
    double *whole = ts_test_read_hdf5_at(place("whole.h5"), path, &n_values),
           *cut = ts_test_read_hdf5_at(place("cut.h5"), path, &n_cut);
    const size_t each = n_values / n_whole;
    cr_assert_eq(n_cut, n * each, "%s has %zu numbers, expected %zu", path, n_cut, n * each);
    for (size_t i = 0; i < n_cut; i++)
        cr_assert(fabs(cut[i] - whole[first * each + i]) <= 1e-12 * fabs(whole[first * each + i]),
                  "%s: %zu: %.17g, %.17g", path, i, cut[i], whole[first * each + i]);
    free(whole);
    free(cut);
}

/* The texts of a dataset, 64 bytes each. */
static char *digests_of(const char *name, size_t *n)
{
    const hid_t file = H5Fopen(place(name), H5F_ACC_RDONLY, H5P_DEFAULT),
                data = H5Dopen2(file, "/entry/inputs/input/slice_pixel_sha256", H5P_DEFAULT),
                space = H5Dget_space(data), type = H5Dget_type(data);
    *n = (size_t)H5Sget_simple_extent_npoints(space);
    cr_assert_eq(H5Tget_size(type), 64);
    char *texts = malloc(*n * 64);
    cr_assert(H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) >= 0);
    H5Tclose(type);
    H5Sclose(space);
    H5Dclose(data);
    H5Fclose(file);
    return texts;
}

static void expect_digests(size_t first, size_t n)
{
    size_t n_whole, n_cut;
    char *whole = digests_of("whole.h5", &n_whole), *cut = digests_of("cut.h5", &n_cut);
    cr_assert(n_cut == n && first + n <= n_whole && !memcmp(cut, whole + first * 64, n * 64));
    free(whole);
    free(cut);
}

/* Three numbers of an attribute of the image; false where there is none. */
static bool numbers_of(const char *name, const char *attribute, double values[3])
{
    const hid_t file = H5Fopen(place(name), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t group = H5Gopen2(file, "/entry/data", H5P_DEFAULT);
    const bool there = H5Aexists(group, attribute) > 0;
    const hid_t object = there ? H5Aopen(group, attribute, H5P_DEFAULT) : -1;
    cr_assert(!there || H5Aread(object, H5T_NATIVE_DOUBLE, values) >= 0);
    if (there)
        H5Aclose(object);
    H5Gclose(group);
    H5Fclose(file);
    return there;
}

static void expect_origin(const char *input, bool placed, size_t first)
{
    double origin[3], step[3], moved[3];
    cr_assert_eq(numbers_of("cut.h5", "origin_mm", moved), placed, "%s", input);
    if (!placed)
        return;
    cr_assert(numbers_of("whole.h5", "origin_mm", origin) &&
              numbers_of("whole.h5", "step_z_mm", step));
    for (int i = 0; i < 3; i++)
        cr_assert_float_eq(moved[i], origin[i] + (double)first * step[i], 1e-9, "%s: %d", input, i);
}

static void expect_cut(const char *input, size_t n_whole, bool placed, size_t first, size_t n)
{
    expect_slices("/entry/data/data", n_whole, first, n);
    expect_slices("/entry/data/z", n_whole, first, n);
    expect_slices("/entry/inputs/input/slice_position", n_whole, first, n);
    expect_digests(first, n);
    expect_origin(input, placed, first);
}

static const struct {
    const char *input;
    size_t n;
    bool placed; /* in a patient */
} inputs[] = {
    {"exchange: scan.h5", SCAN_ROWS, false},
    {"exchange: scan.h5, pixel_size: 0.25", SCAN_ROWS, false},
    {"hdf5: scan.h5, path: /exchange/data, axes: [view, z, detector], theta_start: 0, theta_stop: "
     "180, spacing: [0.5, 0.5]",
     SCAN_ROWS, false},
    {"hdf5: scan.h5, path: /exchange/data, axes: [z, y, x]", SCAN_FRAMES, false},
    {"dicom: study", 5, true},
    {"result: first.h5", 5, true},
    {"result: first.h5, image: projected", 5, true},
    {"tiff: pages.tif, pages: slices, pixel_size: 0.5, spacing_z: 2", 3, false},
    {"tiff: pages.tif, pages: views, pixel_size: 0.5, angle_start: 0, angle_stop: 180", TIFF_ROWS,
     false},
    {"tiff: pages.tif, pages: sinograms, pixel_size: 0.5, angle_start: 0, angle_stop: 180", 3,
     false},
};

Test(source_slices, of_every_format)
{
    static const char keep[] = "  - save: {name: kept}\n";
    char cut[400];
    run("dicom: study", "", "  - radon: {views: 12}\n  - save: {name: projected}\n  - fbp:\n",
        "first.h5");
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        run(inputs[i].input, "", keep, "whole.h5");
        snprintf(cut, sizeof cut, "%s, slices: [%d, %d]", inputs[i].input, FIRST, END);
        run(cut, "", keep, "cut.h5");
        expect_cut(inputs[i].input, inputs[i].n, inputs[i].placed, FIRST, END - FIRST);
        snprintf(cut, sizeof cut, "%s, slices: %d", inputs[i].input, END - 1);
        run(cut, "", keep, "cut.h5");
        expect_cut(inputs[i].input, inputs[i].n, inputs[i].placed, END - 1, 1);
    }
}

/* ---- flats and darks ------------------------------------------------------------------------- */

static void recorded_chain(char *text, size_t size)
{
    const hid_t file = H5Fopen(place("cut.h5"), H5F_ACC_RDONLY, H5P_DEFAULT),
                data = H5Dopen2(file, "/entry/provenance/chain", H5P_DEFAULT),
                type = H5Dget_type(data);
    cr_assert(H5Tget_size(type) < size);
    memset(text, 0, size);
    cr_assert(H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0);
    H5Tclose(type);
    H5Dclose(data);
    H5Fclose(file);
}

static const char flats[] = "inputs:\n  f: {exchange: scan.h5, frames: flats%s}\n",
                  corrected[] = "  - flat_field: {flats: f}\n";

/* Flats are of the rows of the projections unless the chain says otherwise, and the result says
 * which they were. */
Test(source_slices, flats_follow_their_projections)
{
    static const char *const own[] = {"", ", slices: [1, 3]"};
    char text[400], chain[4096];
    snprintf(text, sizeof text, flats, "");
    run("exchange: scan.h5", text, corrected, "whole.h5");
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, flats, own[i]);
        run("exchange: scan.h5, slices: [1, 3]", text, corrected, "cut.h5");
        expect_slices("/entry/data/data", SCAN_ROWS, 1, 2);
        recorded_chain(chain, sizeof chain);
        const char *first = strstr(chain, "slices: [1, 3]");
        cr_assert(first && strstr(first + 1, "slices: [1, 3]"), "%s", chain);
    }
}

static void refused(const char *input, const char *more, const char *code)
{
    char text[1024];
    snprintf(text, sizeof text, "tomostage: 2\ninput: {%s}\n%sstages:\n%soutput: {hdf5: out.h5}\n",
             input, more, *more ? corrected : "  - save: {name: kept}\n");
    ts_test_chain_refused(text, ts_scan_file.folder, TS_BAD_CHAIN, code);
}

/* Frames without angles are flats or darks. */
Test(source_slices, frames_without_angles_follow_too)
{
    static const char frames[] = "inputs:\n  f: {hdf5: scan.h5, path: /exchange/data_white, axes: "
                                 "[frame, z, detector], quantity: counts%s}\n";
    char text[400], chain[4096];
    snprintf(text, sizeof text, frames, "");
    run("exchange: scan.h5", text, corrected, "whole.h5");
    run("exchange: scan.h5, slices: [1, 3]", text, corrected, "cut.h5");
    expect_slices("/entry/data/data", SCAN_ROWS, 1, 2);
    recorded_chain(chain, sizeof chain);
    const char *first = strstr(chain, "slices: [1, 3]");
    cr_assert(first && strstr(first + 1, "slices: [1, 3]"), "%s", chain);
    snprintf(text, sizeof text, frames, ", slices: [0, 2]");
    refused("exchange: scan.h5, slices: [1, 3]", text, "reference-rows");
    refused(
        "tiff: pages.tif, pages: views, pixel_size: 0.5, angle_start: 0, angle_stop: 180, slices: "
        "[3, 5]",
        "inputs:\n  f: {hdf5: scan.h5, path: /exchange/data_white, axes: [frame, z, detector]}\n",
        "slices-range");
}

Test(source_slices, refuses_other_rows_of_flats)
{
    char text[400];
    snprintf(text, sizeof text, flats, ", slices: [0, 2]");
    refused("exchange: scan.h5, slices: [1, 3]", text, "reference-rows");
    snprintf(text, sizeof text, flats, ", slices: [1, 2]");
    refused("exchange: scan.h5, slices: [1, 3]", text, "reference-slices");
    refused("exchange: scan.h5, slices: [1, 3]",
            "inputs:\n  f: {tiff: pages.tif, pages: views, frames: flats, pixel_size: 1}\n",
            "slices-follow");
}

/* ---- one of several volumes ------------------------------------------------------------------ */

enum { VOLUMES = 3, DEPTH = 4, PIXELS = 6 };

/* Writes VOLUMES volumes of DEPTH slices for NumPy. */
static void write_volumes(void)
{
    char header[118];
    uint16_t values[VOLUMES * DEPTH * PIXELS];
    for (int i = 0; i < VOLUMES * DEPTH * PIXELS; i++)
        values[i] = (uint16_t)(7 * i);
    memset(header, ' ', sizeof header);
    const int used = snprintf(header, sizeof header,
                              "{'descr': '<u2', 'fortran_order': False, 'shape': (%d, %d, 2, 3), }",
                              VOLUMES, DEPTH);
    header[used] = ' ';
    header[sizeof header - 1] = '\n';
    FILE *file = fopen(place("volumes.npy"), "wb");
    cr_assert(file && fwrite("\x93NUMPY\1\0\x76\0", 1, 10, file) == 10 &&
              fwrite(header, 1, sizeof header, file) == sizeof header &&
              fwrite(values, 1, sizeof values, file) == sizeof values && fclose(file) == 0);
}

/* The one volume is what the whole series has there, whatever it is read from; with some of its
 * slices too. */
Test(source_slices, one_of_several_volumes_is_taken)
{
    static const struct {
        const char *input;
        size_t first, n; /* among the slices of all volumes */
    } rows[] = {{"npy: volumes.npy, take: 1", DEPTH, DEPTH},
                {"npy: volumes.npy, take: 2, slices: [1, 3]", 2 * DEPTH + 1, 2},
                {"result: whole.h5, take: 0", 0, DEPTH},
                {"result: whole.h5, take: 2", 2 * DEPTH, DEPTH},
                {"result: whole.h5, take: 1, slices: 3", DEPTH + 3, 1}};
    write_volumes();
    run("npy: volumes.npy", "", "  - save: {name: same}\n", "whole.h5");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        run(rows[i].input, "", "  - save: {name: same}\n", "cut.h5");
        expect_slices("/entry/data/data", VOLUMES * DEPTH, rows[i].first, rows[i].n);
        expect_digests(rows[i].first, rows[i].n);
    }
    refused("npy: volumes.npy, take: 3", "", "take-volume");
    refused("result: whole.h5, take: 0.5", "", "take-volume");
    refused("result: whole.h5, take: [0, 1]", "", "take-volume");
}

Test(source_slices, refuses_what_is_no_range)
{
    static const char *const wrong[][2] = {{"3", "slices-range"},
                                           {"[0, 4]", "slices-range"},
                                           {"[2, 2]", "slices-range"},
                                           {"[2, 1]", "slices-range"},
                                           {"[0, 1, 2]", "slices-list"},
                                           {"[0.5, 2]", "slices-list"},
                                           {"[[0, 1], [1, 2]]", "slices-list"}};
    char text[400];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "exchange: scan.h5, slices: %s", wrong[i][0]);
        refused(text, "", wrong[i][1]);
    }
}
