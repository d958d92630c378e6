/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds the medians of 16 neighboring windows at once by a fixed network of comparisons. It keeps half the values
 * and two more, of which the smallest and the largest cannot be the median: they are dropped, the next value is put in,
 * and so on until three are left (A. W. Paeth, Median finding on a 3 x 3 grid, 1990). The network does not depend on
 * the values, so it runs on vectors without a branch. A window of n values takes about n^2 / 5 exchanges: 500 for 7 x
 * 7.
 *
 * Values are the 32-bit keys of stages/values/value_keys.h.
 */
#ifndef STAGES_FILTERS_MEDIAN_NETWORK_H
#define STAGES_FILTERS_MEDIAN_NETWORK_H

#include <stdint.h>
#include <string.h>

enum { MEDIAN_LANES = 16 };

struct median_lanes {
    int32_t at[MEDIAN_LANES];
};

/* A vector of 16 keys. The compiler splits it where the processor's vectors are shorter, and turns the masks into a
 * minimum and a maximum.
 */
typedef int32_t median_keys __attribute__((vector_size(64), aligned(4), may_alias));

static inline __attribute__((always_inline)) void ts_median_order(struct median_lanes *a, struct median_lanes *b)
{
    const median_keys first = *(const median_keys *)a, second = *(const median_keys *)b, rising = first < second;
    *(median_keys *)a = (first & rising) | (second & ~rising);
    *(median_keys *)b = (second & rising) | (first & ~rising);
}

/* Brings the smallest of m to the front and the largest to the end. */
static inline __attribute__((always_inline)) void ts_median_part(struct median_lanes *kept, int64_t m)
{
    const int64_t half = m / 2;
    for (int64_t i = 0; i < half; i++)
        ts_median_order(&kept[i], &kept[m - 1 - i]);
    for (int64_t i = 1; i < m - half; i++)
        ts_median_order(&kept[0], &kept[i]);
    for (int64_t i = half; i < m - 1; i++)
        ts_median_order(&kept[i], &kept[m - 1]);
}

/* Leaves the median of n values, n odd, in values[1]. Inlined, so that a constant n unrolls. */
static inline __attribute__((always_inline)) void ts_median_select(struct median_lanes *values, int64_t n)
{
    int64_t next = n / 2 + 2;
    for (int64_t m = next; m >= 3; m--) {
        ts_median_part(values, m);
        if (next < n)
            values[0] = values[next++];
    }
}

/* The same for the windows around x to x + 15, n_lines x width values each: `width` neighbors in each line, whose first
 * key belongs to the window around x = 0. Lines go on for 15 keys behind their last window. */
static inline __attribute__((always_inline)) void
ts_median_of_lines(const int32_t *const lines[], int64_t n_lines, int64_t width, int64_t x, struct median_lanes *values)
{
    for (int64_t i = 0; i < n_lines * width; i++)
        memcpy(&values[i], lines[i / width] + x + i % width, sizeof *values);
    ts_median_select(values, n_lines * width);
}

/* Sorts 7 values by 16 exchanges. */
static inline __attribute__((always_inline)) void ts_median_sort_7(struct median_lanes *values)
{
    static const uint8_t pairs[16][2] = {{0, 6}, {2, 3}, {4, 5}, {0, 2}, {1, 4}, {3, 6}, {0, 1}, {2, 5},
                                         {3, 4}, {1, 2}, {4, 6}, {2, 3}, {4, 5}, {1, 2}, {3, 4}, {5, 6}};
    for (int i = 0; i < 16; i++)
        ts_median_order(&values[pairs[i][0]], &values[pairs[i][1]]);
}

#endif
