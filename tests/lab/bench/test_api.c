/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage-bench api` on tiny images: every part has its rows, with numbers in all columns that
 * they have, and arrays and files agree. No time is asserted.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/program.h"
#include "tests/support/support.h"
#include "tests/support/test_device.h"

static struct program_outcome outcome;
static char folder[256];

static void begin(void)
{
    char path[4096];
    const char *program = ts_test_program(), *slash = strrchr(program, '/');
    snprintf(path, sizeof path, "%.*stomostage-bench", slash ? (int)(slash + 1 - program) : 0,
             program);
    setenv("TOMOSTAGE_PROGRAM", path, 1);
    ts_test_folder(folder, sizeof folder);
    setenv("TMPDIR", folder, 1);
}

static void end(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(bench_api, .init = begin, .fini = end);

/* Returns how many rows have this text. */
static int count(const char *text)
{
    int n = 0;
    for (const char *at = outcome.out; (at = strstr(at, text)); at++)
        n++;
    return n;
}

/* Returns the number of a member in the row that has `what`; fails the test without it. */
static double number(const char *what, const char *member)
{
    char key[32];
    snprintf(key, sizeof key, "\"%s\": ", member);
    const char *row = strstr(outcome.out, what), *at = row ? strstr(row, key) : NULL;
    cr_assert(at && at < strchr(row, '\n'), "no %s of %s: %s", member, what, outcome.out);
    return strtod(at + strlen(key), NULL);
}

static void run_parts(const char *device, const char *parts)
{
    char names[512];
    ts_program_run(folder,
                   ARGUMENTS("api", "--size", "8", "--runs", "1", "--cycles", "2", "--json",
                             "--device", device, "--part", parts),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_expect(ts_test_is_json(outcome.out, strlen(outcome.out)), "%s", outcome.out);
    cr_expect_str_empty(outcome.err);
    ts_program_folder_list(folder, names, sizeof names);
    cr_expect_str_empty(names);
}

/* The rows that both devices have. */
static void check_parts(const char *device)
{
    run_parts(device, "calls,views,chain,cycles");
    cr_expect_geq(count("\"part\": \"calls\""), 3 * 10);
    cr_expect_eq(count("\"part\": \"views\""), 6);
    cr_expect_eq(count("\"part\": \"cycles\""), 1);
    cr_expect(number("fbp gaps=accept: A' A x", "value") > 0);
    cr_expect(number("A' y of 8x8x8: 90 calls of one view", "ratio") > 0);
    cr_expect(number("8 cubed, host arrays", "value") > 0);
    cr_expect(number("8 cubed, host arrays", "beside") > 0);
    number("growth by 2 plans and runs", "value");
}

static void check_digests(const char *device)
{
    run_parts(device, "digests");
    cr_expect(count("\"part\": \"digests\"") > 30);
    cr_expect(count("\"verdict\": \"met\"") > 25, "%s", outcome.out);
    cr_expect_eq(count("\"verdict\": \"missed\""), 0, "%s", outcome.out);
    cr_expect(strstr(outcome.out, "left out: required, but not given"), "flat_field: %s",
              outcome.out);
}

Test(bench_api, every_part_has_its_rows)
{
    check_parts("cpu");
    cr_expect_eq(count("\"part\": \"chain\""), 1);
    run_parts("cpu", "copied,threads");
    cr_expect(number("statistics of 8 cubed", "value") >= 0);
    cr_expect(number("two runs at once", "value") > 0);
    cr_expect(number("processor time of a run", "value") > 0);
}

Test(bench_api, arrays_and_files_agree)
{
    check_digests("cpu");
}

Test(bench_api, every_part_has_its_rows_on_cuda, .timeout = 300)
{
    ts_test_begin_cuda();
    check_parts("cuda");
    cr_expect_eq(count("\"part\": \"chain\""), 2);
    cr_expect(number("a bare launch", "value") > 0);
    cr_expect(number("8 cubed, device arrays", "beside") > 0);
}

Test(bench_api, arrays_and_files_agree_on_cuda, .timeout = 300)
{
    ts_test_begin_cuda();
    check_digests("cuda");
}

Test(bench_api, wrong_command_lines_end_it)
{
    static const struct {
        const char *arguments[4], *message;
    } wrong[] = {
        {{"api", "--part", "calls,bogus"}, "is not a list of parts such as calls,views"},
        {{"api", "--part", ""}, "is not a list of parts"},
        {{"api", "--size", "7"}, "not a whole number from 8 to 2048"},
        {{"api", "--device", "gpu"}, "unknown device"},
        {{"api", "more"}, "more"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ts_program_run(folder, wrong[i].arguments, &outcome);
        cr_expect_eq(outcome.code, 2, "%s: %d", wrong[i].message, outcome.code);
        cr_expect(strstr(outcome.err, wrong[i].message), "%s", outcome.err);
    }
}
