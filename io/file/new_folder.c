/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a folder, or takes an existing one if it is empty. mkdir tells which it is; an existing
 * folder is listed to see whether it is empty. Also makes and removes temporary folders.
 */
#include "io/file/new_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum ts_status ts_new_folder(const char *folder, bool *made, struct ts_diag *diag)
{
    struct diag_site site = {.code = "folder-not-usable"};
    *made = mkdir(folder, 0777) == 0;
    if (*made)
        return TS_OK;
    if (errno != EEXIST) {
        ts_diag_error(diag, TS_RUN_FAILED, &site, "%s: the folder could not be made: %s", folder,
                      strerror(errno));
        return ts_diag_hint(diag, "name one in a folder that exists and takes files");
    }
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return ts_diag_error(diag, TS_RUN_FAILED, &site, "%s: %s", folder, strerror(errno));
    bool empty = true;
    errno = 0;
    for (const struct dirent *entry = readdir(directory); entry != NULL && empty;
         entry = readdir(directory))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    const int error = errno;
    closedir(directory);
    if (error)
        return ts_diag_error(diag, TS_RUN_FAILED, &site, "%s cannot be listed: %s", folder,
                             strerror(error));
    if (empty)
        return TS_OK;
    site.code = "folder-not-empty";
    ts_diag_error(diag, TS_RUN_FAILED, &site,
                  "%s: the folder is not empty, and its files could be someone's images", folder);
    return ts_diag_hint(diag, "name a new folder, or empty this one");
}

enum ts_status ts_temporary_folder_make(const char *parent, char *folder, size_t size,
                                        struct ts_diag *diag)
{
    const struct diag_site site = {.code = "folder-not-usable"};
    if ((size_t)snprintf(folder, size, "%s/tomostage-XXXXXX", parent) >= size)
        return ts_diag_error(diag, TS_RUN_FAILED, &site, "%s: the path is too long", parent);
    if (!mkdtemp(folder))
        return ts_diag_error(diag, TS_RUN_FAILED, &site, "no folder can be made in %s: %s", parent,
                             strerror(errno));
    return TS_OK;
}

static bool remove_entry(int folder, const char *name);

/* Removes what the folder holds. Allocates nothing, so that it works without memory. Removing
   entries while a folder is read may hide others, so the folder is read again until nothing more
   can be removed. */
static void remove_entries(int folder)
{
    union {
        struct dirent64 first;
        char bytes[4096];
    } entries;
    bool removed = true;
    while (removed && lseek(folder, 0, SEEK_SET) == 0) {
        removed = false;
        for (ssize_t n; (n = getdents64(folder, &entries, sizeof entries)) > 0;)
            for (ssize_t at = 0; at < n;) {
                const struct dirent64 *entry =
                    (const struct dirent64 *)(const void *)(entries.bytes + at);
                at += entry->d_reclen;
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                    removed |= remove_entry(folder, entry->d_name);
            }
    }
}

static bool remove_entry(int folder, const char *name)
{
    if (unlinkat(folder, name, 0) == 0)
        return true;
    const int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0)
        return false;
    remove_entries(inner);
    close(inner);
    return unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

void ts_temporary_folder_remove(const char *folder)
{
    (void)remove_entry(AT_FDCWD, folder);
}
