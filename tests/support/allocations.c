/* SPDX-License-Identifier: Apache-2.0
 *
 * malloc and its kin of the test program itself, in front of glibc's: every library in the process
 * allocates here.
 */
#include "tests/support/allocations.h"

#include <errno.h>
#include <stdlib.h>

#if defined(__GLIBC__) && !defined(TS_SANITIZED)

/* The libraries must see these, whatever the rest of the program hides. */
#define SEEN_BY_ALL __attribute__((visibility("default")))

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *old);

static _Thread_local int64_t left = INT64_MAX, failed, live;
static _Thread_local bool fails_forever;
static _Atomic int64_t large;

static bool fails(size_t bytes)
{
    if (bytes >= ALLOCATIONS_LARGE)
        large++;
    if (left == INT64_MAX || left-- > 0)
        return false;
    left = fails_forever ? 0 : INT64_MAX;
    failed++;
    errno = ENOMEM;
    return true;
}

SEEN_BY_ALL void *malloc(size_t bytes)
{
    void *result = fails(bytes) ? NULL : __libc_malloc(bytes);
    live += result != NULL;
    return result;
}

SEEN_BY_ALL void *calloc(size_t n, size_t bytes)
{
    void *result = fails(n * bytes) ? NULL : __libc_calloc(n, bytes);
    live += result != NULL;
    return result;
}

SEEN_BY_ALL void *realloc(void *old, size_t bytes)
{
    void *result = fails(bytes) ? NULL : __libc_realloc(old, bytes);
    live += result != NULL && old == NULL;
    return result;
}

SEEN_BY_ALL void *aligned_alloc(size_t alignment, size_t bytes)
{
    void *result = fails(bytes) ? NULL : __libc_memalign(alignment, bytes);
    live += result != NULL;
    return result;
}

SEEN_BY_ALL void free(void *old)
{
    live -= old != NULL;
    __libc_free(old);
}

bool ts_allocations_can_fail(void)
{
    return true;
}

void ts_allocations_fail(int64_t after, bool forever)
{
    failed = 0;
    fails_forever = forever;
    left = after;
}

int64_t ts_allocations_restore(void)
{
    left = INT64_MAX;
    return failed;
}

int64_t ts_allocations_live(void)
{
    return live;
}

int64_t ts_allocations_large(void)
{
    return large;
}

#else

bool ts_allocations_can_fail(void)
{
    return false;
}

void ts_allocations_fail(int64_t after, bool forever)
{
    (void)after;
    (void)forever;
}

int64_t ts_allocations_restore(void)
{
    return 0;
}

int64_t ts_allocations_live(void)
{
    return 0;
}

int64_t ts_allocations_large(void)
{
    return 0;
}

#endif
