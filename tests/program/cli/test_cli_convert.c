/* SPDX-License-Identifier: Apache-2.0
 *
 * Series of a folder: chosen by a rule, and all written as NIfTI.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/program.h"

static struct program_outcome outcome;
static char folder[256];

/* A folder with three series, of which one lacks a slice between others. */
static void make_series(void)
{
    static const char *const phantoms[] = {"head", "disc", "rods"};
    char path[512];
    ts_test_folder(folder, sizeof folder);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "all/%s", phantoms[i]);
        if (i == 0) {
            snprintf(path, sizeof path, "%s/all", folder);
            mkdir(path, 0777);
            snprintf(path, sizeof path, "all/head");
        }
        ts_program_run(
            folder, ARGUMENTS("phantom", phantoms[i], "-o", path, "--size", "16", "--slices", "6"),
            &outcome);
        cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    }
}

static void remove_folder(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(cli_convert, .init = make_series, .fini = remove_folder);

static void expect(const char *const *arguments, int code, const char *out, const char *err)
{
    ts_program_run(folder, arguments, &outcome);
    cr_expect_eq(outcome.code, code, "%s %s: %d %s", arguments[0], arguments[1], outcome.code,
                 outcome.err);
    cr_expect(!out || strstr(outcome.out, out), "'%s' in %s", out, outcome.out);
    cr_expect(!err || strstr(outcome.err, err), "'%s' in %s", err, outcome.err);
}

static void write_text(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

#define RULED(rule) "tomostage: 2\ninput: {dicom: all, series: " rule "}\nstages: [invert]\n"

/* The rule chooses the series, and the result has its number. */
Test(cli_convert, a_rule_chooses_a_series)
{
    static const struct {
        const char *chain, *err;
        int code;
    } cases[] = {
        {RULED("{modality: CT, description: \"*disc*\"}"), NULL, 0},
        {RULED("{description: \"DISC ph?ntom\", number: 1}"), NULL, 0},
        {RULED("\"*disc*\""), NULL, 0},
        {RULED("\"modality=ct; description=d*; slice_thickness=2.50\""), NULL, 0},
        {RULED("\"disc phantom\""), NULL, 0},
        {RULED("{modality: CT}"), "[several-series]", 3},
        {RULED("{modality: MR, description: \"*disc*\"}"), "[series-unknown]", 3},
        {RULED("{slice_thickness: 5}"), "[series-unknown]", 3},
        {RULED("{modalty: CT}"), "[series-rule]", 2},
        {RULED("{modality: [CT, MR]}"), "[wrong-kind]", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text("c.yaml", cases[i].chain);
        expect(ARGUMENTS("check", "c.yaml", "-o", "o.h5"), cases[i].code,
               cases[i].code ? NULL : "6 x 16 x 16", cases[i].err);
        if (cases[i].code == 0)
            expect(ARGUMENTS("check", "c.yaml", "-o", "o.h5"), 0, "series: \"", NULL);
    }
    expect(ARGUMENTS("check", "dicom all series=\"description=*rods*\"", "-o", "o.h5"), 0, NULL,
           NULL);
}

Test(cli_convert, all_series_are_written_and_what_is_none_says_why)
{
    char path[512];
    snprintf(path, sizeof path, "%s/all/disc/IM0003.dcm", folder);
    cr_assert_eq(unlink(path), 0);
    expect(ARGUMENTS("convert", "all", "-o", "out", "--all-series", "-f", "sub-01/anat/%d"), 0,
           "wrote out/sub-01/anat/head_phantom.nii.gz: ", NULL);
    cr_expect(strstr(outcome.out, "[slice-missing]\n"), "%s", outcome.out);
    cr_expect(strstr(outcome.out, "\n2 of 3 series are written\n"), "%s", outcome.out);
    snprintf(path, sizeof path, "%s/out/sub-01/anat", folder);
    char names[512];
    ts_program_folder_list(path, names, sizeof names);
    cr_expect_str_eq(names, "head_phantom.json head_phantom.nii.gz rods_phantom.json "
                            "rods_phantom.nii.gz ");
    expect(ARGUMENTS("convert", "all", "-o", "out", "--all-series", "-f", "same"), 0,
           "wrote out/samea.nii.gz: ", NULL);
    expect(ARGUMENTS("convert", "all", "-o", "out", "--all-series", "-f", "same"), 1, NULL,
           "[output-exists]");
    expect(ARGUMENTS("diff", "out/same.nii.gz", "out/sub-01/anat/head_phantom.nii.gz"), 0, NULL,
           NULL);
    expect(ARGUMENTS("convert", "all/head", "-o", "one.nii"), 0, "wrote one.nii: ", NULL);
    expect(ARGUMENTS("convert", "all", "-o", "two.nii"), 3, NULL, "[several-series]");
    expect(ARGUMENTS("convert", "all/disc", "-o", "none", "--all-series"), 3, "refused series 1, ",
           "[no-volume]");
    expect(ARGUMENTS("convert", "all"), 2, NULL, "-o OUT is missing");
}

/* The file that the program writes beside an image says what its values are; another program's, or
   the chain, says something else. */
Test(cli_convert, the_quantity_and_the_unit_of_an_own_image_are_read_back)
{
    expect(ARGUMENTS("run", "dicom all/head | nifti h.nii.gz"), 0, NULL, NULL);
    expect(ARGUMENTS("check", "nifti h.nii.gz", "-o", "o.h5"), 0, "i16   hu            HU ", NULL);
    expect(ARGUMENTS("check", "nifti h.nii.gz quantity=intensity", "-o", "o.h5"), 0,
           "i16   intensity     1 ", NULL);
    expect(ARGUMENTS("run", "dicom all/head | to_attenuation water=0.02 | nifti a.nii"), 0, NULL,
           NULL);
    expect(ARGUMENTS("check", "nifti a.nii", "-o", "o.h5"), 0, "f32   attenuation   1/mm ", NULL);
    expect(ARGUMENTS("run", "nifti a.nii | box radius=1 | hdf5 a.h5"), 0, NULL, NULL);
    expect(ARGUMENTS("rerun", "a.h5", "-i", "a.nii"), 0, "the same: ", NULL);
    write_text("h.json", "{\"Quantity\": \"hu\", \"Units\": \"HU\"}");
    expect(ARGUMENTS("check", "nifti h.nii.gz", "-o", "o.h5"), 0, "i16   intensity     1 ", NULL);
    write_text("h.json", "{\"Quantity\": \"hu, \"GeneratedBy\": [{\"Name\": \"tomostage\"}]}");
    expect(ARGUMENTS("check", "nifti h.nii.gz", "-o", "o.h5"), 0, "i16   intensity     1 ", NULL);
}
