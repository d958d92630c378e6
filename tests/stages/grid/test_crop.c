/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/grid/crop.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/stages/grid/moves_oracle.h"
#include "tests/support/stage_run.h"

TestSuite(crop);

TEST_ON_BOTH(crop, agrees_with_the_definition)
{
    const struct stage_case cases[] = {
        {.assignments = ""},
        {.assignments = "x=3,5 y=0,7 z=2,5", .nz = 6, .ny = 7, .nx = 11},
        {.assignments = "x=1,129", .nz = 2, .ny = 5, .nx = 131},
        {.assignments = "y=30,31 z=3,4", .nz = 4, .ny = 67, .nx = 300},
        {.assignments = "unit=mm x=2.5,14 z=0,6.1", .nz = 5, .ny = 3, .nx = 40},
        {.assignments = "z=4,9", .nz = 9, .ny = 1, .nx = 1, .values = VALUES_EXTREME},
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_stage_check(&crop_stage, ts_crop_oracle, cases, n), 8 * 7 + 7 * (n - 1));
}

/* The spacing of the test's image is 2, 0.7 and 0.5 mm along z, y and x. */
Test(crop, moves_the_origin_and_the_positions)
{
    const double positions[] = {0, 1, 3, 6, 10};
    struct ts_image in = ts_test_image(5, 8, 9, TS_I16, VALUES_RANDOM, 1);
    struct stage_run run;
    in.origin_mm[0] = -100;
    in.axes[2].first = -2;
    in.axes[0].positions = positions;
    cr_assert_eq(ts_test_run(&run, &crop_stage, "x=2,6 y=1,3 z=3,5", &in, NULL, 0, 1), TS_OK);
    cr_expect(run.out.axes[0].n == 2 && run.out.axes[1].n == 2 && run.out.axes[2].n == 4);
    cr_expect_float_eq(run.out.origin_mm[0], -99, 1e-12);
    cr_expect_float_eq(run.out.origin_mm[1], 0.7, 1e-12);
    cr_expect_float_eq(run.out.origin_mm[2], 6, 1e-12);
    cr_expect_float_eq(run.out.axes[2].first, -1, 1e-12);
    cr_expect_float_eq(run.out.axes[1].first, 0.7, 1e-12);
    cr_expect(run.out.axes[0].positions == positions + 3);
    cr_expect_eq(((int16_t *)run.out.data)[0], ((int16_t *)in.data)[(3 * 8 + 1) * 9 + 2]);
    ts_test_run_clear(&run);
    free(in.data);
}

/* A pixel whose center lies on an end of the range stays: 0.7 * 3 is not 2.1 to the last bit. y
 * falls with the row. */
Test(crop, keeps_centers_on_the_ends_of_a_range_in_mm)
{
    struct ts_image in = ts_test_image(2, 8, 9, TS_U8, VALUES_RANDOM, 1);
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &crop_stage, "unit=mm y=-4.2,-2.1 x=0.2,0.9", &in, NULL, 0, 1),
                 TS_OK);
    cr_expect(run.out.axes[1].n == 4 && run.out.axes[2].n == 1);
    cr_expect_float_eq(run.out.axes[1].first, 2.1, 1e-12);
    ts_test_run_clear(&run);
    free(in.data);
}

/* Positions as the output file has them: of LPS, whatever the order of the pixels. */
Test(crop, takes_positions_in_the_patient)
{
    struct ts_image in = ts_test_image(2, 8, 9, TS_U8, VALUES_RANDOM, 1);
    struct stage_run run;
    in.has_geometry = true;
    memcpy(in.origin_mm, (double[3]){10, -20, 30}, sizeof in.origin_mm);
    memcpy(in.direction, (double[9]){-1, 0, 0, 0, 0, -1, 0, -1, 0}, sizeof in.direction);
    const double x = in.axes[2].spacing, y = in.axes[1].spacing;
    char range[160];
    snprintf(range, sizeof range, "unit=patient x=%.17g,%.17g y=%.17g,%.17g", 10 - 3 * x,
             10 - 1.5 * x, 30 - 6 * y, 30 - 2 * y);
    cr_assert_eq(ts_test_run(&run, &crop_stage, range, &in, NULL, 0, 1), TS_OK);
    cr_expect(run.out.axes[2].n == 2 && run.out.axes[1].n == 5 && run.out.axes[0].n == 2);
    cr_expect_float_eq(run.out.origin_mm[0], 10 - 2 * x, 1e-12);
    cr_expect_float_eq(run.out.origin_mm[2], 30 - 2 * y, 1e-12);
    ts_test_run_clear(&run);
    ts_test_refuses(&crop_stage, "unit=patient x=0,1", &in, NULL, "crop-range", "from 10 to");
    in.has_geometry = false;
    ts_test_refuses(&crop_stage, "unit=patient x=0,1", &in, NULL, "crop-unit", "no place");
    ts_test_refuses(&crop_stage, "unit=patient above=3", &in, NULL, "crop-unit", "no place");
    free(in.data);
}

Test(crop, refuses_what_is_no_box)
{
    struct ts_image in = ts_test_image(2, 3, 4, TS_U8, VALUES_CONSTANT, 1);
    ts_test_refuses(&crop_stage, "x=1", &in, NULL, "crop-list", "expected two");
    ts_test_refuses(&crop_stage, "x=1,2;2,3", &in, NULL, "crop-list", "2 rows");
    ts_test_refuses(&crop_stage, "x=1,5", &in, NULL, "crop-range", "end <= 4");
    ts_test_refuses(&crop_stage, "y=2,2", &in, NULL, "crop-range", "3 indices");
    ts_test_refuses(&crop_stage, "z=-1,2", &in, NULL, "crop-range", "");
    ts_test_refuses(&crop_stage, "z=0.5,2", &in, NULL, "crop-range", "");
    ts_test_refuses(&crop_stage, "unit=mm y=0.1,9", &in, NULL, "crop-range", "from 0 to -1.4 mm");
    in.axes[1].unit = "pixel";
    ts_test_refuses(&crop_stage, "unit=mm y=0,1", &in, NULL, "crop-unit", "'pixel'");
    ts_test_sinogram(&in);
    ts_test_refuses(&crop_stage, "", &in, NULL, "stage-axes", "");
    free(in.data);
}
