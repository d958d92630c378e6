/* SPDX-License-Identifier: Apache-2.0
 *
 * Deflates and inflates whole zlib streams (RFC 1950) in memory.
 */
#ifndef IO_FILE_ZLIB_STREAM_H
#define IO_FILE_ZLIB_STREAM_H

#include <stdbool.h>
#include <stddef.h>

/* Each thread has a state of its own. */
struct zlib_coder;
struct zlib_coder *ts_zlib_coder_create(void); /* NULL: memory is out */
void ts_zlib_coder_destroy(struct zlib_coder *coder);
/* Returns how many bytes `out` of ts_zlib_deflate must have. */
size_t ts_zlib_bound(size_t bytes);
/* Deflates at level 1 (fast) to 9 (small). Returns the length of the stream, or 0 if memory is out.
   On one machine, equal input gives equal bytes. */
size_t ts_zlib_deflate(struct zlib_coder *coder, int level, const void *data, size_t bytes,
                       void *out, size_t out_bytes);
/* Inflates a stream that must fill `out` exactly. Returns false if it does not, or is damaged, or
   if memory is out (errno is then ENOMEM). */
bool ts_zlib_inflate(struct zlib_coder *coder, const void *data, size_t bytes, void *out,
                     size_t out_bytes);
/* Returns the version of ISA-L that deflates at level 1, or NULL if libdeflate does. */
const char *ts_zlib_isal_version(void);

#endif
