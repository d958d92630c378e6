/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/regions/threshold.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/regions/threshold_oracle.h"
#include "tests/support/masked.h"
#include "tests/support/stage_run.h"

TestSuite(threshold);

TEST_ON_BOTH(threshold, agrees_with_the_definition)
{
    static const struct stage_case cases[] = {
        {.assignments = "above=100"},
        {.assignments = "below=7.5 ", .values = VALUES_CT},
        {.assignments = "above=-50 below=61", .values = VALUES_CT},
        {.assignments = "above=0", .values = VALUES_EXTREME},
        {.assignments = "below=1e30 above=-1e30", .values = VALUES_EXTREME},
        {.assignments = "above=4294967295", .values = VALUES_EXTREME},
        {.assignments = "method=otsu"},
        {.assignments = "method=otsu side=below", .values = VALUES_CT},
        {.assignments = "method=otsu scope=slice bins=77", .values = VALUES_CT},
        {.assignments = "method=otsu", .values = VALUES_EXTREME},
        {.assignments = "method=otsu scope=slice side=below", .values = VALUES_CONSTANT},
        {.assignments = "method=triangle"},
        {.assignments = "method=triangle bins=77", .values = VALUES_CT},
        {.assignments = "method=triangle scope=slice side=below", .values = VALUES_CT},
        {.assignments = "method=triangle", .values = VALUES_CONSTANT},
        {.assignments = "method=percentile percentile=90"},
        {.assignments = "method=percentile scope=slice side=below", .values = VALUES_CT},
        {.assignments = "method=percentile percentile=0", .values = VALUES_EXTREME},
        {.assignments = "method=percentile percentile=100", .values = VALUES_CONSTANT},
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_geq(ts_stage_check(&threshold_stage, ts_threshold_oracle, cases, n), n * 8 * 7);
}

/* The classes {0, 0, 1} and {4, 5}, and values that occur once or never. */
Test(threshold, otsu_parts_values_as_by_hand)
{
    static const uint64_t counts[] = {2, 1, 0, 0, 1, 1}, one[] = {0, 7, 0}, none[] = {0, 0},
                          even[] = {1, 1, 1, 1};
    cr_assert_eq(ts_otsu(counts, 6), 1);
    cr_assert_eq(ts_otsu(one, 3), 1);
    cr_assert_eq(ts_otsu(none, 2), -1);
    cr_assert_eq(ts_otsu(even, 4), 1);
}

/* The line from the end to the peak of 100 rises by 20 a value: 5 is 55 below the 60 at its place.
 */
Test(threshold, triangle_finds_the_corner_as_by_hand)
{
    static const uint64_t right[] = {0, 3, 100, 30, 5, 4, 3, 2},
                          left[] = {2, 3, 4, 5, 30, 100, 3, 0}, one[] = {0, 7, 0}, none[] = {0, 0};
    cr_assert_eq(ts_triangle(right, 8), 4);
    cr_assert_eq(ts_triangle(left, 8), 3);
    cr_assert_eq(ts_triangle(one, 3), 1);
    cr_assert_eq(ts_triangle(none, 2), -1);
}

static void expect_bytes(const char *assignments, const struct ts_image *in,
                         const uint8_t *expected)
{
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &threshold_stage, assignments, in, NULL, 0, 2), TS_OK);
    for (size_t i = 0; i < ts_image_count(in); i++)
        cr_assert_eq(((const uint8_t *)run.out.data)[i], expected[i], "%s: pixel %zu", assignments,
                     i);
    ts_test_run_clear(&run);
}

TEST_ON_BOTH(threshold, nan_is_in_no_region_and_bounds_are_not_in_theirs)
{
    struct ts_image in = ts_test_image(1, 1, 8, TS_F32, VALUES_CONSTANT, 1);
    const float values[] = {NAN, -INFINITY, -1, -0.0F, 0, 1, 3, INFINITY};
    memcpy(in.data, values, sizeof values);
    ((uint32_t *)in.data)[0] |= 0x80000000u;
    expect_bytes("above=0", &in, (const uint8_t[]){0, 0, 0, 0, 0, 1, 1, 1});
    expect_bytes("below=0", &in, (const uint8_t[]){0, 1, 1, 0, 0, 0, 0, 0});
    expect_bytes("above=-1 below=3", &in, (const uint8_t[]){0, 0, 0, 1, 1, 1, 0, 0});
    expect_bytes("above=0.1", &in, (const uint8_t[]){0, 0, 0, 0, 0, 1, 1, 1});
    /* The median of the finite values -1, 0, 0, 1, 3 is 0. */
    expect_bytes("method=percentile", &in, (const uint8_t[]){0, 0, 0, 0, 0, 1, 1, 1});
    expect_bytes("method=percentile side=below", &in, (const uint8_t[]){0, 1, 1, 1, 1, 0, 0, 0});
    for (int i = 0; i < 8; i++)
        ((float *)in.data)[i] = NAN;
    expect_bytes("method=otsu side=below", &in, (const uint8_t[8]){0});
    expect_bytes("method=percentile side=below", &in, (const uint8_t[8]){0});
    free(in.data);
}

/* Invalid pixels are 0 and have no part in what is found; pixels outside a mask have no part and
 * are compared. */
static void check_masked(enum ts_dtype dtype, const char *assignments, bool by_mask, bool slices)
{
    enum { NZ = 5, NY = 13, NX = 37 };
    struct ts_image image = ts_test_image(NZ, NY, NX, dtype, VALUES_CT, 11),
                    mask = ts_test_image(NZ, NY, NX, TS_U8, VALUES_RANDOM, 12);
    const struct ts_image *references[STAGE_REFERENCES] = {by_mask ? &mask : NULL};
    struct stage_run run;
    ts_test_mask(&image, MASKED_SOME, 100, 13);
    for (size_t i = 0; i < ts_image_count(&mask); i++)
        ((uint8_t *)mask.data)[i] &= 1;
    ts_test_run_references(&run, &threshold_stage, assignments, &image, references, 2, 2);
    cr_assert_eq(run.status, TS_OK);
    for (int64_t z = 0; z < NZ; z++) {
        double *values, value;
        const size_t n =
            ts_test_valid_values(&image, references[0], slices ? z : 0, slices ? 1 : NZ, &values);
        const double threshold = ts_threshold_oracle_found(&run.context, values, n);
        const double is = ts_test_table_at(&run, "threshold", slices ? z : 0);
        cr_assert((isnan(is) && isnan(threshold)) ||
                      fabs(is - threshold) <= 1e-12 * fabs(threshold),
                  "%s %s: %.17g, expected %.17g", assignments, ts_dtype_name(dtype), is, threshold);
        for (size_t i = 0; i < (size_t)NY * NX; i++) {
            ts_load_f64(&value, (const char *)ts_slice_data(&image, z) + i * ts_dtype_bytes(dtype),
                        dtype, 1);
            cr_assert_eq(((const uint8_t *)ts_slice_data(&run.out, z))[i],
                         ts_test_is_valid(&image, z, i) && value > is);
        }
        free(values);
    }
    cr_assert_not(run.out.masked);
    ts_test_run_clear(&run);
    free(image.data);
    free(image.valid);
    free(mask.data);
}

TEST_ON_BOTH(threshold, invalid_pixels_have_no_part)
{
    static const char *const ways[] = {"method=otsu", "method=percentile percentile=70"};
    for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
        for (int way = 0; way < 2; way++)
            for (int by_mask = 0; by_mask < 2; by_mask++) {
                char slices[64];
                snprintf(slices, sizeof slices, "%s scope=slice", ways[way]);
                check_masked((enum ts_dtype)dtype, ways[way], by_mask, false);
                check_masked((enum ts_dtype)dtype, slices, by_mask, true);
            }
}

Test(threshold, refuses_what_contradicts_itself)
{
    ts_test_refused(&threshold_stage, "", TS_U8, false, "threshold-missing");
    ts_test_refused(&threshold_stage, "above=5 below=5", TS_U8, false, "range-order");
    ts_test_refused(&threshold_stage, "method=otsu above=5", TS_U8, false, "parameter-unused");
    ts_test_refused(&threshold_stage, "method=percentile percentile=101", TS_U8, false,
                    "parameter-range");
}
