/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage bench` and `tomostage study`, with the programs that carry them out beside tomostage,
 * and without them.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/program.h"
#include "tests/support/support.h"

#define BOX                                                                                        \
    "bench", "box", "--parameters", "radius=1", "--dtype", "u8", "--values", "ct", "--size",       \
        "1x9x16", "--device", "cpu", "--threads", "1", "--runs", "1"

static struct program_outcome outcome;
static char folder[256], built[4096]; /* built: the folder of the program */

static void make_folder(void)
{
    const char *program = ts_test_program();
    ts_test_folder(folder, sizeof folder);
    snprintf(built, sizeof built, "%.*s", (int)(strrchr(program, '/') - program), program);
}

static void remove_folder(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(bench_command, .init = make_folder, .fini = remove_folder);

/* Copies a program of the build into the folder. */
static void copy_program(const char *name)
{
    char line[4500];
    snprintf(line, sizeof line, "cp '%s/%s' '%s'", built, name, folder);
    cr_assert_eq(system(line), 0, "%s", line);
}

Test(bench_command, has_errors)
{
    ts_program_run(folder, ARGUMENTS(BOX, "--json"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert(ts_test_is_json(outcome.out, strlen(outcome.out)), "%s", outcome.out);
    cr_assert(strstr(outcome.out, "\"error\": 0") && !strstr(outcome.out, "no_error"), "%s",
              outcome.out);
}

/* The sentence of `tomostage --help` is that of the command's own page. */
Test(bench_command, has_one_summary)
{
    static const char *const names[] = {"bench", "study"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char begin[32], summary[256];
        snprintf(begin, sizeof begin, "\n  %-10s ", names[i]);
        ts_program_run(folder, ARGUMENTS("--help"), &outcome);
        const char *line = strstr(outcome.out, begin);
        cr_assert(line, "%s", outcome.out);
        line += strlen(begin);
        snprintf(summary, sizeof summary, "\n\n%.*s\n", (int)strcspn(line, "\n"), line);
        ts_program_run(folder, ARGUMENTS(names[i], "--help"), &outcome);
        cr_expect(outcome.code == 0 && strstr(outcome.out, summary), "%s: %s", summary,
                  outcome.out);
    }
}

/* Runs the line, which must be refused since its program is missing. */
static void expect_missing(const char *const *line, const char *reason)
{
    char expected[1024];
    ts_program_run(folder, line, &outcome);
    snprintf(expected, sizeof expected,
             "tomostage: error: `tomostage %s` is carried out by %s/tomostage-%s, which could not "
             "be started: %s [program-missing]\n  hint: tomostage-%s is built and installed with "
             "tomostage; copy it there\n",
             line[0], folder, line[0], reason, line[0]);
    cr_expect_eq(outcome.code, 1, "%s: exit %d", line[1], outcome.code);
    if (line[1] && !strcmp(line[1], "--json")) {
        cr_expect(ts_test_is_json(outcome.out, strlen(outcome.out)) &&
                      strstr(outcome.out, "program-missing"),
                  "%s", outcome.out);
        return;
    }
    cr_expect_str_eq(outcome.err, expected);
    cr_expect_str_empty(outcome.out);
}

/* Lines that are right and lines that are wrong are refused alike, and the hint makes all of them
 * what they are. */
Test(bench_command, the_hint_about_a_missing_program_is_carried_out)
{
    static const struct {
        const char *line[4];
        int code;
    } rows[] = {{{"bench", "radom"}, 2},
                {{"bench", "--help"}, 0},
                {{"bench", "--json", "radom"}, 2},
                {{"study", "fan-out"}, 2},
                {{"study"}, 0},
                {{"study", "--runs", "0"}, 2},
                {{"bench", "--size", "2"}, 2},
                {{"bench", "runs", "-h"}, 0},
                {{"bench", "box", "--bogus"}, 2}};
    enum { ROWS = sizeof rows / sizeof *rows };
    char path[300], libraries[8300], *printed[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        ts_program_run(folder, rows[i].line, &outcome);
        cr_expect_eq(outcome.code, rows[i].code, "%zu: exit %d", i, outcome.code);
        cr_assert(asprintf(&printed[i], "%s%s", outcome.out, outcome.err) > 0);
    }
    copy_program("tomostage");
    copy_program("tomostage-bench");
    snprintf(path, sizeof path, "%s/tomostage-bench", folder);
    cr_assert_eq(chmod(path, 0600), 0);
    /* From now on the program is a copy, whose library stays where it is. */
    snprintf(libraries, sizeof libraries, "%s:%s/../lib", built, built);
    setenv("LD_LIBRARY_PATH", libraries, 1);
    snprintf(path, sizeof path, "%s/tomostage", folder);
    setenv("TOMOSTAGE_PROGRAM", path, 1);
    for (size_t i = 0; i < ROWS; i++)
        expect_missing(rows[i].line,
                       *rows[i].line[0] == 'b' ? "Permission denied" : "No such file or directory");
    snprintf(path, sizeof path, "%s/tomostage-bench", folder);
    unlink(path);
    copy_program("tomostage-bench");
    copy_program("tomostage-study");
    for (size_t i = 0; i < ROWS; i++) {
        char *again;
        ts_program_run(folder, rows[i].line, &outcome);
        cr_expect_eq(outcome.code, rows[i].code, "%zu: exit %d", i, outcome.code);
        cr_assert(asprintf(&again, "%s%s", outcome.out, outcome.err) > 0);
        cr_expect_str_eq(again, printed[i]);
        free(again);
        free(printed[i]);
    }
}
