/* SPDX-License-Identifier: Apache-2.0
 *
 * Denoising of masked images. An invalid pixel is as good as a NaN for bilateral and nlm, whose
 * definition says what that does; for tv it is a border, so that an image that a line or a slice of
 * invalid pixels cuts in two gives what its parts give. What invalid pixels hold changes no other
 * byte.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/masked.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(masked_denoising);

enum { NZ = 5, NY = 21, NX = 43 };

static void check_values(const struct ts_image *image, const struct ts_image *out,
                         const struct ts_image *expected, const char *what)
{
    for (int64_t z = 0; z < image->axes[0].n; z++)
        for (size_t i = 0; i < ts_slice_count(image); i++) {
            const float is = ((const float *)ts_slice_data(out, z))[i];
            float should = ((const float *)ts_slice_data(expected, z))[i];
            if (!ts_test_is_valid(image, z, i))
                ts_load_f32(&should,
                            (char *)ts_slice_data(image, z) + i * ts_dtype_bytes(image->dtype),
                            image->dtype, 1);
            cr_assert(is == should || (isnan(is) && isnan(should)),
                      "%s, %s: slice %lld, pixel %zu is %.9g, expected %.9g", what,
                      ts_dtype_name(image->dtype), (long long)z, i, (double)is, (double)should);
        }
}

/* Runs the stage on a masked image, and on one of floats that is NaN where that is invalid. */
static void check_as_nan(const struct stage *stage, const char *assignments, enum ts_dtype dtype,
                         enum masked_pixels which)
{
    struct ts_image image = ts_test_image(NZ, NY, NX, dtype, VALUES_CT, 31),
                    twin = ts_test_image(NZ, NY, NX, TS_F32, VALUES_CONSTANT, 1);
    struct stage_run run, expected;
    ts_test_mask(&image, which, 100, 32);
    for (int64_t z = 0; z < NZ; z++) {
        float *values = ts_slice_data(&twin, z);
        ts_load_f32(values, ts_slice_data(&image, z), dtype, NY * NX);
        for (size_t i = 0; i < NY * NX; i++)
            values[i] = ts_test_is_valid(&image, z, i) ? values[i] : NAN;
    }
    cr_assert_eq(ts_test_run(&run, stage, assignments, &image, NULL, 2, 3), TS_OK);
    cr_assert_eq(ts_test_run(&expected, stage, assignments, &twin, NULL, 0, 1), TS_OK);
    check_values(&image, &run.out, &expected.out, assignments);
    if (stage == &nlm_stage && !strstr(assignments, "sigma"))
        cr_assert_eq(ts_test_table_at(&run, "sigma", 0), ts_test_table_at(&expected, "sigma", 0));
    ts_test_run_clear(&run);
    ts_test_run_clear(&expected);
    free(image.data);
    free(image.valid);
    free(twin.data);
}

TEST_ON_BOTH(masked_denoising, what_is_invalid_is_as_a_nan)
{
    static const struct {
        const struct stage *stage;
        const char *assignments;
    } cases[] = {
        {&bilateral_stage, "sigma_color=300"},
        {&bilateral_stage, "sigma_color=300 dimensions=3d border=wrap"},
        {&nlm_stage, "sigma=40 h=50 patch_size=3 patch_distance=3"},
        {&nlm_stage, "sigma=40 h=50 patch_size=3 patch_distance=2 dimensions=3d border=constant"},
        {&nlm_stage, "patch_size=3 patch_distance=2"},
        {&nlm_stage, "patch_size=3 patch_distance=2 estimate=immerkaer"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
            check_as_nan(cases[i].stage, cases[i].assignments, (enum ts_dtype)dtype, MASKED_SOME);
        check_as_nan(cases[i].stage, cases[i].assignments, TS_I16, MASKED_NONE);
    }
}

/* Copies a box of slices and columns, without bits. */
static struct ts_image cut(const struct ts_image *image, int64_t z, int64_t nz, int64_t x,
                           int64_t nx)
{
    struct ts_image part = ts_test_image(nz, NY, nx, image->dtype, VALUES_CONSTANT, 1);
    const size_t element = ts_dtype_bytes(image->dtype);
    for (int64_t row = 0; row < nz * NY; row++)
        memcpy((char *)part.data + (size_t)(row * nx) * element,
               (char *)image->data + (size_t)((z * NY + row) * NX + x) * element,
               (size_t)nx * element);
    return part;
}

static void check_part(const struct ts_image *image, const struct ts_image *out,
                       const char *assignments, int64_t z, int64_t nz, int64_t x, int64_t nx)
{
    struct ts_image part = cut(image, z, nz, x, nx), found = cut(out, z, nz, x, nx);
    struct ts_image expected = ts_test_output(&tv_stage, assignments, &part);
    for (size_t i = 0; i < ts_image_count(&found); i++) {
        const float is = ((float *)found.data)[i], should = ((float *)expected.data)[i];
        cr_assert(fabsf(is - should) <= 2e-6f * 4096, "%s, %s: %zu is %.9g, expected %.9g",
                  assignments, ts_dtype_name(image->dtype), i, (double)is, (double)should);
    }
    free(part.data);
    free(found.data);
    free(expected.data);
}

/* A column, or a slice, of padding: both sides are denoised by themselves. */
TEST_ON_BOTH(masked_denoising, tv_ends_at_padding)
{
    static const char *const methods[] = {"primal-dual", "chambolle"};
    enum { COLUMN = 17, SLICE = 2 };
    for (int method = 0; method < 2; method++)
        for (int volume = 0; volume < 2; volume++)
            for (int dtype = TS_U8; dtype <= TS_F32; dtype++) {
                struct ts_image image =
                    ts_test_image(NZ, NY, NX, (enum ts_dtype)dtype, VALUES_CT, 41);
                char assignments[100];
                snprintf(assignments, sizeof assignments,
                         "weight=30 iterations=7 method=%s dimensions=%s", methods[method],
                         volume ? "3d" : "2d");
                ts_test_mask(&image, MASKED_NONE, 0, 1);
                for (int64_t z = 0; z < NZ; z++)
                    for (size_t i = 0; i < NY * NX; i++)
                        if ((volume && z == SLICE) || (!volume && i % NX == COLUMN)) {
                            ts_slice_valid(&image, z)[i / 64] &= ~(UINT64_C(1) << i % 64);
                            ts_test_store(ts_slice_data(&image, z), image.dtype, i, 90);
                        }
                struct ts_image out = ts_test_output(&tv_stage, assignments, &image);
                cr_assert_eq(((float *)out.data)[volume ? SLICE * NY * NX : COLUMN], 90);
                check_part(&image, &out, assignments, 0, volume ? SLICE : NZ, 0,
                           volume ? NX : COLUMN);
                check_part(&image, &out, assignments, volume ? SLICE + 1 : 0,
                           volume ? NZ - SLICE - 1 : NZ, volume ? 0 : COLUMN + 1,
                           volume ? NX : NX - COLUMN - 1);
                free(out.data);
                free(image.data);
                free(image.valid);
            }
}

/* The value behind the padding changes nothing else, nor do slabs; the bound of the distance is
 * finite. */
TEST_ON_BOTH(masked_denoising, tv_does_not_see_what_padding_holds)
{
    static const double hidden[] = {100, -3e4, (double)NAN};
    static const char *const parameters[] = {
        "weight=30 iterations=9", "weight=30 iterations=9 dimensions=3d",
        "weight=30 iterations=50 stop=distance tolerance=1 dimensions=3d"};
    for (int p = 0; p < 3; p++) {
        struct ts_image first = {0};
        for (int h = 0; h < 3; h++) {
            struct ts_image image = ts_test_image(NZ, NY, NX, TS_F32, VALUES_CT, 51);
            struct stage_run run;
            ts_test_mask(&image, MASKED_SOME, hidden[h], 52);
            cr_assert_eq(ts_test_run(&run, &tv_stage, parameters[p], &image, NULL, h, 1 + h),
                         TS_OK);
            if (h == 0) {
                first = run.out;
                run.out.data = NULL;
            } else {
                check_values(&image, &run.out, &first, parameters[p]);
            }
            for (int64_t z = 0; z < NZ; z++)
                cr_assert(isfinite(ts_test_table_at(&run, "distance", z * (p == 2 ? 5 : 1))));
            ts_test_run_clear(&run);
            free(image.data);
            free(image.valid);
        }
        free(first.data);
    }
}
