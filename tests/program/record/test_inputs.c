/* SPDX-License-Identifier: Apache-2.0
 *
 * `verify --inputs` runs from end to end on the images that were used, and on studies with a slice
 * that is missing, changed or additional, or that has another place or scale.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/program/record/compare_program.h"

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

/* Exchanges the pixels, the last bytes, of two files of 48 x 48. */
static void exchange_pixels(const char *a, const char *b)
{
    enum { PIXELS = 2 * 48 * 48 };
    char pixels[2][PIXELS];
    const char *const names[] = {a, b};
    for (int k = 0; k < 4; k++) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", ts_compare_program.folder, names[k % 2]);
        FILE *file = fopen(path, k < 2 ? "rb" : "r+b");
        cr_assert(file && fseek(file, -PIXELS, SEEK_END) == 0);
        cr_assert_eq(k < 2 ? fread(pixels[k], 1, PIXELS, file)
                           : fwrite(pixels[3 - k], 1, PIXELS, file),
                     PIXELS);
        cr_assert_eq(fclose(file), 0);
    }
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
    expect(0, ARGUMENTS("every byte\n", "input input: the pixels of 6 of 6 slices are those that "
                                        "were used, of the very same DICOM instances\n"));
    ts_program_run(ts_compare_program.folder,
                   ARGUMENTS("verify", "a.h5", "--inputs", "input=study"),
                   &ts_compare_program.outcome);
    cr_assert_eq(ts_compare_program.outcome.code, 0, "%s", ts_compare_program.outcome.err);
    ts_program_run(ts_compare_program.folder,
                   ARGUMENTS("verify", "a.h5", "--inputs", "study", "--inputs", "study"),
                   &ts_compare_program.outcome);
    cr_assert(ts_compare_program.outcome.code == 2 &&
                  strstr(ts_compare_program.outcome.err, "both given as the input"),
              "%s", ts_compare_program.outcome.err);
    ts_compare_program_expect(ARGUMENTS("verify", "a.h5", "--inputs", "inptu=study"), 2,
                              ARGUMENTS("the chain has no input 'inptu'; did you mean 'input'?",
                                        "it has: input\n", "[unknown-input]"));
    ts_program_run(ts_compare_program.folder, ARGUMENTS("verify", "a.h5", "--inputs", "nowhere"),
                   &ts_compare_program.outcome);
    cr_assert_eq(ts_compare_program.outcome.code, 3, "%s", ts_compare_program.outcome.err);
}

/* The plan of the inputs alone has no stage that a sweep could change. */
Test(inputs, those_of_a_sweep_are_recognized)
{
    ts_compare_program_run(
        ARGUMENTS("run", "dicom study | box radius={sweep 1 2} | hdf5 sweep.h5"));
    ts_compare_program_expect(ARGUMENTS("verify", "sweep.h5", "--inputs", "study"), 0,
                              ARGUMENTS("the pixels of 6 of 6 slices are those that were used"));
}

Test(inputs, a_missing_slice_is_named)
{
    cr_assert_eq(unlink(first_file), 0);
    expect(
        3,
        ARGUMENTS(
            "input: 5 of 6 slices are those that were used; 1 missing, the first: slice 0 at ("));
}

Test(inputs, a_changed_slice_is_named)
{
    change_last_byte(last_file);
    expect(3, ARGUMENTS("5 of 6 slices are those that were used; 1 changed, the first: study/",
                        "slice 5 at ("));
}

/* The same pixels in another order are another volume. Noise makes no two slices alike. */
Test(inputs, a_moved_slice_is_named)
{
    static const char *const names[] = {"noisy/IM0001.dcm", "noisy/IM0006.dcm"};
    ts_compare_program_run(ARGUMENTS("phantom", "head", "-o", "noisy", "--size", "48", "--slices",
                                     "6", "--noise", "10"));
    ts_compare_program_run(ARGUMENTS("run", "dicom noisy | box radius=1 | hdf5 n.h5"));
    exchange_pixels(names[0], names[1]);
    ts_compare_program_expect(ARGUMENTS("verify", "n.h5", "--inputs", "noisy"), 3,
                              ARGUMENTS("4 of 6 slices are those that were used; 2 at another "
                                        "place, the first: noisy/IM0006.dcm, slice 0 at (",
                                        ", now at ("));
    ts_compare_program_expect(ARGUMENTS("rerun", "n.h5", "-i", "noisy"), 3,
                              ARGUMENTS("input: this input is not"));
    ts_compare_program_run(ARGUMENTS("phantom", "head", "-o", "again", "--size", "48", "--slices",
                                     "6", "--noise", "10"));
    ts_compare_program_write(
        "chain.yaml",
        "tomostage: 2\ninput: {dicom: x}\nstages:\n  - box: {radius: 1}\noutput: {hdf5: y.h5}\n");
    ts_compare_program_run(ARGUMENTS("batch", "chain.yaml", "again", "-o", "results"));
    exchange_pixels("again/IM0001.dcm", "again/IM0006.dcm");
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain.yaml", "again", "-o", "results", "--resume"), 3,
        ARGUMENTS("2 at another place"));
    exchange_pixels(names[0], names[1]);
    ts_compare_program_expect(ARGUMENTS("verify", "n.h5", "--inputs", "noisy"), 0,
                              ARGUMENTS("the pixels of 6 of 6 slices"));
}

/* Writes two bytes into an element of all files of a folder, behind its tag, type and length. */
static void write_element(const char *folder, const char head[8], const char *value)
{
    char names[4096], study[300], path[600], bytes[4096];
    snprintf(study, sizeof study, "%s/%s", ts_compare_program.folder, folder);
    ts_program_folder_list(study, names, sizeof names);
    for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
        snprintf(path, sizeof path, "%s/%s", study, name);
        FILE *file = fopen(path, "r+b");
        const size_t n = file ? fread(bytes, 1, sizeof bytes, file) : 0;
        const char *found = memmem(bytes, n, head, 8);
        cr_assert(found && fseek(file, found - bytes + 8, SEEK_SET) == 0);
        cr_assert(fwrite(value, 1, 2, file) == 2 && fclose(file) == 0);
    }
}

/* No value depends on the number of a series, and the result states it. */
Test(inputs, other_headers_are_named)
{
    write_element("study", "\x20\0\x11\0IS\2", "7 ");
    expect(0,
           ARGUMENTS("the pixels of 6 of 6 slices are those that were used, of the very same DICOM "
                     "instances\n",
                     "    what its headers say besides is not what was recorded: series_number\n"));
}

/* The same pixels with another Pixel Padding Value are other measured values. */
Test(inputs, padding_is_counted)
{
    ts_compare_program_run(ARGUMENTS(
        "run",
        "dicom study | threshold above=0 name=m | apply_mask input=input mask=m | dicom padded"));
    ts_compare_program_run(ARGUMENTS("run", "dicom padded | statistics | hdf5 p.h5"));
    ts_compare_program_expect(ARGUMENTS("verify", "p.h5", "--inputs", "padded"), 0,
                              ARGUMENTS("6 of 6"));
    write_element("padded", "\x28\0\x20\1SS\2", "\5\0");
    ts_compare_program_expect(
        ARGUMENTS("verify", "p.h5", "--inputs", "padded"), 3,
        ARGUMENTS(
            "6 of 6 slices are those that were used; padding_count is not what was recorded: "));
    ts_compare_program_expect(ARGUMENTS("rerun", "p.h5", "-i", "padded"), 3,
                              ARGUMENTS("input: this input is not"));
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
    ts_compare_program_run(
        ARGUMENTS("run", "dicom study slices=[1,3] | box radius=1 | hdf5 a.h5", "--force"));
    expect(0, ARGUMENTS("the pixels of 2 of 2 slices"));
}

/* The same pixels at other places are another input. */
Test(inputs, other_formats_and_places)
{
    ts_compare_program_run(ARGUMENTS("run", "dicom study | nifti a.nii"));
    ts_compare_program_run(ARGUMENTS("run", "nifti a.nii | box radius=1 | hdf5 b.h5"));
    ts_compare_program_run(ARGUMENTS("verify", "b.h5", "--inputs", "a.nii"));
    cr_assert(strstr(ts_compare_program.outcome.out,
                     "the pixels of 6 of 6 slices are those that were used\n"),
              "%s", ts_compare_program.outcome.out);
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

/* Four volumes of 1 x 2 x 3 pixels by time in a NIfTI file; `step` in seconds. */
static void write_series(const char *name, float step, bool reversed)
{
    unsigned char bytes[352 + 24] = {
        [0] = 0x5C, [1] = 1, [123] = 2 | 8}; /* sizeof_hdr; mm and seconds */
    const int16_t dim[] = {4, 3, 2, 1, 4, 1, 1, 1}, type[] = {2, 8};
    const float pixdim[] = {1, 1, 1, 2, step, 0, 0, 0}, offset = 352;
    memcpy(bytes + 40, dim, sizeof dim);
    memcpy(bytes + 70, type, sizeof type);
    memcpy(bytes + 76, pixdim, sizeof pixdim);
    memcpy(bytes + 108, &offset, sizeof offset);
    memcpy(bytes + 344, "n+1", 4);
    for (int i = 0; i < 24; i++)
        bytes[352 + i] = (unsigned char)((reversed ? 3 - i / 6 : i / 6) * 10 + i % 6);
    char path[300];
    snprintf(path, sizeof path, "%s/%s", ts_compare_program.folder, name);
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(bytes, 1, sizeof bytes, file) == sizeof bytes && fclose(file) == 0);
}

/* The times of volumes, and their order, are a part of the input. */
Test(inputs, volumes_of_a_series)
{
    write_series("a.nii", 2, false);
    write_series("slow.nii", 3, false);
    write_series("back.nii", 2, true);
    ts_compare_program_run(ARGUMENTS("run", "nifti a.nii | statistics | hdf5 s.h5"));
    ts_compare_program_expect(ARGUMENTS("verify", "s.h5", "--inputs", "a.nii"), 0,
                              ARGUMENTS("the pixels of 4 of 4 slices"));
    ts_compare_program_expect(
        ARGUMENTS("verify", "s.h5", "--inputs", "slow.nii"), 3,
        ARGUMENTS("volume_position is not what was recorded: volume 1 has 3, not 2"));
    ts_compare_program_expect(ARGUMENTS("rerun", "s.h5", "-i", "slow.nii"), 3,
                              ARGUMENTS("input: this input is not"));
    ts_compare_program_expect(
        ARGUMENTS("verify", "s.h5", "--inputs", "back.nii"), 3,
        ARGUMENTS(
            "0 of 4 slices are those that were used; 4 at another place, the first: slice 0 at (",
            "now slice 3"));
}

/* Facts that differ beside the pixels are named, with both values. */
Test(inputs, facts_are_named_with_both_values)
{
    ts_compare_program_run(ARGUMENTS("run", "dicom study | nifti a.nii"));
    ts_compare_program_run(ARGUMENTS("run", "nifti a.nii | box radius=1 | hdf5 b.h5"));
    char path[300];
    snprintf(path, sizeof path, "%s/a.nii", ts_compare_program.folder);
    const float moved = 7; /* srow_z[3], which is the z of the first slice */
    FILE *file = fopen(path, "r+b");
    cr_assert(file && fseek(file, 324, SEEK_SET) == 0 &&
              fwrite(&moved, sizeof moved, 1, file) == 1);
    cr_assert_eq(fclose(file), 0);
    ts_compare_program_expect(
        ARGUMENTS("verify", "b.h5", "--inputs", "a.nii"), 3,
        ARGUMENTS("slice_position is not what was recorded: slice 0 has 7, not -"));
    ts_compare_program_expect(
        ARGUMENTS("verify", "a.h5", "--inputs", "input=study", "--inputs", "study"), 0,
        ARGUMENTS("6 of 6"));
    ts_compare_program_expect(
        ARGUMENTS("rerun", "a.h5"), 3,
        ARGUMENTS("input: nothing says where this input is, and there is no '",
                  "-i PATH gives all inputs of the chain, -i input=PATH this one",
                  "[input-not-given]"));
}

/* Projections, flats and darks are three inputs of one file, and a path stands for all of them. */
Test(inputs, all_inputs_of_a_scan)
{
    static const char chain[] =
        "tomostage: 2\ninput: {nexus: scan.nxs}\ninputs:\n  flats: {like: input, frames: flats}\n"
        "  darks: {like: input, frames: darks}\nstages:\n  - flat_field: {flats: flats, darks: "
        "darks}\n  - minus_log:\n  - fbp:\noutput: {hdf5: scan.h5}\n";
    ts_compare_program_write("scan.yaml", chain);
    ts_compare_program_run(ARGUMENTS("phantom", "scan", "-o", "scan.nxs", "--size", "32",
                                     "--slices", "2", "--views", "24"));
    ts_compare_program_run(ARGUMENTS("run", "scan.yaml"));
    ts_compare_program_run(ARGUMENTS("verify", "scan.h5", "--inputs", "scan.nxs"));
    cr_assert(strstr(ts_compare_program.outcome.out,
                     "  input darks: the pixels of 2 of 2 slices are those that were used\n"),
              "%s", ts_compare_program.outcome.out);
    ts_compare_program_run(ARGUMENTS("phantom", "scan", "-o", "other.nxs", "--size", "32",
                                     "--slices", "2", "--views", "24", "--seed", "1"));
    ts_program_run(
        ts_compare_program.folder,
        ARGUMENTS("verify", "scan.h5", "--inputs", "scan.nxs", "--inputs", "flats=other.nxs"),
        &ts_compare_program.outcome);
    cr_assert(
        ts_compare_program.outcome.code == 3 &&
            strstr(ts_compare_program.outcome.err, "flats: 0 of 2 slices are those that were used"),
        "%s", ts_compare_program.outcome.err);
}
