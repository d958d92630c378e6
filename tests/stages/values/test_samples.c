/* SPDX-License-Identifier: Apache-2.0
 *
 * The generator beside the known answers of its authors' library Random123, logarithm and
 * exponential beside the C library's in long double, and samples beside their distributions:
 * moments, chi-square, and independence of pixels. Seeds are fixed, so that a test either always
 * passes or never does.
 */
#include "stages/values/samples.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/support.h"

TestSuite(samples);

/* kat_vectors of Random123: philox4x32 10. */
Test(samples, philox_has_its_known_answers)
{
    static const struct {
        struct philox_block counter;
        uint64_t key;
        struct philox_block expected;
    } rows[] = {
        {{{0, 0, 0, 0}}, 0, {{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}}},
        {{{~0u, ~0u, ~0u, ~0u}}, ~(uint64_t)0, {{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}}},
        {{{0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}},
         0x299F31D0A4093822,
         {{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}}},
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const struct philox_block is = ts_philox(rows[row].counter, rows[row].key);
        cr_assert_eq(memcmp(&is, &rows[row].expected, sizeof is), 0, "row %zu", row);
    }
}

static double off(double is, long double expected)
{
    return expected == 0 ? fabs(is) : (double)fabsl(((long double)is - expected) / expected);
}

Test(samples, logarithm_and_exponential_are_those_of_the_library)
{
    double worst_log = 0, worst_exp = 0;
    uint64_t state = 1;
    for (int i = 0; i < 400000; i++) {
        const double x = exp(ts_random_unit(&state) * 1400 - 700),
                     near = 1 + 0.7 * (ts_random_unit(&state) - 0.4);
        const double power = ts_random_unit(&state) * (i % 2 ? 1400 : 2) - (i % 2 ? 700 : 1);
        worst_log =
            fmax(worst_log, fmax(off(ts_log_f64(x), logl(x)), off(ts_log_f64(near), logl(near))));
        worst_exp = fmax(worst_exp, off(ts_exp_f64(power), expl(power)));
    }
    cr_assert(worst_log < 3e-16 && worst_exp < 3e-16, "log is off by %g of itself, exp by %g",
              worst_log, worst_exp);
    cr_assert(ts_log_f64(1) == 0 && ts_exp_f64(0) == 1 && ts_exp_f64(-709) == 0 &&
              ts_exp_f64(710) == (double)INFINITY);
}

Test(samples, log_probability_is_exact)
{
    for (double mean = 0.1; mean < 1e7; mean *= 1.7)
        for (int i = -3; i < 4; i++) {
            const double k = fmax(floor(mean + i * sqrt(mean)), 0),
                         is = ts_poisson_log_probability(mean, k);
            const long double expected = k * logl(mean) - mean - lgammal(k + 1);
            cr_assert(fabs(is - (double)expected) < 1e-11 + 1e-15 * mean,
                      "mean %g, k %g: %.17g, expected %.17Lg", mean, k, is, expected);
        }
}

/* Returns chi-square over its degrees of freedom, as standard deviations from the mean of its
 * distribution, of n samples in cells of at least 20 expected ones; and checks mean and variance to
 * four standard deviations. */
static double poisson_deviation(double mean, int n, uint64_t seed)
{
    const int first = (int)fmax(floor(mean - 7 * sqrt(mean) - 8), 0),
              cells = (int)(14 * sqrt(mean)) + 30;
    double *counts = calloc((size_t)cells, sizeof *counts), sum = 0, squares = 0, chi = 0,
           expected = 0, found = 0;
    int freedom = -1;
    for (int i = 0; i < n; i++) {
        struct random_stream stream = {seed, (uint64_t)i, 0, 0};
        const double k = ts_poisson(mean, &stream), cell = k - first;
        cr_assert(k >= 0 && k == floor(k) && cell >= 0 && cell < cells, "mean %g gives %g", mean,
                  k);
        counts[(int)cell]++;
        sum += k - mean;
        squares += (k - mean) * (k - mean);
    }
    for (int cell = 0; cell < cells; cell++) {
        expected +=
            n * (double)expl(logl(mean) * (first + cell) - mean - lgammal(first + cell + 1.0L));
        found += counts[cell];
        if (expected >= 20) {
            chi += (found - expected) * (found - expected) / expected;
            expected = found = 0;
            freedom++;
        }
    }
    free(counts);
    cr_assert(fabs(sum / n) < 4 * sqrt(mean / n), "mean %g is off by %g", mean, sum / n);
    /* The fourth central moment is mean (1 + 3 mean). */
    cr_assert(fabs(squares / n - mean) < 4 * sqrt((mean + 2 * mean * mean) / n),
              "variance of mean %g: %g", mean, squares / n);
    return freedom > 0 ? (chi - freedom) / sqrt(2.0 * freedom) : 0;
}

Test(samples, poisson_has_its_distribution)
{
    static const double means[] = {0.01, 0.5, 1, 3.3, 9.99, 10, 10.5, 17, 45, 300, 1234.5, 20000};
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
        const double deviation = poisson_deviation(means[i], 400000, 11 + i);
        cr_assert(fabs(deviation) < 4,
                  "mean %g: chi-square is %.2g standard deviations from its mean", means[i],
                  deviation);
    }
    struct random_stream stream = {0};
    cr_assert_eq(ts_poisson(0, &stream), 0);
}

/* At the largest mean the samples are those of a Gaussian to 1e-5 of its deviation. */
Test(samples, poisson_of_the_largest_mean_has_its_moments)
{
    enum { N = 100000 };
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < N; i++) {
        struct random_stream stream = {3, i, 0, 0};
        const double x =
            (ts_poisson(POISSON_MEAN_MAX, &stream) - POISSON_MEAN_MAX) / sqrt(POISSON_MEAN_MAX);
        sum += x;
        squares += x * x;
    }
    cr_assert(fabs(sum / N) < 4 / sqrt(N) && fabs(squares / N - 1) < 4 * sqrt(2.0 / N), "%g, %g",
              sum / N, squares / N);
}

/* 64 cells of equal probability; the inverse of the distribution function by bisection. */
Test(samples, gaussian_has_its_distribution)
{
    enum { N = 400000, CELLS = 64 };
    double counts[CELLS] = {0}, chi = 0, sum = 0, squares = 0;
    for (uint64_t i = 0; i < N; i++) {
        struct random_stream stream = {5, i, 1, 0};
        const double x = ts_gaussian(&stream);
        counts[(int)fmin(CELLS * 0.5 * erfc(-x / sqrt(2)), CELLS - 1)]++;
        sum += x;
        squares += x * x;
    }
    for (int cell = 0; cell < CELLS; cell++)
        chi += pow(counts[cell] - (double)N / CELLS, 2) * CELLS / N;
    cr_assert(fabs(chi - (CELLS - 1)) < 4 * sqrt(2.0 * (CELLS - 1)), "chi-square %g of %d", chi,
              CELLS - 1);
    cr_assert(fabs(sum / N) < 4 / sqrt(N) && fabs(squares / N - 1) < 4 * sqrt(2.0 / N));
}

/* Neighbors along each axis, seeds and purposes: none knows of another. */
Test(samples, pixels_seeds_and_purposes_are_independent)
{
    static const struct random_stream others[] = {
        {0, 1, 0, 0}, {0, 512, 0, 0}, {0, 512 * 512, 0, 0}, {0, (uint64_t)1 << 32, 0, 0},
        {1, 0, 0, 0}, {0, 0, 1, 0}};
    enum { N = 100000 };
    for (size_t other = 0; other < sizeof others / sizeof *others; other++)
        for (int of = 0; of < 2; of++) {
            double product = 0;
            for (uint64_t i = 0; i < N; i++) {
                struct random_stream a = {7, i, 0, 0},
                                     b = {7 + others[other].seed, i + others[other].pixel,
                                          others[other].purpose, 0};
                const double x = of ? ts_poisson(30, &a) - 30 : ts_gaussian(&a) * sqrt(30);
                product += x * (of ? ts_poisson(30, &b) - 30 : ts_gaussian(&b) * sqrt(30)) / 30;
            }
            cr_assert(fabs(product / N) < 4 / sqrt(N), "row %zu: correlation %g", other,
                      product / N);
        }
}
