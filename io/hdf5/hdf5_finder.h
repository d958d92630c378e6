/* SPDX-License-Identifier: Apache-2.0
 *
 * The tasks of a session that find objects in a foreign file and describe them. The library follows
 * no link by itself: paths are walked name by name, with soft links within the file. An external
 * link ends the walk, and the parent decides if the child gets the file behind it. Requests and
 * answers are the bytes of the structures below.
 */
#ifndef IO_HDF5_HDF5_FINDER_H
#define IO_HDF5_HDF5_FINDER_H

#include "io/hdf5/hdf5_child.h"

enum {
    FINDER_LINKS = 16,
    FINDER_NAME = 1024,
    FINDER_PATH = 4096,
    FINDER_NAMES = 4096,
    FINDER_NUMBERS = 16
};

enum finder_kind { FINDER_NONE, FINDER_GROUP, FINDER_DATASET, FINDER_OTHER };

struct find_request {
    int64_t from;    /* the child's number of the object from which to start */
    int32_t n_links; /* number of links that were followed already */
    char path[FINDER_PATH];
};

struct find_answer {
    /* enum finder_kind; FINDER_NONE: there is no such object, or a link leads to another file */
    int32_t kind;
    int32_t rank;      /* rank of a dataset; -1: not known */
    int64_t object;    /* the child's number */
    char nx_class[64]; /* NX_class of a group; "": none */
    /* if a link leads to another file: number of links followed so far, including this one */
    int32_t n_links;
    char file[FINDER_NAME + 1]; /* "": no such link */
    char path[FINDER_PATH];     /* the rest of the path, from the root of that file */
};

struct object_request {
    int64_t object;
};

struct attribute_request {
    int64_t object;
    int32_t of_dataset; /* the text is the value of the dataset; there is no attribute */
    int32_t n;          /* most texts; or expected numbers, at most FINDER_NUMBERS */
    char name[64];
};

struct numbers_answer {
    int32_t there; /* true if there is such an attribute */
    int32_t n;     /* as expected; 0: it does not hold so many finite numbers */
    double values[FINDER_NUMBERS];
};

hdf5_task ts_hdf5_task_find;    /* find_request, find_answer */
hdf5_task ts_hdf5_task_release; /* object_request, nothing */
/* Request: object_request. The answer lists a group's links, at most FINDER_NAMES: a kind byte (h,
 * s, e, o) and a zero-terminated name each. It is empty for other objects. */
hdf5_task ts_hdf5_task_names;
/* Request: attribute_request. The answer has FINDER_NAME bytes with a final zero; "" if there is no
   such text. Attribute names match in any case. */
hdf5_task ts_hdf5_task_text;
hdf5_task ts_hdf5_task_numbers; /* attribute_request, numbers_answer */
/* attribute_request, whose n is the number of an axis. The answer has FINDER_NAME bytes: the path
 * of the first dimension scale of that axis, or "". */
hdf5_task ts_hdf5_task_scale;
hdf5_task ts_hdf5_task_describe; /* object_request; what ts_hdf5_storage_write writes */
hdf5_task ts_hdf5_task_table;    /* object_request; what ts_hdf5_storage_write_table writes */

/* Walks a path as ts_hdf5_task_find does, for other tasks in the child. */
enum ts_status ts_hdf5_walk_path(const struct hdf5_child *child, const struct find_request *request,
                                 struct find_answer *answer, struct ts_diag *diag);

#endif
