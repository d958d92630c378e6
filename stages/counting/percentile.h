/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact percentiles, by numpy's default rule `linear`: of n sorted values the percentile q lies at
 * rank h = (n - 1) * q / 100, linear between the values at floor(h) and floor(h) + 1.
 *
 * For 8- and 16-bit integers they follow from the counts of the values. 32-bit integers and floats
 * are sorted by a key of 32 bits; values that are not finite are left out. Method histogram counts
 * keys in two rounds: the first counts their upper halves and finds those that contain the ranks,
 * the second counts the lower halves within those. Method sort sorts the keys of a slice and reads
 * the keys at the ranks.
 */
#ifndef STAGES_COUNTING_PERCENTILE_H
#define STAGES_COUNTING_PERCENTILE_H

#include "core/params.h"
#include "stages/counting/value_counts.h"

enum percentile_method { PERCENTILE_AUTO, PERCENTILE_HISTOGRAM, PERCENTILE_SORT };
extern const struct choice ts_percentile_choices[];
enum { PERCENTILES_MAX = 16, PERCENTILE_BUCKETS_MAX = 2 * PERCENTILES_MAX };

/* Returns percentile `percent`, 0 to 100, of counted values, or NaN if nothing was counted. */
double ts_percentile_of_counts(const struct value_counts *counts, enum ts_dtype dtype,
                               double percent);

/* The first returns the rank of a percentile of n > 0 values, and sets the fraction beyond it. The
 * second returns the percentile from the values at that rank and the next. */
uint64_t ts_percentile_rank(uint64_t n, double percent, double *fraction);
double ts_percentile_between(double a, double b, double fraction);

/* The result of the first round, with two ranks for each percentile. It is kept until the second
 * round has run. */
struct percentile_search {
    int32_t n_percentiles, n_buckets;
    double fraction[PERCENTILES_MAX];
    uint64_t rank[PERCENTILE_BUCKETS_MAX]; /* rank within the bucket */
    uint8_t bucket[PERCENTILE_BUCKETS_MAX];
    uint16_t upper[PERCENTILE_BUCKETS_MAX];  /* upper half of the keys of each bucket */
    uint8_t bucket_of[VALUE_COUNTS_KEYS_16]; /* for each upper half: 1 + its bucket, or 0 */
};

/* These handle the partial results of a round (0 or 1): _begin overwrites one, _add adds n values
 * of `dtype`, _end completes it, and _merge adds `from` to `into`. `search` is the result of round
 * 0, and NULL in round 0. */
size_t ts_percentile_partial_bytes(int round, int n_percentiles);
void ts_percentile_begin(void *partial, int round, const struct percentile_search *search);
void ts_percentile_add(void *partial, int round, const struct percentile_search *search,
                       const void *data, enum ts_dtype dtype, size_t n);
void ts_percentile_end(void *partial, int round);
void ts_percentile_merge(void *into, const void *from, int round,
                         const struct percentile_search *search);
/* _locate finds, after round 0, the buckets that contain the ranks. _values computes, after round
 * 1, the percentiles, or NaN if there is no finite value. */
void ts_percentile_locate(struct percentile_search *search, const void *total,
                          const double *percents, int n_percentiles);
void ts_percentile_values(const struct percentile_search *search, const void *total,
                          enum ts_dtype dtype, double *values);

/* Returns the value of a key. The key of an 8- or 16-bit integer is its rank in the type; the key
 * of other types is the order key. */
double ts_percentile_key_value(uint32_t key, enum ts_dtype dtype);

/* ---- sort ------------------------------------------------------------------------------------ */

/* The result of sorting a slice: the keys at floor(h) and at the rank after it, for each
 * percentile. */
struct percentile_ends {
    uint64_t n; /* number of finite values */
    uint32_t keys[PERCENTILE_BUCKETS_MAX];
};

/* Sorts the n values of a slice. `keys` is scratch space for 2 * n keys. */
void ts_percentile_sort(struct percentile_ends *ends, uint32_t *keys, const void *data,
                        enum ts_dtype dtype, size_t n, const double *percents, int n_percentiles);
/* Computes the percentiles of the slice, NaN if it has no finite value. */
void ts_percentile_of_ends(const struct percentile_ends *ends, enum ts_dtype dtype,
                           const double *percents, int n_percentiles, double *values);

#endif
