/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/filters/median.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/filters/median_oracle.h"
#include "tests/support/stage_run.h"

TestSuite(median);

TEST_ON_BOTH(median, agrees_with_the_definition_in_2d)
{
    static const struct stage_case cases[] = {
        {.assignments = ""},
        {.assignments = "method=histogram"},
        {.assignments = "radius=1 border=mirror",
         .values = VALUES_EXTREME,
         .nz = 2,
         .ny = 37,
         .nx = 132},
        {.assignments = "radius=3 border=constant",
         .values = VALUES_EXTREME,
         .nz = 2,
         .ny = 37,
         .nx = 132},
        {.assignments = "radius=2 border=mirror", .values = VALUES_EXTREME},
        {.assignments = "radius=2 border=mirror method=histogram", .values = VALUES_EXTREME},
        {.assignments = "radius=1 border=nearest", .values = VALUES_CONSTANT},
        {.assignments = "radius=3 border=wrap", .values = VALUES_CT},
        {.assignments = "radius=3 border=wrap method=histogram", .values = VALUES_CT},
        {.assignments = "radius=4 border=constant constant=7"},
        {.assignments = "radius=7", .nz = 2, .ny = 37, .nx = 70},
        {.assignments = "radius=7 border=constant",
         .nz = 2,
         .ny = 13,
         .nx = 40,
         .values = VALUES_CT},
        {.assignments = "radius=1 border=constant constant=7", .nz = 2, .ny = 70, .nx = 133},
    };
    cr_assert_geq(
        ts_stage_check(&median_stage, ts_median_oracle, cases, sizeof cases / sizeof *cases),
        8 * 8 * 7);
}

TEST_ON_BOTH(median, agrees_with_the_definition_in_3d)
{
    static const struct stage_case cases[] = {
        {.assignments = "dimensions=3d"},
        {.assignments = "dimensions=3d method=histogram border=constant constant=3"},
        {.assignments = "dimensions=3d border=wrap", .values = VALUES_EXTREME},
        {.assignments = "dimensions=3d radius=2 border=nearest", .values = VALUES_CT},
        {.assignments = "dimensions=3d radius=4 border=mirror", .nz = 3, .ny = 11, .nx = 35},
        {.assignments = "dimensions=3d radius=7", .nz = 4, .ny = 9, .nx = 21},
    };
    cr_assert_geq(
        ts_stage_check(&median_stage, ts_median_oracle, cases, sizeof cases / sizeof *cases),
        4 * 8 * 7);
}

/* The middle of 3 x 3 values, of which border nearest makes three equal rows: the median of each
 * value and its two neighbors. A NaN counts as the largest value; two of them in a window of three
 * are its median. */
TEST_ON_BOTH(median, is_the_middle_value_and_nan_the_largest)
{
    const float values[] = {1, 5, 2, 0, 3, NAN, -4, NAN, NAN},
                expected[] = {1, 2, 2, 2, 3, 3, NAN, NAN, NAN};
    static const char *const methods[] = {"border=nearest", "border=nearest method=histogram"};
    for (int m = 0; m < 2; m++) {
        struct ts_image in = ts_test_image(1, 1, 9, TS_F32, VALUES_CONSTANT, 1);
        struct stage_run run;
        memcpy(in.data, values, sizeof values);
        cr_assert_eq(ts_test_run(&run, &median_stage, methods[m], &in, NULL, 0, 1), TS_OK);
        for (int i = 0; i < 9; i++) {
            const float value = ((const float *)run.out.data)[i];
            cr_assert(isnan(expected[i]) ? isnan(value) : value == expected[i], "value %d is %g", i,
                      (double)value);
        }
        ts_test_run_clear(&run);
        free(in.data);
    }
}

/* -0 orders below 0, and both keep their bits, whether floats are compared as floats or as keys. */
TEST_ON_BOTH(median, orders_zeros_by_their_sign)
{
    const float values[] = {0, -0.0F, -0.0F, 0, 0, -0.0F, 0, -0.0F, INFINITY};
    const float expected[] = {0, -0.0F, -0.0F, 0, 0, 0, -0.0F, 0, INFINITY};
    for (int n = 8; n <= 9; n++) {
        struct ts_image in = ts_test_image(1, 1, n, TS_F32, VALUES_CONSTANT, 1);
        struct stage_run run;
        memcpy(in.data, values, (size_t)n * sizeof *values);
        cr_assert_eq(ts_test_run(&run, &median_stage, "border=nearest", &in, NULL, 0, 1), TS_OK);
        cr_assert_arr_eq(run.out.data, expected, 7 * sizeof *expected);
        ts_test_run_clear(&run);
        free(in.data);
    }
}

Test(median, refuses_what_does_not_fit)
{
    ts_test_refused(&median_stage, "border=constant constant=-1", TS_U8, false, "value-range");
    ts_test_refused(&median_stage, "border=mirror constant=1", TS_F32, false, "parameter-unused");
    ts_test_refused(&median_stage, "radius=4 method=network", TS_F32, false, "median-window");
    ts_test_refused(&median_stage, "radius=2 dimensions=3d method=network", TS_F32, false,
                    "median-window");
}
