/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes are rounded up to whole cache lines, because aligned_alloc() demands a multiple of the
 * alignment and vectors at the end of an array may then be read whole. Arrays grow by doubling, so
 * that n items cost O(n) copies.
 */
#include "core/memory.h"

#include <stdbool.h>
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

/* ---- pools ----------------------------------------------------------------------------------- */

struct memory_block {
    struct memory_block *next;
    void *at;
    size_t bytes;
    bool taken;
};

void *ts_memory_take(struct memory_pool *pool, size_t bytes)
{
    if (!pool)
        return ts_memory_aligned(bytes);
    struct memory_block *block = pool->blocks;
    while (block && (block->taken || block->bytes != bytes))
        block = block->next;
    if (!block) {
        void *at = ts_memory_aligned(bytes);
        block = at ? malloc(sizeof *block) : NULL;
        if (!block) {
            free(at);
            return NULL;
        }
        *block = (struct memory_block){.next = pool->blocks, .at = at, .bytes = bytes};
        pool->blocks = block;
    }
    block->taken = true;
    return block->at;
}

void *ts_memory_take_zeroed(struct memory_pool *pool, size_t bytes)
{
    void *memory = ts_memory_take(pool, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

void ts_memory_give(struct memory_pool *pool, void *at)
{
    struct memory_block *block = pool ? pool->blocks : NULL;
    while (block && block->at != at)
        block = block->next;
    if (block)
        block->taken = false;
    else
        free(at);
}

void ts_memory_pool_clear(struct memory_pool *pool)
{
    for (struct memory_block *block = pool->blocks, *next; block; block = next) {
        next = block->next;
        free(block->at);
        free(block);
    }
    pool->blocks = NULL;
}
