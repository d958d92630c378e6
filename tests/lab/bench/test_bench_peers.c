/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of tomostage-bench-peers, which is built beside the program where there is CUDA.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/program.h"
#include "tests/support/support.h"

static struct program_outcome outcome;

Test(bench_peers, help_and_wrong_options_end_it)
{
    static const struct {
        const char *arguments[3];
        int code;
    } rows[] = {{{"--help"}, 0},      {{"--bogus"}, 2}, {{"--json", "--bogus"}, 2},
                {{"--bins", "0"}, 2}, {{"bocks"}, 2},   {{"box", "box"}, 2}};
    char folder[256], path[4096];
    const char *program = ts_test_program(), *slash = strrchr(program, '/');
    snprintf(path, sizeof path, "%.*stomostage-bench-peers", slash ? (int)(slash + 1 - program) : 0,
             program);
    if (access(path, X_OK) != 0) {
        fprintf(stderr, "SKIPPED: %s is not there\n", path);
        cr_skip_test("no program");
    }
    setenv("TOMOSTAGE_PROGRAM", path, 1);
    ts_test_folder(folder, sizeof folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ts_program_run(folder, rows[i].arguments, &outcome);
        const char *usage = rows[i].code ? outcome.err : outcome.out,
                   *other = rows[i].code ? outcome.out : outcome.err;
        cr_expect_eq(outcome.code, rows[i].code, "%s: exit %d", rows[i].arguments[0], outcome.code);
        cr_expect(strstr(usage, "usage: tomostage-bench-peers "), "%s: %s", rows[i].arguments[0],
                  usage);
        cr_expect_str_empty(other);
    }
    ts_program_folder_remove(folder);
}
