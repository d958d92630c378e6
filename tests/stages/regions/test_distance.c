/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/regions/distance.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/regions/distance_oracle.h"
#include "tests/stages/regions/mask_scene.h"
#include "tests/support/masked.h"

TestSuite(distance);

static const double rounding = 1.2e-7;

static size_t agrees(const char *assignments, const struct ts_image *image)
{
    return ts_test_mask_agrees(&distance_stage, assignments, image,
                               offsetof(struct distance_params, label), ts_distance_oracle_voxels,
                               rounding);
}

TEST_ON_BOTH(distance, agrees_with_the_definition)
{
    static const struct stage_case cases[] = {
        {.assignments = "", .values = VALUES_EXTREME},
        {.assignments = "of=signed", .values = VALUES_EXTREME},
        {.assignments = "of=inside label=7", .values = VALUES_CT, .dtypes = TS_DTYPE_BIT(TS_U8)},
    };
    cr_assert_geq(
        ts_stage_check(&distance_stage, ts_distance_oracle, cases, sizeof cases / sizeof *cases),
        2 * 8 * 7);
}

TEST_ON_BOTH(distance, measures_bodies_and_what_is_between_them)
{
    static const char *const ways[] = {"", "of=inside", "of=signed", "of=signed label=2"};
    static const double spacings[][3] = {{2, 0.7, 0.5}, {0.1, 3, 0.9}, {1, 1, 1}};
    for (size_t s = 0; s < sizeof spacings / sizeof *spacings; s++)
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            struct ts_image image = ts_test_mask_scene(9, 33, 66, TS_U8, 30 + s);
            for (int axis = 0; axis < 3; axis++)
                image.axes[axis].spacing = spacings[s][axis];
            cr_assert_gt(agrees(ways[i], &image), 500);
            free(image.data);
        }
}

TEST_ON_BOTH(distance, takes_invalid_voxels_for_background)
{
    struct ts_image image = ts_test_mask_scene(6, 17, 65, TS_F32, 40);
    ts_test_mask(&image, MASKED_SOME, 1, 5);
    agrees("", &image);
    agrees("of=signed", &image);
    free(image.valid);
    free(image.data);
}

/* One voxel of 20 x 30 x 200: each distance is that from it. */
TEST_ON_BOTH(distance, is_exact_far_away)
{
    struct ts_image image = ts_test_image(20, 30, 200, TS_U8, VALUES_CONSTANT, 1);
    memset(image.data, 0, ts_image_bytes(&image));
    ((uint8_t *)image.data)[(3 * 30 + 28) * 200 + 7] = 1;
    struct ts_image out = ts_test_output(&distance_stage, "", &image);
    for (int z = 0; z < 20; z++)
        for (int y = 0; y < 30; y++)
            for (int x = 0; x < 200; x++) {
                const double expected = sqrt(4.0 * (z - 3) * (z - 3) + 0.49 * (y - 28) * (y - 28) +
                                             0.25 * (x - 7) * (x - 7));
                const double is = (double)((float *)out.data)[(z * 30 + y) * 200 + x];
                cr_assert(fabs(is - expected) <= rounding * expected, "%d %d %d: %g, not %g", z, y,
                          x, is, expected);
            }
    free(image.data);
    free(out.data);
}

TEST_ON_BOTH(distance, is_infinite_from_nothing)
{
    struct ts_image image = ts_test_image(3, 4, 70, TS_U8, VALUES_CONSTANT, 1);
    static const char *const ways[] = {"of=inside", "of=signed", "of=outside label=8"};
    static const double expected[] = {1, -1, 1};
    for (int i = 0; i < 3; i++) {
        struct ts_image out = ts_test_output(&distance_stage, ways[i], &image);
        cr_assert_eq(out.dtype, TS_F32);
        cr_assert_str_eq(out.unit, "mm");
        for (size_t k = 0; k < ts_image_count(&out); k++)
            cr_assert_eq((double)((float *)out.data)[k], expected[i] * (double)INFINITY, "%s",
                         ways[i]);
        free(out.data);
    }
    free(image.data);
}

Test(distance, refuses_what_it_cannot_measure)
{
    struct ts_image image = ts_test_image(2, 3, 4, TS_U8, VALUES_CONSTANT, 1);
    ts_test_refused(&distance_stage, "label=1,2", TS_U8, false, "one-number");
    image.step_z_mm[1] = 0.5;
    ts_test_refuses(&distance_stage, "", &image, NULL, "stage-sheared", "unshear");
    image.step_z_mm[1] = 0;
    image.axes[2].spacing = 0;
    ts_test_refuses(&distance_stage, "", &image, NULL, "spacing-mm", "along x");
    image.axes[2].positions = (double[]){0, 1, 4, 9};
    ts_test_refuses(&distance_stage, "", &image, NULL, "axis-uneven", "along x");
    free(image.data);
}
