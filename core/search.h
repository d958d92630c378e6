/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions order numbers and search sorted arrays. C's bsearch() finds any equal element or
 * none, while ranges and nearest values need the first one that is not below the key. The
 * comparisons are for qsort(), so that every part of the program sorts numbers alike.
 */
#ifndef CORE_SEARCH_H
#define CORE_SEARCH_H

#include <stddef.h>

/* Compare two numbers for qsort(), the smaller one first. Neither may be NaN. */
int ts_compare_floats(const void *a, const void *b);
int ts_compare_doubles(const void *a, const void *b);
/* Returns the index of the first of n items of `item_bytes` each that is not below the key, or n
 * where all are. compare(key, item) is as for bsearch(), and the items are sorted by it. */
size_t ts_lower_bound(const void *key, const void *items, size_t n, size_t item_bytes,
                      int (*compare)(const void *key, const void *item));

#endif
