/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and writing ranges of a file whole. The kernel may transfer a part or be interrupted; these go on.
 */
#ifndef IO_FILE_FILE_BYTES_H
#define IO_FILE_FILE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False with errno, which is 0 where the file ended before. Safe in several threads at once and in a sandbox. */
bool ts_file_read_at(int fd, void *out, size_t bytes, uint64_t offset);
/* False with errno. */
bool ts_file_write_at(int fd, const void *data, size_t bytes, uint64_t offset);
/* The English text of an errno, in any locale. */
const char *ts_errno_text(int error_number);

#endif
