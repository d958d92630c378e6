/* SPDX-License-Identifier: Apache-2.0
 *
 * Claims a folder: mkdir tells a new one from one that was there, of which every entry is looked at.
 */
#include "io/file/new_folder.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum ts_status ts_new_folder(const char *folder, bool *made, struct ts_diag *diag)
{
    struct diag_site site = {.code = "folder-not-usable"};
    *made = mkdir(folder, 0777) == 0;
    if (*made)
        return TS_OK;
    if (errno != EEXIST)
        return ts_diag_error(diag, TS_RUN_FAILED, &site, "%s: the folder could not be made: %s", folder,
                             strerror(errno));
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return ts_diag_error(diag, TS_RUN_FAILED, &site, "%s: %s", folder, strerror(errno));
    bool empty = true;
    errno = 0;
    for (const struct dirent *entry = readdir(directory); entry != NULL && empty; entry = readdir(directory))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    const int error = errno;
    closedir(directory);
    if (error)
        return ts_diag_error(diag, TS_RUN_FAILED, &site, "%s cannot be listed: %s", folder, strerror(error));
    if (empty)
        return TS_OK;
    site.code = "folder-not-empty";
    ts_diag_error(diag, TS_RUN_FAILED, &site, "%s: the folder is not empty, and its files could be someone's images",
                  folder);
    return ts_diag_hint(diag, "name a new folder, or empty this one");
}

enum ts_status ts_temporary_folder_make(const char *parent, char *folder, size_t size, struct ts_diag *diag)
{
    const struct diag_site site = {.code = "folder-not-usable"};
    if ((size_t)snprintf(folder, size, "%s/tomostage-XXXXXX", parent) >= size)
        return ts_diag_error(diag, TS_RUN_FAILED, &site, "%s: the path is too long", parent);
    if (!mkdtemp(folder))
        return ts_diag_error(diag, TS_RUN_FAILED, &site, "no folder can be made in %s: %s", parent, strerror(errno));
    return TS_OK;
}

static int remove_entry(const char *path, const struct stat *found, int kind, struct FTW *at)
{
    (void)found;
    (void)kind;
    (void)at;
    return remove(path);
}

void ts_temporary_folder_remove(const char *folder)
{
    enum { MOST_OPEN = 16 };
    (void)nftw(folder, remove_entry, MOST_OPEN, FTW_DEPTH | FTW_PHYS);
}
