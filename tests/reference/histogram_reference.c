/* SPDX-License-Identifier: Apache-2.0
 *
 * The histogram as numpy.histogram defines it: half-open bins between numpy.linspace edges, the last one closed.
 */
#include "tests/reference/histogram_reference.h"

#include <string.h>

static double edge(double low, double high, int64_t bins, int64_t i)
{
    return i == bins ? high : low + (double)i * ((high - low) / (double)bins);
}

void ts_histogram_reference(const double *values, size_t n, double low, double high, int64_t bins, uint64_t *counts,
                            uint64_t *under, uint64_t *over, uint64_t *nan)
{
    memset(counts, 0, (size_t)bins * sizeof *counts);
    *under = *over = *nan = 0;
    for (size_t k = 0; k < n; k++) {
        const double v = values[k];
        if (v != v) {
            ++*nan;
        } else if (v < low) {
            ++*under;
        } else if (v > high) {
            ++*over;
        } else {
            int64_t i = bins - 1;
            while (i > 0 && v < edge(low, high, bins, i))
                i--;
            counts[i]++;
        }
    }
}
