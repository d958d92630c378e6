/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparisons subtract truth values, because a difference of numbers may not fit an int or may
 * become 0 in it. The search takes about log2(n) comparisons and ends at the same index however
 * many items are equal.
 */
#include "core/search.h"

int ts_compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

int ts_compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

size_t ts_lower_bound(const void *key, const void *items, size_t n, size_t item_bytes,
                      int (*compare)(const void *key, const void *item))
{
    size_t low = 0;
    while (n > 0) {
        const size_t half = n / 2;
        if (compare(key, (const char *)items + (low + half) * item_bytes) > 0) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}
