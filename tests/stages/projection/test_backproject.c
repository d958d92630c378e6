/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/geometry/view_angles.h"
#include "stages/projection/reconstruction.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/projection/backproject_oracle.h"
#include "tests/support/adjoint_check.h"
#include "tests/support/scan_check.h"
#include "tests/support/skip.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(backproject);

/* ---- against the oracle ---------------------------------------------------------------------- */

/* The same case for each method; those that a device does not have are left out. */
#define EVERY_METHOD(text, ...)                                                                    \
    {.assignments = text, __VA_ARGS__}, {.assignments = text " method=pixel", __VA_ARGS__},        \
    {                                                                                              \
        .assignments = text " method=stack", __VA_ARGS__                                           \
    }

#define FLOATS .dtypes = TS_DTYPE_BIT(TS_F32)

/* Comparisons of n cases by EVERY_METHOD. */
static size_t each_method(size_t n)
{
    return ts_test_device ? 3 * n : n;
}

TEST_ON_BOTH(backproject, agrees_with_the_oracle)
{
    static const struct stage_case cases[] = {
        EVERY_METHOD("", FLOATS),
        EVERY_METHOD("model=linear"),
        EVERY_METHOD("model=linear weights=angles gaps=accept", FLOATS),
        EVERY_METHOD("weights=angles gaps=accept", FLOATS),
        EVERY_METHOD("model=linear rows=9 columns=14 pixel_size=0.31 row_spacing=0.47", FLOATS),
        EVERY_METHOD("rows=9 columns=14 pixel_size=0.31 row_spacing=0.47", FLOATS),
        EVERY_METHOD("model=linear", .values = VALUES_CONSTANT, .dtypes = TS_DTYPE_BIT(TS_U8)),
        EVERY_METHOD("model=linear", .values = VALUES_EXTREME, .dtypes = TS_DTYPE_BIT(TS_I32)),
    };
    cr_assert_eq(ts_stage_check(&backproject_stage, ts_backproject_oracle, cases,
                                sizeof cases / sizeof *cases),
                 each_method(8 * (1 + 7 + 1 + 1 + 1 + 1 + 1 + 1)));
}

/* Slices side by side in groups of 16, 4 and 1 on the CPU, of 128, 64 and 32 on a CUDA device, some
 * lanes empty; blocks of views for more than 512 and 1,024 detectors; runs of more than 64
 * pixels. */
TEST_ON_BOTH(backproject, agrees_in_every_grouping_of_slices)
{
    static const struct stage_case cases[] = {
        EVERY_METHOD("model=linear", .nz = 23, .ny = 19, .nx = 30,
                     .dtypes = TS_DTYPE_BIT(TS_U16) | TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("model=linear rows=3 columns=150", .nz = 1, .ny = 35, .nx = 530, FLOATS),
        EVERY_METHOD("model=joseph rows=5 columns=70", .nz = 4, .ny = 21, .nx = 1100, FLOATS),
        EVERY_METHOD("model=linear", .nz = 33, .ny = 31, .nx = 18, FLOATS),
        EVERY_METHOD("model=joseph", .nz = 67, .ny = 17, .nx = 40, FLOATS),
        EVERY_METHOD("model=linear", .nz = 165, .ny = 83, .nx = 14, .dtypes = TS_DTYPE_BIT(TS_U8)),
    };
    cr_assert_eq(ts_stage_check(&backproject_stage, ts_backproject_oracle, cases,
                                sizeof cases / sizeof *cases),
                 each_method(7));
}

/* Pixels of many detectors and detectors of many pixels, in every width of a group; the axis off
 * the middle. */
TEST_ON_BOTH(backproject, agrees_for_pixels_of_any_size)
{
    static const struct stage_case cases[] = {
        EVERY_METHOD("model=linear pixel_size=0.02", .nz = 2, .ny = 9, .nx = 41, FLOATS),
        EVERY_METHOD("model=linear pixel_size=0.499999", .nz = 3, .ny = 9, .nx = 41, FLOATS),
        EVERY_METHOD("model=linear pixel_size=0.500001", .nz = 3, .ny = 9, .nx = 41, FLOATS),
        EVERY_METHOD("model=linear pixel_size=0.9 rows=24 columns=21", .nz = 40, .ny = 9, .nx = 41,
                     FLOATS),
        EVERY_METHOD("model=linear pixel_size=3 rows=12 columns=21", .nz = 71, .ny = 9, .nx = 41,
                     FLOATS),
        EVERY_METHOD("model=linear pixel_size=1000 rows=2 columns=5", .nz = 2, .ny = 9, .nx = 41,
                     FLOATS),
        EVERY_METHOD("model=linear center=3.25", .nz = 2, .ny = 9, .nx = 41, FLOATS),
        EVERY_METHOD("center=40", .nz = 2, .ny = 9, .nx = 41, FLOATS),
        EVERY_METHOD("pixel_size=0.02", .nz = 2, .ny = 9, .nx = 41, FLOATS),
    };
    /* Rays finer than pixels. */
    static const struct stage_case fine[] = {
        EVERY_METHOD("pixel_size=0.7", .nz = 20, .ny = 9, .nx = 41, FLOATS),
        EVERY_METHOD("pixel_size=0.5 row_spacing=2.3 rows=10", .nz = 2, .ny = 9, .nx = 41, FLOATS),
        EVERY_METHOD("pixel_size=5 rows=6 columns=7", .nz = 5, .ny = 9, .nx = 41, FLOATS),
        EVERY_METHOD("pixel_size=40 rows=3 columns=3", .nz = 5, .ny = 9, .nx = 141, FLOATS),
    };
    cr_assert_eq(ts_stage_check(&backproject_stage, ts_backproject_oracle, cases,
                                sizeof cases / sizeof *cases),
                 each_method(9));
    cr_assert_eq(
        ts_stage_check(&backproject_stage, ts_backproject_oracle, fine, sizeof fine / sizeof *fine),
        each_method(4));
}

TEST_ON_BOTH(backproject, has_no_limit_at_2048_views_or_4096_detectors)
{
    static const struct stage_case cases[] = {
        EVERY_METHOD("model=linear rows=5 columns=6", .nz = 1, .ny = 2053, .nx = 7, FLOATS),
        EVERY_METHOD("rows=5 columns=6 pixel_size=0.5", .nz = 1, .ny = 2053, .nx = 7, FLOATS),
        EVERY_METHOD("model=linear rows=2 columns=4097", .nz = 1, .ny = 5, .nx = 4099, FLOATS),
    };
    cr_assert_eq(ts_stage_check(&backproject_stage, ts_backproject_oracle, cases,
                                sizeof cases / sizeof *cases),
                 each_method(3));
}

/* ---- the adjoint of radon -------------------------------------------------------------------- */

/* Each forward method with each backward one, on numbers of one sign and of both. */
TEST_ON_BOTH(backproject, is_the_adjoint_of_radon)
{
    static const struct adjoint_case cases[] = {
        {"views=37", "", 3, 46, 61, 0.5, 0.5, 0, 1e-6},
        {"views=24 arc=360 start=-7 detectors=71 center=30.25", "", 19, 46, 61, 0.5, 0.5, -1, 1e-6},
        {"angles=0,45,90,135,17,200,-33 detector_spacing=0.8", "", 66, 46, 61, 0.7, 0.5, 0, 1e-6},
        {"views=12 detector_spacing=0.11", "", 18, 46, 61, 0.7, 0.5, 0,
         1e-6}, /* rays finer than pixels */
    };
    static const char *const on_cpu[] = {"joseph", "row-fan-in", NULL},
                             *const on_cuda[] = {"ray",    "row-fan-in",   "stack",
                                                 "tensor", "tensor-split", NULL};
    static const char *const back_on_cpu[] = {"lanes", NULL}, *const back_on_cuda[] = {
                                                                  "pixel", "stack", "tensor",
                                                                  "tensor-split", NULL};
    const char *const *forth = ts_test_device ? on_cuda : on_cpu;
    size_t n = 0;
    for (; *forth; forth++)
        for (const char *const *back = ts_test_device ? back_on_cuda : back_on_cpu; *back; back++)
            for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct adjoint_case which = cases[i];
                char text[160], method[32];
                if (!strcmp(*forth, "tensor") ||
                    !strcmp(*back, "tensor")) /* values and positions have 11 bits */
                    which.bound = 5e-5;
                snprintf(text, sizeof text, "%s method=%s", which.radon, *forth);
                snprintf(method, sizeof method, "method=%s", *back);
                which.radon = text;
                which.backproject = method;
                ts_test_adjoint(&which);
                n++;
            }
    cr_assert_eq(n, ts_test_device ? 5 * 16 : 8);
}

/* Both have the very same weights, which shows where no value is rounded; where values are, to 11
 * bits and as often up as down, the more of them there are the less of it is left: one part in
 * 7,000 by the root of their number. */
Test(backproject, tensor_cores_are_an_adjoint_pair_on_cuda)
{
    static const struct adjoint_case cases[] = {
        {"views=74 method=tensor", "method=tensor", 130, 46, 61, 0.5, 0.5, 0, 1e-6, true},
        {"views=74 method=tensor", "method=tensor", 130, 46, 61, 0.5, 0.5, -1, 1e-6, true},
        {"views=90 arc=360 detectors=101 detector_spacing=0.7 center=44 method=tensor",
         "method=tensor", 130, 50, 61, 0.8, 0.6, -1, 1e-6, true},
        {"views=60 detector_spacing=0.11 method=tensor", "method=tensor", 130, 46, 61, 0.7, 0.5, -1,
         1e-6, true},
        {"views=60 detector_spacing=2.3 method=tensor", "method=tensor", 130, 46, 61, 0.7, 0.5, -1,
         1e-6, true},
        {"views=60 detector_spacing=2.3 method=tensor", "method=tensor", 130, 46, 61, 0.7, 0.5, 0,
         1e-6, true},
        {"views=180 method=tensor", "method=tensor", 260, 128, 128, 0.5, 0.5, 0, 1e-6},
        {"views=180 method=tensor", "method=tensor", 260, 128, 128, 0.5, 0.5, -1, 1e-6},
    };
    ts_test_begin_cuda();
    if (ts_test_device->code < CUDA_TENSOR_CODE)
        ts_test_skip("tensor cores of compute capability 8.0 are needed");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ts_test_adjoint(&cases[i]);
    ts_test_end_cuda();
}

/* ---- the same bytes, values that are no numbers ---------------------------------------------- */

static struct ts_image sinogram(int64_t nz, int64_t views, int64_t detectors,
                                enum stage_values values, uint64_t seed)
{
    struct ts_image image = ts_test_image(nz, views, detectors, TS_F32, values, seed);
    ts_test_sinogram(&image);
    return image;
}

static const char *const methods[] = {"auto", "pixel", "stack"};

TEST_ON_BOTH(backproject, gives_the_same_bytes_in_20_runs_over_any_slabs)
{
    static const int64_t slabs[] = {0, 1, 7, 32, 40, 64, 100, 129}, slabs_of_few[] = {40, 100};
    struct ts_image in = sinogram(131, 37, 45, VALUES_RANDOM, 3);
    for (size_t m = 0; m < (ts_test_device ? 3 : 1); m++) {
        char text[64];
        struct stage_run first;
        snprintf(text, sizeof text, "model=linear weights=angles method=%s", methods[m]);
        cr_assert_eq(ts_test_run(&first, &backproject_stage, text, &in, NULL, 0, 2), TS_OK);
        for (size_t i = 0; i < (ts_test_few() ? 2 : 20); i++) {
            struct stage_run again;
            const int64_t slab =
                ts_test_few() ? slabs_of_few[i] : slabs[i % (sizeof slabs / sizeof *slabs)];
            cr_assert_eq(
                ts_test_run(&again, &backproject_stage, text, &in, NULL, slab, 1 + (int)(i % 3)),
                TS_OK);
            cr_assert(!memcmp(first.out.data, again.out.data, ts_image_bytes(&first.out)),
                      "%s, run %zu, slabs of %lld", text, i, (long long)slab);
            ts_test_run_clear(&again);
        }
        ts_test_run_clear(&first);
    }
    free(in.data);
}

/* Wherever they are, by every method; the message names the slice and the first of them. */
TEST_ON_BOTH(backproject, values_that_are_no_numbers_end_the_run)
{
    static const char *const texts[] = {"",
                                        "model=linear",
                                        "model=linear method=pixel",
                                        "model=joseph method=stack pixel_size=0.7",
                                        "method=stack",
                                        "method=tensor",
                                        "model=linear method=tensor-split"};
    const bool tensors = ts_test_device && ts_test_device->code >= CUDA_TENSOR_CODE;
    const size_t n = sizeof texts / sizeof *texts;
    for (size_t i = 0; i < (tensors ? n : ts_test_device ? n - 2 : 2); i++)
        ts_scan_check_finite(&backproject_stage, texts[i]);
}

/* ---- geometry, weights and refusals ---------------------------------------------------------- */

Test(backproject, puts_the_volume_about_the_origin_of_the_sinogram)
{
    struct ts_image in = sinogram(2, 4, 6, VALUES_RANDOM, 4);
    struct stage_run run;
    const double direction[9] = {0, 1, 0, 0, 0, -1, -1, 0, 0};
    memcpy(in.direction, direction, sizeof direction);
    memcpy(in.origin_mm, (double[3]){10, 20, 30}, 3 * sizeof(double));
    cr_assert_eq(ts_test_run(&run, &backproject_stage,
                             "rows=5 columns=9 pixel_size=0.4 row_spacing=0.6", &in, NULL, 0, 1),
                 TS_OK);
    cr_expect_float_eq(run.out.origin_mm[0], 10, 1e-12);
    cr_expect_float_eq(run.out.origin_mm[1], 20 - 4 * 0.4, 1e-12);
    cr_expect_float_eq(run.out.origin_mm[2], 30 + 2 * 0.6, 1e-12);
    cr_expect(run.out.axes[1].kind == TS_AXIS_Y && run.out.axes[1].n == 5 &&
              run.out.axes[1].spacing == 0.6);
    cr_expect(run.out.axes[2].kind == TS_AXIS_X && run.out.axes[2].n == 9 &&
              run.out.axes[2].spacing == 0.4);
    cr_expect_str_eq(run.out.axes[2].unit, "mm");
    cr_expect_str_eq(run.out.unit, "mm");
    cr_expect_eq(run.out.quantity, TS_INTENSITY);
    cr_expect_eq(run.out.beam.kind, TS_BEAM_PARALLEL);
    ts_test_run_clear(&run);
    free(in.data);
}

Test(backproject, takes_size_and_center_from_the_detectors)
{
    struct ts_image in = sinogram(2, 4, 6, VALUES_RANDOM, 4);
    struct stage_run run;
    in.axes[2].first = -1.75;
    cr_assert_eq(ts_test_run(&run, &backproject_stage, "", &in, NULL, 0, 1), TS_OK);
    const struct reconstruction_params *params = run.context.params;
    cr_expect_eq(params->rows, 6);
    cr_expect_eq(params->columns, 6);
    cr_expect_eq(params->pixel_size, 0.5);
    cr_expect_eq(params->row_spacing, 0.5);
    cr_expect_eq(params->center, 3.5);
    cr_expect_eq(params->method, BACK_METHOD_LANES);
    ts_test_run_clear(&run);
    free(in.data);
}

/* Weights of these angles in degrees, as shares of 180. */
static void check_weights(size_t n, const double *degrees, const double *expected)
{
    double weights[64], sum = 0;
    struct view_place scratch[64];
    const struct ts_axis views = {.kind = TS_AXIS_VIEW, .n = (int64_t)n, .positions = degrees};
    ts_view_weights(&views, weights, scratch);
    for (size_t i = 0; i < n; i++) {
        cr_expect_float_eq(weights[i] * 180 / M_PI, expected[i], 1e-9, "%zu: %g", i,
                           weights[i] * 180 / M_PI);
        sum += weights[i];
    }
    cr_expect_float_eq(sum, M_PI, 1e-12);
}
#define WEIGHTS(n, degrees, ...)                                                                   \
    check_weights(n, (const double[n])degrees, (const double[n])__VA_ARGS__)
#define LIST(...)                                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

Test(backproject, weighs_views_by_the_angles_around_them)
{
    WEIGHTS(1, LIST(77), {180});
    WEIGHTS(2, LIST(0, 90), {90, 90});
    WEIGHTS(4, LIST(0, 45, 90, 135), {45, 45, 45, 45});
    WEIGHTS(4, LIST(135, 0, 90, 45), {45, 45, 45, 45});
    WEIGHTS(5, LIST(0, 45, 90, 135, 180), {22.5, 45, 45, 45, 22.5}); /* the end point, too */
    WEIGHTS(4, LIST(0, 90, 180, 270), {45, 45, 45, 45});             /* a whole turn */
    WEIGHTS(5, LIST(0, 90, 180, 270, 360), {30, 45, 30, 45, 30});    /* with its end point */
    WEIGHTS(4, LIST(-10, 10, 30, 150), {20, 20, 70, 70});            /* uneven, 170 is -10 */
    WEIGHTS(6, LIST(0, 60, 120, 180, 240, 300), {30, 30, 30, 30, 30, 30});
    WEIGHTS(3, LIST(0, 1e-8, 90), {45, 45, 90}); /* as good as one direction */
    WEIGHTS(3, LIST(179.99999999, 0, 90), {45, 45, 90});
    WEIGHTS(3, LIST(20, 20, 20), {60, 60, 60});
}

Test(backproject, stack_does_not_weigh_rays_finer_than_pixels)
{
    /* Nothing runs, so any description of a device does. */
    static const struct device_numbers device = {.name = "a device",
                                                 .block_shared_bytes = 48 << 10};
    struct ts_image in = sinogram(2, 12, 6, VALUES_RANDOM, 4);
    ts_test_device = &device;
    ts_test_refuses(&backproject_stage, "model=joseph weights=angles method=stack pixel_size=2",
                    &in, NULL, "method-fine", "finer than pixels of 2 mm");
    free(in.data);
}

Test(backproject, refuses_what_cannot_be_right)
{
    static double angles[] = {0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 170};
    static double radians[12], zeros[12];
    struct ts_image in = sinogram(2, 12, 6, VALUES_RANDOM, 4);
    ts_test_refuses(&backproject_stage, "center=-0.01", &in, NULL, "center-outside",
                    "-0.01 is outside the detector, [0, 5]");
    ts_test_refuses(&backproject_stage, "center=5.5", &in, NULL, "center-outside",
                    "5.5 is outside");
    ts_test_refuses(&backproject_stage, "pixel_size=1000000 rows=1000000", &in, NULL,
                    "volume-too-wide", "detector pixels wide");
    in.axes[1].positions = angles;
    ts_test_refuses(&backproject_stage, "weights=angles", &in, NULL, "angles-missing",
                    "between view 10 at 100 and view 11 at 170 degrees");
    struct stage_run run;
    cr_assert_eq(
        ts_test_run(&run, &backproject_stage, "weights=angles gaps=accept", &in, NULL, 0, 1),
        TS_OK);
    ts_test_run_clear(&run);
    cr_assert_eq(ts_test_run(&run, &backproject_stage, "", &in, NULL, 0, 1), TS_OK);
    ts_test_run_clear(&run);
    for (int i = 0; i < 12; i++)
        radians[i] = M_PI * i / 12;
    in.axes[1].positions = radians;
    ts_test_refuses(&backproject_stage, "weights=angles", &in, NULL, "angles-in-radians",
                    "all 12 angles lie between 0 and 2.87979 degrees");
    ts_test_refuses(&backproject_stage, "", &in, NULL, "angles-in-radians",
                    "all 12 angles lie between 0 and 2.87979 degrees");
    ts_test_refuses(&backproject_stage, "model=linear", &in, NULL, "angles-in-radians",
                    "turn in radians");
    cr_assert_eq(ts_test_run(&run, &backproject_stage, "gaps=accept", &in, NULL, 0, 1), TS_OK);
    ts_test_run_clear(&run);
    in.beam = (struct ts_beam){TS_BEAM_FAN_FLAT, 100, 200};
    ts_test_refuses(&backproject_stage, "", &in, NULL, "angles-in-radians", "turn in radians");
    in.beam = (struct ts_beam){0};
    in.axes[1].positions = zeros;
    ts_test_refuses(&backproject_stage, "weights=angles", &in, NULL, "one-direction",
                    "all 12 views");
    cr_assert_eq(ts_test_run(&run, &backproject_stage, "", &in, NULL, 0, 1), TS_OK);
    ts_test_run_clear(&run);
    in.axes[1].positions = NULL;
    in.axes[2].positions = angles;
    ts_test_refuses(&backproject_stage, "", &in, NULL, "detectors-uneven", "evenly spaced");
    free(in.data);
}

/* A stage that takes any angles says what they look like. */
Test(backproject, ranges_of_angles_are_warned_of)
{
    enum { VIEWS = 24 };
    static const struct {
        const char *assignments, *code;
        double first, spacing;
        int64_t n;
    } rows[] = {
        {"", "angles-narrow", 0, 2.3 / VIEWS, VIEWS},      /* 132 degrees in radians */
        {"", "angles-narrow", 0, 0.5 / VIEWS, VIEWS},      /* half a turn in turns */
        {"", "angles-narrow", -0.5, 1.0 / VIEWS, VIEWS},   /* a turn in turns */
        {"", "angles-narrow", 90, 6.9 / VIEWS, VIEWS},     /* may be so */
        {"", "angles-limited", 0, 60.0 / VIEWS, VIEWS},    /* truly limited */
        {"", "angles-limited", -20, 120.0 / VIEWS, VIEWS}, /* over 0 */
        {"", "angles-limited", 0, 0.5, 8},                 /* few */
        {"", NULL, 0, 180.0 / VIEWS, VIEWS},
        {"", NULL, 10, 170.0 / VIEWS, VIEWS},
        {"", NULL, 0, 360.0 / VIEWS, VIEWS},
        {"gaps=accept", NULL, 0, 2.3 / VIEWS, VIEWS},
        {"gaps=accept", NULL, 0, 60.0 / VIEWS, VIEWS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_image in = sinogram(2, rows[i].n, 6, VALUES_RANDOM, 4);
        struct stage_run run;
        in.axes[1].first = rows[i].first;
        in.axes[1].spacing = rows[i].spacing;
        cr_assert_eq(ts_test_run(&run, &backproject_stage, rows[i].assignments, &in, NULL, 0, 1),
                     TS_OK, "row %zu", i);
        for (int k = 0; k < 2; k++) {
            static const char *const codes[] = {"angles-narrow", "angles-limited"};
            cr_expect_eq(ts_test_record(run.diag, codes[k]) != NULL,
                         rows[i].code && !strcmp(rows[i].code, codes[k]), "row %zu, %s", i,
                         codes[k]);
        }
        ts_test_run_clear(&run);
        free(in.data);
    }
}
