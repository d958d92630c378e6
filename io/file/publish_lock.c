/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders are locked in the order of their device and inode numbers, so that two runs never wait
 * for each other.
 */
#include "io/file/publish_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/file_bytes.h"

enum { WAIT_US = 10000, MOST_WAITS = 6000 };

struct folder {
    const char *path;
    struct stat found;
};

static int publish_lock_compare(const void *a, const void *b)
{
    const struct stat *one = &((const struct folder *)a)->found,
                      *other = &((const struct folder *)b)->found;
    if (one->st_dev != other->st_dev)
        return one->st_dev < other->st_dev ? -1 : 1;
    return (one->st_ino > other->st_ino) - (one->st_ino < other->st_ino);
}

static void warn(const struct folder *folder, int error, struct ts_diag *diag)
{
    ts_diag_warning(
        diag, &(struct diag_site){.code = "output-not-locked"},
        "the folder '%s' cannot be locked while the outputs get their names: %s", folder->path,
        error == EWOULDBLOCK ? "another process keeps it locked" : ts_errno_text(error));
    ts_diag_hint(
        diag,
        "the outputs are whole; if another run writes the same ones at the same time, run again");
}

/* Opens and locks one folder. Returns 0 or an errno. */
static int lock_folder(const struct folder *folder, int *fd)
{
    *fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = *fd < 0 ? errno : EWOULDBLOCK;
    for (int i = 0; *fd >= 0 && error == EWOULDBLOCK && i < MOST_WAITS; i++) {
        if (i > 0)
            usleep(WAIT_US);
        if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
            error = 0;
        else
            error = errno == EINTR ? EWOULDBLOCK : errno;
    }
    if (error && *fd >= 0)
        close(*fd);
    return error;
}

void ts_publish_lock(struct publish_lock *lock, const char *const *folders, int n,
                     struct ts_diag *diag)
{
    struct folder found[PUBLISH_LOCKS];
    int n_found = 0;
    *lock = (struct publish_lock){.n = 0};
    for (int i = 0; i < n && i < PUBLISH_LOCKS; i++) {
        found[n_found].path = folders[i];
        n_found += folders[i] && stat(folders[i], &found[n_found].found) == 0;
    }
    qsort(found, (size_t)n_found, sizeof *found, publish_lock_compare);
    for (int i = 0; i < n_found; i++) {
        if (i > 0 && publish_lock_compare(&found[i - 1], &found[i]) == 0)
            continue;
        const int error = lock_folder(&found[i], &lock->fds[lock->n]);
        lock->n += error == 0;
        if (error)
            warn(&found[i], error, diag);
    }
}

void ts_publish_unlock(struct publish_lock *lock)
{
    for (int i = lock->n - 1; i >= 0; i--)
        close(lock->fds[i]);
    lock->n = 0;
}
