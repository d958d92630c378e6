/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/chain_run.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/files/output_fixture.h"
#include "tests/support/program.h"
#include "tests/support/stage_check.h"
#include "tests/support/support.h"

enum ts_status ts_test_chain(const char *text, const char *folder, struct ts_diag *diag)
{
    const struct ts_options options = {
        .device = ts_test_device ? "cuda" : "cpu", .threads = 2, .force = true};
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    enum ts_status status = ts_chain_parse(text, strlen(text), "test", folder, &chain, diag);
    if (status == TS_OK)
        status = ts_chain_search(chain, &options, diag);
    if (status == TS_OK)
        status = ts_plan_create(chain, &options, &plan, diag);
    if (status == TS_OK)
        status = ts_plan_run(plan, diag);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    return status;
}

void ts_test_chain_runs(const char *text, const char *folder)
{
    struct ts_diag *diag = ts_diag_create();
    const enum ts_status status = ts_test_chain(text, folder, diag);
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK, "%s", text);
    ts_diag_destroy(diag);
}

void ts_test_chain_refused(const char *text, const char *folder, enum ts_status status,
                           const char *code)
{
    char before[4096], after[4096];
    struct ts_diag *diag = ts_diag_create();
    ts_program_folder_list(folder, before, sizeof before);
    const enum ts_status is = ts_test_chain(text, folder, diag);
    if (is != status || !ts_test_has_code(diag, code))
        ts_diag_print(diag, stderr);
    cr_assert_eq(is, status, "%s: status %d", code, is);
    cr_assert(ts_test_has_code(diag, code), "not %s", code);
    ts_program_folder_list(folder, after, sizeof after);
    cr_assert_str_eq(after, before, "%s: something was written", code);
    ts_diag_destroy(diag);
}

void ts_test_tooth_chain(char *text, size_t size)
{
    char path[2000];
    snprintf(path, sizeof path, "%s/projections/tomopy_tooth/tooth.h5", ts_test_data());
    snprintf(
        text, size,
        "tomostage: 2\ninput: {exchange: %s}\ninputs:\n  flats: {exchange: %s, frames: flats}\n"
        "  darks: {exchange: %s, frames: darks}\nstages:\n  - flat_field: {flats: flats, darks: "
        "darks}\n",
        path, path, path);
}
