/* SPDX-License-Identifier: Apache-2.0
 *
 * The kind is checked before the file is opened and again afterwards, because the name may lead
 * elsewhere by then. If it then leads to a device, opening does not block or make it the
 * controlling terminal.
 */
#include "io/file/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/diag.h"
#include "io/file/file_bytes.h"

static const char *kind_name(mode_t mode)
{
    if (S_ISFIFO(mode))
        return "a FIFO";
    if (S_ISDIR(mode))
        return "a folder";
    if (S_ISSOCK(mode))
        return "a socket";
    return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "something else";
}

int ts_regular_file_fail(const char *path, int error, char *reason, size_t size)
{
    char target[PATH_MAX], shown[PATH_MAX];
    const ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0) {
        snprintf(reason, size, "cannot be read: %s", strerror(error));
        return -1;
    }
    target[n] = '\0';
    ts_text_escape(shown, sizeof shown, target);
    snprintf(reason, size, "is a link to %s, which cannot be read: %s", shown, strerror(error));
    return -1;
}

int ts_regular_file_open(const char *path, struct stat *found, char *reason, size_t size)
{
    if (stat(path, found) != 0)
        return ts_regular_file_fail(path, errno, reason, size);
    const int fd =
        S_ISREG(found->st_mode) ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY) : -1;
    const int error = S_ISREG(found->st_mode) && (fd < 0 || fstat(fd, found) != 0) ? errno : 0;
    if (!error && S_ISREG(found->st_mode) && found->st_size > 0)
        return fd;
    if (fd >= 0)
        close(fd);
    if (error)
        return ts_regular_file_fail(path, error, reason, size);
    if (S_ISREG(found->st_mode))
        snprintf(reason, size, "is empty: it has no bytes");
    else
        snprintf(reason, size, "is %s, not a file", kind_name(found->st_mode));
    return -1;
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Returns true if a file has not been written to since `then`: its size and times are the same. The
   time of its last change may differ if the mode, the owner or the number of links changed, too. */
static bool regular_file_unchanged(const struct stat *then, const struct stat *now)
{
    const bool known_reason = then->st_mode != now->st_mode || then->st_nlink != now->st_nlink ||
                              then->st_uid != now->st_uid || then->st_gid != now->st_gid;
    return then->st_dev == now->st_dev && then->st_ino == now->st_ino &&
           then->st_size == now->st_size && is_same_time(then->st_mtim, now->st_mtim) &&
           (is_same_time(then->st_ctim, now->st_ctim) || known_reason);
}

enum ts_status ts_regular_file_recheck(const char *path, int fd, const struct stat *found,
                                       struct diag_site site, struct ts_diag *diag)
{
    struct stat now;
    if ((fd < 0 ? stat(path, &now) : fstat(fd, &now)) != 0) {
        site.code = "input-unreadable";
        return ts_diag_error(diag, TS_BAD_INPUT, &site, "%s cannot be read any more: %s", path,
                             ts_errno_text(errno));
    }
    if (regular_file_unchanged(found, &now))
        return TS_OK;
    site.code = "file-changed";
    ts_diag_error(diag, TS_BAD_INPUT, &site, "%s was changed while it was read", path);
    return ts_diag_hint(diag, "run again when nothing writes to the inputs");
}
