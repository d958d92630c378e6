/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/values/fan_in.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/values/radix_sort.h"
#include "tests/support/stage_check.h"
#include "tests/support/tables_join.h"

TestSuite(fan_in);

/* Small whole numbers: every order is exact. */
Test(fan_in, joins_all_values)
{
    static const size_t sizes[] = {0,  1,  2,   3,   4,   5,   7,    8,   9,
                                   31, 64, 100, 255, 256, 257, 1000, 4097};
    double values[4097];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t n = sizes[s];
        double sum = 0, product = 1, least = (double)INFINITY, most = -(double)INFINITY;
        for (size_t i = 0; i < n; i++) {
            const double value = (double)(i * 7919 % 1009) - 500;
            sum += value;
            least = fmin(least, value);
            most = fmax(most, value);
            product *= i % 3 == 0 ? 2 : i % 3 == 1 ? 0.5 : 1;
        }
        for (int what = 0; what < 4; what++) {
            for (size_t i = 0; i < n; i++)
                values[i] = what == 1 ? (i % 3 == 0   ? 2
                                         : i % 3 == 1 ? 0.5
                                                      : 1)
                                      : (double)(i * 7919 % 1009) - 500;
            const double found = what == 0   ? ts_fan_in_sum(values, n)
                                 : what == 1 ? ts_fan_in_product(values, n)
                                 : what == 2 ? ts_fan_in_min(values, n)
                                             : ts_fan_in_max(values, n);
            const double expected = what == 0   ? sum
                                    : what == 1 ? product
                                    : what == 2 ? least
                                                : most;
            cr_assert(found == expected, "reduction %d of %zu: %g not %g", what, n, found,
                      expected);
        }
    }
}

/* 0 with 4, 1 with 5, ...: in another order the small values are lost. */
Test(fan_in, halves_with_stride)
{
    double values[8] = {1e17, 1, 0, 0, -1e17, 1, 0, 0};
    cr_assert(ts_fan_in_sum(values, 8) == 2);
    double six[6] = {1e17, 1, 0, 3, -1e17, 1}; /* the last stride of 4 has no partner for 2 and 3 */
    cr_assert(ts_fan_in_sum(six, 6) == 5);
    cr_assert(ts_fan_in_stride(1) == 0 && ts_fan_in_stride(2) == 1 && ts_fan_in_stride(256) == 128);
    cr_assert(ts_fan_in_stride(257) == 256 && ts_fan_in_stride(0) == 0);
}

/* The orders leave different sums in the tables that were added to others: 16 tables halve with
 * strides 8, 4, 2 and 1, or in runs of 4 whose first tables then halve. */
Test(fan_in, tables_are_joined_in_the_order_of_the_method)
{
    static const uint64_t left[][16] = {
        [REDUCTION_FAN_IN] = {16, 8, 4, 4, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1},
        [REDUCTION_TWO_LEVEL] = {16, 1, 1, 1, 8, 1, 1, 1, 4, 1, 1, 1, 4, 1, 1, 1}};
    for (int method = REDUCTION_FAN_IN; method <= REDUCTION_TWO_LEVEL; method++) {
        uint64_t tables[16];
        for (int i = 0; i < 16; i++)
            tables[i] = 1;
        ts_tables_join(tables, 16, 1, (enum reduction_method)method);
        for (int i = 0; i < 16; i++)
            cr_expect_eq(tables[i], left[method][i], "method %d, table %d: %llu", method, i,
                         (unsigned long long)tables[i]);
    }
}

Test(fan_in, runs_are_about_the_square_root)
{
    cr_assert_eq(ts_run_length(262144, 16, 16, 4096), 512);
    cr_assert_eq(ts_run_length(262144, 16, 16, 256), 256);
    cr_assert_eq(ts_run_length(1, 64, 64, 4096), 64);
    cr_assert_eq(ts_run_length(10000, 64, 64, 4096), 128);
}

Test(fan_in, sums_of_values_that_come_one_by_one)
{
    static const size_t sizes[] = {0, 1, 255, 256, 257, 65536, 65793, 200003};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct fan_in_sum *sum = malloc(sizeof *sum);
        ts_fan_in_sum_begin(sum);
        for (size_t i = 0; i < sizes[s]; i++)
            ts_fan_in_sum_add(sum, 0.1 * (double)(i % 10));
        long double expected = 0;
        for (size_t i = 0; i < sizes[s]; i++)
            expected += (long double)(0.1 * (double)(i % 10));
        const double found = ts_fan_in_sum_end(sum);
        cr_assert(fabs(found - (double)expected) <= 1e-15 * (double)expected * 20, "%zu: %.17g",
                  sizes[s], found);
        free(sum);
    }
}

static void join(uint64_t *tables, size_t n_tables, size_t n_bins, enum reduction_method method)
{
#ifdef TS_HAVE_CUDA
    if (ts_test_device) {
        struct ts_diag *diag = ts_diag_create();
        cr_assert_eq(ts_test_tables_join(ts_test_device, tables, (int64_t)n_tables, (int64_t)n_bins,
                                         method, diag),
                     TS_OK);
        ts_diag_destroy(diag);
        return;
    }
#endif
    ts_tables_join(tables, n_tables, n_bins, method);
}

TEST_ON_BOTH(fan_in, joins_tables)
{
    static const size_t counts[] = {1, 2, 3, 16, 37, 132, 264, 1031}, bins[] = {1, 31, 257, 1000};
    for (int method = REDUCTION_FAN_IN; method <= REDUCTION_TWO_LEVEL; method++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (size_t b = 0; b < sizeof bins / sizeof *bins; b++) {
                const size_t n = counts[c] * bins[b];
                uint64_t *tables = malloc(n * sizeof *tables),
                         *expected = calloc(bins[b], sizeof *expected);
                for (size_t i = 0; i < n; i++) {
                    tables[i] = (uint64_t)i * 2654435761u;
                    expected[i % bins[b]] += tables[i];
                }
                join(tables, counts[c], bins[b], (enum reduction_method)method);
                cr_assert(!memcmp(tables, expected, bins[b] * sizeof *tables),
                          "%zu tables of %zu, method %d", counts[c], bins[b], method);
                free(tables);
                free(expected);
            }
}

static int rising(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

Test(fan_in, radix_sort_sorts)
{
    static const size_t sizes[] = {0, 1, 2, 255, 1000, 70001};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t n = sizes[s];
        uint32_t *keys = malloc((2 * n + 1) * sizeof *keys),
                 *expected = malloc((n + 1) * sizeof *keys);
        for (size_t i = 0; i < n; i++)
            keys[i] = expected[i] = (uint32_t)i * 2654435761u ^ (i % 3 ? 0 : 0xFFFF0000u);
        qsort(expected, n, sizeof *expected, rising);
        ts_radix_sort(keys, keys + n, n);
        cr_assert(!memcmp(keys, expected, n * sizeof *keys), "%zu keys", n);
        free(keys);
        free(expected);
    }
}
