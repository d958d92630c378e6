/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage diff` runs from end to end: formats against each other, tolerances, grids, records of
 * results, exit codes.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/npy.h"
#include "tests/program/record/compare_program.h"

static void begin(void)
{
    ts_compare_program_begin(
        "dicom study | box radius=1 | save name=smooth | statistics | hdf5 a.h5");
}

TestSuite(diff, .init = begin, .fini = ts_compare_program_end);

/* An image that is exported is the same image, with the same place, in every format that can state
 * one. */
Test(diff, the_formats_of_one_image_are_equal)
{
    static const char *const files[] = {"a.nii", "b.nii.gz", "c.tif", "dicom.folder"};
    ts_compare_program_run(ARGUMENTS("run", "dicom study | save name=all | hdf5 plain.h5"));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const bool dicom = strstr(files[i], "folder") != NULL;
        if (dicom)
            ts_compare_program_run(
                ARGUMENTS("export", "plain.h5", "-o", files[i], "--format", "dicom"));
        else
            ts_compare_program_run(ARGUMENTS("export", "plain.h5", "-o", files[i]));
        ts_compare_program_expect(ARGUMENTS("diff", "plain.h5", files[i]), 0,
                                  ARGUMENTS("image: equal\n", "\nequal\n"));
        ts_compare_program_expect(ARGUMENTS("diff", files[i], "study"), 0,
                                  ARGUMENTS("image: equal\n"));
    }
    ts_compare_program_expect(
        ARGUMENTS("diff", "dicom study slices=[0,2]", "nifti a.nii slices=[0,2]"), 0,
        ARGUMENTS("image: equal\n"));
    ts_compare_program_expect(
        ARGUMENTS("diff", "dicom study slices=[0,2]", "nifti a.nii slices=[1,3]"), 1,
        ARGUMENTS("  origin: ", "the same pixel is up to ", "\ndifferent\n"));
}

Test(diff, results_are_compared_with_how_they_were_made)
{
    ts_compare_program_run(
        ARGUMENTS("run", "dicom study | box radius=2 | save name=smooth | statistics | hdf5 b.h5"));
    ts_compare_program_run(ARGUMENTS(
        "run",
        "dicom study | box radius=1 | save name=smooth | statistics | save name=more | hdf5 c.h5"));
    ts_compare_program_expect(ARGUMENTS("diff", "a.h5", "a.h5"), 0,
                              ARGUMENTS("both were made in the same way\n", "\nequal\n"));
    ts_compare_program_expect(
        ARGUMENTS("diff", "a.h5", "b.h5"), 1,
        ARGUMENTS("process_1_box/parameters/radius: 1 and 2\n",
                  "  process_3_statistics/tables/max: ", "provenance/chain: [digest ", " HU at [",
                  "SSIM 0.", "\ndifferent\n"));
    ts_compare_program_expect(
        ARGUMENTS("diff", "a.h5", "b.h5", "--dataset", "smooth", "--tolerance", "5000"), 0,
        ARGUMENTS("smooth: within tolerance 5000 HU\n", "\nwithin the tolerance\n"));
    ts_compare_program_run(ARGUMENTS(
        "run", "dicom study | box radius=1 | save name=smooth | invert | statistics | hdf5 d.h5"));
    ts_compare_program_expect(ARGUMENTS("diff", "a.h5", "d.h5", "--dataset", "smooth"), 0,
                              ARGUMENTS("smooth: equal\n", "/tables/max: ", "\nequal\n"));
    ts_compare_program_expect(ARGUMENTS("diff", "a.h5", "c.h5"), 0,
                              ARGUMENTS("process_4_save/", ": nothing and "));
    ts_compare_program_expect(ARGUMENTS("diff", "a.h5", "c.h5", "--dataset", "none"), 3,
                              ARGUMENTS("there is no image 'none'"));
}

/* Writes an array of shape (1, 2, 3) of this type. */
static void write_array(const char *name, const char *type, const void *values, size_t bytes)
{
    char path[300], header[128];
    snprintf(path, sizeof path, "%s/%s", ts_compare_program.folder, name);
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (1, 2, 3), }",
             type);
    ts_test_npy_write(path, header, values, bytes);
}

/* The largest difference, and with it PSNR, is far below what 32-bit floats tell apart. */
Test(diff, doubles_are_compared_as_doubles)
{
    static const double a[6] = {1, 2, 3, 4, 5, 1e300};
    double b[6];
    memcpy(b, a, sizeof b);
    b[4] += 0x1p-40;
    write_array("a.npy", "<f8", a, sizeof a);
    write_array("b.npy", "<f8", b, sizeof b);
    ts_compare_program_expect(ARGUMENTS("diff", "a.npy", "a.npy"), 0, ARGUMENTS("image: equal\n"));
    ts_compare_program_expect(
        ARGUMENTS("diff", "a.npy", "a.npy", "--dataset", "x"), 2,
        ARGUMENTS("'--dataset x' names an image of a result, and neither of these is one"));
    ts_compare_program_expect(ARGUMENTS("diff", "a.npy", "b.npy", "--data-range", "1"), 1,
                              ARGUMENTS("  1 of 6 values differ (16.7 %)\n",
                                        "largest difference 9.094947017729282e-13 at [0, 1, 1]",
                                        "PSNR 248.61 dB"));
    cr_expect(!strstr(ts_compare_program.outcome.err, "values-rounded"), "%s",
              ts_compare_program.outcome.err);
    ts_compare_program_expect(ARGUMENTS("diff", "a.npy", "b.npy", "--tolerance", "1e-12"), 0,
                              ARGUMENTS("within the tolerance\n"));
    ts_compare_program_expect(ARGUMENTS("diff", "npy a.npy slices=0", "npy b.npy slices=0"), 1,
                              ARGUMENTS("9.094947017729282e-13"));
}

/* Larger integers are not, and it is said. */
Test(diff, rounded_integers_are_told)
{
    static const int64_t a[6] = {1, 2, 3, 4, 5, (INT64_C(1) << 53) + 1},
                         b[6] = {1, 2, 3, 4, 5, INT64_C(1) << 53};
    static const int64_t small[6] = {1, 2, 3, 4, 5, (INT64_C(1) << 53) - 1};
    static const char told[] = "  values of 2^53 and more are compared as doubles";
    write_array("a.npy", "<i8", a, sizeof a);
    write_array("b.npy", "<i8", b, sizeof b);
    write_array("small.npy", "<i8", small, sizeof small);
    ts_compare_program_expect(ARGUMENTS("diff", "a.npy", "b.npy"), 0,
                              ARGUMENTS("image: equal\n", told));
    ts_program_run(ts_compare_program.folder, ARGUMENTS("diff", "small.npy", "small.npy"),
                   &ts_compare_program.outcome);
    cr_expect(!strstr(ts_compare_program.outcome.out, told), "%s", ts_compare_program.outcome.out);
}

/* Integers of 64 bits up to 2^53 and halves are exact as doubles. */
Test(diff, takes_wide_integers_and_halves)
{
    static const int64_t a[6] = {-3, 0, 1, INT64_C(1) << 40, -(INT64_C(1) << 52), 7},
                         b[6] = {-3, 0, 1, (INT64_C(1) << 40) + 1, -(INT64_C(1) << 52), 7};
    static const uint16_t halves[6] = {0xC200, 0,      0x3C00,
                                       0x4000, 0x0001, 0x4700}; /* -3 0 1 2 2^-24 7 */
    static const float floats[6] = {-3, 0, 1, 2, 0x1p-24f, 7};
    write_array("a.npy", "<i8", a, sizeof a);
    write_array("b.npy", "<i8", b, sizeof b);
    write_array("h.npy", "<f2", halves, sizeof halves);
    write_array("f.npy", "<f4", floats, sizeof floats);
    ts_compare_program_expect(
        ARGUMENTS("diff", "a.npy", "b.npy"), 1,
        ARGUMENTS("  1 of 6 values differ", "largest difference 1 at [0, 1, 0]"));
    ts_compare_program_expect(ARGUMENTS("diff", "h.npy", "f.npy"), 0, ARGUMENTS("image: equal\n"));
    ts_compare_program_run(ARGUMENTS("run", "npy b.npy | statistics | hdf5 wide.h5"));
    cr_expect(strstr(ts_compare_program.outcome.err, "values-rounded"), "%s",
              ts_compare_program.outcome.err);
    ts_compare_program_run(ARGUMENTS("run", "npy h.npy | statistics | hdf5 half.h5"));
    ts_compare_program_expect(ARGUMENTS("diff", "half.h5", "f.npy"), 0,
                              ARGUMENTS("image: equal\n"));
}

/* Writes integers of 64 bits as the dataset /d of shape (1, 2, 3). */
static void write_wide(const char *name, hid_t type, const int64_t values[6])
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", ts_compare_program.folder, name);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(3, (const hsize_t[]){1, 2, 3}, NULL);
    const hid_t dataset = H5Dcreate2(file, "d", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(H5Dwrite(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Fclose(file);
}

Test(diff, takes_wide_integers_of_hdf5)
{
    static const int64_t a[6] = {-3, 0, 1, INT64_C(1) << 40, -(INT64_C(1) << 52), 7},
                         b[6] = {-3, 0, 1, (INT64_C(1) << 40) + 1, -(INT64_C(1) << 52), 7},
                         inexact[6] = {-3, 0, 1, (INT64_C(1) << 60) + 1, 2, 7};
    write_wide("a.h5", H5T_STD_I64LE, a);
    write_wide("b.h5", H5T_STD_I64BE, b);
    write_wide("c.h5", H5T_STD_I64LE, inexact);
    write_array("a.npy", "<i8", a, sizeof a);
#define WIDE(name) "hdf5 " name " path=/d axes=[z,y,x]"
    ts_compare_program_expect(ARGUMENTS("diff", WIDE("a.h5"), "npy a.npy"), 0,
                              ARGUMENTS("image: equal\n"));
    ts_compare_program_expect(
        ARGUMENTS("diff", WIDE("a.h5"), WIDE("b.h5")), 1,
        ARGUMENTS("  1 of 6 values differ", "largest difference 1 at [0, 1, 0]"));
    ts_compare_program_expect(ARGUMENTS("diff", WIDE("a.h5"), WIDE("c.h5")), 3,
                              ARGUMENTS("[hdf5-range]"));
    ts_compare_program_expect(ARGUMENTS("run", WIDE("b.h5") " | statistics | hdf5 wide.h5"), 0,
                              ARGUMENTS("[values-rounded]"));
}

static void scale_by_a_tenth(struct dicom_fixture *fixture, int z, void *user)
{
    (void)z;
    (void)user;
    ts_fixture_text(fixture, 0x00281053, "DS", "0.1"); /* Rescale Slope */
}

/* No 32-bit float is a tenth, so that a result holds other values than the series that it only
 * read. */
Test(diff, slopes_of_dicom_are_applied_in_double)
{
    enum { SLICES = 3, COUNT = SLICES * FIXTURE_ROWS * FIXTURE_COLUMNS };
    char series[300], reference[300], dictionary[128];
    double values[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = 0.1 * ts_fixture_stored(i % FIXTURE_COLUMNS, i / FIXTURE_COLUMNS % FIXTURE_ROWS,
                                            i / (FIXTURE_COLUMNS * FIXTURE_ROWS)) -
                    1024;
    snprintf(series, sizeof series, "%s/tenths", ts_compare_program.folder);
    snprintf(reference, sizeof reference, "%s/tenths.npy", ts_compare_program.folder);
    snprintf(dictionary, sizeof dictionary,
             "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d, %d), }", SLICES,
             FIXTURE_ROWS, FIXTURE_COLUMNS);
    ts_test_npy_write(reference, dictionary, values, sizeof values);
    cr_assert_eq(mkdir(series, 0777), 0);
    ts_fixture_series(series, SLICES, scale_by_a_tenth, NULL);
    ts_compare_program_expect(ARGUMENTS("diff", "tenths", "tenths.npy"), 0,
                              ARGUMENTS("image: equal\n"));
    ts_compare_program_run(ARGUMENTS("run", "dicom tenths | statistics | hdf5 tenths.h5"));
    ts_compare_program_expect(ARGUMENTS("diff", "tenths.h5", "tenths"), 1,
                              ARGUMENTS("relative ", "e-0"));
    ts_compare_program_expect(ARGUMENTS("diff", "tenths.h5", "tenths", "--tolerance", "1e-4"), 0,
                              ARGUMENTS("within tolerance"));
}

/* Pixels that both sides leave out hold no value; those that one alone leaves out are a
 * difference. */
Test(diff, invalid_pixels_are_left_out)
{
#define HEAD "dicom study | threshold method=otsu name=head | apply_mask input=input mask=head"
    ts_compare_program_run(ARGUMENTS("run", HEAD " | hdf5 m.h5"));
    ts_compare_program_run(
        ARGUMENTS("run", HEAD " outside=value value=-900 | apply_mask mask=head | hdf5 n.h5"));
    ts_compare_program_run(ARGUMENTS("run", "dicom study | threshold above=0 name=head | "
                                            "apply_mask input=input mask=head | hdf5 o.h5"));
    ts_compare_program_expect(
        ARGUMENTS("diff", "m.h5", "m.h5"), 0,
        ARGUMENTS("data: equal\n  invalid on both sides: ", " pixels, 0 of them"));
    ts_compare_program_expect(ARGUMENTS("diff", "m.h5", "n.h5"), 0,
                              ARGUMENTS("data: equal\n  invalid on both sides: ", "\nequal\n"));
    cr_expect(!strstr(ts_compare_program.outcome.out, " 0 of them"), "%s",
              ts_compare_program.outcome.out);
    ts_compare_program_expect(
        ARGUMENTS("diff", "m.h5", "o.h5"), 1,
        ARGUMENTS("data: different\n", "of them on one side alone\n", "\ndifferent\n"));
    ts_compare_program_run(ARGUMENTS("export", "n.h5", "-o", "n.nii"));
    ts_compare_program_expect(ARGUMENTS("diff", "m.h5", "n.nii"), 1, ARGUMENTS(" and -900 HU\n"));
}

/* The axis of a sweep has the name of its parameter, and its values count. */
Test(diff, sweeps_are_compared_by_their_values)
{
    ts_compare_program_run(ARGUMENTS("run", "dicom study | box radius={sweep 0 1 2} | hdf5 s.h5"));
    ts_compare_program_run(ARGUMENTS("run", "dicom study | box radius={sweep 0 1 3} | hdf5 t.h5"));
    ts_compare_program_run(
        ARGUMENTS("run", "dicom study | gaussian sigma={sweep 0 1 2} | hdf5 u.h5"));
    ts_compare_program_expect(ARGUMENTS("diff", "s.h5", "s.h5"), 0, ARGUMENTS("\nequal\n"));
    ts_compare_program_expect(
        ARGUMENTS("diff", "s.h5", "t.h5"), 1,
        ARGUMENTS("  positions along box_radius: 2 pixel at 2 and 3 pixel at 2\n"));
    ts_compare_program_expect(
        ARGUMENTS("diff", "s.h5", "u.h5"), 1,
        ARGUMENTS("3 volumes by box_radius of ", "3 volumes by gaussian_sigma of "));
}

/* A sweep that is exported is no series by time: it keeps the name of its axis, and its values
 * where they are even. */
Test(diff, sweeps_in_nifti_keep_their_axis)
{
    static const char *const sweeps[][3] = {
        {"box radius={sweep 0 1 2}", "volumes: 3 by box_radius",
         "spacing along box_radius: pixel and "},
        {"rescale low_percentile={sweep 0 0.5 1} method=percentiles",
         "volumes: 3 by rescale_low_percentile", NULL},
        {"gaussian sigma={sweep 0.5 2 3}", "volumes: 3 by gaussian_sigma",
         "without a unit and numbered"},
        {"box radius=1 border={sweep reflect wrap}", "volumes: 2 by box_border", NULL}};
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        char chain[200];
        snprintf(chain, sizeof chain, "dicom study | %s | hdf5 s.h5", sweeps[i][0]);
        ts_compare_program_run(ARGUMENTS("run", chain, "--force"));
        ts_compare_program_run(ARGUMENTS("export", "s.h5", "-o", "s.nii", "--force"));
        ts_compare_program_expect(
            ARGUMENTS("diff", "s.h5", "s.nii"), 0,
            ARGUMENTS("image: equal\n", sweeps[i][2] ? sweeps[i][2] : "\nequal\n"));
        ts_compare_program_run(ARGUMENTS("run", "nifti s.nii | hdf5 again.h5", "--force"));
        ts_compare_program_expect(ARGUMENTS("diff", "s.nii", "again.h5"), 0,
                                  ARGUMENTS("image: equal\n"));
    }
}

/* A table that differs counts while the tolerance is 0; a saved image that one side lacks counts
 * always. */
Test(diff, tables_and_missing_images_count)
{
    ts_compare_program_run(
        ARGUMENTS("run", "dicom study | box radius=1 | save name=other | statistics | hdf5 b.h5"));
    ts_compare_program_run(ARGUMENTS(
        "run", "dicom study | box radius=1 | save name=smooth | statistics ddof=1 | hdf5 c.h5"));
    ts_compare_program_expect(ARGUMENTS("diff", "a.h5", "b.h5"), 0,
                              ARGUMENTS("process_2_save/name: smooth and other\n"));
    ts_compare_program_expect(ARGUMENTS("diff", "a.h5", "c.h5"), 1,
                              ARGUMENTS("tables/variance", "data: equal\n", "\ndifferent\n"));
    ts_compare_program_expect(
        ARGUMENTS("diff", "a.h5", "c.h5", "--tolerance", "1e-9"), 0,
        ARGUMENTS("data: equal\n", "\nequal; 2 tables differ, and are not judged\n"));
    ts_compare_program_run(ARGUMENTS(
        "run", "dicom study | save name=first | box radius=1 | save name=smooth | hdf5 d.h5"));
    ts_compare_program_expect(ARGUMENTS("diff", "a.h5", "d.h5"), 1,
                              ARGUMENTS("first: missing in a.h5\n"));
}

/* A stage more in one chain makes no others of those that both have. */
Test(diff, stages_are_compared_with_their_own_kind)
{
    ts_compare_program_run(ARGUMENTS("run", "dicom study | save name=first | box radius=1 | save "
                                            "name=smooth | statistics ddof=1 | hdf5 b.h5"));
    ts_program_run(ts_compare_program.folder, ARGUMENTS("diff", "a.h5", "b.h5"),
                   &ts_compare_program.outcome);
    const char *const out = ts_compare_program.outcome.out;
    cr_expect(strstr(out, "process_1_save/name: nothing and first\n"), "%s", out);
    cr_expect(strstr(out, "process_3_statistics/parameters/ddof: 0 and 1\n"), "%s", out);
    cr_expect(strstr(out, "process_1_box/input: input and save\n"), "%s", out);
    cr_expect(!strstr(out, "box/parameters") && !strstr(out, "sequence_index: 1 and 2"), "%s", out);
}

static void write_npy(const char *name, const char *shape, const float *values, size_t n)
{
    char path[300], dictionary[200];
    snprintf(path, sizeof path, "%s/%s", ts_compare_program.folder, name);
    snprintf(dictionary, sizeof dictionary,
             "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", shape);
    ts_test_npy_write(path, dictionary, values, n * sizeof *values);
}

Test(diff, arrays_and_their_tolerance)
{
    float values[60] = {0};
    write_npy("a.npy", "3, 4, 5", values, 60);
    write_npy("flat.npy", "3, 20", values, 60);
    values[47] = 0.25f;
    write_npy("b.npy", "3, 4, 5", values, 60);
    ts_compare_program_expect(ARGUMENTS("diff", "a.npy", "b.npy"), 1,
                              ARGUMENTS("1 of 60 values differ",
                                        "largest difference 0.25 at [2, 1, 2]: 0 and 0.25\n",
                                        "PSNR none, SSIM none\n"));
    ts_compare_program_expect(ARGUMENTS("diff", "a.npy", "b.npy", "--tolerance", "0.25"), 0,
                              ARGUMENTS("within tolerance 0.25\n"));
    ts_compare_program_expect(ARGUMENTS("diff", "a.npy", "b.npy", "--tolerance", "0.2"), 1,
                              ARGUMENTS("different, beyond 0.2\n"));
    ts_compare_program_expect(ARGUMENTS("diff", "a.npy", "flat.npy"), 1,
                              ARGUMENTS("shape: 3 x 4 x 5 (z, y, x) and 1 x 3 x 20"));
    values[47] = NAN;
    write_npy("nan.npy", "3, 4, 5", values, 60);
    ts_compare_program_expect(ARGUMENTS("diff", "nan.npy", "nan.npy"), 0,
                              ARGUMENTS("NaN: 1 and 1\n"));
    ts_compare_program_expect(ARGUMENTS("diff", "a.npy", "nan.npy", "--tolerance", "1e30"), 1,
                              ARGUMENTS("largest difference inf at [2, 1, 2]: 0 and NaN\n"));
    ts_program_run(ts_compare_program.folder, ARGUMENTS("diff", "a.npy", "nan.npy", "--json"),
                   &ts_compare_program.outcome);
    cr_assert(
        ts_compare_program.outcome.code == 1 &&
            ts_test_is_json(ts_compare_program.outcome.out, strlen(ts_compare_program.outcome.out)),
        "%s", ts_compare_program.outcome.out);
    cr_assert(strstr(ts_compare_program.outcome.out, "\"values_that_differ\": 1, ") &&
              strstr(ts_compare_program.outcome.out, "\"nan\": [0, 1]"));
}

Test(diff, says_what_is_wrong)
{
    ts_compare_program_expect(ARGUMENTS("diff", "a.h5"), 2, ARGUMENTS("an image is missing"));
    ts_compare_program_expect(ARGUMENTS("diff", "a.h5", "b", "--tolerance", "-1"), 2,
                              ARGUMENTS("is not a number of at least 0"));
    ts_compare_program_expect(ARGUMENTS("diff", "a.h5", "b", "--ssim-window", "big"), 2,
                              ARGUMENTS("none of uniform, gaussian"));
    ts_compare_program_expect(ARGUMENTS("diff", "dicom study | box radius=3", "study"), 2,
                              ARGUMENTS("'dicom study | box radius=3' is more than an input"));
    ts_compare_program_expect(ARGUMENTS("diff", "a.h5", "nowhere"), 3,
                              ARGUMENTS("there is no file or folder nowhere"));
    ts_compare_program_expect(ARGUMENTS("diff", "a.h5", "a.h5.svg", "--json"), 3,
                              ARGUMENTS("no-such-file"));
}
