/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a file that is one deflate stream (RFC 1951) from some byte on, at given positions of its
 * inflated bytes. It keeps only a window of them, so that a stream of gigabytes costs no memory.
 * Reading forward goes on where the last read ended; reading backward begins again from the start.
 */
#ifndef IO_FILE_INFLATE_FILE_H
#define IO_FILE_INFLATE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct inflate_file;

struct inflate_limits {
    int64_t free_bytes; /* number of inflated bytes up to which the ratio is not checked */
    int64_t ratio; /* limit of inflated to deflated bytes, checked at every point beyond them */
    int64_t bytes; /* limit of the inflated bytes */
};

enum inflate_end {
    INFLATE_WHOLE,
    INFLATE_DAMAGED, /* it is not a deflate stream, or not from some byte on */
    INFLATE_CUT, /* the file ends before the stream, or the stream ends before what was asked for */
    INFLATE_LIMIT,     /* a limit is passed */
    INFLATE_UNREADABLE /* errno says why, such as ENOMEM */
};

struct inflate_file *ts_inflate_file_create(void); /* NULL: memory is out */
void ts_inflate_file_destroy(struct inflate_file *file);
/* Chooses the stream that begins at byte `offset` of a file. If it was chosen before, reading goes
   on; the caller guarantees that the file has not changed since. The descriptor is borrowed until
   the next call. */
void ts_inflate_file_choose(struct inflate_file *file, int fd, dev_t device, ino_t inode,
                            int64_t offset);
/* Inflates the chosen stream to its end, or until a limit is passed. *inflated is the number of
   bytes that came out so far, *deflated the number that went in. */
enum inflate_end ts_inflate_file_measure(struct inflate_file *file,
                                         const struct inflate_limits *limits, int64_t *inflated,
                                         int64_t *deflated);
/* Reads n inflated bytes at `offset`. */
enum inflate_end ts_inflate_file_read(struct inflate_file *file, int64_t offset, void *out,
                                      size_t n);

#endif
