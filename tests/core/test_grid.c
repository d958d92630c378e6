/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms of indices against hand-made ones, and which grids are one.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "core/grid.h"

static struct ts_image make_image(void)
{
    struct ts_image image = {.rank = 3,
                             .axes = {{TS_AXIS_Z, 20, 2, "mm", NULL, 0},
                                      {TS_AXIS_Y, 30, 0.5, "mm", NULL, 0},
                                      {TS_AXIS_X, 40, 0.7, "mm", NULL, 0}},
                             .has_geometry = true,
                             .origin_mm = {-10, 20, 30},
                             .direction = {0.6, 0.8, 0, -0.8, 0.6, 0, 0, 0, 1},
                             .step_z_mm = {0, 0.3, 2}};
    return image;
}

Test(grid, indices_become_places_and_back)
{
    const struct ts_image image = make_image();
    const struct ts_affine to_mm = ts_grid_to_mm(&image);
    const double index[3] = {3, 5, 7};
    const double expected[3] = {-10 + 3 * 0.7 * 0.6 - 5 * 0.5 * 0.8,
                                20 + 3 * 0.7 * 0.8 + 5 * 0.5 * 0.6 + 7 * 0.3, 30 + 7 * 2};
    double mm[3], back[3];
    struct ts_affine inverse;
    ts_affine_apply(&to_mm, index, mm);
    cr_assert(ts_affine_invert(&to_mm, &inverse));
    ts_affine_apply(&inverse, mm, back);
    const struct ts_affine both = ts_affine_after(&inverse, &to_mm);
    for (int i = 0; i < 3; i++) {
        cr_assert_float_eq(mm[i], expected[i], 1e-12);
        cr_assert_float_eq(back[i], index[i], 1e-12);
        for (int k = 0; k < 4; k++)
            cr_assert_float_eq(both.m[i][k], i == k, 1e-12);
    }
    cr_assert(!ts_affine_invert(&(struct ts_affine){{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}}},
                                &inverse));
    cr_assert(!ts_affine_invert(&(struct ts_affine){{{NAN, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}},
                                &inverse));
}

Test(grid, corners_decide_whether_two_are_one)
{
    const struct ts_image image = make_image();
    struct ts_image other = image;
    char text[320];
    cr_assert(ts_grid_same(&image, &other));
    other.origin_mm[1] += 0.0049; /* of 0.5 mm */
    cr_assert(ts_grid_same(&image, &other));
    other.origin_mm[1] += 0.0002;
    cr_assert(!ts_grid_same(&image, &other));
    other = image;
    other.axes[2].spacing += 0.0001; /* times 39 */
    cr_assert(ts_grid_same(&image, &other));
    other.axes[2].spacing += 0.0001;
    cr_assert(!ts_grid_same(&image, &other));
    other = image;
    other.direction[2] = 0.001; /* leans 39 * 0.7 * 0.001 mm at the end of a row */
    cr_assert(!ts_grid_same(&image, &other));
    other = image;
    other.step_z_mm[1] = 0;
    cr_assert(!ts_grid_same(&image, &other));
    other = image;
    other.axes[0].n = 19;
    cr_assert(!ts_grid_same(&image, &other));
    other = image;
    other.has_geometry = false;
    cr_assert(!ts_grid_same(&image, &other));
    ts_grid_text(&other, text, sizeof text);
    cr_assert_str_eq(text, "40 x 30 x 20 voxels (x, y, z) of 0.7 x 0.5 x 2 mm");
    ts_grid_text(&image, text, sizeof text);
    cr_assert(
        strstr(text,
               "the first at (-10, 20, 30) mm, x along (0.6, 0.8, 0), y along (-0.8, 0.6, 0)"),
        "%s", text);
}
