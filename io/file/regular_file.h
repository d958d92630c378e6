/* SPDX-License-Identifier: Apache-2.0
 *
 * This opens an input that must be a regular file. A path may lead to a FIFO, which would wait for
 * ever, or to a device, which may do something when it is opened: both are refused unopened.
 */
#ifndef IO_FILE_REGULAR_FILE_H
#define IO_FILE_REGULAR_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "core/diag.h"

/* Opens for reading; symbolic links are followed. Returns -1 with the reason where it cannot, such
 * as "cannot be read: ERRNO TEXT", "is a FIFO, not a file", "is a link to TARGET, which cannot be
 * read: ERRNO TEXT". A file without bytes is refused too, as no format has such files: "is empty:
 * it has no bytes". */
int ts_regular_file_open(const char *path, struct stat *found, char *reason, size_t size);
/* Looks at a file again: at the descriptor, or at the path if fd is -1. Returns TS_BAD_INPUT if it
 * is not as it was found (file-changed), or if the system does not say so (input-unreadable, with
 * the reason). The site has the span and owner. */
enum ts_status ts_regular_file_recheck(const char *path, int fd, const struct stat *found,
                                       struct diag_site site, struct ts_diag *diag);
/* Writes the reason, as above, of a system call that failed on the path with this errno. Returns
 * -1. */
int ts_regular_file_fail(const char *path, int error, char *reason, size_t size);

#endif
