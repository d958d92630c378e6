/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/intensity/window.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/stages/intensity/window_oracle.h"
#include "tests/support/stage_run.h"

TestSuite(window);

TEST_ON_BOTH(window, agrees_with_dicom)
{
    const struct stage_case cases[] = {
        {.assignments = "center=40 width=400"},
        {.assignments = "center=40 width=400", .values = VALUES_CT},
        {.assignments = "center=40 width=400 dtype=u8", .values = VALUES_CT},
        {.assignments = "center=7 width=1"},
        {.assignments = "center=7.5 width=1 dtype=u16", .values = VALUES_CONSTANT},
        {.assignments = "low=-160 high=239 out_low=-3 out_high=5", .values = VALUES_CT},
        {.assignments = "low=-160 high=240 function=linear-exact dtype=u16", .values = VALUES_CT},
        {.assignments = "center=100 width=0.3 function=linear-exact", .values = VALUES_RANDOM},
        {.assignments = "center=600 width=2000 function=sigmoid", .values = VALUES_CT},
        {.assignments = "center=-10 width=77 function=sigmoid dtype=u8 out_low=10 out_high=20",
         .values = VALUES_CT},
        {.assignments = "center=0 width=5e9", .values = VALUES_EXTREME},
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_stage_check(&window_stage, ts_window_oracle, cases, n), 8 * 7 * n);
}

/* Large enough for the tables that a CUDA device makes of 16-bit images; a single slice is not. */
TEST_ON_BOTH(window, large_images_of_16_bits_agree_with_dicom)
{
    const unsigned dtypes = TS_DTYPE_BIT(TS_U16) | TS_DTYPE_BIT(TS_I16);
    const struct stage_case cases[] = {
        {"center=600 width=2000 function=sigmoid dtype=u8", 2, 1024, 1031, .dtypes = dtypes,
         .values = VALUES_CT},
        {"center=600 width=2000 function=sigmoid dtype=u16", 2, 1024, 1031, .dtypes = dtypes},
        {"center=600 width=2000 function=sigmoid", 2, 1024, 1031, .dtypes = dtypes,
         .values = VALUES_CT},
        {"center=40 width=400 dtype=u8", 2, 1024, 1031, .dtypes = dtypes, .values = VALUES_CT},
    };
    cr_assert_eq(ts_stage_check(&window_stage, ts_window_oracle, cases, 4), 2 * 4);
}

/* The examples of PS3.3 C.11.2.1.2.1: output 0 to 255, c = 2048 w = 4096, and c = 2048 w = 1. */
TEST_ON_BOTH(window, the_examples_of_the_standard)
{
    struct ts_image in = ts_test_image(1, 1, 6, TS_I16, VALUES_CONSTANT, 1);
    const int16_t values[] = {-1, 0, 1, 2047, 2048, 4095};
    for (int i = 0; i < 6; i++)
        ((int16_t *)in.data)[i] = values[i];
    struct stage_run run;
    cr_assert_eq(
        ts_test_run(&run, &window_stage, "center=2048 width=4096 out_high=255", &in, NULL, 0, 1),
        TS_OK);
    const float *out = run.out.data;
    cr_assert_eq(out[0], 0);
    cr_assert_eq(out[1], 0);
    cr_assert_eq(out[2], (float)(((1 - 2047.5) / 4095 + 0.5) * 255));
    cr_assert_eq(out[5], 255);
    ts_test_run_clear(&run);
    cr_assert_eq(
        ts_test_run(&run, &window_stage, "center=2048 width=1 out_high=255", &in, NULL, 0, 1),
        TS_OK);
    out = run.out.data;
    cr_assert_eq(out[3], 0);
    cr_assert_eq(out[4], 255);
    ts_test_run_clear(&run);
    free(in.data);
}

static void expect_params(const char *assignments, double center, double width, double low,
                          double high)
{
    struct ts_image in = ts_test_image(1, 2, 2, TS_I16, VALUES_CT, 1);
    in.quantity = TS_HU;
    in.unit = "HU";
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &window_stage, assignments, &in, NULL, 0, 1), TS_OK, "%s",
                 assignments);
    const struct window_params *params = run.set.values;
    cr_assert(params->center == center && params->width == width && params->low == low &&
                  params->high == high,
              "%s: center %g width %g low %g high %g", assignments, params->center, params->width,
              params->low, params->high);
    cr_assert_eq(run.out.quantity, TS_INTENSITY);
    ts_test_run_clear(&run);
    free(in.data);
}

Test(window, either_pair_gives_the_other)
{
    expect_params("center=40 width=400", 40, 400, -160, 239);
    expect_params("low=-160 high=239 unit=HU", 40, 400, -160, 239);
    expect_params("center=40 width=400 function=linear-exact", 40, 400, -160, 240);
    expect_params("low=-160 high=240 function=sigmoid", 40, 400, -160, 240);
    expect_params("center=40 width=400 low=-160 high=239", 40, 400, -160, 239);
    expect_params("center=0.4 width=0.6 low=0.1 high=0.7 function=linear-exact", 0.4, 0.6, 0.1,
                  0.7);
}

Test(window, refuses_what_is_no_window)
{
    ts_test_refused(&window_stage, "", TS_I16, false, "window-bounds");
    ts_test_refused(&window_stage, "center=40", TS_I16, false, "window-bounds");
    ts_test_refused(&window_stage, "center=40 high=1", TS_I16, false, "window-bounds");
    ts_test_refused(&window_stage, "center=40 width=400 low=0 high=1", TS_I16, false,
                    "window-bounds");
    ts_test_refused(&window_stage, "center=40 width=0.5", TS_I16, false, "window-width");
    ts_test_refused(&window_stage, "low=5 high=4", TS_I16, false, "window-width");
    ts_test_refused(&window_stage, "low=5 high=5 function=sigmoid", TS_I16, false, "window-width");
    ts_test_refused(&window_stage, "center=40 width=400 unit=HU", TS_I16, false, "window-unit");
    ts_test_refused(&window_stage, "center=4 width=4 out_low=2", TS_I16, false, "range-order");
    ts_test_refused(&window_stage, "center=4 width=4 out_high=256 dtype=u8", TS_I16, false,
                    "range-of-dtype");
}
