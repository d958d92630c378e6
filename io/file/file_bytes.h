/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions read and write ranges of a file whole. The kernel may transfer a part or be
 * interrupted; they then go on.
 */
#ifndef IO_FILE_FILE_BYTES_H
#define IO_FILE_FILE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Reads a range. Returns false with errno, which is 0 where the file ended before. Several threads
 * may call it at once, and so may a sandboxed process. */
bool ts_file_read_at(int fd, void *out, size_t bytes, uint64_t offset);
/* Reads a range to n places, one after the other, and changes `places`. Fails as the function above
 * does. */
bool ts_file_read_to(int fd, struct iovec *places, int n, uint64_t offset);
/* Writes a range. Returns false with errno. */
bool ts_file_write_at(int fd, const void *data, size_t bytes, uint64_t offset);
/* Returns the English text of an errno, in any locale. */
const char *ts_errno_text(int error_number);

#endif
