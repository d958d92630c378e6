/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting in bins of equal width. A multiplication guesses the bin, and comparing with its two
 * edges corrects the guess, so that only the edges decide (as in numpy).
 */
#include "stages/counting/bins.h"

#include <string.h>

enum { LANES = 4, BLOCK = 2048 };
static const uint64_t lane_pixels_limit = UINT64_C(1) << 31;

void ts_bins_init(struct bins *bins, double low, double high, int64_t n)
{
    const double step = (high - low) / (double)n;
    *bins = (struct bins){
        .low = low, .high = high, .step = step, .per_value = (double)n / (high - low), .n = n};
}

void ts_bins_init_data(struct bins *bins, const struct value_range *range, int64_t n)
{
    if (range->n_finite == 0)
        ts_bins_init(bins, 0, 1, n);
    else if (range->low == range->high)
        ts_bins_init(bins, range->low - 0.5, range->high + 0.5, n);
    else
        ts_bins_init(bins, range->low, range->high, n);
}

/* ---- one by one values ----------------------------------------------------------------------- */

static size_t slots_bytes(uint64_t n_slots)
{
    return n_slots * sizeof(uint64_t);
}

size_t ts_bin_counts_bytes(int64_t n_bins)
{
    const size_t n_slots = (size_t)n_bins + BINS_EXTRA_SLOTS;
    return sizeof(struct bin_counts) + slots_bytes(n_slots) + n_slots * LANES * sizeof(uint32_t);
}

void ts_bin_counts_init(struct bin_counts *counts, int64_t n_bins)
{
    counts->n_slots = (uint64_t)n_bins + BINS_EXTRA_SLOTS;
    counts->lane_pixels = 0;
    memset(counts->slots, 0, ts_bin_counts_bytes(n_bins) - sizeof *counts);
}

#define FIND_SLOTS(suffix, type)                                                                   \
    TS_VECTORIZED static void find_slots_##suffix(int32_t *slots, const void *values,              \
                                                  size_t first, size_t n, const struct bins *bins) \
    {                                                                                              \
        const type *const data = (const type *)values + first;                                     \
        const double low = bins->low, high = bins->high, step = bins->step,                        \
                     per_value = bins->per_value;                                                  \
        const double last = (double)(bins->n - 1);                                                 \
        const int32_t n_bins = (int32_t)bins->n;                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            const double value = (double)data[i], guess = (value - low) * per_value;               \
            const double positive = guess > 0 ? guess : 0,                                         \
                         inside = positive < last ? positive : last;                               \
            const int32_t bin = (int32_t)inside;                                                   \
            const int32_t down = value < low + (double)bin * step,                                 \
                          up = value >= low + (double)(bin + 1) * step;                            \
            const int32_t mended = bin - down + up + 1, slot = mended < n_bins ? mended : n_bins;  \
            /* Masks in place of branches, which would not vectorize. */                           \
            const int32_t within = -(int32_t)(value >= low) & -(int32_t)(value <= high);           \
            const int32_t above = -(int32_t)(value > high), none = -(int32_t)(value != value);     \
            slots[i] = (slot & within) | ((n_bins + 1) & above) | ((n_bins + 2) & none);           \
        }                                                                                          \
    }
TS_IMAGE_DTYPES(FIND_SLOTS)

void ts_bins_find(int32_t *slots, const void *data, enum ts_dtype dtype, size_t first, size_t n,
                  const struct bins *bins)
{
#define ENTRY(suffix, type) [TS_##suffix] = find_slots_##suffix,
    static void (*const finders[])(int32_t *, const void *, size_t, size_t,
                                   const struct bins *) = {TS_IMAGE_DTYPES(ENTRY)};
#undef ENTRY
    finders[dtype](slots, data, first, n, bins);
}

/* Adds the lanes to the slots. Call it before reading and merging. */
static void bin_counts_flush(struct bin_counts *counts)
{
    uint32_t *lanes = (uint32_t *)(counts->slots + counts->n_slots);
    if (counts->lane_pixels == 0)
        return;
    for (size_t slot = 0; slot < counts->n_slots; slot++)
        for (size_t lane = 0; lane < LANES; lane++)
            counts->slots[slot] += lanes[slot * LANES + lane];
    memset(lanes, 0, counts->n_slots * LANES * sizeof *lanes);
    counts->lane_pixels = 0;
}

/* Adds n values of an image's dtype. Flush before reading. */
static void bin_counts_add(struct bin_counts *counts, const struct bins *bins, const void *data,
                           enum ts_dtype dtype, size_t n)
{
    uint32_t *lanes = (uint32_t *)(counts->slots + counts->n_slots);
    int32_t slots[BLOCK];
    for (size_t done = 0; done < n; done += BLOCK) {
        const size_t block = n - done < BLOCK ? n - done : BLOCK;
        ts_bins_find(slots, data, dtype, done, block, bins);
        size_t i = 0;
        for (; i + LANES <= block; i += LANES)
            for (size_t lane = 0; lane < LANES; lane++)
                lanes[(size_t)slots[i + lane] * LANES + lane]++;
        for (; i < block; i++)
            lanes[(size_t)slots[i] * LANES]++;
        counts->lane_pixels += block;
        if (counts->lane_pixels > lane_pixels_limit)
            bin_counts_flush(counts);
    }
}

void ts_bin_counts_of(struct bin_counts *counts, const struct bins *bins,
                      const struct ts_image *slices)
{
    ts_bin_counts_init(counts, bins->n);
    bin_counts_add(counts, bins, slices->data, slices->dtype, ts_image_count(slices));
    bin_counts_flush(counts);
}

void ts_bin_counts_merge(struct bin_counts *into, const struct bin_counts *from)
{
    for (size_t slot = 0; slot < from->n_slots; slot++)
        into->slots[slot] += from->slots[slot];
}

/* ---- by label: the slots of a block of values are found first, then its rows, then both are
 * counted ---- */

static size_t count_of(int64_t n_labels, int64_t n_bins)
{
    return ((size_t)n_labels + 1) * ((size_t)n_bins + BINS_EXTRA_SLOTS);
}

enum ts_status ts_labels_check(const struct stage_context *context, int index, bool per_slice)
{
    const struct ts_image *labels = context->references[index];
    if (!labels) {
        ts_param_idle(context->set, "n_labels");
        return TS_OK;
    }
    if (!ts_dtype_is_integer(labels->dtype))
        return ts_param_error(context->set, "labels", "labels-of-float", context->diag,
                              "labels are integers, and these values are %s",
                              ts_dtype_name(labels->dtype));
    if (per_slice) {
        ts_param_error(context->set, "labels", "labels-per-slice", context->diag,
                       "count over the whole volume");
        return ts_diag_hint(context->diag, "use scope: volume");
    }
    return ts_stage_same_shape(context, index);
}

size_t ts_label_counts_bytes(int64_t n_labels, int64_t n_bins)
{
    return sizeof(struct label_counts) + count_of(n_labels, n_bins) * sizeof(uint64_t);
}

void ts_label_counts_init(struct label_counts *counts, int64_t n_labels, int64_t n_bins)
{
    counts->n_labels = (uint64_t)n_labels;
    counts->n_slots = (uint64_t)n_bins + BINS_EXTRA_SLOTS;
    memset(counts->counts, 0, count_of(n_labels, n_bins) * sizeof *counts->counts);
}

/* A negative label becomes a large unsigned number. */
#define FIND_ROWS(suffix, type)                                                                    \
    TS_VECTORIZED static void find_rows_##suffix(uint32_t *rows, const void *values, size_t first, \
                                                 size_t n, uint32_t n_labels)                      \
    {                                                                                              \
        const type *const labels = (const type *)values + first;                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            const uint32_t row = (uint32_t)labels[i];                                              \
            rows[i] = row < n_labels ? row : n_labels;                                             \
        }                                                                                          \
    }
TS_IMAGE_DTYPES(FIND_ROWS)

void ts_label_rows(uint32_t *rows, const void *labels, enum ts_dtype dtype, size_t first, size_t n,
                   uint32_t n_labels)
{
#define ENTRY(suffix, type) [TS_##suffix] = find_rows_##suffix,
    static void (*const finders[])(uint32_t *, const void *, size_t, size_t,
                                   uint32_t) = {TS_IMAGE_DTYPES(ENTRY)};
#undef ENTRY
    finders[dtype](rows, labels, first, n, n_labels);
}

void ts_label_counts_add(struct label_counts *counts, const struct bins *bins, const void *data,
                         enum ts_dtype dtype, const void *labels, enum ts_dtype labels_dtype,
                         size_t n)
{
    int32_t slots[BLOCK];
    uint32_t rows[BLOCK];
    for (size_t done = 0; done < n; done += BLOCK) {
        const size_t block = n - done < BLOCK ? n - done : BLOCK;
        ts_bins_find(slots, data, dtype, done, block, bins);
        ts_label_rows(rows, labels, labels_dtype, done, block, (uint32_t)counts->n_labels);
        for (size_t i = 0; i < block; i++)
            counts->counts[rows[i] * counts->n_slots + (uint64_t)slots[i]]++;
    }
}

void ts_label_counts_merge(struct label_counts *into, const struct label_counts *from)
{
    const size_t n = (size_t)((from->n_labels + 1) * from->n_slots);
    for (size_t i = 0; i < n; i++)
        into->counts[i] += from->counts[i];
}
