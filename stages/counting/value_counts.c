/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact counts of the values of 8- and 16-bit images, at about one pixel a cycle.
 *
 * An increment right after one of the same counter must wait for it (a store forwarded to a load, 4
 * to 7 cycles). Neighboring pixels are often equal, so neighbors count in different lanes:
 * counter[key][pixel mod lanes]. There are eight lanes if the block of pixels spans few values. If
 * it spans many, the cache is the limit, and there are two lanes if equal neighbors are common in a
 * sample of the block, else one. Lanes are 32 bits wide and are added to the 64-bit counts before
 * they can overflow.
 */
#include "stages/counting/value_counts.h"

#include <string.h>

enum {
    BLOCK_PIXELS = 1 << 16, /* a block is read twice (range, then counts), so it should stay in the
                             * cache */
    NARROW_KEYS = 4096,     /* 8 lanes of this many keys take 128 KiB */
    NARROW_LANES = 8,
    WIDE_LANES = VALUE_COUNTS_LEAST_LANES,
    SAMPLE_PIXELS = 2048,
    COMMON_REPEATS = SAMPLE_PIXELS / 16
};
static const uint64_t lane_pixels_limit = UINT64_C(1) << 31;

bool ts_value_counts_fit(enum ts_dtype dtype)
{
    return dtype == TS_U8 || dtype == TS_I8 || dtype == TS_U16 || dtype == TS_I16;
}

uint32_t ts_value_counts_keys(enum ts_dtype dtype)
{
    return dtype == TS_U8 || dtype == TS_I8 ? VALUE_COUNTS_KEYS_8 : VALUE_COUNTS_KEYS_16;
}

static size_t lane_count(uint32_t n_keys)
{
    return n_keys == VALUE_COUNTS_KEYS_8 ? (size_t)n_keys * NARROW_LANES
                                         : (size_t)n_keys * WIDE_LANES;
}

size_t ts_value_counts_bytes(enum ts_dtype dtype)
{
    uint32_t n_keys = ts_value_counts_keys(dtype);
    return sizeof(struct value_counts) + n_keys * sizeof(uint64_t) +
           lane_count(n_keys) * sizeof(uint32_t);
}

void ts_value_counts_init(struct value_counts *counts, enum ts_dtype dtype)
{
    memset(counts, 0, sizeof *counts);
    counts->n_keys = ts_value_counts_keys(dtype);
    counts->bias = ts_dtype_sign_bit(dtype);
}

/* Makes [low, high] part of the valid range. */
static void value_counts_widen(struct value_counts *counts, uint32_t low, uint32_t high)
{
    if (counts->n == 0) {
        memset(counts->counts + low, 0, (high - low + 1) * sizeof *counts->counts);
        counts->low = low;
        counts->high = high;
        return;
    }
    if (low < counts->low) {
        memset(counts->counts + low, 0, (counts->low - low) * sizeof *counts->counts);
        counts->low = low;
    }
    if (high > counts->high) {
        memset(counts->counts + counts->high + 1, 0,
               (high - counts->high) * sizeof *counts->counts);
        counts->high = high;
    }
}

/* Adds the lanes to n counts; if the counts hold nothing yet, they are written without being read.
 * A copy is compiled for each number of lanes. */
static inline __attribute__((always_inline)) void fold(uint64_t *counts, const uint32_t *lanes,
                                                       size_t n, bool add, size_t n_lanes)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t sum = add ? counts[i] : 0;
        for (size_t lane = 0; lane < n_lanes; lane++)
            sum += lanes[n_lanes * i + lane];
        counts[i] = sum;
    }
}

TS_VECTORIZED static void fold_lanes(uint64_t *counts, const uint32_t *lanes, size_t n, bool add,
                                     uint32_t n_lanes)
{
    if (n_lanes == NARROW_LANES)
        fold(counts, lanes, n, add, NARROW_LANES);
    else if (n_lanes == WIDE_LANES)
        fold(counts, lanes, n, add, WIDE_LANES);
    else
        fold(counts, lanes, n, add, 1);
}

void ts_value_counts_flush(struct value_counts *counts)
{
    if (counts->lane_pixels) {
        const uint32_t *lanes = (const uint32_t *)(counts->counts + counts->n_keys),
                       low = counts->lane_low;
        const size_t n = counts->lane_high - low + 1;
        const bool add = counts->n > 0;
        if (add) {
            value_counts_widen(counts, low, counts->lane_high);
        } else {
            counts->low = low;
            counts->high = counts->lane_high;
        }
        fold_lanes(counts->counts + low, lanes, n, add, counts->lanes_per_key);
        counts->n += counts->lane_pixels;
        /* The lanes may have been opened for a wider range than the values that came. */
        while (counts->counts[counts->low] == 0)
            counts->low++;
        while (counts->counts[counts->high] == 0)
            counts->high--;
    }
    counts->lane_pixels = 0;
    counts->lanes_per_key = 0;
}

static void open_lanes(struct value_counts *counts, uint32_t low, uint32_t high,
                       uint32_t wide_lanes)
{
    if (counts->lanes_per_key) {
        low = low < counts->lane_low ? low : counts->lane_low;
        high = high > counts->lane_high ? high : counts->lane_high;
        ts_value_counts_flush(counts);
    }
    /* The margin keeps a slightly wider next block from opening the lanes again. */
    const uint32_t span = high - low, margin = span / 8, last = counts->n_keys - 1;
    low = low > margin ? low - margin : 0;
    high = last - high > margin ? high + margin : last;
    counts->lane_low = low;
    counts->lane_high = high;
    counts->lanes_per_key = high - low < NARROW_KEYS ? NARROW_LANES : wide_lanes;
    uint32_t *lanes = (uint32_t *)(counts->counts + counts->n_keys);
    memset(lanes, 0, (size_t)(high - low + 1) * counts->lanes_per_key * sizeof *lanes);
}

/* Counts equal neighbors at distance one and two in the middle of the block. */
TS_VECTORIZED static uint32_t count_repeats(const uint16_t *data, size_t n)
{
    const size_t sample = n < SAMPLE_PIXELS ? n : SAMPLE_PIXELS, first = (n - sample) / 2;
    uint32_t repeats = 0;
    for (size_t i = first; i + 2 < first + sample; i++)
        repeats += (data[i] == data[i + 1]) + (data[i] == data[i + 2]);
    return repeats;
}

TS_VECTORIZED static void key_range(const uint16_t *data, size_t n, uint16_t bias, uint32_t *low,
                                    uint32_t *high)
{
    uint16_t smallest = UINT16_MAX, largest = 0;
    for (size_t i = 0; i < n; i++) {
        uint16_t key = data[i] ^ bias;
        smallest = key < smallest ? key : smallest;
        largest = key > largest ? key : largest;
    }
    *low = smallest;
    *high = largest;
}

/* A word holds four keys; FOUR times a key repeats it in all of them. Every key is at least
 * `first`, so subtracting it from all four at once never borrows. */
#define FOUR UINT64_C(0x0001000100010001)

/* Counts n keys; neighbors go to different lanes. A copy is compiled for each number of lanes, and
 * unrolled. */
static inline __attribute__((always_inline)) void count_keys(uint32_t *lanes, uint32_t first,
                                                             const uint16_t *data, size_t n,
                                                             uint16_t bias, size_t n_lanes)
{
    const uint64_t bias4 = bias * FOUR, first4 = first * FOUR;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t words[2];
        memcpy(words, data + i, sizeof words);
        words[0] = (words[0] ^ bias4) - first4;
        words[1] = (words[1] ^ bias4) - first4;
#pragma GCC unroll 8
        for (size_t k = 0; k < 8; k++)
            lanes[(words[k / 4] >> 16 * (k % 4) & 0xFFFF) * n_lanes + k % n_lanes]++;
    }
    for (; i < n; i++)
        lanes[((size_t)(uint16_t)(data[i] ^ bias) - first) * n_lanes]++;
}

static void count_words(uint32_t *lanes, uint32_t first, const uint16_t *data, size_t n,
                        uint16_t bias, uint32_t n_lanes)
{
    if (n_lanes == NARROW_LANES)
        count_keys(lanes, first, data, n, bias, NARROW_LANES);
    else if (n_lanes == WIDE_LANES)
        count_keys(lanes, first, data, n, bias, WIDE_LANES);
    else
        count_keys(lanes, first, data, n, bias, 1);
}

static void count_bytes(uint32_t *lanes, const uint8_t *data, size_t n, uint8_t bias)
{
    uint64_t bias8 = bias * UINT64_C(0x0101010101010101);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t word;
        memcpy(&word, data + i, sizeof word);
        word ^= bias8;
#pragma GCC unroll 8
        for (size_t k = 0; k < NARROW_LANES; k++)
            lanes[(word >> 8 * k & 0xFF) * NARROW_LANES + k]++;
    }
    for (; i < n; i++)
        lanes[(size_t)(uint8_t)(data[i] ^ bias) * NARROW_LANES]++;
}

static void add_block(struct value_counts *counts, const void *data, size_t n)
{
    uint32_t low = 0, high = counts->n_keys - 1, wide_lanes = WIDE_LANES;
    const bool bytes = counts->n_keys == VALUE_COUNTS_KEYS_8;
    const bool covered =
        counts->lanes_per_key && counts->lane_low == low && counts->lane_high == high;
    if (!bytes && !covered)
        key_range(data, n, (uint16_t)counts->bias, &low, &high);
    if (!bytes)
        wide_lanes = count_repeats(data, n) > COMMON_REPEATS ? WIDE_LANES : 1;
    if (counts->lanes_per_key < wide_lanes || low < counts->lane_low || high > counts->lane_high ||
        counts->lane_pixels > lane_pixels_limit)
        open_lanes(counts, low, high, wide_lanes);
    uint32_t *lanes = (uint32_t *)(counts->counts + counts->n_keys);
    if (bytes)
        count_bytes(lanes, data, n, (uint8_t)counts->bias);
    else
        count_words(lanes, counts->lane_low, data, n, (uint16_t)counts->bias,
                    counts->lanes_per_key);
    counts->lane_pixels += n;
}

void ts_value_counts_add(struct value_counts *counts, const void *data, size_t n)
{
    size_t size = counts->n_keys == VALUE_COUNTS_KEYS_8 ? 1 : 2;
    for (size_t done = 0; done < n; done += BLOCK_PIXELS) {
        size_t block = n - done < BLOCK_PIXELS ? n - done : BLOCK_PIXELS;
        add_block(counts, (const char *)data + done * size, block);
    }
}

void ts_value_counts_of(struct value_counts *counts, const struct ts_image *slices)
{
    ts_value_counts_init(counts, slices->dtype);
    ts_value_counts_add(counts, slices->data, ts_image_count(slices));
    ts_value_counts_flush(counts);
}

void ts_value_counts_merge(struct value_counts *into, const struct value_counts *from)
{
    if (from->n == 0)
        return;
    if (into->n == 0) {
        into->n_keys = from->n_keys;
        into->bias = from->bias;
    }
    value_counts_widen(into, from->low, from->high);
    for (size_t key = from->low; key <= from->high; key++)
        into->counts[key] += from->counts[key];
    into->n += from->n;
}
