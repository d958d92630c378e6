/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads every dataset and every attribute back and compares the SHA-256 of the datasets, then that of the file.
 */
#include "io/hdf5_verify.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/hdf5_content.h"
#include "io/hdf5_read.h"
#include "io/hdf5_walk.h"

enum { VERIFY_THREADS = 4 }; /* where the caller gives no number */

struct entry {
    char *path;
    char digest[DIGEST_TEXT_BYTES];
};

struct verification {
    struct entry *entries;
    size_t n, capacity;
    int threads;
    bool recompute, no_memory;
    char problem[160]; /* with the dataset that the walk ended at */
    struct hdf5_failure failure;
};

bool ts_hdf5_get_text(hid_t object, const char *name, char *out, size_t size)
{
    if (H5Aexists(object, name) <= 0)
        return false;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0)
        return false;
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    size_t bytes = type >= 0 ? H5Tget_size(type) : 0;
    bool done = type >= 0 && space >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
                bytes > 0 && bytes < size && H5Sget_simple_extent_npoints(space) == 1 &&
                H5Aread(attribute, type, out) >= 0;
    if (done)
        out[bytes] = '\0';
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    H5Aclose(attribute);
    return done;
}

hid_t ts_hdf5_open_file(const char *path, struct hdf5_failure *failure)
{
    hid_t file = -1, access = H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0) {
        ts_hdf5_failure(failure);
        return -1;
    }
    /* No foreign code for foreign files; no lock needed on what nobody writes. */
    if (H5PLset_loading_state(0) >= 0 && H5Pset_file_locking(access, false, true) >= 0 &&
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0)
        file = H5Fopen(path, H5F_ACC_RDONLY, access);
    if (file < 0)
        ts_hdf5_failure(failure); /* before another call clears the reason */
    H5Pclose(access);
    /* The library says "bad superblock" or less of a file without its signature. */
    if (file < 0 && H5Fis_hdf5(path) == 0) {
        failure->error_number = 0;
        snprintf(failure->text, sizeof failure->text, "it is not an HDF5 file");
    }
    return file;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

static bool digest_entries(struct verification *check, char text[DIGEST_TEXT_BYTES])
{
    struct digest *digest = ts_digest_create();
    bool done = digest;
    if (check->n > 0)
        qsort(check->entries, check->n, sizeof *check->entries, compare_entries);
    for (size_t i = 0; i < check->n && done; i++) {
        const struct entry *entry = &check->entries[i];
        done = ts_digest_add(digest, entry->path, strlen(entry->path)) && ts_digest_add(digest, " ", 1) &&
               ts_digest_add(digest, entry->digest, strlen(entry->digest)) && ts_digest_add(digest, "\n", 1);
    }
    done = done && ts_digest_end(digest, text);
    ts_digest_destroy(digest);
    return done;
}

static void clear_entries(struct verification *check)
{
    for (size_t i = 0; i < check->n; i++)
        free(check->entries[i].path);
    free(check->entries);
}

static bool add_entry(struct verification *check, const char *path, const char *digest)
{
    if (check->n == check->capacity) {
        size_t capacity = check->capacity ? 2 * check->capacity : 64;
        struct entry *grown = realloc(check->entries, capacity * sizeof *grown);
        if (!grown)
            return false;
        check->entries = grown;
        check->capacity = capacity;
    }
    struct entry *entry = &check->entries[check->n];
    entry->path = strdup(path);
    memcpy(entry->digest, digest, DIGEST_TEXT_BYTES);
    check->n += entry->path != NULL;
    return entry->path;
}

static bool check_dataset(struct verification *check, hid_t dataset, const char *expected)
{
    char found[DIGEST_TEXT_BYTES], problem[100];
    if (ts_hdf5_dataset_digest(dataset, check->threads, found, problem, sizeof problem)) {
        if (strcmp(found, expected) != 0)
            snprintf(check->problem, sizeof check->problem, "has other values than were written (SHA-256 differs)");
    } else if (*problem) {
        snprintf(check->problem, sizeof check->problem, "cannot be checked: %s", problem);
    } else {
        ts_hdf5_failure(&check->failure);
        snprintf(check->problem, sizeof check->problem, "cannot be read: %.100s", check->failure.text);
    }
    return check->problem[0] == '\0';
}

static herr_t pass_attribute(hid_t object, const char *name, const H5A_info_t *info, void *data)
{
    (void)object, (void)name, (void)info, (void)data;
    return 0;
}

/* Attributes have no digest, but every piece of metadata has a checksum: it is compared when they are read. */
static bool check_attributes(struct verification *check, hid_t object)
{
    if (H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, pass_attribute, NULL) >= 0)
        return true;
    ts_hdf5_failure(&check->failure);
    snprintf(check->problem, sizeof check->problem, "has attributes that cannot be read: %.80s", check->failure.text);
    return false;
}

static bool visit_dataset(void *user, const struct hdf5_object *object)
{
    struct verification *check = user;
    char digest[DIGEST_TEXT_BYTES];
    if (check->recompute && object->id >= 0 && object->kind != HDF5_SEEN && !check_attributes(check, object->id))
        return false;
    if (object->kind != HDF5_DATASET)
        return true;
    if (!ts_hdf5_get_text(object->id, "sha256", digest, sizeof digest)) {
        snprintf(check->problem, sizeof check->problem, "has no SHA-256");
        return false;
    }
    if (check->recompute && !check_dataset(check, object->id, digest))
        return false;
    check->no_memory = !add_entry(check, object->path, digest);
    return !check->no_memory;
}

bool ts_hdf5_root_digest(hid_t file, char text[DIGEST_TEXT_BYTES])
{
    struct verification check = {0};
    char at[HDF5_WALK_PATH];
    bool done = ts_hdf5_walk(file, visit_dataset, &check, at) == HDF5_WALK_DONE && digest_entries(&check, text);
    clear_entries(&check);
    return done;
}

static bool is_complete(hid_t file)
{
    int complete = 0;
    if (H5Aexists(file, "complete") <= 0)
        return false;
    hid_t attribute = H5Aopen(file, "complete", H5P_DEFAULT);
    if (attribute < 0)
        return false;
    hid_t space = H5Aget_space(attribute);
    bool done = space >= 0 && H5Sget_simple_extent_npoints(space) == 1 &&
                H5Aread(attribute, H5T_NATIVE_INT, &complete) >= 0 && complete == 1;
    if (space >= 0)
        H5Sclose(space);
    H5Aclose(attribute);
    return done;
}

/* The root's attributes, then every dataset. False with check->problem set, about the object at `at`. */
static bool verify_open(hid_t file, struct verification *check, char *at)
{
    char expected[DIGEST_TEXT_BYTES], found[DIGEST_TEXT_BYTES];
    hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    bool complete = root >= 0 && is_complete(root);
    bool known = root >= 0 && ts_hdf5_get_text(root, "digest", expected, sizeof expected);
    if (root >= 0)
        H5Gclose(root);
    snprintf(at, HDF5_WALK_PATH, "/");
    if (!complete) {
        snprintf(check->problem, sizeof check->problem,
                 "is not marked complete: the writer was stopped, or it is not "
                 "a file of this program");
        return false;
    }
    if (!known) {
        snprintf(check->problem, sizeof check->problem, "has no digest");
        return false;
    }
    enum hdf5_walk_end end = ts_hdf5_walk(file, visit_dataset, check, at);
    if (end == HDF5_WALK_LIMIT)
        snprintf(check->problem, sizeof check->problem, "is more than %d links or %d levels", HDF5_WALK_OBJECTS,
                 HDF5_WALK_DEPTH);
    if (end == HDF5_WALK_FAILED) {
        ts_hdf5_failure(&check->failure);
        snprintf(check->problem, sizeof check->problem, "cannot be opened: %.100s", check->failure.text);
    }
    if (end != HDF5_WALK_DONE)
        return false;
    if (!digest_entries(check, found)) {
        check->no_memory = true;
        return false;
    }
    if (strcmp(found, expected) != 0) {
        snprintf(at, HDF5_WALK_PATH, "/");
        snprintf(check->problem, sizeof check->problem, "has a digest that does not fit its datasets");
        return false;
    }
    return true;
}

enum ts_status ts_hdf5_verify_as(const char *path, const char *shown, enum ts_status failed, int threads,
                                 struct ts_diag *diag)
{
    struct verification check = {.recompute = true, .threads = threads};
    struct hdf5_visit visit;
    char at[HDF5_WALK_PATH] = "", escaped[256];
    ts_hdf5_enter(&visit);
    hid_t file = ts_hdf5_open_file(path, &check.failure);
    bool opened = file >= 0, sound = false;
    if (opened) {
        sound = verify_open(file, &check, at);
        H5Fclose(file);
    }
    ts_hdf5_leave(&visit);
    clear_entries(&check);
    ts_text_escape(escaped, sizeof escaped, at);
    if (!opened)
        return ts_diag_error(diag, failed, &(struct diag_site){.code = "hdf5-open"}, "cannot open '%s': %s", shown,
                             check.failure.text);
    if (check.no_memory)
        return ts_diag_no_memory(diag, sizeof(struct entry));
    if (!sound)
        return ts_diag_error(diag, failed, &(struct diag_site){.code = "hdf5-damaged"}, "'%s': %s %s", shown, escaped,
                             check.problem);
    return TS_OK;
}

enum ts_status ts_hdf5_verify(const char *path, struct ts_diag *diag)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = processors < 1 ? 1 : processors > VERIFY_THREADS ? VERIFY_THREADS : (int)processors;
    bool ours;
    const enum ts_status status = ts_hdf5_look(path, &ours, diag);
    return status == TS_OK ? ts_hdf5_verify_as(path, path, TS_BAD_INPUT, threads, diag) : status;
}
