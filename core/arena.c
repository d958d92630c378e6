/* SPDX-License-Identifier: Apache-2.0
 *
 * An arena is a list of blocks. Small requests share a block, and large ones get their own.
 */
#include "core/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 16384, ALIGNMENT = 16 };

struct block {
    struct block *next;
    size_t used, size;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

struct arena {
    struct block *blocks;
};

struct arena *ts_arena_create(void)
{
    return calloc(1, sizeof(struct arena));
}

void ts_arena_destroy(struct arena *arena)
{
    if (!arena)
        return;
    for (struct block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(arena);
}

/* Puts the blocks of `from` behind the newest block of `arena`, which has unused space that stays
 * in use. */
void ts_arena_join(struct arena *arena, struct arena *from)
{
    if (!from)
        return;
    struct block **end = arena->blocks ? &arena->blocks->next : &arena->blocks, *rest = *end;
    *end = from->blocks;
    while (*end)
        end = &(*end)->next;
    *end = rest;
    free(from);
}

void *ts_arena_alloc(struct arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct block *block = arena->blocks;
    if (!block || block->size - block->used < bytes) {
        const size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        block = calloc(1, sizeof *block + size);
        if (!block)
            return NULL;
        block->size = size;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    void *result = block->bytes + block->used;
    block->used += bytes;
    return result;
}

void *ts_arena_copy(struct arena *arena, const void *items, size_t n, size_t item_bytes)
{
    void *copy = ts_arena_alloc(arena, n * item_bytes);
    return copy && n > 0 ? memcpy(copy, items, n * item_bytes) : copy;
}

char *ts_arena_text(struct arena *arena, const char *text, size_t length)
{
    char *copy = ts_arena_alloc(arena, length + 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

char *ts_arena_printf(struct arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : ts_arena_alloc(arena, (size_t)length + 1);
    if (!text)
        return NULL;
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}
