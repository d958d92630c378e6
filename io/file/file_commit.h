/* SPDX-License-Identifier: Apache-2.0
 *
 * This writes a file that appears under its name whole or not at all. It is written without any
 * name (O_TMPFILE) and linked to its name at the end, so that nothing is left of it however the
 * process ends. Where the file system cannot do that it is written as
 * `.NAME.tomostage-tmp.PID.RANDOM` in the same folder and renamed; a file has that name for a
 * moment, too, where another one is replaced. A process that is killed then leaves it behind, and
 * the next one that writes NAME removes it.
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

/* Records "MESSAGE: reason (errno)" for an output that cannot be written, and returns
 * TS_RUN_FAILED. A full disk, a quota and a limit of file sizes have the code disk-full and a hint,
 * all else has `code`. */
enum ts_status ts_file_failed(struct ts_diag *diag, const char *code, int error, const char *format,
                              ...) __attribute__((format(printf, 4, 5)));
/* Returns true for the errno of a full disk, a quota or a limit of file sizes. */
bool ts_file_is_full(int error);

/* Checks before a run whether the path can be written. Returns TS_RUN_FAILED where it exists
 * (without force), is a folder, or its folder is missing or not writable; nothing is left behind.
 * Too little space for `bytes`, the output without compression (0: not known), is a warning. */
enum ts_status ts_file_check(const char *path, bool force, int64_t bytes, struct ts_diag *diag);
/* Removes temporary files of dead processes for this name, with a note each, and then creates the
 * file. */
enum ts_status ts_file_create(struct file_commit *file, const char *path, bool force,
                              struct ts_diag *diag);
/* Gives the file the mode of a new one, and syncs it to the disk. */
enum ts_status ts_file_sync(const struct file_commit *file, struct ts_diag *diag);
/* Gives the file its name and syncs the folder. */
enum ts_status ts_file_publish(struct file_commit *file, struct ts_diag *diag);
/* Removes the temporary file where there is one, closes it and frees the struct's texts. */
void ts_file_clear(struct file_commit *file);
/* Returns true where both names lead to one file that is there. NULL leads to none. */
bool ts_file_is_same(const char *a, const char *b);
/* Names a folder for results that nobody keeps, in $TMPDIR or /tmp:
 * `.tomostage-KIND.tomostage-tmp.PID.RANDOM`. Removes those that dead processes have left, with a
 * note each. It is not made yet, so that a signal before the run leaves none. */
enum ts_status ts_private_folder_name(const char *kind, char *folder, size_t size,
                                      struct ts_diag *diag);
/* Makes it, for this user alone. */
enum ts_status ts_private_folder_make(const char *folder, struct ts_diag *diag);
/* Returns the folder of a path, allocated; NULL where memory is out. */
char *ts_file_folder(const char *path);
/* Syncs a folder, so that a new name in it survives a power cut. A failure is a warning: what
 * `path` names is whole. */
void ts_file_sync_folder(const char *folder, const char *path, struct ts_diag *diag);
/* Opens a file without a name in the folder, for data that are moved into the output `base` later.
 * Returns -1 with errno where it cannot. */
int ts_file_scratch(const char *folder, const char *base);

/* A staged output is a file, or a folder of files, that is written under a temporary name beside
 * its final one. Several of them can be published together: a name that was given can be taken back
 * until the last one has its own, and what it had replaced is there again. */

struct staged {
    bool is_folder, force, published;
    struct file_commit file; /* of a file: `fd` takes what is written */
    char *path, *folder;     /* of a folder: its final name, and the folder in which it is made */
    /* A folder has its temporary name here, and after publishing that of the folder that it
     * replaced; a file has the second name of the file that it replaced. */
    char *temporary;
    bool has_old; /* `temporary` names what was replaced */
};

/* The files that a folder of this kind holds: the slices that end in `suffix`, or files of these
 * names. */
struct staged_content {
    const char *suffix;       /* NULL: no slices */
    const char *const *names; /* ends with NULL; NULL: no names */
};

/* Checks before a run whether the folder can be made: its parent takes files, and it is not there,
 * or is empty, or with `force` holds nothing but files of a folder like this one. TS_RUN_FAILED
 * otherwise. Too little space for `bytes` (0: not known) is a warning. */
enum ts_status ts_staged_check_folder(const char *path, const struct staged_content *content,
                                      bool force, int64_t bytes, struct ts_diag *diag);
/* Create the file or the folder under its temporary name. In every case ts_staged_clear ends it. */
enum ts_status ts_staged_file(struct staged *staged, const char *path, bool force,
                              struct ts_diag *diag);
enum ts_status ts_staged_folder(struct staged *staged, const char *path,
                                const struct staged_content *content, bool force,
                                struct ts_diag *diag);
/* Creates file `number` (from 1) of at most `n` in a staged folder. Returns a descriptor to write
 * to, or -1 with errno. Several threads may call it. */
int ts_staged_create_part(const struct staged *staged, int64_t number, int64_t n,
                          const char *suffix);
/* Syncs the contents of the output, and the names in a folder, to the disk. */
enum ts_status ts_staged_sync(const struct staged *staged, struct ts_diag *diag);
/* Gives the output its name. It must be synced. */
enum ts_status ts_staged_publish(struct staged *staged, struct ts_diag *diag);
/* Takes the name back from a published output, and gives it to what was replaced. */
void ts_staged_retract(struct staged *staged);
/* Removes what is not published, or what was replaced, and frees the struct's texts. */
void ts_staged_clear(struct staged *staged);

#endif
