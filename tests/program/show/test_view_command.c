/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage view` without a window: what it opens, the frames it leaves, and what it refuses.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/program.h"

static struct program_outcome outcome;

#define RUN(folder, ...) ts_program_run(folder, (const char *const[]){__VA_ARGS__, NULL}, &outcome)

static void make_study(const char *folder)
{
    RUN(folder, "phantom", "head", "-o", "study", "--size", "48", "--slices", "5");
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
}

/* A study has a frame a slice; a chain is run first, leaves no file, and its tables can be looked
 * at. */
Test(view_command, frames_of_a_study_and_of_a_chain)
{
    char folder[4096], names[4096];
    ts_test_folder(folder, sizeof folder);
    make_study(folder);
    RUN(folder, "view", "study", "--device", "cpu", "--frames", "frames", "--size", "320x200");
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert(strstr(outcome.out, "wrote 5 frames of 320 x 200 to frames"), "%s", outcome.out);
    RUN(folder, "view", "dicom study | box radius=1 | histogram | save name=soft | equalize",
        "--device", "cpu", "--frames", "one", "--slice", "2", "--keys", "tn");
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert(strstr(outcome.out, "wrote 1 frame of 1280 x 800"), "%s", outcome.out);
    ts_program_folder_list(folder, names, sizeof names);
    cr_assert_str_eq(names, "frames one study ");
    ts_program_folder_remove(folder);
}

/* `run --view` keeps the chain's output, and a result is opened at the image that is asked for. */
Test(view_command, a_run_keeps_its_output)
{
    char folder[4096], names[4096];
    ts_test_folder(folder, sizeof folder);
    make_study(folder);
    RUN(folder, "run", "dicom study | save name=first | box radius=2 | hdf5 out.h5", "--device",
        "cpu");
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    RUN(folder, "view", "out.h5", "--device", "cpu", "--frames", "a", "--image", "first", "--slice",
        "1");
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    RUN(folder, "view", "out.h5", "--device", "cpu", "--frames", "b", "--image", "frist");
    cr_assert_eq(outcome.code, 3);
    cr_assert(strstr(outcome.err, "there is no image 'frist'; it has data, first"), "%s",
              outcome.err);
    RUN(folder, "view", "out.h5", "--device", "cpu", "--frames", "a");
    cr_assert_eq(outcome.code, 1);
    cr_assert(strstr(outcome.err, "a: the folder is not empty"), "%s", outcome.err);
    RUN(folder, "view", "out.h5", "--device", "cpu", "--frames", "a", "--force");
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    ts_program_folder_list(folder, names, sizeof names);
    cr_assert_str_eq(names, "a out.h5 study ");
    ts_program_folder_remove(folder);
}

/* --series chooses a series of a DICOM folder, by its number in `info` or its Series Number. */
Test(view_command, shows_the_series_that_is_asked_for)
{
    static const char *const wrong[] = {"3", "#7", "it's"};
    char folder[4096];
    ts_test_folder(folder, sizeof folder);
    make_study(folder);
    RUN(folder, "phantom", "disc", "-o", "study/more", "--size", "32", "--slices", "3");
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    RUN(folder, "view", "study", "--device", "cpu", "--frames", "none");
    cr_assert_neq(outcome.code, 0);
    RUN(folder, "view", "study", "--device", "cpu", "--frames", "one", "--series", "1");
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    const bool five = strstr(outcome.out, "wrote 5 frames") != NULL;
    RUN(folder, "view", "study", "--device", "cpu", "--frames", "two", "--series", "2");
    cr_assert(outcome.code == 0 && strstr(outcome.out, five ? "wrote 3 frames" : "wrote 5 frames"),
              "%s%s", outcome.out, outcome.err);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        RUN(folder, "view", "study", "--device", "cpu", "--frames", "f", "--series", wrong[i]);
        cr_expect_neq(outcome.code, 0, "%s", wrong[i]);
    }
    ts_program_folder_remove(folder);
}

/* A slider has a frame a step, whatever slice is shown. */
Test(view_command, frames_of_a_slider)
{
    char folder[4096];
    ts_test_folder(folder, sizeof folder);
    make_study(folder);
    RUN(folder, "view", "dicom study | invert | box radius=2 | equalize", "--stage", "box.radius",
        "--device", "cpu", "--frames", "frames", "--slice", "0", "--size", "200x200");
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert(strstr(outcome.out, "wrote 17 frames"), "%s", outcome.out);
    ts_program_folder_remove(folder);
}

Test(view_command, says_what_is_wrong)
{
    char folder[4096];
    ts_test_folder(folder, sizeof folder);
    make_study(folder);
    RUN(folder, "view", "study", "--frames", "f", "--size", "12x9");
    cr_assert_eq(outcome.code, 2);
    cr_assert(strstr(outcome.err, "is not WIDTHxHEIGHT"), "%s", outcome.err);
    RUN(folder, "view", "study", "--frames", "f", "--screen", "wall");
    cr_assert_eq(outcome.code, 2);
    RUN(folder, "view", "study", "--frames", "f", "--stage", "box.radius");
    cr_assert_eq(outcome.code, 2);
    cr_assert(strstr(outcome.err, "is a stage of a chain"), "%s", outcome.err);
    RUN(folder, "view", "study", "--frames", "f", "--slice", "5");
    cr_assert_eq(outcome.code, 2);
    cr_assert(strstr(outcome.err, "--slice 5: the image has slices 0 to 4"), "%s", outcome.err);
    RUN(folder, "view", "study", "--frames", "f", "--keys", "4\xC2\xB5x");
    cr_assert_eq(outcome.code, 2);
    cr_assert(strstr(outcome.err, "there is no key '\xC2\xB5'"), "%s", outcome.err);
    RUN(folder, "view", "dicom study | box radius=2", "--frames", "f", "--stage", "box.radius",
        "--image", "soft");
    cr_assert_eq(outcome.code, 2);
    cr_assert(strstr(outcome.err, "--image soft has no part in it"), "%s", outcome.err);
    static const char *const missing[] = {"nothing.yaml", "study/CT_image", "a study/CT"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        char message[64];
        snprintf(message, sizeof message, "there is no file or folder %s", missing[i]);
        RUN(folder, "view", missing[i], "--frames", "f");
        cr_assert_eq(outcome.code, 3);
        cr_assert(strstr(outcome.err, message), "%s", outcome.err);
    }
    RUN(folder, "view", "dicmo study", "--frames", "f");
    cr_assert_eq(outcome.code, 2);
    ts_program_folder_remove(folder);
}
