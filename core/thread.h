/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts threads that receive no signals. The program's own thread handles signals, because it
 * knows how to stop a run; a thread inside a library's call cannot be interrupted safely. Faults
 * are not blocked, because the kernel ends a process at once if the faulting thread has blocked
 * them.
 */
#ifndef CORE_THREAD_H
#define CORE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Calls run(data) in a new thread, which the caller joins. Returns 0, or the error number if no
 * thread was started. */
static inline int ts_thread_start(pthread_t *thread, void *(*run)(void *), void *data)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const int error = pthread_create(thread, NULL, run, data);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* Returns how many of the wanted threads a team of OpenMP can have: fewer if the system starts no
 * more, and 1 in a process that was forked from one that asked for more than 1. */
int ts_thread_team(int wanted);

#endif
