/* SPDX-License-Identifier: Apache-2.0
 *
 * This makes the list of studies of a batch from what the command line names: folders, files,
 * patterns, and lists in text files. The order is that of the command line and of the lists, so
 * that shards of equal lists never overlap. Outputs are named after the studies, and no two of a
 * list have the same name.
 */
#ifndef PROGRAM_BATCH_STUDIES_H
#define PROGRAM_BATCH_STUDIES_H

#include <sys/types.h>

#include "core/arena.h"
#include "core/diag.h"
#include "io/file/digest.h"

enum study_state {
    STUDY_PLANNED,
    STUDY_REFUSED, /* the plan found something wrong */
    STUDY_RUNNING,
    STUDY_DONE,
    STUDY_FOUND, /* the output was there already, and was verified */
    STUDY_FAILED,
    STUDY_STOPPED /* a signal stopped it while it ran */
};

struct batch_study {
    const char *input;       /* path, relative to the current folder */
    const char *name;        /* file name of the output */
    const char *output;      /* its path */
    const char *const *sets; /* parameters of this study, as --set takes them */
    int n_sets;
    enum study_state state;
    enum ts_status status; /* the error for which it was refused or failed */
    bool waited;           /* it had to wait, because another batch had its lock */
    double begin, seconds; /* of its process */
    int warnings;
    char digest[DIGEST_TEXT_BYTES]; /* "": there is no result */
    const char *message;            /* the first error; NULL: none */
    double part;                    /* how much of a run is done, from 0 to 1 */
    bool replace;                   /* the result is there and proven, but another output is not */
    pid_t pid;
    int lock, errors; /* descriptors while it runs */
    char *said;       /* its messages so far, without lines of progress; NULL: none */
    size_t n_said, n_read;
};

struct studies {
    struct arena *arena; /* owns all texts; set by the caller */
    struct batch_study *items;
    size_t n, capacity; /* free(items) */
};

/* Adds what an operand names: a folder or a file, which is one study; a pattern of the shell, such
   as 'studies/x*', whose matches are sorted by bytes (a folder with such a name is one of them); a
   file `*.txt` with a path in each line; or a file `*.tsv` whose first row names columns: `input`
   is required, `output` names the result, and any other is a parameter as in --set. Paths in lists
   are relative to the list's folder. An empty cell changes nothing; empty lines and lines that
   begin with # are skipped. A study that is named twice is added once. Returns TS_BAD_INPUT if
   nothing matches a pattern or a list cannot be read, TS_BAD_CHAIN if a list is malformed. */
enum ts_status ts_studies_add(struct studies *studies, const char *operand, struct ts_diag *diag);
/* Adds one path, whatever it looks like, unless it is in the list. */
enum ts_status ts_studies_add_path(struct studies *studies, const char *path, struct ts_diag *diag);
/* Names the outputs that no list has named: the study's name with `.h5`. If several studies have
   the same name, in any case, each also gets 8 digits of the SHA-256 of its absolute path and
   parameters, which do not depend on the order of the list. Returns TS_BAD_CHAIN if two outputs
   still have the same name or a name is no plain file name. */
enum ts_status ts_studies_name(struct studies *studies, const char *folder, struct ts_diag *diag);

#endif
