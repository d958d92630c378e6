/* SPDX-License-Identifier: Apache-2.0
 *
 * Several files of one run get their names one after the other. Meanwhile the run locks their
 * folders by flock(). If two runs write the same files, one publishes all of its files before the
 * other does, so no set has parts of both. Locking a folder needs no file, and the lock ends with
 * the process.
 */
#ifndef IO_FILE_PUBLISH_LOCK_H
#define IO_FILE_PUBLISH_LOCK_H

#include "core/diag.h"

enum { PUBLISH_LOCKS = 8 };

struct publish_lock {
    int n, fds[PUBLISH_LOCKS];
};

/* Locks n folders (at most PUBLISH_LOCKS), each once, even if it is given under two names. Waits up
   to a minute for another run. Warns (output-not-locked) of a folder that cannot be locked, as on
   some network file systems. */
void ts_publish_lock(struct publish_lock *lock, const char *const *folders, int n,
                     struct ts_diag *diag);
void ts_publish_unlock(struct publish_lock *lock);

#endif
