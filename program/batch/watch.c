/* SPDX-License-Identifier: Apache-2.0
 *
 * It asks for names, sizes and times again and again, since inotify tells nothing of changes that
 * another machine makes on a shared disk.
 */
#include "program/batch/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/timing.h"

enum { DEEPEST = 16 };

/* Adds what a file or folder and all below it looks like. */
static void look(int folder, const char *name, unsigned long long seen[3], int depth)
{
    struct stat found;
    if (fstatat(folder, name, &found, 0) != 0)
        return;
    const unsigned long long time = (unsigned long long)found.st_mtim.tv_sec * 1000000000ULL +
                                    (unsigned long long)found.st_mtim.tv_nsec;
    seen[2] = time > seen[2] ? time : seen[2];
    if (S_ISREG(found.st_mode)) {
        seen[0]++;
        seen[1] += (unsigned long long)found.st_size;
    }
    const int fd = S_ISDIR(found.st_mode) && depth < DEEPEST
                       ? openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                       : -1;
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    for (const struct dirent *entry; directory && (entry = readdir(directory)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            look(dirfd(directory), entry->d_name, seen, depth + 1);
    if (directory)
        closedir(directory);
}

static struct arrival *find(struct watch *watch, const char *name)
{
    for (size_t i = 0; i < watch->n; i++)
        if (!strcmp(watch->items[i].name, name))
            return &watch->items[i];
    struct arrival *items =
        ts_memory_grow(watch->items, watch->n, &watch->capacity, sizeof *watch->items);
    char *copy = items ? strdup(name) : NULL;
    watch->items = items ? items : watch->items;
    if (!copy)
        return NULL;
    watch->items[watch->n] = (struct arrival){.name = copy, .since = ts_seconds()};
    return &watch->items[watch->n++];
}

/* Returns true if the entry holds files and has just become complete. */
static bool is_complete(struct arrival *arrival, int folder, int settle)
{
    unsigned long long seen[3] = {0};
    if (arrival->complete)
        return false;
    look(folder, arrival->name, seen, 0);
    if (memcmp(seen, arrival->seen, sizeof seen) != 0) {
        memcpy(arrival->seen, seen, sizeof seen);
        arrival->since = ts_seconds();
    }
    arrival->complete = seen[0] > 0 && ts_seconds() - arrival->since >= settle;
    return arrival->complete;
}

static bool is_same(int folder, const char *name, const char *path)
{
    struct stat a, b;
    return fstatat(folder, name, &a, 0) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

bool ts_watch_next(struct watch *watch, const char *folder, const char *own, int settle, char *path,
                   size_t size)
{
    bool found = false;
    DIR *directory = opendir(folder);
    for (const struct dirent *entry; directory && !found && (entry = readdir(directory)) != NULL;) {
        if (*entry->d_name == '.' || is_same(dirfd(directory), entry->d_name, own))
            continue;
        struct arrival *arrival = find(watch, entry->d_name);
        found = arrival && is_complete(arrival, dirfd(directory), settle);
        if (found)
            snprintf(path, size, "%s/%s", folder, entry->d_name);
    }
    if (directory)
        closedir(directory);
    return found;
}

void ts_watch_end(struct watch *watch)
{
    for (size_t i = 0; i < watch->n; i++)
        free(watch->items[i].name);
    free(watch->items);
    *watch = (struct watch){0};
}
