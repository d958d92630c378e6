/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/grid/unshear.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/grid/grid_check.h"
#include "tests/stages/grid/samples_oracle.h"

TestSuite(unshear);

/* Every type over odd, prime, thin and tiny shapes; these volumes are not askew, and come out as
 * they are. */
TEST_ON_BOTH(unshear, leaves_straight_volumes_alone)
{
    const struct stage_case cases[] = {{.assignments = ""},
                                       {.assignments = "interpolation=cubic outside=3"}};
    cr_assert_eq(ts_stage_check(&unshear_stage, ts_unshear_oracle, cases, 2), 2 * 8 * 7);
}

/* Volumes that lie anyhow and are askew along one axis of the slice, or both, to either side. */
TEST_ON_BOTH(unshear, agrees_with_the_definition)
{
    static const char *const assignments[] = {"", "interpolation=cubic outside=9",
                                              "interpolation=nearest outside=1"};
    static const int64_t shapes[][3] = {{1, 4, 5}, {2, 1, 37}, {5, 7, 11}, {3, 67, 131}, {7, 3, 2}};
    static const double askew[] = {0.4, -1.1, 2.1, 0};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
            for (int i = 0; i < 3; i++) {
                const int64_t *n = shapes[s];
                struct ts_image in =
                    ts_test_image(n[0], n[1], n[2], dtype, VALUES_RANDOM, 10 * s + (uint64_t)dtype);
                ts_grid_place(&in, 0.2 * (double)s, -0.1, askew[(s + (size_t)i) % 4]);
                if (i == 1)
                    in.step_z_mm[2] -= 0.2;
                ts_grid_check(&unshear_stage, ts_unshear_unrounded, assignments[i], &in, NULL);
                free(in.data);
            }
}

/* Slices 2 mm apart, of which each lies 0.7 mm, a pixel, further along y: rows are moved whole. */
TEST_ON_BOTH(unshear, moves_whole_pixels_whole)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        struct ts_image in = ts_test_image(3, 4, 5, TS_I16, VALUES_RANDOM, 3);
        struct stage_run run;
        in.step_z_mm[1] = sign * 0.7;
        in.origin_mm[1] = 10;
        cr_assert_eq(ts_test_run(&run, &unshear_stage, "outside=-7", &in, NULL, 0, 2), TS_OK);
        cr_expect(run.out.axes[0].n == 3 && run.out.axes[1].n == 6 && run.out.axes[2].n == 5);
        cr_expect_float_eq(run.out.origin_mm[1], sign > 0 ? 10 : 10 - 1.4, 1e-12);
        cr_expect_float_eq(run.out.axes[1].first, sign > 0 ? 0 : -1.4, 1e-12);
        cr_expect(run.out.step_z_mm[0] == 0 && run.out.step_z_mm[1] == 0 &&
                  run.out.step_z_mm[2] == 2);
        for (int z = 0; z < 3; z++)
            for (int y = 0; y < 6; y++) {
                const int16_t *row = (int16_t *)run.out.data + (z * 6 + y) * 5;
                const int from = sign > 0 ? y - z : y - 2 + z;
                if (from >= 0 && from < 4)
                    cr_assert(
                        !memcmp(row, (int16_t *)in.data + (z * 4 + from) * 5, 5 * sizeof *row),
                        "%d %d", z, y);
                for (int x = 0; (from < 0 || from >= 4) && x < 5; x++)
                    cr_assert_eq(row[x], -7);
            }
        ts_test_run_clear(&run);
        free(in.data);
    }
}

/* The spacing along z is that along the normal, and not the length of the step. */
Test(unshear, straightens_the_step)
{
    struct ts_image in = ts_test_image(4, 5, 6, TS_F32, VALUES_RANDOM, 3);
    struct stage_run run;
    in.axes[0].spacing = hypot(2, 0.5);
    in.step_z_mm[1] = -0.5;
    cr_assert_eq(ts_test_run(&run, &unshear_stage, "", &in, NULL, 0, 1), TS_OK);
    cr_expect_float_eq(run.out.axes[0].spacing, 2, 1e-12);
    cr_expect_eq(run.out.axes[1].n, 5 + 3); /* 1.5 mm are 2.1 pixels */
    ts_test_run_clear(&run);
    free(in.data);
}

Test(unshear, refuses_what_does_not_say_how_it_lies)
{
    const double positions[] = {0, 2, 5};
    struct ts_image in = ts_test_image(3, 4, 5, TS_U8, VALUES_CONSTANT, 1);
    ts_test_refuses(&unshear_stage, "outside=256", &in, NULL, "value-range", "");
    in.step_z_mm[1] = 200;
    ts_test_refuses(&unshear_stage, "", &in, NULL, "unshear-size", "along y");
    in.axes[0].positions = positions;
    ts_test_refuses(&unshear_stage, "", &in, NULL, "axis-uneven", "along z");
    in.has_geometry = false;
    ts_test_refuses(&unshear_stage, "", &in, NULL, "unshear-geometry", "");
    free(in.data);
}
