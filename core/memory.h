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

#endif
