/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a gzip file (RFC 1952) of one member, or a zlib stream (RFC 1950), by several threads. The
 * stream is cut into blocks of 1 MiB, which are deflated separately and joined: every program that
 * reads gzip can read it, and its bytes do not depend on the number of threads.
 */
#ifndef IO_FILE_GZIP_WRITER_H
#define IO_FILE_GZIP_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gzip_writer;
/* Begins the stream at byte `offset` of the file. The descriptor remains the caller's. Returns NULL
   with errno. */
struct gzip_writer *ts_gzip_writer_create(int fd, uint64_t offset, bool zlib, int threads);
/* Adds bytes to the stream. Returns false with errno. */
bool ts_gzip_writer_add(struct gzip_writer *writer, const void *data, size_t bytes);
/* Writes what is left, and the end of the file. Returns false with errno. */
bool ts_gzip_writer_end(struct gzip_writer *writer);
void ts_gzip_writer_destroy(struct gzip_writer *writer);
/* Returns the bytes of memory that a writer with so many threads takes. */
size_t ts_gzip_writer_bytes(int threads);

#endif
