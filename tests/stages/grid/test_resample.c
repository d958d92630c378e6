/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/grid/resample.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/grid/grid_check.h"
#include "tests/stages/grid/samples_oracle.h"

TestSuite(resample);

#define FLOATS TS_DTYPE_BIT(TS_F32)
/* Sums in float may be rounded to the other side of a half: results are within 1/2 of the sum that
 * is not rounded. */
#define FEW .dtypes = TS_DTYPE_BIT(TS_I16) | TS_DTYPE_BIT(TS_U32), .absolute = 0.5
#define INTEGERS .dtypes = TS_ANY_INTEGER, .absolute = 0.5

TEST_ON_BOTH(resample, agrees_with_the_definition)
{
    const struct stage_case cases[] = {
        {.assignments = "spacing=0.9", .dtypes = FLOATS},
        {.assignments = "spacing=0.9", INTEGERS},
        {.assignments = "spacing=0.33,0.51 interpolation=cubic", .dtypes = FLOATS},
        {.assignments = "spacing=0.33,0.51 interpolation=cubic", INTEGERS},
        {.assignments = "shape=13,9,5 interpolation=cubic outside=7", .dtypes = FLOATS},
        {.assignments = "shape=13,9,5 interpolation=cubic outside=7", INTEGERS},
        {.assignments = "shape=64,3,2", .dtypes = FLOATS},
        {.assignments = "shape=5,40,9", .values = VALUES_EXTREME, INTEGERS},
        {.assignments = "shape=31,67 interpolation=cubic", .values = VALUES_EXTREME, INTEGERS},
    };
    const struct stage_case exact[] = {
        {.assignments = "spacing=1.3 interpolation=nearest"},
        {.assignments = "shape=7,11,3 interpolation=nearest", .values = VALUES_EXTREME},
        {.assignments = "shape=5,4 interpolation=nearest", .nz = 3, .ny = 8, .nx = 10},
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_stage_check(&resample_stage, ts_resample_unrounded, cases, n), 8 * (4 + 5 * 6));
    cr_assert_eq(ts_stage_check(&resample_stage, ts_resample_oracle, exact, 3), 2 * 8 * 7 + 7);
}

/* The slices of these images are 4 times as far apart as the columns, so that nnU-Net's are resized
 * one by one. */
TEST_ON_BOTH(resample, agrees_with_the_definition_of_each_convention)
{
    static const char *const cases[] = {
        "spacing=0.4 interpolation=bspline3",
        "shape=13,9,5 interpolation=bspline3 outside=7",
        "spacing=0.33,0.51 interpolation=bspline3 convention=itk",
        "shape=40,21,9 interpolation=bspline3 convention=itk",
        "spacing=0.45,0.8,1.1 convention=scipy_zoom",
        "shape=64,3,2 convention=scipy_zoom",
        "shape=1,5,1 convention=scipy_zoom",
        "spacing=0.6 interpolation=linear convention=scipy_zoom",
        "spacing=0.4,0.9,3 convention=totalsegmentator",
        "shape=31,67,5 convention=skimage_resize",
        "shape=31,67,5 interpolation=bspline3 convention=skimage_resize",
        "shape=5,4,3 interpolation=bspline3 convention=skimage_resize antialias=true",
        "shape=9,3,12 convention=skimage_resize antialias=true",
        "shape=6,5,3 interpolation=nearest convention=skimage_resize antialias=true",
        "spacing=0.4,0.5,0.9 convention=nnunet",
        "spacing=0.3,0.3,3 convention=nnunet",
        "shape=11,13,4 interpolation=cubic convention=nnunet",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct stage_case each[] = {
            {.assignments = cases[i], .dtypes = FLOATS, .nz = 1, .ny = 8, .nx = 33},
            {.assignments = cases[i], FEW, .nz = 5, .ny = 9, .nx = 14},
            {.assignments = cases[i],
             .values = VALUES_EXTREME,
             INTEGERS,
             .nz = 3,
             .ny = 7,
             .nx = 8},
            {.assignments = cases[i], .dtypes = FLOATS, .nz = 23, .ny = 3, .nx = 40},
        };
        ts_stage_check(&resample_stage, ts_resample_unrounded, each, 4);
    }
    const struct stage_case exact[] = {
        {.assignments = "spacing=0.6 interpolation=nearest convention=scipy_zoom"},
        {.assignments = "shape=7,11,3 interpolation=nearest convention=nnunet"},
        {.assignments = "spacing=0.3,0.4 interpolation=labels", .values = VALUES_EXTREME},
        {.assignments = "shape=9,21,5 interpolation=labels convention=nnunet"},
    };
    ts_stage_check(&resample_stage, ts_resample_oracle, exact, 4);
}

TEST_ON_BOTH(resample, takes_the_grid_of_another_image)
{
    static const char *const interpolations[] = {
        "like=other outside=5 interpolation=nearest", "like=other outside=5",
        "like=other interpolation=cubic", "like=other interpolation=bspline3",
        "like=other interpolation=bspline3 "
        "convention=itk"};
    static const enum ts_dtype dtypes[] = {TS_F32, TS_I16, TS_U8, TS_U32};
    static const double places[][3] = {
        {0, 0, 0}, {0.3, -0.2, 0}, {0, 0, 0.3}, {1.4, 0.1, -0.2}, {3.14159265358979, 0, 0}};
    for (int i = 0; i < 5; i++)
        for (int d = 0; d < 4; d++)
            for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
                struct ts_image in = ts_test_image(4, 9, 14, dtypes[d], VALUES_RANDOM, 7),
                                like = ts_test_image(5, 8, 11, TS_U8, VALUES_CONSTANT, 1);
                like.axes[2].spacing = 0.45;
                ts_grid_place(&in, places[p][0], places[p][1], places[p][2]);
                ts_grid_place(&like, 0, 0, i == 1 ? 0.25 : 0);
                like.origin_mm[0] -= p == 4 ? 3 : 0;
                ts_grid_check(&resample_stage, ts_resample_unrounded, interpolations[i], &in,
                              &like);
                free(in.data);
                free(like.data);
            }
}

/* An image on its own grid, or on one that is shifted by whole pixels, keeps its values, beside a
 * NaN too. */
TEST_ON_BOTH(resample, copies_where_the_grids_coincide)
{
    static const char *const interpolations[] = {"", "interpolation=cubic", "interpolation=nearest",
                                                 "interpolation=bspline3"};
    for (int k = 0; k < 4; k++) {
        struct ts_image in = ts_test_image(3, 5, 9, TS_F32, VALUES_RANDOM, 3), like = in;
        char given[64];
        struct stage_run run;
        snprintf(given, sizeof given, "like=other %s", interpolations[k]);
        ts_grid_place(&in, 0.4, 0.3, 0);
        like = in;
        like.axes[2].n = 7;
        for (int d = 0; d < 3; d++)
            like.origin_mm[d] += 2 * 0.5 * in.direction[d];
        ((float *)in.data)[4] = NAN;
        cr_assert_eq(ts_test_run(&run, &resample_stage, given, &in, &like, 0, 1), TS_OK);
        cr_expect(!memcmp(run.out.direction, like.direction, sizeof like.direction));
        cr_expect(!memcmp(run.out.origin_mm, like.origin_mm, sizeof like.origin_mm));
        for (int i = 0; i < 15 * 7; i++) {
            const float found = ((float *)run.out.data)[i],
                        expected = ((float *)in.data)[i / 7 * 9 + 2 + i % 7];
            cr_assert(found == expected || (isnan(found) && isnan(expected)), "%s: %d", given, i);
        }
        ts_test_run_clear(&run);
        free(in.data);
    }
}

/* Twice the pixels of half the size: the middle of the field stays, and so do its edges. */
Test(resample, keeps_the_field)
{
    struct ts_image in = ts_test_image(4, 6, 10, TS_F32, VALUES_RANDOM, 3);
    struct stage_run run;
    in.origin_mm[0] = -40;
    in.axes[2].first = 3;
    cr_assert_eq(ts_test_run(&run, &resample_stage, "spacing=0.25,0.35", &in, NULL, 0, 1), TS_OK);
    cr_expect(run.out.axes[0].n == 4 && run.out.axes[1].n == 12 && run.out.axes[2].n == 20);
    cr_expect_float_eq(run.out.axes[2].spacing, 0.25, 1e-12);
    cr_expect_float_eq(run.out.axes[2].first, 3 - 0.125, 1e-12);
    cr_expect_float_eq(run.out.origin_mm[0], -40.125, 1e-12);
    cr_expect_float_eq(run.out.origin_mm[1], -0.175, 1e-12);
    cr_expect_eq(run.out.step_z_mm[2], 2);
    ts_test_run_clear(&run);
    cr_assert_eq(ts_test_run(&run, &resample_stage, "shape=5,6,2", &in, NULL, 0, 1), TS_OK);
    cr_expect(run.out.axes[0].n == 2 && run.out.step_z_mm[2] == 4 && run.out.axes[0].spacing == 4);
    cr_expect_float_eq(run.out.origin_mm[2], 1, 1e-12);
    ts_test_run_clear(&run);
    cr_assert_eq(ts_test_run(&run, &resample_stage, "spacing=3", &in, NULL, 0, 1),
                 TS_OK); /* 8, 4.2 and 5 mm */
    cr_expect(run.out.axes[0].n == 3 && run.out.axes[1].n == 1 && run.out.axes[2].n == 2);
    ts_test_run_clear(&run);
    free(in.data);
}

/* Halfway between two samples, nearest takes the later one and linear rounds half to even. */
Test(resample, ties_and_halves)
{
    struct ts_image in = ts_test_image(1, 1, 6, TS_U8, VALUES_CONSTANT, 1);
    memcpy(in.data, (uint8_t[]){1, 2, 3, 4, 250, 255}, 6);
    const struct ts_image nearest =
        ts_test_output(&resample_stage, "shape=3,1 interpolation=nearest", &in);
    cr_expect(!memcmp(nearest.data, (uint8_t[]){2, 4, 255}, 3));
    const struct ts_image linear = ts_test_output(&resample_stage, "shape=3,1", &in);
    cr_expect(!memcmp(linear.data, (uint8_t[]){2, 4, 252}, 3)); /* 1.5, 3.5, 252.5 */
    free(nearest.data);
    free(linear.data);
    free(in.data);
}

/* 0 0 1 0 0, mirrored at its ends, has the coefficients 1/4, -1/2, 7/4, -1/2, 1/4: between two
 * samples the weights are 1, 23, 23 and 1 of 48. */
Test(resample, splines_by_hand)
{
    struct ts_image in = ts_test_image(1, 1, 5, TS_F32, VALUES_CONSTANT, 1);
    memcpy(in.data, (float[]){0, 0, 1, 0, 0}, 20);
    const struct ts_image out =
        ts_test_output(&resample_stage, "shape=9,1 convention=scipy_zoom", &in);
    const float expected[] = {0, -0.09375F, 0, 0.59375F, 1, 0.59375F, 0, -0.09375F, 0};
    cr_assert_eq(out.axes[2].n, 9);
    for (int i = 0; i < 9; i++)
        cr_expect_float_eq(((float *)out.data)[i], expected[i], 2e-7, "%d", i);
    cr_expect_float_eq(out.axes[2].spacing, in.axes[2].spacing / 2, 1e-12);
    free(out.data);
    free(in.data);
}

/* A slice by itself is repeated, as SciPy does. */
Test(resample, repeats_a_single_slice)
{
    static const char *const given[] = {
        "shape=4,4,3 convention=scipy_zoom", "shape=4,4,3 convention=totalsegmentator",
        "shape=4,4,3 convention=nnunet", "shape=4,4,3 convention=skimage_resize"};
    struct ts_image in = ts_test_image(1, 3, 4, TS_F32, VALUES_RANDOM, 5);
    for (int i = 0; i < 4; i++) {
        const struct ts_image out = ts_test_output(&resample_stage, given[i], &in);
        const float *values = out.data;
        cr_assert_eq(out.axes[0].n, 3);
        for (int k = 16; k < 48; k++)
            cr_expect_float_eq(values[k], values[k % 16], 1e-2, "%s: %d", given[i], k);
        free(out.data);
    }
    free(in.data);
}

/* A label needs half of the weights: at the middle of two the larger one has them, and where three
 * labels meet none may have. */
Test(resample, labels_by_hand)
{
    struct ts_image in = ts_test_image(1, 2, 2, TS_U8, VALUES_CONSTANT, 1);
    memcpy(in.data, (uint8_t[]){7, 3, 7, 3}, 4);
    const struct ts_image tie =
        ts_test_output(&resample_stage, "shape=1,2 interpolation=labels", &in);
    cr_expect(!memcmp(tie.data, (uint8_t[]){7, 7}, 2));
    memcpy(in.data, (uint8_t[]){7, 3, 1, 9}, 4);
    const struct ts_image none =
        ts_test_output(&resample_stage, "shape=1,1 interpolation=labels", &in);
    cr_expect_eq(*(uint8_t *)none.data, 0);
    free(tie.data);
    free(none.data);
    free(in.data);
}

/* 10 samples of 0.5 mm in voxels of 2 mm are 2.5: Python rounds that to 2, and so do the programs
 * that it drives. */
Test(resample, rounds_as_the_convention_does)
{
    static const char *const names[] = {"center",         "itk",    "scipy_zoom",
                                        "skimage_resize", "nnunet", "totalsegmentator"};
    struct ts_image in = ts_test_image(2, 6, 10, TS_F32, VALUES_CONSTANT, 1);
    for (int i = 0; i < 6; i++) {
        char given[64];
        snprintf(given, sizeof given, "spacing=2,0.7 convention=%s", names[i]);
        const struct ts_image out = ts_test_output(&resample_stage, given, &in);
        cr_expect_eq(out.axes[2].n, i < 2 ? 3 : 2, "%s", names[i]);
        free(out.data);
    }
    free(in.data);
}

Test(resample, refuses_what_a_convention_does_not_say)
{
    struct ts_image in = ts_test_image(2, 3, 4, TS_U8, VALUES_CONSTANT, 1);
    ts_test_refuses(&resample_stage, "like=other convention=nnunet", &in, &in,
                    "resample-convention", "center or itk");
    ts_test_refuses(&resample_stage, "shape=2,2 antialias=true", &in, NULL, "resample-convention",
                    "skimage_resize");
    ts_test_refuses(&resample_stage,
                    "shape=2,2 antialias=true convention=skimage_resize interpolation=labels", &in,
                    NULL, "resample-convention", "labels");
    in.axes[2].spacing = 9;
    ts_test_refuses(&resample_stage, "shape=2,2 convention=nnunet", &in, NULL,
                    "resample-convention", "reorient");
    free(in.data);
}

Test(resample, refuses_grids_that_it_cannot_make)
{
    const double positions[] = {0, 1, 3};
    struct ts_image in = ts_test_image(2, 3, 4, TS_U8, VALUES_CONSTANT, 1), other = in;
    ts_test_refuses(&resample_stage, "", &in, NULL, "resample-grid", "no grid");
    ts_test_refuses(&resample_stage, "spacing=1 shape=2,3", &in, NULL, "resample-grid", "several");
    ts_test_refuses(&resample_stage, "spacing=1,2,3,4", &in, NULL, "resample-list", "[x, y, z]");
    ts_test_refuses(&resample_stage, "shape=4", &in, NULL, "resample-list", "[x, y]");
    ts_test_refuses(&resample_stage, "shape=2.5,4", &in, NULL, "resample-list", "2.5");
    ts_test_refuses(&resample_stage, "spacing=0.000001", &in, NULL, "resample-size", "1048576");
    ts_test_refuses(&resample_stage, "spacing=1 outside=-1", &in, NULL, "value-range", "");
    other.has_geometry = false;
    ts_test_refuses(&resample_stage, "like=other", &in, &other, "resample-like", "it does not");
    other = in;
    other.origin_mm[1] += 1000;
    ts_test_refuses(&resample_stage, "like=other", &in, &other, "resample-apart",
                    "none of its voxels");
    other = in;
    other.axes[0].spacing = 0;
    ts_test_refuses(&resample_stage, "like=other", &in, &other, "resample-like", "along z of it");
    ts_test_refuses(&resample_stage, "spacing=1", &other, NULL, "resample-spacing", "[x, y]");
    other.axes[1].positions = positions;
    ts_test_refuses(&resample_stage, "spacing=1,1", &other, NULL, "axis-uneven", "along y");
    free(ts_test_output(&resample_stage, "spacing=1,0.7 outside=3", &in).data);
    free(in.data);
}
