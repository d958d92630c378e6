/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/regions/bounds.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/stages/regions/bounds_oracle.h"
#include "tests/support/masked.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(bounds);

static void expect_box(const struct ts_image *image, const struct ts_image *mask,
                       const char *assignments)
{
    static const struct {
        int64_t slab;
        int threads;
    } ways[] = {{0, 1}, {1, 2}, {2, 3}, {3, 1}};
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        struct stage_run run;
        uint64_t count;
        int64_t first[3], end[3];
        cr_assert_eq(ts_test_run(&run, &bounds_stage, assignments, image, mask, ways[way].slab,
                                 ways[way].threads),
                     TS_OK);
        ts_bounds_oracle_box(&run.context, image, mask, &count, first, end);
        cr_assert_eq(ts_test_table_at(&run, "count", 0), count, "%s {%s}",
                     ts_dtype_name(image->dtype), assignments);
        for (int axis = 0; axis < 3; axis++) {
            cr_assert_eq(ts_test_table_at(&run, "first", axis), first[axis]);
            cr_assert_eq(ts_test_table_at(&run, "end", axis), end[axis]);
        }
        ts_test_run_clear(&run);
    }
}

/* An image of 3, with a few pixels of 50 within it, and 100 at the far corner. */
static struct ts_image make_image(enum ts_dtype dtype)
{
    enum { NZ = 6, NY = 19, NX = 1030 };
    struct ts_image image = ts_test_image(NZ, NY, NX, dtype, VALUES_CONSTANT, 1);
    for (size_t i = 0; i < ts_image_count(&image); i++)
        ts_test_store(image.data, dtype, i, 3);
    ts_test_store(image.data, dtype, (2 * NY + 4) * NX + 1026, 50);
    ts_test_store(image.data, dtype, (3 * NY + 11) * NX + 40, 50);
    ts_test_store(image.data, dtype, (4 * NY + 9) * NX + 500, 51);
    ts_test_store(image.data, dtype, ts_image_count(&image) - 1, 100);
    return image;
}

TEST_ON_BOTH(bounds, agrees_with_the_definition)
{
    for (int dtype = TS_U8; dtype <= TS_F32; dtype++) {
        struct ts_image image = make_image((enum ts_dtype)dtype), mask = make_image(TS_U8);
        for (size_t i = 0; i < ts_image_count(&mask); i++)
            ((uint8_t *)mask.data)[i] = i % 1030 > 30 && i % 1030 < 1000;
        expect_box(&image, NULL, "");
        expect_box(&image, NULL, "above=49");
        expect_box(&image, NULL, "above=49 below=100");
        expect_box(&image, NULL, "above=100");
        expect_box(&image, &mask, "");
        expect_box(&image, &mask, "above=10");
        ts_test_mask(&image, MASKED_SOME, 50, 5);
        expect_box(&image, NULL, "above=49 below=51");
        expect_box(&image, &mask, "below=50");
        free(image.valid);
        free(image.data);
        free(mask.data);
    }
}

TEST_ON_BOTH(bounds, nan_is_in_no_region)
{
    struct ts_image image = ts_test_image(1, 2, 5, TS_F32, VALUES_CONSTANT, 1),
                    mask = ts_test_image(1, 2, 5, TS_F32, VALUES_CONSTANT, 1);
    for (int i = 0; i < 10; i++) {
        ((float *)image.data)[i] = i == 0 ? NAN : i == 8 ? INFINITY : 1;
        ((float *)mask.data)[i] = i == 1 ? NAN : i == 3;
    }
    expect_box(&image, NULL, "");
    expect_box(&image, NULL, "above=1");
    expect_box(&image, &mask, "");
    free(image.data);
    free(mask.data);
}

Test(bounds, refuses_what_contradicts_itself)
{
    ts_test_refused(&bounds_stage, "above=5 below=5", TS_U8, false, "range-order");
}
