/* SPDX-License-Identifier: Apache-2.0
 *
 * A stage that has no CUDA code yet is timed on the CPU, and its rows give the reason why no others
 * follow.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/bench/bench.h"
#include "tests/support/local_stages.h"
#include "tests/support/program.h"

static const struct bench_case shifted = {
    .stage = &cpu_shift_stage, .dtype = TS_U16, .nz = 2, .ny = 9, .nx = 16};

/* Returns the row of the case as it is printed, for people or as JSON; free(). */
static char *printed(struct bench_row *row, bool json)
{
    char *text = NULL;
    size_t length = 0;
    struct ts_diag *diag = ts_diag_create();
    struct table_rows rows = {
        .table = &ts_bench_table_of_rows, .stream = open_memstream(&text, &length), .json = json};
    ts_bench_row_finish(row);
    ts_table_begin(&rows);
    cr_assert_eq(ts_table_add(&rows, row, diag), TS_OK);
    cr_assert_eq(ts_table_end(&rows, diag), TS_OK);
    fclose(rows.stream);
    ts_table_clear(&rows);
    ts_diag_destroy(diag);
    cr_assert(!json || ts_test_is_json(text, length), "%s", text);
    return text;
}

Test(bench_cpu_only, rows_give_the_reason)
{
    static const char reason[] = "its kernel is not written yet";
    const struct ts_image image = ts_bench_describe_image(&shifted);
    const struct bench_stage ready = {
        .which = shifted,
        .in = image,
        .context = {.stage = &cpu_shift_stage, .in = image, .out = image}};
    struct bench_row row;
    ts_bench_describe(&row, &ready, 1);
    row.seconds = row.ceiling_rate = row.threads = 1;
    cr_assert_str_eq(row.cpu_only, reason);
    row.error = ts_bench_no_error("the stage has no oracle");
    char *text = printed(&row, false);
    cr_assert(
        strstr(text,
               " no error: the stage has no oracle; no CUDA code: its kernel is not written yet\n"),
        "%s", text);
    free(text);
    row.error = (struct bench_error){.distance = 0};
    *row.why = '\0';
    text = printed(&row, false);
    cr_assert(strstr(text, " no CUDA code: its kernel is not written yet\n"), "%s", text);
    free(text);
    text = printed(&row, true);
    cr_assert(strstr(text, "\"cpu_only\": \"its kernel is not written yet\""), "%s", text);
    free(text);
}

#ifdef TS_HAVE_CUDA
Test(bench_cpu_only, a_device_is_refused_with_the_reason)
{
    struct ts_diag *diag = ts_diag_create();
    struct bench_row row;
    cr_assert_eq(ts_bench_cuda(&shifted, 1, false, NULL, NULL, 1, diag, &row), TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "no-benchmark");
    cr_assert_str_eq(ts_diag_get(diag, 0)->message,
                     "it has no CUDA code: its kernel is not written yet");
    ts_diag_destroy(diag);
}
#endif
