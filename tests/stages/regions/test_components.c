/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/regions/components.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "stages/regions/foreground.h"
#include "stages/regions/morphology.h"
#include "tests/stages/regions/components_oracle.h"
#include "tests/stages/regions/mask_scene.h"
#include "tests/support/masked.h"
#include "tests/support/support.h"

TestSuite(components);

static size_t agrees(const char *assignments, const struct ts_image *image)
{
    return ts_test_mask_agrees(&components_stage, assignments, image,
                               offsetof(struct components_params, label),
                               ts_components_oracle_voxels, 0);
}

TEST_ON_BOTH(components, agrees_with_the_definition)
{
    static const struct stage_case cases[] = {
        {.assignments = "", .nz = 5, .ny = 7, .nx = 67, .values = VALUES_EXTREME},
        {.assignments = "neighbors=26", .nz = 4, .ny = 5, .nx = 131, .values = VALUES_EXTREME},
        {.assignments = "label=7", .nz = 1, .ny = 3, .nx = 64, .values = VALUES_CONSTANT},
        {.assignments = "largest=2 output=mask",
         .nz = 3,
         .ny = 11,
         .nx = 65,
         .values = VALUES_EXTREME},
    };
    cr_assert_geq(ts_stage_check(&components_stage, ts_components_oracle, cases,
                                 sizeof cases / sizeof *cases),
                  4 * 7);
}

/* Voxels at random have parts of every form: 31 % of them nearly hang together by their faces, and
 * fewer by their edges and corners. */
static struct ts_image random_mask(int64_t nz, int64_t ny, int64_t nx, double part, uint64_t seed)
{
    struct ts_image image = ts_test_image(nz, ny, nx, TS_U8, VALUES_CONSTANT, 1);
    for (size_t i = 0; i < ts_image_count(&image); i++)
        ((uint8_t *)image.data)[i] = ts_random_unit(&seed) < part;
    return image;
}

TEST_ON_BOTH(components, joins_voxels_by_faces_edges_and_corners)
{
    static const double parts[] = {0.05, 0.12, 0.31, 0.6, 1};
    static const char *const ways[] = {"",
                                       "neighbors=18",
                                       "neighbors=26",
                                       "neighbors=26 least_mm3=9",
                                       "neighbors=18 largest=300",
                                       "largest=1 output=mask"};
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            struct ts_image image = random_mask(6, 13, 129, parts[p], 10 * p + i);
            cr_assert_gt(agrees(ways[i], &image), 0);
            free(image.data);
        }
}

TEST_ON_BOTH(components, leaves_invalid_voxels_and_other_labels_out)
{
    struct ts_image image = ts_test_mask_scene(6, 21, 70, TS_I16, 21);
    agrees("label=2 neighbors=26", &image);
    ts_test_mask(&image, MASKED_SOME, 1, 5);
    agrees("", &image);
    agrees("output=mask least_mm3=5", &image);
    agrees("largest=3", &image);
    free(image.valid);
    free(image.data);
}

/* Parts of 6, 3, 3 and 1 voxels of 0.7 mm3, which are told apart by their place. */
TEST_ON_BOTH(components, has_the_sizes_in_tables)
{
    static const char *const rows[] = {"###.#", ".....", "#.###", "#.###", "#...."};
    struct ts_image image = ts_test_image(1, 5, 5, TS_F32, VALUES_CONSTANT, 1);
    struct stage_run run;
    for (int i = 0; i < 25; i++)
        ((float *)image.data)[i] = rows[i / 5][i % 5] == '#' ? 2.5F : i == 3 ? (float)NAN : 0;
    cr_assert_eq(ts_test_run(&run, &components_stage, "least_mm3=2", &image, NULL, 0, 2), TS_OK);
    cr_assert_eq(ts_test_table_at(&run, "found", 0), 4);
    cr_assert_eq(ts_test_table_at(&run, "kept", 0), 3);
    for (int i = 0; i < 5; i++) {
        const double voxels = i == 0 ? 6 : i < 3 ? 3 : 0;
        cr_assert_eq(ts_test_table_at(&run, "voxels", i), voxels);
        cr_assert_float_eq(ts_test_table_at(&run, "volume", i), 0.7 * voxels, 1e-12);
    }
    cr_assert_eq(ts_test_table(&run, "voxels")->axes[0].n, 256);
    const uint32_t *labels = run.out.data;
    cr_assert(labels[0] == 2 && labels[4] == 0 && labels[12] == 1 && labels[10] == 3);
    ts_test_run_clear(&run);
    image.axes[2].unit = "";
    cr_assert_eq(ts_test_run(&run, &components_stage, "largest=2", &image, NULL, 0, 2), TS_OK);
    cr_assert_eq(ts_test_table(&run, "voxels")->axes[0].n, 2);
    cr_assert(isnan(ts_test_table_at(&run, "volume", 0)));
    cr_assert_eq(run.out.dtype, TS_U8);
    ts_test_run_clear(&run);
    free(image.data);
}

TEST_ON_BOTH(components, gives_nothing_for_nothing)
{
    struct ts_image image = ts_test_image(2, 3, 70, TS_U8, VALUES_CONSTANT, 1);
    memset(image.data, 0, ts_image_bytes(&image));
    cr_assert_eq(agrees("", &image), 0);
    cr_assert_eq(agrees("largest=1 output=mask", &image), 0);
    free(image.data);
}

Test(components, refuses_what_does_not_fit)
{
    struct ts_image image = ts_test_image(2, 3, 4, TS_U8, VALUES_CONSTANT, 1);
    ts_test_refused(&components_stage, "neighbors=8", TS_U8, false, "neighbors-number");
    ts_test_refused(&components_stage, "largest=1.5", TS_U8, false, "whole-number");
    ts_test_refused(&components_stage, "largest=1,2", TS_U8, false, "one-number");
    image.axes[0].unit = "";
    ts_test_refuses(&components_stage, "least_mm3=5", &image, NULL, "spacing-mm", "along z");
    free(image.data);
}

/* The volume of a part needs the thickness of a slice, even of a single one. */
Test(components, needs_all_lengths_of_a_voxel_for_its_volume)
{
    static const double listed[] = {3};
    for (int axis = 0; axis < 3; axis++) {
        struct ts_image image = ts_test_image(axis != 0 ? 2 : 1, axis != 1 ? 3 : 1,
                                              axis != 2 ? 4 : 1, TS_U8, VALUES_CONSTANT, 1);
        const struct ts_axis known = image.axes[axis],
                             unknown[] = {
                                 {known.kind, .n = 1, .spacing = known.spacing, .unit = "pixel"},
                                 {known.kind, .n = 1, .unit = "mm"},
                                 {known.kind, .n = 1, .positions = listed, .unit = "mm"}};
        agrees("least_mm3=0.1", &image);
        for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
            image.axes[axis] = unknown[i];
            ts_test_refuses(&components_stage, "least_mm3=0.1", &image, NULL, "spacing-mm",
                            ts_axis_name(&known));
            agrees("largest=1", &image);
        }
        free(image.data);
    }
}

/* Every second voxel of a row can begin a run, and those of rows with an odd number of voxels are
 * more than half of them. */
Test(components, refuses_volumes_of_more_runs_than_it_counts)
{
    static const int64_t too_large[][3] = {
        {1000000, 100, 100}, {100000, 50000, 1}, {100000, 25000, 3}, {1500000, 1000, 5}};
    struct ts_image image = ts_test_image(2, 3, 4, TS_U8, VALUES_CONSTANT, 1);
    for (size_t i = 0; i < sizeof too_large / sizeof *too_large; i++) {
        for (int axis = 0; axis < 3; axis++)
            image.axes[axis].n = too_large[i][axis];
        ts_test_refuses(&components_stage, "", &image, NULL, "mask-size", "4294967294");
        ts_test_refuses(&morphology_stage, "operation=fill_holes", &image, NULL, "mask-size", "");
        ts_test_refuses(&foreground_stage, "", &image, NULL, "mask-size", "");
    }
    free(image.data);
}
