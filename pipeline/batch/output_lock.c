/* SPDX-License-Identifier: Apache-2.0
 *
 * Whoever unlocks removes the file first. A process that had opened it before then locks a file without a name, which
 * excludes nobody: that is found by the number of its links, and it tries again.
 */
#include "pipeline/batch/output_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/file_bytes.h"

static void lock_path(char path[PATH_MAX], const char *folder, const char *name)
{
    snprintf(path, PATH_MAX, "%s/.%s.lock", folder, name);
}

enum ts_status ts_output_lock(const char *folder, const char *name, int *lock, struct ts_diag *diag)
{
    char path[PATH_MAX];
    struct stat found = {0};
    lock_path(path, folder, name);
    *lock = OUTPUT_LOCK_BUSY;
    while (found.st_nlink == 0) {
        const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        const bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
        const int error = errno;
        if (locked && fstat(fd, &found) == 0 && found.st_nlink > 0) {
            *lock = fd;
            return TS_OK;
        }
        if (fd >= 0)
            close(fd);
        if (!locked)
            return fd >= 0 && error == EWOULDBLOCK
                       ? TS_OK
                       : ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "batch-lock"},
                                       "%s: cannot be locked: %s", path, ts_errno_text(error));
    }
    return TS_OK;
}

void ts_output_unlock(const char *folder, const char *name, int lock)
{
    char path[PATH_MAX];
    lock_path(path, folder, name);
    (void)unlink(path);
    close(lock);
}
