/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads one hyperslab as float. The file is not trusted: no plugin is loaded, links out of the file are not followed,
 * and a slice has at most SLICE_MAX values.
 */
#include "io/hdf5_slice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/hdf5_read.h"
#include "io/hdf5_verify.h"
#include "io/hdf5_walk.h"

enum { VOLUMES_MAX = 256, SLICE_MAX = 1 << 28 };

struct collection {
    struct arena *arena;
    const char *table; /* NULL: volumes */
    const char **paths;
    size_t n;
    bool no_memory;
};

/* Shape of a numeric dataset of this rank, 2 or 3, a picture as a volume of one slice; false for any other. */
static bool image_shape(hid_t dataset, int rank, hsize_t n[3])
{
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    const H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    n[0] = 1;
    const bool image = (class == H5T_INTEGER || class == H5T_FLOAT) && space >= 0 &&
                       H5Sget_simple_extent_ndims(space) == rank &&
                       H5Sget_simple_extent_dims(space, n + 3 - rank, NULL) == rank && n[0] > 0 && n[1] > 0 && n[2] > 0;
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return image;
}

static bool is_table(const char *path, const char *name)
{
    const size_t length = strlen(path), tail = strlen("/tables/") + strlen(name);
    return length >= tail && !strncmp(path + length - tail, "/tables/", strlen("/tables/")) &&
           !strcmp(path + length - strlen(name), name);
}

static bool collect(void *user, const struct hdf5_object *object)
{
    struct collection *collection = user;
    hsize_t n[3];
    if (object->kind != HDF5_DATASET || (collection->table && !is_table(object->path, collection->table)) ||
        !image_shape(object->id, collection->table ? 2 : 3, n))
        return true;
    const char *path = ts_arena_text(collection->arena, object->path, strlen(object->path));
    collection->no_memory = !path;
    if (path)
        collection->paths[collection->n++] = path;
    return path && collection->n < VOLUMES_MAX;
}

static enum ts_status refuse(const char *path, const char *what, const struct hdf5_failure *failure,
                             struct ts_diag *diag)
{
    return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "hdf5-unreadable"},
                         "%s: %s cannot be read: %s", path, what, failure->text);
}

/* Folds the error stack into a record; inside enter and leave. */
static enum ts_status unreadable(const char *path, const char *what, struct ts_diag *diag)
{
    struct hdf5_failure failure;
    ts_hdf5_failure(&failure);
    return refuse(path, what, &failure, diag);
}

static enum ts_status list(const char *path, const char *table, struct arena *arena, const char ***datasets, size_t *n,
                           struct ts_diag *diag)
{
    struct collection collection = {
        .arena = arena, .table = table, .paths = ts_arena_alloc(arena, VOLUMES_MAX * sizeof *collection.paths)};
    struct hdf5_visit visit;
    struct hdf5_failure failure;
    char at[HDF5_WALK_PATH] = "";
    if (!collection.paths)
        return ts_diag_no_memory(diag, VOLUMES_MAX * sizeof *collection.paths);
    bool ours;
    enum ts_status status = ts_hdf5_look(path, &ours, diag);
    if (status != TS_OK)
        return status;
    ts_hdf5_enter(&visit);
    hid_t file = ts_hdf5_open_file(path, &failure);
    if (file < 0)
        status = refuse(path, "the file", &failure, diag);
    else if (ts_hdf5_walk(file, collect, &collection, at) == HDF5_WALK_FAILED)
        status = unreadable(path, "the file", diag);
    if (file >= 0)
        H5Fclose(file);
    ts_hdf5_leave(&visit);
    if (status == TS_OK && collection.no_memory)
        return ts_diag_no_memory(diag, HDF5_WALK_PATH);
    if (status == TS_OK && collection.n == 0 && table)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "hdf5-no-table"},
                             "%s holds no table %s with a row for each slice", path, table);
    if (status == TS_OK && collection.n == 0)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "hdf5-no-volume"},
                             "%s holds no dataset with three axes", path);
    *datasets = collection.paths;
    *n = collection.n;
    return status;
}

enum ts_status ts_hdf5_list_volumes(const char *path, struct arena *arena, const char ***datasets, size_t *n,
                                    struct ts_diag *diag)
{
    return list(path, NULL, arena, datasets, n, diag);
}

enum ts_status ts_hdf5_list_tables(const char *path, const char *name, struct arena *arena, const char ***datasets,
                                   size_t *n, struct ts_diag *diag)
{
    return list(path, name, arena, datasets, n, diag);
}

static enum ts_status read_values(const char *path, const char *name, hid_t dataset, int64_t index,
                                  struct hdf5_slice *slice, struct ts_diag *diag)
{
    const hsize_t start[3] = {(hsize_t)index, 0, 0}, count[3] = {1, (hsize_t)slice->rows, (hsize_t)slice->columns};
    const int left_out = slice->is_picture ? 1 : 0; /* axes */
    const size_t bytes = (size_t)slice->rows * (size_t)slice->columns * sizeof *slice->values;
    slice->values = malloc(bytes);
    if (!slice->values)
        return ts_diag_no_memory(diag, bytes);
    hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(3 - left_out, count + left_out, NULL);
    const bool done = space >= 0 && memory >= 0 &&
                      H5Sselect_hyperslab(space, H5S_SELECT_SET, start + left_out, NULL, count + left_out, NULL) >= 0 &&
                      H5Dread(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, slice->values) >= 0;
    enum ts_status status = done ? TS_OK : unreadable(path, name, diag);
    if (memory >= 0)
        H5Sclose(memory);
    if (space >= 0)
        H5Sclose(space);
    if (status != TS_OK) {
        free(slice->values);
        slice->values = NULL;
    }
    return status;
}

static enum ts_status read_from(const char *path, const char *name, hid_t dataset, int64_t index,
                                struct hdf5_slice *slice, struct ts_diag *diag)
{
    const struct diag_site site = {.code = "hdf5-no-volume"};
    hsize_t n[3];
    slice->is_picture = image_shape(dataset, 2, n);
    if (!slice->is_picture && !image_shape(dataset, 3, n))
        return ts_diag_error(diag, TS_BAD_INPUT, &site, "%s: %s is not a numeric dataset with two or three axes", path,
                             name);
    if (n[0] > INT64_MAX || n[1] > SLICE_MAX || n[2] > SLICE_MAX || n[1] * n[2] > SLICE_MAX)
        return ts_diag_error(diag, TS_BAD_INPUT, &site, "%s: a slice of %s has more than %d values", path, name,
                             SLICE_MAX);
    slice->n_slices = (int64_t)n[0];
    slice->rows = (int64_t)n[1];
    slice->columns = (int64_t)n[2];
    if (index < 0)
        index = (slice->n_slices - 1) / 2;
    if (index >= slice->n_slices)
        return ts_diag_error(diag, TS_BAD_INPUT, &site, "%s: %s has %" PRId64 " slices, there is no slice %" PRId64,
                             path, name, slice->n_slices, index);
    return read_values(path, name, dataset, index, slice, diag);
}

enum ts_status ts_hdf5_read_slice(const char *path, const char *dataset, int64_t index, struct hdf5_slice *slice,
                                  struct ts_diag *diag)
{
    struct hdf5_visit visit;
    struct hdf5_failure failure;
    bool ours;
    *slice = (struct hdf5_slice){0};
    enum ts_status status = ts_hdf5_look(path, &ours, diag);
    if (status != TS_OK)
        return status;
    ts_hdf5_enter(&visit);
    hid_t file = ts_hdf5_open_file(path, &failure);
    hid_t object = file >= 0 ? H5Dopen2(file, dataset, H5P_DEFAULT) : -1;
    status = file < 0     ? refuse(path, "the file", &failure, diag)
             : object < 0 ? unreadable(path, dataset, diag)
                          : read_from(path, dataset, object, index, slice, diag);
    if (object >= 0)
        H5Dclose(object);
    if (file >= 0)
        H5Fclose(file);
    ts_hdf5_leave(&visit);
    return status;
}
