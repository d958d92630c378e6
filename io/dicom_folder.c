/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the files of a study: folders are searched without recursion and without following links, the names sorted, so
 * that nothing depends on the order in which the file system lists them. Then each file is scanned.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/dicom_scan.h"

enum { MAX_DEPTH = 32, MAX_FILES = 1000000 };

struct found {
    const char *path; /* arena */
    int depth;
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
};

static enum ts_status add(struct search *search, struct list *list, const char *path, int depth)
{
    if (!path) {
        return ts_diag_no_memory(search->diag, 0);
    }
    if (list->n == MAX_FILES) {
        ts_diag_error(search->diag, TS_BAD_INPUT, &(struct diag_site){.code = "too-many-files"},
                      "more than %d files or folders in the input", (int)MAX_FILES);
        ts_diag_hint(search->diag, "give the folder of one study");
        return TS_BAD_INPUT;
    }
    if (list->n == list->size) {
        size_t size = list->size ? 2 * list->size : 256;
        struct found *items = realloc(list->items, size * sizeof *items);
        if (!items) {
            return ts_diag_no_memory(search->diag, size * sizeof *items);
        }
        list->items = items;
        list->size = size;
    }
    list->items[list->n++] = (struct found){.path = path, .depth = depth};
    return TS_OK;
}

static enum ts_status unreadable(struct search *search, const char *path)
{
    ts_diag_error(search->diag, TS_BAD_INPUT, &(struct diag_site){.code = "input-unreadable"}, "cannot read %s: %s",
                  path, strerror(errno));
    ts_diag_hint(search->diag, "check the path and its permissions");
    return TS_BAD_INPUT;
}

/* One name in a folder. */
static enum ts_status visit(struct search *search, int fd, const struct found *place, const char *name)
{
    struct stat status;
    if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        search->folder->n_seen++;
        search->folder->n_unreadable++;
        return TS_OK;
    }
    if (S_ISDIR(status.st_mode)) {
        if (place->depth + 1 > MAX_DEPTH) {
            ts_diag_error(search->diag, TS_BAD_INPUT, &(struct diag_site){.code = "folders-too-deep"},
                          "folders nested deeper than %d in the input", (int)MAX_DEPTH);
            return TS_BAD_INPUT;
        }
        return add(search, &search->pending, ts_arena_printf(search->arena, "%s/%s", place->path, name),
                   place->depth + 1);
    }
    if (S_ISREG(status.st_mode)) {
        return add(search, &search->files, ts_arena_printf(search->arena, "%s/%s", place->path, name), place->depth);
    }
    search->folder->n_seen++;
    *(S_ISLNK(status.st_mode) ? &search->folder->n_links : &search->folder->n_special) += 1;
    return TS_OK;
}

static enum ts_status read_folder(struct search *search, struct found place)
{
    /* A link is followed only where the user named it. */
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (place.depth > 0 ? O_NOFOLLOW : 0);
    int fd = open(place.path, flags);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream) {
        enum ts_status status = unreadable(search, place.path);
        if (fd >= 0) {
            close(fd);
        }
        return status;
    }
    enum ts_status status = TS_OK;
    errno = 0;
    for (struct dirent *entry = readdir(stream); entry && status == TS_OK; entry = readdir(stream)) {
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
            status = visit(search, fd, &place, entry->d_name);
        }
        errno = 0;
    }
    if (status == TS_OK && errno != 0) {
        status = unreadable(search, place.path);
    }
    closedir(stream);
    return status;
}

/* A path of the user's: a folder to search, or a file, through links where there are any. */
static enum ts_status start_at(struct search *search, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return unreadable(search, path);
    }
    if (S_ISDIR(status.st_mode)) {
        return add(search, &search->pending, ts_arena_text(search->arena, path, strlen(path)), 0);
    }
    char *real = realpath(path, NULL);
    if (!real) {
        return unreadable(search, path);
    }
    enum ts_status result = add(search, &search->files, ts_arena_text(search->arena, real, strlen(real)), 0);
    free(real);
    return result;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct found *)a)->path, ((const struct found *)b)->path);
}

static enum ts_status scan_files(struct search *search)
{
    struct list *files = &search->files;
    if (files->n > 0) {
        qsort(files->items, files->n, sizeof *files->items, compare_paths);
    }
    size_t room = 0;
    struct dicom_file *images = NULL;
    enum ts_status status = TS_OK;
    for (size_t i = 0; i < files->n && status == TS_OK; i++) {
        if (i > 0 && strcmp(files->items[i].path, files->items[i - 1].path) == 0) {
            continue; /* named twice by the user */
        }
        if (search->folder->n_files == room) {
            room = room ? 2 * room : 64;
            struct dicom_file *more = realloc(images, room * sizeof *images);
            if (!more) {
                status = ts_diag_no_memory(search->diag, room * sizeof *images);
                break;
            }
            images = more;
        }
        struct dicom_file *next = &images[search->folder->n_files];
        search->folder->n_files += ts_dicom_scan_file(files->items[i].path, search->arena, search->folder, next);
    }
    size_t bytes = search->folder->n_files * sizeof *images;
    search->folder->files = ts_arena_alloc(search->arena, bytes);
    if (status == TS_OK && !search->folder->files) {
        status = ts_diag_no_memory(search->diag, bytes);
    } else if (status == TS_OK && bytes > 0) {
        memcpy(search->folder->files, images, bytes);
    }
    free(images);
    return status;
}

enum ts_status ts_dicom_scan(const char *const *paths, size_t n_paths, struct arena *arena, struct dicom_folder *folder,
                             struct ts_diag *diag)
{
    struct search search = {.arena = arena, .folder = folder, .diag = diag};
    enum ts_status status = TS_OK;
    *folder = (struct dicom_folder){.files = NULL};
    for (size_t i = 0; i < n_paths && status == TS_OK; i++) {
        status = start_at(&search, paths[i]);
    }
    while (status == TS_OK && search.pending.n > 0) {
        status = read_folder(&search, search.pending.items[--search.pending.n]);
    }
    if (status == TS_OK) {
        status = scan_files(&search);
    }
    free(search.files.items);
    free(search.pending.items);
    return status;
}
