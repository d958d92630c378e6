/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/grid/reorient.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/grid/moves_oracle.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(reorient);

TEST_ON_BOTH(reorient, agrees_with_the_definition)
{
    const struct stage_case cases[] = {
        {.assignments = "to=LPS"},
        {.assignments = "to=RAS"},
        {.assignments = "to=LPI"},
        {.assignments = "to=PLS"},
        {.assignments = "to=AIR"},
        {.assignments = "to=SLA"},
        {.assignments = "to=IPR",
         .dtypes = TS_DTYPE_BIT(TS_U8) | TS_DTYPE_BIT(TS_I16) | TS_DTYPE_BIT(TS_F32)},
        {.assignments = "to=LSA", .nz = 33, .ny = 64, .nx = 65, .values = VALUES_EXTREME},
        {.assignments = "to=SPL", .nz = 64, .ny = 3, .nx = 33, .dtypes = TS_DTYPE_BIT(TS_U16)},
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_stage_check(&reorient_stage, ts_reorient_oracle, cases, n),
                 8 * 7 * 6 + 8 * 3 + 7 + 1);
}

/* Returns the side to which an axis rises most, as a letter. */
static char letter_of(const double unit[3])
{
    int p = 0;
    for (int i = 1; i < 3; i++)
        p = fabs(unit[i]) > fabs(unit[p]) ? i : p;
    return unit[p] > 0 ? "LPS"[p] : "RAI"[p];
}

/* Turns the directions of an image about the z axis of the patient and then about its x axis, and
 * moves its origin. */
static void turn(struct ts_image *image, double about_z, double about_x)
{
    const double c = cos(about_z), s = sin(about_z), cx = cos(about_x), sx = sin(about_x);
    const double direction[9] = {c, s * cx, s * sx, -s, c * cx, c * sx, 0, -sx, cx};
    memcpy(image->direction, direction, sizeof direction);
    for (int i = 0; i < 3; i++) {
        image->step_z_mm[i] = image->axes[0].spacing * direction[6 + i];
        image->origin_mm[i] = 10 * i - 7;
    }
}

/* All 48 orders, of a volume whose axes lie at up to 30 degrees to those of the patient. */
TEST_ON_BOTH(reorient, gives_every_order_and_keeps_positions)
{
    static const char *const sides[3] = {"LR", "PA", "SI"};
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct ts_image in = ts_test_image(3, 4, 5, TS_F32, VALUES_RANDOM, 3);
    double values[60], expected[60];
    turn(&in, 0.4, -0.5);
    ts_load_f64(values, in.data, in.dtype, 60);
    for (int order = 0; order < 6; order++)
        for (int signs = 0; signs < 8; signs++) {
            char text[8] = "to=";
            struct stage_run run;
            for (int k = 0; k < 3; k++)
                text[3 + k] = sides[orders[order][k]][signs >> k & 1];
            cr_assert_eq(ts_test_run(&run, &reorient_stage, text, &in, NULL, 0, 2), TS_OK);
            for (int k = 0; k < 3; k++)
                cr_expect_eq(letter_of(run.out.direction + 3 * k), text[3 + k], "%s", text);
            ts_reorient_oracle(&run.context, values, expected);
            for (int i = 0; i < 60; i++)
                cr_assert(((float *)run.out.data)[i] == (float)expected[i], "%s", text);
            ts_test_run_clear(&run);
        }
    free(in.data);
}

/* RAS of a common CT: x and y are reversed. */
Test(reorient, moves_the_origin_and_negates_positions)
{
    struct ts_image in = ts_test_image(2, 3, 4, TS_U8, VALUES_RANDOM, 1);
    const double direction[9] = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
    struct stage_run run;
    in.axes[2].first = 10;
    cr_assert_eq(ts_test_run(&run, &reorient_stage, "to=RAS", &in, NULL, 0, 1), TS_OK);
    cr_expect(!memcmp(run.out.direction, direction, sizeof direction));
    cr_expect_float_eq(run.out.origin_mm[0], 1.5, 1e-12);
    cr_expect_float_eq(run.out.origin_mm[1], 1.4, 1e-12);
    cr_expect_eq(run.out.origin_mm[2], 0);
    cr_expect_float_eq(run.out.axes[2].first, -11.5, 1e-12);
    cr_expect(run.out.axes[2].spacing == 0.5 && run.out.step_z_mm[2] == 2);
    ts_test_run_clear(&run);
    free(in.data);
}

/* LAS makes a left-handed volume of an LPS one, which comes back to the bit. */
Test(reorient, stores_left_handed_volumes)
{
    struct ts_image in = ts_test_image(2, 3, 4, TS_I16, VALUES_RANDOM, 5);
    const struct ts_image there = ts_test_output(&reorient_stage, "to=LAS", &in);
    const double *x = there.direction, *y = there.direction + 3, *z = there.direction + 6;
    cr_expect_lt(z[2] * (x[0] * y[1] - x[1] * y[0]), 0);
    const struct ts_image back = ts_test_output(&reorient_stage, "to=LPS", &there);
    cr_expect(!memcmp(back.data, in.data, ts_image_bytes(&in)));
    cr_expect(!memcmp(back.direction, in.direction, sizeof in.direction));
    free(there.data);
    free(back.data);
    free(in.data);
}

/* Slices that stay slices keep their askew step; others would have none. */
Test(reorient, refuses_askew_slices_only_where_other_slices_are_made)
{
    struct ts_image in = ts_test_image(3, 4, 5, TS_U8, VALUES_RANDOM, 1);
    double values[60], expected[60];
    struct stage_run run;
    in.step_z_mm[1] = 0.4;
    ts_load_f64(values, in.data, in.dtype, 60);
    cr_assert_eq(ts_test_run(&run, &reorient_stage, "to=ARI", &in, NULL, 0, 1), TS_OK);
    ts_reorient_oracle(&run.context, values, expected);
    for (int i = 0; i < 60; i++)
        cr_assert_eq(((uint8_t *)run.out.data)[i], expected[i]);
    cr_expect(run.out.step_z_mm[1] == -0.4 && run.out.step_z_mm[2] == -2 &&
              run.out.direction[8] == -1);
    ts_test_run_clear(&run);
    ts_test_refuses(&reorient_stage, "to=SAR", &in, NULL, "reorient-shear", "unshear");
    free(in.data);
}

/* The bound is the one of every stage, TS_UPRIGHT_DEGREE. Below it a warning says how far off
 * positions are, where that is more than a hundredth of a pixel. */
Test(reorient, takes_slices_that_count_as_upright)
{
    static const struct {
        double degree;
        bool taken, warned;
    } cases[] = {{0.003, true, false}, {0.0499, true, true}, {0.0501, false, false}};
    struct ts_image in = ts_test_image(30, 4, 5, TS_U8, VALUES_RANDOM, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stage_run run;
        in.step_z_mm[1] = in.step_z_mm[2] * tan(cases[i].degree * M_PI / 180);
        cr_expect_eq(ts_test_run(&run, &reorient_stage, "to=SAR", &in, NULL, 0, 1) == TS_OK,
                     cases[i].taken);
        cr_expect_eq(ts_test_record(run.diag, "reorient-shear") != NULL,
                     cases[i].warned || !cases[i].taken);
        ts_test_run_clear(&run);
    }
    free(in.data);
}

Test(reorient, refuses_what_has_no_orientation)
{
    const double positions[] = {0, 1, 3};
    struct ts_image in = ts_test_image(2, 3, 4, TS_U8, VALUES_CONSTANT, 1);
    ts_test_refuses(&reorient_stage, "to=RAL", &in, NULL, "reorient-letters", "such as RAS");
    ts_test_refuses(&reorient_stage, "to=RA", &in, NULL, "reorient-letters", "'RA'");
    ts_test_refuses(&reorient_stage, "to=ras", &in, NULL, "reorient-letters", "'ras'");
    in.axes[1].positions = positions;
    ts_test_refuses(&reorient_stage, "to=RAS", &in, NULL, "axis-uneven", "along y");
    in.has_geometry = false;
    ts_test_refuses(&reorient_stage, "to=RAS", &in, NULL, "reorient-geometry", "");
    free(in.data);
}
