/* SPDX-License-Identifier: Apache-2.0
 *
 * Several files of one run get their names one after the other. While they do, the run locks their
 * folders by flock(), so that of two runs on the same files one publishes all of them and then the
 * other: no set has parts of both. A folder needs no file for that, and the lock ends with the
 * process.
 */
#ifndef IO_FILE_PUBLISH_LOCK_H
#define IO_FILE_PUBLISH_LOCK_H

#include "core/diag.h"

enum { PUBLISH_LOCKS = 8 };

struct publish_lock {
    int n, fds[PUBLISH_LOCKS];
};

/* Locks n folders (at most PUBLISH_LOCKS), each once under whatever name. Waits a minute for
 * another run. What cannot be locked, as a folder of some network file systems, is a warning
 * (output-not-locked). */
void ts_publish_lock(struct publish_lock *lock, const char *const *folders, int n,
                     struct ts_diag *diag);
void ts_publish_unlock(struct publish_lock *lock);

#endif
