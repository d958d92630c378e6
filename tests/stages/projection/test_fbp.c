/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/projection/reconstruction.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/projection/filter.h"
#include "stages/projection/radon.h"
#include "tests/stages/projection/fbp_oracle.h"
#include "tests/support/scan_check.h"
#include "tests/support/stage_run.h"

TestSuite(fbp);

#define EVERY_METHOD(text, ...)                                                                    \
    {.assignments = text, __VA_ARGS__}, {.assignments = text " method=pixel", __VA_ARGS__},        \
        {.assignments = text " method=stack", __VA_ARGS__},                                        \
        {.assignments = text " method=tensor", __VA_ARGS__},                                       \
    {                                                                                              \
        .assignments = text " method=tensor-split", __VA_ARGS__                                    \
    }
#define FLOATS .dtypes = TS_DTYPE_BIT(TS_F32)

static size_t each_method(size_t n)
{
    return ts_test_device ? 5 * n : n;
}

/* Those that run here. */
static size_t n_methods(void)
{
    return !ts_test_device ? 1 : ts_test_device->code >= CUDA_TENSOR_CODE ? 5 : 3;
}

TEST_ON_BOTH(fbp, agrees_with_the_oracle)
{
    /* A single view as well. */
    static const struct stage_case cases[] = {
        EVERY_METHOD("gaps=accept"),
        EVERY_METHOD("gaps=accept filter=hann cutoff=0.7", FLOATS),
        EVERY_METHOD("gaps=accept filter=none rows=17 columns=8", FLOATS),
        EVERY_METHOD("gaps=accept filter=shepp rows=9 columns=14 pixel_size=0.31 row_spacing=0.47",
                     FLOATS),
        EVERY_METHOD("gaps=accept", .values = VALUES_CONSTANT, .dtypes = TS_DTYPE_BIT(TS_U8)),
    };
    cr_assert_eq(ts_stage_check(&fbp_stage, ts_fbp_oracle, cases, sizeof cases / sizeof *cases),
                 each_method(8 * (7 + 1 + 1 + 1 + 1)));
}

TEST_ON_BOTH(fbp, agrees_in_every_grouping_of_slices)
{
    static const struct stage_case cases[] = {
        EVERY_METHOD("", .nz = 23, .ny = 19, .nx = 30, .dtypes = TS_DTYPE_BIT(TS_U16)),
        EVERY_METHOD("filter=parzen", .nz = 67, .ny = 17, .nx = 40, FLOATS),
        EVERY_METHOD("", .nz = 165, .ny = 33, .nx = 14, FLOATS),
    };
    cr_assert_eq(ts_stage_check(&fbp_stage, ts_fbp_oracle, cases, sizeof cases / sizeof *cases),
                 each_method(3));
}

TEST_ON_BOTH(fbp, gives_the_same_bytes_in_20_runs_over_any_slabs)
{
    static const char *const methods[] = {"auto", "pixel", "stack", "tensor", "tensor-split"};
    static const int64_t slabs[] = {0, 1, 7, 32, 40, 64, 100, 129}, slabs_of_few[] = {40, 100};
    struct ts_image in = ts_test_image(131, 37, 45, TS_F32, VALUES_RANDOM, 3);
    ts_test_sinogram(&in);
    for (size_t m = 0; m < n_methods(); m++) {
        char text[64];
        struct stage_run first;
        snprintf(text, sizeof text, "method=%s", methods[m]);
        cr_assert_eq(ts_test_run(&first, &fbp_stage, text, &in, NULL, 0, 2), TS_OK);
        for (size_t i = 0; i < (ts_test_few() ? 2 : 20); i++) {
            struct stage_run again;
            const int64_t slab = ts_test_few() ? slabs_of_few[i] : slabs[i % 8];
            cr_assert_eq(ts_test_run(&again, &fbp_stage, text, &in, NULL, slab, 1 + (int)(i % 3)),
                         TS_OK);
            cr_assert(!memcmp(first.out.data, again.out.data, ts_image_bytes(&first.out)),
                      "%s, run %zu", text, i);
            ts_test_run_clear(&again);
        }
        ts_test_run_clear(&first);
    }
    free(in.data);
}

/* ---- what comes back ------------------------------------------------------------------------- */

/* A lopsided phantom: two boxes and a corner, so that a flip, a turn or a shift shows. */
static struct ts_image phantom(int64_t nz, int64_t ny, int64_t nx)
{
    struct ts_image image = ts_test_image(nz, ny, nx, TS_F32, VALUES_CONSTANT, 1);
    float *values = image.data;
    image.quantity = TS_ATTENUATION;
    image.unit = "1/mm";
    for (int64_t i = 0; i < nz * ny * nx; i++) {
        const int64_t y = i / nx % ny, x = i % nx;
        values[i] = y > ny / 4 && y < ny / 2 && x > nx / 4 && x < nx * 2 / 3           ? 0.02F
                    : y > ny * 3 / 5 && y < ny * 3 / 4 && x > nx / 2 && x < nx * 4 / 5 ? 0.05F
                                                                                       : 0;
    }
    image.origin_mm[0] = -31;
    image.origin_mm[1] = 12;
    image.origin_mm[2] = 5;
    return image;
}

/* Projected and reconstructed, it sits where it was, with its values and its unit. */
static void check_round_trip(const char *views, const char *size)
{
    struct ts_image in = phantom(2, 60, 74);
    struct stage_run projected, back;
    double error = 0, power = 0;
    cr_assert_eq(ts_test_run(&projected, &radon_stage, views, &in, NULL, 0, 2), TS_OK);
    cr_assert_eq(ts_test_run(&back, &fbp_stage, size, &projected.out, NULL, 0, 2), TS_OK);
    cr_assert_str_eq(back.out.unit, "1/mm");
    cr_assert_eq(back.out.quantity, TS_ATTENUATION);
    for (int i = 0; i < 3; i++)
        cr_assert_float_eq(back.out.origin_mm[i], in.origin_mm[i], 1e-9);
    cr_assert_eq(ts_image_count(&back.out), ts_image_count(&in));
    for (size_t i = 0; i < ts_image_count(&in); i++) {
        const double is = ((const float *)back.out.data)[i], was = ((const float *)in.data)[i];
        error += (is - was) * (is - was);
        power += was * was;
    }
    cr_assert(sqrt(error / power) <= 0.12, "%s: off by %g", views, sqrt(error / power));
    ts_test_run_clear(&back);
    ts_test_run_clear(&projected);
    free(in.data);
}

TEST_ON_BOTH(fbp, brings_a_projected_volume_back_to_its_place)
{
    const char *const size = "rows=60 columns=74 pixel_size=0.5 row_spacing=0.7";
    check_round_trip("views=180", size);
    check_round_trip("views=181 arc=181", size);
    check_round_trip("views=360 arc=360 start=33", size);
    check_round_trip("views=200 arc=-180 detectors=160 center=70.3", size);
}

TEST_ON_BOTH(fbp, is_filter_and_then_backproject)
{
    struct ts_image in = ts_test_image(5, 40, 51, TS_F32, VALUES_RANDOM, 8);
    ts_test_sinogram(&in);
    struct stage_run filtered, back, whole;
    cr_assert_eq(ts_test_run(&filtered, &filter_stage, "filter=cosine", &in, NULL, 0, 2), TS_OK);
    cr_assert_eq(ts_test_run(&back, &backproject_stage, "model=linear weights=angles",
                             &filtered.out, NULL, 0, 2),
                 TS_OK);
    cr_assert_eq(ts_test_run(&whole, &fbp_stage, "filter=cosine", &in, NULL, 0, 2), TS_OK);
    cr_assert_str_eq(back.out.unit, "1/mm");
    cr_assert(!memcmp(back.out.data, whole.out.data, ts_image_bytes(&whole.out)));
    ts_test_run_clear(&filtered);
    ts_test_run_clear(&back);
    ts_test_run_clear(&whole);
    free(in.data);
}

TEST_ON_BOTH(fbp, a_value_that_is_no_number_ends_the_run)
{
    struct ts_image in = ts_test_image(5, 12, 30, TS_F32, VALUES_RANDOM, 8);
    struct stage_run run;
    ts_test_sinogram(&in);
    ((float *)in.data)[3 * 360 + 77] = NAN;
    ((float *)in.data)[3 * 360 + 78] = INFINITY;
    for (int64_t slab = 0; slab < 3; slab++) {
        cr_assert_eq(ts_test_run(&run, &fbp_stage, "", &in, NULL, slab, 2), TS_BAD_INPUT);
        cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, "not-finite");
        cr_assert(strstr(ts_diag_get(run.diag, 0)->message,
                         "2 of 360 values of slice 3 are NaN or infinite"),
                  "%s", ts_diag_get(run.diag, 0)->message);
        cr_assert(strstr(ts_diag_get(run.diag, 0)->message,
                         "the first is in view 2 at detector pixel 17"),
                  "%s", ts_diag_get(run.diag, 0)->message);
        ts_test_run_clear(&run);
    }
    free(in.data);
}

/* ---- units and refusals ---------------------------------------------------------------------- */

static void check_unit(const char *unit, const char *text, const char *expected,
                       enum ts_quantity quantity)
{
    struct ts_image in = ts_test_image(1, 4, 5, TS_F32, VALUES_RANDOM, 8);
    struct stage_run run;
    ts_test_sinogram(&in);
    in.unit = unit;
    cr_assert_eq(ts_test_run(&run, &fbp_stage, text, &in, NULL, 0, 1), TS_OK);
    cr_expect_str_eq(run.out.unit, expected);
    cr_expect_eq(run.out.quantity, quantity);
    ts_test_run_clear(&run);
    free(in.data);
}

Test(fbp, gives_attenuation_out_of_line_integrals_and_mm)
{
    check_unit("1", "", "1/mm", TS_ATTENUATION);
    check_unit("HU mm", "", "HU", TS_HU);
    check_unit("mm", "", "1", TS_INTENSITY);
    check_unit("1", "filter=none", "1", TS_INTENSITY);
}

Test(fbp, refuses_angles_that_miss_a_part)
{
    static double angles[31];
    struct ts_image in = ts_test_image(1, 31, 5, TS_F32, VALUES_RANDOM, 8);
    struct stage_run run;
    ts_test_sinogram(&in);
    for (int i = 0; i < 31; i++)
        angles[i] = 4 * i;
    in.axes[1].positions = angles;
    cr_assert_eq(ts_test_run(&run, &fbp_stage, "", &in, NULL, 0, 1), TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, "angles-missing");
    cr_assert(
        strstr(ts_diag_get(run.diag, 0)->message, "between view 30 at 120 and view 0 at 0 degrees"),
        "%s", ts_diag_get(run.diag, 0)->message);
    ts_test_run_clear(&run);
    cr_assert_eq(ts_test_run(&run, &fbp_stage, "gaps=accept", &in, NULL, 0, 1), TS_OK);
    ts_test_run_clear(&run);
    in.axes[1].n = 1; /* a single view as well */
    cr_assert_eq(ts_test_run(&run, &fbp_stage, "gaps=accept", &in, NULL, 0, 1), TS_OK);
    ts_test_run_clear(&run);
    free(in.data);
}

/* The second turn of a scan misses the directions of the first by a little. */
Test(fbp, takes_turns_that_miss_each_other)
{
    static const double steps[] = {2, 2.5, 4}, jitters[] = {1e-5, 1e-3, 0.02};
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++)
        for (size_t j = 0; j < sizeof jitters / sizeof *jitters; j++) {
            const int64_t n = (int64_t)(720 / steps[s]);
            struct ts_image in = ts_test_image(1, n, 5, TS_F32, VALUES_RANDOM, 8);
            struct stage_run run;
            double degrees[360];
            ts_test_sinogram(&in);
            for (int64_t v = 0; v < n; v++)
                degrees[v] = (double)v * steps[s] + jitters[j] * sin(37.0 * (double)v);
            in.axes[1].positions = degrees;
            cr_assert_eq(ts_test_run(&run, &fbp_stage, "", &in, NULL, 0, 1), TS_OK, "%g %g",
                         steps[s], jitters[j]);
            cr_expect_eq(ts_diag_count(run.diag), 0, "%g %g", steps[s], jitters[j]);
            ts_test_run_clear(&run);
            free(in.data);
        }
}

/* Many views in few directions are angles in a wrong unit, or of a wrong range; scans of several
 * turns are not. */
Test(fbp, tells_views_that_repeat_few_directions)
{
    static const struct {
        int64_t n;
        double step;
        enum ts_status status;
        const char *message; /* NULL: nothing is told */
    } rows[] = {
        {90, 60, TS_BAD_CHAIN,
         "the 90 views look in 3 directions only (modulo 180): the largest gap is 60 degrees"},
        {90, 200, TS_BAD_CHAIN, "the 90 views look in 9 directions only"},
        {90, 2000, TS_BAD_CHAIN, "the 90 views look in 9 directions only"},
        {180, 10, TS_BAD_CHAIN, "the 180 views look in 18 directions only"},
        {90, 120, TS_BAD_CHAIN, "the 90 views look in 3 directions only"},
        {900, 2, TS_OK,
         "the 900 views look in 90 directions only (modulo 180): the largest gap is 2 degrees"},
        {360, 5, TS_OK, "the 360 views look in 36 directions only"},
        {90, 12, TS_OK, "the 90 views look in 15 directions only"}, /* 3 turns, and 4 */
        {72, -15, TS_OK, "the 72 views look in 12 directions only"},
        {72, 20, TS_OK, "the 72 views look in 9 directions only"},
        {150, 12, TS_BAD_CHAIN, "the 150 views look in 15 directions only"},
        {1440, 0.5, TS_OK, NULL},
        {180, 2, TS_OK, NULL},
        {91, 2, TS_OK, NULL},
        {200, 137.507764050038, TS_OK, NULL},
        {20, 18, TS_OK, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_image in = ts_test_image(1, rows[i].n, 5, TS_F32, VALUES_RANDOM, 8);
        struct stage_run run;
        ts_test_sinogram(&in);
        in.axes[1].positions = NULL;
        in.axes[1].first = 3;
        in.axes[1].spacing = rows[i].step;
        cr_assert_eq(ts_test_run(&run, &fbp_stage, "", &in, NULL, 0, 1), rows[i].status, "row %zu",
                     i);
        cr_assert_eq(ts_diag_count(run.diag), rows[i].message != NULL, "row %zu", i);
        cr_expect(!rows[i].message || !strcmp(ts_diag_get(run.diag, 0)->code, "views-repeated"),
                  "row %zu", i);
        if (rows[i].message)
            cr_expect(strstr(ts_diag_get(run.diag, 0)->message, rows[i].message), "row %zu: %s", i,
                      ts_diag_get(run.diag, 0)->message);
        ts_test_run_clear(&run);
        cr_assert_eq(ts_test_run(&run, &fbp_stage, "gaps=accept", &in, NULL, 0, 1), TS_OK,
                     "row %zu", i);
        ts_test_run_clear(&run);
        free(in.data);
    }
}

Test(fbp, refuses_what_is_not_called_line_integrals)
{
    ts_scan_check_quantity(&fbp_stage);
}

Test(fbp, refuses_angles_of_no_scan)
{
    ts_scan_check_angles(&fbp_stage, "");
}
