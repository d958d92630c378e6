/* SPDX-License-Identifier: Apache-2.0
 *
 * This deflates and inflates whole zlib streams (RFC 1950) in memory.
 */
#ifndef IO_FILE_ZLIB_STREAM_H
#define IO_FILE_ZLIB_STREAM_H

#include <stdbool.h>
#include <stddef.h>

/* Each thread has a state of its own. */
struct zlib_coder;
struct zlib_coder *ts_zlib_coder_create(void); /* NULL: memory is out */
void ts_zlib_coder_destroy(struct zlib_coder *coder);
/* Returns the bytes that `out` of ts_zlib_deflate must have. */
size_t ts_zlib_bound(size_t bytes);
/* Deflates at level 1 (fast) to 9 (small). Returns the length of the stream, or 0 where memory is
 * out. The same input gives the same bytes on the same machine. */
size_t ts_zlib_deflate(struct zlib_coder *coder, int level, const void *data, size_t bytes,
                       void *out, size_t out_bytes);
/* Inflates a stream that must fill `out` exactly. Returns false where it does not, is damaged, or
 * memory is out (errno is then ENOMEM). */
bool ts_zlib_inflate(struct zlib_coder *coder, const void *data, size_t bytes, void *out,
                     size_t out_bytes);
/* Returns the version of ISA-L that deflates at level 1, or NULL where libdeflate does. */
const char *ts_zlib_isal_version(void);

#endif
