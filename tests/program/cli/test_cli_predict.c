/* SPDX-License-Identifier: Apache-2.0
 *
 * Predictions through the program: what `check` prints, and what `bench rates` refuses.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/program.h"
#include "tests/support/rates_file.h"
#include "tests/support/support.h"

static struct program_outcome outcome;
static char folder[256];

#define CHAIN "dicom study | box radius=2 | hdf5 out.h5"

static void make_study(void)
{
    ts_program_make_study(folder, sizeof folder);
}

static void remove_folder(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(cli_predict, .init = make_study, .fini = remove_folder);

/* Without kept rates nothing is predicted, and with damaged ones the line says why. */
Test(cli_predict, check_predicts_from_kept_rates)
{
    struct rates rates = ts_test_rates();
    char path[300];
    ts_program_run(folder, ARGUMENTS("check", CHAIN, "--device", "cpu"), &outcome);
    cr_assert(strstr(
        outcome.out,
        "\npredicted: nothing, because no rates are kept; `tomostage bench rates` measures"));
    snprintf(path, sizeof path, "%s/rates.json", folder);
    rates.values[RATE_WRITE] = 1;
    ts_test_keep_rates(&rates, path);
    ts_program_run(folder, ARGUMENTS("check", CHAIN, "--device", "cpu"), &outcome);
    /* 9 slices of 64 x 64 pixels of 16 bits, of which 40 % are assumed to be left */
    cr_assert(strstr(outcome.out, ", bound by writing (29491.20 s); assumes that compression "
                                  "leaves 40 %\nparts, each alone: start 1.38 s, "),
              "%s", outcome.out);
    ts_program_run(folder, ARGUMENTS("check", CHAIN, "--device", "cpu", "--json"), &outcome);
    cr_assert(strstr(outcome.out,
                     "\"bound\": \"bound by writing (29491.20 s)\", \"bound_seconds\": 29491.2"),
              "%s", outcome.out);
    cr_assert(strstr(outcome.out, "\"stages\": {\"box\": "));
    rates.values[RATE_WRITE] = 0;
    ts_test_keep_rates(&rates, path);
    ts_program_run(folder, ARGUMENTS("check", CHAIN, "--device", "cpu", "--json"), &outcome);
    cr_assert_eq(outcome.code, 0);
    cr_assert(strstr(outcome.out, "\"no_prediction\": \"") &&
                  strstr(outcome.out, " lacks a rate, or has one"),
              "%s", outcome.out);
}

static void write_machine(const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/machine.yaml", folder);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* The table has a row for each number of ranks, and the JSON the same numbers. A chain that a
 * device could run is predicted there, and with --device cpu on the processors. */
Test(cli_predict, check_predicts_for_another_machine)
{
    struct rates rates = ts_test_rates();
    char path[300];
    snprintf(path, sizeof path, "%s/rates.json", folder);
    ts_test_keep_rates(&rates, path);
    write_machine("nodes: 2\ncores: 4\nmemory: 8\nranks: 2\ngpus: 3\ngpu_memory: 8\nnetwork: 1\n");
    ts_program_run(folder,
                   ARGUMENTS("check", CHAIN, "--device", "cpu", "--machine", "machine.yaml"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert(strstr(outcome.out, "\non 2 nodes of 4 processors and 8 GiB:\n  ranks   nodes "),
              "%s", outcome.out);
    cr_assert(strstr(outcome.out, "\n      4       2 ") &&
              !strstr(outcome.out, "\n      6       2 "));
    ts_program_run(folder, ARGUMENTS("check", CHAIN, "--machine", "machine.yaml"), &outcome);
    cr_assert(strstr(outcome.out, "each with 3 x test device 0:\n   GPUs   nodes ") &&
                  strstr(outcome.out, "\n      6       2 "),
              "%s", outcome.out);
    ts_program_run(folder, ARGUMENTS("check", CHAIN, "--machine", "machine.yaml", "--json"),
                   &outcome);
    cr_assert(
        strstr(
            outcome.out,
            "\n{\"event\": \"scale\", \"device\": \"test device 0\", \"rows\": [{\"ranks\": 1, ") &&
            strstr(outcome.out, "{\"ranks\": 6, \"nodes\": 2, \"seconds\": "),
        "%s", outcome.out);
    write_machine("nodes: 0\ncores: 4\n");
    ts_program_run(folder, ARGUMENTS("check", CHAIN, "--machine", "machine.yaml"), &outcome);
    cr_assert_eq(outcome.code, 2);
    cr_assert(
        strstr(outcome.err, "machine.yaml:1:8: error: machine.nodes: 0 is outside [1, 1000000]") &&
            strstr(outcome.err, "machine.memory: required"),
        "%s", outcome.err);
}

static void expect_wrong(const char *const *arguments, const char *text)
{
    ts_program_run(folder, arguments, &outcome);
    cr_assert_eq(outcome.code, 2, "%s", outcome.out);
    cr_assert(strstr(outcome.err, text), "%s", outcome.err);
}

Test(cli_predict, bench_rates_takes_no_case_and_needs_a_file)
{
    setenv("TOMOSTAGE_RATES", "", 1); /* keeps them nowhere */
    expect_wrong(ARGUMENTS("bench", "rates", "--size", "1x2x3"),
                 "'rates' takes --device, --folder, --save and --json alone");
    expect_wrong(ARGUMENTS("bench", "rates"),
                 "there is no folder to keep rates in: name a file by --save FILE.json");
    ts_program_run(folder, ARGUMENTS("bench", "rates", "--save", "missing/rates.json"), &outcome);
    cr_assert_eq(outcome.code, 1);
    cr_assert(strstr(outcome.err,
                     "the folder 'missing' of the output 'missing/rates.json' does not exist"),
              "%s", outcome.err);
}
