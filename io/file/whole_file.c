/* SPDX-License-Identifier: Apache-2.0
 *
 * The stream writes to memory, and closing it writes the file, because a stream over the file would
 * lose the reason why an early write failed. fsync() reports what the disk refuses later.
 */
#include "io/file/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum ts_status whole_file_refuse(const char *path, int error, struct ts_diag *diag)
{
    return ts_file_failed(diag, "not-written", error, "%s cannot be written", path);
}

/* Returns true for a device or a pipe, such as /dev/stdout, which cannot be replaced and need not
 * be. */
static bool is_device(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode);
}

enum ts_status ts_whole_file_check(const char *path, bool replace, struct ts_diag *diag)
{
    if (!is_device(path))
        return ts_file_check(path, replace, 0, diag);
    return access(path, W_OK) == 0 ? TS_OK : whole_file_refuse(path, errno, diag);
}

enum ts_status ts_whole_file_open(struct whole_file *file, const char *path, bool replace,
                                  struct ts_diag *diag)
{
    *file = (struct whole_file){.path = path, .commit.fd = -1};
    enum ts_status status = TS_OK;
    if (!is_device(path))
        status = ts_file_create(&file->commit, path, replace, diag);
    else if ((file->commit.fd = open(path, O_WRONLY | O_CLOEXEC)) < 0)
        status = whole_file_refuse(path, errno, diag);
    if (status == TS_OK && !(file->stream = open_memstream(&file->bytes, &file->n)))
        status = ts_diag_no_memory(diag, sizeof *file);
    if (status != TS_OK)
        ts_whole_file_discard(file);
    return status;
}

/* Writes all bytes at the descriptor's present position, since a pipe has no other. Returns false
   with errno. */
static bool write_all(int fd, const char *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        const ssize_t part = write(fd, bytes + done, n - done);
        if (part < 0 && errno != EINTR)
            return false;
        done += part > 0 ? (size_t)part : 0;
    }
    return true;
}

enum ts_status ts_whole_file_close(struct whole_file *file, struct ts_diag *diag)
{
    const bool whole = !ferror(file->stream);
    const bool closed = fclose(file->stream) == 0;
    enum ts_status status = whole && closed ? TS_OK : ts_diag_no_memory(diag, file->n);
    file->stream = NULL;
    if (status == TS_OK && !write_all(file->commit.fd, file->bytes, file->n))
        status = whole_file_refuse(file->path, errno, diag);
    if (status == TS_OK && file->commit.path)
        status = ts_file_sync(&file->commit, diag);
    if (status == TS_OK && file->commit.path)
        status = ts_file_publish(&file->commit, diag);
    ts_whole_file_discard(file);
    return status;
}

void ts_whole_file_discard(struct whole_file *file)
{
    if (file->stream)
        fclose(file->stream);
    free(file->bytes);
    if (file->commit.fd >= 0 && !file->commit.path)
        close(file->commit.fd);
    ts_file_clear(&file->commit);
    *file = (struct whole_file){.commit.fd = -1};
}
