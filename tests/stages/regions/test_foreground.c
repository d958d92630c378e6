/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/regions/foreground.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/regions/foreground_oracle.h"
#include "tests/support/masked.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(foreground);

TEST_ON_BOTH(foreground, agrees_with_the_definition)
{
    static const struct stage_case cases[] = {
        {.assignments = "", .nz = 5, .ny = 21, .nx = 67, .values = VALUES_CT},
        {.assignments = "neighbors=26", .nz = 4, .ny = 9, .nx = 130, .values = VALUES_RANDOM},
        {.assignments = "method=triangle holes=2d bins=100",
         .nz = 3,
         .ny = 20,
         .nx = 66,
         .values = VALUES_CT},
        {.assignments = "method=value above=50 keep=all holes=2d",
         .nz = 3,
         .ny = 31,
         .nx = 64,
         .values = VALUES_CT},
        {.assignments = "holes=stay", .nz = 2, .ny = 11, .nx = 70, .values = VALUES_EXTREME},
        {.assignments = "", .nz = 2, .ny = 5, .nx = 9, .values = VALUES_CONSTANT},
    };
    cr_assert_geq(ts_stage_check(&foreground_stage, ts_foreground_oracle, cases,
                                 sizeof cases / sizeof *cases),
                  6 * 7);
}

/* Noise of air, a body with two cavities, one of them open to the air, and a smaller body. */
static struct ts_image make_scan(enum ts_dtype dtype)
{
    enum { NZ = 8, NY = 40, NX = 70 };
    struct ts_image image = ts_test_image(NZ, NY, NX, dtype, VALUES_CONSTANT, 1);
    uint64_t state = 9;
    for (int i = 0; i < NZ * NY * NX; i++) {
        const int z = i / (NY * NX), y = i / NX % NY, x = i % NX;
        const bool body = z > 0 && z < 7 && y > 5 && y < 35 && x > 9 && x<45, closed = z> 2 &&
                          z < 5 && y > 10 && y < 16 && x > 20 && x<30, open = y> 20 && y < 24 &&
                          x > 20 && x<24, small = y> 4 && y < 20 && x > 55;
        const double value = (body && !closed && !open) || small ? 100 : 0;
        ts_test_store(image.data, dtype, (size_t)i, value + floor(20 * ts_random_unit(&state)));
    }
    return image;
}

TEST_ON_BOTH(foreground, finds_the_body_whatever_the_slabs)
{
    static const char *const ways[] = {"", "method=triangle", "keep=all holes=2d",
                                       "method=value above=60 neighbors=18"};
    for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
        for (size_t i = 0; i < 2 * sizeof ways / sizeof *ways; i++) {
            struct ts_image image = make_scan((enum ts_dtype)dtype);
            const size_t n = ts_image_count(&image);
            double *in = malloc(n * sizeof *in), *expected = malloc(n * sizeof *expected);
            if (i % 2)
                ts_test_mask(&image, MASKED_SOME, 110, 7);
            ts_load_f64(in, image.data, image.dtype, n);
            for (int64_t slab = 0; slab < 4; slab++) {
                struct stage_run run;
                cr_assert_eq(ts_test_run(&run, &foreground_stage, ways[i / 2], &image, NULL, slab,
                                         1 + (int)slab % 3),
                             TS_OK);
                if (slab == 0)
                    ts_foreground_oracle_image(&run.context, in, &image, expected);
                for (size_t k = 0; k < n; k++)
                    cr_assert_eq(((uint8_t *)run.out.data)[k], expected[k], "%s %s: %zu",
                                 ways[i / 2], ts_dtype_name(image.dtype), k);
                ts_test_run_clear(&run);
            }
            free(in);
            free(expected);
            free(image.valid);
            free(image.data);
        }
}

TEST_ON_BOTH(foreground, keeps_the_body_and_fills_its_closed_cavity)
{
    struct ts_image image = make_scan(TS_I16);
    struct stage_run run;
    size_t n = 0;
    cr_assert_eq(ts_test_run(&run, &foreground_stage, "", &image, NULL, 0, 1), TS_OK);
    for (size_t i = 0; i < ts_image_count(&run.out); i++)
        n += ((uint8_t *)run.out.data)[i];
    cr_assert_eq(n, 6 * 29 * 35 - 6 * 3 * 3);
    const double threshold = ts_test_table_at(&run, "threshold", 0);
    cr_assert(threshold >= 19 && threshold < 100, "%g", threshold);
    cr_assert_eq(run.out.labels, 1);
    ts_test_run_clear(&run);
    free(image.data);
}

Test(foreground, refuses_what_does_not_fit)
{
    ts_test_refused(&foreground_stage, "above=5", TS_U8, false, "parameter-unused");
    ts_test_refused(&foreground_stage, "method=value", TS_U8, false, "threshold-missing");
    ts_test_refused(&foreground_stage, "neighbors=7", TS_U8, false, "neighbors-number");
}
