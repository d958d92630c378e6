/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/denoising/bilateral.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/denoising/bilateral_oracle.h"
#include "tests/support/stage_run.h"

TestSuite(bilateral);

TEST_ON_BOTH(bilateral, agrees_with_the_definition_in_2d)
{
    static const struct stage_case cases[] = {
        {.assignments = "sigma_color=200"},
        {.assignments = "sigma_color=2000", .values = VALUES_CT},
        {.assignments = "sigma_color=30 border=mirror radius=1", .values = VALUES_EXTREME},
        {.assignments = "sigma_color=1e6 border=nearest sigma_spatial=0.7",
         .values = VALUES_EXTREME},
        {.assignments = "sigma_color=1e-9 border=wrap"},
        {.assignments = "sigma_color=1e-9 border=constant"},
        {.assignments = "sigma_color=300 border=constant constant=7 sigma_spatial=1.5",
         .nz = 2,
         .ny = 37,
         .nx = 132},
        {.assignments = "sigma_color=300 sigma_spatial=4",
         .nz = 2,
         .ny = 9,
         .nx = 132,
         .values = VALUES_CT},
        {.assignments = "sigma_color=1000 sigma_spatial=20 radius=30",
         .nz = 1,
         .ny = 7,
         .nx = 70,
         .values = VALUES_CT,
         .dtypes = TS_DTYPE_BIT(TS_F32) | TS_DTYPE_BIT(TS_U16)},
    };
    cr_assert_geq(
        ts_stage_check(&bilateral_stage, ts_bilateral_oracle, cases, sizeof cases / sizeof *cases),
        6 * 8 * 7);
}

TEST_ON_BOTH(bilateral, agrees_with_the_definition_in_3d)
{
    static const struct stage_case cases[] = {
        {.assignments = "sigma_color=300 dimensions=3d"},
        {.assignments = "sigma_color=300 dimensions=3d border=constant",
         .nz = 3,
         .ny = 14,
         .nx = 33},
        {.assignments = "sigma_color=100 dimensions=3d radius=1 border=mirror",
         .values = VALUES_CT},
        {.assignments = "sigma_color=500 dimensions=3d radius=3 border=wrap",
         .nz = 5,
         .ny = 20,
         .nx = 40},
        {.assignments = "sigma_color=500 dimensions=3d radius=8 border=nearest",
         .nz = 3,
         .ny = 9,
         .nx = 21},
    };
    cr_assert_geq(
        ts_stage_check(&bilateral_stage, ts_bilateral_oracle, cases, sizeof cases / sizeof *cases),
        2 * 8 * 7);
}

/* The weights are 1/2 for values 1 apart, 1/16 for 2 and 1/512 for 3, whatever the distance. */
TEST_ON_BOTH(bilateral, weighs_differences_and_leaves_out_what_is_no_number)
{
    const float values[] = {0, 1, 3, NAN, 1, -INFINITY, 4};
    const double one = 0.5, two = 1.0 / 16, three = 1.0 / 512;
    /* Border nearest repeats the ends: 0 counts three times for the first value, 4 for the last. */
    const double expected[] = {(one + 3 * three) / (3 + one + three),
                               (1 + 3 * two) / (2 * one + 1 + two),
                               (two + 3 + two) / (three + two + 1 + two),
                               NAN,
                               (1 + 3 * two + 4 * three) / (1 + two + three),
                               -INFINITY,
                               (12 + three) / (3 + three)};
    char parameters[120];
    snprintf(parameters, sizeof parameters,
             "sigma_color=%.17g sigma_spatial=1e6 radius=2 border=nearest", sqrt(0.5 / log(2)));
    struct ts_image in = ts_test_image(1, 1, 7, TS_F32, VALUES_CONSTANT, 1);
    memcpy(in.data, values, sizeof values);
    struct ts_image out = ts_test_output(&bilateral_stage, parameters, &in);
    for (int i = 0; i < 7; i++) {
        const double value = (double)((const float *)out.data)[i], is = expected[i];
        cr_assert(isfinite(is) ? fabs(value - is) < 1e-5
                  : isnan(is)  ? isnan(value)
                               : value == is,
                  "%d is %g", i, value);
    }
    free(in.data);
    free(out.data);
}

/* With weights of distance only, one bright pixel spreads as these weights, alike to all sides. */
TEST_ON_BOTH(bilateral, spreads_one_bright_pixel_evenly)
{
    struct ts_image in = ts_test_image(1, 9, 9, TS_F32, VALUES_CONSTANT, 1);
    double sum = 0;
    memset(in.data, 0, ts_image_bytes(&in));
    ((float *)in.data)[4 * 9 + 4] = 1;
    struct ts_image out = ts_test_output(
        &bilateral_stage, "sigma_color=1000000 sigma_spatial=1.3 radius=2 border=nearest", &in);
    for (int y = -2; y <= 2; y++)
        for (int x = -2; x <= 2; x++)
            sum += exp(-(x * x + y * y) / (2 * 1.3 * 1.3));
    for (int y = -4; y <= 4; y++)
        for (int x = -4; x <= 4; x++) {
            const bool inside = abs(x) <= 2 && abs(y) <= 2;
            const double expected = inside ? exp(-(x * x + y * y) / (2 * 1.3 * 1.3)) / sum : 0;
            const double value = (double)((const float *)out.data)[(y + 4) * 9 + x + 4];
            cr_expect(fabs(value - expected) <= 1e-6, "(%d, %d) is %g, not %g", x, y, value,
                      expected);
        }
    free(in.data);
    free(out.data);
}

Test(bilateral, refuses_what_does_not_fit)
{
    ts_test_refused(&bilateral_stage, "sigma_color=1 border=constant constant=-1", TS_U8, false,
                    "value-range");
    ts_test_refused(&bilateral_stage, "sigma_color=1 border=mirror constant=1", TS_F32, false,
                    "parameter-unused");
    ts_test_refused(&bilateral_stage, "sigma_color=1 sigma_spatial=10.1", TS_F32, false,
                    "sigma-radius");
    ts_test_refused(&bilateral_stage, "sigma_color=0", TS_F32, false, "parameter-range");
}
