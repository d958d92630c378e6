/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting in bins of equal width. The bin is first guessed by a multiplication and then put right by comparing with
 * the two edges, so that the edges alone decide (numpy does the same).
 */
#include "stages/counting/bins.h"

#include <math.h>
#include <string.h>

enum { LANES = 4, BLOCK = 2048 };
static const uint64_t lane_pixels_limit = UINT64_C(1) << 31;

void ts_bins_init(struct bins *bins, double low, double high, int64_t n)
{
    const double step = (high - low) / (double)n;
    *bins = (struct bins){.low = low, .high = high, .step = step, .per_value = (double)n / (high - low), .n = n};
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

struct value_range ts_value_counts_range(const struct value_counts *counts, enum ts_dtype dtype)
{
    double lowest, highest;
    ts_dtype_range(dtype, &lowest, &highest);
    return (struct value_range){
        .n_finite = counts->n, .low = lowest + (double)counts->low, .high = lowest + (double)counts->high};
}

bool ts_bins_distinct(const struct bins *bins)
{
    const double largest = fmax(fabs(bins->low), fabs(bins->high));
    return bins->step > 0x1p-48 * largest && isfinite(bins->step) && isfinite(bins->per_value);
}

static double edge_of(const struct bins *bins, int64_t i)
{
    return i == bins->n ? bins->high : bins->low + (double)i * bins->step;
}

TS_VECTORIZED static void fill_edges(double *edges, int32_t n, double low, double step)
{
    for (int32_t i = 0; i < n; i++)
        edges[i] = low + (double)i * step;
}

void ts_bins_edges(const struct bins *bins, double *edges)
{
    fill_edges(edges, (int32_t)bins->n, bins->low, bins->step);
    edges[bins->n] = bins->high;
}

/* ---- one by one values ------------------------------------------------------------------------- */

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

#define FIND_SLOTS(suffix, type)                                                                                       \
    TS_VECTORIZED static void find_slots_##suffix(int32_t *slots, const void *values, size_t first, size_t n,          \
                                                  const struct bins *bins)                                             \
    {                                                                                                                  \
        const type *const data = (const type *)values + first;                                                         \
        const double low = bins->low, high = bins->high, step = bins->step, per_value = bins->per_value;               \
        const double last = (double)(bins->n - 1);                                                                     \
        const int32_t n_bins = (int32_t)bins->n;                                                                       \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const double value = (double)data[i], guess = (value - low) * per_value;                                   \
            const double positive = guess > 0 ? guess : 0, inside = positive < last ? positive : last;                 \
            const int32_t bin = (int32_t)inside;                                                                       \
            const int32_t down = value < low + (double)bin * step, up = value >= low + (double)(bin + 1) * step;       \
            const int32_t mended = bin - down + up + 1, slot = mended < n_bins ? mended : n_bins;                      \
            /* Masks in place of branches, which would not vectorize. */                                               \
            const int32_t within = -(int32_t)(value >= low) & -(int32_t)(value <= high);                               \
            const int32_t above = -(int32_t)(value > high), none = -(int32_t)(value != value);                         \
            slots[i] = (slot & within) | ((n_bins + 1) & above) | ((n_bins + 2) & none);                               \
        }                                                                                                              \
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
static void bin_counts_add(struct bin_counts *counts, const struct bins *bins, const void *data, enum ts_dtype dtype,
                           size_t n)
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

void ts_bin_counts_of(struct bin_counts *counts, const struct bins *bins, const struct ts_image *slices)
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

/* ---- from counts of single values -------------------------------------------------------------- */

/* Returns the first key whose value is at least `edge`, in [0, n_keys]; exactly, because no double loses digits. */
static uint32_t first_key(double edge, double lowest, uint32_t n_keys)
{
    const double key = ceil(edge) - lowest;
    return !(key > 0) ? 0 : key < (double)n_keys ? (uint32_t)key : n_keys;
}

/* Sums the counts of the keys [first, end) that were seen. */
static uint64_t sum_keys(const struct value_counts *counts, uint32_t first, uint32_t end)
{
    uint64_t sum = 0;
    first = first > counts->low ? first : counts->low;
    end = end < counts->high + 1 ? end : counts->high + 1;
    for (uint32_t key = first; key < end; key++)
        sum += counts->counts[key];
    return sum;
}

/* Copies the counts to bins that hold one value each, from key `first` on. The last bin is closed and may hold one
 * more. */
static void fold_singles(const struct value_counts *counts, uint32_t first, uint32_t n_bins, uint64_t *in_bins)
{
    const uint32_t low = counts->low > first ? counts->low : first;
    const uint32_t end = counts->high + 1 < first + n_bins ? counts->high + 1 : first + n_bins;
    if (low < end) {
        memset(in_bins, 0, (low - first) * sizeof *in_bins);
        memcpy(in_bins + (low - first), counts->counts + low, (end - low) * sizeof *in_bins);
        memset(in_bins + (end - first), 0, (first + n_bins - end) * sizeof *in_bins);
    } else {
        memset(in_bins, 0, n_bins * sizeof *in_bins);
    }
    in_bins[n_bins - 1] += sum_keys(counts, first + n_bins, first + n_bins + 1);
}

static void fold_any(const struct bins *bins, const struct value_counts *counts, double lowest, uint64_t *in_bins)
{
    uint32_t begin = first_key(bins->low, lowest, counts->n_keys);
    for (int64_t i = 0; i < bins->n; i++) {
        const bool last = i == bins->n - 1;
        /* The last bin is closed: it ends before the first value above high. */
        const uint32_t end = first_key(last ? floor(bins->high) + 1 : edge_of(bins, i + 1), lowest, counts->n_keys);
        in_bins[i] = begin <= counts->high && end > counts->low ? sum_keys(counts, begin, end) : 0;
        begin = end;
    }
}

void ts_bins_fold(const struct bins *bins, const struct value_counts *counts, enum ts_dtype dtype, uint64_t *in_bins,
                  uint64_t outside[BINS_EXTRA_SLOTS])
{
    double lowest, highest;
    ts_dtype_range(dtype, &lowest, &highest);
    memset(outside, 0, BINS_EXTRA_SLOTS * sizeof *outside);
    if (counts->n == 0) {
        memset(in_bins, 0, (size_t)bins->n * sizeof *in_bins);
        return;
    }
    const uint32_t first = first_key(bins->low, lowest, counts->n_keys);
    if (bins->step == 1 && bins->low == lowest + first && first + bins->n <= (int64_t)counts->n_keys)
        fold_singles(counts, first, (uint32_t)bins->n, in_bins);
    else
        fold_any(bins, counts, lowest, in_bins);
    outside[0] = sum_keys(counts, 0, first);
    outside[1] = sum_keys(counts, first_key(floor(bins->high) + 1, lowest, counts->n_keys), counts->n_keys);
}

void ts_bins_split(const struct bin_counts *counts, uint64_t *in_bins, uint64_t outside[BINS_EXTRA_SLOTS])
{
    const size_t n_bins = counts->n_slots - BINS_EXTRA_SLOTS;
    memcpy(in_bins, counts->slots + 1, n_bins * sizeof *in_bins);
    outside[0] = counts->slots[0];
    outside[1] = counts->slots[n_bins + 1];
    outside[2] = counts->slots[n_bins + 2];
}
