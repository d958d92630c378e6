/* SPDX-License-Identifier: Apache-2.0
 *
 * Bins of equal width, as numpy.histogram defines them: edge(i) = low + i * ((high - low) / n) for
 * i < n, edge(n) = high, all in double; bin i holds edge(i) <= v < edge(i + 1), and the last bin
 * holds v == high as well. Values outside and NaN have slots of their own, so that nothing is
 * dropped: slot 0 counts values below, slots 1 to n are the bins, slot n + 1 counts values above,
 * and slot n + 2 counts NaN.
 */
#ifndef STAGES_COUNTING_BINS_H
#define STAGES_COUNTING_BINS_H

#include "stages/counting/value_counts.h"
#include "stages/engine/stage.h"
#include "stages/values/value_range.h"

enum { BINS_EXTRA_SLOTS = 3 };

struct bins {
    double low, high, step, per_value; /* per_value: 1 / step */
    int64_t n;
};

/* Makes n bins between low and high, low < high. */
void ts_bins_init(struct bins *bins, double low, double high, int64_t n);
/* Makes n bins from the smallest to the largest finite value, as numpy does without a range. The
 * range is [v - 1/2, v + 1/2] if v is the only value, and [0, 1] if there is none. */
void ts_bins_init_data(struct bins *bins, const struct value_range *range, int64_t n);

/* The counts of slots. The struct has no pointers, and zero bytes are an empty count once n_slots
 * is set. */
struct bin_counts {
    uint64_t n_slots, lane_pixels;
    uint64_t slots[]; /* the lanes follow */
};
/* Returns the bytes of the counts in n_bins bins. */
size_t ts_bin_counts_bytes(int64_t n_bins);
/* Makes this memory an empty count. */
void ts_bin_counts_init(struct bin_counts *counts, int64_t n_bins);
/* Writes the slots of n values, starting with value `first`. */
void ts_bins_find(int32_t *slots, const void *data, enum ts_dtype dtype, size_t first, size_t n,
                  const struct bins *bins);
/* Inits, adds and flushes, so that `counts` are those of these slices. */
void ts_bin_counts_of(struct bin_counts *counts, const struct bins *bins,
                      const struct ts_image *slices);
/* Adds `from` to `into`; both are flushed. */
void ts_bin_counts_merge(struct bin_counts *into, const struct bin_counts *from);

/* ---- by label: an image of integers of the same shape states to which of n histograms each value
 * belongs; labels are 0 to n - 1, and the values under any other label, negative ones included,
 * have a histogram of their own ---- */

/* The most counts in all, 4 GiB, because a device numbers them with 31 bits. A run's memory budget
 * may allow fewer. */
enum { LABEL_COUNTS_MOST = 1 << 29 };

/* counts[label * n_slots + slot], with the slots of bins; row n_labels counts values with any other
 * label. The struct has no pointers. */
struct label_counts {
    uint64_t n_labels, n_slots;
    uint64_t counts[];
};

/* Checks the labels by which a stage counts, for its resolve(): they must be integers of the
 * input's shape, and counts must be over the volume. `index` is the number of their reference;
 * `per_slice` is true if the chain asks for numbers of each slice. Without labels `n_labels` plays
 * no part. Errors: labels-of-float, labels-per-slice, reference-shape. */
enum ts_status ts_labels_check(const struct stage_context *context, int index, bool per_slice);
/* Returns the bytes of the counts in n_labels + 1 rows, which are at most LABEL_COUNTS_MOST
 * counts. */
size_t ts_label_counts_bytes(int64_t n_labels, int64_t n_bins);
/* Makes this memory an empty count. */
void ts_label_counts_init(struct label_counts *counts, int64_t n_labels, int64_t n_bins);
/* Adds n values and their labels. */
void ts_label_counts_add(struct label_counts *counts, const struct bins *bins, const void *data,
                         enum ts_dtype dtype, const void *labels, enum ts_dtype labels_dtype,
                         size_t n);
/* Writes the rows of n labels, starting with label `first`: the label itself, or n_labels if it is
 * not in [0, n_labels). */
void ts_label_rows(uint32_t *rows, const void *labels, enum ts_dtype dtype, size_t first, size_t n,
                   uint32_t n_labels);
/* Adds counts with the same numbers of labels and bins. */
void ts_label_counts_merge(struct label_counts *into, const struct label_counts *from);
/* Returns the slots of one row (row n_labels is that of other labels). */
static inline const uint64_t *ts_label_counts_row(const struct label_counts *counts, uint64_t row)
{
    return counts->counts + row * counts->n_slots;
}

#endif
