/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage batch --fit` finds a standard scale, goes on after a stop, and never replaces what is
 * no file of landmarks. tests/results/test_fit.py compares the numbers with numpy.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/program/batch/batch_folder.h"

#define SCALE "0,9,20,26,31,40,48,56,65,70,75,86,100"

static void begin(void)
{
    ts_batch_folder_begin();
    ts_compare_program_write(
        "fit.yaml", "tomostage: 2\ninput: {dicom: x}\ninputs:\n  other: {dicom: st/p1}\n"
                    "stages:\n"
                    "  - foreground: {name: head}\n  - box: {input: input, radius: 3, name: wide}\n"
                    "  - gaussian: {input: input, sigma: 1, name: smooth}\n"
                    "  - nyul: {mask: head, landmarks_file: std.json}\n"
                    "  - box: {radius: 1, name: thin}\n"
                    "  - save: {name: kept, input: wide}\n"
                    "  - compare: {input: wide, reference: other, data_range: 2000}\n"
                    "  - save: {name: last, input: thin}\n"
                    "output: {hdf5: y.h5}\n");
    ts_compare_program_write("chain1.yaml",
                             "tomostage: 2\ninput: {dicom: x}\nstages:\n"
                             "  - nyul: {landmarks_file: std.json}\noutput: {hdf5: y.h5}\n");
}

TestSuite(fit, .init = begin, .fini = ts_compare_program_end);

#define FIT(...) ARGUMENTS("batch", "fit.yaml", "st/*", "-o", "out", "--fit", __VA_ARGS__)

Test(fit, runs_twice_and_records_the_landmarks)
{
    ts_compare_program_expect(
        ARGUMENTS("batch", "fit.yaml", "st/*", "-o", "out", "--fit", "--set", "gaussian.sigma=1.5"),
        0,
        ARGUMENTS("fitting std.json: the percentiles of 3 studies go to out/fit\n",
                  "wrote std.json: the standard scale of 3 studies\n",
                  "wrote out/batch.tsv: 3 studies, 3 done\n"));
    ts_batch_folder_expect("out/fit", "p1.h5 p2.h5 p3.h5 ");
    ts_compare_program_expect(ARGUMENTS("info", "out/fit/p1.h5"), 0,
                              ARGUMENTS("statistics", "crop", "sigma: [1.5]"));
    cr_assert_null(strstr(ts_compare_program.outcome.out, "box"));
    ts_batch_folder_remove("std.json"); /* results need it no more */
    ts_compare_program_expect(ARGUMENTS("rerun", "out/p2.h5", "-i", "st/p2", "-i", "other=st/p1"),
                              0, ARGUMENTS("the same: "));
    cr_assert_null(strstr(ts_compare_program.outcome.out, "landmarks"));
    ts_compare_program_expect(
        ARGUMENTS("verify", "out/p2.h5", "--inputs", "st/p2", "--inputs", "other=st/p1"), 0,
        ARGUMENTS("digest "));
}

Test(fit, goes_on_after_a_stop)
{
    ts_compare_program_run(FIT("--quiet"));
    ts_compare_program_run(ARGUMENTS("run", "chain1.yaml", "-i", "st/p1", "-o", "first.h5"));
    ts_batch_folder_remove("std.json");
    ts_batch_folder_remove("out/fit/p2.h5");
    ts_batch_folder_remove("out/p3.h5");
    ts_compare_program_expect(FIT("--resume"), 0,
                              ARGUMENTS("p2.h5: done", "wrote std.json", "1 done, 2 found"));
    ts_compare_program_run(ARGUMENTS("run", "chain1.yaml", "-i", "st/p1", "-o", "again.h5"));
    ts_compare_program_expect_same_bytes("first.h5", "again.h5");
    ts_compare_program_expect(FIT("--resume"), 0, ARGUMENTS("3 found"));
    /* a list in another order is the same fit */
    ts_compare_program_expect(
        ARGUMENTS("batch", "fit.yaml", "st/p3", "st/p1", "st/p2", "-o", "out", "--fit", "--resume"),
        0, ARGUMENTS("3 found"));
    ts_compare_program_expect(
        ARGUMENTS("batch", "fit.yaml", "st/p3", "st/p1", "-o", "out", "--fit", "--resume"), 1,
        ARGUMENTS("[fit-other-file]", "is the fit of other studies"));
}

Test(fit, replaces_only_landmarks_and_only_with_force)
{
    ts_compare_program_run(ARGUMENTS("batch", "chain1.yaml", "st/*", "-o", "a", "--fit"));
    ts_compare_program_expect(ARGUMENTS("batch", "chain1.yaml", "st/p1", "-o", "b", "--fit"), 1,
                              ARGUMENTS("'std.json' already exists [output-exists]"));
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain1.yaml", "st/p1", "-o", "b", "--fit", "--force"), 0,
        ARGUMENTS("wrote std.json: the standard scale of 1 stud"));
    static const char *const others[] = {"fit.yaml", "b/p1.h5", "st/p1"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char set[64];
        snprintf(set, sizeof set, "nyul.landmarks_file=%s", others[i]);
        ts_compare_program_expect(
            ARGUMENTS("batch", "chain1.yaml", "st/p1", "-o", "c", "--fit", "--force", "--set", set),
            1, ARGUMENTS("[fit-other-file]"));
    }
    ts_compare_program_expect(
        ARGUMENTS("run", "chain1.yaml", "-i", "st/p1", "-o", "o.h5", "--profile", "std", "--force"),
        2, ARGUMENTS("nyul.landmarks_file [output-is-input]"));
    ts_compare_program_expect(ARGUMENTS("run", "chain1.yaml", "-i", "st/p1", "-o", "s.h5", "--set",
                                        "nyul.landmarks_file=b/p1.h5"),
                              3, ARGUMENTS("[parameter-file]"));
}

Test(fit, refuses_what_it_cannot_fit)
{
    static const struct {
        const char *const arguments[12];
        int code;
        const char *text;
    } cases[] = {
        {{"batch", "chain.yaml", "st/*", "-o", "o", "--fit"}, 2, "has no stage `nyul`"},
        {{"batch", "nyul landmarks_file=a.json | nyul landmarks_file=b.json", "st/*", "-o", "o",
          "--fit"},
         2,
         "has several stages `nyul`"},
        {{"batch", "nyul", "st/*", "-o", "o", "--fit"}, 2, "names no file for its landmarks"},
        {{"batch", "gaussian sigma={sweep 1 2} | nyul landmarks_file=a.json", "st/*", "-o", "o",
          "--fit"},
         2,
         "a sweep up to `nyul`"},
        {{"batch", "chain1.yaml", "st/*", "-o", "o", "--fit", "--shard", "1/2"}, 2, "without"},
        {{"batch", "chain1.yaml", "st/*", "-o", "o", "--force"}, 2, "--force belongs to --fit"},
        {{"batch", "chain1.yaml", "own.tsv", "-o", "o", "--fit"}, 2, "landmarks of its own"},
        {{"batch", "nyul landmarks_file=a.json | combine other=x", "st/*", "-o", "o", "--fit"},
         2,
         "[unknown-name]"},
        {{"batch", "chain1.yaml", "none", "-o", "o", "--fit"}, 3, "[input-unreadable]"},
        {{"batch", "rescale range=5000,5001 | nyul landmarks_file=a.json", "st/p1", "-o", "o",
          "--fit"},
         3,
         "percentile of st/p1 are both 0"},
    };
    ts_compare_program_write("own.tsv", "input\tnyul.landmarks_file\nst/p1\tmine.json\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ts_compare_program_expect(cases[i].arguments, cases[i].code, ARGUMENTS(cases[i].text));
    cr_assert(access("std.json", F_OK) != 0);
}

/* What a study sets of stages behind nyul is for the second batch. */
Test(fit, takes_rows_with_parameters)
{
    ts_compare_program_write(
        "table.tsv", "input\tbox#2.radius\tgaussian.sigma\nst/p1\t2\t\nst/p2\t\t2\nst/p3\t1\t1\n");
    ts_compare_program_expect(ARGUMENTS("batch", "fit.yaml", "table.tsv", "-o", "out", "--fit"), 0,
                              ARGUMENTS("3 done"));
    ts_compare_program_expect(ARGUMENTS("info", "out/fit/p2.h5"), 0, ARGUMENTS("sigma: [2]"));
    ts_compare_program_expect(
        ARGUMENTS("batch", "fit.yaml", "table.tsv", "-o", "out2", "--fit", "--json", "--force"), 0,
        ARGUMENTS("\"output\": \"out2/p1.h5\"", "\"done\": 3"));
    ts_compare_program_write("wrong.tsv", "input\tbox#2.radius\nst/p1\tx\n");
    ts_compare_program_expect(
        ARGUMENTS("batch", "fit.yaml", "wrong.tsv", "-o", "out3", "--fit", "--force"), 2,
        ARGUMENTS("radius: 'x' is not an integer"));
}

Test(fit, refuses_files_that_hold_no_landmarks)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "is empty"},
        {"[1]", "is for this stage"},
        {"{\"stage\": \"box\", \"version\": 1, \"landmarks\": [" SCALE "]}", "is for this stage"},
        {"{\"stage\": \"nyul\", \"version\": 2, \"landmarks\": [" SCALE "]}", "version is not 1"},
        {"{\"stage\": \"nyul\", \"version\": 1}", "no such numbers"},
        {"{\"stage\": \"nyul\", \"version\": 1, \"landmarks\": [" SCALE "}", "not YAML"},
        {"{\"stage\": \"nyul\", \"version\": 1, \"landmarks\": [\"a\"]}", "not a number"},
        {"{\"stage\": \"nyul\", \"version\": 1, \"landmarks\": [" SCALE
         "], \"percentiles\": [1, 2]}",
         "[nyul-percentiles]"},
        {"{\"stage\": \"nyul\", \"version\": 1, \"landmarks\": [1, 2]}", "[nyul-landmarks]"},
        {"\x01", "control character"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ts_compare_program_write("std.json", cases[i].text);
        ts_compare_program_expect(ARGUMENTS("check", "chain1.yaml", "-i", "st/p1"),
                                  strstr(cases[i].message, "[nyul") ? 2 : 3,
                                  ARGUMENTS(cases[i].message));
    }
    ts_compare_program_write("std.json", "{\"stage\": \"nyul\", \"version\": 1, \"landmarks\": "
                                         "[" SCALE "], \"mask\": \"x\", \"by\": [1, {}]}");
    ts_compare_program_run(ARGUMENTS("check", "chain1.yaml", "-i", "st/p1"));
    ts_compare_program_expect(
        ARGUMENTS("check", "chain1.yaml", "-i", "st/p1", "--set", "nyul.landmarks=" SCALE), 2,
        ARGUMENTS("[parameter-unused]"));
    ts_compare_program_expect(ARGUMENTS("check", "chain1.yaml", "-i", "st/p1", "--set",
                                        "nyul.landmarks_file={sweep std.json a.json}"),
                              2, ARGUMENTS("[parameter-file]"));
    ts_compare_program_expect(
        ARGUMENTS("check", "chain1.yaml", "-i", "st/p1", "--set", "nyul.landmarks_file=st"), 3,
        ARGUMENTS("is a folder, not a file [input-unreadable]"));
}
