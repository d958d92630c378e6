/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the files of a study: folders are searched without recursion and without following links to folders, the names
 * sorted, so that nothing depends on the order in which the file system lists them. Then each file is scanned. A name
 * that leads to no image is kept with the reason, since it may have been a slice.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/dicom/dicom_non_images.h"

enum { MAX_DEPTH = 32, MAX_FILES = 1000000 };

struct found {
    const char *path;         /* arena */
    int depth, folder, entry; /* as in struct dicom_file; of a folder its own number */
};

struct list {
    struct found *items;
    size_t n, size;
};

struct search {
    struct arena *arena;
    struct dicom_folder *folder;
    struct ts_diag *diag;
    struct list files, pending; /* pending: folders still to be read */
    size_t others_size;
};

static enum ts_status add_other(struct search *search, const struct dicom_other *other)
{
    struct dicom_folder *folder = search->folder;
    if (folder->n_others == search->others_size) {
        size_t size = search->others_size ? 2 * search->others_size : 16;
        struct dicom_other *others = realloc(folder->others, size * sizeof *others);
        if (!others)
            return ts_diag_no_memory(search->diag, size * sizeof *others);
        folder->others = others;
        search->others_size = size;
    }
    folder->others[folder->n_others++] = *other;
    folder->n_of[other->kind]++;
    folder->n_seen++;
    return TS_OK;
}

static enum ts_status add(struct search *search, struct list *list, const struct found *found)
{
    if (!found->path)
        return ts_diag_no_memory(search->diag, 0);
    if (list->n == MAX_FILES) {
        ts_diag_error(search->diag, TS_BAD_INPUT, &(struct diag_site){.code = "too-many-files"},
                      "more than %d files or folders in the input", (int)MAX_FILES);
        ts_diag_hint(search->diag, "give the folder of one study");
        return TS_BAD_INPUT;
    }
    if (list->n == list->size) {
        size_t size = list->size ? 2 * list->size : 256;
        struct found *items = realloc(list->items, size * sizeof *items);
        if (!items)
            return ts_diag_no_memory(search->diag, size * sizeof *items);
        list->items = items;
        list->size = size;
    }
    list->items[list->n++] = *found;
    return TS_OK;
}

static enum ts_status unreadable(struct search *search, const char *path)
{
    ts_diag_error(search->diag, TS_BAD_INPUT, &(struct diag_site){.code = "input-unreadable"}, "cannot read %s: %s",
                  path, strerror(errno));
    ts_diag_hint(search->diag, "check the path and its permissions");
    return TS_BAD_INPUT;
}

/* The text of a link, or NULL. */
static const char *link_target(struct search *search, const char *path)
{
    char target[4096];
    ssize_t n = readlink(path, target, sizeof target);
    return n > 0 ? ts_arena_text(search->arena, target, (size_t)n) : NULL;
}

/* A name that is neither a file nor a folder to be searched. */
static enum ts_status visit_other(struct search *search, const struct found *found, enum dicom_other_kind kind,
                                  int error, const char *target)
{
    return add_other(search,
                     &(struct dicom_other){
                         .path = found->path, .kind = kind, .error = error, .target = target, .folder = found->folder});
}

static enum ts_status visit_folder(struct search *search, const struct found *parent, struct found *found,
                                   const char *name)
{
    if (parent->depth + 1 > MAX_DEPTH) {
        ts_diag_error(search->diag, TS_BAD_INPUT, &(struct diag_site){.code = "folders-too-deep"},
                      "folders nested deeper than %d in the input", (int)MAX_DEPTH);
        return TS_BAD_INPUT;
    }
    if (strcmp(name, ".git") == 0)
        return visit_other(search, found, DICOM_GIT, 0, NULL);
    found->depth = parent->depth + 1;
    return add(search, &search->pending, found);
}

/* One name in a folder. Only where the folder's entry does not tell what it is, the file system is asked. */
static enum ts_status visit(struct search *search, int fd, const struct found *parent, const struct dirent *entry)
{
    struct stat status;
    struct found found = {.path = ts_arena_printf(search->arena, "%s/%s", parent->path, entry->d_name),
                          .depth = parent->depth,
                          .folder = parent->folder,
                          .entry = parent->entry};
    if (!found.path)
        return ts_diag_no_memory(search->diag, 0);
    if (entry->d_type == DT_REG)
        return add(search, &search->files, &found);
    if (entry->d_type == DT_DIR)
        return visit_folder(search, parent, &found, entry->d_name);
    if (fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return visit_other(search, &found, DICOM_UNREADABLE, errno, NULL);
    if (S_ISLNK(status.st_mode)) {
        if (fstatat(fd, entry->d_name, &status, 0) != 0) {
            int error = errno;
            return visit_other(search, &found, error == ELOOP ? DICOM_LOOP : DICOM_UNREADABLE, error,
                               link_target(search, found.path));
        }
        if (S_ISDIR(status.st_mode))
            return visit_other(search, &found, DICOM_LINK, 0, NULL);
    } else if (S_ISDIR(status.st_mode)) {
        return visit_folder(search, parent, &found, entry->d_name);
    }
    return S_ISREG(status.st_mode) ? add(search, &search->files, &found)
                                   : visit_other(search, &found, DICOM_SPECIAL, 0, NULL);
}

/* A folder that the user named must be readable; of one below it the caller of the scan decides. */
static enum ts_status folder_unreadable(struct search *search, const struct found *place)
{
    return place->depth == 0 ? unreadable(search, place->path)
                             : visit_other(search, place, DICOM_UNREADABLE, errno, NULL);
}

static enum ts_status read_folder(struct search *search, struct found place)
{
    /* A link is followed only where the user named it. */
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
    for (struct dirent *entry = readdir(stream); entry && status == TS_OK; entry = readdir(stream)) {
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
            status = visit(search, fd, &place, entry);
            bare = false;
        }
        errno = 0;
    }
    if (status == TS_OK && errno != 0)
        status = folder_unreadable(search, &place);
    else if (status == TS_OK && bare)
        status = visit_other(search, &itself, DICOM_BARE, 0, NULL);
    closedir(stream);
    return status;
}

/* A path of the user's: a folder to search, or a file, through links where there are any. */
static enum ts_status start_at(struct search *search, const char *path, size_t entry)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return unreadable(search, path);
    const struct found found = {
        .path = ts_arena_text(search->arena, path, strlen(path)), .folder = DICOM_NAMED, .entry = (int)entry};
    return add(search, S_ISDIR(status.st_mode) ? &search->pending : &search->files, &found);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct found *)a)->path, ((const struct found *)b)->path);
}

static int compare_others(const void *a, const void *b)
{
    return strcmp(((const struct dicom_other *)a)->path, ((const struct dicom_other *)b)->path);
}

static int compare_inodes(const void *a, const void *b)
{
    const struct dicom_file *first = *(struct dicom_file *const *)a, *second = *(struct dicom_file *const *)b;
    if (first->device != second->device)
        return first->device < second->device ? -1 : 1;
    if (first->inode != second->inode)
        return first->inode < second->inode ? -1 : 1;
    return strcmp(first->path, second->path);
}

/* A file of several names, by links of either kind, counts once: under the first of them. */
static enum ts_status drop_further_names(struct search *search, struct dicom_file *files, size_t *n_files)
{
    const size_t n = *n_files;
    struct dicom_file **sorted = malloc(n * sizeof(struct dicom_file *) + n + 1);
    if (!sorted)
        return ts_diag_no_memory(search->diag, n * sizeof(struct dicom_file *));
    bool *further = (bool *)(sorted + n);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = &files[i];
        further[i] = false;
    }
    if (n > 1)
        qsort(sorted, n, sizeof *sorted, compare_inodes);
    for (size_t i = 1; i < n; i++) {
        further[sorted[i] - files] =
            sorted[i]->device == sorted[i - 1]->device && sorted[i]->inode == sorted[i - 1]->inode;
    }
    *n_files = 0;
    for (size_t i = 0; i < n; i++)
        if (!further[i])
            files[(*n_files)++] = files[i];
    search->folder->n_same += n - *n_files;
    free(sorted);
    return TS_OK;
}

/* Scans the files in the order of their names; *images is to be freed in every case. */
static enum ts_status scan_files(struct search *search, struct dicom_file **images, size_t *n_images)
{
    struct list *files = &search->files;
    size_t room = 0;
    if (files->n > 0)
        qsort(files->items, files->n, sizeof *files->items, compare_paths);
    for (size_t i = 0; i < files->n; i++) {
        const struct found *found = &files->items[i];
        if (i > 0 && strcmp(found->path, found[-1].path) == 0) {
            search->folder->n_same++; /* named twice by the user */
            continue;
        }
        if (*n_images == room) {
            room = room ? 2 * room : 64;
            struct dicom_file *more = realloc(*images, room * sizeof **images);
            if (!more)
                return ts_diag_no_memory(search->diag, room * sizeof **images);
            *images = more;
        }
        struct dicom_file *next = &(*images)[*n_images];
        struct dicom_other other;
        if (ts_dicom_scan_file(found->path, search->arena, next, &other)) {
            next->folder = found->folder;
            next->entry = found->entry;
            ++*n_images;
            search->folder->n_seen++;
            continue;
        }
        other.folder = found->folder;
        enum ts_status status = add_other(search, &other);
        if (status != TS_OK)
            return status;
    }
    return drop_further_names(search, *images, n_images);
}

/* The arena keeps a copy of n items. NULL where memory is out. */
static void *keep(struct search *search, const void *items, size_t n, size_t item_bytes)
{
    void *kept = ts_arena_alloc(search->arena, n * item_bytes);
    if (!kept)
        ts_diag_no_memory(search->diag, n * item_bytes);
    else if (n > 0)
        memcpy(kept, items, n * item_bytes);
    return kept;
}

static enum ts_status search_and_scan(struct search *search)
{
    struct dicom_folder *folder = search->folder;
    struct dicom_file *images = NULL;
    enum ts_status status = TS_OK;
    while (status == TS_OK && search->pending.n > 0)
        status = read_folder(search, search->pending.items[--search->pending.n]);
    if (status == TS_OK)
        status = scan_files(search, &images, &folder->n_files);
    struct dicom_other *others = folder->others;
    if (status == TS_OK) {
        if (folder->n_others > 1)
            qsort(others, folder->n_others, sizeof *others, compare_others);
        folder->files = keep(search, images, folder->n_files, sizeof *images);
        folder->others = keep(search, others, folder->n_others, sizeof *others);
        status = folder->files && folder->others ? TS_OK : TS_RUN_FAILED;
    }
    free(images);
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

enum ts_status ts_dicom_scan(const char *const *paths, size_t n_paths, struct arena *arena, struct dicom_folder *folder,
                             struct ts_diag *diag)
{
    struct search search = {.arena = arena, .folder = folder, .diag = diag};
    enum ts_status status = TS_OK;
    *folder = (struct dicom_folder){.files = NULL};
    for (size_t i = 0; i < n_paths && status == TS_OK; i++)
        status = start_at(&search, paths[i], i);
    if (status == TS_OK)
        status = search_and_scan(&search);
    if (status == TS_OK)
        status = find_idle(&search, paths, n_paths);
    free(search.files.items);
    free(search.pending.items);
    return status == TS_OK ? ts_dicom_mark_suspects(folder, arena, diag) : status;
}
