/* SPDX-License-Identifier: Apache-2.0
 *
 * A file is committed as io/file/file_commit.h does it. One that it replaces gets a second name
 * before, by a hard link, from which it can be brought back. A folder is renamed, and changes
 * places with one that it replaces. Where a file system can do neither, what was replaced cannot be
 * brought back; the new output is whole all the same.
 */
#include "io/file/staged.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/path.h"
#include "io/file/file_bytes.h"
#include "io/file/new_folder.h"

static enum ts_status fail(struct ts_diag *diag, const char *code, const char *what,
                           const char *path, int error)
{
    return ts_file_failed(diag, code, error, "cannot %s '%s'", what, path);
}

/* Returns true for a name that ts_staged_create_part gives, or that the content has. */
static bool is_part(const char *name, const struct staged_content *content)
{
    for (const char *const *known = content->names; known && *known; known++)
        if (!strcmp(name, *known))
            return true;
    const size_t start = sizeof STAGED_NAME - 1;
    const size_t digits =
        strncmp(name, STAGED_NAME, start) == 0 ? strspn(name + start, "0123456789") : 0;
    return content->suffix && digits > 0 && strcmp(name + start + digits, content->suffix) == 0;
}

/* Checks what a folder of this name holds that is there already. */
static enum ts_status check_contents(const char *path, const struct staged_content *content,
                                     bool force, struct ts_diag *diag)
{
    struct stat found;
    if (lstat(path, &found) != 0)
        return errno == ENOENT ? TS_OK
                               : fail(diag, "output-path", "use the output path", path, errno);
    if (!S_ISDIR(found.st_mode)) {
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-not-a-folder"},
                      "the output '%s' is to be a folder, and is something else", path);
        return ts_diag_hint(diag, "choose another name");
    }
    DIR *directory = opendir(path);
    if (!directory)
        return fail(diag, "output-folder-unreadable", "look at the output folder", path, errno);
    bool empty = true, own = true;
    for (const struct dirent *entry = readdir(directory); entry && own; entry = readdir(directory))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            empty = false;
            own = is_part(entry->d_name, content) &&
                  fstatat(dirfd(directory), entry->d_name, &found, 0) == 0 &&
                  S_ISREG(found.st_mode);
        }
    closedir(directory);
    if (empty || (own && force))
        return TS_OK;
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-exists"},
                  "the output folder '%s' is there and not empty", path);
    return own ? ts_diag_hint(diag, "choose another name, or replace it with --force")
               : ts_diag_hint(diag,
                              "choose another name: it holds files that no run has written there");
}

/* Returns a copy of a folder's path without slashes at its end. */
static char *without_slashes(const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return strndup(path, length);
}

enum ts_status ts_staged_check_folder(const char *path, const struct staged_content *content,
                                      bool force, int64_t bytes, struct ts_diag *diag)
{
    char *name = without_slashes(path), *folder = name ? ts_file_folder(name) : NULL;
    const char *base = name ? ts_base_name(name) : "";
    enum ts_status status = folder ? TS_OK : ts_diag_no_memory(diag, strlen(path));
    if (status == TS_OK &&
        (!*base || !strcmp(base, ".") || !strcmp(base, "..") || strlen(base) > NAME_MAX - 64))
        status = ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-path"},
                               "the output '%s' is not the name of a new folder", path);
    if (status == TS_OK)
        status = ts_file_check_folder(name, folder, diag);
    if (status == TS_OK)
        status = check_contents(name, content, force, diag);
    if (status == TS_OK)
        ts_file_check_space(folder, bytes, diag);
    free(folder);
    free(name);
    return status;
}

enum ts_status ts_staged_file(struct staged *staged, const char *path, bool force,
                              struct ts_diag *diag)
{
    *staged = (struct staged){.force = force};
    return ts_file_create(&staged->file, path, force, diag);
}

enum ts_status ts_staged_folder(struct staged *staged, const char *path,
                                const struct staged_content *content, bool force,
                                struct ts_diag *diag)
{
    *staged = (struct staged){.is_folder = true, .force = force, .file.fd = -1};
    enum ts_status status = ts_staged_check_folder(path, content, force, 0, diag);
    if (status != TS_OK)
        return status;
    char *temporary = NULL;
    staged->path = without_slashes(path);
    staged->folder = staged->path ? ts_file_folder(staged->path) : NULL;
    if (!staged->folder)
        return ts_diag_no_memory(diag, strlen(path));
    ts_file_remove_stale(staged->folder, ts_base_name(staged->path), diag);
    if (!ts_file_temporary_path(staged->folder, ts_base_name(staged->path), &temporary))
        return ts_diag_no_memory(diag, strlen(path) + 64);
    if (mkdir(temporary, 0777) != 0) {
        status = fail(diag, "output-create", "create a folder in", staged->folder, errno);
        free(temporary);
        return status;
    }
    staged->temporary = temporary;
    return TS_OK;
}

int ts_staged_create_part(const struct staged *staged, int64_t number, int64_t n,
                          const char *suffix)
{
    char *path = NULL;
    int digits = 4;
    for (int64_t most = 9999; n > most; most = 10 * most + 9)
        digits++;
    if (asprintf(&path, "%s/" STAGED_NAME "%0*lld%s", staged->temporary, digits, (long long)number,
                 suffix) < 0) {
        errno = ENOMEM;
        return -1;
    }
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    const int error = errno;
    free(path);
    errno = error;
    return fd;
}

/* Syncs the files of a staged folder, and then the folder, which makes their names last. */
static int sync_parts(const struct staged *staged)
{
    DIR *directory = opendir(staged->temporary);
    int error = directory ? 0 : errno;
    for (const struct dirent *entry = directory ? readdir(directory) : NULL; entry && !error;
         entry = readdir(directory)) {
        if (*entry->d_name == '.')
            continue;
        const int fd = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fsync(fd) != 0)
            error = errno;
        if (fd >= 0)
            close(fd);
    }
    if (!error && fsync(dirfd(directory)) != 0 &&
        errno != EINVAL) /* EINVAL: folders cannot be synced here */
        error = errno;
    if (directory)
        closedir(directory);
    return error;
}

enum ts_status ts_staged_sync(const struct staged *staged, struct ts_diag *diag)
{
    if (!staged->is_folder)
        return ts_file_sync(&staged->file, diag);
    const int error = sync_parts(staged);
    return error ? fail(diag, "output-write", "bring to the disk the output", staged->path, error)
                 : TS_OK;
}

/* Gives a file that is about to be replaced a second name, where there is one and the file system
 * can. */
static void keep_old(struct staged *staged)
{
    const struct file_commit *file = &staged->file;
    char *second = NULL;
    if (!staged->force || !ts_file_temporary_path(file->folder, ts_base_name(file->path), &second))
        return;
    staged->has_old = link(file->path, second) == 0;
    staged->temporary = second;
}

static int publish_folder(struct staged *staged)
{
    if (renameat2(AT_FDCWD, staged->temporary, AT_FDCWD, staged->path, RENAME_NOREPLACE) == 0)
        return 0;
    const int error = errno;
    if (error == EINVAL || error == ENOSYS || (error == EEXIST && rmdir(staged->path) == 0))
        return rename(staged->temporary, staged->path) == 0 ? 0 : errno;
    if (error != EEXIST || !staged->force)
        return error;
    staged->has_old =
        renameat2(AT_FDCWD, staged->temporary, AT_FDCWD, staged->path, RENAME_EXCHANGE) == 0;
    return staged->has_old ? 0 : errno;
}

enum ts_status ts_staged_publish(struct staged *staged, struct ts_diag *diag)
{
    if (!staged->is_folder) {
        keep_old(staged);
        const enum ts_status status = ts_file_publish(&staged->file, diag);
        staged->published = status == TS_OK;
        return status;
    }
    const int error = publish_folder(staged);
    if (error)
        return fail(diag, "output-rename", "give the finished folder the name", staged->path,
                    error);
    staged->published = true;
    ts_file_sync_folder(staged->folder, staged->path, diag);
    return TS_OK;
}

void ts_staged_retract(struct staged *staged)
{
    const char *path = staged->is_folder ? staged->path : staged->file.path;
    if (!staged->published)
        return;
    staged->published = false;
    if (!staged->is_folder) {
        if (!staged->has_old || rename(staged->temporary, path) != 0)
            unlink(path);
        staged->has_old = false;
    } else if (staged->has_old) {
        (void)renameat2(AT_FDCWD, staged->temporary, AT_FDCWD, path, RENAME_EXCHANGE);
        staged->has_old = false;
    } else {
        (void)rename(path, staged->temporary);
    }
}

void ts_staged_clear(struct staged *staged)
{
    if (staged->is_folder && staged->temporary && (!staged->published || staged->has_old))
        ts_temporary_folder_remove(staged->temporary);
    else if (!staged->is_folder && staged->has_old)
        unlink(staged->temporary);
    ts_file_clear(&staged->file);
    free(staged->path);
    free(staged->folder);
    free(staged->temporary);
    *staged = (struct staged){.file.fd = -1};
}
