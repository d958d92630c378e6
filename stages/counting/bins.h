/* SPDX-License-Identifier: Apache-2.0
 *
 * Bins of equal width, as numpy.histogram defines them: edge(i) = low + i * ((high - low) / n) for i < n, edge(n) =
 * high, all in double; bin i holds edge(i) <= v < edge(i + 1), and the last bin holds v == high as well. Values outside
 * and NaN have slots of their own, so that nothing is dropped: slot 0 counts values below, slots 1 to n are the bins,
 * slot n + 1 counts values above, and slot n + 2 counts NaN.
 */
#ifndef STAGES_COUNTING_BINS_H
#define STAGES_COUNTING_BINS_H

#include "stages/counting/value_counts.h"
#include "stages/values/value_range.h"

enum { BINS_EXTRA_SLOTS = 3 };

struct bins {
    double low, high, step, per_value; /* per_value: 1 / step */
    int64_t n;
};

/* Makes n bins between low and high, low < high. */
void ts_bins_init(struct bins *bins, double low, double high, int64_t n);
/* Makes n bins from the smallest to the largest finite value, as numpy does without a range. They reach from v - 1/2 to
 * v + 1/2 where v is the only value, and over [0, 1] where there is none. */
void ts_bins_init_data(struct bins *bins, const struct value_range *range, int64_t n);
/* Returns the smallest and the largest value that were counted. */
struct value_range ts_value_counts_range(const struct value_counts *counts, enum ts_dtype dtype);
/* Returns false where two edges are the same double. */
bool ts_bins_distinct(const struct bins *bins);
/* Writes all n + 1 edges. */
void ts_bins_edges(const struct bins *bins, double *edges);

/* The counts of slots. There are no pointers within, and zero bytes are an empty count once n_slots is set. */
struct bin_counts {
    uint64_t n_slots, lane_pixels;
    uint64_t slots[]; /* the lanes follow */
};
/* Returns the bytes of the counts in n_bins bins. */
size_t ts_bin_counts_bytes(int64_t n_bins);
/* Makes this memory an empty count. */
void ts_bin_counts_init(struct bin_counts *counts, int64_t n_bins);
/* Writes the slots of n values from `first` on. */
void ts_bins_find(int32_t *slots, const void *data, enum ts_dtype dtype, size_t first, size_t n,
                  const struct bins *bins);
/* Inits, adds and flushes, so that `counts` are those of these slices. */
void ts_bin_counts_of(struct bin_counts *counts, const struct bins *bins, const struct ts_image *slices);
/* Adds `from` to `into`; both are flushed. */
void ts_bin_counts_merge(struct bin_counts *into, const struct bin_counts *from);

/* Makes in_bins[bins->n] and `outside` (below, above, NaN) from flushed counts of single values, by integer
 * arithmetic. */
void ts_bins_fold(const struct bins *bins, const struct value_counts *counts, enum ts_dtype dtype, uint64_t *in_bins,
                  uint64_t outside[BINS_EXTRA_SLOTS]);
/* Splits slots in the same way. */
void ts_bins_split(const struct bin_counts *counts, uint64_t *in_bins, uint64_t outside[BINS_EXTRA_SLOTS]);

#endif
