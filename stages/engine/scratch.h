/* SPDX-License-Identifier: Apache-2.0
 *
 * A stage divides its scratch into parts with this function.
 */
#ifndef STAGES_ENGINE_SCRATCH_H
#define STAGES_ENGINE_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

/* Appends a part of `count` elements to a scratch of which *used bytes have parts already. Returns its offset, a
 * multiple of 64. */
static inline size_t ts_scratch_part(size_t *used, int64_t count, size_t bytes)
{
    const size_t at = *used;
    *used += ((size_t)count * bytes + 63) & ~(size_t)63;
    return at;
}

#endif
