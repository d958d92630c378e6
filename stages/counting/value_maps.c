/* SPDX-License-Identifier: Apache-2.0
 *
 * These are rules of scikit-image (exposure.equalize_hist, exposure.match_histograms) and OpenCV (equalizeHist). They
 * work on counts and not on pixels, so that the cost depends on the number of different values alone and the counts may
 * come from any device.
 */
#include "stages/counting/value_maps.h"

#include <math.h>

static uint64_t sum_of(const uint64_t *counts, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

void ts_value_map_share(const uint64_t *counts, size_t n, double *map)
{
    const uint64_t total = sum_of(counts, n);
    uint64_t below = 0;
    for (size_t i = 0; i < n; i++) {
        below += counts[i];
        map[i] = total ? (double)below / (double)total : 0;
    }
}

void ts_value_map_levels(const uint64_t *counts, size_t n, uint32_t levels, uint32_t *map)
{
    const uint64_t total = sum_of(counts, n);
    size_t first = 0;
    while (first < n && counts[first] == 0)
        first++;
    if (first == n || counts[first] == total) {
        for (size_t i = 0; i < n; i++)
            map[i] = (uint32_t)i;
        return;
    }
    uint64_t below = 0;
    for (size_t i = 0; i < n; i++) {
        below += i > first ? counts[i] : 0;
        map[i] = ts_value_level(below, total - counts[first], levels);
    }
}

size_t ts_quantiles_bytes(size_t capacity)
{
    return sizeof(struct quantiles) + capacity * (sizeof(double) + sizeof(uint64_t));
}

static uint64_t *below_of(const struct quantiles *quantiles)
{
    return (uint64_t *)(quantiles->values + quantiles->capacity);
}

void ts_quantiles_fill(struct quantiles *quantiles, const uint64_t *counts, size_t n, double first, double step)
{
    uint64_t below = 0;
    quantiles->n = 0;
    quantiles->capacity = n;
    for (size_t i = 0; i < n; i++) {
        if (counts[i] == 0)
            continue;
        below += counts[i];
        quantiles->values[quantiles->n] = first + (double)i * step;
        below_of(quantiles)[quantiles->n++] = below;
    }
}

void ts_value_map_match(const uint64_t *counts, size_t n, const struct quantiles *reference, double *map)
{
    const uint64_t total = sum_of(counts, n);
    const uint64_t *reference_below = below_of(reference);
    const uint64_t reference_total = reference->n ? reference_below[reference->n - 1] : 0;
    uint64_t below = 0;
    size_t next = 0; /* the first value of the reference whose share is above the share at hand */
    for (size_t i = 0; i < n; i++) {
        below += counts[i];
        if (total == 0 || reference_total == 0) {
            map[i] = 0;
            continue;
        }
        /* below / total against reference_below / reference_total, both multiplied by both totals. */
        const unsigned __int128 share = (unsigned __int128)below * reference_total;
        while (next < reference->n && (unsigned __int128)reference_below[next] * total <= share)
            next++;
        if (next == 0) {
            map[i] = reference->values[0];
        } else if (next == reference->n) {
            map[i] = reference->values[reference->n - 1];
        } else {
            const unsigned __int128 left = (unsigned __int128)reference_below[next - 1] * total;
            const unsigned __int128 gap =
                (unsigned __int128)(reference_below[next] - reference_below[next - 1]) * total;
            const double low = reference->values[next - 1], high = reference->values[next];
            map[i] = low + (high - low) * ((double)(share - left) / (double)gap);
        }
    }
}
