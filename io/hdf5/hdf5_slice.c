/* SPDX-License-Identifier: Apache-2.0
 *
 * A sandboxed child reads hyperslabs as float, so that every type and filter that libhdf5 has built
 * in can be shown. Values come in blocks of whole rows, whose number of rows fits the chunks. Links
 * out of the file are not followed, and a slice has at most SLICE_MAX values.
 */
#include "io/hdf5/hdf5_slice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_finder.h"
#include "io/hdf5/hdf5_session.h"
#include "io/hdf5/hdf5_storage.h"
#include "io/hdf5/hdf5_walk.h"

enum { VOLUMES_MAX = 256, SLICE_MAX = 1 << 28, BLOCK_VALUES = 1 << 22, CACHE_BYTES = 128 << 20 };

/* The library decodes chunks, and holds one three times. */
static const size_t address_bytes = (size_t)1 << 30;

/* ---- the child: which datasets there are ----------------------------------------------------- */

struct collection {
    FILE *out;
    const char *table; /* "": volumes */
    int n;
};

/* Returns true if a dataset has numbers along `rank` axes, 1 to 4, and writes its shape. A picture
   is a volume of one slice, a row of numbers a picture of one row. The slices of several volumes
   follow one another. */
static bool image_shape(const struct hdf5_storage *storage, int rank, int64_t n[3])
{
    if ((storage->class != STORAGE_INTEGER && storage->class != STORAGE_FLOAT) ||
        storage->rank != rank)
        return false;
    const int more = rank > 3;
    n[0] = n[1] = 1;
    memcpy(n + 3 - (rank - more), storage->n + more, (size_t)(rank - more) * sizeof *n);
    return n[0] > 0 && n[1] > 0 && n[2] > 0 &&
           (!more || (storage->n[0] > 0 && !__builtin_mul_overflow(n[0], storage->n[0], &n[0])));
}

static bool is_table(const char *path, const char *name)
{
    const size_t length = strlen(path), tail = strlen("/tables/") + strlen(name);
    if (!strcmp(name, HDF5_EVERY_TABLE))
        return strstr(path, "/tables/") != NULL;
    return length >= tail && !strncmp(path + length - tail, "/tables/", strlen("/tables/")) &&
           !strcmp(path + length - strlen(name), name);
}

static bool hdf5_slice_collect(void *user, const struct hdf5_object *object)
{
    struct collection *collection = user;
    const bool table = *collection->table;
    struct hdf5_storage storage = {0};
    int64_t n[3];
    if (object->kind != HDF5_DATASET || (table && !is_table(object->path, collection->table)) ||
        !ts_hdf5_storage_find(object->id, &storage))
        return true;
    const bool of_volume =
        table && !strcmp(collection->table, HDF5_EVERY_TABLE) && image_shape(&storage, 1, n);
    const bool of_volumes = !table && image_shape(&storage, 4, n);
    if (!of_volume && !of_volumes && !image_shape(&storage, table ? 2 : 3, n))
        return true;
    fwrite(object->path, 1, strlen(object->path) + 1, collection->out);
    return ++collection->n < VOLUMES_MAX;
}

struct list_request {
    char table[64];
};

static enum ts_status list_datasets(struct hdf5_child *child, const void *data, FILE *out,
                                    struct ts_diag *diag)
{
    const struct list_request *request = data;
    struct collection collection = {.out = out, .table = request->table};
    char at[HDF5_WALK_PATH] = "";
    return ts_hdf5_walk(child->files[0], hdf5_slice_collect, &collection, at) == HDF5_WALK_FAILED
               ? ts_hdf5_child_unreadable(child, diag, "the file")
               : TS_OK;
}

/* ---- the child: one dataset ------------------------------------------------------------------ */

struct open_request {
    char dataset[HDF5_WALK_PATH];
};

struct open_answer {
    int64_t n_slices, rows, columns, block_rows, n_volumes;
    int32_t is_picture;
};

/* What open_dataset has opened for read_rows; a session reads one dataset. */
static struct {
    hid_t id;
    int rank;
    int64_t volume_slices;     /* of each of several volumes */
    char name[HDF5_WALK_PATH]; /* escaped, for messages */
} opened;

/* Returns the rows of a block: a multiple of the chunks' rows if that is not too much. */
static int64_t block_rows(const struct hdf5_storage *storage, int64_t rows, int64_t columns)
{
    const int64_t most = BLOCK_VALUES / columns > 0 ? BLOCK_VALUES / columns : 1;
    const int64_t unit = storage->layout == STORAGE_CHUNKED && storage->rank > 1
                             ? storage->chunk[storage->rank - 2]
                             : 1;
    const int64_t n = unit < most ? most / unit * unit : most;
    return n < rows ? n : rows;
}

/* Opens the object again, with a cache that keeps a large chunk from one block to the next. */
static hid_t open_cached(hid_t object)
{
    const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    hid_t dataset = -1;
    if (access >= 0 && H5Pset_chunk_cache(access, 521, CACHE_BYTES, 1.0) >= 0)
        dataset = H5Dopen2(object, ".", access);
    TS_HDF5_CLOSE(access);
    return dataset;
}

static enum ts_status check_dataset(const struct hdf5_child *child, struct open_answer *answer,
                                    struct ts_diag *diag)
{
    struct hdf5_storage storage = {0};
    int64_t n[3];
    if (!ts_hdf5_storage_find(opened.id, &storage))
        return ts_hdf5_child_unreadable(child, diag, opened.name);
    opened.rank = storage.rank;
    answer->is_picture = opened.rank < 3;
    if (opened.rank < 1 || opened.rank > 4 || !image_shape(&storage, opened.rank, n))
        return ts_hdf5_child_refuse(child, diag, "hdf5-no-volume",
                                    "%s is not a numeric dataset with one to four axes",
                                    opened.name);
    if (n[1] > SLICE_MAX || n[2] > SLICE_MAX || n[1] * n[2] > SLICE_MAX)
        return ts_hdf5_child_refuse(child, diag, "hdf5-no-volume",
                                    "a slice of %s has more than %d values", opened.name,
                                    SLICE_MAX);
    if (storage.layout == STORAGE_VIRTUAL ||
        storage.layout == STORAGE_EXTERNAL) /* the library would open other files */
        return ts_hdf5_child_refuse(child, diag, "hdf5-elsewhere",
                                    "%s has its values in other files", opened.name);
    opened.volume_slices = opened.rank > 3 ? (int64_t)storage.n[1] : n[0];
    answer->n_volumes = n[0] / opened.volume_slices;
    answer->n_slices = n[0];
    answer->rows = n[1];
    answer->columns = n[2];
    answer->block_rows = block_rows(&storage, n[1], n[2]);
    return TS_OK;
}

/* Finds the dataset that a request names. *object becomes the child's number of it. */
static enum ts_status find_dataset(const struct hdf5_child *child,
                                   const struct open_request *request, hid_t *object,
                                   struct ts_diag *diag)
{
    static struct find_request way;
    static struct find_answer found;
    way.from = child->files[0];
    snprintf(way.path, sizeof way.path, "%s", request->dataset);
    ts_text_escape(opened.name, sizeof opened.name, request->dataset);
    enum ts_status status = ts_hdf5_walk_path(child, &way, &found, diag);
    if (status != TS_OK)
        return status;
    if (*found.file)
        return ts_hdf5_child_refuse(child, diag, "hdf5-elsewhere", "%s lies in another file",
                                    opened.name);
    if (found.kind == FINDER_NONE)
        return ts_hdf5_child_refuse(child, diag, "hdf5-no-volume", "there is no %s", opened.name);
    if (found.kind != FINDER_DATASET)
        return ts_hdf5_child_refuse(child, diag, "hdf5-no-volume", "%s is not a dataset",
                                    opened.name);
    *object = found.object;
    return TS_OK;
}

static enum ts_status open_dataset(struct hdf5_child *child, const void *data, FILE *out,
                                   struct ts_diag *diag)
{
    struct open_answer answer = {0};
    hid_t object;
    enum ts_status status = find_dataset(child, data, &object, diag);
    if (status != TS_OK)
        return status;
    opened.id = open_cached(object);
    if (opened.id < 0)
        return ts_hdf5_child_unreadable(child, diag, opened.name);
    status = check_dataset(child, &answer, diag);
    fwrite(&answer, sizeof answer, 1, out);
    return status;
}

struct rows_request {
    int64_t slice, first, n_rows, columns;
};

static enum ts_status read_rows(struct hdf5_child *child, const void *data, FILE *out,
                                struct ts_diag *diag)
{
    const struct rows_request *request = data;
    const hsize_t start[4] = {(hsize_t)(request->slice / opened.volume_slices),
                              (hsize_t)(request->slice % opened.volume_slices),
                              (hsize_t)request->first, 0},
                  count[4] = {1, 1, (hsize_t)request->n_rows, (hsize_t)request->columns};
    const int left_out = 4 - opened.rank; /* axes */
    const size_t n = (size_t)request->n_rows * (size_t)request->columns;
    float *values = malloc(n * sizeof *values);
    if (!values)
        return ts_diag_no_memory(diag, n * sizeof *values);
    const hid_t space = H5Dget_space(opened.id),
                memory = H5Screate_simple(4 - left_out, count + left_out, NULL);
    const bool done = space >= 0 && memory >= 0 &&
                      H5Sselect_hyperslab(space, H5S_SELECT_SET, start + left_out, NULL,
                                          count + left_out, NULL) >= 0 &&
                      H5Dread(opened.id, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, values) >= 0;
    const enum ts_status status = done ? TS_OK : ts_hdf5_child_unreadable(child, diag, opened.name);
    if (done)
        fwrite(values, sizeof *values, n, out);
    TS_HDF5_CLOSE(memory, space);
    free(values);
    return status;
}

/* ---- the child: all numbers of a small dataset ----------------------------------------------- */

static enum ts_status read_numbers(struct hdf5_child *child, const void *data, FILE *out,
                                   struct ts_diag *diag)
{
    enum { MOST_NUMBERS = 1 << 26 };
    struct hdf5_storage storage = {0};
    int64_t n = 1;
    hid_t dataset;
    enum ts_status status = find_dataset(child, data, &dataset, diag);
    if (status != TS_OK)
        return status;
    if (!ts_hdf5_storage_find(dataset, &storage))
        return ts_hdf5_child_unreadable(child, diag, opened.name);
    for (int d = 0; d < storage.rank && n <= MOST_NUMBERS; d++)
        n = storage.n[d] > MOST_NUMBERS ? storage.n[d] : n * storage.n[d];
    if ((storage.class != STORAGE_INTEGER && storage.class != STORAGE_FLOAT) || storage.rank > 4 ||
        n > MOST_NUMBERS || storage.layout == STORAGE_VIRTUAL || storage.layout == STORAGE_EXTERNAL)
        return ts_hdf5_child_refuse(child, diag, "hdf5-no-table",
                                    "%s is no table of at most %d numbers", opened.name,
                                    MOST_NUMBERS);
    double *values = malloc((size_t)n * sizeof *values + 1);
    if (!values)
        return ts_diag_no_memory(diag, (size_t)n * sizeof *values);
    if (H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        status = ts_hdf5_child_unreadable(child, diag, opened.name);
    else
        fwrite(values, sizeof *values, (size_t)n, out);
    free(values);
    return status;
}

/* ---- the parent ------------------------------------------------------------------------------ */

static enum ts_status hdf5_slice_start(const char *path, struct hdf5_session **session,
                                       struct ts_diag *diag)
{
    return ts_hdf5_session_open(
        &(struct hdf5_session_options){.path = path, .address_bytes = address_bytes}, session, NULL,
        diag);
}

/* Copies the paths of an answer into the arena. */
static enum ts_status take_paths(const char *answer, size_t bytes, struct arena *arena,
                                 const char ***datasets, size_t *n, struct ts_diag *diag)
{
    char *text = ts_arena_text(arena, answer, bytes);
    *datasets = ts_arena_alloc(arena, VOLUMES_MAX * sizeof **datasets);
    if (!text || !*datasets)
        return ts_diag_no_memory(diag, bytes + VOLUMES_MAX * sizeof **datasets);
    for (char *at = text; at < text + bytes && *n < VOLUMES_MAX; at += strlen(at) + 1)
        (*datasets)[(*n)++] = at;
    return TS_OK;
}

enum ts_status ts_hdf5_list_datasets(const char *path, const char *table, struct arena *arena,
                                     const char ***datasets, size_t *n, struct ts_diag *diag)
{
    struct hdf5_session *session;
    struct list_request request = {0};
    void *answer = NULL;
    size_t bytes = 0;
    *n = 0;
    snprintf(request.table, sizeof request.table, "%s", table ? table : "");
    enum ts_status status = hdf5_slice_start(path, &session, diag);
    if (status == TS_OK)
        status = ts_hdf5_session_call(session, list_datasets, &request, sizeof request, &answer,
                                      &bytes, diag);
    ts_hdf5_session_end(session);
    if (status == TS_OK)
        status = take_paths(answer, bytes, arena, datasets, n, diag);
    free(answer);
    if (status != TS_OK || *n > 0)
        return status;
    return table ? ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "hdf5-no-table"},
                                 "%s holds no table %s with a row for each slice", path, table)
                 : ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "hdf5-no-volume"},
                                 "%s holds no dataset with three axes", path);
}

static bool is_possible(const struct open_answer *found)
{
    return found->n_volumes > 0 && found->n_slices >= found->n_volumes && found->rows > 0 &&
           found->rows <= SLICE_MAX && found->columns > 0 && found->columns <= SLICE_MAX &&
           found->rows * found->columns <= SLICE_MAX && found->block_rows > 0;
}

static enum ts_status hdf5_slice_fill(struct hdf5_session *session, const struct open_answer *found,
                                      struct rows_request *request, float *values,
                                      struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    for (request->first = 0; request->first < found->rows && status == TS_OK;
         request->first += request->n_rows) {
        const int64_t left = found->rows - request->first;
        request->n_rows = left < found->block_rows ? left : found->block_rows;
        status = ts_hdf5_session_ask(
            session, read_rows, request, sizeof *request, values + request->first * found->columns,
            (size_t)(request->n_rows * found->columns) * sizeof *values, diag);
    }
    return status;
}

static enum ts_status read_slice(struct hdf5_session *session, const char *path,
                                 const char *dataset, int64_t index, struct hdf5_slice *slice,
                                 struct ts_diag *diag)
{
    struct open_request of = {0};
    struct open_answer found;
    snprintf(of.dataset, sizeof of.dataset, "%s", dataset);
    enum ts_status status =
        ts_hdf5_session_ask(session, open_dataset, &of, sizeof of, &found, sizeof found, diag);
    if (status != TS_OK)
        return status;
    if (!is_possible(&found))
        return ts_hdf5_session_wrong_answer(session, diag);
    slice->is_picture = found.is_picture != 0;
    slice->n_volumes = found.n_volumes;
    slice->n_slices = found.n_slices;
    slice->rows = found.rows;
    slice->columns = found.columns;
    index = index < 0 ? (slice->n_slices / slice->n_volumes - 1) / 2 : index;
    if (index >= slice->n_slices)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "hdf5-no-volume"},
                             "%s: %s has %" PRId64 " slices, there is no slice %" PRId64, path,
                             dataset, slice->n_slices, index);
    const size_t bytes = (size_t)(slice->rows * slice->columns) * sizeof *slice->values;
    struct rows_request request = {.slice = index, .columns = found.columns};
    slice->values = malloc(bytes);
    if (!slice->values)
        return ts_diag_no_memory(diag, bytes);
    return hdf5_slice_fill(session, &found, &request, slice->values, diag);
}

enum ts_status ts_hdf5_read_slice(const char *path, const char *dataset, int64_t index,
                                  struct hdf5_slice *slice, struct ts_diag *diag)
{
    struct hdf5_session *session;
    *slice = (struct hdf5_slice){0};
    enum ts_status status = hdf5_slice_start(path, &session, diag);
    if (status == TS_OK)
        status = read_slice(session, path, dataset, index, slice, diag);
    ts_hdf5_session_end(session);
    if (status != TS_OK) {
        free(slice->values);
        slice->values = NULL;
    }
    return status;
}

enum ts_status ts_hdf5_read_numbers(const char *path, const char *dataset,
                                    struct hdf5_numbers *numbers, struct ts_diag *diag)
{
    struct hdf5_session *session;
    struct open_request of = {0};
    void *answer = NULL;
    size_t bytes = 0;
    *numbers = (struct hdf5_numbers){0};
    snprintf(of.dataset, sizeof of.dataset, "%s", dataset);
    enum ts_status status = hdf5_slice_start(path, &session, diag);
    if (status == TS_OK)
        status = ts_hdf5_session_call(session, read_numbers, &of, sizeof of, &answer, &bytes, diag);
    ts_hdf5_session_end(session);
    if (status == TS_OK)
        *numbers = (struct hdf5_numbers){(int64_t)(bytes / sizeof(double)), answer};
    return status;
}
