/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes are rounded up to whole cache lines, because aligned_alloc() demands a multiple of the
 * alignment and vectors at the end of an array may then be read whole. Arrays grow by doubling, so
 * that n items cost O(n) copies.
 */
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

void *ts_memory_aligned(size_t bytes)
{
    const size_t rounded = (bytes + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT;
    if (rounded < bytes)
        return NULL;
    return aligned_alloc(MEMORY_ALIGNMENT, rounded > 0 ? rounded : MEMORY_ALIGNMENT);
}

void *ts_memory_zeroed(size_t bytes)
{
    void *memory = ts_memory_aligned(bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

void *ts_memory_grow(void *items, size_t n, size_t *capacity, size_t item_bytes)
{
    enum { FIRST = 64 };
    if (n < *capacity)
        return items;
    const size_t longer = *capacity > 0 ? 2 * *capacity : FIRST;
    void *grown = reallocarray(items, longer, item_bytes);
    *capacity = grown ? longer : *capacity;
    return grown;
}
