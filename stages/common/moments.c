/* SPDX-License-Identifier: Apache-2.0
 *
 * Moments of a slice. Sums run in eight lanes over blocks of fixed length, whose totals are added in order; deviations
 * are taken from the slice's own mean in a second pass, and corrected by their mean (T. F. Chan et al., 1983). Products
 * keep mantissas and exponents apart, so that they need no logarithm per value and cannot overflow.
 */
#include "stages/common/moments.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 4096, LANES = 8, PRODUCT_LENGTH = 64 };

struct block_sums {
    double sum, squares;
    uint64_t n, n_zero, n_negative;
};

#define LOAD(suffix, type)                                                                                             \
    TS_VECTORIZED static void load_##suffix(double *out, const type *in, size_t n)                                     \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++)                                                                                 \
            out[i] = (double)in[i];                                                                                    \
    }
TS_IMAGE_DTYPES(LOAD)

static void load(double *out, const void *data, enum ts_dtype dtype, size_t first, size_t n)
{
    switch (dtype) {
#define CASE(suffix, type)                                                                                             \
    case TS_##suffix:                                                                                                  \
        load_##suffix(out, (const type *)data + first, n);                                                             \
        break;
        TS_IMAGE_DTYPES(CASE)
#undef CASE
    default:
        break; /* tables have no moments */
    }
}

/* Sums of (v - center) and its square over finite values; n is a multiple of LANES, the rest of a block is NaN. */
TS_VECTORIZED static void sum_block(struct block_sums *sums, const double *values, size_t n, double center)
{
    double sum[LANES] = {0}, squares[LANES] = {0};
    int64_t finite[LANES] = {0}, zero[LANES] = {0}, negative[LANES] = {0};
    for (size_t i = 0; i < n; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++) {
            const double value = values[i + lane];
            const bool counts = fabs(value) < (double)INFINITY;
            const double deviation = counts ? value - center : 0;
            sum[lane] += deviation;
            squares[lane] += deviation * deviation;
            finite[lane] += counts;
            zero[lane] += value == 0;
            negative[lane] += counts && value < 0;
        }
    *sums = (struct block_sums){0};
    for (size_t lane = 0; lane < LANES; lane++) {
        sums->sum += sum[lane];
        sums->squares += squares[lane];
        sums->n += (uint64_t)finite[lane];
        sums->n_zero += (uint64_t)zero[lane];
        sums->n_negative += (uint64_t)negative[lane];
    }
}

/* Multiplies the mantissas of finite values that are not zero, in [1, 2), and adds up their exponents. */
TS_VECTORIZED static void multiply_block(const double *values, size_t n, double product[LANES], int64_t *exponent)
{
    int64_t exponents[LANES] = {0};
    for (size_t lane = 0; lane < LANES; lane++)
        product[lane] = 1;
    for (size_t i = 0; i < n; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++) {
            int64_t bits;
            memcpy(&bits, &values[i + lane], sizeof bits);
            const int64_t power = bits >> 52 & 0x7FF;
            const bool counts = power != 0 && power != 0x7FF; /* no float is a subnormal double */
            const int64_t mantissa_bits = (bits & 0xFFFFFFFFFFFFF) | INT64_C(1023) << 52;
            double mantissa;
            memcpy(&mantissa, &mantissa_bits, sizeof mantissa);
            product[lane] *= counts ? mantissa : 1;
            exponents[lane] += counts ? power - 1023 : 0;
        }
    for (size_t lane = 0; lane < LANES; lane++)
        *exponent += exponents[lane];
}

static void multiply(struct moments *moments, const double *values, size_t n)
{
    const size_t length = (size_t)PRODUCT_LENGTH * LANES; /* 64 mantissas below 2 a lane, 8 lanes: below 2^512 */
    for (size_t first = 0; first < n; first += length) {
        double product[LANES], all = 1;
        multiply_block(values + first, n - first < length ? n - first : length, product, &moments->exponent);
        for (size_t lane = 0; lane < LANES; lane++)
            all *= product[lane];
        int power;
        moments->log_rest += log(frexp(all, &power));
        moments->exponent += power;
    }
}

static size_t load_block(double *values, const void *data, enum ts_dtype dtype, size_t first, size_t n)
{
    const size_t count = n - first < BLOCK ? n - first : BLOCK, padded = (count + LANES - 1) / LANES * LANES;
    load(values, data, dtype, first, count);
    for (size_t i = count; i < padded; i++)
        values[i] = (double)NAN;
    return padded;
}

void ts_moments_of_slice(struct moments *moments, const void *data, enum ts_dtype dtype, size_t n)
{
    double values[BLOCK], rest = 0, squares = 0;
    struct block_sums sums;
    const bool integer = ts_dtype_is_integer(dtype);
    *moments = (struct moments){0};
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t count = load_block(values, data, dtype, first, n);
        sum_block(&sums, values, count, 0);
        multiply(moments, values, count);
        moments->sum += sums.sum;
        moments->whole_sum += integer ? (int64_t)sums.sum : 0; /* a block of 32-bit values adds up below 2^53 */
        moments->n += sums.n;
        moments->n_zero += sums.n_zero;
        moments->n_negative += sums.n_negative;
    }
    if (moments->n == 0)
        return;
    if (integer)
        moments->sum = (double)moments->whole_sum;
    moments->mean = moments->sum / (double)moments->n;
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t count = load_block(values, data, dtype, first, n);
        sum_block(&sums, values, count, moments->mean);
        rest += sums.sum;
        squares += sums.squares;
    }
    moments->deviations = squares - rest * rest / (double)moments->n;
}

void ts_moments_join(struct moments *into, const struct moments *from, enum ts_dtype dtype)
{
    if (from->n == 0)
        return;
    const double a = (double)into->n, b = (double)from->n, apart = from->mean - into->mean;
    into->deviations += from->deviations + (into->n ? apart * apart * (a * b / (a + b)) : 0);
    into->n += from->n;
    into->n_zero += from->n_zero;
    into->n_negative += from->n_negative;
    into->whole_sum += from->whole_sum;
    into->sum = ts_dtype_is_integer(dtype) ? (double)into->whole_sum : into->sum + from->sum;
    into->mean = into->sum / (double)into->n;
    into->exponent += from->exponent;
    into->log_rest += from->log_rest;
}

void ts_moments_of_counts(struct moments *moments, const struct value_counts *counts, enum ts_dtype dtype)
{
    double low, high;
    __int128 sum = 0, squares = 0;
    ts_dtype_range(dtype, &low, &high);
    *moments = (struct moments){.n = counts->n};
    if (counts->n == 0)
        return;
    for (int64_t key = counts->low; key <= (int64_t)counts->high; key++) {
        const int64_t value = (int64_t)low + key, n = (int64_t)counts->counts[key];
        sum += (__int128)value * n;
        squares += (__int128)(value * value) * n;
        moments->n_zero += value == 0 ? (uint64_t)n : 0;
        moments->n_negative += value < 0 ? (uint64_t)n : 0;
        if (value != 0 && n != 0)
            moments->log_rest += (double)n * log(fabs((double)value));
    }
    /* n * deviations = n * squares - sum^2: below 2^127 for any image of fewer than 2^47 values. */
    const __int128 n = (__int128)counts->n;
    moments->whole_sum = sum;
    moments->sum = (double)sum;
    moments->mean = (double)sum / (double)counts->n;
    moments->deviations = (double)(n * squares - sum * sum) / (double)counts->n;
}

double ts_moments_log_product(const struct moments *moments)
{
    static const double log_two = 0.693147180559945309417232121458;
    return (double)moments->exponent * log_two + moments->log_rest;
}
