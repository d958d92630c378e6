/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions read and write whole ranges of a file, although the kernel may transfer a part or
 * be interrupted.
 */
#ifndef IO_FILE_FILE_BYTES_H
#define IO_FILE_FILE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Reads a range. Returns false with errno, which is 0 if the file ends before. Several threads may
   call it at once, and so may a sandboxed process. */
bool ts_file_read_at(int fd, void *out, size_t bytes, uint64_t offset);
/* Reads a range to n places, one after the other; it changes `places`. Fails as ts_file_read_at
   does. */
bool ts_file_read_to(int fd, struct iovec *places, int n, uint64_t offset);
/* Writes a range. Returns false with errno. */
bool ts_file_write_at(int fd, const void *data, size_t bytes, uint64_t offset);
/* Returns the English text of an errno, in any locale. */
const char *ts_errno_text(int error_number);

#endif
