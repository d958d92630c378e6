/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the inflated bytes of a gzip file (RFC 1952) of one or more members, or of a zlib stream
 * (RFC 1950), from its beginning. It inflates no more than is asked for, so that a bomb costs
 * nothing.
 */
#ifndef IO_FILE_GZIP_READER_H
#define IO_FILE_GZIP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most bytes to which one byte of a gzip file can inflate. */
enum { GZIP_MOST_EXPANSION = 1032 };

struct gzip_reader;
/* Begins at byte `offset` of the file. The descriptor remains the caller's. Returns NULL if memory
   is out. */
struct gzip_reader *ts_gzip_reader_create(int fd, uint64_t offset);
void ts_gzip_reader_destroy(struct gzip_reader *reader);
/* Inflates the next bytes. Returns NULL, or why that failed: a phrase such as "ends before its data
   do". */
const char *ts_gzip_reader_read(struct gzip_reader *reader, void *out, size_t bytes);
/* Skips the next bytes; fails as the function above does. */
const char *ts_gzip_reader_skip(struct gzip_reader *reader, uint64_t bytes);
/* Inflates the rest, at most `most` bytes of it, and compares the checksums of all members that end
   there. *whole: the file's end was reached. *rest: how many bytes were inflated. Like the program
   gzip, it ignores bytes after the last member that begin no further one. Returns NULL, or what is
   wrong, as the functions above do. */
const char *ts_gzip_reader_check(struct gzip_reader *reader, uint64_t most, bool *whole,
                                 uint64_t *rest);
/* Returns true if the file continues there as gzip files begin, or as zlib streams do. */
bool ts_gzip_is(int fd, uint64_t offset);
bool ts_zlib_is(int fd, uint64_t offset);

#endif
