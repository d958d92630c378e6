/* SPDX-License-Identifier: Apache-2.0
 *
 * Values become order keys and labels become rows, a block at a time; both are then added to the
 * row's moments and to the counts of the round. All of these are integers, so that neither slabs
 * nor threads change them.
 */
#include "stages/histogram/statistics_labels.h"

#include <math.h>
#include <string.h>

#include "stages/counting/bins.h"
#include "stages/counting/percentile.h"
#include "stages/values/value_keys.h"

STAGE_PARAMS_OF(statistics_params)

/* ---- moments -----------------------------------------------------------------------------------
 *
 * A float is m * 2^(p - 149) with m below 2^24 and p in [0, 253], so m shifted by p is a number of
 * units of 2^-149, and m^2 shifted by 2 p of units of 2^-298. Integers have units of 1. The
 * variance is (n Q - S^2) / (n (n - ddof)), where S is the sum and Q the sum of squares; the
 * numerator is a long integer, too, so nothing is lost by cancellation. */

enum { FLOAT_UNIT = -149, PRODUCT_LIMBS = LABEL_SQUARE_LIMBS + 2 };
#define LIMB_MASK UINT64_C(0xFFFFFFFF)

/* Writes the order keys of n values, starting with value `first`: the rank in the type for 8- and
 * 16-bit integers, else all 32 bits (stages/counting/percentile.h: ts_percentile_key_value). */
static void order_keys(uint32_t *keys, const void *data, enum ts_dtype dtype, size_t first,
                       size_t n)
{
    const uint32_t lowest =
        ts_dtype_bytes(dtype) == 4 ? 0x80000000u : (uint32_t)ts_value_keys_all(dtype).low;
    ts_value_keys_load(dtype, (const char *)data + first * ts_dtype_bytes(dtype), (int32_t *)keys,
                       (int64_t)n);
    for (size_t i = 0; i < n; i++)
        keys[i] -= lowest;
}

/* The numbers of a label. All but the counts and the sum are NaN if there is no finite value; the
 * sum is then 0. */
struct label_numbers {
    double low, high, sum, mean, variance;
};

/* Returns true if the key is that of a finite value. */
static bool order_key_finite(uint32_t key, enum ts_dtype dtype)
{
    return dtype != TS_F32 || (key > 0x007FFFFFu && key < 0xFF800000u);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static void add_float(struct label_moments *to, uint32_t key)
{
    const uint32_t bits = key ^ (key >> 31 ? 0x80000000u : 0xFFFFFFFFu),
                   exponent = bits >> 23 & 0xFF;
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
    if (!order_key_finite(key, dtype)) {
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

/* Adds n values to the moments of their rows, by their keys. */
static void label_moments_add(struct label_moments *moments, const uint32_t *keys,
                              const uint32_t *rows, enum ts_dtype dtype, size_t n)
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

/* Passes the carries of n_rows moments on: call it after LABEL_MOMENTS_ADDITIONS values, and before
 * reading or merging. */
static void label_moments_carry(struct label_moments *moments, int64_t n_rows)
{
    for (int64_t row = 0; row < n_rows; row++) {
        pass_carries(moments[row].sum, LABEL_SUM_LIMBS);
        pass_carries(moments[row].squares, LABEL_SQUARE_LIMBS);
    }
}

/* Adds `from` to `into`; both have passed their carries on. */
static void label_moments_merge(struct label_moments *into, const struct label_moments *from,
                                int64_t n_rows)
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
    label_moments_carry(into, n_rows);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Returns the long integer of n limbs times 2^exponent, rounded once. Of limbs below the highest
 * three it only matters whether they are all 0. */
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

/* Writes the magnitude of a long integer without carries, and returns its sign. */
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
static void add_product(uint32_t *to, int n, const uint32_t *a, int n_a, const uint32_t *b, int n_b,
                        bool subtract)
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

/* Computes the numbers of one label. The variance divides by n - ddof. */
static struct label_numbers label_moments_numbers(const struct label_moments *moments,
                                                  enum ts_dtype dtype, int64_t ddof)
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
    numbers.variance = moments->n > (uint64_t)ddof
                           ? round_limbs(apart, PRODUCT_LIMBS, 2 * unit) / n / (n - (double)ddof)
                           : none;
    return numbers;
}

/* ---- percentiles -------------------------------------------------------------------------------
 *
 * Exact percentiles of the values under each label. Each percentile has two places: the value at
 * its rank and the next one. The order keys of these values are found digit by digit, from the
 * highest: for each place of each label, a round counts the next digit of the keys that begin with
 * the digits found so far. Counts merge in any grouping. A round takes (labels x places x 2048)
 * counts; whole keys would take 2^32 instead of 2048, but need only one round. */

static uint32_t key_bits(enum ts_dtype dtype)
{
    return 8 * (uint32_t)ts_dtype_bytes(dtype);
}

/* Returns how many rounds values of this type take. */
static int label_ranks_rounds(enum ts_dtype dtype)
{
    return (int)(key_bits(dtype) + LABEL_DIGIT_BITS - 1) / LABEL_DIGIT_BITS;
}

struct label_digit ts_label_ranks_digit(enum ts_dtype dtype, int round)
{
    const uint32_t before = LABEL_DIGIT_BITS * (uint32_t)round, left = key_bits(dtype) - before;
    const uint32_t bits = left < LABEL_DIGIT_BITS ? left : LABEL_DIGIT_BITS;
    return (struct label_digit){.shift = left - bits, .bits = bits};
}

/* Returns how many counts a round has: LABEL_DIGITS for each label in the first, and for each place
 * of each label in the others. */
static size_t label_ranks_counts(int round, int64_t n_labels, int n_places)
{
    return (size_t)n_labels * (size_t)(round == 0 ? 1 : n_places) * LABEL_DIGITS;
}

/* A shift by all 32 bits, which the first digit of a 32-bit key would need, is not defined in C. */
static uint32_t prefix_of(uint32_t key, struct label_digit digit)
{
    return (uint32_t)((uint64_t)key >> (digit.shift + digit.bits));
}

/* Counts the finite values among n, by their keys and rows; rows of n_labels or above are not
 * counted. `ranks` are those after the round before, [label][place]; they are not used in round
 * 0. */
static void label_ranks_add(uint64_t *counts, int round, const struct label_rank *ranks,
                            int64_t n_labels, int n_places, const uint32_t *keys,
                            const uint32_t *rows, enum ts_dtype dtype, size_t n)
{
    const struct label_digit digit = ts_label_ranks_digit(dtype, round);
    const uint32_t mask = (1u << digit.bits) - 1;
    const int n_slots = round == 0 ? 1 : n_places;
    for (size_t i = 0; i < n; i++) {
        if (rows[i] >= (uint32_t)n_labels || !order_key_finite(keys[i], dtype))
            continue;
        const uint32_t prefix = prefix_of(keys[i], digit), at = keys[i] >> digit.shift & mask;
        const size_t first = (size_t)rows[i] * (size_t)n_slots;
        for (size_t slot = first; slot < first + (size_t)n_slots; slot++)
            if (round == 0 || ranks[slot].prefix == prefix)
                counts[slot * LABEL_DIGITS + at]++;
    }
}

/* Starts the search for the percentiles of one label, which has n_finite finite values. A
 * percentile has two places, its rank and the next one, between which it is interpolated. */
static void label_ranks_begin(struct label_rank *ranks, uint64_t n_finite, const double *percents,
                              int n_places)
{
    for (int place = 0; place < n_places; place++) {
        double fraction;
        const uint64_t rank =
            n_finite ? ts_percentile_rank(n_finite, percents[place / 2], &fraction) : 0;
        const bool next = place % 2 && rank + 1 < n_finite;
        ranks[place] = (struct label_rank){.rank = rank + next, .any = n_finite > 0};
    }
}

/* Finds the next digit of every place from the counts of the round. */
static void label_ranks_narrow(struct label_rank *ranks, const uint64_t *counts, int round,
                               int64_t n_labels, int n_places, enum ts_dtype dtype)
{
    const struct label_digit digit = ts_label_ranks_digit(dtype, round);
    for (size_t slot = 0; slot < (size_t)n_labels * (size_t)n_places; slot++) {
        const uint64_t *of_slot =
            counts + (round == 0 ? slot / (size_t)n_places : slot) * LABEL_DIGITS;
        uint32_t found = 0;
        if (!ranks[slot].any)
            continue;
        while (of_slot[found] <= ranks[slot].rank)
            ranks[slot].rank -= of_slot[found++];
        ranks[slot].prefix = ranks[slot].prefix << digit.bits | found;
    }
}

/* Computes the percentiles of one label after the last round; they are NaN if it has no finite
 * value. */
static void label_ranks_values(const struct label_rank *ranks, uint64_t n_finite,
                               const double *percents, int n_places, enum ts_dtype dtype,
                               double *values)
{
    for (int place = 0; place < n_places; place += 2) {
        double fraction = 0;
        if (n_finite > 0)
            ts_percentile_rank(n_finite, percents[place / 2], &fraction);
        const double a = ts_percentile_key_value(ranks[place].prefix, dtype),
                     b = ts_percentile_key_value(ranks[place + 1].prefix, dtype);
        values[place / 2] = n_finite > 0 ? ts_percentile_between(a, b, fraction) : (double)NAN;
    }
}

enum { BLOCK = 2048 };

/* ---- layout ---------------------------------------------------------------------------------- */

static int64_t rows_of(const struct stage_context *context)
{
    return params_of(context)->n_labels + 1;
}

int ts_statistics_label_rounds(const struct stage_context *context)
{
    return ts_statistics_percentiles(context) > 0 ? label_ranks_rounds(context->in.dtype) : 1;
}

size_t ts_statistics_label_moments(const struct stage_context *context)
{
    return context->round == 0 ? (size_t)rows_of(context) * sizeof(struct label_moments) : 0;
}

/* Returns how many counts follow the moments in a partial of this round. */
static size_t statistics_label_counts(const struct stage_context *context)
{
    return ts_statistics_percentiles(context) > 0
               ? label_ranks_counts(context->round, params_of(context)->n_labels,
                                    ts_statistics_label_places(context))
               : 0;
}

size_t ts_statistics_label_partial(const struct stage_context *context)
{
    return ts_statistics_label_moments(context) +
           statistics_label_counts(context) * sizeof(uint64_t);
}

size_t ts_statistics_label_result(const struct stage_context *context)
{
    const size_t n_ranks =
        (size_t)params_of(context)->n_labels * (size_t)ts_statistics_label_places(context);
    return (size_t)rows_of(context) * sizeof(struct label_moments) +
           n_ranks * sizeof(struct label_rank);
}

static uint64_t *counts_in(const struct stage_context *context, const void *partial)
{
    return (uint64_t *)(void *)((char *)partial + ts_statistics_label_moments(context));
}

struct label_rank *ts_statistics_label_ranks(const struct stage_context *context,
                                             const void *result)
{
    return (struct label_rank *)((struct label_moments *)result + rows_of(context));
}

/* ---- reduction ------------------------------------------------------------------------------- */

void ts_statistics_label_reduce(const struct stage_context *context, const struct ts_image *slices,
                                void *partial)
{
    const struct ts_image *labels = &slices[STATISTICS_LABELS];
    const int64_t n_labels = params_of(context)->n_labels;
    const size_t n = ts_image_count(slices);
    const bool ranks = ts_statistics_percentiles(context) > 0;
    uint32_t keys[BLOCK], rows[BLOCK];
    memset(partial, 0, ts_statistics_label_partial(context));
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t block = n - first < BLOCK ? n - first : BLOCK;
        order_keys(keys, slices->data, slices->dtype, first, block);
        ts_label_rows(rows, labels->data, labels->dtype, first, block, (uint32_t)n_labels);
        if (context->round == 0)
            label_moments_add(partial, keys, rows, slices->dtype, block);
        if (ranks)
            label_ranks_add(counts_in(context, partial), context->round,
                            ts_statistics_label_ranks(context, context->result), n_labels,
                            ts_statistics_label_places(context), keys, rows, slices->dtype, block);
        if (context->round == 0 &&
            (first + block == n || (first + block) % LABEL_MOMENTS_ADDITIONS == 0))
            label_moments_carry(partial, rows_of(context));
    }
}

void ts_statistics_label_merge(const struct stage_context *context, void *into, const void *from)
{
    uint64_t *counts = counts_in(context, into);
    const uint64_t *more = counts_in(context, from);
    const size_t n = statistics_label_counts(context);
    if (context->round == 0)
        label_moments_merge(into, from, rows_of(context));
    for (size_t i = 0; i < n; i++)
        counts[i] += more[i];
}

static void write_row(const struct stage_context *context, const struct label_moments *moments,
                      int64_t label, const struct statistics_label_tables *tables)
{
    const struct label_numbers numbers =
        label_moments_numbers(moments, context->in.dtype, params_of(context)->ddof);
    const uint64_t counts[] = {moments->n, moments->n_nan, moments->n_infinite, moments->n_zero};
    const double reals[] = {numbers.low,  numbers.high,     numbers.sum,
                            numbers.mean, numbers.variance, sqrt(numbers.variance)};
    for (int i = 0; i < 4; i++)
        tables->counts[i][label] = counts[i];
    for (int i = 0; i < 6; i++)
        tables->reals[i][label] = reals[i];
}

static void write_rows(const struct stage_context *context, const void *result,
                       const struct statistics_label_tables *tables)
{
    const struct label_moments *moments = result;
    const struct label_rank *ranks = ts_statistics_label_ranks(context, result);
    const int64_t n_labels = params_of(context)->n_labels;
    const int n_places = ts_statistics_label_places(context);
    uint64_t seen = 0;
    for (int64_t row = 0; row <= n_labels; row++) {
        const struct label_moments *of_row = &moments[row];
        seen += of_row->n + of_row->n_nan + of_row->n_infinite;
        if (row == n_labels)
            break;
        write_row(context, of_row, row, tables);
        if (tables->percentiles)
            label_ranks_values(ranks + row * n_places, of_row->n,
                               params_of(context)->percentiles.values, n_places, context->in.dtype,
                               tables->percentiles + row * (n_places / 2));
    }
    const struct label_moments *others = &moments[n_labels];
    const uint64_t n_others = others->n + others->n_nan + others->n_infinite;
    *tables->others = n_others;
    if (n_others > 0 && context->diag) {
        const struct diag_site site = {.code = "labels-without-row",
                                       .span = context->set->span,
                                       .stage = context->stage->name};
        ts_diag_warning(context->diag, &site,
                        "%llu pixels have a label outside of 0 to %lld, and are in no row",
                        (unsigned long long)n_others, (long long)n_labels - 1);
        ts_diag_hint(context->diag, "n_labels says how many labels have a row, 65,536 at most");
    }
    if (tables->left_out)
        *tables->left_out = ts_image_count(&context->in) - seen;
}

void ts_statistics_label_finish(const struct stage_context *context, const void *total,
                                void *result, const struct statistics_label_tables *tables)
{
    const int64_t n_labels = params_of(context)->n_labels;
    const int n_places = ts_statistics_label_places(context);
    struct label_moments *moments = result;
    struct label_rank *ranks = ts_statistics_label_ranks(context, result);
    if (context->round == 0) {
        memcpy(moments, total, ts_statistics_label_moments(context));
        for (int64_t label = 0; label < n_labels; label++)
            label_ranks_begin(ranks + label * n_places, moments[label].n,
                              params_of(context)->percentiles.values, n_places);
    }
    if (n_places > 0)
        label_ranks_narrow(ranks, counts_in(context, total), context->round, n_labels, n_places,
                           context->in.dtype);
    if (context->round + 1 == ts_statistics_label_rounds(context))
        write_rows(context, result, tables);
}
