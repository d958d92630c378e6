/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the files of a study and scans each of them, by all processors. Folders are searched
 * without recursion and without following links to folders. Names are sorted, so that nothing
 * depends on the order in which the file system lists them. A name that leads to no image is kept
 * with the reason, since it may have been a slice.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/available.h"
#include "core/memory.h"
#include "core/path.h"
#include "io/dicom_header/dicom_scan.h"
#include "io/source/read_ahead.h"

enum { MAX_DEPTH = 32, MAX_FILES = 1000000 };
/* A part is what a thread scans at a time: enough that starting a thread for it pays. */
enum { PART_FILES = 32, BATCH_FILES = 4096 };

struct found {
    const char *path;         /* arena */
    int depth, folder, entry; /* as in struct dicom_file; of a folder its own number */
};

struct list {
    struct found *items;
    size_t n, capacity;
};

/* The images that were found. */
struct images {
    struct dicom_file *files;
    size_t n, capacity;
};

struct search {
    struct arena *arena;
    struct dicom_folder *folder;
    struct ts_diag *diag;
    struct list files, pending; /* pending: folders still to be read */
    size_t others_capacity;
};

static enum ts_status add_other(struct search *search, const struct dicom_other *other)
{
    struct dicom_folder *folder = search->folder;
    struct dicom_other *grown =
        ts_memory_grow(folder->others, folder->n_others, &search->others_capacity, sizeof *grown);
    if (!grown)
        return ts_diag_no_memory(search->diag, folder->n_others * sizeof *grown);
    folder->others = grown;
    folder->others[folder->n_others++] = *other;
    folder->n_of[other->kind]++;
    folder->n_seen += !dicom_other_is_folder(other->kind);
    return TS_OK;
}

static enum ts_status dicom_folder_add(struct search *search, struct list *list,
                                       const struct found *found)
{
    if (!found->path)
        return ts_diag_no_memory(search->diag, 0);
    if (list->n == MAX_FILES) {
        ts_diag_error(search->diag, TS_BAD_INPUT, &(struct diag_site){.code = "too-many-files"},
                      "more than %d files or folders in the input", (int)MAX_FILES);
        return ts_diag_hint(search->diag, "give the folder of one study");
    }
    struct found *grown = ts_memory_grow(list->items, list->n, &list->capacity, sizeof *grown);
    if (!grown)
        return ts_diag_no_memory(search->diag, list->n * sizeof *grown);
    list->items = grown;
    list->items[list->n++] = *found;
    return TS_OK;
}

static enum ts_status dicom_folder_unreadable(struct search *search, const char *path)
{
    ts_diag_error(search->diag, TS_BAD_INPUT, &(struct diag_site){.code = "input-unreadable"},
                  "cannot read %s: %s", path, strerror(errno));
    return ts_diag_hint(search->diag, "check the path and its permissions");
}

/* Returns the text of a link, or NULL. */
static const char *link_target(struct search *search, const char *path)
{
    char target[4096];
    ssize_t n = readlink(path, target, sizeof target);
    return n > 0 ? ts_arena_text(search->arena, target, (size_t)n) : NULL;
}

/* Keeps a name that is neither a file nor a folder to be searched. */
static enum ts_status visit_other(struct search *search, const struct found *found,
                                  enum dicom_other_kind kind, int error)
{
    const bool link = kind == DICOM_LOOP || kind == DICOM_UNREADABLE;
    return add_other(search,
                     &(struct dicom_other){.path = found->path,
                                           .kind = kind,
                                           .error = error,
                                           .target = link ? link_target(search, found->path) : NULL,
                                           .folder = found->folder});
}

static enum ts_status visit_folder(struct search *search, struct found *found)
{
    if (++found->depth > MAX_DEPTH)
        return ts_diag_error(search->diag, TS_BAD_INPUT,
                             &(struct diag_site){.code = "folders-too-deep"},
                             "folders nested deeper than %d in the input", (int)MAX_DEPTH);
    if (!strcmp(ts_base_name(found->path), ".git"))
        return visit_other(search, found, DICOM_GIT, 0);
    return dicom_folder_add(search, &search->pending, found);
}

/* Handles one name in a folder. The file system is asked only if the folder's entry does not state
 * its kind. */
static enum ts_status visit(struct search *search, int fd, const struct found *parent,
                            const struct dirent *entry)
{
    struct stat status = {.st_mode = DTTOIF(entry->d_type)};
    struct found found = *parent;
    found.path = ts_arena_printf(search->arena, "%s/%s", parent->path, entry->d_name);
    if (!found.path)
        return ts_diag_no_memory(search->diag, 0);
    const bool known = entry->d_type == DT_REG || entry->d_type == DT_DIR;
    if (!known && fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return visit_other(search, &found, DICOM_UNREADABLE, errno);
    const bool link = S_ISLNK(status.st_mode);
    if (link && fstatat(fd, entry->d_name, &status, 0) != 0)
        return visit_other(search, &found, errno == ELOOP ? DICOM_LOOP : DICOM_UNREADABLE, errno);
    if (S_ISDIR(status.st_mode))
        return link ? visit_other(search, &found, DICOM_LINK, 0) : visit_folder(search, &found);
    return S_ISREG(status.st_mode) ? dicom_folder_add(search, &search->files, &found)
                                   : visit_other(search, &found, DICOM_SPECIAL, 0);
}

/* A folder that the user named must be readable; whether one below it must, the caller of the scan
 * decides. */
static enum ts_status folder_unreadable(struct search *search, const struct found *place)
{
    return place->depth == 0 ? dicom_folder_unreadable(search, place->path)
                             : visit_other(search, place, DICOM_UNREADABLE, errno);
}

static enum ts_status read_folder(struct search *search, struct found place)
{
    /* A link is followed only if the user named it. */
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (place.depth > 0 ? O_NOFOLLOW : 0);
    int fd = open(place.path, flags);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream) {
        enum ts_status status = folder_unreadable(search, &place);
        if (fd >= 0)
            close(fd);
        return status;
    }
    enum ts_status status = TS_OK;
    const struct found itself = place;
    bool bare = true;
    place.folder = search->folder->n_folders++;
    errno = 0;
    for (struct dirent *entry = readdir(stream); entry && status == TS_OK;
         entry = readdir(stream)) {
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
            status = visit(search, fd, &place, entry);
            bare = false;
        }
        errno = 0;
    }
    if (status == TS_OK && errno != 0)
        status = folder_unreadable(search, &place);
    else if (status == TS_OK && bare)
        status = visit_other(search, &itself, DICOM_BARE, 0);
    closedir(stream);
    return status;
}

/* Takes a path that the user named: a folder to search, or a file. Links are followed. */
static enum ts_status start_at(struct search *search, const char *path, size_t entry)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return dicom_folder_unreadable(search, path);
    const struct found found = {.path = ts_arena_text(search->arena, path, strlen(path)),
                                .folder = DICOM_NAMED,
                                .entry = (int)entry};
    return dicom_folder_add(search, S_ISDIR(status.st_mode) ? &search->pending : &search->files,
                            &found);
}

static int compare_found(const void *a, const void *b)
{
    return strcmp(((const struct found *)a)->path, ((const struct found *)b)->path);
}

static int compare_others(const void *a, const void *b)
{
    return strcmp(((const struct dicom_other *)a)->path, ((const struct dicom_other *)b)->path);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct dicom_file *)a)->path, ((const struct dicom_file *)b)->path);
}

/* The order of names by the file they lead to, and of those of one file by path. */
static int compare_inodes(const void *a, const void *b)
{
    const struct dicom_file *first = a, *second = b;
    if (first->device != second->device)
        return first->device < second->device ? -1 : 1;
    if (first->inode != second->inode)
        return first->inode < second->inode ? -1 : 1;
    return compare_paths(a, b);
}

/* A file of several names, by links of either kind, counts once: under the first of them. Returns
 * how many are left. */
static size_t drop_further_names(struct dicom_file *files, size_t n)
{
    size_t kept = 0;
    if (n < 2)
        return n;
    qsort(files, n, sizeof *files, compare_inodes);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || files[i].device != files[kept - 1].device ||
            files[i].inode != files[kept - 1].inode)
            files[kept++] = files[i];
    qsort(files, kept, sizeof *files, compare_paths);
    return kept;
}

/* This is one file of a batch, and what its scan found. */
struct scanned {
    const struct found *found;
    bool is_image;
    struct dicom_file file;
    struct dicom_other other;
};

/* Threads scan a batch of files together. Each thread has an arena of its own. */
struct batch {
    struct scanned *items;
    size_t n;
    struct arena **arenas;
};

static enum ts_status scan_part(void *user, int thread, int64_t part, struct ts_diag *diag)
{
    const struct batch *batch = user;
    const size_t first = (size_t)part * PART_FILES,
                 end = first + PART_FILES < batch->n ? first + PART_FILES : batch->n;
    (void)diag;
    for (size_t i = first; i < end; i++) {
        struct scanned *item = &batch->items[i];
        item->is_image =
            ts_dicom_scan_file(item->found->path, batch->arenas[thread], &item->file, &item->other);
    }
    return TS_OK;
}

/* Keeps what the scan of one file found. */
static enum ts_status keep(struct search *search, struct scanned *item, struct images *images)
{
    if (!item->is_image) {
        item->other.folder = item->found->folder;
        return add_other(search, &item->other);
    }
    struct dicom_file *grown =
        ts_memory_grow(images->files, images->n, &images->capacity, sizeof *grown);
    if (!grown)
        return ts_diag_no_memory(search->diag, images->n * sizeof *grown);
    images->files = grown;
    grown[images->n] = item->file;
    grown[images->n].folder = item->found->folder;
    grown[images->n].entry = item->found->entry;
    if (item->file.refusal_code &&
        !strcmp(item->file.refusal_code, "no-memory")) /* no fault of the file */
        return ts_diag_no_memory(search->diag, 0);
    images->n++;
    search->folder->n_seen++;
    return TS_OK;
}

/* Scans the files batch by batch, each batch by all threads, and keeps what they found in the order
 * of the names: so nothing depends on which thread was faster, and only a batch is held beside the
 * images. */
static enum ts_status scan_batches(struct search *search, struct pool *readers, struct batch *batch,
                                   struct images *images)
{
    const struct list *files = &search->files;
    enum ts_status status = TS_OK;
    for (size_t next = 0; next < files->n && status == TS_OK;) {
        for (batch->n = 0; batch->n < BATCH_FILES && next < files->n; next++)
            if (next == 0 || strcmp(files->items[next].path,
                                    files->items[next - 1].path)) /* else it is named twice */
                batch->items[batch->n++].found = &files->items[next];
        status = ts_pool_run(readers, ts_pool_threads(readers),
                             (int64_t)(batch->n + PART_FILES - 1) / PART_FILES, scan_part, batch,
                             search->diag);
        for (size_t i = 0; i < batch->n && status == TS_OK; i++)
            status = keep(search, &batch->items[i], images);
    }
    return status;
}

/* Scans the files in the order of their names; images->files is to be freed in every case. */
static enum ts_status scan_files(struct search *search, struct images *images)
{
    struct list *files = &search->files;
    const size_t others = search->folder->n_others,
                 parts = (files->n + PART_FILES - 1) / PART_FILES;
    const int processors = ts_processors();
    if (files->n > 1)
        qsort(files->items, files->n, sizeof *files->items, compare_found);
    struct pool *readers = ts_pool_create(parts < (size_t)processors ? (int)parts : processors);
    const int threads = readers ? ts_pool_threads(readers) : 0;
    struct batch batch = {
        .items =
            malloc((files->n < BATCH_FILES ? files->n : BATCH_FILES) * sizeof *batch.items + 1),
        .arenas = calloc((size_t)threads + 1, sizeof *batch.arenas)};
    bool complete = readers && batch.items && batch.arenas;
    for (int t = 0; complete && t < threads; t++)
        complete = (batch.arenas[t] = ts_arena_create()) != NULL;
    const enum ts_status status =
        complete ? scan_batches(search, readers, &batch, images)
                 : ts_diag_no_memory(search->diag, BATCH_FILES * sizeof *batch.items);
    for (int t = 0; batch.arenas && t < threads; t++)
        ts_arena_join(search->arena, batch.arenas[t]);
    ts_pool_destroy(readers);
    free(batch.arenas);
    free(batch.items);
    if (status != TS_OK)
        return status;
    images->n = drop_further_names(images->files, images->n);
    search->folder->n_same = files->n - images->n - (search->folder->n_others - others);
    return TS_OK;
}

static enum ts_status search_and_scan(struct search *search)
{
    struct dicom_folder *folder = search->folder;
    struct images images = {.files = NULL};
    enum ts_status status = TS_OK;
    while (status == TS_OK && search->pending.n > 0)
        status = read_folder(search, search->pending.items[--search->pending.n]);
    if (status == TS_OK)
        status = scan_files(search, &images);
    folder->n_files = status == TS_OK ? images.n : 0;
    struct dicom_other *others = folder->others;
    if (status == TS_OK) {
        if (folder->n_others > 1)
            qsort(others, folder->n_others, sizeof *others, compare_others);
        folder->files = ts_arena_copy(search->arena, images.files, images.n, sizeof *images.files);
        folder->others = ts_arena_copy(search->arena, others, folder->n_others, sizeof *others);
        if (!folder->files || !folder->others)
            status = ts_diag_no_memory(search->diag, images.n * sizeof *images.files);
    }
    for (size_t i = 0; status == TS_OK && i < folder->n_files; i++)
        for (size_t k = 0; k < folder->files[i].n_images; k++)
            folder->files[i].images[k].file = &folder->files[i];
    free(images.files);
    free(others);
    return status;
}

/* Warns of each path that brought no image, where the user named several. */
static enum ts_status find_idle(struct search *search, const char *const *paths, size_t n_paths)
{
    struct dicom_folder *folder = search->folder;
    bool *brought = ts_arena_alloc(search->arena, n_paths + 1);
    if (!brought)
        return ts_diag_no_memory(search->diag, n_paths);
    for (size_t i = 0; i < folder->n_files; i++)
        brought[folder->files[i].entry] = true;
    for (size_t i = 0; i < n_paths && n_paths > 1; i++) {
        folder->idle = brought[i] || folder->idle ? folder->idle : paths[i];
        folder->n_idle += !brought[i];
    }
    return TS_OK;
}

enum ts_status ts_dicom_scan(const char *const *paths, size_t n_paths, struct arena *arena,
                             struct dicom_folder *folder, struct ts_diag *diag)
{
    struct search search = {.arena = arena, .folder = folder, .diag = diag};
    enum ts_status status = TS_OK;
    *folder = (struct dicom_folder){.split = DICOM_SPLIT_ECHO};
    for (size_t i = 0; i < n_paths && status == TS_OK; i++)
        status = start_at(&search, paths[i], i);
    if (status == TS_OK)
        status = search_and_scan(&search);
    if (status == TS_OK)
        status = find_idle(&search, paths, n_paths);
    free(search.files.items);
    free(search.pending.items);
    return status;
}
