/* SPDX-License-Identifier: Apache-2.0
 *
 * resample and unshear of masked images, against the definition in double: a voxel whose taps are
 * all valid is that of any other image; else it is the linear mean of the valid ones of the 8
 * samples around it, their weights divided by their sum, or, where the nearest sample is invalid,
 * that sample. test_padding.c has which voxels are valid.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/grid/resample.h"
#include "stages/grid/unshear.h"
#include "tests/stages/grid/grid_check.h"
#include "tests/stages/grid/samples_oracle.h"
#include "tests/support/masked.h"

TestSuite(masked_grid);

enum { NZ = 5, NY = 11, NX = 70 };

/* The image of the oracle, which cannot be told of a mask. */
static const struct ts_image *masked;

/* Fills *values with the image, its invalid pixels replaced by `value`. */
static void replace(const double *in, double value, double *values)
{
    for (size_t i = 0; i < NZ * NY * NX; i++)
        values[i] =
            ts_test_is_valid(masked, (int64_t)(i / (NY * NX)), i % (NY * NX)) ? in[i] : value;
}

/* Interpolation is linear in the image: of the valid values with 0 for others, over that of ones
 * with 0 for others. */
static void mean_of_valid(const struct stage_context *context, const double *in,
                          const double *nearest, enum interpolation interpolation, double outside,
                          double *out)
{
    const size_t n_in = NZ * NY * NX, n = ts_image_count(&context->out);
    double *ones = malloc((3 * n_in + 3 * n) * sizeof *ones), *values = ones + n_in,
           *holes = values + n_in, *sums = holes + n_in, *weights = sums + n,
           *touched = weights + n;
    struct stage_context plain = *context;
    plain.in.dtype = TS_F32; /* so that nothing is saturated */
    for (size_t i = 0; i < n_in; i++)
        holes[i] = 1;
    replace(holes, 0, ones);
    for (size_t i = 0; i < n_in; i++)
        holes[i] = 1 - ones[i];
    replace(in, 0, values);
    ts_samples_oracle(&plain, INTERPOLATION_LINEAR, 0, values, sums);
    ts_samples_oracle(&plain, INTERPOLATION_LINEAR, 0, ones, weights);
    /* A hole that has any weight shows in this sum, because the factors leave no two weights that
     * cancel. */
    for (size_t i = 0; i < n_in; i++)
        holes[i] *= 1e9 * (1 + 0.37 * (double)(i % 11));
    const bool spline = interpolation == INTERPOLATION_BSPLINE3;
    ts_samples_oracle(&plain, spline ? INTERPOLATION_CUBIC : interpolation, 0, holes, touched);
    if (spline)
        ts_resample_unrounded(context, in, out);
    else
        ts_samples_oracle(context, interpolation, outside, in, out);
    double *at_nearest = malloc(n * sizeof *at_nearest);
    ts_samples_oracle(&plain, INTERPOLATION_NEAREST, 1, ones,
                      at_nearest); /* 1 outside: the value stays */
    for (size_t i = 0; i < n; i++)
        out[i] = at_nearest[i] == 0     ? nearest[i]
                 : fabs(touched[i]) > 1 ? sums[i] / weights[i]
                                        : out[i];
    free(at_nearest);
    free(ones);
}

static void oracle(const struct stage_context *context, const double *in, double *out)
{
    const bool resamples = context->stage == &resample_stage;
    const struct resample_params *resample = context->params;
    const struct unshear_params *unshear = context->params;
    const int32_t interpolation = resamples ? resample->interpolation : unshear->interpolation;
    const double outside = resamples ? resample->outside : unshear->outside;
    double *nearest = malloc(ts_image_count(&context->out) * sizeof *nearest);
    ts_samples_oracle(context, INTERPOLATION_NEAREST, outside, in, nearest);
    mean_of_valid(context, in, nearest, (enum interpolation)interpolation, outside, out);
    free(nearest);
}

static void check(const struct stage *stage, const char *assignments, enum ts_dtype dtype,
                  enum masked_pixels which, const struct ts_image *like, double turn, double askew)
{
    struct ts_image image = ts_test_image(NZ, NY, NX, dtype, VALUES_CT, 61);
    ts_grid_place(&image, turn, turn / 2, askew);
    image.axes[2].spacing = 0.5;
    ts_test_mask(&image, which, 100, 62);
    masked = &image;
    ts_grid_check(stage, oracle, assignments, &image, like);
    free(image.data);
    free(image.valid);
}

TEST_ON_BOTH(masked_grid, resample_leaves_out_what_is_invalid)
{
    static const char *const grids[] = {"spacing=0.4",
                                        "spacing=0.7,0.4,1.3 interpolation=cubic",
                                        "shape=64,9,4",
                                        "shape=33,23,9 interpolation=nearest",
                                        "shape=70,11 interpolation=cubic",
                                        "spacing=0.7,0.4,1.3 interpolation=bspline3"};
    for (int g = 0; g < 6; g++) {
        for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
            check(&resample_stage, grids[g], (enum ts_dtype)dtype, MASKED_SOME, NULL, 0, 0);
        check(&resample_stage, grids[g], TS_I16, MASKED_ALL, NULL, 0, 0);
        check(&resample_stage, grids[g], TS_F32, MASKED_NONE, NULL, 0, 0);
    }
}

TEST_ON_BOTH(masked_grid, resample_like_another_image_does_so_too)
{
    static const char *const interpolations[] = {"like=other", "like=other interpolation=cubic",
                                                 "like=other interpolation=nearest outside=7",
                                                 "like=other interpolation=bspline3"};
    struct ts_image like = ts_test_image(6, 13, 40, TS_U8, VALUES_CONSTANT, 1);
    like.axes[2].spacing = 0.8;
    ts_grid_place(&like, 0.1, 0, 0.3);
    for (int i = 0; i < 4; i++) {
        check(&resample_stage, interpolations[i], TS_F32, MASKED_SOME, &like, 0.4, 0);
        check(&resample_stage, interpolations[i], TS_I16, MASKED_SOME, &like, 0.4, 0.2);
    }
    free(like.data);
}

TEST_ON_BOTH(masked_grid, unshear_leaves_out_what_is_invalid)
{
    static const char *const parameters[] = {"", "interpolation=cubic",
                                             "interpolation=nearest outside=9"};
    for (int i = 0; i < 3; i++) {
        check(&unshear_stage, parameters[i], TS_F32, MASKED_SOME, NULL, 0.2, 0.37);
        check(&unshear_stage, parameters[i], TS_U16, MASKED_SOME, NULL, 0, -0.9);
    }
}
