/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/clahe/clahe.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/hdf5_data.h"
#include "tests/stages/clahe/clahe_oracle.h"
#include "tests/support/masked.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

struct clahe_fixture {
    enum ts_dtype dtype;
    int64_t ny, nx, highest;
    const char *assignments;
};
#include "tests/stages/clahe/clahe_fixtures.inc"

TestSuite(clahe);

TEST_ON_BOTH(clahe, opencv_rule_agrees_with_the_definition)
{
    static const unsigned u8 = TS_DTYPE_BIT(TS_U8), u16 = TS_DTYPE_BIT(TS_U16);
    const struct stage_case cases[] = {
        {.assignments = "method=opencv", .dtypes = u8},
        {.assignments = "method=opencv clip_limit=2 tiles_y=3 tiles_x=5",
         .dtypes = u8,
         .values = VALUES_CT},
        {.assignments = "method=opencv clip_limit=inf tiles_y=1 tiles_x=1", .dtypes = u8},
        {.assignments = "method=opencv", .dtypes = u8, .values = VALUES_EXTREME},
        {.assignments = "method=opencv clip_limit=900 tiles_y=4 tiles_x=2",
         .dtypes = u16,
         .values = VALUES_CT,
         .nz = 2,
         .ny = 61,
         .nx = 83},
        {.assignments = "method=opencv tiles_y=2 tiles_x=3",
         .dtypes = u16,
         .nz = 2,
         .ny = 24,
         .nx = 30},
        {.assignments = "method=opencv clip_limit=inf", .dtypes = u16, .nz = 1, .ny = 3, .nx = 5},
        {.assignments = "method=opencv tiles_y=64 tiles_x=64",
         .dtypes = u8,
         .nz = 1,
         .ny = 70,
         .nx = 65},
        {.assignments = "method=opencv",
         .dtypes = u16,
         .values = VALUES_CONSTANT,
         .nz = 1,
         .ny = 9,
         .nx = 20},
        {.assignments = "method=opencv",
         .dtypes = u16,
         .values = VALUES_CT,
         .nz = 3,
         .ny = 256,
         .nx = 512},
        {.assignments = "method=opencv",
         .dtypes = u8,
         .values = VALUES_CT,
         .nz = 2,
         .ny = 256,
         .nx = 320},
        {.assignments = "method=opencv clip_limit=500 tiles_y=2 tiles_x=17",
         .dtypes = u16,
         .values = VALUES_CT,
         .nz = 3,
         .ny = 70,
         .nx = 272},
        {.assignments = "method=opencv tiles_y=1 tiles_x=2",
         .dtypes = u16,
         .values = VALUES_CT,
         .nz = 1,
         .ny = 300,
         .nx = 600},
    };
    cr_assert_eq(ts_stage_check(&clahe_stage, ts_clahe_oracle, cases, sizeof cases / sizeof *cases),
                 4 * 8 + 9);
}

/* Blocks that wait for each other: fewer of them fit where there is less shared memory. */
Test(clahe, opencv_rule_with_little_shared_memory_on_cuda)
{
    static const unsigned u8 = TS_DTYPE_BIT(TS_U8), u16 = TS_DTYPE_BIT(TS_U16);
    const struct stage_case cases[] = {
        {.assignments = "method=opencv", .dtypes = u8, .nz = 2, .ny = 61, .nx = 83},
        {.assignments = "method=opencv tiles_y=1 tiles_x=1 clip_limit=inf",
         .dtypes = u8,
         .nz = 2,
         .ny = 31,
         .nx = 50},
        {.assignments = "method=opencv clip_limit=900",
         .dtypes = u16,
         .values = VALUES_CT,
         .nz = 3,
         .ny = 61,
         .nx = 83},
        {.assignments = "method=opencv tiles_y=2 tiles_x=3",
         .dtypes = u16,
         .nz = 2,
         .ny = 24,
         .nx = 30},
        {.assignments = "method=opencv",
         .dtypes = u16,
         .values = VALUES_CT,
         .nz = 3,
         .ny = 256,
         .nx = 512},
    };
    const size_t n = sizeof cases / sizeof *cases;
    ts_test_begin_cuda_like(75);
    cr_assert_eq(ts_stage_check(&clahe_stage, ts_clahe_oracle, cases, n), n);
    ts_test_end_cuda();
}

TEST_ON_BOTH(clahe, skimage_rule_agrees_with_the_definition)
{
    const struct stage_case cases[] = {
        {.assignments = ""},
        {.assignments = "clip_limit=0.3 bins=33 kernel_y=5 kernel_x=16", .values = VALUES_CT},
        {.assignments = "clip_limit=inf kernel_y=200 kernel_x=1", .nz = 2, .ny = 31, .nx = 40},
        {.assignments = "bins=16384", .values = VALUES_CT, .nz = 1, .ny = 40, .nx = 50},
        {.assignments = "bins=1", .nz = 1, .ny = 9, .nx = 12},
        {.assignments = "clip_limit=1e-9", .nz = 2, .ny = 64, .nx = 80, .values = VALUES_EXTREME},
        {.assignments = "", .nz = 2, .ny = 16, .nx = 10, .values = VALUES_CONSTANT},
    };
    cr_assert_eq(ts_stage_check(&clahe_stage, ts_clahe_oracle, cases, sizeof cases / sizeof *cases),
                 (2 * 8 + 5) * 7);
}

/* The image of lab/peers/clahe_fixtures.py. */
static struct ts_image fixture_image(const struct clahe_fixture *fixture)
{
    struct ts_image in =
        ts_test_image(1, fixture->ny, fixture->nx, fixture->dtype, VALUES_CONSTANT, 1);
    for (int64_t y = 0; y < fixture->ny; y++)
        for (int64_t x = 0; x < fixture->nx; x++) {
            const int64_t mixed = (x * 73856093 ^ y * 19349663) & 0xFFFFFFFF;
            const int64_t value = x * fixture->highest / (2 * fixture->nx) +
                                  y * fixture->highest / (3 * fixture->ny) +
                                  (mixed >> 5) % (fixture->highest / 6 + 1);
            if (fixture->dtype == TS_U8)
                ((uint8_t *)in.data)[y * fixture->nx + x] = (uint8_t)value;
            else
                ((uint16_t *)in.data)[y * fixture->nx + x] = (uint16_t)value;
        }
    return in;
}

/* Runs the stage; the caller frees the doubles. */
static double *run(const char *assignments, const struct ts_image *in)
{
    struct ts_image out = ts_test_output(&clahe_stage, assignments, in);
    double *values = malloc(ts_image_count(&out) * sizeof *values);
    ts_load_f64(values, out.data, out.dtype, ts_image_count(&out));
    free(out.data);
    return values;
}

TEST_ON_BOTH(clahe, gives_the_bytes_of_opencv)
{
    const uint16_t *expected = opencv_values;
    for (size_t f = 0; f < sizeof opencv_fixtures / sizeof *opencv_fixtures; f++) {
        char assignments[128];
        snprintf(assignments, sizeof assignments, "method=opencv %s",
                 opencv_fixtures[f].assignments);
        struct ts_image in = fixture_image(&opencv_fixtures[f]);
        double *out = run(assignments, &in);
        for (size_t i = 0; i < ts_image_count(&in); i++)
            cr_assert_eq(out[i], *expected++, "fixture %zu, %s: element %zu is %g, in OpenCV %u", f,
                         assignments, i, out[i], expected[-1]);
        free(in.data);
        free(out);
    }
    cr_assert_eq(expected, opencv_values + sizeof opencv_values / sizeof *opencv_values);
}

TEST_ON_BOTH(clahe, gives_the_values_of_scikit_image)
{
    const float *expected = skimage_values;
    for (size_t f = 0; f < sizeof skimage_fixtures / sizeof *skimage_fixtures; f++) {
        struct ts_image in = fixture_image(&skimage_fixtures[f]);
        double *out = run(skimage_fixtures[f].assignments, &in);
        for (size_t i = 0; i < ts_image_count(&in); i++)
            cr_assert_eq(out[i], *expected++,
                         "fixture %zu, %s: element %zu is %.9g, in scikit-image %.9g", f,
                         skimage_fixtures[f].assignments, i, out[i], (double)expected[-1]);
        free(in.data);
        free(out);
    }
    cr_assert_eq(expected, skimage_values + sizeof skimage_values / sizeof *skimage_values);
}

TEST_ON_BOTH(clahe, agrees_with_scikit_image_on_ct_and_mr)
{
    SKIP_WITHOUT_DATA("clahe/agrees_with_scikit_image_on_ct_and_mr");
    static const char *const files[] = {"reference/generated/filters_ct_ge_head.h5",
                                        "reference/generated/filters_mr_sts001.h5"};
    for (int file = 0; file < 2; file++) {
        size_t n, n_expected;
        double *input = ts_test_read_hdf5(files[file], "input", &n);
        double *expected = ts_test_read_hdf5(files[file], "equalize_adapthist/0.01", &n_expected);
        cr_assert_eq(n, 152 * 152);
        cr_assert_eq(n_expected, n);
        struct ts_image in = ts_test_image(1, 152, 152, TS_F32, VALUES_CONSTANT, 1);
        for (size_t i = 0; i < n; i++)
            ((float *)in.data)[i] = (float)input[i];
        double *out = run("clip_limit=0.01", &in);
        for (size_t i = 0; i < n; i++)
            cr_assert(fabs(out[i] - expected[i]) <= 1e-6, "%s: element %zu is %.9g, expected %.9g",
                      files[file], i, out[i], expected[i]);
        free(input);
        free(expected);
        free(in.data);
        free(out);
    }
}

TEST_ON_BOTH(clahe, nan_stays_and_takes_nothing_with_it)
{
    struct ts_image in = ts_test_image(1, 20, 30, TS_F32, VALUES_CT, 3);
    ((float *)in.data)[7 * 30 + 11] = NAN;
    ((float *)in.data)[2 * 30 + 3] = INFINITY;
    double *out = run("", &in);
    for (int i = 0; i < 20 * 30; i++)
        cr_assert(i == 7 * 30 + 11 ? isnan(out[i]) : out[i] >= 0 && out[i] <= 1, "%d: %g", i,
                  out[i]);
    free(in.data);
    free(out);
}

/* A CUDA device takes slices with low and with high values different ways. */
TEST_ON_BOTH(clahe, slices_of_any_range_side_by_side)
{
    struct ts_image in = ts_test_image(5, 64, 128, TS_U16, VALUES_CT, 3);
    const size_t slice = ts_slice_count(&in), n = ts_image_count(&in);
    uint16_t *data = in.data;
    data[slice + 70] = 4095;
    data[2 * slice + 5000] = 4096;
    for (size_t i = 3 * slice; i < 4 * slice; i++)
        data[i] = (uint16_t)(data[i] * 16 + i % 5);
    struct stage_run run;
    const char *const assignments = "method=opencv clip_limit=300 tiles_y=4 tiles_x=4";
    cr_assert_eq(ts_test_run(&run, &clahe_stage, assignments, &in, NULL, 0, 2), TS_OK);
    const uint16_t *out = run.out.data;
    double *values = malloc(n * sizeof *values), *expected = malloc(n * sizeof *expected);
    ts_load_f64(values, in.data, in.dtype, n);
    ts_clahe_oracle(&run.context, values, expected);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq((double)out[i], expected[i], "element %zu is %u, expected %g", i, out[i],
                     expected[i]);
    free(values);
    free(expected);
    free(in.data);
    ts_test_run_clear(&run);
}

Test(clahe, refuses_what_its_rule_does_not_know)
{
    static const struct {
        const char *assignments, *code, *part;
        enum ts_dtype dtype;
    } bad[] = {
        {"method=opencv", "stage-dtype", "the image is i16", TS_I16},
        {"method=opencv bins=5", "parameter-unused", "method: opencv", TS_U8},
        {"method=opencv kernel_x=5", "parameter-unused", "method: opencv", TS_U8},
        {"tiles_y=5", "parameter-unused", "method: skimage", TS_F32},
        {"clip_limit=0", "value-range", "above 0", TS_F32},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ts_image in = ts_test_image(1, 3, 4, bad[i].dtype, VALUES_RANDOM, 1);
        ts_test_refuses(&clahe_stage, bad[i].assignments, &in, NULL, bad[i].code, bad[i].part);
        free(in.data);
    }
}

/* Compares a masked image with the definition, in slabs and on threads of several numbers. */
static void check_masked(const char *assignments, enum ts_dtype dtype, enum masked_pixels which)
{
    enum { NZ = 4, NY = 37, NX = 70 };
    struct ts_image image = ts_test_image(NZ, NY, NX, dtype, VALUES_CT, 31);
    double *in = malloc(NZ * NY * NX * sizeof *in),
           *expected = malloc(NZ * NY * NX * sizeof *expected);
    bool *valid = malloc(NZ * NY * NX);
    ts_test_mask(&image, which, dtype == TS_F32 ? -3e38 : 120, 32);
    /* Slice 2 becomes a body in the middle: tiles at its corners are empty, and others nearly
     * so. */
    for (size_t i = 0; which == MASKED_SOME && i < NY * NX; i++)
        if (i / NX < 9 || i / NX >= 26 || i % NX < 20 || i % NX >= 47) {
            ts_slice_valid(&image, 2)[i / 64] &= ~(UINT64_C(1) << i % 64);
            ts_test_store(ts_slice_data(&image, 2), dtype, i, dtype == TS_F32 ? (double)NAN : 127);
        }
    ts_load_f64(in, image.data, dtype, NZ * NY * NX);
    for (int64_t z = 0; z < NZ; z++)
        for (size_t i = 0; i < NY * NX; i++)
            valid[(size_t)z * NY * NX + i] = ts_test_is_valid(&image, z, i);
    for (int threads = 1; threads <= 3; threads += 2) {
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &clahe_stage, assignments, &image, NULL,
                                 threads == 1 ? 0 : 1, threads),
                     TS_OK);
        ts_clahe_masked_oracle(&run.context, in, valid, expected);
        for (size_t i = 0; i < NZ * NY * NX; i++) {
            double is;
            ts_load_f64(&is, (char *)run.out.data + i * ts_dtype_bytes(run.out.dtype),
                        run.out.dtype, 1);
            cr_assert(is == expected[i], "%s of %s: pixel %zu is %.9g, expected %.9g", assignments,
                      ts_dtype_name(dtype), i, is, expected[i]);
        }
        ts_test_run_clear(&run);
    }
    free(in);
    free(expected);
    free(valid);
    free(image.data);
    free(image.valid);
}

TEST_ON_BOTH(clahe, tables_of_masked_images_are_those_of_their_valid_pixels)
{
    static const char *const opencv[] = {"method=opencv",
                                         "method=opencv clip_limit=600 tiles_y=3 tiles_x=5",
                                         "method=opencv clip_limit=inf tiles_y=1 tiles_x=2"};
    static const char *const skimage[] = {"clip_limit=0.02",
                                          "kernel_y=11 kernel_x=9 clip_limit=0.3 bins=100",
                                          "clip_limit=inf bins=10000"};
    for (int c = 0; c < 3; c++) {
        for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
            check_masked(skimage[c], (enum ts_dtype)dtype, MASKED_SOME);
        check_masked(opencv[c], TS_U8, MASKED_SOME);
        check_masked(opencv[c], TS_U16, MASKED_SOME);
        check_masked(opencv[c], TS_U16, MASKED_ALL);
        check_masked(skimage[c], TS_I16, MASKED_ALL);
        check_masked(skimage[c], TS_F32, MASKED_NONE);
        check_masked(opencv[c], TS_U8, MASKED_NONE);
    }
}
