/* SPDX-License-Identifier: Apache-2.0
 *
 * A staged output is a file, or a folder of files, that is written under a temporary name beside
 * its final one. Several of them can be published together: a name that was given can be taken back
 * until the last one has its own, and what it had replaced is there again.
 */
#ifndef IO_FILE_STAGED_H
#define IO_FILE_STAGED_H

#include "io/file/file_commit.h"

/* The names of the files in a staged folder: `slice_` and a number from 1, with leading zeros, and
 * then the suffix. */
#define STAGED_NAME "slice_"

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
