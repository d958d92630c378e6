/* SPDX-License-Identifier: Apache-2.0
 *
 * This reads the inflated bytes of a gzip file (RFC 1952) of one or more members from its beginning
 * on. No more is inflated than is asked for, so that a bomb costs nothing.
 */
#ifndef IO_FILE_GZIP_READER_H
#define IO_FILE_GZIP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most bytes that a byte of a gzip file can inflate to. */
enum { GZIP_MOST_EXPANSION = 1032 };

struct gzip_reader;
/* Begins at the file's `offset`; the descriptor stays the caller's. Returns NULL where memory is
 * out. */
struct gzip_reader *ts_gzip_reader_create(int fd, uint64_t offset);
void ts_gzip_reader_destroy(struct gzip_reader *reader);
/* Inflates the next bytes. Returns NULL, or why they cannot be had: a phrase such as "ends before
 * its data do". */
const char *ts_gzip_reader_read(struct gzip_reader *reader, void *out, size_t bytes);
/* Passes over the next bytes; fails as the function above does. */
const char *ts_gzip_reader_skip(struct gzip_reader *reader, uint64_t bytes);
/* Inflates what is left, at most `most` bytes of it, and compares the checksums of all members that
 * end. *whole: the file's end was reached. *rest: so many bytes were inflated. Bytes behind the
 * last member that begin no other are left alone, as the program gzip does. Returns NULL, or what
 * is wrong, as the functions above do. */
const char *ts_gzip_reader_check(struct gzip_reader *reader, uint64_t most, bool *whole,
                                 uint64_t *rest);
/* Returns true where the file begins as gzip files do. */
bool ts_gzip_is(int fd, uint64_t offset);

#endif
