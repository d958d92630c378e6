/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory on cache-line boundaries, for image data and scratch. free() frees it.
 */
#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include <stddef.h>

enum { MEMORY_ALIGNMENT = 64 };

/* NULL where memory is out or bytes cannot be rounded up. 0 bytes give a valid pointer. */
void *ts_memory_aligned(size_t bytes);
void *ts_memory_zeroed(size_t bytes);
/* Returns an array with a place for item n: `items`, of which n are in use, or a larger one that takes its place, twice
 * as long. *capacity is its length (0 for NULL). NULL where memory is out; `items` then stays as it is. */
void *ts_memory_grow(void *items, size_t n, size_t *capacity, size_t item_bytes);

#endif
