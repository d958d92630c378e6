/* SPDX-License-Identifier: Apache-2.0
 *
 * This writes a file that appears under its name whole or not at all. It is written without any name (O_TMPFILE) and
 * linked to its name at the end, so that nothing is left of it however the process ends. Where the file system cannot
 * do that it is written as `.NAME.tomostage-tmp.PID.RANDOM` in the same folder and renamed; a file has that name for a
 * moment, too, where another one is replaced. A process that is killed then leaves it behind, and the next one that
 * writes NAME removes it.
 */
#ifndef IO_FILE_FILE_COMMIT_H
#define IO_FILE_FILE_COMMIT_H

#include "core/diag.h"

struct file_commit {
    char *path;      /* the final name, as the user wrote it */
    char *folder;    /* the folder that it is in */
    char *temporary; /* path of the temporary file, in the folder */
    bool named;      /* the file is there; else it has no name yet */
    int fd;          /* descriptor of the file */
    bool force;      /* an existing file may be replaced */
};

/* Checks before a run whether the path can be written. Returns TS_RUN_FAILED where it exists (without force), is a
 * folder, or its folder is missing or not writable; nothing is left behind. Too little space for `bytes`, the output
 * without compression (0: not known), is a warning. */
enum ts_status ts_file_check(const char *path, bool force, int64_t bytes, struct ts_diag *diag);
/* Removes temporary files of dead processes for this name, with a note each, and then creates the file. */
enum ts_status ts_file_create(struct file_commit *file, const char *path, bool force, struct ts_diag *diag);
/* Syncs contents to the disk. */
enum ts_status ts_file_sync(const struct file_commit *file, struct ts_diag *diag);
/* Gives the file its name and syncs the folder. */
enum ts_status ts_file_publish(struct file_commit *file, struct ts_diag *diag);
/* Removes the temporary file where there is one, closes it and frees the struct's texts. */
void ts_file_clear(struct file_commit *file);
/* Opens a file without a name in the same folder, for data that are moved into the output later. Returns -1 with errno
 * where it cannot. */
int ts_file_scratch(const struct file_commit *file);

#endif
