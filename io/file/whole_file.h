/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes files that fit in memory, such as plots, pages and tables, from beginning to end through a
 * stream of the C library. Such a file appears under its name whole or not at all, and survives a
 * power cut, like an output of a run (io/file/file_commit.h). An existing device or pipe is written
 * directly. The caller checks before long work if the file can be written, opens it when its
 * contents are ready, and closing it reports if it got its name. Existing files are replaced only
 * if the user asked for it.
 */
#ifndef IO_FILE_WHOLE_FILE_H
#define IO_FILE_WHOLE_FILE_H

#include <stdio.h>

#include "io/file/file_commit.h"

struct whole_file {
    FILE *stream; /* takes what is written; NULL: the file is not open */
    char *bytes;  /* the n bytes that were written to the stream so far */
    size_t n;
    struct file_commit commit; /* has no path if a device or a pipe is written */
    const char *path;          /* the caller's */
};

/* Checks before long work that the file can be made or replaced; changes nothing. Returns
   TS_RUN_FAILED if it cannot; the codes are not-written and those of ts_file_check. */
enum ts_status ts_whole_file_check(const char *path, bool replace, struct ts_diag *diag);
/* Opens a file for writing, or fails as the check does. If it was opened, ts_whole_file_close must
   follow. */
enum ts_status ts_whole_file_open(struct whole_file *file, const char *path, bool replace,
                                  struct ts_diag *diag);
/* Writes and closes the file and gives it its name. If that fails, returns TS_RUN_FAILED (code
   not-written, or that of ts_file_publish), and an existing file stays unchanged. */
enum ts_status ts_whole_file_close(struct whole_file *file, struct ts_diag *diag);
/* Closes a file whose contents could not be made. It gets no name. */
void ts_whole_file_discard(struct whole_file *file);

#endif
