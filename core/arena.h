/* SPDX-License-Identifier: Apache-2.0
 *
 * An arena holds small objects that are freed together, such as the texts and parameters of one
 * chain.
 */
#ifndef CORE_ARENA_H
#define CORE_ARENA_H

#include <stddef.h>

struct arena;
struct arena *ts_arena_create(void);
void ts_arena_destroy(struct arena *arena);
/* Gives everything that `from` holds to `arena`, without moving it, and destroys `from`. An arena
 * belongs to one thread: threads that fill their own arenas join them in the end. NULL for `from`
 * does nothing. */
void ts_arena_join(struct arena *arena, struct arena *from);
/* Returns zeroed memory, 16-byte aligned, which lives as long as the arena. Like the functions
 * below it returns NULL if memory is out. */
void *ts_arena_alloc(struct arena *arena, size_t bytes);
/* Return a copy of n items, a copy of a text (which then ends in a zero), and a formatted text. */
void *ts_arena_copy(struct arena *arena, const void *items, size_t n, size_t item_bytes);
char *ts_arena_text(struct arena *arena, const char *text, size_t length);
char *ts_arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
