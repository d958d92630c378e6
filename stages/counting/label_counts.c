/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting by label: the slots of a block of values are found first, then its rows, then both are counted.
 */
#include "stages/counting/label_counts.h"

#include <string.h>

enum { BLOCK = 2048 };

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
                              "labels are integers, and these values are %s", ts_dtype_name(labels->dtype));
    if (per_slice) {
        ts_param_error(context->set, "labels", "labels-per-slice", context->diag, "count over the whole volume");
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

/* A negative label is larger than any other once it is unsigned. */
#define FIND_ROWS(suffix, type)                                                                                        \
    TS_VECTORIZED static void find_rows_##suffix(uint32_t *rows, const void *values, size_t first, size_t n,           \
                                                 uint32_t n_labels)                                                    \
    {                                                                                                                  \
        const type *const labels = (const type *)values + first;                                                       \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const uint32_t row = (uint32_t)labels[i];                                                                  \
            rows[i] = row < n_labels ? row : n_labels;                                                                 \
        }                                                                                                              \
    }
TS_IMAGE_DTYPES(FIND_ROWS)

void ts_label_rows(uint32_t *rows, const void *labels, enum ts_dtype dtype, size_t first, size_t n, uint32_t n_labels)
{
#define ENTRY(suffix, type) [TS_##suffix] = find_rows_##suffix,
    static void (*const finders[])(uint32_t *, const void *, size_t, size_t, uint32_t) = {TS_IMAGE_DTYPES(ENTRY)};
#undef ENTRY
    finders[dtype](rows, labels, first, n, n_labels);
}

void ts_label_counts_add(struct label_counts *counts, const struct bins *bins, const void *data, enum ts_dtype dtype,
                         const void *labels, enum ts_dtype labels_dtype, size_t n)
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

const uint64_t *ts_label_counts_row(const struct label_counts *counts, uint64_t row)
{
    return counts->counts + row * counts->n_slots;
}
