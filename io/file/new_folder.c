/* SPDX-License-Identifier: Apache-2.0
 *
 * Claims a folder: mkdir tells a new one from one that was there, of which every entry is looked at.
 */
#include "io/file/new_folder.h"

#include <dirent.h>
#include <errno.h>
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
