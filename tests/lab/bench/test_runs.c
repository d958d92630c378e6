/* SPDX-License-Identifier: Apache-2.0
 *
 * `bench runs` on tiny sizes: every job has its rows, results verify, nothing is left that was not
 * asked for, also where a signal ends it. No time is asserted.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/program.h"
#include "tests/support/support.h"
#include "tests/support/test_device.h"

#define RUNS(...) ((const char *const[]){"bench", "runs", "--smaller", "64", __VA_ARGS__, NULL})

static struct program_outcome outcome;
static char folder[256];

static void begin(void)
{
    ts_test_folder(folder, sizeof folder);
    setenv("TMPDIR", folder, 1);
}

static void end(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(bench_runs, .init = begin, .fini = end);

static bool is_there(const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

Test(bench_runs, times_all_jobs_and_keeps_what_was_asked_for)
{
    static char names[1 << 16], rows[1 << 16];
    char path[400];
    ts_program_run(folder,
                   RUNS("--runs", "2", "--device", "cpu", "-o", "keep", "--profile", "--verify",
                        "--save", "rows.json"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert_str_empty(outcome.err);
    const bool has_memory = !strstr(outcome.out, "left out: /dev/shm is no memory file system");
    cr_expect_eq(count(outcome.out, "\nA   "), 1, "%s", outcome.out);
    cr_expect_eq(count(outcome.out, "\nB   "), 1);
    cr_expect_eq(count(outcome.out, "\nC   "), has_memory ? 4 : 1);
    cr_expect_eq(count(outcome.out, "\nD   "), 1);
    cr_expect(!strstr(outcome.out, "met") && !strstr(outcome.out, "missed"),
              "goals are for the whole size");

    static const char *const kept[] = {"keep/A-01",
                                       "keep/A.yaml",
                                       "keep/A-deflate-cpu.svg",
                                       "keep/A-deflate-cpu.json",
                                       "keep/B.nxs",
                                       "keep/B.yaml",
                                       "keep/B-deflate-cpu.svg",
                                       "keep/D-16",
                                       "keep/D-deflate-cpu.svg"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        cr_expect(is_there(kept[i]), "%s", kept[i]);
    snprintf(path, sizeof path, "%s/keep", folder);
    ts_program_folder_list(path, names, sizeof names);
    cr_expect(!strstr(names, ".h5"), "results are removed: %s", names);
    ts_program_folder_list(folder, names, sizeof names);
    cr_expect_str_eq(names, "keep rows.json ");

    snprintf(path, sizeof path, "%s/rows.json", folder);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    const size_t bytes = fread(rows, 1, sizeof rows - 1, file);
    fclose(file);
    cr_expect(ts_test_is_json(rows, bytes), "%s", rows);
    cr_expect_eq(count(rows, "\"runs\": 2"), has_memory ? 7 : 3);

    /* The chain beside the inputs runs by itself. */
    ts_program_run(folder, (const char *const[]){"run", "keep/B.yaml", NULL}, &outcome);
    cr_expect_eq(outcome.code, 0, "%s", outcome.err);
    ts_program_run(folder, (const char *const[]){"verify", "keep/B.h5", NULL}, &outcome);
    cr_expect_eq(outcome.code, 0, "%s", outcome.err);
    ts_program_run(folder, RUNS("-o", "keep"), &outcome);
    cr_expect(outcome.code == 1 && strstr(outcome.err, "the folder is not empty"), "%s",
              outcome.err);
}

Test(bench_runs, prints_json_and_leaves_nothing)
{
    char names[4096];
    ts_program_run(folder, RUNS("--job", "B,A", "--runs", "1", "--json"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_expect(ts_test_is_json(outcome.out, strlen(outcome.out)), "%s", outcome.out);
    cr_expect(strstr(outcome.out, "\"job\": \"A\"") && strstr(outcome.out, "\"job\": \"B\""));
    cr_expect(!strstr(outcome.out, "\"job\": \"C\"") && !strstr(outcome.out, "\"job\": \"D\""));
    ts_program_folder_list(folder, names, sizeof names);
    cr_expect_str_empty(names);
}

Test(bench_runs, says_what_is_wrong)
{
    static const struct {
        const char *option, *value, *message;
        int code;
    } wrong[] = {
        {"--job", "A,E", "tomostage bench runs: '--job A,E' is not a list of jobs such as A,B\n",
         2},
        {"--job", "", "tomostage bench runs: '--job ' is not a list of jobs such as A,B\n", 2},
        {"--job=A", "--profile",
         "tomostage bench runs: --profile writes into the folder of -o, which is missing\n", 2},
        {"--smaller", "65",
         "tomostage bench runs: '--smaller 65' is not a whole number from 1 to 64\n", 2},
        {"--size", "1", "tomostage bench runs: unknown option '--size'; ", 2},
        {"-o", "absent/keep", "absent/keep: the folder could not be made", 1},
        {"--save", "absent/rows.json", "absent/rows.json", 1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ts_program_run(folder, RUNS(wrong[i].option, wrong[i].value), &outcome);
        cr_expect_eq(outcome.code, wrong[i].code, "%s: %d", wrong[i].option, outcome.code);
        cr_expect(strstr(outcome.err, wrong[i].message), "%s", outcome.err);
    }
    setenv("TMPDIR", "/absent", 1);
    ts_program_run(folder, RUNS("--job", "A"), &outcome);
    cr_expect(outcome.code == 1 && strstr(outcome.err, "no folder can be made in /absent"), "%s",
              outcome.err);
}

/* A run that fails ends the benchmark, which says what the program said: the studies of A cannot be
 * written. */
Test(bench_runs, reports_a_run_that_fails)
{
    char names[4096], line[600];
    snprintf(line, sizeof line, "%s/busy", folder);
    cr_assert_eq(mkdir(line, 0700), 0);
    setenv("TMPDIR", line, 1);
    /* A slice of 64 x 64 pixels is larger than the files that the shell allows. */
    snprintf(line, sizeof line,
             "ulimit -f 8; exec '%s' bench runs --job A --smaller 8 > '%s/out' 2> '%s/err'",
             ts_test_program(), folder, folder);
    cr_assert_neq(system(line), 0);
    snprintf(line, sizeof line, "grep -q 'tomostage phantom head -o .*: ended by' '%s/err'",
             folder);
    cr_expect_eq(system(line), 0, "the message names the process and how it ended");
    snprintf(line, sizeof line, "%s/busy", folder);
    ts_program_folder_list(line, names, sizeof names);
    cr_expect_str_empty(names);
}

/* Devices that work together have rows of their own; their results verify, and the names of their
 * files are plain. Kernels run in processes of the program, so that none is counted here. */
Test(bench_runs, several_devices_share_a_run_on_cuda, .timeout = 300)
{
    ts_test_begin_cuda();
    ts_program_run(folder,
                   RUNS("--job", "B,C", "--runs", "1", "--device", "cuda:0,0", "-o", "keep",
                        "--profile", "--verify"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_expect(strstr(outcome.out, "cuda:0,0"), "%s", outcome.out);
    cr_expect(is_there("keep/B-deflate-cuda-0-0.svg"));
}

/* It stops while inputs are made or a chain runs; either way its folder goes with it. */
Test(bench_runs, removes_its_folder_where_a_signal_ends_it)
{
    char names[4096] = "";
    const pid_t pid =
        ts_program_start(folder,
                         (const char *const[]){"bench", "runs", "--job", "D", "--smaller", "2",
                                               "--device", "cpu", NULL},
                         -1);
    while (!strstr(names, "tomostage-") && kill(pid, 0) == 0) {
        usleep(10000);
        ts_program_folder_list(folder, names, sizeof names);
    }
    kill(pid, SIGTERM);
    ts_program_wait(pid, folder, &outcome);
    cr_expect_eq(outcome.code, 256 + SIGTERM, "%d: %s", outcome.code, outcome.err);
    ts_program_folder_list(folder, names, sizeof names);
    cr_expect_str_empty(names);
}
