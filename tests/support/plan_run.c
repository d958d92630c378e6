/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/plan_run.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/run/run.h"
#include "tests/files/output_fixture.h"

struct ts_plan *ts_test_plan(const struct memory_chain *memory, const struct ts_options *options)
{
    struct ts_diag *diag = ts_diag_create();
    struct ts_plan *plan = NULL;
    const enum ts_status status = ts_plan_create(&memory->chain, options, &plan, diag);
    if (status != TS_OK && status != TS_BAD_CHAIN)
        ts_diag_print(diag, stderr);
    cr_assert((status == TS_OK) == (plan != NULL));
    cr_assert(status == TS_OK || status == TS_BAD_CHAIN);
    ts_diag_destroy(diag);
    return plan;
}

void ts_test_plan_run(struct ts_plan *plan)
{
    ts_test_plan_run_with(plan, &plan->options);
}

void ts_test_plan_run_with(const struct ts_plan *plan, const struct run_options *options)
{
    struct ts_diag *diag = ts_diag_create();
    const enum ts_status status = ts_run(plan, options, plan->state, diag);
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK);
    ts_diag_destroy(diag);
}

bool ts_test_plan_fits(struct ts_plan *plan, int64_t budget)
{
    struct ts_diag *diag = ts_diag_create();
    *(plan->cuda ? &plan->gpu_budget_bytes : &plan->budget_bytes) = budget;
    const enum ts_status status = ts_plan_fit(plan, diag);
    ts_diag_destroy(diag);
    return status == TS_OK;
}

int64_t ts_test_plan_least(struct ts_plan *plan)
{
    int64_t low = 1, high = (int64_t)1 << 33;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (ts_test_plan_fits(plan, middle))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void ts_test_same_file(const char *path, unsigned char **first, size_t *first_size,
                       const char *what)
{
    size_t size;
    unsigned char *bytes = ts_test_read_file(path, &size);
    cr_assert(bytes, "%s was not written", path);
    if (!*first) {
        *first = bytes;
        *first_size = size;
        return;
    }
    cr_assert(size == *first_size && !memcmp(bytes, *first, size), "%s: other bytes", what);
    free(bytes);
}

void ts_test_same_for_slabs_and_threads(const struct memory_chain *memory, const char *output)
{
    unsigned char *first = NULL;
    size_t first_size = 0;
    for (int run = 0; run < 4; run++) {
        const struct ts_options options = {
            .device = "cpu", .threads = run < 2 ? 1 : 3, .force = true};
        struct ts_plan *plan = ts_test_plan(memory, &options);
        cr_assert(plan);
        if (run % 2 == 0)
            cr_assert(ts_test_plan_fits(plan, ts_test_plan_least(plan)));
        ts_test_plan_run(plan);
        ts_test_same_file(output, &first, &first_size, "slabs and threads");
        ts_plan_destroy(plan);
    }
    free(first);
}
