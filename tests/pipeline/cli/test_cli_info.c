/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage info` of what is no DICOM series: volumes in NIfTI, TIFF pages, files that gzip compressed, HDF5 files of
 * an unknown layout; and its exit code where nothing can be an input. What it says to try is tried.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/files/scan_file.h"
#include "tests/files/tiff_fixture.h"
#include "tests/support/program.h"
#include "tests/support/support.h"

#define ARGUMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct program_outcome outcome;

static void begin(void)
{
    ts_scan_file_begin();
    cr_assert(chdir(ts_scan_file.folder) == 0);
}

TestSuite(cli_info, .init = begin, .fini = ts_scan_file_end);

static void expect_info(const char *path, int code, const char *words)
{
    ts_program_run(ts_scan_file.folder, ARGUMENTS("info", path), &outcome);
    cr_assert_eq(outcome.code, code, "info %s: %d\n%s", path, outcome.code, outcome.err);
    cr_assert(strstr(code ? outcome.err : outcome.out, words), "info %s: '%s' is not in\n%s%s", path, words,
              outcome.out, outcome.err);
}

/* Runs the input that info said, with more words, into a result. */
static void expect_run(const char *input, const char *more)
{
    char chain[512];
    snprintf(chain, sizeof chain, "%s %s | save name=all | hdf5 out.h5", input, more);
    ts_program_run(ts_scan_file.folder, ARGUMENTS("run", chain, "--device", "cpu", "--force"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s: %s", chain, outcome.err);
}

static void write_file(const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(name, "wb");
    cr_assert(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
}

Test(cli_info, of_tiff_pages_names_the_inputs_that_they_may_be)
{
    cr_assert_eq(system("mkdir pages empty"), 0);
    ts_tiff_write("pages/a.tif", &ts_tiff_plain);
    for (int i = 0; i < 2; i++) {
        const char *path = i ? "pages" : "pages/a.tif";
        expect_info(path, 0, "3 pages of 23 x 37 pixels (rows x columns), u16, in 1 file\n");
        cr_assert(strstr(outcome.out, "pages=slices pixel_size=MM spacing_z=MM"), "%s", outcome.out);
    }
    expect_run("tiff pages", "pages=slices pixel_size=0.5 spacing_z=2");
    ts_program_run(ts_scan_file.folder, ARGUMENTS("info", "pages", "--json"), &outcome);
    cr_assert(strstr(outcome.out, "\"pages\": 3,"), "%s", outcome.out);
    write_file("pages/b.tif", "II*\0????", 8);
    expect_info("pages", 3, "b.tif");
    expect_info("empty", 3, "no DICOM image");
}

Test(cli_info, of_gzip_says_to_unpack_it)
{
    cr_assert_eq(system("mkdir packed && echo | gzip > packed/a.dcm.gz && cp packed/a.dcm.gz plain"), 0);
    expect_info("packed", 3, "gunzip the files first");
    expect_info("plain", 3, "plain is compressed with gzip");
    ts_program_run(ts_scan_file.folder, ARGUMENTS("check", "plain"), &outcome);
    cr_assert_eq(outcome.code, 2);
    cr_assert(strstr(outcome.err, "gunzip it first"), "%s", outcome.err);
}

/* Whatever is named as an input is looked at, and the way out of a wrong format names the right one. */
Test(cli_info, of_a_volume_is_what_a_run_reads)
{
    static const char *const volumes[] = {"a.nii", "a.nii.gz"};
    ts_program_run(ts_scan_file.folder, ARGUMENTS("phantom", "disc", "-o", "study", "--size", "32", "--slices", "3"),
                   &outcome);
    for (size_t i = 0; i < sizeof volumes / sizeof *volumes; i++) {
        ts_program_run(ts_scan_file.folder, ARGUMENTS("run", "dicom study", "-o", volumes[i], "--force"), &outcome);
        cr_assert_eq(outcome.code, 0, "%s", outcome.err);
        expect_info(volumes[i], 0, "32 x 32 pixels x 3 slices (rows x columns x slices), i16\n");
        ts_program_run(ts_scan_file.folder, ARGUMENTS("run", "statistics", "-i", volumes[i], "-o", "o.h5", "--force"),
                       &outcome);
        cr_expect_eq(outcome.code, 0, "%s", outcome.err);
        ts_program_run(ts_scan_file.folder, ARGUMENTS("info", volumes[i], "--json"), &outcome);
        cr_expect(ts_test_is_json(outcome.out, strlen(outcome.out)) &&
                      strstr(outcome.out, "\"orientation\": \"axial\""),
                  "%s", outcome.out);
    }
    expect_run("nifti a.nii", "quantity=hu");
    cr_assert_eq(system("mkdir volumes && cp a.nii volumes && gzip study/*"), 0);
    expect_info("volumes", 3, "it holds NIfTI files");
    static const char *const wrong[][2] = {{"dicom a.nii", "it is a NIfTI file: nifti a.nii"},
                                           {"nrrd a.nii", "it is a NIfTI file: nifti a.nii"},
                                           {"dicom out.h5", "it is an HDF5 file: `tomostage info`"},
                                           {"dicom study", "gunzip the files first"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ts_program_run(ts_scan_file.folder, ARGUMENTS("check", wrong[i][0]), &outcome);
        cr_expect(outcome.code == 3 && strstr(outcome.err, wrong[i][1]), "%s: %d\n%s", wrong[i][0], outcome.code,
                  outcome.err);
    }
}

static void write_scan(const char *name, bool keys, bool angles, const char *unit)
{
    const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t raw = ts_scan_file_group(file, "raw", NULL);
    double theta[SCAN_FRAMES];
    for (int i = 0; i < SCAN_FRAMES; i++)
        theta[i] = 180.0 * i / SCAN_FRAMES;
    ts_scan_file_frames(raw, "frames", SCAN_FRAMES, &(struct scan_storage){.type = H5T_STD_U16LE});
    if (keys)
        ts_scan_file_numbers(raw, "image_key", SCAN_FRAMES, (const double[SCAN_FRAMES]){1, 2, 0}, NULL);
    if (angles)
        ts_scan_file_numbers(raw, "Sample_Rotation", SCAN_FRAMES, theta, unit);
    H5Gclose(raw);
    H5Fclose(file);
}

Test(cli_info, of_an_unknown_layout_says_what_looks_like_a_scan)
{
    write_scan("a.h5", true, true, "degree");
    expect_info("a.h5", 0,
                "looks like a scan: data at /raw/frames, image_key at /raw/image_key, angles at "
                "/raw/Sample_Rotation\n  try: nexus a.h5 data=/raw/frames image_key=/raw/image_key "
                "angles=/raw/Sample_Rotation\n");
    write_scan("b.h5", false, true, "degree");
    expect_info("b.h5", 0,
                "  try: hdf5 b.h5 path=/raw/frames axes=view,z,detector angles=/raw/Sample_Rotation "
                "quantity=counts\n");
    expect_run("hdf5 b.h5", "path=/raw/frames axes=view,z,detector angles=/raw/Sample_Rotation quantity=counts");
    write_scan("d.h5", false, true, NULL);
    expect_info("d.h5", 0, "angle_unit=degree quantity=counts   (or radian: the file does not say)\n");
    expect_run("hdf5 d.h5",
               "path=/raw/frames axes=view,z,detector angles=/raw/Sample_Rotation angle_unit=degree quantity=counts");
    write_scan("c.h5", false, false, "degree");
    expect_info("c.h5", 0, "looks like a volume: data at /raw/frames\n  try: hdf5 c.h5 path=/raw/frames axes=z,y,x\n");
    expect_run("hdf5 c.h5", "path=/raw/frames axes=z,y,x");
    ts_program_run(ts_scan_file.folder, ARGUMENTS("info", "out.h5"), &outcome);
    cr_assert(!strstr(outcome.out, "looks like"), "%s", outcome.out);
}

Test(cli_info, ends_with_3_where_every_series_is_refused)
{
    ts_program_run(ts_scan_file.folder, ARGUMENTS("phantom", "disc", "-o", "study", "--size", "32", "--slices", "3"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    expect_info("study", 0, "1 series in 3 images");
    cr_assert_eq(system("rm \"$(ls study/* | sed -n 2p)\""), 0);
    expect_info("study", 3, "the one series is no clean volume");
    cr_assert(strstr(outcome.out, "refused ("), "%s", outcome.out);
}
