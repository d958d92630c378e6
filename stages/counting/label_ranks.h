/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact percentiles of the values under each label. The order key of a value is found digit by digit, from the highest:
 * each round counts the next digit of the keys that begin with the digits found so far, label by label and place by
 * place, where a percentile has two places, the values at its rank and at the next. Counts merge in any grouping.
 */
#ifndef STAGES_COUNTING_LABEL_RANKS_H
#define STAGES_COUNTING_LABEL_RANKS_H

#include "core/image.h"

/* The digits of a key have 11 bits, the last one those that are left: three of 32-bit values, two of 16, one of 8. */
enum { LABEL_DIGIT_BITS = 11, LABEL_DIGITS = 1 << LABEL_DIGIT_BITS };

/* The value at one place of one label: the digits of its key found so far, and its rank among the keys that have them.
 */
struct label_rank {
    uint64_t rank;
    uint32_t prefix;
    uint32_t any; /* 1: the label has finite values */
};

/* The digit of a round is key >> shift, and its lowest `bits` bits. */
struct label_digit {
    uint32_t shift, bits;
};

/* Returns how many rounds values of this type take. */
int ts_label_ranks_rounds(enum ts_dtype dtype);
struct label_digit ts_label_ranks_digit(enum ts_dtype dtype, int round);
/* Returns how many counts a round has: LABEL_DIGITS for each label in the first, and for each place of each label in
 * the others. */
size_t ts_label_ranks_counts(int round, int64_t n_labels, int n_places);
/* Counts the finite values among n, by their keys and rows; a row n_labels or above counts nowhere. `ranks` are those
 * after the round before, [label][place]; not used in round 0. */
void ts_label_ranks_add(uint64_t *counts, int round, const struct label_rank *ranks, int64_t n_labels, int n_places,
                        const uint32_t *keys, const uint32_t *rows, enum ts_dtype dtype, size_t n);
/* Begins the places of one label, 2 for each of n_places / 2 percentiles, with its number of finite values. */
void ts_label_ranks_begin(struct label_rank *ranks, uint64_t n_finite, const double *percents, int n_places);
/* Finds the next digit of every place from the counts of the round. */
void ts_label_ranks_narrow(struct label_rank *ranks, const uint64_t *counts, int round, int64_t n_labels, int n_places,
                           enum ts_dtype dtype);
/* Computes the percentiles of one label after the last round, NaN where it has no finite value. */
void ts_label_ranks_values(const struct label_rank *ranks, uint64_t n_finite, const double *percents, int n_places,
                           enum ts_dtype dtype, double *values);

#endif
