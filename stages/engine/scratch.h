/* SPDX-License-Identifier: Apache-2.0
 *
 * A stage divides its scratch into parts with this function, in scratch_bytes() and again, in the
 * same way, in map(). The buffers of all threads are one part of context->threads elements, each as
 * large as all buffers of one thread; a thread takes element omp_get_thread_num(). box_describe()
 * in stages/filters/box.c does so.
 */
#ifndef STAGES_ENGINE_SCRATCH_H
#define STAGES_ENGINE_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

/* Appends a part of `count` elements of `bytes` bytes each to a scratch of which *used bytes are
 * taken. Returns its offset, a multiple of 64. */
static inline size_t ts_scratch_part(size_t *used, int64_t count, size_t bytes)
{
    const size_t at = *used;
    *used += ((size_t)count * bytes + 63) & ~(size_t)63;
    return at;
}

#endif
