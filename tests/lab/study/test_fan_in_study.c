/* SPDX-License-Identifier: Apache-2.0
 *
 * The study fan-in, and through it what all studies share: rows, JSON, files and charts.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lab/study/fan_in_study.h"
#include "tests/files/output_fixture.h"
#include "tests/lab/study/study_text.h"
#include "tests/support/program.h"
#include "tests/support/stage_check.h"

/* Each work by each order, of one size and of another, with speed-up and efficiency; a result that
 * is wrong ends the study. Tables are not paired. */
TEST_ON_BOTH(fan_in_study, every_work_by_every_order)
{
    static const char *const methods[] = {"fan-in", "two-level", "adjacent"};
    const struct study_request request = {.most = ts_test_few() ? 1 << 10 : 1 << 22, .json = true};
    char *text = ts_test_study(&ts_fan_in_study, request);
    size_t rows = 0, rated = 0, sizes = 0;
    for (const char *row = text; (row = strchr(row, '{')); row++, rows++) {
        long long n = 0, processors = 0;
        double seconds = 0, speed_up = 0, efficiency = 0;
        const char *numbers = strstr(row, "\"n\": ");
        cr_assert(numbers && sscanf(numbers,
                                    "\"n\": %lld, \"processors\": %lld, \"seconds\": %lf, "
                                    "\"speed_up\": %lf, \"efficiency\": %lf",
                                    &n, &processors, &seconds, &speed_up, &efficiency) == 5,
                  "%.200s", row);
        rated += seconds > 0 && speed_up > 0 &&
                 fabs(efficiency * (double)processors / speed_up - 1) < 1e-4;
        sizes += n == 1 << 18;
    }
    cr_assert_eq(rated, rows, "%s", text);
    cr_assert(ts_test_few() || sizes > 0);
    cr_expect(!strstr(text, "radix") && !strstr(text, "merge"), "%s", text);
    for (int work = 0; work < FAN_IN_WORKS; work++)
        for (int method = 0; method < (work == FAN_IN_TABLES ? 2 : 3); method++) {
            char pair[64];
            snprintf(pair, sizeof pair, "\"work\": \"%s\", \"method\": \"%s\"",
                     ts_fan_in_works[work], methods[method]);
            cr_assert(strstr(text, pair), "%s: %s", pair, text);
        }
    free(text);
}

/* Sums of numbers so different that the order of the joins decides what is left of a 1: the pairs
 * 2^60 and -2^60 cancel before or after it is added. */
TEST_ON_BOTH(fan_in_study, the_orders_join_what_they_say)
{
    enum { N = 1024, THREADS = 32, CASES = 3 };
    static const int64_t minus[CASES] = {1, 512, 32}, one[CASES] = {2, 32, 1};
    static const struct {
        enum fan_in_order order;
        double sums[CASES];
    } expected[] = {
        {FAN_IN_STRIDE, {0, 1, 1}}, {FAN_IN_ADJACENT, {1, 0, 0}}, {FAN_IN_TWO_LEVEL, {-1, 0, 1}}};
    struct ts_diag *diag = ts_diag_create();
    for (size_t i = 0; i < CASES; i++) {
        float values[N] = {0x1p60f};
        values[minus[i]] = -0x1p60f;
        values[one[i]] = 1;
        struct fan_in_runner *runner =
            ts_fan_in_runner_create(ts_test_device, values, N, 2, NULL, diag);
        cr_assert(runner);
        for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
            const struct fan_in_job job = {FAN_IN_SUM, expected[k].order, N,
                                           ts_test_device ? THREADS : 2};
            struct fan_in_moments sum;
            double seconds;
            cr_assert_eq(runner->begin(runner, &job, NULL), TS_OK);
            cr_assert_eq(runner->join(runner, &job, &seconds), TS_OK);
            cr_assert_eq(runner->end(runner, &job, &sum), TS_OK);
            const double is = ts_fan_in_value(FAN_IN_SUM, &sum, N);
            cr_expect(expected[k].sums[i] < 0 || is == expected[k].sums[i], "%s, case %zu: %g",
                      ts_fan_in_orders[expected[k].order], i, is);
        }
        runner->destroy(runner);
    }
    ts_diag_destroy(diag);
}

/* S(1024) of 512 and of 32 processors, as fan_in_study.c derives it, and of fewer. */
Test(fan_in_study, the_analytic_speed_up_is_that_of_the_orders)
{
    static const struct {
        struct fan_in_job job;
        double units;
    } cases[] = {{{FAN_IN_SUM, FAN_IN_STRIDE, 1024, 512}, 10},
                 {{FAN_IN_SUM, FAN_IN_ADJACENT, 1024, 512}, 10},
                 {{FAN_IN_SUM, FAN_IN_TWO_LEVEL, 1024, 32}, 31 + 5},
                 {{FAN_IN_SUM, FAN_IN_STRIDE, 1024, 1}, 1023},
                 {{FAN_IN_SUM, FAN_IN_TWO_LEVEL, 1024, 1}, 1023},
                 {{FAN_IN_SUM, FAN_IN_STRIDE, 1024, 256}, 2 + 9},
                 {{FAN_IN_SUM, FAN_IN_TWO_LEVEL, 1024, 2}, 511 + 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_float_eq(ts_fan_in_model(&cases[i].job), 1023 / cases[i].units, 1e-12, "case %zu",
                           i);
    const struct fan_in_job tables = {FAN_IN_TABLES, FAN_IN_STRIDE, 16, 4};
    cr_expect_float_eq(ts_fan_in_model(&tables), 4, 1e-12);
}

Test(fan_in_study, takes_no_more_threads_than_it_is_given)
{
    const struct study_request request = {
        .device = "cpu", .most = 1024, .runs = 1, .threads = 2, .json = true};
    struct ts_diag *diag = ts_diag_create();
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    cr_assert_eq(ts_study_run(&ts_fan_in_study, &request, stream, diag), TS_OK);
    fclose(stream);
    cr_assert(strstr(text, "\"processors\": 1,") && strstr(text, "\"processors\": 2,"));
    cr_assert(!strstr(text, "\"processors\": 3,") && !strstr(text, "\"processors\": 4,"));
    free(text);
    ts_diag_destroy(diag);
}

Test(fan_in_study, a_result_is_right_or_wrong)
{
    const struct fan_in_moments moments = {.sum = 3, .squares = 5};
    const double sum = 7;
    cr_assert_float_eq(ts_fan_in_value(FAN_IN_VARIANCE, &moments, 3), 5.0 / 3 - 1, 1e-15);
    cr_assert_eq(ts_fan_in_value(FAN_IN_SUM, &sum, 3), 7);
    for (int work = 0; work < FAN_IN_NUMBERS; work++) {
        cr_assert(ts_fan_in_right((enum fan_in_work)work, 0.25, 0.25));
        cr_assert(!ts_fan_in_right((enum fan_in_work)work, 0.25 + 1e-9, 0.25), "%s",
                  ts_fan_in_works[work]);
        cr_assert(!ts_fan_in_right((enum fan_in_work)work, NAN, 0.25), "%s", ts_fan_in_works[work]);
    }
}

Test(fan_in_study, refuses_a_device_that_it_does_not_know)
{
    const struct study_request request = {.device = "cudo", .most = 1024};
    enum ts_status status;
    struct ts_diag *diag = ts_diag_create();
    free(ts_test_study_tried(&ts_fan_in_study, request, &status, diag));
    cr_assert_eq(status, TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "device");
    ts_diag_destroy(diag);
}

/* A file that cannot be written is found before anything is timed. */
Test(fan_in_study, files_that_cannot_be_written_are_found_at_once)
{
    char folder[256], path[300], *text = NULL;
    size_t length = 0;
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/fan-in.svg", folder);
    cr_assert_eq(mkdir(path, 0700), 0);
    const char *const folders[] = {"/dev/null/rows", folder}, *const codes[] = {
                                                                  "not-written",
                                                                  "output-not-a-file"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const struct study_request request = {.device = "cpu", .most = 1, .folder = folders[i]};
        struct ts_diag *diag = ts_diag_create();
        FILE *stream = open_memstream(&text, &length);
        cr_expect_eq(ts_study_run(&ts_fan_in_study, &request, stream, diag), TS_RUN_FAILED);
        fclose(stream);
        cr_assert_eq(ts_diag_count(diag), 1);
        cr_expect_str_eq(ts_diag_get(diag, 0)->code, codes[i]);
        cr_expect_eq(length, 0, "%s", text);
        free(text);
        ts_diag_destroy(diag);
    }
    ts_test_remove_folder(folder);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

/* Six panels of sums and six of tables, a line an order, and a dashed one of two of them but for
 * times. */
Test(fan_in_study, saves_and_plots_its_rows)
{
    char folder[256], plot[300], saved[300];
    size_t bytes;
    ts_test_folder(folder, sizeof folder);
    snprintf(plot, sizeof plot, "%s/fan-in.svg", folder);
    snprintf(saved, sizeof saved, "%s/fan-in.json", folder);
    const struct study_request request = {
        .device = "cpu", .most = 1 << 14, .runs = 1, .folder = folder};
    struct ts_diag *diag = ts_diag_create();
    FILE *sink = fopen("/dev/null", "w");
    cr_assert_eq(ts_study_run(&ts_fan_in_study, &request, sink, diag), TS_OK);
    fclose(sink);
    ts_diag_destroy(diag);
    unsigned char *file = ts_test_read_file(saved, &bytes);
    char *text = strndup((const char *)file, bytes);
    cr_assert(ts_test_is_json(text, bytes));
    free(text);
    free(file);
    file = ts_test_read_file(plot, &bytes);
    text = strndup((const char *)file, bytes);
    cr_assert(!strncmp(text, "<svg ", 5) && !strncmp(text + bytes - 7, "</svg>\n", 7));
    cr_assert_eq(count(text, "<polyline "), 2 * (3 + 5 + 5) + 2 * (2 + 4 + 4));
    cr_assert_eq(count(text, "stroke-dasharray"),
                 2 * (2 * 2 * 2 + 2 * 2 * 2)); /* in the panel and in its key */
    cr_assert(strstr(text, ">number n of values</text>") && strstr(text, ">speed-up</text>"));
    cr_assert(strstr(text, ">processors (threads)</text>") && strstr(text, ">efficiency</text>"));
    cr_assert(!strstr(text, "nan") && !strstr(text, "inf"), "%s", text);
    free(text);
    free(file);
    ts_test_remove_folder(folder);
}
