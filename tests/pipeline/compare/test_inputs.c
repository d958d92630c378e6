/* SPDX-License-Identifier: Apache-2.0
 *
 * `verify --inputs` runs from end to end on the images that were used, and on studies with a slice that is missing,
 * changed or additional, or that has another place or scale.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/pipeline/compare/compare_program.h"

static char first_file[600], last_file[600];

static void begin(void)
{
    char names[4096], *last = NULL, study[300];
    ts_compare_program_begin("dicom study | box radius=1 | hdf5 a.h5");
    snprintf(study, sizeof study, "%s/study", ts_compare_program.folder);
    ts_program_folder_list(study, names, sizeof names);
    for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
        if (!last)
            snprintf(first_file, sizeof first_file, "%s/%s", study, name);
        last = name;
    }
    snprintf(last_file, sizeof last_file, "%s/%s", study, last);
}

TestSuite(inputs, .init = begin, .fini = ts_compare_program_end);

static void expect(int code, const char *const *texts)
{
    ts_compare_program_expect(ARGUMENTS("verify", "a.h5", "--inputs", "study"), code, texts);
}

/* Changes the last byte of a file, which is one of its last pixel. */
static void change_last_byte(const char *path)
{
    FILE *file = fopen(path, "r+b");
    cr_assert(file && fseek(file, -1, SEEK_END) == 0);
    const int byte = fgetc(file);
    cr_assert(fseek(file, -1, SEEK_END) == 0 && fputc(byte ^ 1, file) != EOF && fclose(file) == 0);
}

Test(inputs, those_that_were_used_are_recognized)
{
    expect(0,
           ARGUMENTS("every byte\n", "input input: the pixels of 6 of 6 slices are those that were used, of the very "
                                     "same DICOM instances\n"));
    ts_program_run(ts_compare_program.folder, ARGUMENTS("verify", "a.h5", "--inputs", "input=study"),
                   &ts_compare_program.outcome);
    cr_assert_eq(ts_compare_program.outcome.code, 0, "%s", ts_compare_program.outcome.err);
    ts_program_run(ts_compare_program.folder, ARGUMENTS("verify", "a.h5", "--inputs", "study", "--inputs", "study"),
                   &ts_compare_program.outcome);
    cr_assert(ts_compare_program.outcome.code == 2 && strstr(ts_compare_program.outcome.err, "both given as the input"),
              "%s", ts_compare_program.outcome.err);
    ts_compare_program_expect(
        ARGUMENTS("verify", "a.h5", "--inputs", "inptu=study"), 2,
        ARGUMENTS("the chain has no input 'inptu'; did you mean 'input'?", "it has: input\n", "[unknown-input]"));
    ts_program_run(ts_compare_program.folder, ARGUMENTS("verify", "a.h5", "--inputs", "nowhere"),
                   &ts_compare_program.outcome);
    cr_assert_eq(ts_compare_program.outcome.code, 3, "%s", ts_compare_program.outcome.err);
}

/* The plan of the inputs alone has no stage that a sweep could change. */
Test(inputs, those_of_a_sweep_are_recognized)
{
    ts_compare_program_run(ARGUMENTS("run", "dicom study | box radius={sweep 1 2} | hdf5 sweep.h5"));
    ts_compare_program_expect(ARGUMENTS("verify", "sweep.h5", "--inputs", "study"), 0,
                              ARGUMENTS("the pixels of 6 of 6 slices are those that were used"));
}

Test(inputs, a_missing_slice_is_named)
{
    cr_assert_eq(unlink(first_file), 0);
    expect(3, ARGUMENTS("input: 5 of 6 slices are those that were used; 1 missing, the first: slice 5 at ("));
}

Test(inputs, a_changed_slice_is_named)
{
    change_last_byte(last_file);
    expect(3, ARGUMENTS("5 of 6 slices are those that were used; 1 changed, the first: study/", "slice 5 at ("));
}

/* The study of the result lacks its last file, which comes back then. */
Test(inputs, an_additional_slice_is_named)
{
    char away[300];
    snprintf(away, sizeof away, "%s/away", ts_compare_program.folder);
    cr_assert_eq(rename(last_file, away), 0);
    ts_compare_program_run(ARGUMENTS("run", "dicom study | box radius=1 | hdf5 a.h5", "--force"));
    cr_assert_eq(rename(away, last_file), 0);
    expect(3, ARGUMENTS("5 of 5 slices are those that were used; 1 additional, the first: study/"));
    ts_compare_program_run(ARGUMENTS("run", "dicom study slices=[1,3] | box radius=1 | hdf5 a.h5", "--force"));
    expect(0, ARGUMENTS("the pixels of 2 of 2 slices"));
}

/* The same pixels at other places are another input. */
Test(inputs, other_formats_and_places)
{
    ts_compare_program_run(ARGUMENTS("run", "dicom study | nifti a.nii"));
    ts_compare_program_run(ARGUMENTS("run", "nifti a.nii | box radius=1 | hdf5 b.h5"));
    ts_compare_program_run(ARGUMENTS("verify", "b.h5", "--inputs", "a.nii"));
    cr_assert(strstr(ts_compare_program.outcome.out, "the pixels of 6 of 6 slices are those that were used\n"), "%s",
              ts_compare_program.outcome.out);
    ts_compare_program_run(ARGUMENTS("run", "dicom study | reorient to=RAI | nifti turned.nii"));
    ts_program_run(ts_compare_program.folder, ARGUMENTS("verify", "b.h5", "--inputs", "turned.nii"),
                   &ts_compare_program.outcome);
    cr_assert_eq(ts_compare_program.outcome.code, 3, "%s", ts_compare_program.outcome.out);
    char path[300];
    snprintf(path, sizeof path, "%s/a.nii", ts_compare_program.folder);
    change_last_byte(path);
    ts_program_run(ts_compare_program.folder, ARGUMENTS("verify", "b.h5", "--inputs", "a.nii"),
                   &ts_compare_program.outcome);
    cr_assert_eq(ts_compare_program.outcome.code, 3, "%s", ts_compare_program.outcome.out);
    cr_assert(strstr(ts_compare_program.outcome.err,
                     "5 of 6 slices are those that were used; 1 changed, the first: slice 5 at ("),
              "%s", ts_compare_program.outcome.err);
}

/* Projections, flats and darks are three inputs of one file, and a path stands for all of them. */
Test(inputs, all_inputs_of_a_scan)
{
    static const char chain[] =
        "tomostage: 2\ninput: {nexus: scan.nxs}\ninputs:\n  flats: {like: input, frames: flats}\n"
        "  darks: {like: input, frames: darks}\nstages:\n  - flat_field: {flats: flats, darks: "
        "darks}\n  - minus_log:\n  - fbp:\noutput: {hdf5: scan.h5}\n";
    ts_compare_program_write("scan.yaml", chain);
    ts_compare_program_run(
        ARGUMENTS("phantom", "scan", "-o", "scan.nxs", "--size", "32", "--slices", "2", "--views", "24"));
    ts_compare_program_run(ARGUMENTS("run", "scan.yaml"));
    ts_compare_program_run(ARGUMENTS("verify", "scan.h5", "--inputs", "scan.nxs"));
    cr_assert(
        strstr(ts_compare_program.outcome.out, "  input darks: the pixels of 2 of 2 slices are those that were used\n"),
        "%s", ts_compare_program.outcome.out);
    ts_compare_program_run(ARGUMENTS("phantom", "scan", "-o", "other.nxs", "--size", "32", "--slices", "2", "--views",
                                     "24", "--seed", "1"));
    ts_program_run(ts_compare_program.folder,
                   ARGUMENTS("verify", "scan.h5", "--inputs", "scan.nxs", "--inputs", "flats=other.nxs"),
                   &ts_compare_program.outcome);
    cr_assert(ts_compare_program.outcome.code == 3 &&
                  strstr(ts_compare_program.outcome.err, "flats: 0 of 2 slices are those that were used"),
              "%s", ts_compare_program.outcome.err);
}
