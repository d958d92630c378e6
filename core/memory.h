/* SPDX-License-Identifier: Apache-2.0
 *
 * This allocates memory on cache-line boundaries, for image data and scratch, and lays several
 * arrays out in one buffer. The boundaries let vectors be loaded aligned and keep threads from
 * sharing a line. free() frees what these functions allocate.
 */
#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include <stddef.h>

enum { MEMORY_ALIGNMENT = 64 };

/* A layout places arrays one behind the other in one buffer, each on a boundary of `alignment`
 * bytes (0: MEMORY_ALIGNMENT). If base is NULL, ts_layout_add() returns NULL and only counts bytes.
 * So the same function computes how large the buffer must be and, called again, where each array
 * starts. */
struct memory_layout {
    void *base;
    size_t alignment, bytes; /* bytes of all arrays so far */
};

static inline void *ts_layout_add(struct memory_layout *layout, size_t bytes)
{
    const size_t alignment = layout->alignment ? layout->alignment : MEMORY_ALIGNMENT;
    void *at = layout->base ? (unsigned char *)layout->base + layout->bytes : NULL;
    layout->bytes += (bytes + alignment - 1) / alignment * alignment;
    return at;
}

/* Return memory, zeroed or not; NULL if memory is out or bytes cannot be rounded up. 0 bytes
 * give a valid pointer. */
void *ts_memory_aligned(size_t bytes);
void *ts_memory_zeroed(size_t bytes);
/* Makes room for item n of an array whose first n items are in use. Returns `items`, or an array
 * twice as long that replaces it, and sets *capacity to its length (0 for items NULL). Returns NULL
 * if memory is out; `items` then stays as it is. */
void *ts_memory_grow(void *items, size_t n, size_t *capacity, size_t item_bytes);

/* Memory for work that is done again and again: what is given back is kept, and the next one who
 * wants as many bytes gets it, with what was in it. A zeroed pool is empty. */
struct memory_pool {
    struct memory_block *blocks;
};

/* Take memory as ts_memory_aligned() and ts_memory_zeroed() return it, and give it back (NULL does
 * nothing). Without a pool they allocate and free. */
void *ts_memory_take(struct memory_pool *pool, size_t bytes);
void *ts_memory_take_zeroed(struct memory_pool *pool, size_t bytes);
void ts_memory_give(struct memory_pool *pool, void *at);
/* Frees all of it, which nobody may have. */
void ts_memory_pool_clear(struct memory_pool *pool);

#endif
