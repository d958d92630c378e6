/* SPDX-License-Identifier: Apache-2.0
 *
 * The reduction of `statistics` with labels: one row of numbers for the values under each label.
 * The layout of partials and results is here, because cuda/histogram/statistics_labels.cu writes
 * and reads the same.
 *
 * Count, range, sum and sum of squares are exact in every type: the values of an image are integers
 * times a power of two, and so are their squares; both are added up as long integers of 32-bit
 * limbs. So no order of pixels, slices or threads matters. Results are rounded only once, at the
 * end.
 *
 * A partial of the first round has the moments of n_labels + 1 rows, of which the last is for all
 * other labels; if percentiles are asked for, the uint64_t counts of the round's digits follow.
 * Partials of later rounds only have such counts. The result has the same moments, then the places
 * of the percentiles.
 */
#ifndef STAGES_HISTOGRAM_STATISTICS_LABELS_H
#define STAGES_HISTOGRAM_STATISTICS_LABELS_H

#include "stages/histogram/statistics.h"

/* The most labels, and the most places of percentiles of all labels: their counts fill 4 GiB. */
enum { STATISTICS_MOST_LABELS = 65536, STATISTICS_MOST_PLACES = 1 << 18 };

/* This many limbs hold the sum of 2^40 floats, in units of 2^-149, and that of their squares, in
 * units of 2^-298. */
enum { LABEL_SUM_LIMBS = 10, LABEL_SQUARE_LIMBS = 20 };
/* A limb can take this many additions of 32 bits before its carry must be passed on. */
enum { LABEL_MOMENTS_ADDITIONS = 1 << 30 };

/* The moments of the values under one label. Zero bytes mean no values. Limb i counts units of
 * 2^(32 i); once carries were passed on, each limb but the last is in [0, 2^32). */
struct label_moments {
    uint64_t n, n_nan, n_infinite, n_zero; /* n: number of finite values */
    uint32_t not_low, high;                /* ~lowest order key, and the highest order key */
    int64_t sum[LABEL_SUM_LIMBS], squares[LABEL_SQUARE_LIMBS];
};

/* The digits of a key have 11 bits, and the last digit the remaining ones: 32-bit values have three
 * digits, 16-bit values two, 8-bit values one. */
enum { LABEL_DIGIT_BITS = 11, LABEL_DIGITS = 1 << LABEL_DIGIT_BITS };

/* The value at one place of one label: the digits of its key found so far, and its rank among the
 * keys that begin with them. */
struct label_rank {
    uint64_t rank;
    uint32_t prefix;
    uint32_t any; /* 1 if the label has finite values */
};

/* The digit of a round is the lowest `bits` bits of key >> shift. */
struct label_digit {
    uint32_t shift, bits;
};

/* Returns the digit that a round counts. */
struct label_digit ts_label_ranks_digit(enum ts_dtype dtype, int round);

/* Returns true if the parameter `labels` is given. */
static inline bool ts_statistics_by_label(const struct stage_context *context)
{
    return context->references[STATISTICS_LABELS - 1] != NULL;
}
/* Returns how many places a label has: 2 for each percentile. */
static inline int ts_statistics_label_places(const struct stage_context *context)
{
    return 2 * ts_statistics_percentiles(context);
}
/* Returns the bytes of the moments at the beginning of a partial of this round. */
size_t ts_statistics_label_moments(const struct stage_context *context);
/* Returns the places of the percentiles in a result. */
struct label_rank *ts_statistics_label_ranks(const struct stage_context *context,
                                             const void *result);

/* ---- the parts of the stage ------------------------------------------------------------------ */

int ts_statistics_label_rounds(const struct stage_context *context);
size_t ts_statistics_label_partial(const struct stage_context *context);
size_t ts_statistics_label_result(const struct stage_context *context);
void ts_statistics_label_reduce(const struct stage_context *context, const struct ts_image *slices,
                                void *partial);
void ts_statistics_label_merge(const struct stage_context *context, void *into, const void *from);
/* The tables of rows that the last round writes. */
struct statistics_label_tables {
    uint64_t *counts[4]; /* numbers of finite values, NaN, infinite values and zeros */
    double *reals[6];    /* minimum, maximum, sum, mean, variance, standard deviation */
    double *percentiles; /* NULL: they are not asked for */
    uint64_t *left_out;  /* one number; NULL: no pixel is left out */
    uint64_t *others;    /* one number: the pixels under labels without a row */
};
void ts_statistics_label_finish(const struct stage_context *context, const void *total,
                                void *result, const struct statistics_label_tables *tables);

#endif
