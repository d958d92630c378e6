/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of the rates comes back as it was kept; files of other machines, damaged ones and none
 * are refused.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/bench/bench_rates.h"
#include "tests/files/output_fixture.h"
#include "tests/support/program.h"
#include "tests/support/rates_file.h"
#include "tests/support/support.h"

static char folder[256], path[300];
static struct ts_diag *diag;
static struct rates rates, found;

static void make(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/rates.json", folder);
    diag = ts_diag_create();
    rates = ts_test_rates();
    ts_test_keep_rates(&rates, path);
}

static void clear(void)
{
    ts_diag_destroy(diag);
    ts_program_folder_remove(folder);
}

TestSuite(rates, .init = make, .fini = clear);

Test(rates, come_back_as_they_were_kept)
{
    cr_assert_eq(ts_rates_load(path, &found, diag), TS_OK);
    cr_assert_arr_eq(found.values, rates.values, sizeof rates.values);
    cr_assert_eq(found.n_stages, rates.n_stages);
    for (int i = 0; i < rates.n_stages; i++) {
        const struct stage_rate *kept = &rates.stages[i],
                                *read = ts_rates_find(&found, kept->stage, kept->cuda);
        cr_assert_not_null(read);
        cr_assert(read->per_second == kept->per_second &&
                  read->call_seconds == kept->call_seconds && read->samples == kept->samples);
    }
    cr_assert_str_eq(found.device, "test device 0");
    cr_assert_eq(ts_test_count_files(folder, NULL), 1);
}

static void expect_refused(const char *code, const char *text)
{
    cr_assert_eq(ts_rates_load(path, &found, diag), TS_RUN_FAILED);
    cr_assert(ts_test_has_code(diag, code), "%s", ts_diag_get(diag, 0)->code);
    cr_assert(ts_test_has_text(diag, text), "%s", ts_diag_get(diag, 0)->message);
    ts_diag_clear(diag);
}

/* Writes them as they are, without this machine's number of processors. */
static void keep(const struct rates *changed)
{
    cr_assert_eq(ts_rates_save(changed, path, diag), TS_OK);
}

Test(rates, of_another_machine_are_refused)
{
    struct rates other = rates;
    snprintf(other.version, sizeof other.version, "0.0.0");
    keep(&other);
    expect_refused("rates-foreign", "were measured by version 0.0.0, and this is ");
    other = rates;
    snprintf(other.cpu, sizeof other.cpu, "abacus");
    keep(&other);
    expect_refused("rates-foreign", "were measured on the processor abacus, and this is ");
    other = rates;
    other.threads = rates.threads + 1;
    keep(&other);
    expect_refused("rates-foreign", "were measured with a number of processors of ");
}

static void write_text(const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

Test(rates, that_are_damaged_are_refused)
{
    struct rates damaged = rates;
    const char *const texts[] = {
        "", "{}", "[1, 2]", "{\"format\": \"tomostage rates 1\"}", "{\"format\": [", "\xff"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_text(texts[i]);
        expect_refused("rates-unreadable", "holds no rates of a machine");
    }
    const double values[] = {NAN, INFINITY, -1, 0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        damaged.values[RATE_READ] = values[i];
        keep(&damaged);
        expect_refused("rates-unreadable", "lacks a rate, or has one that no machine has");
    }
    damaged = rates;
    damaged.stages[0].per_second = 0;
    keep(&damaged);
    expect_refused("rates-unreadable", "lacks a rate");
    unlink(path);
    expect_refused("rates-unreadable", "cannot be read: No such file or directory");
}

Test(rates, need_none_of_a_device_that_is_not_there)
{
    struct rates without = rates;
    without.device[0] = '\0';
    without.values[RATE_UPLOAD] = NAN;
    keep(&without);
    cr_assert_eq(ts_rates_load(path, &found, diag), TS_OK);
    without = rates;
    without.values[RATE_UPLOAD] = NAN;
    keep(&without);
    expect_refused("rates-unreadable", "lacks a rate");
}

Test(rates, of_runs_and_of_the_host_are_measured)
{
    ts_rates_here(&found);
    cr_assert_eq(ts_bench_rates_runs(folder, NULL, &found, diag), TS_OK);
    cr_assert_eq(ts_bench_rates_host(folder, &found, diag), TS_OK);
    for (int i = 0; i < RATES; i++)
        cr_assert(ts_rate_names[i].device    ? isnan(found.values[i])
                  : ts_rate_names[i].seconds ? found.values[i] >= 0
                                             : found.values[i] > 1,
                  "%s", ts_rate_names[i].key);
    cr_assert_eq(ts_test_count_files(folder, NULL), 1);
    cr_assert_eq(ts_bench_rates_runs("/does/not/exist", NULL, &found, diag), TS_RUN_FAILED);
    cr_assert(ts_test_has_code(diag, "folder-not-usable"));
}
