/* SPDX-License-Identifier: Apache-2.0
 *
 * This lists the datasets and links of an HDF5 file of any program, and its NXprocess groups with
 * their members. A sandboxed child walks the file and describes each object in short texts; the
 * parent parses the answer and trusts no number in it.
 */
#ifndef IO_HDF5_HDF5_LIST_H
#define IO_HDF5_HDF5_LIST_H

#include "core/arena.h"
#include "io/hdf5/hdf5_child.h"
#include "io/hdf5/hdf5_storage.h"
#include "io/hdf5/hdf5_walk.h"

/* These functions write short texts about an object of any HDF5 file: its type, its storage, its
 * value where that is small. They read nothing that is large, lies in other files or needs a filter
 * that is not built in. Call them between enter and leave. */

/* Reads a text of fixed or variable length, cut to size, from an attribute, or from a dataset where
 * `attribute` is NULL. Returns 1 where it is there, 0 where there is none (`out` is then ""), and
 * -1 where the library failed. */
int ts_hdf5_text_of(hid_t object, const char *attribute, char *out, size_t size);
/* Does the same for up to `most` texts: several are written as "[z, y, x]". */
int ts_hdf5_texts_of(hid_t object, const char *attribute, int most, char *out, size_t size);

/* This is a dataset or a link. Texts are NULL where there is none. */
struct hdf5_listed {
    struct hdf5_listed *next;
    enum hdf5_kind kind;
    const char *path, *type, *storage, *units, *quantity, *sha256, *sha256_tree, *value, *target;
    bool value_is_text;
    int rank;
    hsize_t n[H5S_MAX_RANK];
    hsize_t stored_bytes;
};

/* A parameter is a small dataset under an NXprocess. */
struct hdf5_member {
    struct hdf5_member *next;
    const char *name, *value;
    bool text;
};

/* This is an NXprocess. */
struct hdf5_process {
    struct hdf5_process *next;
    const char *path, *program, *version; /* the last two may be NULL */
    long long index;
    struct hdf5_member *parameters;
};

/* The arena holds the list; the texts lie in the answer. */
struct hdf5_listing {
    struct arena *arena;
    struct hdf5_listed *objects;    /* in the order of the walk */
    struct hdf5_process *processes; /* by sequence_index */
    bool any;                       /* something could be listed */
    bool ours;                      /* carries the marks of this program's files */
    bool cut;                       /* the file has more than is listed */
    bool flat; /* set by the caller: members of processes are left among the objects, and
                  `processes` stays empty */
};

/* The child's task has no request, and its answer is for ts_hdf5_list_take. Faults are reported;
 * the answer holds all that was found until then. */
hdf5_task ts_hdf5_task_list;
/* Parses an answer into lists in listing->arena, whose texts stay in the answer. *whole is set
 * where the child found no fault. Returns TS_BAD_INPUT where the answer is malformed, TS_RUN_FAILED
 * where memory is out. The texts are untrusted and may hold control characters. */
enum ts_status ts_hdf5_list_take(const char *answer, size_t bytes, struct hdf5_listing *listing,
                                 bool *whole);

#endif
