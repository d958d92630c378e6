/* SPDX-License-Identifier: Apache-2.0
 *
 * A float is m * 2^(p - 149) with m below 2^24 and p in [0, 253], so that m shifted by p counts units of 2^-149, and
 * m^2 shifted by 2 p those of 2^-298. Integers count units of 1. The variance is (n Q - S^2) / (n (n - ddof)), of which
 * the numerator is a long integer too: nothing cancels.
 */
#include "stages/counting/label_moments.h"

#include <math.h>
#include <string.h>

#include "stages/counting/percentile.h"
#include "stages/values/value_keys.h"

enum { FLOAT_UNIT = -149, PRODUCT_LIMBS = LABEL_SQUARE_LIMBS + 2 };
#define LIMB_MASK UINT64_C(0xFFFFFFFF)

void ts_order_keys(uint32_t *keys, const void *data, enum ts_dtype dtype, size_t first, size_t n)
{
    const uint32_t lowest = ts_dtype_bytes(dtype) == 4 ? 0x80000000u : (uint32_t)ts_value_keys_all(dtype).low;
    ts_value_keys_load(dtype, (const char *)data + first * ts_dtype_bytes(dtype), (int32_t *)keys, (int64_t)n);
    for (size_t i = 0; i < n; i++)
        keys[i] -= lowest;
}

/* ---- adding ------------------------------------------------------------------------------------ */

static void add_float(struct label_moments *to, uint32_t key)
{
    const uint32_t bits = key ^ (key >> 31 ? 0x80000000u : 0xFFFFFFFFu), exponent = bits >> 23 & 0xFF;
    const uint32_t place = exponent ? exponent - 1 : 0, fraction = bits & 0x7FFFFF;
    const uint64_t m = exponent ? fraction | 0x800000u : fraction;
    const uint64_t shifted = m << place % 32, square = m * m;
    const uint32_t shift = 2 * place % 32;
    const uint64_t rest = square >> (32 - shift);
    int64_t *sum = to->sum + place / 32, *squares = to->squares + 2 * place / 32;
    const int64_t sign = bits >> 31 ? -1 : 1;
    sum[0] += sign * (int64_t)(shifted & LIMB_MASK);
    sum[1] += sign * (int64_t)(shifted >> 32);
    squares[0] += (int64_t)(square << shift & LIMB_MASK);
    squares[1] += (int64_t)(rest & LIMB_MASK);
    squares[2] += (int64_t)(rest >> 32);
    to->n_zero += m == 0;
}

static void add_integer(struct label_moments *to, int64_t value)
{
    const uint64_t size = (uint64_t)(value < 0 ? -value : value), square = size * size;
    to->sum[0] += value;
    to->squares[0] += (int64_t)(square & LIMB_MASK);
    to->squares[1] += (int64_t)(square >> 32);
    to->n_zero += value == 0;
}

static void add_key(struct label_moments *to, uint32_t key, enum ts_dtype dtype, int64_t lowest)
{
    if (!ts_order_key_finite(key, dtype)) {
        const bool infinite = key == 0x007FFFFFu || key == 0xFF800000u;
        to->n_infinite += infinite;
        to->n_nan += !infinite;
        return;
    }
    to->n++;
    to->not_low = ~key > to->not_low ? ~key : to->not_low;
    to->high = key > to->high ? key : to->high;
    if (dtype == TS_F32)
        add_float(to, key);
    else
        add_integer(to, lowest + key);
}

void ts_label_moments_add(struct label_moments *moments, const uint32_t *keys, const uint32_t *rows,
                          enum ts_dtype dtype, size_t n)
{
    double low, high;
    ts_dtype_range(dtype, &low, &high);
    const int64_t lowest = dtype == TS_F32 ? 0 : (int64_t)low;
    for (size_t i = 0; i < n; i++)
        add_key(&moments[rows[i]], keys[i], dtype, lowest);
}

static void pass_carries(int64_t *limbs, int n)
{
    for (int i = 0; i + 1 < n; i++) {
        limbs[i + 1] += limbs[i] >> 32;
        limbs[i] &= (int64_t)LIMB_MASK;
    }
}

void ts_label_moments_carry(struct label_moments *moments, int64_t n_rows)
{
    for (int64_t row = 0; row < n_rows; row++) {
        pass_carries(moments[row].sum, LABEL_SUM_LIMBS);
        pass_carries(moments[row].squares, LABEL_SQUARE_LIMBS);
    }
}

void ts_label_moments_merge(struct label_moments *into, const struct label_moments *from, int64_t n_rows)
{
    for (int64_t row = 0; row < n_rows; row++) {
        struct label_moments *to = &into[row];
        to->n += from[row].n;
        to->n_nan += from[row].n_nan;
        to->n_infinite += from[row].n_infinite;
        to->n_zero += from[row].n_zero;
        to->not_low = from[row].not_low > to->not_low ? from[row].not_low : to->not_low;
        to->high = from[row].high > to->high ? from[row].high : to->high;
        for (int i = 0; i < LABEL_SUM_LIMBS; i++)
            to->sum[i] += from[row].sum[i];
        for (int i = 0; i < LABEL_SQUARE_LIMBS; i++)
            to->squares[i] += from[row].squares[i];
    }
    ts_label_moments_carry(into, n_rows);
}

/* ---- numbers ----------------------------------------------------------------------------------- */

/* Returns the long integer of n limbs times 2^exponent, rounded once: the limbs below the highest three only matter by
 * not being 0. */
static double round_limbs(const uint32_t *limbs, int n, int exponent)
{
    int top = n - 1;
    while (top > 2 && limbs[top] == 0)
        top--;
    unsigned __int128 high = 0;
    for (int i = top; i > top - 3; i--)
        high = high << 32 | limbs[i];
    for (int i = 0; i < top - 2; i++)
        high |= limbs[i] != 0;
    return ldexp((double)high, 32 * (top - 2) + exponent);
}

/* Writes the size of a long integer without carries; returns its sign. */
static int size_of(const int64_t *limbs, int n, uint32_t *size)
{
    const bool negative = limbs[n - 1] < 0;
    int64_t carry = 0;
    for (int i = 0; i < n; i++) {
        const int64_t limb = (negative ? -limbs[i] : limbs[i]) + carry;
        size[i] = (uint32_t)(limb & (int64_t)LIMB_MASK);
        carry = limb >> 32;
    }
    return negative ? -1 : 1;
}

/* Adds a * b to `to`, or subtracts it; `to` has n limbs and stays at or above 0. */
static void add_product(uint32_t *to, int n, const uint32_t *a, int n_a, const uint32_t *b, int n_b, bool subtract)
{
    for (int i = 0; i < n_a; i++) {
        int64_t carry = 0;
        for (int j = 0; i + j < n; j++) {
            const uint64_t product = j < n_b ? (uint64_t)a[i] * b[j] : 0;
            const int64_t low = (int64_t)(product & LIMB_MASK), high = (int64_t)(product >> 32);
            const int64_t limb = (int64_t)to[i + j] + carry + (subtract ? -low : low);
            to[i + j] = (uint32_t)(limb & (int64_t)LIMB_MASK);
            carry = (limb >> 32) + (subtract ? -high : high);
        }
    }
}

struct label_numbers ts_label_moments_numbers(const struct label_moments *moments, enum ts_dtype dtype, int64_t ddof)
{
    const int unit = dtype == TS_F32 ? FLOAT_UNIT : 0;
    const double none = (double)NAN, n = (double)moments->n;
    uint32_t sum[LABEL_SUM_LIMBS], squares[LABEL_SQUARE_LIMBS], apart[PRODUCT_LIMBS] = {0};
    const uint32_t count[2] = {(uint32_t)moments->n, (uint32_t)(moments->n >> 32)};
    if (moments->n == 0)
        return (struct label_numbers){none, none, 0, none, none};
    const int sign = size_of(moments->sum, LABEL_SUM_LIMBS, sum);
    size_of(moments->squares, LABEL_SQUARE_LIMBS, squares);
    add_product(apart, PRODUCT_LIMBS, squares, LABEL_SQUARE_LIMBS, count, 2, false);
    add_product(apart, PRODUCT_LIMBS, sum, LABEL_SUM_LIMBS, sum, LABEL_SUM_LIMBS, true);
    struct label_numbers numbers = {.low = ts_percentile_key_value(~moments->not_low, dtype),
                                    .high = ts_percentile_key_value(moments->high, dtype),
                                    .sum = sign * round_limbs(sum, LABEL_SUM_LIMBS, unit)};
    numbers.mean = numbers.sum / n;
    numbers.variance =
        moments->n > (uint64_t)ddof ? round_limbs(apart, PRODUCT_LIMBS, 2 * unit) / n / (n - (double)ddof) : none;
    return numbers;
}
