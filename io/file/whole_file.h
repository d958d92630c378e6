/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions write files from beginning to end through a stream of the C library, such as
 * plots, pages and tables, which fit in memory. Such a file appears under its name whole or not at
 * all, and stays there after a power cut, as an output of a run does (io/file/file_commit.h). A
 * device or a pipe that is there is written as it is. The caller checks before long work whether
 * the file can be written, opens it when its contents are there, and learns from closing it whether
 * it has its name. Existing files are replaced only where the user asked for it.
 */
#ifndef IO_FILE_WHOLE_FILE_H
#define IO_FILE_WHOLE_FILE_H

#include <stdio.h>

#include "io/file/file_commit.h"

struct whole_file {
    FILE *stream; /* takes what is written; NULL: the file is not open */
    char *bytes;  /* hold what was written to the stream until the file is closed, n of them */
    size_t n;
    struct file_commit commit; /* has no path where a device or a pipe is written */
    const char *path;          /* the caller's */
};

/* Checks before long work that the file can be made or replaced, without changing it. Returns
 * TS_RUN_FAILED where it cannot: the codes are those of ts_file_check, or not-written. */
enum ts_status ts_whole_file_check(const char *path, bool replace, struct ts_diag *diag);
/* Opens a file for writing, or fails as the check does. ts_whole_file_close follows where it was
 * opened. */
enum ts_status ts_whole_file_open(struct whole_file *file, const char *path, bool replace,
                                  struct ts_diag *diag);
/* Closes the file, which then has its name. Returns TS_RUN_FAILED (code not-written, or that of
 * ts_file_publish) and leaves what was there before unless every byte was written. */
enum ts_status ts_whole_file_close(struct whole_file *file, struct ts_diag *diag);
/* Closes a file whose contents could not be made. It gets no name. */
void ts_whole_file_discard(struct whole_file *file);

#endif
