/* SPDX-License-Identifier: Apache-2.0
 *
 * `bench` and `study` through the program: with tomostage-bench beside it, which has the oracles, and without it.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/program.h"
#include "tests/support/support.h"

#define BOX                                                                                                            \
    "bench", "box", "--parameters", "radius=1", "--dtype", "u8", "--values", "ct", "--size", "1x9x16", "--device",     \
        "cpu", "--threads", "1", "--runs", "1"

static const char missing[] = "the program tomostage-bench, which compares with the oracles, is not installed beside";
static struct program_outcome outcome;
static char folder[256];

static void make_folder(void)
{
    ts_test_folder(folder, sizeof folder);
}

static void remove_folder(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(bench_command, .init = make_folder, .fini = remove_folder);

/* From now on the program is a copy that stands alone; its library stays where it is. */
static void stand_alone(void)
{
    char line[8300], copy[300], libraries[4096];
    const char *program = ts_test_program(), *slash = strrchr(program, '/');
    snprintf(line, sizeof line, "cp '%s' '%s/tomostage'", program, folder);
    cr_assert_eq(system(line), 0, "%s", line);
    snprintf(libraries, sizeof libraries, "%.*s:%.*s/../lib", (int)(slash - program), program, (int)(slash - program),
             program);
    snprintf(copy, sizeof copy, "%s/tomostage", folder);
    setenv("LD_LIBRARY_PATH", libraries, 1);
    setenv("TOMOSTAGE_PROGRAM", copy, 1);
}

Test(bench_command, has_errors_where_the_oracles_are)
{
    ts_program_run(folder, ARGUMENTS(BOX, "--json"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert(ts_test_is_json(outcome.out, strlen(outcome.out)), "%s", outcome.out);
    cr_assert(strstr(outcome.out, "\"error\": 0") && !strstr(outcome.out, "no_error"), "%s", outcome.out);
    ts_program_run(folder, ARGUMENTS(BOX), &outcome);
    cr_assert(outcome.code == 0 && !strstr(outcome.out, missing), "%s", outcome.out);
}

/* One sentence above the table, and one in each row of JSON. */
Test(bench_command, says_that_there_are_no_errors_without_the_oracles)
{
    stand_alone();
    ts_program_run(folder, ARGUMENTS(BOX), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    const char *sentence = strstr(outcome.out, missing);
    cr_assert(sentence && !strstr(sentence + 1, missing), "%s", outcome.out);
    ts_program_run(folder, ARGUMENTS(BOX, "--json"), &outcome);
    cr_assert(outcome.code == 0 && ts_test_is_json(outcome.out, strlen(outcome.out)), "%s", outcome.out);
    cr_assert(strstr(outcome.out, "\"error\": null, \"no_error\": \"the program tomostage-bench, "), "%s", outcome.out);
}

/* One table of options: what is wrong, and the pages, are the same in both programs. */
Test(bench_command, both_programs_have_one_command_line)
{
    static const char *const lines[][4] = {
        {"bench", "radom"},           {"bench", "--help"},     {"bench", "box", "--bogus"}, {"bench", "--size", "2"},
        {"study", "fan-out"},         {"study", "-h"},         {"study", "--runs", "0"},    {"study"},
        {"bench", "radom", "--json"}, {"bench", "runs", "-h"}, {"bench", "runs", "x"}};
    enum { LINES = sizeof lines / sizeof *lines };
    char *printed[LINES];
    int codes[LINES];
    for (size_t i = 0; i < LINES; i++) {
        ts_program_run(folder, ARGUMENTS(lines[i][0], lines[i][1], lines[i][2], lines[i][3]), &outcome);
        cr_assert(asprintf(&printed[i], "%s%s", outcome.out, outcome.err) > 0);
        codes[i] = outcome.code;
    }
    stand_alone();
    for (size_t i = 0; i < LINES; i++) {
        char *alone;
        ts_program_run(folder, ARGUMENTS(lines[i][0], lines[i][1], lines[i][2], lines[i][3]), &outcome);
        cr_assert(asprintf(&alone, "%s%s", outcome.out, outcome.err) > 0);
        cr_assert_eq(outcome.code, codes[i]);
        cr_assert_str_eq(alone, printed[i]);
        free(alone);
        free(printed[i]);
    }
}

Test(bench_command, times_whole_runs_without_the_oracles)
{
    stand_alone();
    setenv("TMPDIR", folder, 1);
    ts_program_run(folder, ARGUMENTS("bench", "runs", "--job", "A", "--smaller", "64", "--runs", "1"), &outcome);
    cr_assert(outcome.code == 0 && strstr(outcome.out, "\nA   deflate     cpu "), "%s%s", outcome.out, outcome.err);
}
