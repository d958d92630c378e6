/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/filters/gaussian.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/filters/gaussian_oracle.h"
#include "tests/support/stage_run.h"

TestSuite(gaussian);

/* Floats are held to the largest magnitude of the input; the loop knows the output's alone, which
 * is smaller where the values outside outweigh an image of a few pixels, and where random values
 * average out. */
enum { LARGEST_INPUT = 3000 };
#define ROUNDING (2e-6 * LARGEST_INPUT)
#define ALL_BORDERS(text)                                                                          \
    {.assignments = text " border=reflect", .absolute = ROUNDING},                                 \
        {.assignments = text " border=mirror", .absolute = ROUNDING},                              \
        {.assignments = text " border=nearest", .absolute = ROUNDING},                             \
        {.assignments = text " border=wrap", .absolute = ROUNDING},                                \
    {                                                                                              \
        .assignments = text " border=constant constant=7", .absolute = ROUNDING                    \
    }

TEST_ON_BOTH(gaussian, agrees_with_the_definition_in_2d)
{
    static const struct stage_case cases[] = {
        ALL_BORDERS("sigma=1"),
        {.assignments = "sigma=0"},
        {.assignments = "sigma=0,2 truncate=2", .absolute = ROUNDING},
        {.assignments = "sigma=1.3,0 truncate=3", .absolute = ROUNDING},
        {.assignments = "sigma=0.7 unit=mm", .absolute = ROUNDING},
        {.assignments = "sigma=2 border=mirror", .values = VALUES_CT},
        {.assignments = "sigma=2", .values = VALUES_CONSTANT},
        {.assignments = "sigma=5 border=wrap", .nz = 2, .ny = 67, .nx = 131, .values = VALUES_CT},
        {.assignments = "sigma=20 border=nearest",
         .nz = 1,
         .ny = 90,
         .nx = 17,
         .values = VALUES_CT},
    };
    cr_assert_geq(
        ts_stage_check(&gaussian_stage, ts_gaussian_oracle, cases, sizeof cases / sizeof *cases),
        11 * 8 * 7);
}

TEST_ON_BOTH(gaussian, agrees_with_the_definition_in_3d)
{
    static const struct stage_case cases[] = {
        ALL_BORDERS("sigma=0.8 dimensions=3d"),
        {.assignments = "sigma=1.2 unit=mm dimensions=3d", .values = VALUES_CT},
        {.assignments = "sigma=0.5,1,1.5 dimensions=3d truncate=3 border=mirror",
         .absolute = ROUNDING},
        {.assignments = "sigma=2,0,0 dimensions=3d", .values = VALUES_CT},
        {.assignments = "sigma=0,0,2 dimensions=3d border=wrap", .values = VALUES_CT},
        {.assignments = "sigma=2 dimensions=3d", .nz = 19, .ny = 10, .nx = 37, .values = VALUES_CT},
        {.assignments = "sigma=9 dimensions=3d border=constant constant=2",
         .nz = 3,
         .ny = 4,
         .nx = 5,
         .values = VALUES_CT,
         .absolute = ROUNDING},
    };
    cr_assert_geq(
        ts_stage_check(&gaussian_stage, ts_gaussian_oracle, cases, sizeof cases / sizeof *cases),
        9 * 8 * 7);
}

/* On a CUDA device the others above are fused where their radius allows it. */
TEST_ON_BOTH(gaussian, agrees_with_the_definition_in_one_pass_an_axis)
{
    static const struct stage_case cases[] = {
        ALL_BORDERS("sigma=1 method=separable"),
        ALL_BORDERS("sigma=0.8 dimensions=3d method=separable"),
        {.assignments = "sigma=3,0.5 method=separable",
         .nz = 1,
         .ny = 70,
         .nx = 530,
         .values = VALUES_CT},
        {.assignments = "sigma=0.3,3,2 dimensions=3d method=separable",
         .nz = 9,
         .ny = 75,
         .nx = 33,
         .values = VALUES_CT},
    };
    cr_assert_geq(
        ts_stage_check(&gaussian_stage, ts_gaussian_oracle, cases, sizeof cases / sizeof *cases),
        10 * 8 * 7);
}

Test(gaussian, fuses_its_passes_on_cuda)
{
    static const struct stage_case cases[] = {
        ALL_BORDERS("sigma=1.5,1,0.7 dimensions=3d method=fused"),
        {.assignments = "sigma=2 method=fused border=wrap",
         .nz = 3,
         .ny = 37,
         .nx = 132,
         .absolute = ROUNDING},
        {.assignments = "sigma=0.5 method=fused border=mirror",
         .nz = 2,
         .ny = 65,
         .nx = 129,
         .absolute = ROUNDING},
        {.assignments = "sigma=2 dimensions=3d method=fused",
         .nz = 40,
         .ny = 35,
         .nx = 68,
         .values = VALUES_CT},
        {.assignments = "sigma=1.5 dimensions=3d method=fused",
         .nz = 7,
         .ny = 33,
         .nx = 65,
         .values = VALUES_CT},
        {.assignments = "sigma=0.5 dimensions=3d method=fused",
         .nz = 7,
         .ny = 33,
         .nx = 65,
         .values = VALUES_CT},
    };
    ts_test_begin_cuda();
    cr_assert_geq(
        ts_stage_check(&gaussian_stage, ts_gaussian_oracle, cases, sizeof cases / sizeof *cases),
        5 * 8 * 7);
    ts_test_end_cuda();
}

/* scipy.ndimage.gaussian_filter(line, [0, 1.5], mode="nearest", truncate=3) of SciPy 1.10.1, in
 * double. */
TEST_ON_BOTH(gaussian, gives_what_scipy_gives)
{
    static const float values[] = {1, 5, 2, 0, 3, 10, -4, 8};
    static const double expected[] = {1.94983500526, 2.3029402147,  2.41696153609, 2.67507995879,
                                      3.25502345433, 3.79004422479, 4.35038306344, 5.41569072025};
    struct ts_image in = ts_test_image(1, 1, 8, TS_F32, VALUES_CONSTANT, 1);
    memcpy(in.data, values, sizeof values);
    struct ts_image out =
        ts_test_output(&gaussian_stage, "sigma=1.5,0 truncate=3 border=nearest", &in);
    for (int i = 0; i < 8; i++)
        cr_assert_float_eq(((const float *)out.data)[i], expected[i], 2e-6 * 10, "value %d", i);
    free(in.data);
    free(out.data);
}

TEST_ON_BOTH(gaussian, keeps_nan_and_infinity_in_their_own_windows)
{
    static const struct {
        const char *assignments;
        int64_t rx, ry, rz;
    } ways[] = {
        {"sigma=1", 4, 4, 0},
        {"sigma=2 dimensions=3d", 8, 8, 8},
        {"sigma=0.5,1.6,0.8 dimensions=3d", 2, 6, 3},
        {"sigma=3,2.5,1 dimensions=3d", 12, 10, 4},
        {"sigma=1,2,0.5 dimensions=3d method=separable", 4, 8, 2},
    };
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        const int64_t rx = ways[way].rx, ry = ways[way].ry, rz = ways[way].rz;
        struct ts_image in = ts_test_image(20, 60, 50, TS_F32, VALUES_RANDOM, 5);
        struct ts_image clean = ts_test_output(&gaussian_stage, ways[way].assignments, &in);
        float *values = in.data;
        values[(9 * 60 + 30) * 50 + 20] = NAN;
        values[(9 * 60 + 12) * 50 + 47] = INFINITY;
        struct ts_image out = ts_test_output(&gaussian_stage, ways[way].assignments, &in);
        const float *got = out.data, *before = clean.data;
        for (int64_t z = 0; z < 20; z++)
            for (int64_t y = 0; y < 60; y++)
                for (int64_t x = 0; x < 50; x++, got++, before++) {
                    const bool slice = llabs(z - 9) <= rz;
                    const bool nan = slice && llabs(y - 30) <= ry && llabs(x - 20) <= rx;
                    const bool inf = slice && llabs(y - 12) <= ry && llabs(x - 47) <= rx;
                    cr_assert(nan   ? isnan(*got)
                              : inf ? *got == INFINITY
                                    : !memcmp(got, before, sizeof *got),
                              "%s: %g, without them %g, at %lld %lld %lld", ways[way].assignments,
                              (double)*got, (double)*before, (long long)z, (long long)y,
                              (long long)x);
                }
        free(in.data);
        free(out.data);
        free(clean.data);
    }
}

/* The bound of the documentation, where values are largest and equal, and a large offset. */
TEST_ON_BOTH(gaussian, is_as_exact_as_stated)
{
    static const double sigmas[] = {1, 2, 7, 40};
    for (size_t i = 0; i < sizeof sigmas / sizeof *sigmas; i++) {
        char assignments[80];
        snprintf(assignments, sizeof assignments, "sigma=%g dimensions=3d border=nearest",
                 sigmas[i]);
        struct ts_image in = ts_test_image(3, 30, 40, TS_F32, VALUES_CONSTANT, 1);
        float *values = in.data;
        for (int64_t k = 0; k < 3 * 30 * 40; k++)
            values[k] = 16777213;
        struct ts_image out = ts_test_output(&gaussian_stage, assignments, &in);
        for (int64_t k = 0; k < 3 * 30 * 40; k++)
            cr_assert_float_eq(((const float *)out.data)[k], 16777213, 3 * (4 * sigmas[i] + 3),
                               "%s: %.0f", assignments, (double)((const float *)out.data)[k]);
        free(in.data);
        free(out.data);
    }
}

Test(gaussian, refuses_what_does_not_fit)
{
    ts_test_refused(&gaussian_stage, "sigma=1 border=constant constant=-1", TS_U8, false,
                    "value-range");
    ts_test_refused(&gaussian_stage, "sigma=1 border=mirror constant=1", TS_F32, false,
                    "parameter-unused");
    ts_test_refused(&gaussian_stage, "sigma=1,2,3", TS_F32, false, "sigma-count");
    ts_test_refused(&gaussian_stage, "sigma=1,2 dimensions=3d", TS_F32, false, "sigma-count");
    ts_test_refused(&gaussian_stage, "sigma=300", TS_F32, false, "sigma-radius");
    struct ts_image in = ts_test_image(2, 3, 4, TS_F32, VALUES_CONSTANT, 1);
    in.axes[0].spacing = 0;
    ts_test_refuses(&gaussian_stage, "sigma=1 unit=mm dimensions=3d", &in, NULL, "sigma-unit",
                    "axis z");
    free(in.data);
}

Test(gaussian, refuses_what_a_cuda_device_cannot_do)
{
    /* Nothing runs, so any description of a device does. */
    static const struct device_numbers device = {.name = "a device",
                                                 .block_shared_bytes = 48 << 10};
    struct ts_image in = ts_test_image(2, 3, 4, TS_F32, VALUES_CONSTANT, 1);
    ts_test_device = &device;
    ts_test_refuses(&gaussian_stage, "sigma=3 method=fused", &in, NULL, "method-radius",
                    "the radius is 12");
    ts_test_refuses(&gaussian_stage, "sigma=1 method=fused", &in, NULL, "method-shared-memory",
                    "a device has 49152");
    in.axes[1].n = INT32_MAX;
    ts_test_refuses(&gaussian_stage, "sigma=1 method=fused", &in, NULL, "method-size",
                    "2147483647 x 4");
    free(in.data);
}
