/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages about what users get wrong in a chain name a way out. The errors themselves, with their
 * places, are tested by tests/chains and test_oneline.c.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/tomostage_array.h"
#include "pipeline/chain/chain.h"
#include "tests/support/chain_text.h"

#define YAML "tomostage: 2\ninput: {dicom: x}\nstages:\n"

TestSuite(way_out);

Test(way_out, every_error_names_one)
{
    static const struct {
        const char *text, *code, *hint;
    } cases[] = {
        {"- 1\n- 2\n", "wrong-kind", "a chain begins with the line `tomostage: 2`"},
        {"# nothing\n", "chain-empty", "write `tomostage: 2`, and below it `input`"},
        {YAML "  - box: {radius: 1\n  - invert\n", "yaml-syntax",
         "a bracket or brace of line 4 is not closed"},
        {"{\"tomostage\": 2, \"stages\": [{\"box\": {\"radius\": 1}}", "yaml-syntax",
         "a bracket or brace of line 1 is not closed"},
        {YAML "  - box: {radius: 1}\n\t- invert\n", "yaml-syntax",
         "this is a tab, and YAML is indented by spaces"},
        {YAML "  - box: radius: 2\n", "yaml-syntax", "a key ends in a colon and a space"},
        {YAML "  - box: radius=2\n", "wrong-kind", "box: {radius: 2}"},
        {YAML "  - box: 2\n", "wrong-kind", "box: {PARAMETER: VALUE}; `tomostage stages box`"},
        {YAML "  - box {radius: 2}\n", "unknown-stage",
         "a colon stands behind the name of a stage: - box: {...}"},
        {YAML "  - rescale: {range: 0,1}\n", "unknown-parameter",
         "a list of numbers stands in brackets: [0, 1]"},
        {YAML "  - box: {radius: 3degree}\n", "unit-unknown",
         "the unit of radius is pixel: give the number in that unit"},
        {YAML "  - box: {radius: {sweep: [1mm, 2mm]}}\n", "unit-unknown", "give radius in pixels"},
        {YAML "  - rescale: {range: [0 HU, 1 HU]}\n", "unit-unknown",
         "in the unit of the image's values"},
        {YAML "  - radon: {detector_spacing: 3 furlong}\n", "unit-unknown",
         "the unit of detector_spacing is mm"},
        {YAML "  - box: {radius: 3, radius: 4}\n", "duplicate-key", "keep one of the two"},
        {YAML "  - save: {name: a}\n  - save: {name: a}\n", "name-invalid",
         "choose another name for this one"},
        {"tomostage: 2\ninput: {}\nstages: [equalize]\n", "no-format",
         "such as input: {dicom: FOLDER}; known: dicom"},
        {"tomostage: 2\ninput: {foo: x}\nstages: [equalize]\n", "unknown-format",
         "such as input: {dicom: FOLDER}"},
        {"study | equalize", "unknown-format",
         "an input is a format and a path, such as dicom FOLDER; known: dicom"},
        {"head.nii.gz | box radius=1", "unknown-format",
         "stands before the path: nifti head.nii.gz"},
        {"./box.nii | box radius=1", "unknown-format", "stands before the path: nifti ./box.nii"},
        {"box.NRRD | invert", "unknown-format", "stands before the path: nrrd box.NRRD"},
        {"a.mhd | invert", "unknown-format", "stands before the path: mha a.mhd"},
        {"a.tif | invert", "unknown-format", "stands before the path: tiff a.tif"},
        {"a.npy | invert", "unknown-format", "stands before the path: npy a.npy"},
        {"IM1.DCM | invert", "unknown-format", "stands before the path: dicom IM1.DCM"},
        {"a.h5 | invert", "unknown-format",
         "result a.h5, or if it is a scan the format `nexus` or `exchange`"},
        {"/tmp | invert", "unknown-format",
         "dicom /tmp, or if it is a scan in TIFF files the format `tiff`"},
        {"tomostage: 2\ninput: {a.nii: x}\nstages: [equalize]\n", "unknown-format",
         "a format stands before the path: input: {nifti: a.nii}"},
        {"dicom x | box radius=3 mm", "oneline-syntax",
         "box PARAMETER=VALUE, and | before the next stage"},
        {"dicom x | box radius: 3", "oneline-syntax", "radius=VALUE"},
        {"dicom x | invert -o c.h5", "oneline-syntax",
         "-o FILE, stand outside the quotes of the chain"},
        {"dicom x | box radius=2s", "unit-unknown", "the unit of radius is pixel"},
        {"dicom x | gaussian sigma=1.5px", "unit-unknown",
         "the parameter unit says in what sigma is"},
        {"dicom x | gaussian sigma=2mm", "unit-unknown", "and unit beside it, as unit=mm"},
        {"dicom x | gaussian sigma=2s", "unit-unknown", "a number only, and unit beside it"},
        {"dicom x > box radius=2", "oneline-syntax", "| box radius=..."},
        {"dicom x, box radius=2", "oneline-syntax", "| box radius=..."},
        {"dicom x | equalize | hdf5 a.h5 | hdf5 b.h5", "duplicate-key", "keep one of the two"},
        {"dicom x | input | equalize", "oneline-syntax", "`input NAME FORMAT PATH`"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_diag *diag;
        struct ts_chain *chain;
        cr_expect_eq(ts_test_parse(cases[i].text, &chain, &diag), TS_BAD_CHAIN, "%s",
                     cases[i].text);
        const struct ts_diag_record *record = ts_diag_get(diag, 0);
        cr_assert_not_null(record, "%s", cases[i].text);
        cr_expect_str_eq(record->code, cases[i].code, "%s", cases[i].text);
        cr_expect(record->hint && strstr(record->hint, cases[i].hint), "%s: %s", cases[i].text,
                  record->hint ? record->hint : "no hint");
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
    }
}

/* A name that was cut short is completed, where only one begins so. */
Test(way_out, the_beginning_of_a_name_is_enough_to_suggest_it)
{
    static const char *const cases[][2] = {
        {"dicom x | gauss sigma=2", "unknown stage 'gauss'; did you mean 'gaussian'?"},
        {"dicom x | hist", "unknown stage 'hist'; did you mean 'histogram'?"},
        {"dicom x | re", "unknown stage 're'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_diag *diag;
        struct ts_chain *chain;
        cr_expect_eq(ts_test_parse(cases[i][0], &chain, &diag), TS_BAD_CHAIN);
        cr_expect_str_eq(ts_diag_get(diag, 0)->message, cases[i][1]);
        ts_diag_destroy(diag);
    }
}

/* Words of other tools have the stage, input or output that does the same. */
Test(way_out, words_of_other_tools_are_understood)
{
    static const char *const cases[][2] = {
        {"dicom x | clip", "unknown stage 'clip'; did you mean 'window'?"},
        {"dicom x | blur sigma=1", "unknown stage 'blur'; did you mean 'gaussian'?"},
        {"dicom x | Smooth", "unknown stage 'Smooth'; did you mean 'gaussian'?"},
        {"dicom x | resize", "unknown stage 'resize'; did you mean 'resample'?"},
        {"dicom x | normalize", "unknown stage 'normalize'; did you mean 'rescale'?"},
        {"dicom x | zoom", "unknown stage 'zoom'; did you mean 'resample'?"},
        {"dicom x | otsu", "unknown stage 'otsu'; did you mean 'threshold'?"},
        {"nii x.nii | invert", "input: unknown format 'nii'; did you mean 'nifti'?"},
        {"tif x.tif | invert", "input: unknown format 'tif'; did you mean 'tiff'?"},
        {"dicom x | invert | nii o.nii", "unknown output 'nii'; did you mean 'nifti'?"},
        {"dicom x | invert | tif o.tif", "unknown output 'tif'; did you mean 'tiff'?"},
        {"dicom x | invert | h5 o.h5", "unknown output 'h5'; did you mean 'hdf5'?"},
        {"dicom x | invert | pgn o", "unknown output 'pgn'; did you mean 'png'?"},
        {"dicom x | invert | nii o.nii | png p", "unknown output 'nii'; did you mean 'nifti'?"},
        {"dicom x | invert | csv o.csv", "unknown output 'csv'"},
        {YAML "  - invert: {}\noutput: {nii: o.nii}\n",
         "output: unknown format 'nii'; did you mean 'nifti'?"},
        {YAML "  - invert: {}\noutput: {tif: o.tif}\n",
         "output: unknown format 'tif'; did you mean 'tiff'?"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_diag *diag;
        struct ts_chain *chain;
        char said[512];
        cr_expect_eq(ts_test_parse(cases[i][0], &chain, &diag), TS_BAD_CHAIN, "%s", cases[i][0]);
        const struct ts_diag_record *record = ts_diag_get(diag, 0);
        snprintf(said, sizeof said, "%s%s%s", record->stage ? record->stage : "",
                 record->stage ? ": " : "", record->message);
        cr_expect_str_eq(said, cases[i][1]);
        ts_diag_destroy(diag);
    }
}

/* A list in place of one number says how a sweep is written; a parameter that takes lists does not.
 */
Test(way_out, a_list_may_be_meant_as_a_sweep)
{
    static const char *const cases[] = {
        "dicom x | box radius=[1,2,4]", "dicom x | box radius=1,2,4",
        "dicom x | radon views=[90,180]", YAML "  - box: {radius: [1, 2, 4]}\n"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_diag *diag;
        struct ts_chain *chain;
        cr_expect_eq(ts_test_parse(cases[i], &chain, &diag), TS_BAD_CHAIN, "%s", cases[i]);
        const char *hint = ts_diag_get(diag, 0)->hint;
        cr_expect(hint && strstr(hint, "on one line") && strstr(hint, "={sweep 1 2 4}"), "%s: %s",
                  cases[i], hint ? hint : "no hint");
        ts_diag_destroy(diag);
    }
}

/* ~ and $HOME begin a path as in a shell, in every place where a chain has a path. */
Test(way_out, the_home_folder_begins_a_path)
{
    static const char *const cases[][2] = {
        {"dicom ~/study | invert | hdf5 $HOME/o.h5", "dicom: /home/me/study"},
        {"dicom ${HOME}/study | invert | hdf5 ~/o.h5", "hdf5: /home/me/o.h5"},
        {"tomostage: 2\ninput: {dicom: ~/study}\nstages: [invert]\noutput: {nifti: ~/o.nii}\n",
         "nifti: /home/me/o.nii"},
        {"dicom ~you/study | invert", "~you/study"},
        {"dicom $HOMES/study | invert", "$HOMES/study"},
        {"dicom a/~/study | invert", "a/~/study"},
        {"dicom $HOME | invert", "dicom: /home/me/"}};
    setenv("HOME", "/home/me", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_diag *diag;
        struct ts_chain *chain;
        cr_assert_eq(ts_test_parse(cases[i][0], &chain, &diag), TS_OK, "%s", cases[i][0]);
        char written[1024];
        cr_assert_lt(ts_chain_text(chain, false, written, sizeof written), sizeof written);
        cr_expect(strstr(written, cases[i][1]), "%s: %s", cases[i][0], written);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
    }
}

/* Numbers with units are kept as what they mean, and a length in mm as it was given until the
 * spacing is known. */
Test(way_out, numbers_with_units_are_taken)
{
    static const char *const cases[][2] = {
        {"box radius=1.6mm", "radius: 1.6mm"},
        {"box radius=0.16cm", "radius: 1.6mm"},
        {"box radius=2px", "radius: 2"},
        {"radon views=90 start=0.5rad", "start: 28.64788975654116"},
        {"radon views=90 detector_spacing=650um", "detector_spacing: 0.65"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_diag *diag;
        struct ts_chain *chain;
        char text[128];
        snprintf(text, sizeof text, "dicom x | %s", cases[i][0]);
        cr_assert_eq(ts_test_parse(text, &chain, &diag), TS_OK, "%s", text);
        char *written = ts_chain_canonical(chain);
        cr_expect(strstr(written, cases[i][1]), "%s: %s", text, written);
        free(written);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
    }
}

/* An angle with a unit is that angle, whatever angle_unit says and wherever it stands; what is
 * recorded repeats it. */
Test(way_out, angles_with_units_are_no_matter_of_angle_unit)
{
    static const char npy[] = "npy p.npy axes=z,view,detector ";
    static const char *const cases[][3] = {
        {"theta_start=0 theta_stop=180deg angle_unit=radian", "theta_stop: 3.14159265358979",
         "angle_unit: radian"},
        {"angle_unit=radian theta_start=0deg theta_stop=180deg", "theta_stop: 3.14159265358979",
         "theta_start: 0"},
        {"theta_start=0 theta_stop=3.141592653589793rad angle_unit=radian",
         "theta_stop: 3.14159265358979", ""},
        {"angle_unit=radian theta_start=0 theta_stop=500mrad", "theta_stop: 0.5,", ""},
        {"theta_start=0 theta_stop=3.141592653589793rad angle_unit=degree", "theta_stop: 180,", ""},
        {"theta_start=0 theta_stop=3.141592653589793rad", "theta_stop: 180,", ""},
        {"theta_start=0 theta_stop=3.5 angle_unit=radian", "theta_stop: 3.5,", ""},
        {"theta_start=0 theta_stop=180 angle_offset=90deg angle_unit=radian", "theta_stop: 180,",
         "angle_offset: 90"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_diag *diag;
        struct ts_chain *chain;
        char text[256];
        snprintf(text, sizeof text, "%s%s | fbp", npy, cases[i][0]);
        cr_assert_eq(ts_test_parse(text, &chain, &diag), TS_OK, "%s", text);
        char *written = ts_chain_canonical(chain);
        cr_expect(strstr(written, cases[i][1]) && strstr(written, cases[i][2]), "%s: %s", text,
                  written);
        free(written);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
    }
}

Test(way_out, angles_with_units_follow_assignments)
{
    static const char *const assignments[][2] = {
        {"input.angle_unit=radian", "theta_stop: 3.14159265358979"},
        {"input.angle_unit=degree", "theta_stop: 180,"},
        {"input.theta_stop=90deg", "theta_stop: 90,"},
        {"input.angle_unit=radian", "theta_stop: 1.570796326794896"},
        {"input.theta_stop=2", "theta_stop: 2,"},
        {"input.angle_unit=degree", "theta_stop: 2,"}};
    struct ts_diag *diag;
    struct ts_chain *chain;
    cr_assert_eq(
        ts_test_parse("exchange e.h5 theta_start=0 theta_stop=180deg | fbp", &chain, &diag), TS_OK);
    for (size_t i = 0; i < sizeof assignments / sizeof *assignments; i++) {
        cr_assert_eq(ts_chain_set(chain, assignments[i][0], diag), TS_OK, "%s", assignments[i][0]);
        char *written = ts_chain_canonical(chain);
        cr_expect(strstr(written, assignments[i][1]), "%s: %s", assignments[i][0], written);
        free(written);
    }
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}
