/* SPDX-License-Identifier: Apache-2.0
 *
 * Directions have nine numbers, which make the longest texts that a comparison of grids has.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "program/record/comparison.h"

TestSuite(compare_grid);

/* Describes slices that are turned about x by an angle near to zero. */
static struct source turned(double angle)
{
    struct source source = {
        .n_slices = 9,
        .n_volumes = 1,
        .image = {.rank = 3,
                  .dtype = TS_F32,
                  .unit = "HU",
                  .has_geometry = true,
                  .origin_mm = {-123.4567890123, -0.00001234567, -1234567.89012}}};
    static const enum ts_axis_kind kinds[] = {TS_AXIS_Z, TS_AXIS_Y, TS_AXIS_X};
    for (int i = 0; i < 3; i++)
        source.image.axes[i] =
            (struct ts_axis){.kind = kinds[i], .n = 9, .spacing = 1, .unit = "mm"};
    const double tiny = -1.234567891e-5 * angle;
    const double direction[9] = {-cos(angle), tiny, tiny,       tiny,       -cos(angle),
                                 -sin(angle), tiny, sin(angle), -cos(angle)};
    memcpy(source.image.direction, direction, sizeof direction);
    memcpy(source.image.step_z_mm, direction + 6, sizeof source.image.step_z_mm);
    return source;
}

Test(compare_grid, long_texts_stay_in_their_notes)
{
    struct source sources[2] = {turned(0.7123456), turned(0.9123456)};
    const struct side sides[2] = {{.source = &sources[0]}, {.source = &sources[1]}};
    struct grid_difference grid;
    ts_grid_compare(sides, &grid);
    cr_assert_eq(grid.n, 2, "%d notes", grid.n);
    cr_expect_str_eq(grid.notes[0].what, "direction");
    cr_expect_str_eq(grid.notes[1].what, "step from slice to slice");
    for (int side = 0; side < 2; side++) {
        double numbers[9];
        const char *text = grid.notes[0].sides[side];
        for (int i = 0, used; i < 9; i++, text += used) {
            cr_assert_eq(sscanf(text, "%lf%n", &numbers[i], &used), 1, "number %d of '%s'", i,
                         grid.notes[0].sides[side]);
            cr_expect_float_eq(numbers[i], sources[side].image.direction[i], 1e-6);
        }
        cr_expect_str_empty(text);
    }
    cr_expect(grid.differs && grid.same_shape && grid.apart_mm > 1);
}
