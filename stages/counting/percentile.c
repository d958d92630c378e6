/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds order statistics by counting: first the upper halves of the keys are counted, then the
 * lower halves in the buckets (upper halves) that contain the ranks. Counting moves no value, and
 * its counts merge exactly in any grouping. Single slices may be sorted instead.
 */
#include "stages/counting/percentile.h"

#include <math.h>
#include <string.h>

#include "stages/values/radix_sort.h"

const struct choice ts_percentile_choices[] = {
    {"auto", PERCENTILE_AUTO, "the faster one, histogram", 0},
    {"histogram", PERCENTILE_HISTOGRAM,
     "counts the upper, then the lower halves of the values' order keys", 0},
    {"sort", PERCENTILE_SORT,
     "radix sort; takes `scope: slice`, and 8 bytes of memory a value of a slice", 0},
    {NULL, 0, NULL, 0},
};

enum { BLOCK = 4096 };
#define BUCKET_BYTES ((size_t)VALUE_COUNTS_KEYS_16 * sizeof(uint64_t))

uint64_t ts_percentile_rank(uint64_t n, double percent, double *fraction)
{
    const double at = (double)(n - 1) * (percent / 100);
    const double whole = floor(at);
    *fraction = at - whole;
    return (uint64_t)whole < n - 1 ? (uint64_t)whole : n - 1;
}

/* Interpolates as numpy does, exactly at both ends. */
double ts_percentile_between(double a, double b, double fraction)
{
    return fraction >= 0.5 ? b - (b - a) * (1 - fraction) : a + (b - a) * fraction;
}

/* Returns the key of the value at a rank below the total of the counts; *rank becomes the rank
 * within that key. */
static uint32_t key_at(const uint64_t *counts, uint32_t low, uint32_t high, uint64_t *rank)
{
    uint32_t key = low;
    while (key < high && counts[key] <= *rank)
        *rank -= counts[key++];
    return key;
}

double ts_percentile_of_counts(const struct value_counts *counts, enum ts_dtype dtype,
                               double percent)
{
    double lowest, highest, fraction;
    ts_dtype_range(dtype, &lowest, &highest);
    if (counts->n == 0)
        return (double)NAN;
    uint64_t rank = ts_percentile_rank(counts->n, percent, &fraction),
             next = rank + 1 < counts->n ? rank + 1 : rank;
    const double a = lowest + key_at(counts->counts, counts->low, counts->high, &rank);
    const double b = lowest + key_at(counts->counts, counts->low, counts->high, &next);
    return ts_percentile_between(a, b, fraction);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Flips all bits of a negative float, and only the sign bit of others, which gives unsigned
 * integers of the same order. */
TS_VECTORIZED static void float_keys(uint32_t *keys, const uint32_t *bits, size_t n)
{
    for (size_t i = 0; i < n; i++)
        keys[i] = bits[i] ^ ((uint32_t)((int32_t)bits[i] >> 31) | 0x80000000u);
}

TS_VECTORIZED static void biased_keys(uint32_t *keys, const uint32_t *bits, size_t n, uint32_t bias)
{
    for (size_t i = 0; i < n; i++)
        keys[i] = bits[i] ^ bias;
}

/* Writes the keys of the finite values among n, and returns how many there are. */
static size_t keys_of(uint32_t *keys, const void *data, enum ts_dtype dtype, size_t first, size_t n)
{
    const uint32_t *bits = (const uint32_t *)data + first;
    if (dtype != TS_F32) {
        biased_keys(keys, bits, n, dtype == TS_I32 ? 0x80000000u : 0);
        return n;
    }
    float_keys(keys, bits, n);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        keys[kept] = keys[i];
        kept += (bits[i] & 0x7F800000u) != 0x7F800000u;
    }
    return kept;
}

double ts_percentile_key_value(uint32_t key, enum ts_dtype dtype)
{
    double low, high;
    if (ts_value_counts_fit(dtype)) {
        ts_dtype_range(dtype, &low, &high);
        return low + key;
    }
    if (dtype != TS_F32)
        return dtype == TS_I32 ? (double)(int32_t)(key ^ 0x80000000u) : (double)key;
    const uint32_t bits = key ^ (key >> 31 ? 0x80000000u : 0xFFFFFFFFu);
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* ---- two rounds ------------------------------------------------------------------------------ */

size_t ts_percentile_partial_bytes(int round, int n_percentiles)
{
    return round == 0 ? ts_value_counts_bytes(TS_U16) : 2 * (size_t)n_percentiles * BUCKET_BYTES;
}

void ts_percentile_begin(void *partial, int round, const struct percentile_search *search)
{
    if (round == 0)
        ts_value_counts_init(partial, TS_U16);
    else
        memset(partial, 0, (size_t)search->n_buckets * BUCKET_BYTES);
}

void ts_percentile_add(void *partial, int round, const struct percentile_search *search,
                       const void *data, enum ts_dtype dtype, size_t n)
{
    uint32_t keys[BLOCK];
    uint16_t upper[BLOCK];
    uint64_t *buckets = partial;
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t count =
            keys_of(keys, data, dtype, first, n - first < BLOCK ? n - first : BLOCK);
        if (round == 0) {
            for (size_t i = 0; i < count; i++)
                upper[i] = (uint16_t)(keys[i] >> 16);
            ts_value_counts_add(partial, upper, count);
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            const size_t bucket = search->bucket_of[keys[i] >> 16];
            if (bucket)
                buckets[(bucket - 1) * VALUE_COUNTS_KEYS_16 + (keys[i] & 0xFFFF)]++;
        }
    }
}

void ts_percentile_end(void *partial, int round)
{
    if (round == 0)
        ts_value_counts_flush(partial);
}

void ts_percentile_merge(void *into, const void *from, int round,
                         const struct percentile_search *search)
{
    if (round == 0) {
        ts_value_counts_merge(into, from);
        return;
    }
    uint64_t *sums = into;
    const uint64_t *counts = from;
    for (size_t i = 0; i < (size_t)search->n_buckets * VALUE_COUNTS_KEYS_16; i++)
        sums[i] += counts[i];
}

static void locate_rank(struct percentile_search *search, const struct value_counts *counts, int i,
                        uint64_t rank)
{
    const uint32_t upper = key_at(counts->counts, counts->low, counts->high, &rank);
    if (search->bucket_of[upper] == 0) {
        search->upper[search->n_buckets] = (uint16_t)upper;
        search->bucket_of[upper] = (uint8_t)++search->n_buckets;
    }
    search->bucket[i] = search->bucket_of[upper] - 1;
    search->rank[i] = rank;
}

void ts_percentile_locate(struct percentile_search *search, const void *total,
                          const double *percents, int n_percentiles)
{
    const struct value_counts *counts = total;
    memset(search, 0, sizeof *search);
    search->n_percentiles = n_percentiles;
    for (int i = 0; i < n_percentiles && counts->n > 0; i++) {
        const uint64_t rank = ts_percentile_rank(counts->n, percents[i], &search->fraction[i]);
        locate_rank(search, counts, 2 * i, rank);
        locate_rank(search, counts, 2 * i + 1, rank + 1 < counts->n ? rank + 1 : rank);
    }
}

void ts_percentile_values(const struct percentile_search *search, const void *total,
                          enum ts_dtype dtype, double *values)
{
    for (int i = 0; i < search->n_percentiles; i++) {
        double ends[2];
        if (search->n_buckets == 0) {
            values[i] = (double)NAN;
            continue;
        }
        for (int side = 0; side < 2; side++) {
            const int bucket = search->bucket[2 * i + side];
            const uint64_t *counts =
                (const uint64_t *)total + (size_t)bucket * VALUE_COUNTS_KEYS_16;
            uint64_t rank = search->rank[2 * i + side];
            const uint32_t lower = key_at(counts, 0, VALUE_COUNTS_KEYS_16 - 1, &rank);
            ends[side] =
                ts_percentile_key_value((uint32_t)search->upper[bucket] << 16 | lower, dtype);
        }
        values[i] = ts_percentile_between(ends[0], ends[1], search->fraction[i]);
    }
}

/* ---- sort ------------------------------------------------------------------------------------ */

void ts_percentile_sort(struct percentile_ends *ends, uint32_t *keys, const void *data,
                        enum ts_dtype dtype, size_t n, const double *percents, int n_percentiles)
{
    uint64_t finite = 0;
    for (size_t first = 0; first < n; first += BLOCK)
        finite += keys_of(keys + finite, data, dtype, first, n - first < BLOCK ? n - first : BLOCK);
    ts_radix_sort(keys, keys + n, finite);
    ends->n = finite;
    for (int i = 0; i < n_percentiles && finite > 0; i++) {
        double fraction;
        const uint64_t rank = ts_percentile_rank(finite, percents[i], &fraction);
        ends->keys[2 * i] = keys[rank];
        ends->keys[2 * i + 1] = keys[rank + 1 < finite ? rank + 1 : rank];
    }
}

void ts_percentile_of_ends(const struct percentile_ends *ends, enum ts_dtype dtype,
                           const double *percents, int n_percentiles, double *values)
{
    for (int i = 0; i < n_percentiles; i++) {
        double fraction;
        values[i] = (double)NAN;
        if (ends->n == 0)
            continue;
        ts_percentile_rank(ends->n, percents[i], &fraction);
        values[i] =
            ts_percentile_between(ts_percentile_key_value(ends->keys[2 * i], dtype),
                                  ts_percentile_key_value(ends->keys[2 * i + 1], dtype), fraction);
    }
}
