/* SPDX-License-Identifier: Apache-2.0
 *
 * An HDF5 file that another program wrote, opened as an input. The library follows no link by itself here: paths are
 * walked name by name, soft links within the file, external links only to files inside the folder of the first.
 * All functions but open and close stand between ts_hdf5_enter and ts_hdf5_leave.
 */
#ifndef IO_HDF5_INPUT_H
#define IO_HDF5_INPUT_H

#include <sys/types.h>

#include "io/hdf5_error.h"
#include "pipeline/arena.h"
#include "pipeline/params.h"

enum { HDF5_INPUT_FILES = 8, HDF5_INPUT_LINKS = 16, HDF5_INPUT_PATH = 1024, HDF5_INPUT_NAMES = 4096 };

struct hdf5_input_file {
    hid_t id;
    dev_t device;
    ino_t inode;
    int64_t bytes;
};

struct hdf5_input {
    const char *path;            /* as the chain names it; for messages */
    const struct param_set *set; /* of the source; its first row is the path; only used while opening */
    struct ts_diag *diag;        /* likewise */
    struct arena *arena;
    char *folder; /* real path of the folder that holds the file; external links stay in it */
    int n_files;
    struct hdf5_input_file files[HDF5_INPUT_FILES]; /* the file itself, then those that links lead to */
};

/* input->path, set, diag and arena are set. TS_BAD_INPUT where the file is none, truncated or not readable. */
enum ts_status ts_hdf5_input_open(struct hdf5_input *input);
/* The files, those that links led to as well. */
void ts_hdf5_input_close(struct hdf5_input *input);
/* Whether this file is one of them. */
bool ts_hdf5_input_holds(const struct hdf5_input *input, dev_t device, ino_t inode);

/* A record of status TS_BAD_INPUT: "PATH: message". */
enum ts_status ts_hdf5_input_refuse(const struct hdf5_input *input, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same out of the error stack: "PATH: WHAT cannot be read: reason". */
enum ts_status ts_hdf5_input_unreadable(const struct hdf5_input *input, const char *what);

/* Opens the object of this path below `from`; *object is -1 where there is none. TS_BAD_INPUT where a link on the way
 * leads where it may not. */
enum ts_status ts_hdf5_input_find(struct hdf5_input *input, hid_t from, const char *path, hid_t *object);
/* The names of a group's links, in order; the arena holds them. At most HDF5_INPUT_NAMES. */
enum ts_status ts_hdf5_input_names(struct hdf5_input *input, hid_t group, const char ***names, size_t *n);
/* Text of an attribute, or of a scalar dataset where `attribute` is NULL; "" where there is none such. TS_BAD_INPUT
 * where there is one that cannot be read. */
enum ts_status ts_hdf5_input_text(const struct hdf5_input *input, hid_t object, const char *attribute, char *out,
                                  size_t size);
/* Whether it is a group whose NX_class is this one; looked at where *status is TS_OK alone, which a class that cannot
 * be read ends. */
bool ts_hdf5_input_is_class(const struct hdf5_input *input, hid_t object, const char *nx_class, enum ts_status *status);

#endif
