/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk is a recursion through H5Literate, at most HDF5_WALK_DEPTH deep and over at most
 * HDF5_WALK_OBJECTS links. Objects with several links are remembered by their address, so that each
 * is visited once and cycles end.
 */
#include "io/hdf5/hdf5_walk.h"

#include <stdlib.h>
#include <string.h>

/* This is an object that has several names. */
struct known {
    haddr_t address;
    char *path;
};

struct walk {
    hdf5_visitor *visitor;
    void *user;
    enum hdf5_walk_end end;
    int n_links, depth;
    struct known known[HDF5_WALK_OBJECTS + 1];
    int n_known;
    char path[HDF5_WALK_PATH], target[HDF5_WALK_PATH];
};

/* Returns the first path of an object that was visited before, or NULL. Objects with one link
   cannot recur; the root group has none that counts. */
static const char *first_path(struct walk *walk, hid_t object, bool *failed)
{
    H5O_info_t info;
    /* For the size of its metadata the library would read heaps, trees and indices, and fail on
       files that are damaged there. */
    *failed = H5Oget_info2(object, &info, H5O_INFO_BASIC | H5O_INFO_META_SIZE) < 0;
    if (*failed)
        return NULL;
    for (int i = 0; i < walk->n_known; i++)
        if (walk->known[i].address == info.addr)
            return walk->known[i].path;
    if (info.rc > 1 || walk->depth == 0) {
        char *path = strdup(walk->path);
        *failed = !path;
        if (path)
            walk->known[walk->n_known++] = (struct known){info.addr, path};
    }
    return NULL;
}

static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *link, void *data);

static void visit_hard(struct walk *walk, hid_t group, const char *name)
{
    struct hdf5_object object = {.path = walk->path, .kind = HDF5_TYPE};
    bool failed = false;
    object.id = H5Oopen(group, name, H5P_DEFAULT);
    if (object.id < 0) {
        walk->end = HDF5_WALK_FAILED;
        return;
    }
    H5I_type_t type = H5Iget_type(object.id);
    if ((object.target = first_path(walk, object.id, &failed)))
        object.kind = HDF5_SEEN;
    else if (type == H5I_GROUP)
        object.kind = HDF5_GROUP;
    else if (type == H5I_DATASET)
        object.kind = HDF5_DATASET;
    if (failed)
        walk->end = HDF5_WALK_FAILED;
    else if (!walk->visitor(walk->user, &object))
        walk->end = HDF5_WALK_STOPPED;
    else if (object.kind == HDF5_GROUP && walk->depth >= HDF5_WALK_DEPTH)
        walk->end = HDF5_WALK_LIMIT;
    if (walk->end == HDF5_WALK_DONE && object.kind == HDF5_GROUP) {
        walk->depth++;
        if (H5Literate(object.id, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_link, walk) < 0 &&
            walk->end == HDF5_WALK_DONE)
            walk->end = HDF5_WALK_FAILED;
        walk->depth--;
    }
    if (H5Oclose(object.id) < 0 && walk->end == HDF5_WALK_DONE)
        walk->end = HDF5_WALK_FAILED;
}

static void visit_named(struct walk *walk, hid_t group, const char *name, const H5L_info_t *link)
{
    struct hdf5_object object = {
        .path = walk->path, .id = -1, .kind = HDF5_OTHER_LINK, .target = "?", .inside = "?"};
    const size_t bytes = link->u.val_size;
    if (link->type == H5L_TYPE_SOFT)
        object.kind = HDF5_SOFT_LINK;
    else if (link->type == H5L_TYPE_EXTERNAL)
        object.kind = HDF5_EXTERNAL_LINK;
    if (object.kind != HDF5_OTHER_LINK && bytes < sizeof walk->target) {
        memset(walk->target, 0, sizeof walk->target);
        if (H5Lget_val(group, name, walk->target, bytes, H5P_DEFAULT) < 0 ||
            (object.kind == HDF5_EXTERNAL_LINK &&
             H5Lunpack_elink_val(walk->target, bytes, NULL, &object.target, &object.inside) < 0)) {
            walk->end = HDF5_WALK_FAILED;
            return;
        }
        if (object.kind == HDF5_SOFT_LINK)
            object.target = walk->target;
    }
    if (!walk->visitor(walk->user, &object))
        walk->end = HDF5_WALK_STOPPED;
}

static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *link, void *data)
{
    struct walk *walk = data;
    size_t length = strlen(walk->path);
    if (++walk->n_links > HDF5_WALK_OBJECTS || length + strlen(name) + 2 > sizeof walk->path) {
        walk->end = HDF5_WALK_LIMIT;
        return 1;
    }
    snprintf(walk->path + length, sizeof walk->path - length, "%s%s", length > 1 ? "/" : "", name);
    if (link->type == H5L_TYPE_HARD)
        visit_hard(walk, group, name);
    else
        visit_named(walk, group, name, link);
    if (walk->end != HDF5_WALK_DONE)
        return 1; /* the path stays, to say where the walk ended */
    walk->path[length] = '\0';
    return 0;
}

enum hdf5_walk_end ts_hdf5_walk(hid_t file, hdf5_visitor *visitor, void *user, char *at)
{
    struct walk *walk = calloc(1, sizeof *walk);
    at[0] = '\0';
    if (!walk)
        return HDF5_WALK_FAILED;
    walk->visitor = visitor;
    walk->user = user;
    walk->path[0] = '/';
    visit_hard(walk, file, "/");
    enum hdf5_walk_end end = walk->end;
    if (end != HDF5_WALK_DONE)
        memcpy(at, walk->path, sizeof walk->path);
    for (int i = 0; i < walk->n_known; i++)
        free(walk->known[i].path);
    free(walk);
    return end;
}
