/* SPDX-License-Identifier: Apache-2.0
 *
 * The stream writes to the file that has no name yet. fflush() reports what a full disk refused, and fsync() what was
 * refused later.
 */
#include "io/file/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum ts_status refuse(const char *path, int error, struct ts_diag *diag)
{
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "not-written"}, "%s cannot be written: %s",
                         path, strerror(error));
}

/* Returns true for a device or a pipe, such as /dev/stdout, which cannot be replaced and need not be. */
static bool is_device(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode);
}

enum ts_status ts_whole_file_check(const char *path, bool replace, struct ts_diag *diag)
{
    if (!is_device(path))
        return ts_file_check(path, replace, 0, diag);
    return access(path, W_OK) == 0 ? TS_OK : refuse(path, errno, diag);
}

enum ts_status ts_whole_file_open(struct whole_file *file, const char *path, bool replace, struct ts_diag *diag)
{
    *file = (struct whole_file){.path = path, .commit.fd = -1};
    const bool device = is_device(path);
    enum ts_status status = device ? TS_OK : ts_file_create(&file->commit, path, replace, diag);
    if (status == TS_OK) {
        /* The stream closes a descriptor of its own, so that the other one is there to name the file. */
        const int fd = device ? open(path, O_WRONLY | O_CLOEXEC) : fcntl(file->commit.fd, F_DUPFD_CLOEXEC, 0);
        file->stream = fd >= 0 ? fdopen(fd, "w") : NULL;
        if (!file->stream) {
            status = refuse(path, errno, diag);
            if (fd >= 0)
                close(fd);
        }
    }
    if (status != TS_OK)
        ts_file_clear(&file->commit);
    return status;
}

enum ts_status ts_whole_file_close(struct whole_file *file, struct ts_diag *diag)
{
    errno = 0;
    const bool failed = fflush(file->stream) != 0 || ferror(file->stream) != 0;
    /* A write that failed earlier has left no reason. */
    const int error = errno ? errno : EIO;
    const bool closed = fclose(file->stream) == 0;
    enum ts_status status = failed || !closed ? refuse(file->path, failed ? error : errno, diag) : TS_OK;
    file->stream = NULL;
    if (status == TS_OK && file->commit.path)
        status = ts_file_sync(&file->commit, diag);
    if (status == TS_OK && file->commit.path)
        status = ts_file_publish(&file->commit, diag);
    ts_file_clear(&file->commit);
    return status;
}

void ts_whole_file_discard(struct whole_file *file)
{
    if (file->stream)
        fclose(file->stream);
    file->stream = NULL;
    ts_file_clear(&file->commit);
}
