/* SPDX-License-Identifier: Apache-2.0
 *
 * Visits all objects of an HDF5 file in a fixed order (names rising, depth first), within bounds.
 * Hard links are followed once per object; soft and external links are named, never followed.
 */
#ifndef IO_HDF5_HDF5_WALK_H
#define IO_HDF5_HDF5_WALK_H

#include "io/hdf5/hdf5_error.h"

enum hdf5_kind {
    HDF5_GROUP,
    HDF5_DATASET,
    HDF5_TYPE,
    HDF5_SOFT_LINK,
    HDF5_EXTERNAL_LINK,
    HDF5_OTHER_LINK,
    HDF5_SEEN
};

enum { HDF5_WALK_OBJECTS = 10000, HDF5_WALK_DEPTH = 32, HDF5_WALK_PATH = 2048 };

struct hdf5_object {
    const char *path;
    enum hdf5_kind kind; /* HDF5_SEEN: a further hard link to an object that was visited before */
    hid_t id;            /* open; only of groups, datasets and types */
    const char *target;  /* of a soft link: its path; of an external link: its file; of HDF5_SEEN:
                            the first path of the object */
    const char *inside;  /* of an external link: the path in that file */
};

/* Handles one object. Returning false ends the walk. */
typedef bool hdf5_visitor(void *user, const struct hdf5_object *object);

enum hdf5_walk_end { HDF5_WALK_DONE, HDF5_WALK_STOPPED, HDF5_WALK_LIMIT, HDF5_WALK_FAILED };

/* Visits every object, the root group first. Must be called between enter and leave. If the walk
   ends early, `at` (HDF5_WALK_PATH bytes) becomes the path where it ended. */
enum hdf5_walk_end ts_hdf5_walk(hid_t file, hdf5_visitor *visitor, void *user, char *at);

#endif
