/* SPDX-License-Identifier: Apache-2.0
 *
 * This counts how often each value of an 8- or 16-bit integer image occurs. Histograms over any
 * bins, percentiles, moments and equalization tables follow from the 256 or 65,536 exact counts
 * without a second look at the image.
 *
 * A value's key is its rank in the type: key = value - lowest value of the type. The counts live in
 * one block of memory without pointers (a partial result of a reduction may be copied), and a block
 * of zero bytes is an empty count.
 */
#ifndef STAGES_COUNTING_VALUE_COUNTS_H
#define STAGES_COUNTING_VALUE_COUNTS_H

#include "core/image.h"

enum { VALUE_COUNTS_KEYS_8 = 256, VALUE_COUNTS_KEYS_16 = 65536 };
enum { VALUE_COUNTS_LEAST_LANES = 2 }; /* memory has room for this many lanes of all keys */

struct value_counts {
    uint64_t n;         /* number of pixels counted; 0: low, high and counts have no meaning */
    uint32_t low, high; /* keys of the lowest and the highest value seen; valid after a flush */
    uint32_t n_keys;    /* 256 or 65536 */
    uint32_t bias;      /* xor with it turns the bits of a value into its key */
    /* The open lanes: pixels in them, range of keys that they cover, lanes for each key (0: none is
     * open). */
    uint64_t lane_pixels;
    uint32_t lane_low, lane_high, lanes_per_key;
    uint32_t reserved[3];
    uint64_t counts[]; /* n_keys counts, valid only in [low, high]; the lanes follow */
};

/* Returns true for 8- and 16-bit integers, whose values are counted one by one. */
bool ts_value_counts_fit(enum ts_dtype dtype);
/* Return the number of keys of such a type, 256 or 65,536, and the bytes of its counts. */
uint32_t ts_value_counts_keys(enum ts_dtype dtype);
size_t ts_value_counts_bytes(enum ts_dtype dtype);
/* Makes this memory an empty count. */
void ts_value_counts_init(struct value_counts *counts, enum ts_dtype dtype);
/* Adds n values of the type given to init (or n u16 keys, if it was TS_U16). Flush before
 * reading. */
void ts_value_counts_add(struct value_counts *counts, const void *data, size_t n);
/* Adds the lanes to the counts. */
void ts_value_counts_flush(struct value_counts *counts);
/* Inits, adds and flushes, so that `counts` are those of these slices. */
void ts_value_counts_of(struct value_counts *counts, const struct ts_image *slices);
/* Adds `from` to `into`; both are flushed. */
void ts_value_counts_merge(struct value_counts *into, const struct value_counts *from);

#endif
