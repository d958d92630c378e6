/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting by label takes (labels x places x 2048) counts, where whole keys would take 2^32 of each, at the price of a
 * round for every digit.
 */
#include "stages/counting/label_ranks.h"

#include <math.h>

#include "stages/counting/label_moments.h"
#include "stages/counting/percentile.h"

static uint32_t key_bits(enum ts_dtype dtype)
{
    return 8 * (uint32_t)ts_dtype_bytes(dtype);
}

int ts_label_ranks_rounds(enum ts_dtype dtype)
{
    return (int)(key_bits(dtype) + LABEL_DIGIT_BITS - 1) / LABEL_DIGIT_BITS;
}

struct label_digit ts_label_ranks_digit(enum ts_dtype dtype, int round)
{
    const uint32_t before = LABEL_DIGIT_BITS * (uint32_t)round, left = key_bits(dtype) - before;
    const uint32_t bits = left < LABEL_DIGIT_BITS ? left : LABEL_DIGIT_BITS;
    return (struct label_digit){.shift = left - bits, .bits = bits};
}

size_t ts_label_ranks_counts(int round, int64_t n_labels, int n_places)
{
    return (size_t)n_labels * (size_t)(round == 0 ? 1 : n_places) * LABEL_DIGITS;
}

/* A shift by all 32 bits, of the first digit of a 32-bit key, would not be defined. */
static uint32_t prefix_of(uint32_t key, struct label_digit digit)
{
    return (uint32_t)((uint64_t)key >> (digit.shift + digit.bits));
}

void ts_label_ranks_add(uint64_t *counts, int round, const struct label_rank *ranks, int64_t n_labels, int n_places,
                        const uint32_t *keys, const uint32_t *rows, enum ts_dtype dtype, size_t n)
{
    const struct label_digit digit = ts_label_ranks_digit(dtype, round);
    const uint32_t mask = (1u << digit.bits) - 1;
    const int n_slots = round == 0 ? 1 : n_places;
    for (size_t i = 0; i < n; i++) {
        if (rows[i] >= (uint32_t)n_labels || !ts_order_key_finite(keys[i], dtype))
            continue;
        const uint32_t prefix = prefix_of(keys[i], digit), at = keys[i] >> digit.shift & mask;
        const size_t first = (size_t)rows[i] * (size_t)n_slots;
        for (size_t slot = first; slot < first + (size_t)n_slots; slot++)
            if (round == 0 || ranks[slot].prefix == prefix)
                counts[slot * LABEL_DIGITS + at]++;
    }
}

void ts_label_ranks_begin(struct label_rank *ranks, uint64_t n_finite, const double *percents, int n_places)
{
    for (int place = 0; place < n_places; place++) {
        double fraction;
        const uint64_t rank = n_finite ? ts_percentile_rank(n_finite, percents[place / 2], &fraction) : 0;
        const bool next = place % 2 && rank + 1 < n_finite;
        ranks[place] = (struct label_rank){.rank = rank + next, .any = n_finite > 0};
    }
}

void ts_label_ranks_narrow(struct label_rank *ranks, const uint64_t *counts, int round, int64_t n_labels, int n_places,
                           enum ts_dtype dtype)
{
    const struct label_digit digit = ts_label_ranks_digit(dtype, round);
    for (size_t slot = 0; slot < (size_t)n_labels * (size_t)n_places; slot++) {
        const uint64_t *of_slot = counts + (round == 0 ? slot / (size_t)n_places : slot) * LABEL_DIGITS;
        uint32_t found = 0;
        if (!ranks[slot].any)
            continue;
        while (of_slot[found] <= ranks[slot].rank)
            ranks[slot].rank -= of_slot[found++];
        ranks[slot].prefix = ranks[slot].prefix << digit.bits | found;
    }
}

void ts_label_ranks_values(const struct label_rank *ranks, uint64_t n_finite, const double *percents, int n_places,
                           enum ts_dtype dtype, double *values)
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
