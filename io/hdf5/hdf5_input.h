/* SPDX-License-Identifier: Apache-2.0
 *
 * This opens an HDF5 file that another program wrote as an input. A sandboxed child
 * (io/hdf5/hdf5_session.h) finds objects in it with libhdf5; this process opens the files, of which
 * those that external links and virtual datasets lead to must lie in the folder of the first or one
 * that the chain allows, and reads the values. Once everything has been described the child ends
 * and the open files stay. A file that a virtual dataset takes values from is an input of its own,
 * with a child of its own.
 */
#ifndef IO_HDF5_HDF5_INPUT_H
#define IO_HDF5_HDF5_INPUT_H

#include <sys/types.h>

#include "core/arena.h"
#include "core/params.h"
#include "io/file/file_set.h"
#include "io/hdf5/hdf5_finder.h"
#include "io/hdf5/hdf5_session.h"

enum {
    HDF5_INPUT_FILES = SESSION_FILES,
    HDF5_INPUT_LINKS = FINDER_LINKS,
    HDF5_INPUT_PATH = FINDER_NAME
};
/* Files that virtual datasets take values from, and virtual datasets that take values from one
 * another. */
enum { HDF5_INPUT_SOURCES = 512, HDF5_INPUT_DEPTH = 8 };

/* This is an object of the file, as the child knows it. */
struct hdf5_ref {
    enum finder_kind kind; /* FINDER_NONE: there is no such object */
    int file;              /* index into input->files */
    int rank;              /* rank of a dataset; -1: not known */
    int64_t object;        /* the child's number */
    char nx_class[64];     /* NX_class of a group; "": none */
};

struct hdf5_input_file {
    int fd;
    dev_t device;
    ino_t inode;
    int64_t bytes;
    struct stat found; /* as it was when it was opened */
    struct hdf5_ref root;
    const char *folder; /* real path of the folder that holds it: what its links are relative to */
    const char *path;   /* real path */
};

/* A link of a group is 'h' hard, 's' soft, 'e' external, or 'o' of another kind. */
struct hdf5_name {
    const char *name;
    char kind;
};

struct hdf5_input {
    const char *path; /* as the chain names it; for messages */
    const struct param_set
        *set;             /* parameters of the source, the path first; used only while opening */
    struct ts_diag *diag; /* likewise */
    struct arena *arena;
    const char *folders[2];       /* real paths: links stay in the folder of the file, or in that of
                                     `allow` (or NULL) */
    struct hdf5_session *session; /* NULL: ended */
    int n_files;
    struct hdf5_input_file
        files[HDF5_INPUT_FILES]; /* the file itself, then those that links lead to */
    int depth;                   /* of an input that a virtual dataset opened: 1 and more */
    int n_sources;
    struct hdf5_input *
        *sources; /* those of virtual datasets, HDF5_INPUT_SOURCES at most; NULL: none */
};

/* Opens the file; the caller has set input->path, set, diag and arena. Returns TS_BAD_INPUT where
 * it is no HDF5 file, truncated or not readable. */
enum ts_status ts_hdf5_input_open(struct hdf5_input *input);
/* Opens the file that a virtual dataset in file `file` names, or finds it among the input's
 * sources. Its child runs until ts_hdf5_input_found(*source). Returns TS_OK and NULL where there is
 * no such file; TS_BAD_INPUT where it may not be opened or cannot be read. */
enum ts_status ts_hdf5_input_source(struct hdf5_input *input, int file, const char *name,
                                    struct hdf5_input **source);
/* Returns how many files the input has opened. */
int64_t ts_hdf5_input_count(const struct hdf5_input *input);
/* Ends the child: nothing more is found from now on. */
void ts_hdf5_input_found(struct hdf5_input *input);
/* Ends the child and closes the files, those that links led to as well. */
void ts_hdf5_input_close(struct hdf5_input *input);
/* Returns true where one of these files is open. */
bool ts_hdf5_input_holds(const struct hdf5_input *input, const struct file_set *files);

/* Returns TS_BAD_INPUT (file-changed) where one of them was changed since it was opened. */
enum ts_status ts_hdf5_input_check_unchanged(const struct hdf5_input *input, struct ts_diag *diag);

/* Records "PATH: message" with TS_BAD_INPUT, and returns it. */
enum ts_status ts_hdf5_input_refuse(const struct hdf5_input *input, const char *code,
                                    const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Finds the object of this path below `from`. Returns TS_BAD_INPUT where a link on the way leads
 * where it may not. */
enum ts_status ts_hdf5_input_find(struct hdf5_input *input, const struct hdf5_ref *from,
                                  const char *path, struct hdf5_ref *found);
/* Finds the object of this path below the root of the file. */
enum ts_status ts_hdf5_input_find_root(struct hdf5_input *input, const char *path,
                                       struct hdf5_ref *found);
/* Lets the child carry out a task whose request is an object alone. The caller frees *answer with
 * free(). */
enum ts_status ts_hdf5_input_call(const struct hdf5_input *input, hdf5_task *task,
                                  const struct hdf5_ref *object, void **answer, size_t *bytes);
/* Lets the child forget an object, for loops over many. Does nothing for one of kind
 * FINDER_NONE. */
void ts_hdf5_input_release(struct hdf5_input *input, struct hdf5_ref *ref);
/* Lists a group's links in order, at most FINDER_NAMES. Other objects have none. The arena holds
 * the list. */
enum ts_status ts_hdf5_input_names(struct hdf5_input *input, const struct hdf5_ref *group,
                                   struct hdf5_name **names, size_t *n);
/* Reads the text of an attribute, which is found in any case of letters if none has the very name,
 * or of a scalar dataset where `attribute` is NULL; "" where there is none. Returns TS_BAD_INPUT
 * where there is one that cannot be read. */
enum ts_status ts_hdf5_input_text(const struct hdf5_input *input, const struct hdf5_ref *object,
                                  const char *attribute, char *out, size_t size);
/* Does the same for up to `most` texts: several are given as "[z, y, x]". */
enum ts_status ts_hdf5_input_texts(const struct hdf5_input *input, const struct hdf5_ref *object,
                                   const char *attribute, int most, char *out, size_t size);
/* Reads n numbers of an attribute; n is at most FINDER_NUMBERS. *found becomes n, 0 where the
 * attribute does not hold so many finite numbers, or -1 where there is no such attribute. One
 * number may be written as a text. */
enum ts_status ts_hdf5_input_numbers(const struct hdf5_input *input, const struct hdf5_ref *object,
                                     const char *name, int n, double *values, int *found);
/* Returns true where it is a group of this NX_class. */
bool ts_hdf5_input_is_class(const struct hdf5_ref *object, const char *nx_class);

#endif
