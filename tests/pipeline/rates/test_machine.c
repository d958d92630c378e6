/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of a machine: defaults come from its rates, and all that is wrong with it is reported at
 * once. The sample files are ones that can be used.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/rates/machine.h"
#include "tests/files/output_fixture.h"
#include "tests/support/program.h"
#include "tests/support/rates_file.h"
#include "tests/support/support.h"

static char folder[256], path[300], kept[300];
static struct ts_diag *diag;
static struct machine machine;
static struct rates rates;

static void make(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/machine.yaml", folder);
    snprintf(kept, sizeof kept, "%s/rates.json", folder);
    diag = ts_diag_create();
    rates = ts_test_rates();
    ts_test_keep_rates(&rates, kept);
}

static void clear(void)
{
    ts_diag_destroy(diag);
    ts_program_folder_remove(folder);
}

TestSuite(machine, .init = make, .fini = clear);

static enum ts_status load(const char *text, const char *kept_rates)
{
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
    ts_diag_clear(diag);
    return ts_machine_load(path, kept_rates, &machine, &rates, diag);
}

Test(machine, takes_from_its_rates_what_it_leaves_out)
{
    cr_assert_eq(
        load("nodes: 1\ncores: 4\nmemory: 8\ngpus: 3\ngpu_memory: 2\nrates_file: rates.json\n",
             NULL),
        TS_OK);
    cr_assert(machine.nodes == 1 && machine.cores == 4 && machine.ranks == 1 && machine.gpus == 3);
    cr_assert_float_eq(machine.pcie, 8192e-9,
                       1e-18); /* the download, which is slower than the upload */
    cr_assert_float_eq(machine.pcie_node, 3 * 8192e-9, 1e-18);
    cr_assert_float_eq(machine.disk_write, 1024e-9, 1e-18);
    cr_assert_float_eq(machine.exchange, 8192e-9, 1e-18);
    cr_assert(isinf(machine.disk_read) && isinf(machine.network));
    cr_assert_str_eq(rates.device, "test device 0");
    cr_assert_eq(load("nodes: 1\ncores: 4\nmemory: 8\n", kept), TS_OK);
}

/* Rates of another machine can be named, and those that are kept here must be of this one. */
Test(machine, may_have_rates_of_another_machine)
{
    snprintf(rates.cpu, sizeof rates.cpu, "another processor");
    cr_assert_eq(ts_rates_save(&rates, kept, diag), TS_OK);
    cr_assert_eq(load("nodes: 1\ncores: 4\nmemory: 8\nrates_file: rates.json\n", NULL), TS_OK);
    cr_assert_str_eq(rates.cpu, "another processor");
    cr_assert_eq(load("nodes: 1\ncores: 4\nmemory: 8\n", kept), TS_RUN_FAILED);
    cr_assert(ts_test_has_code(diag, "rates-foreign"));
}

Test(machine, is_refused_with_all_that_is_wrong)
{
    static const char *const codes[] = {"parameter-range",    "unknown-parameter",
                                        "unit-unknown",       "parameter-missing",
                                        "machine-incomplete", "rates-unreadable"};
    cr_assert_eq(load("nodes: 0\nmemory: 24GB\ngpus: 2\ndisk: 3\nrates_file: nowhere.json\n", kept),
                 TS_BAD_CHAIN);
    cr_assert_eq(ts_diag_error_count(diag), sizeof codes / sizeof *codes);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        cr_assert(ts_test_has_code(diag, codes[i]), "%s", codes[i]);
    cr_assert_eq(load("nodes: 2\ncores: 4\nmemory: 8\n", kept), TS_BAD_CHAIN);
    cr_assert(ts_test_has_text(diag, "required for several nodes"));
    cr_assert_eq(load("nodes: 1\ncores: 4\nmemory: 8\n", NULL), TS_BAD_CHAIN);
    cr_assert(ts_test_has_code(diag, "machine-rates"));
    cr_assert_eq(load("- 1\n", kept), TS_BAD_CHAIN);
    cr_assert(ts_test_has_code(diag, "wrong-kind"));
    cr_assert_eq(load("# nothing\n", kept), TS_BAD_CHAIN);
    cr_assert(ts_test_has_text(diag, "the machine's file is empty"));
    ts_diag_clear(diag);
    cr_assert_eq(ts_machine_load("nowhere.yaml", kept, &machine, &rates, diag), TS_BAD_CHAIN);
    cr_assert(ts_test_has_code(diag, "machine-unreadable"));
}

Test(machine, with_gpus_needs_rates_of_a_device)
{
    *rates.device = '\0';
    cr_assert_eq(ts_rates_save(&rates, kept, diag), TS_OK);
    cr_assert_eq(load("nodes: 1\ncores: 4\nmemory: 8\ngpus: 1\ngpu_memory: 8\n", kept),
                 TS_BAD_CHAIN);
    cr_assert(ts_test_has_text(diag, "the machine has GPUs, and its rates are of no device"));
}

Test(machine, samples_can_be_used)
{
    static const char *const names[] = {"laptop", "h200", "cluster"};
    char sample[4096];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(sample, sizeof sample, TESTS_FOLDER "/../datasets/machines/%s.yaml", names[i]);
        cr_assert_eq(ts_machine_load(sample, kept, &machine, &rates, diag), TS_OK, "%s", names[i]);
    }
    cr_assert(machine.nodes == 128 && machine.gpus == 8);
    cr_assert_not_null(ts_rates_find(&rates, "fbp", true));
}
