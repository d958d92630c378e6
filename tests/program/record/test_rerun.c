/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage rerun` runs from end to end. How it judges another build or device, which one machine
 * cannot show, is tested on comparisons that are made up.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "program/record/rerun.h"
#include "tests/program/record/compare_program.h"
#include "tests/support/chain_text.h"

static void begin(void)
{
    ts_compare_program_begin(
        "dicom study | box radius=1 | save name=smooth | statistics | hdf5 a.h5");
}

TestSuite(rerun, .init = begin, .fini = ts_compare_program_end);

Test(rerun, gives_the_same_bytes)
{
    char names[512];
    ts_compare_program_expect(ARGUMENTS("rerun", "a.h5", "-i", "study", "--threads", "1"), 0,
                              ARGUMENTS("data: equal, by the digest of its values\n",
                                        "both were made in the same way\n",
                                        "the same: every image and table has the same bytes\n"));
    ts_program_folder_list(ts_compare_program.folder, names, sizeof names);
    cr_assert_str_eq(names, "a.h5 study ");
    ts_compare_program_expect(
        ARGUMENTS("rerun", "a.h5", "-i", "study", "-o", "b.h5", "--memory", "128M", "--json"), 0,
        ARGUMENTS("\"event\": \"progress\", \"pass\": 1", "\"event\": \"finished\"",
                  "\"verdict\": \"same\", \"same_file_digest\": true"));
    ts_compare_program_run(ARGUMENTS("diff", "a.h5", "b.h5"));
    ts_compare_program_expect(ARGUMENTS("rerun", "a.h5", "-i", "study", "-o", "b.h5"), 1,
                              ARGUMENTS("'b.h5' already exists"));
}

/* Without -i an input lies beside the result, under its own name. */
Test(rerun, finds_inputs_beside_the_result)
{
    char from[300], to[300];
    ts_compare_program_expect(ARGUMENTS("rerun", "a.h5"), 3,
                              ARGUMENTS("nothing says where this input is"));
    snprintf(from, sizeof from, "%s/study", ts_compare_program.folder);
    snprintf(to, sizeof to, "%s/input", ts_compare_program.folder);
    cr_assert_eq(rename(from, to), 0);
    ts_compare_program_expect(ARGUMENTS("rerun", "a.h5"), 0, ARGUMENTS("the same: "));
}

Test(rerun, says_that_something_is_other)
{
    ts_compare_program_run(
        ARGUMENTS("phantom", "disc", "-o", "other", "--size", "48", "--slices", "6"));
    ts_compare_program_expect(ARGUMENTS("rerun", "a.h5", "-i", "other"), 3,
                              ARGUMENTS("input: this input is not the one", "verify a.h5"));
    cr_expect(!strstr(ts_compare_program.outcome.out, "data: "), "the chain ran: %s",
              ts_compare_program.outcome.out);
    ts_compare_program_expect(
        ARGUMENTS("rerun", "a.h5", "-i", "other", "--json"), 3,
        ARGUMENTS("{\"event\": \"rerun\", \"verdict\": \"other inputs\", ", "\"inputs-differ\""));
    ts_compare_program_expect(
        ARGUMENTS("rerun", "a.h5", "-i", "study", "--set", "box.radius=2"), 1,
        ARGUMENTS("different, beyond the tolerance\n", "parameters/radius: 1 and 2"));
    ts_compare_program_expect(
        ARGUMENTS("rerun", "a.h5", "-i", "study", "--set", "box.radius=2", "--tolerance", "1e9"), 1,
        ARGUMENTS("not reproduced: --set changed a parameter"));
    ts_compare_program_expect(ARGUMENTS("rerun", "a.h5", "-i", "study", "--set", "bax.radius=2"), 2,
                              ARGUMENTS("unknown stage 'bax'"));
    ts_compare_program_expect(ARGUMENTS("rerun", "study"), 3, ARGUMENTS("study"));
    ts_compare_program_expect(
        ARGUMENTS("run", "a.h5"), 2,
        ARGUMENTS("`tomostage rerun a.h5 -i INPUT` runs the chain that it holds"));
    char path[300];
    snprintf(path, sizeof path, "%s/study/IM0006.dcm", ts_compare_program.folder);
    FILE *last = fopen(path, "r+b");
    cr_assert(last && fseek(last, -1, SEEK_END) == 0 && fputc(0x55, last) != EOF &&
              fclose(last) == 0);
    ts_compare_program_expect(ARGUMENTS("rerun", "a.h5", "-i", "study"), 3,
                              ARGUMENTS("input: this input is not the one", "data: different"));
    ts_compare_program_expect(ARGUMENTS("rerun", "a.h5", "-i", "study", "--json"), 3,
                              ARGUMENTS("\"event\": \"rerun\", \"verdict\": \"other inputs\", "));
    snprintf(path, sizeof path, "%s/a.h5", ts_compare_program.folder);
    cr_assert_eq(truncate(path, 4000), 0);
    ts_compare_program_expect(ARGUMENTS("rerun", "a.h5", "-i", "study"), 3, ARGUMENTS("a.h5"));
}

/* Under the name of the first, the second result would be compared with itself. */
Test(rerun, does_not_replace_what_it_compares_with)
{
    static const char *const names[] = {"a.h5", "./a.h5", "b.h5"};
    char from[300], to[300];
    snprintf(from, sizeof from, "%s/a.h5", ts_compare_program.folder);
    snprintf(to, sizeof to, "%s/b.h5", ts_compare_program.folder);
    cr_assert_eq(link(from, to), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ts_compare_program_expect(
            ARGUMENTS("rerun", "a.h5", "-i", "study", "--set", "box.radius=2", "-o", names[i],
                      "--force"),
            2, ARGUMENTS("the second result would replace '", "[output-is-input]"));
    ts_compare_program_expect(ARGUMENTS("rerun", "a.h5", "-i", "study"), 0,
                              ARGUMENTS("the same: "));
}

/* Numbers that a run finds, such as the rotation axis and a box, are in the chain, and are found
 * again. */
Test(rerun, of_what_was_found)
{
    ts_compare_program_run(
        ARGUMENTS("run", "dicom study | crop above=-500 | clahe | hdf5 c.h5 dtype=f16"));
    ts_compare_program_expect(ARGUMENTS("rerun", "c.h5", "-i", "study"), 0,
                              ARGUMENTS("the same: "));
    ts_compare_program_run(ARGUMENTS("phantom", "scan", "-o", "scan.nxs", "--size", "64",
                                     "--slices", "2", "--views", "48"));
    ts_compare_program_run(
        ARGUMENTS("run", "nexus scan.nxs quantity=line_integral | center | fbp | hdf5 d.h5"));
    ts_compare_program_expect(ARGUMENTS("rerun", "d.h5", "-i", "scan.nxs"), 0,
                              ARGUMENTS("the same: "));
}

/* The recorded chain holds the sweep; what its values derive from it is left to the second run. */
Test(rerun, of_a_sweep)
{
    ts_compare_program_run(
        ARGUMENTS("run", "dicom study | radon views={sweep 8 16} | fbp | hdf5 c.h5"));
    ts_compare_program_expect(ARGUMENTS("rerun", "c.h5", "-i", "study"), 0,
                              ARGUMENTS("the same: "));
    ts_compare_program_run(ARGUMENTS("verify", "c.h5"));
    ts_compare_program_expect(ARGUMENTS("diff", "c.h5", "c.h5"), 0, ARGUMENTS("equal"));
    ts_compare_program_run(ARGUMENTS("preview", "c.h5", "-o", "c.png"));
    ts_compare_program_expect(
        ARGUMENTS("check", "dicom study | radon views={sweep 8 16} | hdf5 d.h5"), 2,
        ARGUMENTS("radon[views=16]: its image 'data' has other axes"));
    ts_compare_program_expect(
        ARGUMENTS("check", "dicom study | box radius={sweep 1 2} | crop above=0 | hdf5 d.h5"), 2,
        ARGUMENTS("would search for its box for each value of the sweep"));
    ts_compare_program_expect(ARGUMENTS("check", "dicom study | box radius={sweep 1 2} | dicom d"),
                              2, ARGUMENTS("the values of a sweep are no times"));
    ts_compare_program_expect(ARGUMENTS("run", "result c.h5 | box radius={sweep 1 2} | hdf5 d.h5"),
                              2, ARGUMENTS("the input has several volumes"));
}

/* ---- other builds and devices ---------------------------------------------------------------- */

Test(rerun_judge, holds_others_to_the_tolerance)
{
    static const struct made_fact build = {"provenance/build", "a", "1"},
                                  device = {"process_1_box/device", "cpu", "1"},
                                  chain = {"provenance/chain", NULL, "1"},
                                  table = {"process_1_x/tables/y", "1", "1"},
                                  pixels = {"inputs/ct/slice_pixel_sha256", NULL, "1"},
                                  warnings = {"provenance/warnings", "none", "1"};
    static const struct {
        const struct made_fact *fact;
        size_t n_tables;
        enum comparison_state state;
        enum rerun_verdict verdict;
    } rows[] = {{NULL, 0, COMPARED_EQUAL, RERUN_SAME},
                {&build, 0, COMPARED_EQUAL, RERUN_SAME},
                {&build, 0, COMPARED_WITHIN, RERUN_WITHIN},
                {&device, 0, COMPARED_WITHIN, RERUN_WITHIN},
                {&device, 0, COMPARED_BEYOND, RERUN_BEYOND},
                {NULL, 0, COMPARED_WITHIN, RERUN_UNEXPLAINED},
                {&chain, 0, COMPARED_WITHIN, RERUN_UNEXPLAINED},
                {&warnings, 0, COMPARED_WITHIN, RERUN_UNEXPLAINED},
                {NULL, 0, COMPARED_LACKED, RERUN_BEYOND},
                {&table, 1, COMPARED_EQUAL, RERUN_UNEXPLAINED},
                {&pixels, 0, COMPARED_BEYOND, RERUN_BEYOND}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct compared_image image = {.name = "data", .state = rows[i].state};
        struct made_difference difference = {{NULL, rows[i].fact}};
        const struct comparison comparison = {.arena = ts_arena_create(),
                                              .images = &image,
                                              .n_images = 1,
                                              .differences = &difference,
                                              .n_differences = rows[i].fact != NULL,
                                              .n_tables = rows[i].n_tables,
                                              .state = rows[i].state};
        const char *input;
        cr_assert_eq(ts_rerun_judge(&comparison, &input), rows[i].verdict, "row %zu", i);
        cr_assert_eq(input != NULL, rows[i].fact == &pixels);
        ts_arena_destroy(comparison.arena);
    }
}

/* Each run may be as far from the exact values as its stages state, of the method that they
 * name. */
Test(rerun_judge, adds_the_tolerances_of_the_stages)
{
    static const struct {
        const char *stages;
        double expected;
    } rows[] = {{"[median: {radius: 1}]", 0},
                {"[minus_log]", 2 * 9e-8 * 100},
                {"[minus_log, median: {radius: 1}, minus_log]", 4 * 9e-8 * 100}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[300];
        struct ts_chain *chain;
        struct ts_diag *diag;
        snprintf(text, sizeof text, "tomostage: 2\ninput: {dicom: x}\nstages: %s\n",
                 rows[i].stages);
        cr_assert_eq(ts_test_parse(text, &chain, &diag), TS_OK, "%s", ts_test_errors(diag));
        cr_assert_float_eq(ts_rerun_tolerance(chain, "data", 100), rows[i].expected, 1e-15, "%g",
                           ts_rerun_tolerance(chain, "data", 100));
        ts_diag_destroy(diag);
        ts_chain_destroy(chain);
    }
}
