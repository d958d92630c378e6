/* SPDX-License-Identifier: Apache-2.0
 *
 * Bins find their range by themselves: each count is that of a second pass over the values with the
 * bins known, and no order of the values changes anything.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "program/report/value_bins.h"
#include "tests/support/support.h"

TestSuite(value_bins);

/* Counts the finite values that lie in bin i by its definition. */
static int64_t count_in(const struct value_bins *bins, int64_t i, const float *values, size_t n)
{
    int64_t count = 0;
    for (size_t k = 0; k < n; k++)
        count += isfinite(values[k]) && (double)values[k] >= (double)i * bins->width &&
                 (double)values[k] < (double)(i + 1) * bins->width;
    return count;
}

static void expect_counts(const struct value_bins *bins, const float *values, size_t n)
{
    int64_t all = 0;
    cr_assert(bins->last - bins->first < VALUE_BINS);
    for (int64_t i = bins->first; i <= bins->last; i++) {
        cr_assert_eq(bins->counts[i - bins->first], count_in(bins, i, values, n), "bin %lld",
                     (long long)i);
        all += bins->counts[i - bins->first];
    }
    cr_assert_eq(all, bins->n);
    cr_assert_eq(bins->n + bins->invalid, (int64_t)n);
    int exponent;
    cr_assert_eq(frexp(bins->width, &exponent), 0.5, "the width is a power of two");
}

Test(value_bins, counts_are_those_of_a_second_pass)
{
    enum { N = 5000 };
    static const double scales[] = {1, 1e-30, 3e37, 1e5};
    static float values[N];
    uint64_t state = 7;
    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
        for (int i = 0; i < N; i++)
            values[i] = (float)(scales[s] * (ts_random_unit(&state) * (i % 10 == 0 ? 9 : 1) - 0.3));
        values[17] = NAN;
        values[18] = INFINITY;
        values[19] = 0;
        struct value_bins bins, turned;
        ts_value_bins_init(&bins, false);
        ts_value_bins_add(&bins, values, N);
        expect_counts(&bins, values, N);
        cr_assert(bins.last - bins.first >= VALUE_BINS / 2 - 1, "no wider than needed");
        ts_value_bins_init(&turned, false);
        for (int i = N; i-- > 0;)
            ts_value_bins_add(&turned, &values[i], 1);
        cr_assert(turned.width == bins.width && turned.first == bins.first &&
                  !memcmp(turned.counts, bins.counts, sizeof bins.counts));
    }
}

Test(value_bins, integers_have_a_bin_each_where_they_fit)
{
    const float values[] = {-3, 4, 4, 0, 100, -3};
    struct value_bins bins;
    ts_value_bins_init(&bins, true);
    ts_value_bins_add(&bins, values, sizeof values / sizeof *values);
    cr_expect_eq(bins.width, 1);
    cr_expect_eq(bins.first, -3);
    cr_expect_eq(bins.last, 100);
    cr_expect_eq(bins.counts[0], 2);
    cr_expect_eq(bins.counts[7], 2);
    cr_expect_eq(bins.low, -3);
    cr_expect_eq(bins.high, 100);
    expect_counts(&bins, values, sizeof values / sizeof *values);
}

Test(value_bins, of_nothing_and_of_one_value)
{
    const float none[] = {NAN, -INFINITY}, one[] = {0, 0, 0};
    struct value_bins bins;
    ts_value_bins_init(&bins, false);
    ts_value_bins_add(&bins, none, 2);
    cr_expect(bins.n == 0 && bins.invalid == 2);
    ts_value_bins_add(&bins, one, 3);
    cr_expect(bins.n == 3 && bins.first == bins.last && bins.counts[0] == 3);
}
