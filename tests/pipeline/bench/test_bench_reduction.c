/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/bench/reduction_study.h"
#include "pipeline/bench/bench.h"
#include "tests/support/output_fixture.h"
#include "tests/support/program.h"
#include "tests/support/stage_check.h"

static char *study(const char *device, int64_t most, enum ts_status *status, struct ts_diag *diag)
{
    const struct bench_request request = {
        .dtype = -1, .values = -1, .device = device, .nz = 1, .ny = 1, .nx = most, .runs = 1, .json = true};
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    *status = ts_bench_reduction(&request, stream, diag);
    fclose(stream);
    cr_assert(*status != TS_OK || ts_test_is_json(text, length), "%s", text);
    return text;
}

/* Each work by each order, of one size and of another, with speed-up and efficiency; a result that is wrong ends the
 * study. */
TEST_ON_BOTH(bench_reduction, every_work_by_both_orders)
{
    static const char *const methods[] = {"fan-in", "two-level"};
    enum ts_status status;
    struct ts_diag *diag = ts_diag_create();
    char *text = study(ts_test_device ? "cuda" : "cpu", ts_test_few() ? 1 << 10 : 1 << 22, &status, diag);
    ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK);
    size_t rows = 0, rated = 0, sizes = 0;
    for (const char *row = text; (row = strchr(row, '{')); row++, rows++) {
        long long n = 0, processors = 0;
        double seconds = 0, speed_up = 0, efficiency = 0;
        const char *numbers = strstr(row, "\"n\": ");
        cr_assert(numbers && sscanf(numbers,
                                    "\"n\": %lld, \"processors\": %lld, \"seconds\": %lf, \"speed_up\": %lf, "
                                    "\"efficiency\": %lf",
                                    &n, &processors, &seconds, &speed_up, &efficiency) == 5,
                  "%.200s", row);
        rated += seconds > 0 && speed_up > 0 && fabs(efficiency * (double)processors / speed_up - 1) < 1e-4;
        sizes += n == 1 << 18;
    }
    cr_assert_eq(rated, rows, "%s", text);
    cr_assert(ts_test_few() || sizes > 0);
    for (int work = 0; work < STUDY_WORKS; work++)
        for (int method = 0; method < 2; method++) {
            char pair[64];
            snprintf(pair, sizeof pair, "\"work\": \"%s\", \"method\": \"%s\"", ts_study_works[work], methods[method]);
            cr_assert(strstr(text, pair), "%s: %s", pair, text);
        }
    free(text);
    ts_diag_destroy(diag);
}

Test(bench_reduction, a_result_is_right_or_wrong)
{
    const struct study_moments moments = {.sum = 3, .squares = 5};
    const double sum = 7;
    cr_assert_float_eq(ts_study_value(STUDY_VARIANCE, &moments, 3), 5.0 / 3 - 1, 1e-15);
    cr_assert_eq(ts_study_value(STUDY_SUM, &sum, 3), 7);
    for (int work = 0; work < STUDY_NUMBERS; work++) {
        cr_assert(ts_study_right((enum study_work)work, 0.25, 0.25));
        cr_assert(!ts_study_right((enum study_work)work, 0.25 + 1e-9, 0.25), "%s", ts_study_works[work]);
        cr_assert(!ts_study_right((enum study_work)work, NAN, 0.25), "%s", ts_study_works[work]);
    }
}

Test(bench_reduction, refuses_a_device_that_it_does_not_know)
{
    enum ts_status status;
    struct ts_diag *diag = ts_diag_create();
    free(study("cudo", 1024, &status, diag));
    cr_assert_eq(status, TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "device");
    ts_diag_destroy(diag);
}

/* What it would ignore is an error of its own; what it cannot write is found before anything is timed. */
Test(bench_reduction, refuses_what_plays_no_part)
{
    const struct bench_request plain = {.dtype = -1, .values = -1, .device = "cpu", .nx = 1, .ny = 1, .nz = 1};
    struct bench_request requests[6];
    static const char *const messages[] = {"--parameters plays", "--dtype plays",     "--values plays",
                                           "--threads plays",    "cannot be written", "cannot be written"};
    FILE *sink = fopen("/dev/null", "w");
    for (size_t i = 0; i < 6; i++)
        requests[i] = plain;
    requests[0].parameters = "bins=3";
    requests[1].dtype = TS_U8;
    requests[2].values = BENCH_CT;
    requests[3].threads = 1;
    requests[4].save = "/dev/null/rows.json";
    requests[5].plot = "/dev/null/rows.svg";
    for (size_t i = 0; i < 6; i++) {
        struct ts_diag *diag = ts_diag_create();
        cr_expect_eq(ts_bench_reduction(&requests[i], sink, diag), i < 4 ? TS_BAD_CHAIN : TS_RUN_FAILED);
        cr_assert_eq(ts_diag_count(diag), 1, "%s", messages[i]);
        cr_expect_str_eq(ts_diag_get(diag, 0)->code, i < 4 ? "benchmark-option" : "not-written");
        cr_expect(strstr(ts_diag_get(diag, 0)->message, messages[i]), "%s", ts_diag_get(diag, 0)->message);
        ts_diag_destroy(diag);
    }
    fclose(sink);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

/* A point a row in each of two panels, a line a size and method. */
Test(bench_reduction, saves_and_plots_its_rows)
{
    char folder[256], plot[300], saved[300];
    size_t bytes;
    ts_test_folder(folder, sizeof folder);
    snprintf(plot, sizeof plot, "%s/rows.svg", folder);
    snprintf(saved, sizeof saved, "%s/rows.json", folder);
    const struct bench_request request = {.dtype = -1,
                                          .values = -1,
                                          .device = "cpu",
                                          .nz = 1,
                                          .ny = 1,
                                          .nx = 1 << 14,
                                          .runs = 1,
                                          .save = saved,
                                          .plot = plot};
    struct ts_diag *diag = ts_diag_create();
    FILE *sink = fopen("/dev/null", "w");
    cr_assert_eq(ts_bench_reduction(&request, sink, diag), TS_OK);
    fclose(sink);
    ts_diag_destroy(diag);
    unsigned char *file = ts_test_read_file(saved, &bytes);
    char *text = strndup((const char *)file, bytes);
    cr_assert(ts_test_is_json(text, bytes));
    const size_t rows = count(text, "\"speed_up\": "), lines = count(text, "\"processors\": 1,");
    free(text);
    free(file);
    file = ts_test_read_file(plot, &bytes);
    text = strndup((const char *)file, bytes);
    cr_assert(!strncmp(text, "<svg ", 5) && !strncmp(text + bytes - 7, "</svg>\n", 7));
    cr_assert_gt(rows, 0);
    cr_assert_eq(count(text, "<circle "), 2 * rows);
    cr_assert_eq(count(text, "<polyline "), 2 * lines);
    cr_assert(!strstr(text, "nan") && !strstr(text, "inf"), "%s", text);
    free(text);
    free(file);
    ts_test_remove_folder(folder);
}
