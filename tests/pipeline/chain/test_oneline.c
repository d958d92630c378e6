/* SPDX-License-Identifier: Apache-2.0
 *
 * The one-line form adds to chains brackets, single quotes, messages about misspelled names of
 * stages, and hints in its own spelling.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom/dicom.h"
#include "io/scan/exchange.h"
#include "pipeline/chain/chain_build.h"
#include "pipeline/chain/oneline.h"
#include "stages/filters/convolve.h"
#include "stages/projection/radon.h"
#include "tests/support/chain_text.h"

TestSuite(oneline);

static void expect_errors(const char *line, const char *errors)
{
    struct ts_diag *diag;
    struct ts_chain *chain;
    cr_expect_eq(ts_test_parse(line, &chain, &diag), TS_BAD_CHAIN, "%s", line);
    char *found = ts_test_errors(diag);
    cr_expect_str_eq(found, errors, "%s:\n%sinstead of\n%s", line, found, errors);
    free(found);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}

Test(oneline, brackets_make_lists_and_rows)
{
    struct ts_diag *diag;
    struct ts_chain *chain;
    cr_assert_eq(ts_test_parse("dicom x | convolve kernel=custom weights=[[0, 1,0], "
                               "[1,4,1],[0,1,0]] | radon angles=[0,10, 20] | radon angles=[5]",
                               &chain, &diag),
                 TS_OK, "%s", ts_test_errors(diag));
    const struct convolve_params *convolve = chain->stages[0].set.values;
    cr_expect_eq(convolve->weights.rows, 3);
    cr_expect_eq(convolve->weights.columns, 3);
    cr_expect_eq(convolve->weights.values[4], 4);
    cr_expect_eq(((const struct radon_params *)chain->stages[1].set.values)->angles.columns, 3);
    cr_expect_eq(((const struct radon_params *)chain->stages[2].set.values)->angles.values[0], 5);
    cr_expect_eq(ts_chain_set(chain, "radon#2.angles=[1, 2]", diag), TS_OK);
    cr_expect_eq(((const struct radon_params *)chain->stages[2].set.values)->angles.values[1], 2);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}

Test(oneline, items_between_brackets_may_hold_blanks)
{
    static const char *const lines[] = {
        "dicom x take=[phase, 7.38 ms] | equalize", "dicom x take=[phase,'7.38 ms'] | equalize",
        "dicom x take=[ phase ,7.38 ms ] | equalize", "dicom x take=phase,'7.38 ms' | equalize"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct ts_diag *diag;
        struct ts_chain *chain;
        cr_assert_eq(ts_test_parse(lines[i], &chain, &diag), TS_OK, "%s", ts_test_errors(diag));
        const struct ts_texts *take =
            &((const struct dicom_params *)chain->sources[0].set.values)->take;
        cr_assert_eq(take->n, 2, "%s", lines[i]);
        cr_expect_str_eq(take->items[0], "phase", "%s", lines[i]);
        cr_expect_str_eq(take->items[1], "7.38 ms", "%s", lines[i]);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
    }
}

/* Further inputs are those of `inputs:`: of a format, or like an earlier one. */
Test(oneline, further_inputs_stand_between_the_segments)
{
    struct ts_diag *diag;
    struct ts_chain *chain;
    cr_assert_eq(
        ts_test_parse(
            "exchange a.h5 angle_unit=degree | input flats like=input frames=flats | input darks "
            "exchange 'b c.h5' frames=darks | flat_field flats=flats darks=darks",
            &chain, &diag),
        TS_OK, "%s", ts_test_errors(diag));
    cr_assert_eq(chain->n_sources, 3);
    cr_expect_eq(chain->n_stages, 1);
    const struct exchange_params *flats = chain->sources[1].set.values,
                                 *darks = chain->sources[2].set.values;
    cr_expect_str_eq(chain->sources[1].name, "flats");
    cr_expect_str_eq(flats->exchange, "folder/a.h5");
    cr_expect_str_eq(darks->exchange, "folder/b c.h5");
    cr_expect_eq(flats->frames, FRAMES_FLATS);
    cr_expect_eq(darks->frames, FRAMES_DARKS);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}

Test(oneline, single_quotes_keep_everything_between_them)
{
    struct ts_diag *diag;
    struct ts_chain *chain;
    cr_assert_eq(
        ts_test_parse(
            "dicom 'my study' \"it's\" '\\|' series='a b' | save name='kept' | hdf5 'a|b.h5'",
            &chain, &diag),
        TS_OK, "%s", ts_test_errors(diag));
    const struct ts_texts *paths = chain->sources[0].set.values;
    cr_assert_eq(paths->n, 3);
    cr_expect_str_eq(paths->items[0], "folder/my study");
    cr_expect_str_eq(paths->items[1], "folder/it's");
    cr_expect_str_eq(paths->items[2], "folder/\\|");
    cr_expect_str_eq(chain->stages[0].name, "kept");
    cr_expect_str_eq(chain->output.path, "folder/a|b.h5");
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}

/* Several paths stand one after the other, or in a list as in YAML. */
Test(oneline, an_input_may_have_several_paths)
{
    static const char *const lines[] = {
        "dicom a 'b c' | equalize",        "dicom [a, b c] | equalize",
        "dicom [ a,'b c' ] | equalize",    "dicom a ['b c'] | equalize",
        "dicom [a] 'b c' | equalize",      "dicom series=3 [a, b c] | equalize",
        "dicom dicom=[a, b c] | equalize", "dicom a,b | equalize",
        "dicom '[a]' | equalize",          "dicom [a] | equalize"};
    static const char *const paths[][2] = {
        {"folder/a", "folder/b c"}, {"folder/a,b"}, {"folder/[a]"}, {"folder/a"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct ts_diag *diag;
        struct ts_chain *chain;
        const size_t row = i < 7 ? 0 : i - 6;
        cr_assert_eq(ts_test_parse(lines[i], &chain, &diag), TS_OK, "%s: %s", lines[i],
                     ts_test_errors(diag));
        const struct ts_texts *found = chain->sources[0].set.values;
        cr_assert_eq(found->n, row == 0 ? 2 : 1, "%s", lines[i]);
        for (int64_t k = 0; k < found->n; k++)
            cr_expect_str_eq(found->items[k], paths[row][k], "%s", lines[i]);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
    }
}

Test(oneline, what_is_wrong_is_named_at_its_place)
{
    static const char *const cases[][2] = {
        {"medain radius=3", "1:1: error: unknown stage 'medain'; did you mean 'median'?\n"},
        {"foo radius=3 | equalize", "1:1: error: unknown stage 'foo'\n"},
        {"medain | equalize", "1:1: error: unknown stage 'medain'; did you mean 'median'?\n"},
        {"foo ./study | equalize", "1:1: error: input: unknown format 'foo'\n"},
        {"dicom x | box(radius=2)",
         "1:14: error: a space is expected after the name of the stage\n"},
        {"dicom x | radon angles=[1,2", "1:24: error: this bracket is not closed\n"},
        {"dicom x | radon angles=[1,2]]",
         "1:29: error: a space or the end of the value is expected after the bracket\n"},
        {"dicom x | radon angles=[[[1]]]",
         "1:30: error: a space or the end of the value is expected after the bracket\n"},
        {"dicom x | radon angles=[]", "1:24: error: radon.angles: the list is empty\n"},
        {"dicom x | radon views=[3]",
         "1:23: error: radon.views: an integer is expected, found a list\n"},
        {"dicom 'x'y | equalize",
         "1:10: error: a space or the end of the value is expected after the single quote\n"},
        {"dicom 'x | equalize", "1:7: error: this single quote is not closed\n"},
        {"dicom x | input",
         "1:11: error: the name of the further input is expected after `input`\n"},
        {"dicom x | input like=input | equalize",
         "1:11: error: the name of the further input is expected after `input`\n"},
        {"dicom x | input a like=b | equalize", "1:24: error: a: unknown name 'b'\n"},
        {"dicom x | input a dicmo y | equalize",
         "1:19: error: a: unknown format 'dicmo'; did you mean 'dicom'?\n"},
        {"dicom x | input a dicom y | input a dicom z | equalize",
         "1:35: error: the key 'a' stands twice, first in line 1\n"},
        {"dicom x take=[a, b | equalize", "1:14: error: this bracket is not closed\n"},
        {"dicom x take=['a' b] | equalize",
         "1:19: error: a comma is expected here: it divides the items of a list\n"},
        {"dicom [a, b | equalize", "1:7: error: this bracket is not closed\n"},
        {"dicom [] | equalize", "1:7: error: input.dicom: the list is empty\n"},
        {"dicom [a]b | equalize",
         "1:10: error: a space or the end of the value is expected after the bracket\n"},
        {"nifti [a, b] | equalize", "1:7: error: input.nifti: a path is expected, found a list\n"},
        {"dicom a [b] box radius=1", "1:13: error: a | is missing before the name of a stage\n"},
        {"tiff x | equalize",
         "1:1: error: input: 2 parameters are required, but not given: pages, pixel_size\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_errors(cases[i][0], cases[i][1]);
}

Test(oneline, hints_are_spelled_as_the_line)
{
    static const char *const cases[][2] = {
        {"center: {center: 12.5} takes what the file says, center: {} searches",
         "center center=12.5 takes what the file says, center searches"},
        {"put `to_hu: {water: 0.02}` before it", "put `to_hu water=0.02` before it"},
        {"write range: [low, high], or limits: data", "write range=low,high, or limits=data"},
        {"weights: [[0, 1, 0], [1, 1, 1], [0, 1, 0]]", "weights=[[0,1,0],[1,1,1],[0,1,0]]"},
        {"choose one with series: N", "choose one with series=N"},
        {"scope: slice, or percentile_method: histogram.",
         "scope=slice, or percentile_method=histogram."},
        {"output: {hdf5: FILE.h5} in the chain, or -o FILE.h5",
         "hdf5 FILE.h5 in the chain, or -o FILE.h5"},
        {"circle: {radius: 5, outside: nan} and clip: false",
         "circle radius=5 outside=nan and clip=false"},
        {"input: {tiff: FOLDER, pages: slices, pixel_size: MM}",
         "tiff FOLDER pages=slices pixel_size=MM"},
        {"pattern: \"proj_*.tif\" takes one kind", "pattern=proj_*.tif takes one kind"},
        {"pattern: \"a b.tif\"", "pattern=\"a b.tif\""},
        {"it is a NIfTI file: input: {nifti: \"a {b, \\\"c.nii\"}",
         "it is a NIfTI file: nifti \"a {b, \\\"c.nii\""},
        /* Prose stays, and so does what no table knows or what is cut off. */
        {"radius: half width of the window", "radius: half width of the window"},
        {"known: box, median", "known: box, median"},
        {"angles: their number; method: whatever", "angles: their number; method: whatever"},
        {"- box: {...}, or", "- box ..., or"},
        {"box: {radius", "box: {radius"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *spelled = ts_oneline_hint(cases[i][0]);
        cr_expect_str_eq(spelled, cases[i][1]);
        free(spelled);
    }
}

/* A hint that comes after the chain was read is spelled as the chain is. */
Test(oneline, hints_follow_the_form_of_the_chain)
{
    static const char yaml[] = "tomostage: 2\ninput: {dicom: x}\nstages: {box: {radius: 2}}\n";
    struct ts_diag *diag;
    struct ts_chain *chain;
    cr_assert_eq(ts_test_parse(yaml, &chain, &diag), TS_BAD_CHAIN);
    cr_expect_str_eq(ts_diag_get(diag, 0)->hint,
                     "each stage stands in its own line: - box: {radius: 2}");
    ts_diag_destroy(diag);
    cr_assert_eq(ts_test_parse("dicom x | equalize", &chain, &diag), TS_OK);
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "test"}, "wrong");
    ts_diag_hint(diag, "use scope: volume, or %s: {%s: %d}", "box", "radius", 3);
    cr_expect_str_eq(ts_diag_get(diag, 0)->hint, "use scope=volume, or box radius=3");
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}

Test(oneline, may_leave_the_source_to_the_command_line)
{
    struct ts_diag *diag;
    struct ts_chain *chain;
    cr_assert_eq(ts_test_parse("box radius=2", &chain, &diag), TS_OK);
    cr_expect_null(chain->sources[0].format);
    cr_expect_eq(ts_chain_set_input(chain, "given here", diag), TS_OK);
    cr_expect_str_eq(((const struct ts_texts *)chain->sources[0].set.values)->items[0],
                     "given here");
    cr_expect_eq(ts_chain_set_output(chain, "there.h5", diag), TS_OK);
    cr_expect_str_eq(chain->output.path, "there.h5");
    cr_expect_eq(ts_chain_set_output(chain, "", diag), TS_BAD_CHAIN);
    cr_expect_eq(ts_chain_set_input(chain, "", diag), TS_BAD_CHAIN);
    cr_expect_str_eq(((const struct ts_texts *)chain->sources[0].set.values)->items[0],
                     "given here");
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}

Test(oneline, bad_lines_have_exactly_their_errors)
{
    static const char *const cases[][2] = {
        {"dicmo ./study | equalize",
         "1:1: error: input: unknown format 'dicmo'; did you mean 'dicom'?\n"},
        {"./study | equalize", "1:1: error: input: unknown format './study'\n"},
        {"dicom ./study | box radius=9000",
         "1:28: error: box.radius: 9000 is outside [0, 1024] pixel\n"},
        {"dicom ./study | box radius 2", "1:21: error: parameter=value is expected here\n1:28: "
                                         "error: parameter=value is expected here\n"
                                         "1:17: error: box.radius: required, but not given\n"},
        {"dicom ./study | box radius=2,3", "1:28: error: box.radius: '2,3' is not an integer\n"},
        {"dicom ./study | box radius=\"2\"",
         "1:28: error: box.radius: '2' is a text in quotes, not a number\n"},
        {"dicom ./study | box radius=",
         "1:28: error: box.radius: an integer is expected, found nothing\n"},
        {"dicom ./study | box radius=2 radius=3",
         "1:30: error: the key 'radius' stands twice, first in line 1\n"},
        {"dicom ./study | bxo radius=2", "1:17: error: unknown stage 'bxo'; did you mean 'box'?\n"},
        {"dicom ./study | | equalize", "1:17: error: the name of a stage is expected here\n"},
        {"dicom ./study | equalize |", "1:27: error: the name of a stage is expected here\n"},
        {"dicom | equalize", "1:1: error: input.dicom: a path is expected, found nothing\n"},
        {"dicom ./study serie=2 | equalize",
         "1:15: error: input: unknown parameter 'serie'; did you mean 'series'?\n"},
        {"dicom ./study | equalize | hdf5",
         "1:28: error: output.hdf5: a path is expected, found nothing\n"},
        {"dicom ./study | equalize | hdf5 a.h5 compression=gzip",
         "1:50: error: output.compression: 'gzip' is not a choice\n"},
        {"dicom ./study | equalize | hdf5 a.h5 dtype=f32",
         "1:44: error: output.dtype: 'f32' is not a choice\n"},
        {"dicom ./study | equalize | hdf5 a.h5 compresion=none",
         "1:38: error: output: unknown format 'compresion'; did you mean 'compression'?\n"},
        {"dicom ./study | hdf5 a.h5 | equalize",
         "1:17: error: this is an output, and a stage stands behind it\n"},
        {"dicom ./study | box radius = 2", "1:27: error: no space may stand beside =\n"},
        {"dicom ./study | box radius= 2",
         "1:29: error: parameter=value is expected here\n"
         "1:28: error: box.radius: an integer is expected, found nothing\n"},
        {"dicom ./study | rescale limits=[1 2]",
         "1:35: error: a comma is expected here: it divides the items of a list\n"},
        {"dicom ./study | rescale limits=[1,2", "1:32: error: this bracket is not closed\n"},
        {"| box radius=2", "1:1: error: the name of a stage is expected here\n"},
        {"dicom \"./study | equalize", "1:7: error: this double quote is not closed\n"},
        {"dicom \"./study\"x | equalize",
         "1:16: error: a space or the end of the value is expected after the double quote\n"},
        {"dicom ./study | statistics percentiles=5,,7",
         "1:42: error: statistics.percentiles: a number is expected, found nothing\n"},
        {"dicom ./study | histogram reference=late | save name=late",
         "1:37: error: histogram.reference: 'late' is the name of a later stage (line 1)\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_errors(cases[i][0], cases[i][1]);
}
