/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens an HDF5 file of another program as an input. A sandboxed child (io/hdf5/hdf5_session.h)
 * finds objects in it with libhdf5; this process opens the files, of which those that external
 * links and virtual datasets lead to must be in the folder of the first or one that the chain
 * allows, and reads the values. Once everything has been described the child ends and the open
 * files stay. A file that a virtual dataset takes values from is an input of its own, with a child
 * of its own.
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
/* Limits of the files from which virtual datasets take values, and of how deep virtual datasets may
   refer to one another. */
enum { HDF5_INPUT_SOURCES = 512, HDF5_INPUT_DEPTH = 8 };

/* An object of the file, as the child knows it. */
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
    struct stat found; /* state of the file when it was opened */
    struct hdf5_ref root;
    const char *folder; /* real path of the folder of the file, to which its links are relative */
    const char *path;   /* real path */
};

/* A link of a group: 'h' hard, 's' soft, 'e' external, or 'o' other. */
struct hdf5_name {
    const char *name;
    char kind;
};

struct hdf5_input {
    const char *path; /* as the chain states it; for messages */
    const struct param_set
        *set;                /* parameters of the source, the path first; only used while opening */
    struct ts_diag *diag;    /* likewise */
    struct sandbox *sandbox; /* the server of its processes, as in ts_sandbox_start() */
    struct arena *arena;
    /* real paths: links must stay in the folder of the file or in that of `allow` (which may be
       NULL) */
    const char *folders[2];
    struct hdf5_session *session; /* NULL: ended */
    int n_files;
    struct hdf5_input_file
        files[HDF5_INPUT_FILES]; /* the file itself, then those to which links lead */
    int depth;                   /* 0; of an input that a virtual dataset opened, 1 or more */
    int n_sources;
    struct hdf5_input *
        *sources; /* inputs of virtual datasets, at most HDF5_INPUT_SOURCES; NULL: none */
};

/* Opens the file; the caller has set input->path, set, diag and arena. Returns TS_BAD_INPUT if it
   is not HDF5, is truncated or cannot be read. */
enum ts_status ts_hdf5_input_open(struct hdf5_input *input);
/* Opens the file that a virtual dataset in file `file` names, or finds it among the input's
   sources. Its child runs until ts_hdf5_input_found(*source). Returns TS_OK and NULL if there is no
   such file; TS_BAD_INPUT if it is not allowed or cannot be read. */
enum ts_status ts_hdf5_input_source(struct hdf5_input *input, int file, const char *name,
                                    struct hdf5_input **source);
/* Returns how many files the input has opened. */
int64_t ts_hdf5_input_count(const struct hdf5_input *input);
/* Ends the child; after that, nothing more can be found. */
void ts_hdf5_input_found(struct hdf5_input *input);
/* Ends the child and closes the files, including those to which links led. */
void ts_hdf5_input_close(struct hdf5_input *input);
/* Returns true if one of these files is open here. */
bool ts_hdf5_input_holds(const struct hdf5_input *input, const struct file_set *files);

/* Returns TS_BAD_INPUT (file-changed) if one of them was changed since it was opened. */
enum ts_status ts_hdf5_input_check_unchanged(const struct hdf5_input *input, struct ts_diag *diag);

/* Records "PATH: message" with TS_BAD_INPUT, and returns it. */
enum ts_status ts_hdf5_input_refuse(const struct hdf5_input *input, const char *code,
                                    const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Finds the object at this path below `from`. Returns TS_BAD_INPUT if a link on the way leads to a
   place that is not allowed. */
enum ts_status ts_hdf5_input_find(struct hdf5_input *input, const struct hdf5_ref *from,
                                  const char *path, struct hdf5_ref *found);
/* Finds the object at this path below the root of the file. */
enum ts_status ts_hdf5_input_find_root(struct hdf5_input *input, const char *path,
                                       struct hdf5_ref *found);
/* Lets the child carry out a task whose request is only an object. The caller frees *answer with
   free(). */
enum ts_status ts_hdf5_input_call(const struct hdf5_input *input, hdf5_task *task,
                                  const struct hdf5_ref *object, void **answer, size_t *bytes);
/* Lets the child forget an object, for loops over many. Does nothing for one of kind
 * FINDER_NONE. */
void ts_hdf5_input_release(struct hdf5_input *input, struct hdf5_ref *ref);
/* Lists a group's links in order, at most FINDER_NAMES. Other objects have none. The arena holds
 * the list. */
enum ts_status ts_hdf5_input_names(struct hdf5_input *input, const struct hdf5_ref *group,
                                   struct hdf5_name **names, size_t *n);
/* Reads the text of an attribute (its exact name, else its name in any case), or of a scalar
   dataset if `attribute` is NULL; "" if there is none. Returns TS_BAD_INPUT if it cannot be
   read. */
enum ts_status ts_hdf5_input_text(const struct hdf5_input *input, const struct hdf5_ref *object,
                                  const char *attribute, char *out, size_t size);
/* Does the same for up to `most` texts: several become "[z, y, x]". */
enum ts_status ts_hdf5_input_texts(const struct hdf5_input *input, const struct hdf5_ref *object,
                                   const char *attribute, int most, char *out, size_t size);
/* Reads n numbers of an attribute, at most FINDER_NUMBERS. *found becomes n; 0 if the attribute
   does not hold so many finite numbers; or -1 if there is no such attribute. A single number may be
   written as a text. */
enum ts_status ts_hdf5_input_numbers(const struct hdf5_input *input, const struct hdf5_ref *object,
                                     const char *name, int n, double *values, int *found);
/* Finds the path of the first dimension scale of an axis of a dataset, at most FINDER_NAME bytes
   with the final zero; "" if it has none. */
enum ts_status ts_hdf5_input_scale(const struct hdf5_input *input, const struct hdf5_ref *dataset,
                                   int axis, char path[FINDER_NAME]);
/* Returns true if the object is a group of this NX_class. */
bool ts_hdf5_input_is_class(const struct hdf5_ref *object, const char *nx_class);
/* Finds the first member of a group that is of this NX_class; NONE if there is none. */
enum ts_status ts_hdf5_input_find_class(struct hdf5_input *input, const struct hdf5_ref *group,
                                        const char *nx_class, struct hdf5_ref *found);

#endif
