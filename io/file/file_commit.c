/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates the file without a name, links or renames it without replacing another, and syncs the
 * file and the folder. A process is taken as alive if its number answers to kill(pid, 0): so only
 * one of several hosts may write to a shared folder at a time.
 */
#include "io/file/file_commit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/number.h"
#include "core/path.h"
#include "io/file/file_bytes.h"
#include "io/file/new_folder.h"

/* Files in a staged folder are named `slice_`, a number with leading zeros, and the
   suffix. */
#define STAGED_NAME "slice_"

static const char temporary_mark[] = ".tomostage-tmp.";

char *ts_file_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

bool ts_file_is_full(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

enum ts_status ts_file_failed(struct ts_diag *diag, const char *code, int error, const char *format,
                              ...)
{
    char message[PATH_MAX + 256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const struct diag_site site = {.code = ts_file_is_full(error) ? "disk-full" : code};
    ts_diag_error(diag, TS_RUN_FAILED, &site, "%s: %s (%d)", message, ts_errno_text(error), error);
    return ts_file_is_full(error)
               ? ts_diag_hint(diag, "free some space or write the output to another disk")
               : TS_RUN_FAILED;
}

static enum ts_status file_commit_fail(struct ts_diag *diag, const char *code, const char *what,
                                       const char *path, int error)
{
    return ts_file_failed(diag, code, error, "cannot %s '%s'", what, path);
}

/* Warns where the folder's disk has too little space for so many bytes.
 * Warns only, because `bytes` are those without compression. A disk that is really full is met
 * while writing. */
static void file_check_space(const char *folder, int64_t bytes, struct ts_diag *diag)
{
    struct statvfs disk;
    /* A file system without blocks does not report its size. */
    if (bytes <= 0 || statvfs(folder, &disk) != 0 || disk.f_blocks == 0)
        return;
    double available = (double)disk.f_bavail * (double)disk.f_frsize, needed = 1.05 * (double)bytes;
    if (available >= needed)
        return;
    char free_text[32], needed_text[32];
    ts_bytes_format(free_text, sizeof free_text, available);
    ts_bytes_format(needed_text, sizeof needed_text, needed);
    ts_diag_warning(diag, &(struct diag_site){.code = "output-space"},
                    "the output may take up to %s where it does not compress, and '%s' has %s free",
                    needed_text, folder, free_text);
    ts_diag_hint(diag, "free some space or write the output to another disk");
}

/* Makes a name for something unfinished: `.BASE.tomostage-tmp.PID.RANDOM` in the folder. The caller
   frees *path. Returns false if memory is out. */
static bool file_temporary_path(const char *folder, const char *base, char **path)
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        random = (uint64_t)(uintptr_t)&random; /* O_EXCL refuses a name that exists */
    return asprintf(path, "%s/.%s%s%ld.%016llx", folder, base, temporary_mark, (long)getpid(),
                    (unsigned long long)random) > 0;
}

static int open_unnamed(const char *folder)
{
    return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static int open_temporary(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int ts_file_scratch(const char *folder, const char *base)
{
    char *path;
    int fd = open_unnamed(folder);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    if (!file_temporary_path(folder, base, &path)) {
        errno = ENOMEM;
        return -1;
    }
    fd = open_temporary(path);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}

/* Links the file to its first name. That needs /proc, unless the process may read everything. */
static int link_descriptor(int fd, const char *path)
{
    char own[32];
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

/* Returns true if a file of the folder can be made without a name and get one later. Only a trial
   tells. */
static bool can_link(const char *folder, const char *temporary)
{
    const int fd = open_unnamed(folder);
    const bool done = fd >= 0 && link_descriptor(fd, temporary) == 0;
    if (done)
        unlink(temporary);
    if (fd >= 0)
        close(fd);
    return done;
}

/* Some folders, such as those of /proc, accept no files whatever their mode is: only a trial
   tells. */
static enum ts_status try_folder(const char *path, const char *folder, struct ts_diag *diag)
{
    const int fd = ts_file_scratch(folder, ts_base_name(path)), error = errno;
    if (fd >= 0) {
        close(fd);
        return TS_OK;
    }
    ts_file_failed(diag, "output-folder-not-writable", error,
                   "the output folder '%s' takes no files", folder);
    return ts_file_is_full(error) ? TS_RUN_FAILED
                                  : ts_diag_hint(diag, "choose another folder for the output");
}

/* Checks that the folder of an output exists and accepts files. */
static enum ts_status file_check_folder(const char *path, const char *folder, struct ts_diag *diag)
{
    struct stat status;
    const bool found = stat(folder, &status) == 0;
    if (!found && errno != ENOENT && errno != ENOTDIR)
        return file_commit_fail(diag, "output-folder-unreadable", "look at the output folder",
                                folder, errno);
    if (!found || !S_ISDIR(status.st_mode)) {
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-folder-missing"},
                      "the folder '%s' of the output '%s' does not exist", folder, path);
        return ts_diag_hint(diag, "make it first: mkdir -p '%s'", folder);
    }
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0) {
        file_commit_fail(diag, "output-folder-not-writable", "write to the output folder", folder,
                         errno);
        return ts_diag_hint(diag,
                            "give yourself the right to write there, or choose another output");
    }
    return try_folder(path, folder, diag);
}

static enum ts_status check_existing(const char *path, bool force, struct ts_diag *diag)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        if (errno == ENOENT && lstat(path, &status) != 0)
            return TS_OK;
        return file_commit_fail(diag, "output-path", "use the output path", path, errno);
    }
    if (!S_ISREG(status.st_mode))
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-not-a-file"},
                             "the output '%s' is %s, not a file", path,
                             S_ISDIR(status.st_mode) ? "a folder" : "a device, pipe or socket");
    if (force)
        return TS_OK;
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-exists"},
                  "the output '%s' already exists", path);
    return ts_diag_hint(diag, "choose another name, or replace it with --force");
}

bool ts_file_is_same(const char *a, const char *b)
{
    struct stat one, two;
    return a && b && stat(a, &one) == 0 && stat(b, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

enum ts_status ts_file_check(const char *path, bool force, int64_t bytes, struct ts_diag *diag)
{
    const char *base = ts_base_name(path);
    if (*base == '\0' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-path"},
                             "the output '%s' is a folder or empty, not the name of a file", path);
    /* The temporary name is longer than the final one. */
    if (strlen(base) + sizeof temporary_mark + 40 > NAME_MAX)
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-path"},
                             "the output's name is %zu bytes long, %zu are possible", strlen(base),
                             NAME_MAX - sizeof temporary_mark - 40);
    char *folder = ts_file_folder(path);
    if (!folder)
        return ts_diag_no_memory(diag, strlen(path));
    enum ts_status status = file_check_folder(path, folder, diag);
    if (status == TS_OK)
        status = check_existing(path, force, diag);
    if (status == TS_OK)
        file_check_space(folder, bytes, diag);
    free(folder);
    return status;
}

/* Returns the process number in the name of a temporary file of `base`; 0 if the name is not of
   that form. */
static pid_t owner_of(const char *name, const char *base)
{
    size_t length = strlen(base);
    if (name[0] != '.' || strncmp(name + 1, base, length) != 0)
        return 0;
    const char *mark = name + 1 + length;
    if (strncmp(mark, temporary_mark, sizeof temporary_mark - 1) != 0)
        return 0;
    char *end;
    const char *digits = mark + sizeof temporary_mark - 1;
    long pid = strtol(digits, &end, 10);
    return end > digits && *end == '.' && pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

void ts_file_remove_stale(const char *folder, const char *base, struct ts_diag *diag)
{
    DIR *directory = opendir(folder);
    if (!directory)
        return;
    struct dirent *entry;
    while ((entry = readdir(directory))) {
        pid_t pid = owner_of(entry->d_name, base);
        if (pid == 0 || kill(pid, 0) == 0 || errno != ESRCH)
            continue;
        bool removed = unlinkat(dirfd(directory), entry->d_name, 0) == 0;
        if (!removed && errno == EISDIR) {
            char *path = NULL;
            if (asprintf(&path, "%s/%s", folder, entry->d_name) > 0) {
                ts_temporary_folder_remove(path);
                removed = access(path, F_OK) != 0;
                free(path);
            }
        }
        if (removed)
            ts_diag_note(diag, &(struct diag_site){.code = "stale-temporary-removed"},
                         "removed '%s', left by a run that was killed", entry->d_name);
    }
    closedir(directory);
}

enum ts_status ts_private_folder_name(const char *kind, char *folder, size_t size,
                                      struct ts_diag *diag)
{
    const char *given = getenv("TMPDIR"), *parent = given && *given ? given : "/tmp";
    char *path = NULL;
    ts_file_remove_stale(parent, kind, diag);
    if (!file_temporary_path(parent, kind, &path))
        return ts_diag_no_memory(diag, strlen(parent));
    const bool fits = strlen(path) + 1 <= size;
    snprintf(folder, size, "%s", path);
    free(path);
    return fits ? TS_OK
                : ts_diag_error(diag, TS_RUN_FAILED,
                                &(struct diag_site){.code = "folder-not-usable"},
                                "%s: the path is too long", parent);
}

enum ts_status ts_private_folder_make(const char *folder, struct ts_diag *diag)
{
    return mkdir(folder, S_IRWXU) == 0
               ? TS_OK
               : ts_file_failed(diag, "folder-not-usable", errno, "%s cannot be made", folder);
}

enum ts_status ts_file_create(struct file_commit *file, const char *path, bool force,
                              struct ts_diag *diag)
{
    *file = (struct file_commit){.fd = -1, .force = force};
    enum ts_status status = ts_file_check(path, force, 0, diag);
    if (status != TS_OK)
        return status;
    file->path = strdup(path);
    file->folder = ts_file_folder(path);
    if (!file->path || !file->folder)
        return ts_diag_no_memory(diag, strlen(path));
    ts_file_remove_stale(file->folder, ts_base_name(path), diag);
    if (!file_temporary_path(file->folder, ts_base_name(path), &file->temporary)) {
        file->temporary = NULL;
        return ts_diag_no_memory(diag, strlen(path) + 64);
    }
    file->named = !can_link(file->folder, file->temporary);
    file->fd = file->named ? open_temporary(file->temporary) : open_unnamed(file->folder);
    if (file->fd < 0)
        return file_commit_fail(diag, "output-create", "create a file in the output folder",
                                file->folder, errno);
    return TS_OK;
}

/* umask() would change the mask of other threads as well. */
static mode_t creation_mask(void)
{
    unsigned int mask = 077;
    char line[128];
    FILE *stream = fopen("/proc/self/status", "re");
    while (stream && fgets(line, sizeof line, stream))
        if (sscanf(line, "Umask: %o", &mask) == 1)
            break;
    if (stream)
        fclose(stream);
    return mask & 0777;
}

/* The mode is set before the sync; otherwise a power cut could leave a file that only its owner can
   read. */
enum ts_status ts_file_sync(const struct file_commit *file, struct ts_diag *diag)
{
    if (fchmod(file->fd, 0666 & ~creation_mask()) != 0 && errno != EPERM && errno != EOPNOTSUPP)
        return file_commit_fail(diag, "output-write", "set the mode of", file->path, errno);
    if (fsync(file->fd) != 0)
        return file_commit_fail(diag, "output-write", "bring to the disk the output", file->path,
                                errno);
    return TS_OK;
}

/* Gives a file with a temporary name its own name, if no other file has that. Without
   RENAME_NOREPLACE a file system does it by a link, in two steps; without links, only by checking
   first. */
static int rename_new(const struct file_commit *file)
{
    if (renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    if (link(file->temporary, file->path) == 0) {
        unlink(file->temporary);
        return 0;
    }
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
        return errno;
    struct stat status;
    if (lstat(file->path, &status) == 0)
        return EEXIST;
    return rename(file->temporary, file->path) == 0 ? 0 : errno;
}

static int publish(struct file_commit *file)
{
    if (!file->named) {
        if (link_descriptor(file->fd, file->path) == 0)
            return 0;
        /* A link replaces no file, so this one first gets its temporary name and is then
           renamed. */
        if (errno != EEXIST || !file->force || link_descriptor(file->fd, file->temporary) != 0)
            return errno;
        file->named = true;
    }
    if (!file->force)
        return rename_new(file);
    return rename(file->temporary, file->path) == 0 ? 0 : errno;
}

void ts_file_sync_folder(const char *folder, const char *path, struct ts_diag *diag)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = fd < 0 ? errno : 0;
    /* EINVAL: folders of this file system cannot be synced */
    if (fd >= 0 && fsync(fd) != 0 && errno != EINVAL)
        error = errno;
    if (fd >= 0)
        close(fd);
    if (error)
        /* The file is whole and has its name, but may be lost in a power cut in the next
           seconds. */
        ts_diag_warning(diag, &(struct diag_site){.code = "output-folder-sync"},
                        "the output '%s' is complete, but its folder could not be synced: %s (%d)",
                        path, ts_errno_text(error), error);
}

enum ts_status ts_file_publish(struct file_commit *file, struct ts_diag *diag)
{
    const int error = publish(file);
    if (error == EEXIST) {
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-exists"},
                      "the output '%s' came into being during the run", file->path);
        return ts_diag_hint(diag, "choose another name, or replace it with --force");
    }
    if (error)
        return file_commit_fail(diag, "output-rename", "give the finished file the name",
                                file->path, error);
    file->named = false; /* the temporary name is gone */
    ts_file_sync_folder(file->folder, file->path, diag);
    return TS_OK;
}

void ts_file_clear(struct file_commit *file)
{
    if (file->named && file->fd >= 0)
        unlink(file->temporary);
    if (file->fd >= 0 && file->path)
        close(file->fd);
    free(file->path);
    free(file->folder);
    free(file->temporary);
    *file = (struct file_commit){.fd = -1};
}

/* ---- staged ---------------------------------------------------------------------------------- */

/* A file is committed as io/file/file_commit.h says. If it replaces a file, that one first gets
 * a second name by a hard link, from which it can be restored. A folder is renamed; if it
 * replaces a folder, the two exchange names. If a file system can do neither, what was replaced
 * cannot be restored, but the new output is whole. */

static enum ts_status staged_fail(struct ts_diag *diag, const char *code, const char *what,
                                  const char *path, int error)
{
    return ts_file_failed(diag, code, error, "cannot %s '%s'", what, path);
}

/* Returns true for a name that ts_staged_create_part gives, or that `content` lists. */
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

/* Checks what an existing folder of this name holds. */
static enum ts_status check_contents(const char *path, const struct staged_content *content,
                                     bool force, struct ts_diag *diag)
{
    struct stat found;
    if (lstat(path, &found) != 0)
        return errno == ENOENT
                   ? TS_OK
                   : staged_fail(diag, "output-path", "use the output path", path, errno);
    if (!S_ISDIR(found.st_mode)) {
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-not-a-folder"},
                      "the output '%s' is to be a folder, and is something else", path);
        return ts_diag_hint(diag, "choose another name");
    }
    DIR *directory = opendir(path);
    if (!directory)
        return staged_fail(diag, "output-folder-unreadable", "look at the output folder", path,
                           errno);
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

/* Returns a copy of a folder's path without trailing slashes. */
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
        status = file_check_folder(name, folder, diag);
    if (status == TS_OK)
        status = check_contents(name, content, force, diag);
    if (status == TS_OK)
        file_check_space(folder, bytes, diag);
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
    if (!file_temporary_path(staged->folder, ts_base_name(staged->path), &temporary))
        return ts_diag_no_memory(diag, strlen(path) + 64);
    if (mkdir(temporary, 0777) != 0) {
        status = staged_fail(diag, "output-create", "create a folder in", staged->folder, errno);
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

/* Syncs the files of a staged folder, and then the folder, so that their names last. */
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
        errno != EINVAL) /* EINVAL: folders of this file system cannot be synced */
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
    return error ? staged_fail(diag, "output-write", "bring to the disk the output", staged->path,
                               error)
                 : TS_OK;
}

/* Gives a file that is about to be replaced a second name, if it exists and the file system allows
   it. */
static void keep_old(struct staged *staged)
{
    const struct file_commit *file = &staged->file;
    char *second = NULL;
    if (!staged->force || !file_temporary_path(file->folder, ts_base_name(file->path), &second))
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
        return staged_fail(diag, "output-rename", "give the finished folder the name", staged->path,
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
