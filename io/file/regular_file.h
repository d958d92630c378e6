/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens an input that must be a regular file. A path may lead to a FIFO, for which opening would
 * wait forever, or to a device, on which opening may act: both are refused unopened.
 */
#ifndef IO_FILE_REGULAR_FILE_H
#define IO_FILE_REGULAR_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "core/diag.h"

/* Opens for reading and follows symbolic links. If it cannot, returns -1 with the reason, such as
   "cannot be read: ERRNO TEXT", "is a FIFO, not a file" or "is a link to TARGET, which cannot be
   read: ERRNO TEXT". Refuses an empty file too, since no format has such files: "is empty: it has
   no bytes". */
int ts_regular_file_open(const char *path, struct stat *found, char *reason, size_t size);
/* Checks a file again: the descriptor, or the path if fd is -1. Returns TS_BAD_INPUT if it has
   changed (file-changed), or if the system cannot tell (input-unreadable, with the reason). The
   site has the span and owner. */
enum ts_status ts_regular_file_recheck(const char *path, int fd, const struct stat *found,
                                       struct diag_site site, struct ts_diag *diag);
/* Writes, in the form above, why a system call failed on the path with this errno. Returns -1. */
int ts_regular_file_fail(const char *path, int error, char *reason, size_t size);

#endif
