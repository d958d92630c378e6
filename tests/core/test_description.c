/* SPDX-License-Identifier: Apache-2.0
 *
 * Units and positions of axes, and geometry, as callers may give them and as the program keeps
 * them.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "core/description.h"

static struct ts_image volume_of(struct ts_axis x)
{
    return (struct ts_image){.rank = 3,
                             .axes = {{TS_AXIS_Z, 2, 2, "mm"}, {TS_AXIS_Y, 4, 1, "mm"}, x}};
}

/* Returns the axis as it is kept; its n is 0 if it is refused, with these words. */
static struct ts_axis keep(struct ts_axis axis, double *list, const char *words)
{
    struct ts_image image = volume_of(axis);
    double *lists[TS_MAX_RANK] = {NULL, NULL, list};
    char wrong[DESCRIPTION_WRONG];
    image.axes[2].positions = list;
    if (ts_axes_to_mm(&image, lists, wrong))
        return image.axes[2];
    cr_assert(words && strstr(wrong, words), "%s", wrong);
    return (struct ts_axis){.unit = ""};
}

Test(description, lengths_are_converted_exactly)
{
    static const struct {
        const char *unit;
        double spacing, first, mm, first_mm;
    } cases[] = {
        {"mm", 0.7, -3.5, 0.7, -3.5},     {"m", 1e-3, -31.5e-3, 1, -31.5},
        {"cm", 0.03, 1.1, 0.3, 11},       {"um", 1.3, -0.65, 0.0013, -0.00065},
        {"nm", 650, 0, 0.00065, 0},       {"\xC2\xB5m", 5, 7, 0.005, 0.007},
        {"meter", 0.0007, 0.1, 0.7, 100}, {"millimeters", 0.1, 0.2, 0.1, 0.2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ts_axis axis = keep(
            (struct ts_axis){TS_AXIS_X, 5, cases[i].spacing, cases[i].unit, NULL, cases[i].first},
            NULL, NULL);
        cr_assert_str_eq(axis.unit, "mm", "%s", cases[i].unit);
        cr_assert_eq(axis.spacing, cases[i].mm, "%s: %.17g", cases[i].unit, axis.spacing);
        cr_assert_eq(axis.first, cases[i].first_mm, "%s: %.17g", cases[i].unit, axis.first);
    }
}

Test(description, pixels_have_no_length)
{
    static const char *const units[] = {"", "pixel", "px", "voxels"};
    for (int i = 0; i < 4; i++) {
        const struct ts_axis axis =
            keep((struct ts_axis){TS_AXIS_X, 5, 2, units[i], NULL, 3}, NULL, NULL);
        cr_assert_str_eq(axis.unit, "pixel");
        cr_assert(axis.spacing == 2 && axis.first == 3);
        cr_assert_eq(ts_axis_mm(&axis), 0);
    }
    const struct ts_axis none = keep((struct ts_axis){TS_AXIS_X, 5, 0, "mm"}, NULL, NULL);
    cr_assert_str_eq(none.unit, "pixel");
    cr_assert_eq(none.spacing, 1);
    keep((struct ts_axis){TS_AXIS_X, 5, 0, "mm", NULL, -2.5}, NULL, "spacing of 0");
}

Test(description, other_units_are_refused)
{
    static const char *const units[] = {"furlong", "degree", "s", "1/mm", "inch"};
    struct ts_image image = volume_of((struct ts_axis){TS_AXIS_X, 5, 1, "mm"});
    double *const lists[TS_MAX_RANK] = {0};
    char wrong[DESCRIPTION_WRONG];
    for (int i = 0; i < 5; i++)
        cr_assert_eq(keep((struct ts_axis){TS_AXIS_X, 5, 1, units[i]}, NULL, units[i]).n, 0);
    image.axes[0] = (struct ts_axis){TS_AXIS_TIME, 2, 500, "ms", NULL, 250};
    cr_assert(ts_axes_to_mm(&image, lists, wrong), "%s", wrong);
    cr_assert_str_eq(image.axes[0].unit, "s");
    cr_assert(image.axes[0].spacing == 0.5 && image.axes[0].first == 0.25);
    image.axes[0].unit = "mm";
    cr_assert_not(ts_axes_to_mm(&image, lists, wrong));
    cr_assert(strstr(wrong, "axis time"), "%s", wrong);
}

Test(description, positions_are_even_or_rise_or_fall)
{
    double even[5] = {1, 1.5, 2, 2.5, 3}, microns[5] = {500, 1000, 1500, 2000, 2500},
           falling[5] = {3, 2, 1, 0, -1}, uneven[5] = {0, 1, 2, 4, 8}, equal[5] = {3, 3, 3, 3, 3},
           back[5] = {0, 1, 2, 1.5, 4};
    struct ts_axis axis = keep((struct ts_axis){TS_AXIS_X, 5, 7, "mm"}, even, NULL);
    cr_assert(!axis.positions && axis.first == 1 && axis.spacing == 0.5 &&
              ts_axis_mm(&axis) == 0.5);
    axis = keep((struct ts_axis){TS_AXIS_X, 5, 0, "um"}, microns, NULL);
    cr_assert(!axis.positions && axis.first == 0.5 && axis.spacing == 0.5);
    for (int i = 0; i < 2; i++) {
        axis = keep((struct ts_axis){TS_AXIS_X, 5, 1, "mm"}, i ? falling : uneven, NULL);
        cr_assert_not_null(axis.positions);
        cr_assert_eq(ts_axis_mm(&axis), 0);
        axis = keep((struct ts_axis){TS_AXIS_X, 5, 1, "mm"}, i ? equal : back, "rise");
        cr_assert_eq(axis.n, 0);
    }
}

/* A list that is not the caller's to change, as of a stage from outside. */
Test(description, a_constant_list_stays_in_mm)
{
    static const double list[4] = {0, 1, 2, 4};
    struct ts_image image = volume_of((struct ts_axis){TS_AXIS_X, 4, 1, "mm", list});
    double *const none[TS_MAX_RANK] = {0};
    char wrong[DESCRIPTION_WRONG];
    cr_assert(ts_axes_to_mm(&image, none, wrong));
    image.axes[2].unit = "cm";
    cr_assert_not(ts_axes_to_mm(&image, none, wrong));
}

static struct ts_image placed(void)
{
    struct ts_image image = volume_of((struct ts_axis){TS_AXIS_X, 5, 1, "mm"});
    const double direction[9] = {0, 1, 0, 0, 0, -1, -1, 0, 0}, step[3] = {-2, 0, 0};
    image.has_geometry = true;
    memcpy(image.direction, direction, sizeof direction);
    memcpy(image.step_z_mm, step, sizeof step);
    return image;
}

Test(description, a_geometry_is_straightened_or_refused)
{
    struct ts_image image = placed(), right = image;
    cr_assert_null(ts_geometry_straighten(&image));
    cr_assert_eq(memcmp(&image, &right, sizeof image), 0, "one that is right stays as it is");
    memset(image.step_z_mm, 0, sizeof image.step_z_mm);
    cr_assert_null(ts_geometry_straighten(&image));
    cr_assert(image.step_z_mm[0] == -2 && image.step_z_mm[1] == 0 && image.step_z_mm[2] == 0);
    image.direction[0] = 4e-4; /* rounded */
    image.step_z_mm[0] = -2.0004;
    cr_assert_null(ts_geometry_straighten(&image));
    cr_assert_float_eq(image.step_z_mm[0], -2, 1e-6);
    cr_assert_float_eq(image.direction[0] * image.direction[0] +
                           image.direction[1] * image.direction[1],
                       1, 1e-12);
    for (int i = 0; i < 5; i++) {
        static const char *const words[] = {"right angles", "right angles", "along their normal",
                                            "as long as", "not finite"};
        image = placed();
        image.direction[0] = i == 0 ? 0.01 : 0;
        image.direction[8] = i == 1 ? 1 : 0;
        image.step_z_mm[0] *= i == 2 ? -1 : 1;
        image.step_z_mm[0] *= i == 3 ? 1.1 : 1;
        image.origin_mm[1] = i == 4 ? (double)INFINITY : 0;
        const char *wrong = ts_geometry_straighten(&image);
        cr_assert(wrong && strstr(wrong, words[i]), "%d: %s", i, wrong);
    }
    image = placed();
    memset(image.step_z_mm, 0, sizeof image.step_z_mm);
    image.axes[0].unit = "pixel";
    cr_assert_not_null(ts_geometry_straighten(&image), "slices without a distance have no step");
}

Test(description, a_fan_needs_a_detector_in_mm)
{
    const struct ts_beam beam = {TS_BEAM_FAN_ARC, 60, 90};
    struct ts_axis detector = {TS_AXIS_DETECTOR, 64, 1, "mm", NULL, -31.5};
    cr_assert_null(ts_beam_wrong(&beam, &detector));
    detector.unit = "pixel";
    cr_assert_not_null(ts_beam_wrong(&beam, &detector));
    detector.unit = "mm";
    detector.spacing = 5;
    detector.first = -157.5;
    cr_assert(strstr(ts_beam_wrong(&beam, &detector), "90 degrees"));
    cr_assert(strstr(ts_beam_wrong(&(struct ts_beam){TS_BEAM_FAN_FLAT, 90, 60}, &detector),
                     "rotation axis"));
    cr_assert(
        strstr(ts_beam_wrong(&(struct ts_beam){TS_BEAM_FAN_FLAT, 60, (double)INFINITY}, &detector),
               "finite"));
}
