/* SPDX-License-Identifier: Apache-2.0
 *
 * These are the rules of histogram equalization and matching. Each turns the counts of n rising values into a new value
 * for each of them.
 */
#ifndef STAGES_COUNTING_VALUE_MAPS_H
#define STAGES_COUNTING_VALUE_MAPS_H

#include <stddef.h>
#include <stdint.h>

/* scikit-image: map[i] = share of the values that are values[i] or below. 0 where nothing was counted. */
void ts_value_map_share(const uint64_t *counts, size_t n, double *map);

/* OpenCV's equalizeHist, for any number of levels: map[i] = round((below[i] - c0) * (levels - 1) / (total - c0)) where
 * below[i] counts values[i] and below, and c0 the lowest value that occurs. It is computed in single precision with
 * ties to even, as in OpenCV, so that 8-bit results are the same bytes. Where only one value occurs, map[i] = i. */
void ts_value_map_levels(const uint64_t *counts, size_t n, uint32_t levels, uint32_t *map);

/* The values of a distribution that occur, with their cumulative counts, which follow the values in memory. */
struct quantiles {
    uint64_t n, capacity;
    double values[];
};
/* Returns the bytes of quantiles of at most `capacity` values. */
size_t ts_quantiles_bytes(size_t capacity);
/* Fills quantiles from counts of n rising values (value i is first + i * step) without those that do not occur. */
void ts_quantiles_fill(struct quantiles *quantiles, const uint64_t *counts, size_t n, double first, double step);

/* scikit-image's match_histograms: map[i] = the reference's value at the share of values[i], linear between the shares
 * of the reference's values. Shares are compared as exact fractions. */
void ts_value_map_match(const uint64_t *counts, size_t n, const struct quantiles *reference, double *map);

#endif
