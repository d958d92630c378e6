/* SPDX-License-Identifier: Apache-2.0
 *
 * These tasks of a session find objects in a foreign file and describe them. The library follows no
 * link by itself: paths are walked name by name, soft links within the file; an external link ends
 * the walk, and the parent decides whether the file behind it is handed in. Requests and answers
 * are the bytes of the structures below.
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
    int64_t from;    /* the child's number of the object to start from */
    int32_t n_links; /* that were followed already */
    char path[FINDER_PATH];
};

struct find_answer {
    int32_t kind; /* enum finder_kind; FINDER_NONE: there is no such object, or a link leads out of
                     the file */
    int32_t rank; /* rank of a dataset; -1: not known */
    int64_t object;    /* the child's number */
    char nx_class[64]; /* NX_class of a group; "": none */
    int32_t n_links;   /* where a link leads out of the file: links followed so far, this one too */
    char file[FINDER_NAME + 1]; /* "": no such link */
    char path[FINDER_PATH];     /* the rest of the way, from the root of that file */
};

struct object_request {
    int64_t object;
};

struct attribute_request {
    int64_t object;
    int32_t of_dataset; /* the text is the value of the dataset, and there is no attribute */
    int32_t n;          /* texts at most; numbers that are expected, at most FINDER_NUMBERS */
    char name[64];
};

struct numbers_answer {
    int32_t there; /* whether there is such an attribute */
    int32_t n;     /* as expected; 0: it does not hold so many finite numbers */
    double values[FINDER_NUMBERS];
};

hdf5_task ts_hdf5_task_find;    /* find_request, find_answer */
hdf5_task ts_hdf5_task_release; /* object_request, nothing */
/* Request: object_request. The answer lists a group's links, at most FINDER_NAMES: a kind byte (h,
 * s, e, o) and a zero-terminated name each. It is empty for other objects. */
hdf5_task ts_hdf5_task_names;
/* attribute_request; FINDER_NAME bytes with a final zero, "" where there is no such text.
 * Attributes are found in any case of letters. */
hdf5_task ts_hdf5_task_text;
hdf5_task ts_hdf5_task_numbers;  /* attribute_request, numbers_answer */
hdf5_task ts_hdf5_task_describe; /* object_request; what ts_hdf5_storage_write writes */
hdf5_task ts_hdf5_task_table;    /* object_request; what ts_hdf5_storage_write_table writes */

/* Walks a path as ts_hdf5_task_find does, for other tasks in the child. */
enum ts_status ts_hdf5_walk_path(const struct hdf5_child *child, const struct find_request *request,
                                 struct find_answer *answer, struct ts_diag *diag);

#endif
