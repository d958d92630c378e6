/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/intensity/to_hu.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/values/point_map.h"
#include "tests/stages/intensity/to_hu_oracle.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(to_hu);

static struct ts_image attenuation(int64_t nz, int64_t ny, int64_t nx)
{
    struct ts_image image = ts_test_image(nz, ny, nx, TS_F32, VALUES_CONSTANT, 1);
    uint64_t seed = 3;
    image.quantity = TS_ATTENUATION;
    image.unit = "1/mm";
    for (size_t i = 0; i < ts_image_count(&image); i++)
        ((float *)image.data)[i] = (float)(0.06 * ts_random_unit(&seed) - 0.005);
    return image;
}

/* ts_stage_check's images have unit 1; these are in 1/mm. */
TEST_ON_BOTH(to_hu, agrees_with_the_definition)
{
    static const int64_t shapes[][3] = {
        {1, 1, 1}, {2, 1, 37}, {3, 41, 1}, {5, 7, 11}, {2, 130, 259}};
    static const char *const cases[] = {"water=0.0206", "water=0.0171", "water=0.35", "water=1e-4"};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            struct ts_image in = attenuation(shapes[s][0], shapes[s][1], shapes[s][2]);
            const size_t n = ts_image_count(&in);
            double *values = malloc(n * sizeof *values), *expected = malloc(n * sizeof *expected);
            struct stage_run run;
            ts_load_f64(values, in.data, TS_F32, n);
            cr_assert_eq(ts_test_run(&run, &to_hu_stage, cases[c], &in, NULL, 1, 2), TS_OK);
            ts_to_hu_oracle(&run.context, values, expected);
            for (size_t i = 0; i < n; i++) {
                const double is = (double)((float *)run.out.data)[i];
                cr_assert(fabs(is - expected[i]) <= 6e-8 * fabs(expected[i]) + 1e-9,
                          "%g, expected %g", is, expected[i]);
            }
            cr_assert_eq(run.out.quantity, TS_HU);
            cr_assert_str_eq(run.out.unit, "HU");
            ts_test_run_clear(&run);
            free(values);
            free(expected);
            free(in.data);
        }
}

TEST_ON_BOTH(to_hu, water_is_0_and_vacuum_is_1000_below)
{
    struct ts_image in = attenuation(1, 1, 5);
    const float values[] = {0, 0.02f, 0.04f, NAN, -0.02f};
    struct stage_run run;
    memcpy(in.data, values, sizeof values);
    cr_assert_eq(
        ts_test_run(&run, &to_hu_stage, "water=0.0199999995529651641845703125", &in, NULL, 0, 1),
        TS_OK);
    const float *out = run.out.data;
    cr_assert(out[0] == -1000 && out[1] == 0 && out[2] == 1000 && isnan(out[3]) && out[4] == -2000);
    ts_test_run_clear(&run);
    free(in.data);
}

Test(to_hu, refuses_what_is_no_attenuation_in_1_mm)
{
    struct ts_image in = attenuation(1, 2, 3);
    in.unit = "1/cm";
    ts_test_refuses(&to_hu_stage, "water=0.02", &in, NULL, "attenuation-unit", "in mm");
    in.unit = "1/pixel";
    ts_test_refuses(&to_hu_stage, "water=0.02", &in, NULL, "attenuation-unit", "in mm");
    in.unit = "HU";
    in.quantity = TS_HU;
    ts_test_refuses(&to_hu_stage, "water=0.02", &in, NULL, "stage-quantity", "in HU already");
    in.quantity = TS_INTENSITY;
    ts_test_refuses(&to_hu_stage, "water=0.02", &in, NULL, "stage-quantity",
                    "quantity: attenuation");
    in.quantity =
        TS_LINE_INTEGRAL; /* a volume of these is no scan, of which something could be made */
    ts_test_refuses(&to_hu_stage, "water=0.02", &in, NULL, "stage-quantity",
                    "it takes attenuation");
    in.axes[1].kind = TS_AXIS_VIEW;
    in.axes[2].kind = TS_AXIS_DETECTOR;
    ts_test_refuses(&to_hu_stage, "water=0.02", &in, NULL, "stage-axes", "`fbp`");
    in.quantity = TS_TRANSMISSION;
    ts_test_refuses(&to_hu_stage, "water=0.02", &in, NULL, "stage-axes", "`minus_log`");
    in.quantity = TS_COUNTS;
    ts_test_refuses(&to_hu_stage, "water=0.02", &in, NULL, "stage-axes", "`flat_field`");
    free(in.data);
}
