/* SPDX-License-Identifier: Apache-2.0
 *
 * The study reductions: its sorts, its checks, and the rows of every work and method.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lab/study/fan_in_study.h"
#include "lab/study/merge_sort.h"
#include "tests/lab/study/study_text.h"
#include "tests/support/stage_check.h"

static int by_key(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Few and many keys, equal ones among them, by any number of threads. */
Test(reductions_study, the_tree_of_merges_sorts)
{
    static const int64_t numbers[] = {0, 1, 2, 31, 32, 33, 64, 100, 1000, 4096, 5001};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (int threads = 1; threads <= 3; threads++) {
            const size_t n = (size_t)numbers[i];
            uint32_t *keys = calloc(n + 1, sizeof *keys),
                     *scratch = calloc(2 * n + 1, sizeof *keys), state = 7;
            for (size_t k = 0; k < n; k++)
                keys[k] = (state = state * 1664525u + 1013904223u) % (i % 2 ? 50 : UINT32_MAX);
            const uint32_t *sorted = ts_merge_sort(keys, scratch, numbers[i], threads);
            qsort(keys, n, sizeof *keys, by_key);
            cr_expect_arr_eq(sorted, keys, n * sizeof *keys, "%zu keys, %d threads", n, threads);
            free(keys);
            free(scratch);
        }
}

Test(reductions_study, keys_are_sorted_or_not)
{
    const float values[] = {0.5f, 0.25f, 1, 0.25f};
    const uint32_t sorted[] = {0x3E800000, 0x3E800000, 0x3F000000, 0x3F800000};
    const uint32_t falling[] = {0x3F800000, 0x3F000000, 0x3E800000, 0x3E800000};
    const uint32_t others[] = {0x3E800000, 0x3F000000, 0x3F000000, 0x3F800000};
    cr_expect(ts_fan_in_sorted(values, sorted, 4));
    cr_expect(!ts_fan_in_sorted(values, falling, 4));
    cr_expect(!ts_fan_in_sorted(values, others, 4));
}

static enum ts_status end_with_7(struct fan_in_runner *runner, const struct fan_in_job *job,
                                 void *result)
{
    (void)runner;
    (void)job;
    memcpy(result, &(double){7}, sizeof(double));
    return TS_OK;
}

Test(reductions_study, a_wrong_result_is_an_error)
{
    struct fan_in_runner runner = {.end = end_with_7};
    const struct fan_in_job job = {FAN_IN_MAX, FAN_IN_STRIDE, 4, 1};
    struct ts_diag *diag = ts_diag_create();
    double error;
    cr_expect_eq(ts_fan_in_check(&runner, &job, 7, diag, &error), TS_OK);
    cr_expect_eq(error, 0);
    cr_expect_eq(ts_fan_in_check(&runner, &job, 8, diag, &error), TS_RUN_FAILED);
    cr_expect_eq(error, 0.125);
    cr_assert_eq(ts_diag_count(diag), 1);
    cr_expect_str_eq(ts_diag_get(diag, 0)->code, "study-result");
    ts_diag_destroy(diag);
}

/* Both sorts leave the same keys, but each in its own place: the radix sort in place, after 4
 * passes, and the tree after as many merges as the size has levels. The result of a sort that did
 * not run would be the poison of begin(). */
TEST_ON_BOTH(reductions_study, every_work_by_every_method)
{
    static const char *const works[] = {"sum", "product", "min", "max", "variance", "sort"};
    const char *const first = ts_test_device ? "tree" : "serial";
    const struct study_request request = {.most = 1 << 16, .json = true};
    char *text = ts_test_study(&ts_reductions_study, request);
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        for (int k = 0; k < 2; k++) {
            char row[96];
            snprintf(row, sizeof row, "\"subject\": \"%s\", \"method\": \"%s\", \"n\": %d",
                     works[i],
                     k        ? "tree"
                     : i == 5 ? "radix"
                              : first,
                     1 << 16);
            cr_expect(strstr(text, row), "%s: %s", row, text);
        }
    free(text);
}

static int do_nothing(const struct fan_in_job *job, const float *values, void *result,
                      void *scratch, size_t *bytes, struct CUstream_st *stream)
{
    (void)job;
    (void)values;
    (void)result;
    (void)scratch;
    (void)stream;
    *bytes = 1;
    return 0;
}

/* Nothing of the method before it is left where the result of a peer should be. */
TEST_ON_BOTH(reductions_study, a_peer_that_gives_nothing_is_found)
{
    static const struct fan_in_peer idle = {"idle", do_nothing};
    const struct study_request request = {.most = 1 << 14, .json = true};
    struct ts_diag *diag = ts_diag_create();
    enum ts_status status;
    ts_study_use_peer(&idle);
    free(ts_test_study_tried(&ts_reductions_study, request, &status, diag));
    ts_study_use_peer(NULL);
    cr_assert_eq(status, ts_test_device ? TS_RUN_FAILED : TS_OK); /* peers work on devices */
    cr_assert(!ts_test_device || !strcmp(ts_diag_get(diag, 0)->code, "study-result"));
    ts_diag_destroy(diag);
}
