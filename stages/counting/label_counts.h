/* SPDX-License-Identifier: Apache-2.0
 *
 * This counts bins by label: an image of integers of the same shape states to which of n histograms each value belongs.
 * Labels are 0 to n - 1; the values under any other label, negative ones included, have a histogram of their own.
 */
#ifndef STAGES_COUNTING_LABEL_COUNTS_H
#define STAGES_COUNTING_LABEL_COUNTS_H

#include "stages/counting/bins.h"
#include "stages/engine/stage.h"

/* The most counts in all, 4 GiB, since a device numbers them in 31 bits. A run's memory budget may allow fewer. */
enum { LABEL_COUNTS_MOST = 1 << 29 };

/* counts[label * n_slots + slot], with the slots of bins.h; row n_labels counts the values that have another label.
 * There are no pointers within. */
struct label_counts {
    uint64_t n_labels, n_slots;
    uint64_t counts[];
};

/* Checks the labels that a stage counts by, for its resolve(): integers of the input's shape, over the volume. `index`
 * is that of their reference, and `per_slice` is true where the chain asks for numbers of each slice. Without labels
 * `n_labels` plays no part. Errors: labels-of-float, labels-per-slice, reference-shape. */
enum ts_status ts_labels_check(const struct stage_context *context, int index, bool per_slice);
/* Returns the bytes of the counts in n_labels + 1 rows, which are at most LABEL_COUNTS_MOST counts. */
size_t ts_label_counts_bytes(int64_t n_labels, int64_t n_bins);
/* Makes this memory an empty count. */
void ts_label_counts_init(struct label_counts *counts, int64_t n_labels, int64_t n_bins);
/* Adds n values and their labels. */
void ts_label_counts_add(struct label_counts *counts, const struct bins *bins, const void *data, enum ts_dtype dtype,
                         const void *labels, enum ts_dtype labels_dtype, size_t n);
/* Writes the rows of n labels from `first` on: the label, or n_labels for any that is not in [0, n_labels). */
void ts_label_rows(uint32_t *rows, const void *labels, enum ts_dtype dtype, size_t first, size_t n, uint32_t n_labels);
/* Adds counts of as many labels and bins. */
void ts_label_counts_merge(struct label_counts *into, const struct label_counts *from);
/* Returns the slots of one row (row n_labels is that of other labels). */
const uint64_t *ts_label_counts_row(const struct label_counts *counts, uint64_t row);

#endif
