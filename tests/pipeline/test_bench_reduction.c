/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/reduction_study.h"
#include "pipeline/bench.h"
#include "tests/support/program.h"
#include "tests/support/stage_check.h"

static char *study(const char *device, int64_t most, enum ts_status *status, struct ts_diag *diag)
{
    const struct bench_request request = {.device = device, .nz = 1, .ny = 1, .nx = most, .runs = 1, .json = true};
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
