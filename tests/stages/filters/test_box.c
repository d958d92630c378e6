/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/filters/box.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/dicom_open.h"
#include "tests/stages/filters/box_oracle.h"
#include "tests/support/skip.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(box);

/* Floats are held to the largest magnitude of the input; the loop knows the output's alone, which
 * is smaller where the values outside outweigh an image of a few pixels. */
enum { LARGEST_INPUT = 3000 };
#define ALL_BORDERS(text)                                                                          \
    {.assignments = text " border=reflect"}, {.assignments = text " border=mirror"},               \
        {.assignments = text " border=nearest"}, {.assignments = text " border=wrap"},             \
    {                                                                                              \
        .assignments = text " border=constant constant=7", .absolute = 1e-6 * LARGEST_INPUT        \
    }

TEST_ON_BOTH(box, agrees_with_the_definition_in_2d)
{
    static const struct stage_case cases[] = {
        ALL_BORDERS("radius=1"),
        ALL_BORDERS("radius=2 method=running-sum"),
        {.assignments = "radius=0"},
        {.assignments = "radius=0 method=running-sum"},
        {.assignments = "radius=2"},
        {.assignments = "radius=3 border=mirror", .values = VALUES_CT},
        {.assignments = "radius=4 border=wrap", .values = VALUES_EXTREME},
        {.assignments = "radius=1 method=running-sum"},
        {.assignments = "radius=4 method=running-sum border=nearest", .values = VALUES_EXTREME},
        {.assignments = "radius=2", .values = VALUES_CONSTANT},
    };
    cr_assert_geq(ts_stage_check(&box_stage, ts_box_oracle, cases, sizeof cases / sizeof *cases),
                  18 * 8 * 7);
}

TEST_ON_BOTH(box, agrees_with_the_definition_for_wide_windows)
{
    static const struct stage_case cases[] = {
        {.assignments = "radius=5", .nz = 2, .ny = 67, .nx = 131},
        {.assignments = "radius=7 border=wrap", .nz = 3, .ny = 40, .nx = 17},
        {.assignments = "radius=16 border=mirror",
         .nz = 2,
         .ny = 75,
         .nx = 70,
         .values = VALUES_EXTREME},
        {.assignments = "radius=31 border=constant constant=3", .nz = 1, .ny = 20, .nx = 33},
        {.assignments = "radius=40", .nz = 1, .ny = 90, .nx = 7, .values = VALUES_CT},
        {.assignments = "radius=100 border=mirror",
         .nz = 1,
         .ny = 5,
         .nx = 9,
         .values = VALUES_EXTREME},
        {.assignments = "radius=100 border=constant constant=77",
         .nz = 1,
         .ny = 3,
         .nx = 5,
         .values = VALUES_EXTREME},
        {.assignments = "radius=1024 border=nearest",
         .nz = 1,
         .ny = 2,
         .nx = 3,
         .dtypes = TS_DTYPE_BIT(TS_F32)},
        {.assignments = "radius=1024", .nz = 1, .ny = 1, .nx = 2, .values = VALUES_EXTREME},
    };
    cr_assert_geq(ts_stage_check(&box_stage, ts_box_oracle, cases, sizeof cases / sizeof *cases),
                  50);
}

TEST_ON_BOTH(box, agrees_with_the_definition_in_3d)
{
    static const struct stage_case cases[] = {
        ALL_BORDERS("radius=1 dimensions=3d"),
        {.assignments = "radius=2 dimensions=3d method=running-sum border=wrap",
         .nz = 13,
         .ny = 6,
         .nx = 7},
        {.assignments = "radius=3 dimensions=3d border=mirror",
         .nz = 5,
         .ny = 7,
         .nx = 11,
         .values = VALUES_EXTREME},
        {.assignments = "radius=6 dimensions=3d", .nz = 31, .ny = 5, .nx = 9},
        {.assignments = "radius=16 dimensions=3d border=constant constant=2",
         .nz = 3,
         .ny = 4,
         .nx = 5,
         .values = VALUES_EXTREME},
    };
    cr_assert_geq(ts_stage_check(&box_stage, ts_box_oracle, cases, sizeof cases / sizeof *cases),
                  5 * 8 * 7 + 28);
}

/* All borders over one shape, one over the loop's list. */
#define BORDERS_ONCE(text, types)                                                                  \
    {.assignments = text " border=mirror", .dtypes = (types)},                                     \
        {.assignments = text " border=reflect", .nz = 3, .ny = 9, .nx = 37, .dtypes = (types)},    \
        {.assignments = text " border=nearest", .nz = 3, .ny = 9, .nx = 40, .dtypes = (types)},    \
        {.assignments = text " border=wrap", .nz = 3, .ny = 9, .nx = 37, .dtypes = (types)},       \
    {                                                                                              \
        .assignments = text " border=constant constant=7", .nz = 3, .ny = 9, .nx = 36,             \
        .dtypes = (types), .absolute = 1e-6 * LARGEST_INPUT                                        \
    }
#define UP_TO_16_BITS_OR_FLOAT (TS_ANY_DTYPE & ~(TS_DTYPE_BIT(TS_U32) | TS_DTYPE_BIT(TS_I32)))
#define WIDE_WINDOWS_2D(text)                                                                      \
    {.assignments = text " radius=5", .nz = 2, .ny = 67, .nx = 131},                               \
        {.assignments = text " radius=16 border=mirror",                                           \
         .nz = 2,                                                                                  \
         .ny = 75,                                                                                 \
         .nx = 70,                                                                                 \
         .values = VALUES_EXTREME},                                                                \
    {                                                                                              \
        .assignments = text " radius=31 border=constant constant=3", .nz = 1, .ny = 20, .nx = 33   \
    }
#define WIDE_WINDOWS(text)                                                                         \
    WIDE_WINDOWS_2D(text),                                                                         \
    {                                                                                              \
        .assignments = text " radius=3 dimensions=3d border=mirror", .nz = 19, .ny = 17, .nx = 45, \
        .values = VALUES_EXTREME                                                                   \
    }
#define ANY_WINDOW_2D(text)                                                                        \
    {.assignments = text " radius=100 border=constant constant=77",                                \
     .nz = 1,                                                                                      \
     .ny = 3,                                                                                      \
     .nx = 5,                                                                                      \
     .values = VALUES_EXTREME},                                                                    \
    {                                                                                              \
        .assignments = text " radius=1024", .nz = 1, .ny = 1, .nx = 2, .values = VALUES_EXTREME    \
    }
#define ANY_WINDOW(text)                                                                           \
    ANY_WINDOW_2D(text),                                                                           \
    {                                                                                              \
        .assignments = text " radius=16 dimensions=3d border=constant constant=2", .nz = 3,        \
        .ny = 4, .nx = 5, .values = VALUES_EXTREME                                                 \
    }

TEST_ON_BOTH(box, agrees_with_the_definition_by_every_method)
{
    static const struct stage_case cases[] = {
        BORDERS_ONCE("radius=1 method=unrolled", 0),
        BORDERS_ONCE("radius=1 method=unrolled dimensions=3d", 0),
        BORDERS_ONCE("radius=2 method=direct", 0),
        WIDE_WINDOWS("method=direct"),
        /* not 1,024: one thread would add four million samples */
        {.assignments = "radius=100 method=direct border=constant constant=77",
         .nz = 1,
         .ny = 3,
         .nx = 5,
         .values = VALUES_EXTREME},
        {.assignments = "radius=6 method=direct dimensions=3d",
         .nz = 3,
         .ny = 4,
         .nx = 5,
         .values = VALUES_EXTREME},
        BORDERS_ONCE("radius=2 method=separable", 0),
        WIDE_WINDOWS("method=separable"),
        ANY_WINDOW("method=separable"),
        BORDERS_ONCE("radius=2 method=tile", 0),
        WIDE_WINDOWS("method=tile"),
        {.assignments = "radius=3 method=tile border=wrap", .nz = 2, .ny = 131, .nx = 523},
        {.assignments = "radius=1 method=unrolled border=wrap", .nz = 2, .ny = 131, .nx = 523},
        WIDE_WINDOWS("method=running-sum"),
        ANY_WINDOW("method=running-sum"),
    };
    cr_assert_geq(ts_stage_check(&box_stage, ts_box_oracle, cases, sizeof cases / sizeof *cases),
                  560);
}

Test(box, fuses_its_passes_on_cuda)
{
    static const struct stage_case cases[] = {
        BORDERS_ONCE("radius=8 method=fused", 0),
        {.assignments = "radius=1 method=fused", .nz = 2, .ny = 67, .nx = 131},
        {.assignments = "radius=2 method=fused", .nz = 2, .ny = 67, .nx = 268},
        {.assignments = "radius=3 method=fused border=nearest", .nz = 2, .ny = 71, .nx = 244},
        {.assignments = "radius=4 method=fused border=mirror",
         .nz = 2,
         .ny = 37,
         .nx = 244,
         .values = VALUES_EXTREME},
        {.assignments = "radius=5 method=fused", .nz = 2, .ny = 67, .nx = 131},
        {.assignments = "radius=6 method=fused",
         .nz = 2,
         .ny = 67,
         .nx = 116,
         .values = VALUES_EXTREME},
        {.assignments = "radius=7 method=fused border=wrap", .nz = 2, .ny = 45, .nx = 132},
        /* rows of a multiple of 16: 8- and 16-bit integers have a kernel of their own */
        {.assignments = "radius=3 method=fused border=wrap", .nz = 2, .ny = 21, .nx = 48},
        {.assignments = "radius=3 method=fused border=nearest", .nz = 2, .ny = 65, .nx = 48},
        {.assignments = "radius=8 method=fused border=mirror", .nz = 2, .ny = 5, .nx = 16},
        {.assignments = "radius=8 method=fused border=constant constant=7",
         .nz = 1,
         .ny = 21,
         .nx = 1040,
         .absolute = 1e-6 * LARGEST_INPUT},
        {.assignments = "radius=7 method=fused border=wrap", .nz = 1, .ny = 21, .nx = 992},
        {.assignments = "radius=6 method=fused",
         .nz = 1,
         .ny = 130,
         .nx = 528,
         .values = VALUES_EXTREME},
        {.assignments = "radius=5 method=fused border=mirror", .nz = 3, .ny = 33, .nx = 112},
        {.assignments = "radius=4 method=fused",
         .nz = 3,
         .ny = 7,
         .nx = 512,
         .values = VALUES_EXTREME},
        {.assignments = "radius=2 method=fused border=nearest", .nz = 1, .ny = 70, .nx = 544},
        {.assignments = "radius=1 method=fused border=mirror", .nz = 2, .ny = 70, .nx = 560},
    };
    ts_test_begin_cuda();
    cr_assert_geq(ts_stage_check(&box_stage, ts_box_oracle, cases, sizeof cases / sizeof *cases),
                  200);
    ts_test_end_cuda();
}

Test(box, fuses_wide_windows_on_cuda)
{
    static const struct stage_case cases[] = {
        BORDERS_ONCE("radius=9 method=fused", 0),
        {.assignments = "radius=16 method=fused border=mirror",
         .nz = 2,
         .ny = 75,
         .nx = 70,
         .values = VALUES_EXTREME},
        {.assignments = "radius=31 method=fused border=constant constant=3",
         .nz = 1,
         .ny = 20,
         .nx = 33},
        {.assignments = "radius=12 method=fused border=wrap",
         .nz = 1,
         .ny = 40,
         .nx = 1101,
         .values = VALUES_EXTREME},
        {.assignments = "radius=20 method=fused border=constant constant=5",
         .nz = 1,
         .ny = 135,
         .nx = 600},
        {.assignments = "radius=70 method=fused border=mirror", .nz = 1, .ny = 270, .nx = 21},
        {.assignments = "radius=40 method=fused border=nearest", .nz = 1, .ny = 21, .nx = 1024},
        {.assignments = "radius=140 method=fused border=constant constant=9",
         .nz = 1,
         .ny = 12,
         .nx = 60,
         .values = VALUES_EXTREME},
        /* several strips, whose rows start at multiples of 4 or not */
        {.assignments = "radius=10 method=fused",
         .nz = 1,
         .ny = 30,
         .nx = 1100,
         .values = VALUES_EXTREME},
        {.assignments = "radius=10 method=fused border=mirror", .nz = 1, .ny = 30, .nx = 1099},
        {.assignments = "radius=10 method=fused border=nearest", .nz = 1, .ny = 30, .nx = 1100},
        {.assignments = "radius=10 method=fused border=wrap", .nz = 1, .ny = 30, .nx = 1100},
        /* wide strips */
        {.assignments = "radius=70 method=fused border=mirror", .nz = 1, .ny = 12, .nx = 600},
        {.assignments = "radius=70 method=fused",
         .nz = 1,
         .ny = 12,
         .nx = 601,
         .values = VALUES_EXTREME},
        ANY_WINDOW_2D("method=fused"),
    };
    ts_test_begin_cuda();
    cr_assert_geq(ts_stage_check(&box_stage, ts_box_oracle, cases, sizeof cases / sizeof *cases),
                  182);
    ts_test_end_cuda();
}

#define VOLUME(text, z, y, x)                                                                      \
    {                                                                                              \
        .assignments = text " dimensions=3d method=fused", .nz = z, .ny = y, .nx = x,              \
        .dtypes = UP_TO_16_BITS_OR_FLOAT                                                           \
    }
Test(box, fuses_its_passes_in_3d_on_cuda)
{
    static const struct stage_case cases[] = {
        BORDERS_ONCE("radius=2 dimensions=3d method=fused", UP_TO_16_BITS_OR_FLOAT),
        VOLUME("radius=4", 5, 21, 33),
        {.assignments = "radius=3 dimensions=3d method=fused",
         .nz = 70,
         .ny = 11,
         .nx = 140,
         .dtypes = UP_TO_16_BITS_OR_FLOAT,
         .values = VALUES_EXTREME},
        /* several tiles, rows that start at multiples of 4, columns outside that stand for others
           of their tile */
        VOLUME("radius=1 border=mirror", 9, 37, 132),
        VOLUME("radius=2 border=nearest", 7, 33, 68),
        VOLUME("radius=3 border=wrap", 11, 35, 128),
        VOLUME("radius=4 border=mirror", 20, 34, 72),
    };
    ts_test_begin_cuda();
    cr_assert_geq(ts_stage_check(&box_stage, ts_box_oracle, cases, sizeof cases / sizeof *cases),
                  85);
    ts_test_end_cuda();
}

/* Their sums take most of the shared memory of a block: not every device has so much. */
Test(box, fuses_its_passes_over_many_slices_on_cuda)
{
    enum { SHARED_BYTES = 200 << 10 };
    static const struct stage_case cases[] = {
        VOLUME("radius=7 border=reflect", 3, 9, 37),
        VOLUME("radius=7 border=nearest", 3, 9, 40),
        VOLUME("radius=7 border=wrap", 3, 5, 37),
        {.assignments = "radius=7 border=constant constant=7 dimensions=3d method=fused",
         .nz = 3,
         .ny = 9,
         .nx = 36,
         .dtypes = UP_TO_16_BITS_OR_FLOAT,
         .absolute = 1e-6 * LARGEST_INPUT},
        VOLUME("radius=5 border=reflect", 9, 42, 132),
        {.assignments = "radius=5 border=constant constant=9 dimensions=3d method=fused",
         .nz = 2,
         .ny = 43,
         .nx = 76,
         .dtypes = UP_TO_16_BITS_OR_FLOAT,
         .absolute = 1e-6 * LARGEST_INPUT},
        VOLUME("radius=6 border=nearest", 33, 6, 68),
        {.assignments = "radius=7 border=mirror dimensions=3d method=fused",
         .nz = 9,
         .ny = 42,
         .nx = 68,
         .dtypes = UP_TO_16_BITS_OR_FLOAT,
         .values = VALUES_EXTREME},
        VOLUME("radius=8 border=wrap", 3, 43, 68),
        VOLUME("radius=8 border=mirror", 5, 20, 72),
    };
    ts_test_begin_cuda();
    if (ts_test_device->block_shared_bytes < SHARED_BYTES)
        ts_test_skip("a block has less than %d bytes of shared memory", (int)SHARED_BYTES);
    cr_assert_geq(ts_stage_check(&box_stage, ts_box_oracle, cases, sizeof cases / sizeof *cases),
                  50);
    ts_test_end_cuda();
}
#undef VOLUME

/* The loop's bound is relative, which lets 32-bit integers off; a wrong sum must not hide there. */
TEST_ON_BOTH(box, is_exact_for_32_bit_integers)
{
    enum { ON_BOTH = 11 }; /* the others on CUDA alone */
    static const char *const ways[] = {"radius=2",
                                       "radius=3 method=running-sum",
                                       "radius=9 border=wrap",
                                       "radius=2 dimensions=3d",
                                       "radius=5 dimensions=3d border=mirror",
                                       "radius=9 method=direct",
                                       "radius=1 dimensions=3d method=unrolled",
                                       "radius=9 border=wrap method=separable",
                                       "radius=2 dimensions=3d method=separable",
                                       "radius=2 dimensions=3d method=running-sum",
                                       "radius=7 method=tile",
                                       "radius=9 method=fused",
                                       "radius=9 border=wrap method=fused",
                                       "radius=9 border=wrap method=texture"};
    const size_t n_ways = ts_test_device ? sizeof ways / sizeof *ways : ON_BOTH;
    for (size_t way = 0; way < n_ways; way++)
        for (enum ts_dtype dtype = TS_U32; dtype <= TS_I32; dtype++)
            for (enum stage_values values = VALUES_RANDOM; values <= VALUES_EXTREME;
                 values += VALUES_EXTREME) {
                struct ts_image in = ts_test_image(4, 13, 17, dtype, values, 31 + way);
                struct ts_image out = ts_test_output(&box_stage, ways[way], &in);
                const size_t n = ts_image_count(&in);
                double *as_double = malloc(n * sizeof(double)),
                       *expected = malloc(n * sizeof(double)), *got = malloc(n * sizeof(double));
                struct param_set set;
                ts_test_params(&box_stage, ways[way], &set);
                const struct stage_context context = {.params = set.values, .in = in};
                ts_load_f64(as_double, in.data, dtype, n);
                ts_load_f64(got, out.data, dtype, n);
                ts_box_oracle(&context, as_double, expected);
                for (size_t i = 0; i < n; i++)
                    cr_assert_eq(got[i], expected[i], "%s %s: %.0f, expected %.0f", ways[way],
                                 ts_dtype_name(dtype), got[i], expected[i]);
                ts_test_params_clear(&set);
                free(as_double);
                free(expected);
                free(got);
                free(in.data);
                free(out.data);
            }
}

TEST_ON_BOTH(box, keeps_nan_and_infinity_in_their_own_windows)
{
    enum { ON_BOTH = 14 }; /* the others on CUDA alone */
    static const struct {
        const char *assignments;
        int64_t r, rz;
    } ways[] = {
        {"radius=2", 2, 0},
        {"radius=2 method=running-sum", 2, 0},
        {"radius=11", 11, 0},
        {"radius=2 dimensions=3d", 2, 2},
        {"radius=5 dimensions=3d", 5, 5},
        {"radius=11 method=direct", 11, 0},
        {"radius=1 method=unrolled", 1, 0},
        {"radius=11 method=separable", 11, 0},
        {"radius=11 method=running-sum", 11, 0},
        {"radius=11 method=tile", 11, 0},
        {"radius=1 dimensions=3d method=unrolled", 1, 1},
        {"radius=3 dimensions=3d method=separable", 3, 3},
        {"radius=3 dimensions=3d method=running-sum", 3, 3},
        {"radius=1 dimensions=3d method=tile", 1, 1},
        {"radius=11 method=texture", 11, 0},
        {"radius=3 method=fused", 3, 0},
        {"radius=8 method=fused", 8, 0},
        {"radius=11 method=fused", 11, 0},
        {"radius=3 dimensions=3d method=fused", 3, 3},
        {"radius=4 dimensions=3d method=fused", 4, 4},
    };
    const size_t n_ways = ts_test_device ? sizeof ways / sizeof *ways : ON_BOTH;
    for (size_t way = 0; way < n_ways; way++) {
        const int64_t r = ways[way].r, rz = ways[way].rz;
        char assignments[80];
        snprintf(assignments, sizeof assignments, "%s border=nearest", ways[way].assignments);
        struct ts_image in = ts_test_image(12, 60, 50, TS_F32, VALUES_RANDOM, 5);
        struct ts_image clean = ts_test_output(&box_stage, assignments, &in);
        float *values = in.data;
        values[(6 * 60 + 30) * 50 + 20] = NAN;
        values[(6 * 60 + 3) * 50 + 45] = INFINITY;
        struct ts_image out = ts_test_output(&box_stage, assignments, &in);
        const float *got = out.data, *before = clean.data;
        for (int64_t z = 0; z < 12; z++)
            for (int64_t y = 0; y < 60; y++)
                for (int64_t x = 0; x < 50; x++, got++, before++) {
                    const bool slice = llabs(z - 6) <= rz;
                    const bool nan = slice && llabs(y - 30) <= r && llabs(x - 20) <= r;
                    const bool inf = slice && llabs(y - 3) <= r && llabs(x - 45) <= r;
                    cr_assert(nan   ? isnan(*got)
                              : inf ? *got == INFINITY
                                    : !memcmp(got, before, sizeof *got),
                              "%s: %g, without them %g, at %lld %lld %lld", ways[way], (double)*got,
                              (double)*before, (long long)z, (long long)y, (long long)x);
                }
        free(in.data);
        free(out.data);
        free(clean.data);
    }
}

TEST_ON_BOTH(box, is_as_exact_as_stated_for_hard_floats)
{
    /* A large offset, and widely spread magnitudes that a subtracting sum would lose. */
    struct ts_image in = ts_test_image(1, 300, 200, TS_F32, VALUES_RANDOM, 9);
    float *values = in.data;
    for (int64_t i = 0; i < 300 * 200; i++)
        values[i] = i % 7919 == 0 ? 1e6f : values[i] * 1e-3f + 16384.0f;
    enum { ON_BOTH = 8 }; /* the others on CUDA alone */
    static const char *const ways[] = {"radius=4",
                                       "radius=12",
                                       "radius=63",
                                       "radius=1 method=unrolled",
                                       "radius=40 method=direct",
                                       "radius=63 method=separable",
                                       "radius=63 method=running-sum",
                                       "radius=40 method=tile",
                                       "radius=7 method=fused",
                                       "radius=63 method=fused",
                                       "radius=63 method=texture"};
    const size_t n_ways = ts_test_device ? sizeof ways / sizeof *ways : ON_BOTH;
    for (size_t way = 0; way < n_ways; way++) {
        struct ts_image out = ts_test_output(&box_stage, ways[way], &in);
        struct param_set set;
        ts_test_params(&box_stage, ways[way], &set);
        const struct stage_context context = {.params = set.values, .in = in};
        double *as_double = malloc(300 * 200 * sizeof(double)),
               *expected = malloc(300 * 200 * sizeof(double));
        ts_load_f64(as_double, values, TS_F32, 300 * 200);
        ts_box_oracle(&context, as_double, expected);
        for (int64_t i = 0; i < 300 * 200; i++)
            cr_assert(fabs(((float *)out.data)[i] - expected[i]) <= 1e-6 * expected[i],
                      "%s: %.9g, expected %.9g", ways[way], (double)((float *)out.data)[i],
                      expected[i]);
        free(as_double);
        free(expected);
        free(out.data);
        ts_test_params_clear(&set);
    }
    free(in.data);
}

Test(box, refuses_what_it_cannot_do)
{
    static const struct {
        const char *assignments, *code, *part;
        enum ts_dtype dtype;
    } bad[] = {
        {"radius=2 method=unrolled", "method-radius", "for a radius of 1 pixel", TS_U8},
        {"radius=1 constant=3", "parameter-unused", "border is reflect", TS_F32},
        {"radius=1 border=constant constant=-1", "value-range", "0 to 65535", TS_U16},
        {"radius=1 border=constant constant=0.5", "value-range", "0.5 is no value", TS_I16},
        {"radius=641 dimensions=3d", "radius-sum", "[0, 640]", TS_I32},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ts_image in = ts_test_image(1, 3, 4, bad[i].dtype, VALUES_RANDOM, 1);
        ts_test_refuses(&box_stage, bad[i].assignments, &in, NULL, bad[i].code, bad[i].part);
        free(in.data);
    }
}

Test(box, refuses_what_a_cuda_device_cannot_do)
{
    /* Nothing runs, so any description of a device does. */
    static const struct device_numbers device = {.name = "a device",
                                                 .block_shared_bytes = 48 << 10};
    static const struct {
        const char *assignments, *code, *part;
        int64_t nx;
        enum ts_dtype dtype;
    } bad[] = {
        {"radius=9 method=fused dimensions=3d", "method-radius", "at most 8 pixel", 4, TS_F32},
        {"radius=3 method=fused dimensions=3d", "method-radius", "the image is of i32", 4, TS_I32},
        {"radius=7 method=fused dimensions=3d", "method-shared-memory",
         "do not fit the 49152 bytes", 4, TS_F32},
        {"radius=1024 method=fused", "method-shared-memory", "do not fit the 49152 bytes", 3000,
         TS_F32},
        {"radius=2 method=unrolled", "method-radius", "for a radius of 1 pixel", 4, TS_F32},
        {"radius=2 method=texture dimensions=3d", "method-dimensions", "dimensions is 3d", 4,
         TS_F32},
        {"radius=60 method=tile", "method-shared-memory", "and a block of a device has 49152", 4,
         TS_F32},
        {"radius=12 method=tile dimensions=3d", "method-shared-memory",
         "and a block of a device has 49152", 4, TS_F32},
    };
    ts_test_device = &device;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ts_image in = ts_test_image(1, 3, bad[i].nx, bad[i].dtype, VALUES_RANDOM, 1);
        ts_test_refuses(&box_stage, bad[i].assignments, &in, NULL, bad[i].code, bad[i].part);
        free(in.data);
    }
}

/* A description alone: nothing of it is ever held. */
Test(box, refuses_slices_that_31_bits_do_not_count_on_a_cuda_device)
{
    static const struct device_numbers device = {.name = "a device",
                                                 .block_shared_bytes = 227 << 10};
    struct ts_image in = ts_test_image(1, 3, 4, TS_U8, VALUES_RANDOM, 1);
    struct param_set set;
    struct stage_context context;
    struct ts_diag *diag = ts_diag_create();
    in.axes[2].n = (int64_t)INT32_MAX / 2 + 1;
    ts_test_params(&box_stage, "radius=1 method=fused", &set);
    cr_assert_eq(ts_stage_prepare(&box_stage, &set, &in, NULL, 1, &device, diag, &context),
                 TS_BAD_CHAIN);
    ts_test_expect(diag, "method-size", "in 31 bits, and a slice has 3 x 1073741824");
    ts_test_params_clear(&set);
    ts_diag_destroy(diag);
    free(in.data);
}
