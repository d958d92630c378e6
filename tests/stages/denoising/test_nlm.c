/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/denoising/nlm.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/counting/noise_estimate_oracle.h"
#include "tests/stages/denoising/nlm_oracle.h"
#include "tests/support/stage_run.h"

TestSuite(nlm);

/* The image becomes floats first, so one row of each table has every type. */
enum { SOME = TS_DTYPE_BIT(TS_F32) | TS_DTYPE_BIT(TS_I16) };

TEST_ON_BOTH(nlm, agrees_with_the_definition_in_2d)
{
    static const struct stage_case cases[] = {
        {.assignments = "patch_size=3 patch_distance=2"},
        {.assignments = "patch_size=3 patch_distance=2 scope=slice estimate=immerkaer",
         .dtypes = SOME,
         .values = VALUES_CT},
        {.assignments = "patch_size=1 patch_distance=1 sigma=500 border=nearest",
         .dtypes = TS_DTYPE_BIT(TS_F32)},
        {.assignments = "patch_size=5 patch_distance=3 sigma=0 h=900 border=wrap",
         .dtypes = TS_DTYPE_BIT(TS_F32)},
        {.assignments =
             "patch_size=3 patch_distance=2 noise=rician sigma=20 h=30 border=constant constant=7",
         .dtypes = SOME,
         .values = VALUES_CT},
        {.assignments = "patch_size=3 patch_distance=4 border=reflect",
         .dtypes = SOME,
         .values = VALUES_CONSTANT},
        {.assignments = "patch_size=7 patch_distance=11 sigma=60",
         .nz = 2,
         .ny = 21,
         .nx = 37,
         .dtypes = SOME,
         .values = VALUES_CT},
        {.assignments = "patch_size=9 patch_distance=3 sigma=60",
         .nz = 1,
         .ny = 13,
         .nx = 70,
         .dtypes = SOME,
         .values = VALUES_CT},
        {.assignments = "patch_size=11 patch_distance=20",
         .nz = 1,
         .ny = 5,
         .nx = 9,
         .dtypes = SOME,
         .values = VALUES_CT},
        /* More than one block of the CPU, and of CUDA, along both axes. */
        {.assignments = "patch_size=3 patch_distance=2 sigma=40",
         .nz = 1,
         .ny = 135,
         .nx = 523,
         .values = VALUES_CT,
         .dtypes = TS_DTYPE_BIT(TS_F32) | TS_DTYPE_BIT(TS_U8)},
    };
    cr_assert_geq(ts_stage_check(&nlm_stage, ts_nlm_oracle, cases, sizeof cases / sizeof *cases),
                  8 * 7 + 8 * 8);
}

TEST_ON_BOTH(nlm, agrees_with_the_definition_in_3d)
{
    static const struct stage_case cases[] = {
        {.assignments = "dimensions=3d patch_size=3 patch_distance=1",
         .dtypes = SOME,
         .values = VALUES_CT},
        {.assignments =
             "dimensions=3d patch_size=3 patch_distance=2 sigma=50 border=wrap noise=rician",
         .dtypes = TS_DTYPE_BIT(TS_F32),
         .values = VALUES_CT},
        {.assignments =
             "dimensions=3d patch_size=1 patch_distance=3 scope=slice border=constant constant=3",
         .nz = 4,
         .ny = 9,
         .nx = 35,
         .values = VALUES_CT},
        {.assignments = "dimensions=3d patch_size=5 patch_distance=2 sigma=300",
         .nz = 3,
         .ny = 20,
         .nx = 33,
         .dtypes = TS_DTYPE_BIT(TS_F32)},
        {.assignments = "dimensions=3d patch_size=7 patch_distance=3 sigma=300",
         .nz = 2,
         .ny = 6,
         .nx = 11,
         .dtypes = TS_DTYPE_BIT(TS_F32)},
        /* A tile of this search window fits no shared memory. */
        {.assignments = "dimensions=3d patch_size=3 patch_distance=12 sigma=300",
         .nz = 2,
         .ny = 3,
         .nx = 5,
         .dtypes = SOME},
    };
    cr_assert_geq(ts_stage_check(&nlm_stage, ts_nlm_oracle, cases, sizeof cases / sizeof *cases),
                  8 * 3 + 7);
}

/* Two values and no noise: with patches of one pixel, only equal pixels have a weight, and each
 * comes out as it was. */
TEST_ON_BOTH(nlm, means_of_equal_patches_change_nothing)
{
    struct ts_image in = ts_test_image(1, 6, 40, TS_U8, VALUES_CONSTANT, 1);
    struct stage_run run;
    for (int i = 0; i < 240; i++)
        ((uint8_t *)in.data)[i] = i % 7 < 3 ? 10 : 200;
    cr_assert_eq(
        ts_test_run(&run, &nlm_stage, "patch_size=1 patch_distance=3 sigma=0 h=0", &in, NULL, 0, 1),
        TS_OK);
    for (int i = 0; i < 240; i++)
        cr_assert_float_eq(((const float *)run.out.data)[i], i % 7 < 3 ? 10 : 200, 1e-4);
    ts_test_run_clear(&run);
    free(in.data);
}

/* With an h far above all differences every weight is 1, so that the result is the mean of the
 * window. */
TEST_ON_BOTH(nlm, a_large_h_gives_the_mean_of_the_window)
{
    struct ts_image in = ts_test_image(1, 1, 7, TS_F32, VALUES_CONSTANT, 1);
    static const float values[] = {9, 0, 3, 6, 0, 12, 3};
    struct stage_run run;
    memcpy(in.data, values, sizeof values);
    cr_assert_eq(ts_test_run(&run, &nlm_stage,
                             "patch_size=1 patch_distance=1 sigma=0 h=1e6 border=mirror", &in, NULL,
                             0, 1),
                 TS_OK);
    static const float expected[] = {
        3, 4, 3, 3, 6, 5, 9}; /* mirror: the sample beside the first one lies before it */
    for (int i = 0; i < 7; i++)
        cr_assert_float_eq(((const float *)run.out.data)[i], expected[i], 1e-4, "value %d is %g", i,
                           (double)((const float *)run.out.data)[i]);
    ts_test_run_clear(&run);
    free(in.data);
}

/* NaN and infinities stay where they are, and reach no other pixel. */
TEST_ON_BOTH(nlm, keeps_what_is_not_finite)
{
    struct ts_image in = ts_test_image(2, 24, 50, TS_F32, VALUES_CT, 3);
    static const char *const cases[] = {"patch_size=3 patch_distance=2 sigma=30",
                                        "patch_size=3 patch_distance=2 noise=rician sigma=30",
                                        "patch_size=3 patch_distance=2 dimensions=3d"};
    const size_t n = ts_image_count(&in);
    float *data = in.data;
    data[0] = NAN;
    data[130] = INFINITY;
    data[132] = NAN;
    data[1400] = -INFINITY;
    data[1401] = 2e18f;
    double *values = malloc(2 * n * sizeof *values), *expected = values + n;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &nlm_stage, cases[c], &in, NULL, 1, 2), TS_OK);
        ts_load_f64(values, data, TS_F32, n);
        ts_nlm_oracle(&run.context, values, expected);
        for (size_t i = 0; i < n; i++) {
            const float found = ((const float *)run.out.data)[i];
            if (!(fabsf(data[i]) < 1e18f))
                cr_assert(!memcmp(&found, &data[i], sizeof found), "%s: value %zu is %g", cases[c],
                          i, (double)found);
            else
                cr_assert_float_eq((double)found, expected[i], 0.05, "%s: value %zu is %g, not %g",
                                   cases[c], i, (double)found, expected[i]);
        }
        ts_test_run_clear(&run);
    }
    free(values);
    free(in.data);
}

/* The tables hold what the noise estimate gives, per slice or once. */
TEST_ON_BOTH(nlm, records_sigma_and_h)
{
    struct ts_image in = ts_test_image(3, 30, 40, TS_I16, VALUES_CT, 3);
    struct stage_run run;
    double values[3600];
    ts_load_f64(values, in.data, TS_I16, 3600);
    cr_assert_eq(ts_test_run(&run, &nlm_stage, "patch_distance=1 scope=slice", &in, NULL, 1, 2),
                 TS_OK);
    for (int64_t z = 0; z < 3; z++) {
        const double sigma = ts_wavelet_noise_oracle(values + 1200 * z, 1, 30, 40);
        cr_assert_float_eq(ts_test_table_at(&run, "sigma", z), sigma, 1e-6 * sigma);
        cr_assert_float_eq(ts_test_table_at(&run, "h", z), 0.8 * sigma, 1e-6 * sigma);
    }
    ts_test_run_clear(&run);
    cr_assert_eq(
        ts_test_run(&run, &nlm_stage, "patch_distance=1 estimate=immerkaer h=5", &in, NULL, 1, 2),
        TS_OK);
    cr_assert_float_eq(ts_test_table_at(&run, "sigma", 0), ts_immerkaer_oracle(values, 3, 30, 40),
                       1e-9);
    cr_assert_eq(ts_test_table_at(&run, "h", 0), 5);
    ts_test_run_clear(&run);
    free(in.data);
}

Test(nlm, refuses_what_has_no_meaning)
{
    ts_test_refused(&nlm_stage, "patch_size=4", TS_F32, false, "patch-even");
    ts_test_refused(&nlm_stage, "h=1,2", TS_F32, false, "one-number");
    ts_test_refused(&nlm_stage, "sigma=1,2", TS_F32, false, "one-number");
    ts_test_refused(&nlm_stage, "noise=rician", TS_F32, false, "sigma-missing");
    ts_test_refused(&nlm_stage, "border=constant constant=-1", TS_U8, false, "value-range");
    ts_test_refused(&nlm_stage, "sigma=5 estimate=wavelet", TS_F32, false, "parameter-unused");
    ts_test_refused(&nlm_stage, "sigma=5 scope=slice", TS_F32, false, "parameter-unused");
    ts_test_refused(&nlm_stage, "border=mirror constant=1", TS_F32, false, "parameter-unused");
}

Test(nlm, takes_rician_noise_of_magnitudes_alone)
{
    static const enum ts_quantity refused[] = {TS_HU, TS_LINE_INTEGRAL, TS_ATTENUATION};
    struct ts_image in = ts_test_image(1, 6, 8, TS_F32, VALUES_CONSTANT, 1);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        in.quantity = refused[i];
        ts_test_refuses(&nlm_stage, "noise=rician sigma=20", &in, NULL, "noise-quantity",
                        "MR magnitudes");
    }
    free(in.data);
}
