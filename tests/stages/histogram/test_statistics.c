/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/histogram/statistics.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/histogram/equalize.h"
#include "stages/histogram/histogram.h"
#include "stages/intensity/rescale.h"
#include "tests/files/output_fixture.h"
#include "tests/stages/histogram/statistics_oracle.h"
#include "tests/support/stage_run.h"

TestSuite(statistics);

static const double percents[] = {0, 2, 25, 50, 75.5, 99, 100};
enum { PERCENTS = sizeof percents / sizeof *percents };

static void near(const struct stage_run *run, const char *name, int64_t i, double expected,
                 double scale, const char *what)
{
    const double found = ts_test_table_at(run, name, i);
    const bool same = found == expected || (isnan(found) && isnan(expected));
    cr_assert(same || fabs(found - expected) <= 1e-12 * scale, "%s: %s is %.17g, expected %.17g",
              what, name, found, expected);
}

/* Row z of the tables (0 for the volume) against the definition. */
static void compare(const struct stage_run *run, const double *values, size_t n, int64_t z,
                    const char *what)
{
    const struct statistics_params *params = run->set.values;
    struct statistics_oracle expected;
    ts_statistics_oracle_samples(values, n, params->ddof, &expected);
    const double largest = expected.count ? fmax(fabs(expected.min), fabs(expected.max)) : 0;
    near(run, "count", z, (double)expected.count, 0, what);
    near(run, "nan", z, (double)expected.nan, 0, what);
    near(run, "infinite", z, (double)expected.infinite, 0, what);
    near(run, "zeros", z, (double)expected.zeros, 0, what);
    near(run, "min", z, expected.min, 0, what);
    near(run, "max", z, expected.max, 0, what);
    near(run, "sum", z, expected.sum, run->context.in.dtype == TS_F32 ? largest * (double)n : 0,
         what);
    near(run, "mean", z, expected.mean, largest, what);
    near(run, "variance", z, expected.variance, largest * largest, what);
    near(run, "standard_deviation", z, sqrt(expected.variance), largest, what);
    near(run, "log_product", z, expected.log_product, 30 * (double)n, what);
    near(run, "product_sign", z, expected.product_sign, 0, what);
    if (params->percentiles.values)
        for (int i = 0; i < PERCENTS; i++)
            near(run, "percentiles", PERCENTS * z + i, ts_percentile_oracle(values, n, percents[i]),
                 largest, what);
}

/* Slabs of every kind give the same bytes. */
static void check_image(const char *assignments, const struct ts_image *in, const char *what)
{
    const size_t n = ts_image_count(in), slice = ts_slice_count(in);
    double *values = malloc(n * sizeof *values);
    unsigned char *first[STAGE_TABLES] = {NULL};
    ts_load_f64(values, in->data, in->dtype, n);
    const int64_t slabs = ts_test_few() ? 2 : 4;
    for (int64_t slab = 0; slab < slabs && (slab == 0 || slab < in->axes[0].n); slab++) {
        struct stage_run run;
        cr_assert_eq(
            ts_test_run(&run, &statistics_stage, assignments, in, NULL, slab, 1 + (int)slab),
            TS_OK);
        const bool whole = ts_test_table(&run, "count")->rank == 0;
        if (slab == 0 && whole)
            compare(&run, values, n, 0, what);
        else if (slab == 0)
            for (int64_t z = 0; z < in->axes[0].n; z++)
                compare(&run, values + (size_t)z * slice, slice, z, what);
        const struct stage_table *tables;
        const int n_tables = ts_stage_reduced_tables(run.reduced, &tables);
        for (int i = 0; i < n_tables; i++) {
            const size_t bytes = ts_image_bytes(&tables[i].image);
            if (!first[i])
                first[i] = memcpy(malloc(bytes), tables[i].image.data, bytes);
            cr_assert(!memcmp(first[i], tables[i].image.data, bytes),
                      "%s: other bytes of %s with slabs of %lld", what, tables[i].name,
                      (long long)slab);
        }
        ts_test_run_clear(&run);
    }
    for (int i = 0; i < STAGE_TABLES; i++)
        free(first[i]);
    free(values);
}

#define PERCENTILES "percentiles=0,2,25,50,75.5,99,100 "

TEST_ON_BOTH(statistics, agree_with_their_definitions)
{
    static const char *const cases[] = {"method=two-level",
                                        PERCENTILES "ddof=1",
                                        PERCENTILES "scope=slice",
                                        "scope=slice ddof=1 method=fan-in",
                                        PERCENTILES "method=fan-in percentile_method=histogram",
                                        PERCENTILES "scope=slice percentile_method=sort"};
    static const int64_t shapes[][3] = {{1, 1, 1}, {5, 23, 41}, {3, 1, 2}, {2, 53, 71}};
    const size_t n_shapes = ts_test_few() ? 2 : sizeof shapes / sizeof *shapes;
    const int last = ts_test_few() ? VALUES_RANDOM : VALUES_EXTREME;
    size_t compared = 0;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t s = 0; s < n_shapes; s++)
            for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
                for (int values = VALUES_RANDOM; values <= last; values++) {
                    if (ts_test_few() && (c + s + (size_t)dtype) % 3 != 0)
                        continue;
                    struct ts_image in =
                        ts_test_image(shapes[s][0], shapes[s][1], shapes[s][2],
                                      (enum ts_dtype)dtype, (enum stage_values)values, 31);
                    char what[256];
                    snprintf(what, sizeof what, "{%s} %s shape %zu values %d", cases[c],
                             ts_dtype_name((enum ts_dtype)dtype), s, values);
                    check_image(cases[c], &in, what);
                    compared++;
                    free(in.data);
                }
    cr_assert_eq(compared, ts_test_few() ? 6 * n_shapes * 7 / 3
                                         : 6 * n_shapes * 7 * (size_t)(last - VALUES_RANDOM + 1));
}

/* Sizes around those of runs, groups, tiles and blocks, whole vectors and not, past 2^20. */
TEST_ON_BOTH(statistics, of_slices_of_any_size)
{
    static const int64_t sizes[][2] = {
        {1, 2},     {1, 15},    {1, 16},      {1, 1023},    {1, 1024},   {1, 1025},
        {7, 577},   {64, 64},   {1, 4099},    {128, 257},   {256, 128},  {191, 193},
        {509, 521}, {512, 512}, {1021, 1031}, {1024, 1028}, {2053, 2051}};
    static const char *const cases[] = {
        "method=two-level", "method=fan-in",
        "method=two-level " PERCENTILES "scope=slice percentile_method=sort",
        "method=fan-in " PERCENTILES "scope=slice percentile_method=histogram"};
    for (size_t s = ts_test_few() ? 11 : 0; s < (ts_test_few() ? 12 : sizeof sizes / sizeof *sizes);
         s++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
            for (int dtype = TS_U32; dtype <= TS_F32; dtype++) {
                const bool large = sizes[s][0] * sizes[s][1] > 60000;
                if (large &&
                    (dtype != TS_F32 || (c > 1 && (s % 2 || s > 14)))) /* the oracle is slow */
                    continue;
                struct ts_image in =
                    ts_test_image(large ? 1 : 2, sizes[s][0], sizes[s][1], (enum ts_dtype)dtype,
                                  c % 2 ? VALUES_CT : VALUES_RANDOM, 5 + s);
                char what[256];
                snprintf(what, sizeof what, "{%s} %s %lld x %lld", cases[c],
                         ts_dtype_name((enum ts_dtype)dtype), (long long)sizes[s][0],
                         (long long)sizes[s][1]);
                check_image(cases[c], &in, what);
                free(in.data);
            }
}

/* Every run of every method and device gives the same bytes. */
TEST_ON_BOTH(statistics, repeat)
{
    struct ts_image in = ts_test_image(3, 401, 409, TS_F32, VALUES_RANDOM, 77);
    static const char *const cases[] = {"method=two-level " PERCENTILES, "method=fan-in",
                                        PERCENTILES "scope=slice percentile_method=sort"};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int i = 0; i < (ts_test_few() ? 1 : 3); i++)
            check_image(cases[c], &in, cases[c]);
    free(in.data);
}

/* Tiny, huge and subnormal floats, both zeros, NaN and infinities; slices that hold no number at
 * all. */
TEST_ON_BOTH(statistics, take_finite_values_only)
{
    static const char *const methods[] = {"method=two-level ", "method=fan-in "};
    static const char *const cases[] = {PERCENTILES, PERCENTILES "scope=slice",
                                        PERCENTILES "scope=slice percentile_method=sort"};
    const float odd[] = {NAN,    INFINITY, -INFINITY, 0,      -0.0f,
                         1e-45f, -3e-39f,  3e38f,     -3e38f, 1e-30f};
    for (int m = 0; m < 2; m++)
        for (int c = 0; c < (ts_test_few() ? 1 : 3); c++) {
            struct ts_image in = ts_test_image(4, 3, 5, TS_F32, VALUES_RANDOM, 8);
            struct ts_image wide = ts_test_image(2, 131, 257, TS_F32, VALUES_RANDOM, 9);
            float *data = in.data, *values = wide.data;
            char assignments[160];
            snprintf(assignments, sizeof assignments, "%s%s", methods[m], cases[c]);
            memcpy(data, odd, sizeof odd);
            for (int i = 15; i < 30; i++)
                data[i] = i % 2 ? NAN : INFINITY;
            check_image(assignments, &in, "odd floats");
            for (int i = 0; i < 60; i++)
                data[i] = NAN;
            check_image(assignments, &in, "no number");
            /* Here and there, whole rows, and nothing else at the start of many runs. */
            for (int i = 0; i < 2 * 131 * 257; i++)
                values[i] =
                    i % 257 < 40 || i / 257 % 7 == 3 || i % 131 == 5 ? odd[i % 10] : values[i];
            check_image(assignments, &wide, "many odd floats");
            free(in.data);
            free(wide.data);
        }
}

/* A sum of squares minus a square of sums would lose every digit here. The variance still has 12 of
 * its own. */
TEST_ON_BOTH(statistics, small_deviations_from_a_large_mean)
{
    static const char *const cases[] = {"", "method=fan-in", "scope=slice",
                                        "scope=slice method=fan-in"};
    for (int kind = 0; kind < 4; kind++) {
        struct ts_image in = ts_test_image(3, 253, 256, TS_F32, VALUES_RANDOM, 8);
        const size_t n = ts_image_count(&in), slice = ts_slice_count(&in);
        float *data = in.data;
        double *values = malloc(n * sizeof *values);
        for (size_t i = 0; i < n; i++)
            data[i] = kind == 0   ? 16777000.0f + (float)(i % 3)
                      : kind == 1 ? 8388608.0f + (float)(i % 7) + (i == 70001 ? 1e6f : 0)
                      : kind == 2 ? 1e-30f * (1 + 1e-6f * (float)(i % 5))
                                  : (i % 64 < 40 ? NAN : 16777000.0f + (float)(i % 2));
        ts_load_f64(values, data, TS_F32, n);
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            struct stage_run run;
            struct statistics_oracle expected;
            cr_assert_eq(ts_test_run(&run, &statistics_stage, cases[c], &in, NULL, 2, 2), TS_OK);
            for (int64_t z = 0; z < (c < 2 ? 1 : 3); z++) {
                ts_statistics_oracle_samples(values + (size_t)z * slice, c < 2 ? n : slice, 0,
                                             &expected);
                const double found = ts_test_table_at(&run, "variance", z);
                cr_assert(fabs(found - expected.variance) <= 1e-12 * expected.variance,
                          "%s, kind %d: %.17g not %.17g", cases[c], kind, found, expected.variance);
            }
            ts_test_run_clear(&run);
        }
        free(values);
        free(in.data);
    }
}

/* The values are the largest that there are. */
TEST_ON_BOTH(statistics, whole_sums_are_exact)
{
    static const char *const cases[] = {"", "method=fan-in"};
    struct ts_image in = ts_test_image(2, 61, 67, TS_U32, VALUES_RANDOM, 3);
    uint64_t sum = 0;
    for (size_t i = 0; i < ts_image_count(&in); i++) {
        ((uint32_t *)in.data)[i] = UINT32_MAX - (uint32_t)(i % 3);
        sum += UINT32_MAX - (uint32_t)(i % 3);
    }
    for (int c = 0; c < 2; c++) {
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &statistics_stage, cases[c], &in, NULL, 1, 1), TS_OK);
        cr_assert_eq(ts_test_table_at(&run, "sum", 0), (double)sum);
        ts_test_run_clear(&run);
    }
    free(in.data);
}

Test(statistics, have_the_units_of_their_powers)
{
    static const char *const units[][2] = {
        {"HU", "HU^2"}, {"1", "1"}, {"1/mm", "(1/mm)^2"}, {"Bq/ml", "(Bq/ml)^2"}, {"", "1"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        struct ts_image in = ts_test_image(2, 2, 2, TS_I16, VALUES_CT, 1);
        struct stage_run run;
        in.unit = units[i][0];
        cr_assert_eq(
            ts_test_run(&run, &statistics_stage, "percentiles=50 scope=slice", &in, NULL, 0, 1),
            TS_OK);
        cr_assert_str_eq(ts_test_table(&run, "variance")->unit, units[i][1]);
        cr_assert_str_eq(ts_test_table(&run, "standard_deviation")->unit, units[i][0]);
        cr_assert_str_eq(ts_test_table(&run, "percentiles")->unit, units[i][0]);
        cr_assert_str_eq(ts_test_table(&run, "log_product")->unit, "1");
        ts_test_run_clear(&run);
        free(in.data);
    }
}

Test(statistics, refuse_to_sort_a_volume)
{
    ts_test_refused(&statistics_stage, "percentiles=50 percentile_method=sort", TS_F32, false,
                    "sort-scope");
}

Test(statistics, refuse_to_sort_more_than_32_bits_can_count)
{
    for (int64_t nx = 65535; nx <= 65536; nx++) { /* 65,537 * 65,535 = 2^32 - 1 */
        struct ts_image in = ts_test_image(1, 1, 1, TS_F32, VALUES_CONSTANT, 1);
        struct ts_diag *diag = ts_diag_create();
        struct stage_context context;
        struct param_set set;
        in.axes[1].n = 65537;
        in.axes[2].n = nx;
        ts_test_params(&statistics_stage, "percentiles=50 percentile_method=sort scope=slice",
                       &set);
        const enum ts_status status =
            ts_stage_prepare(&statistics_stage, &set, &in, NULL, 1, NULL, diag, &context);
        cr_assert_eq(status, nx == 65535 ? TS_OK : TS_BAD_CHAIN);
        if (status != TS_OK)
            cr_assert_str_eq(ts_diag_get(diag, 0)->code, "sort-size");
        ts_test_params_clear(&set);
        ts_diag_destroy(diag);
        free(in.data);
    }
}

/* While it is planned, for every stage that counts so. */
Test(statistics, slices_that_a_device_cannot_count_are_refused)
{
    static const struct device_numbers device = {
        .name = "a device", .block_shared_bytes = 64 << 10, .shared_bytes = 64 << 10};
    static const struct {
        const struct stage *stage;
        const char *assignments;
        bool each;
    } rows[] = {{&statistics_stage, "scope=slice", true},
                {&statistics_stage, "scope=volume", false},
                {&histogram_stage, "scope=slice", true},
                {&histogram_stage, "scope=volume", false},
                {&equalize_stage, "scope=slice", true},
                {&equalize_stage, "scope=volume", false},
                {&rescale_stage, "method=percentiles scope=slice", true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int64_t nx = 65535; nx <= 65536; nx++) /* 65,537 * 65,535 = 2^32 - 1 */
            for (int on_device = 0; on_device <= 1; on_device++) {
                struct ts_image in = ts_test_image(1, 1, 1, TS_U16, VALUES_CONSTANT, 1);
                struct ts_diag *diag = ts_diag_create();
                struct stage_context context;
                struct param_set set;
                in.axes[1].n = 65537;
                in.axes[2].n = nx;
                ts_test_params(rows[i].stage, rows[i].assignments, &set);
                const enum ts_status status = ts_stage_prepare(
                    rows[i].stage, &set, &in, NULL, 1, on_device ? &device : NULL, diag, &context);
                const bool refused = on_device && rows[i].each && nx == 65536;
                cr_assert_eq(status, refused ? TS_BAD_CHAIN : TS_OK, "%s {%s}", rows[i].stage->name,
                             rows[i].assignments);
                cr_assert_eq(ts_test_has_code(diag, "slice-size"), refused);
                ts_test_params_clear(&set);
                ts_diag_destroy(diag);
                free(in.data);
            }
}

Test(statistics, refuse_too_many_percentiles)
{
    ts_test_refused(&statistics_stage, "percentiles=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
                    TS_U8, false, "too-many-percentiles");
}
