/* SPDX-License-Identifier: Apache-2.0
 *
 * These are the rules of histogram equalization and matching. Each turns the counts of n rising values into a new value
 * for each of them.
 */
#ifndef STAGES_COUNTING_VALUE_MAPS_H
#define STAGES_COUNTING_VALUE_MAPS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "core/host_device.h"

/* scikit-image: map[i] = share of the values that are values[i] or below. 0 where nothing was counted. */
void ts_value_map_share(const uint64_t *counts, size_t n, double *map);

/* Returns round(above * (levels - 1) / all), with ties to even. Of 256 levels it is computed in single precision, so
 * that results are the bytes of OpenCV; of more levels, which OpenCV does not have, exactly. above <= all < 2^47. */
TS_HOST_DEVICE uint32_t ts_value_level(uint64_t above, uint64_t all, uint32_t levels)
{
    if (levels <= 256) {
        const float level = rintf((float)above * ((float)(levels - 1) / (float)all));
        return level < (float)(levels - 1) ? (uint32_t)level : levels - 1;
    }
    const uint64_t product = above * (levels - 1), whole = product / all, twice = product % all * 2;
    return (uint32_t)(whole + (twice > all || (twice == all && whole % 2 == 1)));
}

/* OpenCV's equalizeHist, for any number of levels: map[i] = ts_value_level(below[i] - c0, total - c0, levels) where
 * below[i] counts values[i] and below, and c0 the lowest value that occurs. Where only one value occurs, map[i] = i. */
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
