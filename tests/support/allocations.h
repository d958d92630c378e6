/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes allocations of the calling thread fail, counts what it has not freed, and counts large
 * allocations of the process. glibc only; not with sanitizers, which have allocators of their
 * own.
 */
#ifndef TESTS_SUPPORT_ALLOCATIONS_H
#define TESTS_SUPPORT_ALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

bool ts_allocations_can_fail(void);
/* The next `after` allocations succeed; the one after them fails, and where `forever` all that
 * follow. */
void ts_allocations_fail(int64_t after, bool forever);
/* Back to normal; how many allocations failed since ts_allocations_fail. */
int64_t ts_allocations_restore(void);
/* Allocations less frees of this thread so far; differences of it tell leaks. */
int64_t ts_allocations_live(void);
/* The allocations of ALLOCATIONS_LARGE bytes and more of all threads so far. */
enum { ALLOCATIONS_LARGE = 64 << 10 };
int64_t ts_allocations_large(void);

#endif
