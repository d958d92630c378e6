/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/intensity/rescale.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "stages/scan/minus_log.h"
#include "tests/files/hdf5_data.h"
#include "tests/stages/histogram/statistics_oracle.h"
#include "tests/stages/intensity/rescale_oracle.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(rescale);

TEST_ON_BOTH(rescale, agrees_with_the_definition)
{
    const unsigned integers = TS_ANY_INTEGER;
    const struct stage_case cases[] = {
        {.assignments = ""},
        {.assignments = "", .values = VALUES_CT},
        {.assignments = "", .values = VALUES_CONSTANT},
        {.assignments = "", .values = VALUES_EXTREME},
        {.assignments = "scope=slice out_low=-2 out_high=3", .values = VALUES_CT},
        {.assignments = "dtype=u8", .values = VALUES_CT},
        {.assignments = "range=-100,500.5 dtype=u16", .values = VALUES_CT},
        {.assignments = "range=5,100 clip=false scope=slice"},
        {.assignments = "range=5,100 clip=false dtype=u8"},
        {.assignments = "limits=dtype", .dtypes = integers},
        {.assignments = "limits=dtype dtype=u8 scope=slice", .dtypes = integers},
        {.assignments = "method=percentiles"},
        {.assignments = "method=percentiles scope=slice", .values = VALUES_CT},
        {.assignments = "method=percentiles low_percentile=10 high_percentile=50 clip=false",
         .values = VALUES_CT},
        {.assignments = "method=percentiles", .values = VALUES_CONSTANT},
        {.assignments = "method=percentiles", .values = VALUES_EXTREME},
        {.assignments = "method=z-score"},
        {.assignments = "method=z-score scope=slice", .values = VALUES_CT},
        {.assignments = "method=z-score", .values = VALUES_CONSTANT},
        {.assignments = "method=z-score", .values = VALUES_EXTREME},
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_stage_check(&rescale_stage, ts_rescale_oracle, cases, n),
                 8 * (7 * (n - 2) + 6 * 2));
}

TEST_ON_BOTH(rescale, leaves_the_numbers_it_found)
{
    struct ts_image in = ts_test_image(2, 1, 2, TS_F32, VALUES_CONSTANT, 1);
    const float values[] = {1, 3, 10, 20};
    struct stage_run run;
    for (int i = 0; i < 4; i++)
        ((float *)in.data)[i] = values[i];
    cr_assert_eq(ts_test_run(&run, &rescale_stage, "", &in, NULL, 1, 1), TS_OK);
    cr_assert_eq(ts_test_table_at(&run, "low", 0), 1);
    cr_assert_eq(ts_test_table_at(&run, "high", 0), 20);
    ts_test_run_clear(&run);
    cr_assert_eq(ts_test_run(&run, &rescale_stage, "method=z-score scope=slice", &in, NULL, 1, 1),
                 TS_OK);
    cr_assert_eq(ts_test_table_at(&run, "mean", 0), 2);
    cr_assert_eq(ts_test_table_at(&run, "standard_deviation", 1), 5);
    ts_test_run_clear(&run);
    free(in.data);
}

TEST_ON_BOTH(rescale, numbers_that_are_none_count_nowhere)
{
    struct ts_image in = ts_test_image(1, 1, 6, TS_F32, VALUES_CONSTANT, 1);
    const float values[] = {NAN, 0, 5, 10, INFINITY, -INFINITY};
    struct stage_run run;
    for (int i = 0; i < 6; i++)
        ((float *)in.data)[i] = values[i];
    static const char *const ways[] = {"",
                                       "method=percentiles low_percentile=0 high_percentile=100"};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(ts_test_run(&run, &rescale_stage, ways[i], &in, NULL, 0, 1), TS_OK);
        const float *out = run.out.data;
        cr_assert(isnan(out[0]));
        cr_assert(out[1] == 0 && out[2] == 0.5f && out[3] == 1 && out[4] == 1 && out[5] == 0);
        ts_test_run_clear(&run);
    }
    free(in.data);
}

Test(rescale, refuses_what_contradicts_itself)
{
    ts_test_refused(&rescale_stage, "range=1,2,3", TS_U8, false, "range-length");
    ts_test_refused(&rescale_stage, "range=2,1", TS_U8, false, "range-order");
    ts_test_refused(&rescale_stage, "limits=dtype", TS_F32, false, "limits-of-float");
    ts_test_refused(&rescale_stage, "method=z-score range=1,2", TS_U8, false, "range-unused");
    ts_test_refused(&rescale_stage, "method=z-score dtype=u8", TS_U8, false, "z-score-of-integer");
    ts_test_refused(&rescale_stage, "method=z-score out_high=3", TS_U8, false, "z-score-range");
    ts_test_refused(&rescale_stage, "method=percentiles low_percentile=98 high_percentile=2", TS_U8,
                    false, "range-order");
    ts_test_refused(&rescale_stage, "out_low=1", TS_U8, false, "range-order");
    ts_test_refused(&rescale_stage, "dtype=u8 out_low=-1", TS_U8, false, "range-of-dtype");
    ts_test_refused(&rescale_stage, "quantity=transmission", TS_U16, false, "quantity-range");
    ts_test_refused(&rescale_stage, "quantity=line_integral method=percentiles", TS_F32, false,
                    "quantity-range");
    ts_test_refused(&rescale_stage, "quantity=line_integral method=z-score", TS_F32, false,
                    "quantity-range");
    ts_test_refused(&rescale_stage, "quantity=transmission range=0,9 dtype=u8", TS_F32, false,
                    "quantity-dtype");
}

/* Transmissions from 0 to 1 that were stored as 0 to 65535, on the way to their line integrals. */
TEST_ON_BOTH(rescale, says_what_stored_numbers_are)
{
    struct ts_image in = ts_test_image(2, 3, 4, TS_U16, VALUES_RANDOM, 1);
    struct stage_run run, line;
    for (int i = 0; i < 24; i++)
        ((uint16_t *)in.data)[i] = (uint16_t)(2000 * i + 9);
    in.quantity = TS_TRANSMISSION;
    ts_test_refuses(&minus_log_stage, "", &in, NULL, "stage-dtype", "and `quantity: transmission`");
    in.quantity = TS_COUNTS;
    cr_assert_eq(
        ts_test_run(&run, &rescale_stage, "range=0,65535 quantity=transmission", &in, NULL, 0, 1),
        TS_OK);
    cr_assert_eq(run.out.quantity, TS_TRANSMISSION);
    cr_assert_eq(ts_test_run(&line, &minus_log_stage, "", &run.out, NULL, 0, 1), TS_OK);
    for (int i = 0; i < 24; i++)
        cr_assert_float_eq(((const float *)line.out.data)[i], (float)-log((2000 * i + 9) / 65535.0),
                           1e-6);
    ts_test_run_clear(&line);
    ts_test_run_clear(&run);
    free(in.data);
}

static void compare_with_skimage(const char *file, double low, double high)
{
    size_t n;
    double *values = ts_test_read_hdf5(file, "input", &n);
    double *expected = ts_test_read_hdf5(file, "rescale_intensity_2_98", &n);
    struct ts_image in = ts_test_image(1, 152, 152, TS_F32, VALUES_CONSTANT, 1);
    cr_assert_eq(ts_image_count(&in), n);
    for (size_t i = 0; i < n; i++)
        ((float *)in.data)[i] = (float)values[i];
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &rescale_stage, "method=percentiles", &in, NULL, 0, 1), TS_OK);
    cr_assert_eq(ts_test_table_at(&run, "low", 0), low);
    cr_assert_eq(ts_test_table_at(&run, "high", 0), high);
    for (size_t i = 0; i < n; i++)
        cr_assert(fabs((double)((const float *)run.out.data)[i] - expected[i]) <= 1.2e-7,
                  "%s: element %zu is %.9g, expected %.9g", file, i,
                  (double)((const float *)run.out.data)[i], expected[i]);
    ts_test_run_clear(&run);
    free(in.data);
    free(values);
    free(expected);
}

Test(rescale, agrees_with_skimage_on_ct_and_mr)
{
    SKIP_WITHOUT_DATA("rescale/agrees_with_skimage_on_ct_and_mr");
    compare_with_skimage("reference/generated/filters_ct_ge_head.h5", 9, 39);
    compare_with_skimage("reference/generated/filters_mr_sts001.h5", 44, 995);
}
