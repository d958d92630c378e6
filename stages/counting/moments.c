/* SPDX-License-Identifier: Apache-2.0
 *
 * Moments of a slice. two-level: sums run in eight lanes over runs of about the square root of the
 * slice's size, and their totals are joined by fan-in (in a tree); fan-in: values are joined in
 * trees of 512, and so are the totals. A second pass computes the deviations from the slice's own
 * mean, corrected by their mean (T. F. Chan et al., 1983). Products keep mantissas and exponents
 * separately, so they need no logarithm per value and cannot overflow.
 */
#include "stages/counting/moments.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK = 4096,
    BLOCK_LEAST = 64,
    LANES = 8,
    PRODUCT_LENGTH = 64,
    FAN_IN_LENGTH = PRODUCT_LENGTH * LANES
};

struct block_sums {
    double sum, squares;
    uint64_t n, n_zero, n_negative;
};

/* Sums (v - center) and its square over finite values. n is a multiple of LANES; the rest of a
 * block is NaN. */
TS_VECTORIZED static void sum_block(struct block_sums *sums, const double *values, size_t n,
                                    double center)
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

/* Multiplies the mantissas, in [1, 2), of finite values that are not zero, and adds up their
 * exponents. */
TS_VECTORIZED static void multiply_block(const double *values, size_t n, double product[LANES],
                                         int64_t *exponent)
{
    int64_t exponents[LANES] = {0};
    for (size_t lane = 0; lane < LANES; lane++)
        product[lane] = 1;
    for (size_t i = 0; i < n; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++) {
            int64_t bits;
            memcpy(&bits, &values[i + lane], sizeof bits);
            const int64_t power = bits >> 52 & 0x7FF;
            const bool counts = power != 0 && power != 0x7FF; /* no float becomes a subnormal
                                                               * double */
            const int64_t mantissa_bits = (bits & 0xFFFFFFFFFFFFF) | INT64_C(1023) << 52;
            double mantissa;
            memcpy(&mantissa, &mantissa_bits, sizeof mantissa);
            product[lane] *= counts ? mantissa : 1;
            exponents[lane] += counts ? power - 1023 : 0;
        }
    for (size_t lane = 0; lane < LANES; lane++)
        *exponent += exponents[lane];
}

/* Returns the logarithm of a product of mantissas without its power of two, which it adds to
 * *exponent. */
static double log_of(double product, int64_t *exponent)
{
    int power;
    const double mantissa = frexp(product, &power);
    *exponent += power;
    return log(mantissa);
}

static double multiply(const double *values, size_t n, int64_t *exponent)
{
    const size_t length = FAN_IN_LENGTH; /* 64 mantissas below 2 a lane, 8 lanes: below 2^512 */
    double log_rest = 0;
    for (size_t first = 0; first < n; first += length) {
        double product[LANES], all = 1;
        multiply_block(values + first, n - first < length ? n - first : length, product, exponent);
        for (size_t lane = 0; lane < LANES; lane++)
            all *= product[lane];
        log_rest += log_of(all, exponent);
    }
    return log_rest;
}

/* ---- fan-in ---------------------------------------------------------------------------------- */

TS_VECTORIZED static void deviate(const double *values, size_t n, double center, double *deviations,
                                  double *squares)
{
    for (size_t i = 0; i < n; i++) {
        const double deviation = fabs(values[i]) < (double)INFINITY ? values[i] - center : 0;
        deviations[i] = deviation;
        squares[i] = deviation * deviation;
    }
}

/* Writes the mantissas of finite values that are not zero, and 1 for others, and adds up the
 * exponents. */
TS_VECTORIZED static void split(const double *values, size_t n, double *mantissas,
                                int64_t *exponent)
{
    int64_t exponents = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        const int64_t power = bits >> 52 & 0x7FF;
        const bool counts = power != 0 && power != 0x7FF;
        const int64_t mantissa = ((counts ? bits : 0) & 0xFFFFFFFFFFFFF) | INT64_C(1023) << 52;
        memcpy(&mantissas[i], &mantissa, sizeof mantissa);
        exponents += counts ? power - 1023 : 0;
    }
    *exponent += exponents;
}

/* Does what sum_block() does, with sums by fan-in. */
static void fan_in_block(struct block_sums *sums, const double *values, size_t n, double center)
{
    double deviations[FAN_IN_LENGTH], squares[FAN_IN_LENGTH];
    deviate(values, n, center, deviations, squares);
    sums->sum = ts_fan_in_sum(deviations, n);
    sums->squares = ts_fan_in_sum(squares, n);
}

static double fan_in_multiply(const double *values, size_t n, int64_t *exponent)
{
    double mantissas[FAN_IN_LENGTH];
    split(values, n, mantissas, exponent);
    return log_of(ts_fan_in_product(mantissas, n), exponent); /* below 2^512 */
}

/* ---- a slice --------------------------------------------------------------------------------- */

/* A slice and the length of the blocks in which it is summed. */
struct slice {
    const void *data;
    enum ts_dtype dtype;
    size_t n, length;
    bool fans_in;
};

static size_t load_block(double *values, const struct slice *slice, size_t first)
{
    const size_t left = slice->n - first, count = left < slice->length ? left : slice->length;
    const size_t padded = (count + LANES - 1) / LANES * LANES;
    const char *from = (const char *)slice->data + first * ts_dtype_bytes(slice->dtype);
    ts_load_f64(values, from, slice->dtype, count);
    for (size_t i = count; i < padded; i++)
        values[i] = (double)NAN;
    return padded;
}

static void add_up(struct moments *moments, const struct slice *slice)
{
    const bool integer = ts_dtype_is_integer(slice->dtype);
    double values[BLOCK];
    struct fan_in_sum sum, logs;
    ts_fan_in_sum_begin(&sum);
    ts_fan_in_sum_begin(&logs);
    for (size_t first = 0; first < slice->n; first += slice->length) {
        const size_t count = load_block(values, slice, first);
        struct block_sums sums;
        sum_block(&sums, values, count, 0);
        moments->whole_sum +=
            integer ? (int64_t)sums.sum : 0; /* a block of 32-bit values has a sum below 2^53 */
        moments->n += sums.n;
        moments->n_zero += sums.n_zero;
        moments->n_negative += sums.n_negative;
        if (slice->fans_in)
            fan_in_block(&sums, values, count, 0);
        ts_fan_in_sum_add(&sum, sums.sum);
        ts_fan_in_sum_add(&logs, slice->fans_in ? fan_in_multiply(values, count, &moments->exponent)
                                                : multiply(values, count, &moments->exponent));
    }
    moments->sum = integer ? (double)moments->whole_sum : ts_fan_in_sum_end(&sum);
    moments->log_rest = ts_fan_in_sum_end(&logs);
}

static void add_deviations(struct moments *moments, const struct slice *slice)
{
    double values[BLOCK];
    struct fan_in_sum rest, squares;
    ts_fan_in_sum_begin(&rest);
    ts_fan_in_sum_begin(&squares);
    for (size_t first = 0; first < slice->n; first += slice->length) {
        const size_t count = load_block(values, slice, first);
        struct block_sums sums;
        (slice->fans_in ? fan_in_block : sum_block)(&sums, values, count, moments->mean);
        ts_fan_in_sum_add(&rest, sums.sum);
        ts_fan_in_sum_add(&squares, sums.squares);
    }
    const double left = ts_fan_in_sum_end(&rest);
    moments->deviations = ts_fan_in_sum_end(&squares) - left * left / (double)moments->n;
    moments->center = moments->mean;
    moments->offset = left / (double)moments->n;
}

void ts_moments_of_slice_by(struct moments *moments, const void *data, enum ts_dtype dtype,
                            size_t n, enum reduction_method method)
{
    const bool fans_in = method == REDUCTION_FAN_IN;
    const size_t length =
        fans_in ? FAN_IN_LENGTH : ts_run_length(n, BLOCK_LEAST, BLOCK_LEAST, BLOCK);
    const struct slice slice = {data, dtype, n, length, fans_in};
    *moments = (struct moments){0};
    add_up(moments, &slice);
    if (moments->n == 0)
        return;
    moments->mean = moments->sum / (double)moments->n;
    add_deviations(moments, &slice);
}

void ts_moments_join(struct moments *into, const struct moments *from, enum ts_dtype dtype)
{
    if (from->n == 0)
        return;
    const double a = (double)into->n, b = (double)from->n;
    const double apart = from->center - into->center + (from->offset - into->offset);
    if (into->n == 0) {
        into->center = from->center;
        into->offset = from->offset;
        into->deviations = from->deviations;
    } else {
        into->offset += apart * (b / (a + b));
        into->deviations += from->deviations + apart * apart * (a * b / (a + b));
    }
    into->n += from->n;
    into->n_zero += from->n_zero;
    into->n_negative += from->n_negative;
    into->whole_sum += from->whole_sum;
    into->sum = ts_dtype_is_integer(dtype) ? (double)into->whole_sum : into->sum + from->sum;
    into->mean = into->sum / (double)into->n;
    into->exponent += from->exponent;
    into->log_rest += from->log_rest;
}

void ts_moments_of_sums(struct moments *moments, __int128 sum, __int128 squares)
{
    /* n * deviations = n * squares - sum^2: below 2^127 for any image of fewer than 2^47 values. */
    const __int128 n = (__int128)moments->n;
    moments->whole_sum = sum;
    moments->sum = (double)sum;
    moments->mean = moments->center = (double)sum / (double)moments->n;
    moments->deviations = (double)(n * squares - sum * sum) / (double)moments->n;
}

void ts_moments_of_counts(struct moments *moments, const struct value_counts *counts,
                          enum ts_dtype dtype)
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
    ts_moments_of_sums(moments, sum, squares);
}
