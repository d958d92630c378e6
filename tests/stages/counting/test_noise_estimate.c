/* SPDX-License-Identifier: Apache-2.0
 *
 * The noise estimate, through the stage statistics.
 */
#include "stages/counting/noise_estimate.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/counting/noise_estimate_oracle.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(noise_estimate);

static void near(double found, double expected, double scale, const char *what)
{
    cr_assert((isnan(found) && isnan(expected)) || fabs(found - expected) <= scale * fabs(expected),
              "%s: %.17g, expected %.17g", what, found, expected);
}

/* A coefficient is rounded to a float, by one part in 2^24 at most. */
static void compare(const struct stage_run *run, const double *values, const struct ts_image *in,
                    const char *what)
{
    const int64_t nz = in->axes[0].n, ny = in->axes[1].n, nx = in->axes[2].n;
    const bool whole = ts_test_table(run, "noise_wavelet")->rank == 0;
    for (int64_t z = 0; z < (whole ? 1 : nz); z++) {
        const double *from = values + (size_t)(z * ny * nx);
        near(ts_test_table_at(run, "noise_immerkaer", z),
             ts_immerkaer_oracle(from, whole ? nz : 1, ny, nx), 1e-12, what);
        near(ts_test_table_at(run, "noise_wavelet", z),
             ts_wavelet_noise_oracle(from, whole ? nz : 1, ny, nx), 6e-8, what);
    }
}

/* Slabs and threads do not matter to the bit. */
static void check_image(const char *assignments, const struct ts_image *in, const char *what)
{
    const size_t n = ts_image_count(in);
    double *values = malloc(n * sizeof *values);
    struct stage_run first = {0};
    ts_load_f64(values, in->data, in->dtype, n);
    for (int64_t slab = 0; slab < 4 && (slab == 0 || slab < in->axes[0].n); slab++) {
        struct stage_run run;
        cr_assert_eq(
            ts_test_run(&run, &statistics_stage, assignments, in, NULL, slab, 1 + (int)slab),
            TS_OK);
        if (slab == 0) {
            first = run;
            compare(&first, values, in, what);
            continue;
        }
        for (int i = 0; i < 2; i++) {
            const char *name = i ? "noise_wavelet" : "noise_immerkaer";
            const struct ts_image *table = ts_test_table(&run, name),
                                  *expected = ts_test_table(&first, name);
            cr_assert(!memcmp(table->data, expected->data, ts_image_bytes(table)),
                      "%s: other bytes of %s, slabs of %d", what, name, (int)slab);
        }
        ts_test_run_clear(&run);
    }
    ts_test_run_clear(&first);
    free(values);
}

TEST_ON_BOTH(noise_estimate, agrees_with_the_definitions)
{
    static const char *const cases[] = {
        "noise=both", "noise=both scope=slice", "noise=both percentiles=50",
        "noise=both scope=slice percentiles=50",
        "noise=both scope=slice percentiles=50 percentile_method=sort"};
    static const int64_t shapes[][3] = {{1, 1, 1},  {2, 2, 3},   {5, 23, 41}, {3, 1, 7},
                                        {4, 30, 1}, {2, 9, 517}, {1, 5, 1030}};
    size_t compared = 0;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
                for (int values = VALUES_RANDOM; values <= VALUES_EXTREME; values++) {
                    if (ts_test_few() && (c + s + (size_t)dtype) % 9 != 0)
                        continue;
                    struct ts_image in =
                        ts_test_image(shapes[s][0], shapes[s][1], shapes[s][2],
                                      (enum ts_dtype)dtype, (enum stage_values)values, 31);
                    char what[128];
                    snprintf(what, sizeof what, "{%s} %s shape %zu values %d", cases[c],
                             ts_dtype_name((enum ts_dtype)dtype), s, values);
                    check_image(cases[c], &in, what);
                    compared++;
                    free(in.data);
                }
    cr_assert_gt(compared, 100);
}

/* Windows that hold a NaN or an infinity are left out; where all do, there is no estimate. */
TEST_ON_BOTH(noise_estimate, leaves_out_what_is_not_finite)
{
    for (int slice = 0; slice < 2; slice++) {
        struct ts_image in = ts_test_image(3, 12, 17, TS_F32, VALUES_RANDOM, 4);
        float *data = in.data;
        data[5] = NAN;
        data[17 * 12 + 100] = INFINITY;
        data[17 * 12 + 130] = -INFINITY;
        for (int i = 0; i < 17 * 12; i++)
            data[2 * 17 * 12 + i] = NAN;
        check_image(slice ? "noise=both scope=slice" : "noise=both", &in, "odd floats");
        free(in.data);
    }
}

/* Neither estimate sees a plane, exactly: the coefficients are 0, and there is no other. */
TEST_ON_BOTH(noise_estimate, does_not_see_a_plane)
{
    struct ts_image in = ts_test_image(1, 16, 20, TS_F32, VALUES_CONSTANT, 1);
    struct stage_run run;
    for (int y = 0; y < 16; y++)
        for (int x = 0; x < 20; x++)
            ((float *)in.data)[20 * y + x] = 1000.25f + 3.5f * (float)y - 0.125f * (float)x;
    cr_assert_eq(ts_test_run(&run, &statistics_stage, "noise=immerkaer", &in, NULL, 0, 1), TS_OK);
    cr_assert_eq(ts_test_table_at(&run, "noise_immerkaer", 0), 0);
    ts_test_run_clear(&run);
    for (int i = 0; i < 320; i++)
        ((float *)in.data)[i] = 0.1f;
    cr_assert_eq(ts_test_run(&run, &statistics_stage, "noise=wavelet", &in, NULL, 0, 1), TS_OK);
    cr_assert(isnan(ts_test_table_at(&run, "noise_wavelet", 0)));
    ts_test_run_clear(&run);
    free(in.data);
}

/* Coefficients of values near the largest float are larger than it. The number is right to what the
 * page promises. */
TEST_ON_BOTH(noise_estimate, has_the_page_s_accuracy_at_the_ends_of_floats)
{
    static const double scales[] = {1, 0x1p-120, 0x1p127};
    struct ts_image in = ts_test_image(1, 33, 40, TS_F32, VALUES_CONSTANT, 1);
    const size_t n = ts_image_count(&in);
    double *values = malloc(n * sizeof *values);
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
        struct stage_run run;
        uint64_t state = 5;
        for (size_t i = 0; i < n; i++) {
            const double sign = (i % 40 + i / 40) % 2
                                    ? -1
                                    : 1; /* the largest coefficients are those of a checkerboard */
            ((float *)in.data)[i] = (float)(scales[k] * sign * (1.5 + ts_random_unit(&state) / 4));
        }
        ts_load_f64(values, in.data, TS_F32, n);
        cr_assert_eq(ts_test_run(&run, &statistics_stage, "noise=both", &in, NULL, 0, 1), TS_OK);
        near(ts_test_table_at(&run, "noise_immerkaer", 0), ts_immerkaer_oracle(values, 1, 33, 40),
             1e-12, "immerkaer");
        near(ts_test_table_at(&run, "noise_wavelet", 0), ts_wavelet_noise_oracle(values, 1, 33, 40),
             6e-8, "wavelet");
        ts_test_run_clear(&run);
    }
    free(values);
    free(in.data);
}

/* Twelve random numbers in [0, 1) add up to nearly normal ones of variance 1: both estimates find
 * what was added. */
TEST_ON_BOTH(noise_estimate, finds_the_noise_that_was_added)
{
    struct ts_image in = ts_test_image(2, 200, 300, TS_F32, VALUES_CONSTANT, 1);
    struct stage_run run;
    uint64_t state = 9;
    for (size_t i = 0; i < ts_image_count(&in); i++) {
        double sum = -6;
        for (int k = 0; k < 12; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            sum += (double)(state >> 11) * 0x1p-53;
        }
        ((float *)in.data)[i] = (float)(12.5 * sum + 0.3 * (double)(i % 300));
    }
    cr_assert_eq(ts_test_run(&run, &statistics_stage, "noise=both", &in, NULL, 0, 2), TS_OK);
    cr_assert_float_eq(ts_test_table_at(&run, "noise_immerkaer", 0), 12.5, 0.15);
    cr_assert_float_eq(ts_test_table_at(&run, "noise_wavelet", 0), 12.5, 0.15);
    ts_test_run_clear(&run);
    free(in.data);
}

/* Numbers of scikit-image 0.19.3, estimate_sigma() with PyWavelets, of an image of 7 x 9
 * integers. */
TEST_ON_BOTH(noise_estimate, wavelet_gives_the_number_of_skimage)
{
    struct ts_image in = ts_test_image(1, 7, 9, TS_U8, VALUES_CONSTANT, 1);
    struct stage_run run;
    for (int i = 0; i < 63; i++)
        ((uint8_t *)in.data)[i] = (uint8_t)(i * i * 37 % 101);
    cr_assert_eq(ts_test_run(&run, &statistics_stage, "noise=wavelet", &in, NULL, 0, 1), TS_OK);
    near(ts_test_table_at(&run, "noise_wavelet", 0), 24.182035911809802, 1e-6, "noise_wavelet");
    ts_test_run_clear(&run);
    free(in.data);
}
