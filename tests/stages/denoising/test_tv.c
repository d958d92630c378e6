/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/denoising/tv.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/denoising/tv_oracle.h"
#include "tests/support/stage_run.h"

TestSuite(tv);

TEST_ON_BOTH(tv, agrees_with_the_published_iterations_in_2d)
{
    static const struct stage_case cases[] = {
        {.assignments = "weight=300 iterations=1"},
        {.assignments = "weight=300 iterations=7 method=chambolle"},
        {.assignments = "weight=0.5 iterations=4 method=chambolle", .values = VALUES_CONSTANT},
        {.assignments = "weight=1e4 iterations=6", .values = VALUES_EXTREME},
        {.assignments = "weight=50 iterations=100",
         .values = VALUES_CT,
         .nz = 3,
         .ny = 41,
         .nx = 150},
        {.assignments = "weight=50 iterations=99 method=chambolle",
         .values = VALUES_CT,
         .nz = 2,
         .ny = 70,
         .nx = 133},
        {.assignments = "weight=40 iterations=45 stop=distance tolerance=0.7",
         .nz = 5,
         .ny = 19,
         .nx = 23},
        {.assignments = "weight=40 iterations=300 method=chambolle stop=distance tolerance=0.5",
         .nz = 5,
         .ny = 9,
         .nx = 31},
    };
    cr_assert_geq(ts_stage_check(&tv_stage, ts_tv_oracle, cases, sizeof cases / sizeof *cases),
                  4 * 8 * 7);
}

TEST_ON_BOTH(tv, agrees_with_the_published_iterations_in_3d)
{
    static const struct stage_case cases[] = {
        {.assignments = "dimensions=3d weight=300 iterations=1"},
        {.assignments = "dimensions=3d weight=300 iterations=1 method=chambolle"},
        {.assignments = "dimensions=3d weight=300 iterations=6"},
        {.assignments = "dimensions=3d weight=300 iterations=5 method=chambolle",
         .values = VALUES_EXTREME},
        {.assignments = "dimensions=3d weight=60 iterations=3", .nz = 13, .ny = 11, .nx = 40},
        {.assignments = "dimensions=3d weight=60 iterations=2 method=chambolle",
         .nz = 13,
         .ny = 18,
         .nx = 70},
        {.assignments = "dimensions=3d weight=40 iterations=45 stop=distance tolerance=0.7",
         .nz = 6,
         .ny = 19,
         .nx = 23},
        {.assignments =
             "dimensions=3d weight=40 iterations=90 method=chambolle stop=distance tolerance=0.5",
         .nz = 5,
         .ny = 9,
         .nx = 31},
    };
    cr_assert_geq(ts_stage_check(&tv_stage, ts_tv_oracle, cases, sizeof cases / sizeof *cases),
                  4 * 8 * 7);
}

/* The device carries out up to 4 iterations at once, in tiles of fewer than 32 pixels and chunks of
 * 64 rows or planes: these cases have every rest of iterations, also before a look, and sizes just
 * below, at and above those. */
TEST_ON_BOTH(tv, agrees_for_any_count_of_iterations_and_any_shape)
{
    static const struct {
        int64_t n[3];
    } shapes[] = {{{1, 1, 1}},   {{1, 1, 49}},  {{1, 65, 1}}, {{66, 1, 1}},
                  {{2, 27, 25}}, {{65, 3, 26}}, {{1, 515, 3}}};
    static const char *const ways[] = {
        "weight=300 iterations=2",
        "weight=300 iterations=3 method=chambolle",
        "weight=300 iterations=5",
        "weight=300 iterations=7 method=chambolle",
        "weight=300 iterations=13 stop=distance tolerance=0",
        "dimensions=3d weight=300 iterations=2 method=chambolle",
        "dimensions=3d weight=300 iterations=3",
        "dimensions=3d weight=300 iterations=4",
        "dimensions=3d weight=300 iterations=5 method=chambolle",
        "dimensions=3d weight=300 iterations=12 stop=distance tolerance=0",
    };
    enum { SHAPES = sizeof shapes / sizeof *shapes, WAYS = sizeof ways / sizeof *ways };
    struct stage_case cases[SHAPES * WAYS];
    for (int i = 0; i < SHAPES * WAYS; i++) {
        const int64_t *const n = shapes[i / WAYS].n;
        cases[i] = (struct stage_case){.assignments = ways[i % WAYS],
                                       .nz = n[0],
                                       .ny = n[1],
                                       .nx = n[2],
                                       .dtypes = TS_DTYPE_BIT(TS_F32)};
    }
    cr_assert_geq(ts_stage_check(&tv_stage, ts_tv_oracle, cases, SHAPES * WAYS), SHAPES * WAYS);
}

/* The minimum is known for two pixels: each comes nearer to the other by the weight, until they
 * meet. */
TEST_ON_BOTH(tv, brings_two_pixels_together)
{
    static const char *const methods[] = {"weight=2 iterations=400 method=chambolle",
                                          "weight=2 iterations=400"};
    static const float values[2][2] = {{10, 20}, {11, 14}},
                       expected[2][2] = {{12, 18}, {12.5F, 12.5F}};
    for (int m = 0; m < 2; m++)
        for (int k = 0; k < 2; k++) {
            struct ts_image in = ts_test_image(1, 1, 2, TS_F32, VALUES_CONSTANT, 1);
            memcpy(in.data, values[k], sizeof values[k]);
            struct ts_image out = ts_test_output(&tv_stage, methods[m], &in);
            for (int i = 0; i < 2; i++)
                cr_assert_float_eq(((const float *)out.data)[i], expected[k][i], 2e-2,
                                   "%s: %d is %g", methods[m], i,
                                   (double)((const float *)out.data)[i]);
            free(in.data);
            free(out.data);
        }
}

/* The table states how far the result may be from the minimum: no further than that is an image
 * after many more iterations, and the energy of the result is that much larger at most. */
TEST_ON_BOTH(tv, states_how_far_the_minimum_is)
{
    static const char *const ways[] = {"weight=30 iterations=40",
                                       "weight=30 iterations=40 method=chambolle",
                                       "weight=30 iterations=40 dimensions=3d"};
    for (int w = 0; w < 3; w++) {
        const char *const many =
            w < 2 ? "weight=30 iterations=4000" : "weight=30 iterations=4000 dimensions=3d";
        struct ts_image in = ts_test_image(4, 40, 50, TS_F32, VALUES_CT, 7);
        struct stage_run run;
        const size_t n = 4 * 40 * 50;
        struct ts_image minimum = ts_test_output(&tv_stage, many, &in);
        cr_assert_eq(ts_test_run(&run, &tv_stage, ways[w], &in, NULL, 0, 2), TS_OK);
        double square = 0, bound = 0;
        for (size_t i = 0; i < n; i++)
            square += pow((double)((const float *)run.out.data)[i] -
                              (double)((const float *)minimum.data)[i],
                          2);
        for (int z = 0; z < 4; z++) {
            bound += pow(ts_test_table_at(&run, "distance", z), 2) / 4;
            cr_assert_eq(ts_test_table_at(&run, "iterations", z), 40);
        }
        cr_assert(sqrt(square / (double)n) <= sqrt(bound) &&
                      sqrt(bound) < 20 * sqrt(square / (double)n) + 0.1,
                  "%s: %g from the minimum, bound %g", ways[w], sqrt(square / (double)n),
                  sqrt(bound));
        ts_test_run_clear(&run);
        free(minimum.data);
        free(in.data);
    }
}

/* Slices stop for themselves: one without noise after the first look. */
TEST_ON_BOTH(tv, stops_each_slice_at_the_tolerance)
{
    struct ts_image in = ts_test_image(2, 30, 30, TS_F32, VALUES_RANDOM, 3);
    struct stage_run run;
    for (int i = 0; i < 900; i++)
        ((float *)in.data)[i] = 5;
    cr_assert_eq(ts_test_run(&run, &tv_stage,
                             "weight=100 iterations=95 stop=distance tolerance=1.5", &in, NULL, 1,
                             1),
                 TS_OK);
    cr_assert_eq(ts_test_table_at(&run, "iterations", 0), 10);
    cr_assert_eq(ts_test_table_at(&run, "distance", 0), 0);
    cr_assert(isnan(ts_test_table_at(&run, "distance", 1)));
    const int done = (int)ts_test_table_at(&run, "iterations", 1);
    cr_assert(done > 10 && done < 95 && done % 10 == 0, "%d", done);
    cr_assert_gt(ts_test_table_at(&run, "distance", 10 + done / 10 - 2), 1.5);
    cr_assert_leq(ts_test_table_at(&run, "distance", 10 + done / 10 - 1), 1.5);
    cr_assert(isnan(ts_test_table_at(&run, "distance", 10 + done / 10)));
    ts_test_run_clear(&run);
    free(in.data);
}

/* A slice whose iterations end first says so in its table alone. */
TEST_ON_BOTH(tv, ends_above_a_tolerance_that_was_not_reached)
{
    struct ts_image in = ts_test_image(1, 30, 30, TS_F32, VALUES_RANDOM, 3);
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &tv_stage,
                             "weight=100 iterations=15 stop=distance tolerance=0.01", &in, NULL, 1,
                             1),
                 TS_OK);
    cr_assert_eq(ts_test_table_at(&run, "iterations", 0), 15);
    cr_assert_gt(ts_test_table_at(&run, "distance", 1), 0.01);
    ts_test_run_clear(&run);
    free(in.data);
}

/* A NaN spoils as many pixels on either side as there are iterations, and no more. */
TEST_ON_BOTH(tv, spreads_a_nan_by_a_pixel_an_iteration)
{
    struct ts_image in = ts_test_image(1, 1, 21, TS_F32, VALUES_RANDOM, 1);
    ((float *)in.data)[10] = NAN;
    struct ts_image out = ts_test_output(&tv_stage, "weight=1 iterations=3 method=chambolle", &in);
    for (int i = 0; i < 21; i++)
        cr_assert_eq(isnan(((const float *)out.data)[i]), abs(i - 10) <= 3, "%d", i);
    free(in.data);
    free(out.data);
}

Test(tv, refuses_a_stop_without_its_number_and_a_number_without_its_stop)
{
    ts_test_refused(&tv_stage, "weight=1 tolerance=2", TS_F32, false, "parameter-unused");
    ts_test_refused(&tv_stage, "weight=1 stop=distance", TS_F32, false, "tolerance-missing");
    ts_test_refused(&tv_stage, "weight=0", TS_F32, false, "parameter-range");
}
