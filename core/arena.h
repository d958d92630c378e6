/* SPDX-License-Identifier: Apache-2.0
 *
 * Small objects that live and die together.
 */
#ifndef CORE_ARENA_H
#define CORE_ARENA_H

#include <stddef.h>

struct arena;
struct arena *ts_arena_create(void);
void ts_arena_destroy(struct arena *arena);
/* Zeroed, 16-byte aligned; NULL where memory is out. */
void *ts_arena_alloc(struct arena *arena, size_t bytes);
/* A copy of n items; NULL where memory is out. */
void *ts_arena_copy(struct arena *arena, const void *items, size_t n, size_t item_bytes);
char *ts_arena_text(struct arena *arena, const char *text, size_t length);
char *ts_arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
