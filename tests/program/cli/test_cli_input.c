/* SPDX-License-Identifier: Apache-2.0
 *
 * `-i FILE` finds the format of the file by its content and asks for what else the format needs.
 * Hints about inputs and outputs are spelled as the command that was given.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/scan_file.h"
#include "tests/files/tiff_fixture.h"
#include "tests/support/program.h"
#include "tests/support/support.h"

static struct program_outcome outcome;

static void make_files(void)
{
    ts_scan_file_begin();
    cr_assert(chdir(ts_scan_file.folder) == 0);
    ts_program_run(ts_scan_file.folder,
                   ARGUMENTS("phantom", "scan", "-o", "s.nxs", "--size", "32", "--slices", "2",
                             "--views", "24"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    ts_program_run(ts_scan_file.folder,
                   ARGUMENTS("phantom", "disc", "-o", "study", "--size", "32", "--slices", "3"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    ts_program_run(ts_scan_file.folder, ARGUMENTS("run", "dicom study | nifti a.nii | hdf5 r.h5"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
}

TestSuite(cli_input, .init = make_files, .fini = ts_scan_file_end);

static void write_exchange(const char *name)
{
    const double theta[SCAN_FRAMES] = {0, 60, 120};
    const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t group = ts_scan_file_group(file, "exchange", NULL);
    ts_scan_file_frames(group, "data", SCAN_FRAMES, &(struct scan_storage){.type = H5T_STD_U16LE});
    ts_scan_file_numbers(group, "theta", SCAN_FRAMES, theta, "degree");
    H5Gclose(group);
    H5Fclose(file);
}

/* Runs the program and expects words on standard output where the code is 0, else on standard
 * error. */
static void expect(const char *const *arguments, int code, const char *words)
{
    ts_program_run(ts_scan_file.folder, arguments, &outcome);
    cr_expect(outcome.code == code && strstr(code ? outcome.err : outcome.out, words),
              "%s: %d, not '%s' in\n%s%s", arguments[1], outcome.code, words, outcome.out,
              outcome.err);
}

Test(cli_input, the_format_is_that_of_the_file)
{
    write_exchange("e.h5");
    expect(ARGUMENTS("check", "median radius=1", "-i", "s.nxs"), 0, "nexus: \"s.nxs\"");
    expect(ARGUMENTS("check", "median radius=1", "-i", "e.h5"), 0, "exchange: \"e.h5\"");
    expect(ARGUMENTS("check", "median radius=1", "-i", "r.h5"), 0, "result: \"r.h5\"");
    expect(ARGUMENTS("check", "median radius=1", "-i", "a.nii"), 0, "nifti: \"a.nii\"");
}

Test(cli_input, what_the_format_needs_besides_is_asked_for)
{
    ts_tiff_write("p.tif", &ts_tiff_plain);
    const hid_t file = H5Fcreate("x.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    ts_scan_file_frames(file, "frames", SCAN_FRAMES, &(struct scan_storage){.type = H5T_STD_U16LE});
    H5Fclose(file);
    expect(ARGUMENTS("check", "median radius=1", "-i", "p.tif"), 2,
           "required, but not given: pages, pixel_size [parameter-missing]\n");
    cr_expect(strstr(outcome.err,
                     "`tomostage info FILE` writes it, or give each: --set input.NAME=VALUE"),
              "%s", outcome.err);
    expect(ARGUMENTS("check", "median radius=1", "-i", "p.tif", "--set", "input.pages=views",
                     "--set", "input.pixel_size=1"),
           2, "the angles of the views are not given, and no TIFF file holds them");
    expect(ARGUMENTS("check", "median radius=1", "-i", "p.tif", "--set", "input.pages=slices",
                     "--set", "input.pixel_size=1", "--set", "input.spacing_z=1"),
           0, "pattern: \"\", pages: slices");
    expect(ARGUMENTS("check", "median radius=1", "-i", "x.h5"), 2,
           "required, but not given: path, axes [parameter-missing]\n");
    expect(ARGUMENTS("check", "median radius=1", "-i", "x.h5", "--set", "input.path=/frames",
                     "--set", "input.axes=z,y,x"),
           0, "hdf5: \"x.h5\"");
}

/* A folder is one of TIFF pages where nothing in it may be DICOM; one of NIfTI files is refused,
 * with the way out. */
Test(cli_input, a_folder_is_taken_for_what_it_holds)
{
    static const char *const dicom[] = {"pages/IM1.dcm", "pages/IM1", "pages/1.2.840.3"};
    cr_assert(mkdir("pages", 0700) == 0 && mkdir("volumes", 0700) == 0);
    ts_tiff_write("pages/p1.tif", &ts_tiff_plain);
    ts_fixture_write_bytes("pages/notes.txt", "pages", 5);
    expect(ARGUMENTS("check", "median radius=1", "-i", "pages", "--set", "input.pages=slices",
                     "--set", "input.pixel_size=1", "--set", "input.spacing_z=1"),
           0, "pattern: \"\", pages: slices");
    expect(ARGUMENTS("check", "median radius=1", "-i", "pages"), 2,
           "required, but not given: pages, pixel_size");
    for (size_t i = 0; i < sizeof dicom / sizeof *dicom; i++) {
        ts_fixture_write_bytes(dicom[i], "none", 4);
        expect(ARGUMENTS("check", "median radius=1", "-i", "pages"), 3, "it holds TIFF files: ");
        cr_assert_eq(unlink(dicom[i]), 0);
    }
    cr_assert_eq(rename("a.nii", "volumes/a.nii"), 0);
    expect(ARGUMENTS("check", "median radius=1", "-i", "volumes"), 3,
           "it holds NIfTI files: name one of them");
}

/* The same hint stands in a chain file as YAML. */
Test(cli_input, hints_are_spelled_as_the_command)
{
    cr_assert_eq(system("mkdir volumes && cp a.nii volumes && printf 'tomostage: 2\\ninput: "
                        "{dicom: study}\\nstages: []\\noutput: {png: o.png}\\n' > c.yaml"),
                 0);
    expect(ARGUMENTS("check", "dicom study | png o.png"), 2,
           "hint: a folder can: png FOLDER in the chain\n");
    expect(ARGUMENTS("check", "dicom study", "-o", "o.png"), 2,
           "hint: a folder can: png FOLDER in the chain\n");
    expect(ARGUMENTS("check", "c.yaml"), 2,
           "hint: a folder can: output: {png: FOLDER} in the chain\n");
    expect(ARGUMENTS("export", "r.h5", "-o", "o.png"), 2,
           "hint: a folder can: --format png -o FOLDER\n");
    expect(ARGUMENTS("info", "volumes"), 3,
           "hint: it holds NIfTI files: name one of them, nifti FILE\n");
    expect(ARGUMENTS("run", "nifti a.nii | nifti a.nii", "--force"), 2,
           "hint: give the output a name of its own: nifti FILE.nii.gz in the chain, or -o "
           "FILE.nii.gz\n");
    expect(ARGUMENTS("run", "nifti a.nii", "-o", "a.nii", "--force"), 2,
           "nifti FILE.nii.gz in the chain");
}

/* A chain without an output keeps its dtype for the one that it gets later. */
Test(cli_input, a_dtype_that_no_output_has_is_refused)
{
    static const char refused[] =
        "output.dtype: no output of this chain has a dtype: that of hdf5 does [parameter-unused]\n";
    expect(ARGUMENTS("check", "dicom study | nifti o.nii dtype=f16"), 2, refused);
    expect(ARGUMENTS("check", "dicom study | nifti o.nii dtype=f16 | hdf5 o.h5"), 0,
           "stored as f16");
    expect(ARGUMENTS("check", "dicom study | invert", "--set", "output.dtype=f16"), 0, "invert");
}
