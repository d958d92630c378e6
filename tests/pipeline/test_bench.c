/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/bench.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Every stage that computes has a case, so that a new one cannot go unmeasured. */
Test(bench, every_stage_has_a_case_that_runs)
{
    for (const struct stage *const *stage = ts_stages; *stage; stage++) {
        if (!(*stage)->cpu && !(*stage)->reduction)
            continue;
        struct bench_request request = {
            .stage = (*stage)->name, .dtype = -1, .values = -1, .nz = 2, .ny = 9, .nx = 16, .runs = 1, .threads = 1};
        char *text = NULL;
        size_t length = 0;
        FILE *stream = open_memstream(&text, &length);
        struct ts_diag *diag = ts_diag_create();
        const enum ts_status status = ts_bench_run(&request, stream, diag);
        fclose(stream);
        ts_diag_print(diag, stderr);
        cr_assert_eq(status, TS_OK, "%s", (*stage)->name);
        cr_assert(strstr(text, "2x9x16"), "%s: %s", (*stage)->name, text);
        ts_diag_destroy(diag);
        free(text);
    }
}

Test(bench, writes_json_that_counts_its_bytes)
{
    struct bench_request request = {.stage = "radon",
                                    .parameters = "views=5 detectors=7",
                                    .dtype = TS_U16,
                                    .values = BENCH_UNIFORM,
                                    .nz = 3,
                                    .ny = 10,
                                    .nx = 8,
                                    .runs = 3,
                                    .threads = 1,
                                    .json = true};
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    struct ts_diag *diag = ts_diag_create();
    cr_assert_eq(ts_bench_run(&request, stream, diag), TS_OK);
    fclose(stream);
    cr_assert(strstr(text, "\"shape\": [3, 10, 8], \"threads\": 1, \"seconds\": "), "%s", text);
    cr_assert(strstr(text, "\"bytes\": 900,"), "%s", text); /* 3 * (80 * 2 + 35 * 4) */
    cr_assert(!strncmp(text, "[\n{", 3) && !strcmp(text + length - 4, "}\n]\n"), "%s", text);
    ts_diag_destroy(diag);
    free(text);
}

Test(bench, refuses_what_it_cannot_set)
{
    static const char *const wrong[][3] = {{"radon", "vews=5", "unknown-parameter"},
                                           {"radon", "views", "bad-value"},
                                           {"radon", "views=5x", "bad-value"},
                                           {"radon", "method=siddon", "bad-value"},
                                           {"radon", "angles=1", "bad-value"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct stage *stage = ts_stage_find(wrong[i][0]);
        struct param_set set = {.rows = stage->params,
                                .n_rows = stage->n_params,
                                .owner = stage->name,
                                .values = calloc(1, stage->params_bytes)};
        struct ts_diag *diag = ts_diag_create();
        cr_assert_eq(ts_bench_assign(&set, wrong[i][1], diag), TS_BAD_CHAIN, "%s", wrong[i][1]);
        cr_assert_str_eq(ts_diag_get(diag, 0)->code, wrong[i][2], "%s", wrong[i][1]);
        ts_diag_destroy(diag);
        free(set.values);
    }
    struct bench_request request = {.stage = "radn", .dtype = -1, .values = -1};
    struct ts_diag *diag = ts_diag_create();
    cr_assert_eq(ts_bench_run(&request, stdout, diag), TS_BAD_CHAIN);
    request.stage = "save";
    cr_assert_eq(ts_bench_run(&request, stdout, diag), TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(diag, 1)->code, "no-benchmark");
    ts_diag_destroy(diag);
}

Test(bench, images_are_what_they_say)
{
    const struct stage *stage = ts_stage_find("radon");
    for (int values = 0; values < BENCH_VALUES; values++)
        for (int dtype = TS_U8; dtype <= TS_F32; dtype++) {
            struct bench_case which = {.stage = stage, .dtype = dtype, .values = values, .nz = 2, .ny = 40, .nx = 30};
            struct ts_image a = ts_bench_image(&which), b = ts_bench_image(&which);
            const size_t n = ts_image_count(&a);
            double *numbers = malloc(n * sizeof *numbers), low = INFINITY, high = -INFINITY;
            cr_assert_eq(n, 2400);
            cr_assert(!memcmp(a.data, b.data, ts_image_bytes(&a)));
            ts_load_f64(numbers, a.data, a.dtype, n);
            for (size_t i = 0; i < n; i++) {
                low = fmin(low, numbers[i]);
                high = fmax(high, numbers[i]);
            }
            cr_assert_eq(low == high, values == BENCH_CONSTANT, "%s %s: %g to %g", ts_dtype_name(dtype),
                         ts_bench_values_names[values], low, high);
            free(numbers);
            free(a.data);
            free(b.data);
        }
}
