/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/regions/morphology.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/regions/mask_scene.h"
#include "tests/stages/regions/morphology_oracle.h"
#include "tests/support/masked.h"

TestSuite(morphology);

static size_t agrees(const char *assignments, const struct ts_image *image)
{
    return ts_test_mask_agrees(&morphology_stage, assignments, image,
                               offsetof(struct morphology_params, label),
                               ts_morphology_oracle_voxels, 0);
}

TEST_ON_BOTH(morphology, agrees_with_the_definition)
{
    static const struct stage_case cases[] = {
        {.assignments = "operation=dilate radius=0.9", .values = VALUES_CT},
        {.assignments = "operation=erode radius=0.6", .values = VALUES_EXTREME},
        {.assignments = "operation=open radius=0.5 label=7", .values = VALUES_CONSTANT},
        {.assignments = "operation=fill_holes", .values = VALUES_EXTREME},
        {.assignments = "operation=fill_holes dimensions=2d", .values = VALUES_EXTREME},
        {.assignments = "operation=close radius=1.1 shape=box",
         .nz = 3,
         .ny = 9,
         .nx = 70,
         .values = VALUES_EXTREME},
    };
    cr_assert_geq(ts_stage_check(&morphology_stage, ts_morphology_oracle, cases,
                                 sizeof cases / sizeof *cases),
                  5 * 8 * 7 + 7); /* cases of 8 shapes and 7 types, and one of its own shape */
}

TEST_ON_BOTH(morphology, does_bodies_with_cavities_and_specks)
{
    static const char *const operations[] = {"erode", "dilate", "open", "close"};
    static const char *const bodies[] = {"radius=0.75", "radius=2.1", "radius=2 dimensions=2d",
                                         "radius=2.05 shape=box", "radius=0.7 shape=box label=2"};
    struct ts_image image = ts_test_mask_scene(7, 14, 67, TS_U8, 3);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
            char assignments[120];
            snprintf(assignments, sizeof assignments, "operation=%s %s", operations[i], bodies[k]);
            const size_t n = agrees(assignments, &image);
            cr_assert(i % 2 == 0 || n > 100, "%s", assignments);
        }
    free(image.data);
}

TEST_ON_BOTH(morphology, fills_what_no_path_leads_out_of)
{
    static const char *const ways[] = {"", "dimensions=2d", "label=1", "label=3 dimensions=2d"};
    for (int64_t nz = 1; nz < 9; nz += 3)
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            char assignments[80];
            struct ts_image image = ts_test_mask_scene(nz, 22, 130, TS_I16, 4 + (uint64_t)nz);
            snprintf(assignments, sizeof assignments, "operation=fill_holes %s", ways[i]);
            cr_assert_gt(agrees(assignments, &image), 0, "%s", assignments);
            free(image.data);
        }
}

/* Invalid voxels neither grow nor shrink a mask, and become 0. */
TEST_ON_BOTH(morphology, leaves_invalid_voxels_out)
{
    static const char *const ways[] = {"operation=erode radius=1",
                                       "operation=dilate radius=1.5",
                                       "operation=open radius=1",
                                       "operation=close radius=2.1",
                                       "operation=close radius=1 shape=box",
                                       "operation=fill_holes",
                                       "operation=fill_holes dimensions=2d",
                                       "operation=fill_holes label=2"};
    for (uint64_t hidden = 0; hidden < 2; hidden++) {
        struct ts_image image = ts_test_mask_scene(6, 13, 66, TS_F32, 8);
        ts_test_mask(&image, MASKED_SOME, (double)hidden, 5);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
            agrees(ways[i], &image);
        free(image.valid);
        free(image.data);
    }
}

/* Returns how many voxels become 1 of one voxel in the middle of 9 x 41 x 41. */
static size_t ball_of(const char *assignments, double z, double y, double x)
{
    struct ts_image image = ts_test_image(9, 41, 41, TS_U8, VALUES_CONSTANT, 1);
    size_t n = 0;
    image.axes[0].spacing = z;
    image.axes[1].spacing = y;
    image.axes[2].spacing = x;
    memset(image.data, 0, ts_image_bytes(&image));
    ((uint8_t *)image.data)[(4 * 41 + 20) * 41 + 20] = 9;
    struct ts_image out = ts_test_output(&morphology_stage, assignments, &image);
    for (size_t i = 0; i < ts_image_count(&out); i++)
        n += ((uint8_t *)out.data)[i];
    free(image.data);
    free(out.data);
    return n;
}

/* Lattice points of disks and balls; 3 mm are 10 voxels of 0.3 mm. */
TEST_ON_BOTH(morphology, has_balls_and_boxes_in_mm)
{
    cr_assert_eq(ball_of("operation=dilate radius=3", 5, 1, 1), 29);
    cr_assert_eq(ball_of("operation=dilate radius=3", 1, 1, 1), 123);
    cr_assert_eq(ball_of("operation=dilate radius=3 dimensions=2d", 1, 1, 1), 29);
    cr_assert_eq(ball_of("operation=dilate radius=3", 30, 0.3, 0.3), 317);
    cr_assert_eq(ball_of("operation=dilate radius=3 shape=box", 2, 1, 0.5), 3 * 7 * 13);
    cr_assert_eq(ball_of("operation=dilate radius=0.4", 1, 0.5, 1), 1);
}

TEST_ON_BOTH(morphology, does_not_shrink_masks_from_the_border)
{
    struct ts_image image = ts_test_image(4, 9, 70, TS_U16, VALUES_CONSTANT, 1);
    static const char *const ways[] = {"operation=erode radius=3", "operation=open radius=3",
                                       "operation=close radius=3 shape=box"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct ts_image out = ts_test_output(&morphology_stage, ways[i], &image);
        for (size_t k = 0; k < ts_image_count(&out); k++)
            cr_assert_eq(((uint8_t *)out.data)[k], 1, "%s", ways[i]);
        free(out.data);
    }
    free(image.data);
}

/* The widest ball reaches over several words to both sides. */
TEST_ON_BOTH(morphology, reaches_as_far_as_it_may)
{
    struct ts_image image = ts_test_image(1, 3, 400, TS_U8, VALUES_CONSTANT, 1);
    for (int reach = 31; reach <= 127; reach += 16) {
        char assignments[80];
        memset(image.data, 0, ts_image_bytes(&image));
        ((uint8_t *)image.data)[400 + 200] = 1;
        snprintf(assignments, sizeof assignments, "operation=dilate radius=%g", 0.5 * reach);
        agrees(assignments, &image);
        struct ts_image out = ts_test_output(&morphology_stage, assignments, &image);
        for (int x = 0; x < 400; x++)
            cr_assert_eq(((uint8_t *)out.data)[400 + x], abs(x - 200) <= reach, "%d %d", reach, x);
        free(out.data);
    }
    free(image.data);
}

/* Along an axis of one voxel there is nothing to reach, whatever its spacing and unit. */
TEST_ON_BOTH(morphology, leaves_axes_of_one_voxel_out)
{
    static const double listed[] = {3};
    static const char *const ways[] = {"operation=dilate radius=2", "operation=erode radius=1",
                                       "operation=close radius=1.5 shape=box"};
    for (int axis = 0; axis < 3; axis++) {
        struct ts_image image =
            ts_test_mask_scene(axis != 0 ? 6 : 1, axis != 1 ? 7 : 1, axis != 2 ? 66 : 1, TS_U8, 50);
        const struct ts_axis usual = image.axes[axis];
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            const struct ts_axis others[] = {
                {usual.kind, .n = 1, .spacing = 1e-3, .unit = "mm"},
                {usual.kind, .n = 1, .spacing = 1e-5, .unit = "pixel"},
                {usual.kind, .n = 1, .unit = "mm"},
                {usual.kind, .n = 1, .positions = listed, .spacing = 1e-4, .unit = "mm"}};
            image.axes[axis] = usual;
            struct ts_image expected = ts_test_output(&morphology_stage, ways[i], &image);
            agrees(ways[i], &image);
            for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
                image.axes[axis] = others[k];
                struct ts_image out = ts_test_output(&morphology_stage, ways[i], &image);
                cr_assert(!memcmp(out.data, expected.data, ts_image_bytes(&out)), "%s %d %zu",
                          ways[i], axis, k);
                free(out.data);
            }
            free(expected.data);
        }
        free(image.data);
    }
}

Test(morphology, refuses_what_does_not_fit)
{
    struct ts_image image = ts_test_image(2, 3, 4, TS_U8, VALUES_CONSTANT, 1);
    ts_test_refused(&morphology_stage, "operation=fill_holes radius=3", TS_U8, false,
                    "parameter-unused");
    ts_test_refused(&morphology_stage, "operation=fill_holes shape=box", TS_U8, false,
                    "parameter-unused");
    ts_test_refused(&morphology_stage, "operation=erode radius=64", TS_U8, false, "radius-reach");
    ts_test_refused(&morphology_stage, "operation=erode label=1,2", TS_U8, false, "one-number");
    image.quantity = TS_HU;
    ts_test_refuses(&morphology_stage, "operation=erode", &image, NULL, "stage-quantity",
                    "threshold");
    image.quantity = TS_INTENSITY;
    image.axes[1].unit = "";
    ts_test_refuses(&morphology_stage, "operation=erode", &image, NULL, "spacing-mm", "along y");
    free(image.data);
}
