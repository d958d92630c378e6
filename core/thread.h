/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts threads that take no signals. Signals belong to the program's own thread, which knows how
 * to stop a run; a thread that is interrupted in the midst of a library's call does not. Faults
 * stay unblocked, since the kernel ends a process at once whose thread has blocked them.
 */
#ifndef CORE_THREAD_H
#define CORE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Calls run(data) in a new thread, which the caller joins. Returns 0, or the error number where
 * there is no thread. */
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

#endif
