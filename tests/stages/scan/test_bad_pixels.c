/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/scan/bad_pixels.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/values/samples.h"
#include "tests/stages/scan/bad_pixels_oracle.h"
#include "tests/support/masked.h"
#include "tests/support/stage_run.h"
#include "tests/support/transmission_check.h"

TestSuite(bad_pixels);

static const char *const table_names[] = {"masked", "nonfinite", "saturated",
                                          "low",    "dead",      "left"};
enum { N_TABLES = sizeof table_names / sizeof *table_names };

TEST_ON_BOTH(bad_pixels, agrees_with_the_definition)
{
    static const struct stage_case cases[] = {
        {.assignments = ""},
        {.assignments = "", .values = VALUES_EXTREME},
        {.assignments = "", .values = VALUES_EXTREME, .quantity = TS_COUNTS},
        {.assignments = "", .values = VALUES_CONSTANT},
        {.assignments = "columns=all ratio=3", .quantity = TS_COUNTS},
        {.assignments = "columns=all", .values = VALUES_EXTREME},
        {.assignments = "lowest=0 highest=100"},
        {.assignments = "lowest=5 highest=9 rows=0"},
        {.assignments = "lowest=60 highest=70 rows=64 columns=keep"},
        {.assignments = "ratio=1.01", .quantity = TS_COUNTS},
        {.assignments = "ratio=1.5 highest=120 columns=keep"},
        {.assignments = "highest=40", .nz = 5, .ny = 9, .nx = 300},
    };
    cr_assert_geq(ts_stage_check(&bad_pixels_stage, ts_bad_pixels_oracle, cases,
                                 sizeof cases / sizeof *cases),
                  11 * 8 * 7 + 7);
}

/* ---- everything at once ---------------------------------------------------------------------- */

static void set_value(struct ts_image *image, int64_t z, int64_t view, int64_t d, double value)
{
    const size_t i = (size_t)((z * image->axes[1].n + view) * image->axes[2].n + d);
#define SET(suffix, type)                                                                          \
    case TS_##suffix:                                                                              \
        ((type *)image->data)[i] = (type)value;                                                    \
        break;
    switch (image->dtype) {
        TS_IMAGE_DTYPES(SET)
    default:
        break;
    }
#undef SET
}

static void set_column(struct ts_image *image, int64_t z, int64_t d, double value)
{
    for (int64_t view = 0; view < image->axes[1].n; view++)
        set_value(image, z, view, d, value);
}

static void set_row(struct ts_image *image, int64_t z, int64_t view, double value)
{
    for (int64_t d = 0; d < image->axes[2].n; d++)
        set_value(image, z, view, d, value);
}

/* A scan with dead columns, gaps, blank views, blank slices and marks. */
static struct ts_image spoiled_scan(enum ts_dtype dtype, uint64_t seed, double *bad)
{
    struct ts_image image = ts_test_counts(7, 11, 23, dtype, VALUES_CT, seed);
    double low;
    ts_dtype_range(dtype, &low, bad);
    *bad = dtype == TS_F32 ? NAN : *bad;
    for (int64_t z = 0; z < 7; z++) {
        set_column(&image, z, 3, 0);
        set_column(&image, z, 4, 17);
        for (int64_t d = 9; d < 9 + z; d++)
            set_column(&image, z, d, *bad);
        set_column(&image, z, 22, z % 2 ? *bad : 0);
    }
    for (int64_t view = 0; view < 11;
         view++) { /* slices 2, 3 and 4 are blank, view 5 of slices 0 and 6 as well */
        for (int64_t z = 2; z < 5; z++)
            set_row(&image, z, view, *bad);
        set_value(&image, 5, view, view, dtype == TS_F32 ? (double)-INFINITY : *bad);
    }
    set_row(&image, 0, 5, *bad);
    set_row(&image, 6, 5, *bad);
    set_row(&image, 6, 0, *bad);
    return image;
}

static void check_spoiled(enum ts_dtype dtype, const char *assignments, bool masked)
{
    double bad;
    struct ts_image in = spoiled_scan(dtype, 5 + (uint64_t)dtype, &bad);
    if (masked)
        ts_test_mask(&in, MASKED_SOME, 17, 3);
    const size_t n = ts_image_count(&in), slice = ts_slice_count(&in);
    double *values = malloc(n * sizeof *values), *expected = malloc(n * sizeof *expected),
           *got = malloc(n * sizeof *got);
    unsigned char *valid = malloc(n);
    ts_load_f64(values, in.data, in.dtype, n);
    for (size_t i = 0; i < n; i++)
        valid[i] = !masked || ts_test_is_valid(&in, (int64_t)(i / slice), i % slice);
    for (int way = 0; way < 4; way++) {
        struct stage_run run;
        uint64_t counts[7 * N_TABLES] = {0};
        cr_assert_eq(ts_test_run(&run, &bad_pixels_stage, assignments, &in, NULL, way, 1 + way % 3),
                     TS_OK);
        ts_bad_pixels_oracle_masked(&run.context, values, valid, expected, counts);
        ts_load_f64(got, run.out.data, dtype, n);
        cr_assert(!run.out.masked);
        for (size_t i = 0; i < n; i++)
            cr_assert(got[i] == expected[i] || (isnan(got[i]) && isnan(expected[i])),
                      "%s {%s} masked %d, slabs of %d: value %zu is %g, not %g",
                      ts_dtype_name(dtype), assignments, masked, way, i, got[i], expected[i]);
        for (int64_t z = 0; z < 7; z++)
            for (int64_t t = 0; t < N_TABLES; t++)
                cr_assert_eq(ts_test_table_at(&run, table_names[t], z),
                             (double)counts[z * N_TABLES + t],
                             "%s {%s} masked %d: %s of slice %lld", ts_dtype_name(dtype),
                             assignments, masked, table_names[t], (long long)z);
        ts_test_run_clear(&run);
    }
    free(values);
    free(expected);
    free(got);
    free(valid);
    free(in.valid);
    free(in.data);
}

TEST_ON_BOTH(bad_pixels, spoiled_scans_are_as_the_definition_has_them)
{
    static const char *const texts[] = {"",        "rows=0",      "rows=1",
                                        "ratio=2", "columns=all", "columns=keep lowest=20 rows=5"};
    for (int dtype = 0; dtype <= TS_F32; dtype++)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            for (int masked = 0; masked < 2; masked++)
                if (TS_ANY_DTYPE & TS_DTYPE_BIT(dtype))
                    check_spoiled((enum ts_dtype)dtype, texts[i], masked);
}

/* ---- answers worked out by hand -------------------------------------------------------------- */

enum { VIEWS = 8 };

/* Every view has the same values plus its number, but for a value below 0, which is the same in all
 * of them. */
static struct ts_image scan_of(int64_t n, const float *row)
{
    struct ts_image image = ts_test_counts(1, VIEWS, n, TS_F32, VALUES_CONSTANT, 1);
    for (int64_t i = 0; i < VIEWS * n; i++)
        ((float *)image.data)[i] = row[i % n] < 0 ? -row[i % n] - 1 : row[i % n] + (float)(i / n);
    return image;
}

/* Checks the first view. */
static void check_row(const char *assignments, enum ts_quantity quantity, int64_t n,
                      const float *row, const float *expected)
{
    struct ts_image in = scan_of(n, row);
    struct stage_run run;
    in.quantity = quantity;
    cr_assert_eq(ts_test_run(&run, &bad_pixels_stage, assignments, &in, NULL, 0, 1), TS_OK);
    for (int64_t d = 0; d < n; d++)
        cr_assert_eq(((const float *)run.out.data)[d], expected[d], "{%s}: %g at %lld, not %g",
                     assignments, (double)((const float *)run.out.data)[d], (long long)d,
                     (double)expected[d]);
    ts_test_run_clear(&run);
    free(in.data);
}

TEST_ON_BOTH(bad_pixels, interpolates_gaps_and_repeats_edges)
{
    check_row("", TS_COUNTS, 8, (const float[]){NAN, INFINITY, 10, NAN, NAN, NAN, 18, NAN},
              (const float[]){10, 10, 10, 12, 14, 16, 18, 18});
    check_row("highest=100", TS_COUNTS, 6, (const float[]){1, 100, 3, 200, 99, 5},
              (const float[]){1, 2, 3, 51, 99, 5});
    check_row("lowest=2", TS_COUNTS, 5, (const float[]){7, 1, 9, 2, 3},
              (const float[]){7, 8, 9, 2, 3});
}

/* -1 is a constant of 0, -18 one of 17. */
TEST_ON_BOTH(bad_pixels, air_at_the_ends_is_not_dead_and_zero_counts_are)
{
    check_row("", TS_COUNTS, 7, (const float[]){-18, 4, -18, -1, 10, 12, -18},
              (const float[]){17, 4, 6, 8, 10, 12, 17});
    check_row("", TS_COUNTS, 6, (const float[]){-1, 4, 5, 10, 12, -1},
              (const float[]){4, 4, 5, 10, 12, 12});
    check_row("", TS_LINE_INTEGRAL, 6, (const float[]){-1, 4, 5, 10, 12, -1},
              (const float[]){0, 4, 5, 10, 12, 0});
    check_row("columns=keep", TS_COUNTS, 3, (const float[]){4, -1, 10}, (const float[]){4, 0, 10});
    /* In darks of 0 with little else, and in images of one gray, nothing is dead. */
    check_row("", TS_COUNTS, 7, (const float[]){4, -1, -1, -1, -1, -1, 4},
              (const float[]){4, 0, 0, 0, 0, 0, 4});
    check_row("", TS_COUNTS, 4, (const float[]){-1, -1, -1, -1}, (const float[]){0, 0, 0, 0});
}

TEST_ON_BOTH(bad_pixels, a_detector_pixel_may_stand_out)
{
    static const float row[] = {100, 101, 900, 103, 104, 0, 106, 107};
    check_row("", TS_COUNTS, 8, row, row);
    check_row("ratio=5", TS_COUNTS, 8, row,
              (const float[]){100, 101, 102, 103, 104, 105, 106, 107});
    check_row("ratio=50", TS_COUNTS, 8, row, row);
}

/* -1 and -2 in 32 signed bits, 255 in 8 bits, and 4,294,967,295. */
TEST_ON_BOTH(bad_pixels, detectors_mark_their_gaps_in_their_own_ways)
{
    static const struct {
        enum ts_dtype dtype;
        double mark, other;
        const char *table;
    } rows[] = {{TS_I32, -1, -2, "low"},
                {TS_I16, -1, -2, "low"},
                {TS_U8, 255, 255, "saturated"},
                {TS_I8, 127, -1, "saturated"},
                {TS_U16, 65535, 65535, "saturated"},
                {TS_U32, 4294967295.0, 4294967295.0, "saturated"},
                {TS_F32, NAN, INFINITY, "nonfinite"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_image in = ts_test_counts(2, 3, 6, rows[i].dtype, VALUES_CONSTANT, 1);
        struct stage_run run;
        for (int64_t z = 0; z < 2; z++) {
            for (int64_t d = 0; d < 6; d++)
                set_column(&in, z, d, 20 + (double)(10 * d));
            set_column(&in, z, 2, rows[i].mark);
            set_column(&in, z, 3, rows[i].other);
        }
        cr_assert_eq(ts_test_run(&run, &bad_pixels_stage, "", &in, NULL, 0, 1), TS_OK);
        double got[36];
        ts_load_f64(got, run.out.data, in.dtype, 36);
        for (int k = 0; k < 36; k++)
            cr_assert_eq(got[k], 20 + 10 * (k % 6), "%s: %g", ts_dtype_name(in.dtype), got[k]);
        cr_assert_eq(ts_test_table_at(&run, rows[i].table, 1), in.dtype == TS_I8 ? 3 : 6);
        ts_test_run_clear(&run);
        free(in.data);
    }
}

Test(bad_pixels, refuses_levels_that_leave_no_value)
{
    struct ts_image in = ts_test_counts(1, 2, 3, TS_U8, VALUES_RANDOM, 1);
    ts_test_refuses(&bad_pixels_stage, "lowest=5 highest=5", &in, NULL, "range-order",
                    "5 is not above");
    ts_test_refuses(&bad_pixels_stage, "lowest=256", &in, NULL, "range-order", "255 is not above");
    free(in.data);
}
