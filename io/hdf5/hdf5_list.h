/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists the datasets and links of an HDF5 file of any program, and its NXprocess groups with their
 * members. A sandboxed child walks the file and describes each object in short texts; the parent
 * parses the answer and trusts no number in it.
 */
#ifndef IO_HDF5_HDF5_LIST_H
#define IO_HDF5_HDF5_LIST_H

#include "core/arena.h"
#include "io/hdf5/hdf5_child.h"
#include "io/hdf5/hdf5_storage.h"
#include "io/hdf5/hdf5_walk.h"

/* These functions write short texts about an object of any HDF5 file: its type, its storage, and
   its value if that is small. They read nothing that is large, is in other files or needs a filter
   that is not built in. They must be called between enter and leave. */

/* Reads a text of fixed or variable length, cut to `size`, from an attribute, or from a dataset if
   `attribute` is NULL. Returns 1 if it is there, 0 if not (`out` is then ""), -1 if the library
   failed. */
int ts_hdf5_text_of(hid_t object, const char *attribute, char *out, size_t size);
/* Does the same for up to `most` texts: several become "[z, y, x]". */
int ts_hdf5_texts_of(hid_t object, const char *attribute, int most, char *out, size_t size);

/* A dataset or a link. Texts are NULL if there is none. */
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

/* An NXprocess group. */
struct hdf5_process {
    struct hdf5_process *next;
    const char *path, *program, *version; /* the last two may be NULL */
    long long index;
    struct hdf5_member *parameters;
};

/* The arena holds the list; the texts are in the answer. */
struct hdf5_listing {
    struct arena *arena;
    struct hdf5_listed *objects;    /* in the order of the walk */
    struct hdf5_process *processes; /* by sequence_index */
    bool any;                       /* something could be listed */
    bool ours;                      /* has the marks of this program's files */
    bool cut;                       /* the file has more objects than are listed */
    /* set by the caller: members of processes are kept among the objects, and `processes` stays
       empty */
    bool flat;
};

/* The child's task, which has no request; its answer is for ts_hdf5_list_take. Faults are reported;
   the answer holds all that was found before. */
hdf5_task ts_hdf5_task_list;
/* Parses an answer into lists in listing->arena; their texts stay in the answer. *whole is set if
   the child found no fault. Returns TS_BAD_INPUT if the answer is malformed, TS_RUN_FAILED if
   memory is out. The texts are untrusted and may contain control characters. */
enum ts_status ts_hdf5_list_take(const char *answer, size_t bytes, struct hdf5_listing *listing,
                                 bool *whole);

#endif
