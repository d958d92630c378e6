/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a file that appears under its name whole or not at all. It is written without any name
 * (O_TMPFILE) and linked to its name at the end, so that nothing is left of it however the process
 * ends. If the file system cannot do that, it is written as `.NAME.tomostage-tmp.PID.RANDOM` in the
 * same folder and renamed. A file that replaces another one has such a name for a moment, too. If
 * the process is killed then, the name stays until the next process that writes NAME removes it.
 */
#ifndef IO_FILE_FILE_COMMIT_H
#define IO_FILE_FILE_COMMIT_H

#include "core/diag.h"

struct file_commit {
    char *path;      /* the final name, as the user wrote it */
    char *folder;    /* the folder that it is in */
    char *temporary; /* path of the temporary file, which is in the folder */
    bool named;      /* the file has its temporary name; else it has no name yet */
    int fd;          /* descriptor of the file */
    bool force;      /* an existing file may be replaced */
};

/* Records "MESSAGE: reason (errno)" for an output that cannot be written, and returns
   TS_RUN_FAILED. A full disk, a quota and a limit of file sizes get the code disk-full and a hint;
   other reasons get `code`. */
enum ts_status ts_file_failed(struct ts_diag *diag, const char *code, int error, const char *format,
                              ...) __attribute__((format(printf, 4, 5)));
/* Returns true for the errno of a full disk, a quota or a limit of file sizes. */
bool ts_file_is_full(int error);

/* Checks before a run if the path can be written, and leaves nothing behind. Returns TS_RUN_FAILED
   if it exists (without `force`) or is a folder, or if its folder is missing or not writable. Warns
   of too little space for `bytes`, the size of the output without compression (0: not known). */
enum ts_status ts_file_check(const char *path, bool force, int64_t bytes, struct ts_diag *diag);
/* Removes what dead processes have left of an output of this name in the folder, files and folders,
 * with a note each. */
void ts_file_remove_stale(const char *folder, const char *base, struct ts_diag *diag);
/* Removes temporary files of dead processes for this name, with a note each, and then creates the
 * file. */
enum ts_status ts_file_create(struct file_commit *file, const char *path, bool force,
                              struct ts_diag *diag);
/* Gives the file the mode of a new one, and syncs it to the disk. */
enum ts_status ts_file_sync(const struct file_commit *file, struct ts_diag *diag);
/* Gives the file its name and syncs the folder. */
enum ts_status ts_file_publish(struct file_commit *file, struct ts_diag *diag);
/* Removes the temporary file if there is one, closes it and frees the struct's texts. */
void ts_file_clear(struct file_commit *file);
/* Returns true if both names lead to one existing file. NULL leads to none. */
bool ts_file_is_same(const char *a, const char *b);
/* Makes up the name of a folder for results that nobody keeps, in $TMPDIR or /tmp:
   `.tomostage-KIND.tomostage-tmp.PID.RANDOM`. Removes folders that dead processes have left, with a
   note each. The folder is not created yet, so that a signal before the run leaves none. */
enum ts_status ts_private_folder_name(const char *kind, char *folder, size_t size,
                                      struct ts_diag *diag);
/* Creates that folder, which only this user can open. */
enum ts_status ts_private_folder_make(const char *folder, struct ts_diag *diag);
/* Returns the folder of a path; the caller frees it. NULL if memory is out. */
char *ts_file_folder(const char *path);
/* Syncs a folder, so that a new name in it survives a power cut. A failure is only a warning, since
   the output at `path` is whole. */
void ts_file_sync_folder(const char *folder, const char *path, struct ts_diag *diag);
/* Opens a file without a name in the folder, for data that later move to the output `base`. Returns
   -1 with errno if it cannot. */
int ts_file_scratch(const char *folder, const char *base);

/* A staged output is a file, or a folder of files, that is written under a temporary name beside
 * its final one. Several of them can be published together: a name that was given can be taken back
 * until the last one has its own, and what it had replaced is there again. */

struct staged {
    bool is_folder, force, published;
    struct file_commit file; /* of a file: what is written goes to its `fd` */
    char *path, *folder;     /* of a folder: its final name, and the folder that contains it */
    /* For a folder: its temporary name, and after publishing that of the folder that it replaced.
       For a file: the second name of the file that it replaced. */
    char *temporary;
    bool has_old; /* `temporary` names what was replaced */
};

/* The files that a folder of this kind may hold: slices whose names end in `suffix`, or files of
   these names. */
struct staged_content {
    const char *suffix;       /* NULL: no slices */
    const char *const *names; /* ends with NULL; NULL: none */
};

/* Checks before a run if the folder can be made: its parent accepts files, and it does not exist,
   is empty, or, with `force`, holds only files of a folder like this one. Returns TS_RUN_FAILED
   otherwise. Warns of too little space for `bytes` (0: not known). */
enum ts_status ts_staged_check_folder(const char *path, const struct staged_content *content,
                                      bool force, int64_t bytes, struct ts_diag *diag);
/* Create the file or the folder under its temporary name. ts_staged_clear must follow, even after a
   failure. */
enum ts_status ts_staged_file(struct staged *staged, const char *path, bool force,
                              struct ts_diag *diag);
enum ts_status ts_staged_folder(struct staged *staged, const char *path,
                                const struct staged_content *content, bool force,
                                struct ts_diag *diag);
/* Creates file `number` of `n`, counted from 0 or 1, in a staged folder. Returns a descriptor for
   writing, or -1 with errno. Several threads may call it. */
int ts_staged_create_part(const struct staged *staged, int64_t number, int64_t n,
                          const char *suffix);
/* Syncs the contents of the output, and the names in a folder, to the disk. */
enum ts_status ts_staged_sync(const struct staged *staged, struct ts_diag *diag);
/* Gives the output its name. It must have been synced. */
enum ts_status ts_staged_publish(struct staged *staged, struct ts_diag *diag);
/* Takes the name back from a published output, and restores what it had replaced. */
void ts_staged_retract(struct staged *staged);
/* Removes what is not published, or else what was replaced, and frees the struct's texts. */
void ts_staged_clear(struct staged *staged);

#endif
