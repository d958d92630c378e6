/* SPDX-License-Identifier: Apache-2.0
 *
 * counts[slot] += 1 for every pixel, by named methods. The slots of a block of pixels are found
 * first, in a loop of vectors; then they are counted one after the other:
 *
 *   global         in the 64-bit counts themselves
 *   sub-histogram  down one strip of columns after the other, each in a table of its own
 *   shared         in a table for every part of the image, which stays in the cache while it is
 *                  filled
 *   occupancy      in one table for all that a thread is given, four rows at a time, whose pixels
 *                  take turns
 *   lane-private   in a table for every lane, side by side, and neighboring pixels in different
 *                  lanes
 *
 * Tables have counts of 32 bits, and are added to the counts before these could overflow. auto is
 * lane-private, and sampled for 16-bit integers: both stand in stages/counting, where other stages
 * use them too. Only lane-private for 16-bit integers, which auto does not take, stands here. Cost:
 * each pixel is read once, and a table writes and reads another 12 bytes for each slot.
 */
#include "stages/histogram/histogram.h"

#include <string.h>

enum { BLOCK = 2048 /* slots that are found at a time */ };
static const size_t most_pixels = (size_t)1 << 31; /* most pixels of one table */

/* The work: count the pixels of the slices in slots, which are those of `bins` or, if it is NULL,
 * one for each value. */
struct histogram_work {
    const struct ts_image *slices;
    const struct bins *bins;
    size_t n_slots;
    uint64_t *counts; /* n_slots counts, cleared */
    uint32_t *tables; /* memory of the lanes, which these methods do not use otherwise */
};

/* ---- slots ----------------------------------------------------------------------------------- */

#define FIND_KEYS(suffix, type)                                                                    \
    TS_VECTORIZED static void find_keys_##suffix(int32_t *slots, const void *data, size_t n,       \
                                                 uint32_t bias)                                    \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            slots[i] = (int32_t)(((const type *)data)[i] ^ bias);                                  \
    }
FIND_KEYS(8, uint8_t)
FIND_KEYS(16, uint16_t)

/* Writes the slots of n pixels, starting with pixel `first`. */
static void find_slots(const struct histogram_work *work, size_t first, size_t n, int32_t *slots)
{
    const enum ts_dtype dtype = work->slices->dtype;
    const size_t bytes = ts_dtype_bytes(dtype);
    const char *data = (const char *)work->slices->data + first * bytes;
    if (work->bins)
        ts_bins_find(slots, work->slices->data, dtype, first, n, work->bins);
    else if (bytes == 1)
        find_keys_8(slots, data, n, ts_dtype_sign_bit(dtype));
    else
        find_keys_16(slots, data, n, ts_dtype_sign_bit(dtype));
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The counts of a slot in all tables are side by side. */
static void clear_tables(const struct histogram_work *work, size_t tables)
{
    memset(work->tables, 0, tables * work->n_slots * sizeof *work->tables);
}

static void add_tables(const struct histogram_work *work, size_t tables)
{
    for (size_t slot = 0; slot < work->n_slots; slot++)
        for (size_t table = 0; table < tables; table++)
            work->counts[slot] += work->tables[slot * tables + table];
}

/* Counts n neighboring pixels in the table. */
static void count_run(const struct histogram_work *work, size_t first, size_t n)
{
    int32_t slots[BLOCK];
    for (size_t done = 0; done < n; done += BLOCK) {
        const size_t block = least(n - done, BLOCK);
        find_slots(work, first + done, block, slots);
        for (size_t i = 0; i < block; i++)
            work->tables[slots[i]]++;
    }
}

/* ---- methods --------------------------------------------------------------------------------- */

static void count_global(const struct histogram_work *work)
{
    const size_t n = ts_image_count(work->slices);
    int32_t slots[BLOCK];
    for (size_t done = 0; done < n; done += BLOCK) {
        const size_t block = least(n - done, BLOCK);
        find_slots(work, done, block, slots);
        for (size_t i = 0; i < block; i++)
            work->counts[slots[i]]++;
    }
}

static void count_strips(const struct histogram_work *work)
{
    const size_t columns = (size_t)work->slices->axes[2].n,
                 n_rows = ts_image_count(work->slices) / columns;
    const size_t height = most_pixels / HISTOGRAM_STRIP_COLUMNS;
    for (size_t row = 0; row < n_rows; row += height)
        for (size_t column = 0; column < columns; column += HISTOGRAM_STRIP_COLUMNS) {
            const size_t end = least(row + height, n_rows);
            clear_tables(work, 1);
            for (size_t y = row; y < end; y++)
                count_run(work, y * columns + column,
                          least(columns - column, HISTOGRAM_STRIP_COLUMNS));
            add_tables(work, 1);
        }
}

static void count_parts(const struct histogram_work *work)
{
    const size_t n = ts_image_count(work->slices), of_slots = HISTOGRAM_PART_SLOTS * work->n_slots;
    const size_t part = of_slots > HISTOGRAM_PART_PIXELS ? of_slots : HISTOGRAM_PART_PIXELS;
    for (size_t done = 0; done < n; done += part) {
        clear_tables(work, 1);
        count_run(work, done, least(n - done, part));
        add_tables(work, 1);
    }
}

/* Counts HISTOGRAM_ROWS rows, one pixel of each in turn. */
static void count_rows(const struct histogram_work *work, size_t row, size_t columns)
{
    int32_t slots[HISTOGRAM_ROWS][BLOCK];
    for (size_t done = 0; done < columns; done += BLOCK) {
        const size_t block = least(columns - done, BLOCK);
        for (size_t y = 0; y < HISTOGRAM_ROWS; y++)
            find_slots(work, (row + y) * columns + done, block, slots[y]);
        for (size_t i = 0; i < block; i++)
            for (size_t y = 0; y < HISTOGRAM_ROWS; y++)
                work->tables[slots[y][i]]++;
    }
}

static void count_occupancy(const struct histogram_work *work)
{
    const size_t columns = (size_t)work->slices->axes[2].n,
                 n_rows = ts_image_count(work->slices) / columns;
    size_t row = 0, pixels = 0;
    clear_tables(work, 1);
    for (; row + HISTOGRAM_ROWS <= n_rows; row += HISTOGRAM_ROWS) {
        if (pixels + HISTOGRAM_ROWS * columns > most_pixels) {
            add_tables(work, 1);
            clear_tables(work, 1);
            pixels = 0;
        }
        count_rows(work, row, columns);
        pixels += HISTOGRAM_ROWS * columns;
    }
    count_run(work, row * columns, (n_rows - row) * columns);
    add_tables(work, 1);
}

static void count_lanes(const struct histogram_work *work)
{
    const size_t n = ts_image_count(work->slices);
    int32_t slots[BLOCK];
    for (size_t first = 0; first < n; first += most_pixels) {
        const size_t end = least(n, first + most_pixels);
        clear_tables(work, VALUE_COUNTS_LEAST_LANES);
        for (size_t done = first; done < end; done += BLOCK) {
            const size_t block = least(end - done, BLOCK);
            find_slots(work, done, block, slots);
            for (size_t i = 0; i < block; i++)
                work->tables[(size_t)slots[i] * VALUE_COUNTS_LEAST_LANES +
                             i % VALUE_COUNTS_LEAST_LANES]++;
        }
        add_tables(work, VALUE_COUNTS_LEAST_LANES);
    }
}

static void count_by(enum histogram_method method, const struct histogram_work *work)
{
    static void (*const counters[])(const struct histogram_work *) = {
        [HISTOGRAM_GLOBAL] = count_global,
        [HISTOGRAM_SUB] = count_strips,
        [HISTOGRAM_SHARED] = count_parts,
        [HISTOGRAM_OCCUPANCY] = count_occupancy,
        [HISTOGRAM_LANE_PRIVATE] = count_lanes};
    counters[method](work);
}

/* ---- counts of values and of bins ------------------------------------------------------------ */

void ts_histogram_values_of(enum histogram_method method, struct value_counts *counts,
                            const struct ts_image *slices)
{
    const bool lanes = method == HISTOGRAM_LANE_PRIVATE && ts_dtype_bytes(slices->dtype) == 1;
    if (method == HISTOGRAM_AUTO || method == HISTOGRAM_SAMPLED || lanes) {
        ts_value_counts_of(counts, slices);
        return;
    }
    ts_value_counts_init(counts, slices->dtype);
    const struct histogram_work work = {.slices = slices,
                                        .n_slots = counts->n_keys,
                                        .counts = counts->counts,
                                        .tables = (uint32_t *)(counts->counts + counts->n_keys)};
    memset(counts->counts, 0, counts->n_keys * sizeof *counts->counts);
    count_by(method, &work);
    counts->n = ts_image_count(slices);
    for (counts->low = 0; counts->counts[counts->low] == 0;)
        counts->low++;
    for (counts->high = counts->n_keys - 1; counts->counts[counts->high] == 0;)
        counts->high--;
}

void ts_histogram_bins_of(enum histogram_method method, struct bin_counts *counts,
                          const struct bins *bins, const struct ts_image *slices)
{
    if (method == HISTOGRAM_AUTO || method == HISTOGRAM_LANE_PRIVATE) {
        ts_bin_counts_of(counts, bins, slices);
        return;
    }
    ts_bin_counts_init(counts, bins->n);
    const struct histogram_work work = {.slices = slices,
                                        .bins = bins,
                                        .n_slots = counts->n_slots,
                                        .counts = counts->slots,
                                        .tables = (uint32_t *)(counts->slots + counts->n_slots)};
    count_by(method, &work);
}
