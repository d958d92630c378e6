/* SPDX-License-Identifier: Apache-2.0
 *
 * Sandboxed processes handle untrusted bytes: decoders of DICOM frames, readers of HDF5 files.
 *
 * One fork server makes them all, and never holds data, descriptors, threads or locks of the
 * process that it serves. The program forks it first in main(). A process that only uses the
 * library starts it as a program of its own, libexec/tomostage/sandbox, by posix_spawn(): that is
 * safe beside threads and CUDA contexts, and copies nothing.
 *
 * A child gets bytes and open descriptors, prepares what it needs from files (dictionaries), and is
 * then locked: seccomp lets it read and write what it holds and use memory, and kills it for
 * anything else; Landlock denies the file system and the network a second time; limits bound its
 * addresses and its processor time. It can open, start and signal nothing.
 *
 * Builds with sanitizers and runs under valgrind are not filtered, because those tools need the
 * calls that the filter forbids; ts_sandbox_state reports it.
 */
#ifndef IO_SANDBOX_SANDBOX_H
#define IO_SANDBOX_SANDBOX_H

#include <stdint.h>
#include <sys/types.h>

#include "core/diag.h"
#include "io/sandbox/channel.h"
#include "io/sandbox/sandbox_lock.h"

enum { SANDBOX_FDS = CHANNEL_FDS - 1, SANDBOX_SETUP_BYTES = 16384, SANDBOX_TEXT_MAX = 256 };

/* The hint for children that were ended from outside, twice, and for lack of memory. */
#define CHILD_KILLED_HINT                                                                          \
    "the input may be sound: end other programs or raise the limit of memory (ulimit -v, the "     \
    "job's), and run again"

/* A kind of child: the functions that it runs. */
struct sandbox_kind {
    const char *name; /* for messages: "HDF5 reader" */
    /* Runs in the child before it is locked, and loads what it needs from files. Returns false with
       the reason in `error` if the child cannot work. NULL: nothing to prepare. */
    bool (*prepare)(const void *setup, size_t bytes, char *error, size_t error_bytes);
    /* Runs in the locked child, which ends when this returns. `channel` is a stream socket to the
       caller; fds[] are the descriptors that the caller passed. */
    void (*serve)(int channel, const void *setup, size_t bytes, const int *fds, int n_fds);
};

/* Kinds, and what else a message to a child names, are functions and static objects of the library.
   They are sent as their distance from this one, which is the same in every process with the same
   library. */
extern const char ts_sandbox_origin;
static inline intptr_t ts_sandbox_number(const void *object)
{
    return (intptr_t)object - (intptr_t)&ts_sandbox_origin;
}
static inline void *ts_sandbox_object(intptr_t number)
{
    return (void *)((intptr_t)&ts_sandbox_origin + number);
}

struct sandbox_child {
    pid_t pid;   /* 0: none */
    int channel; /* -1: none */
};

/* Forks the server. A program calls this first in main(), from the thread that lives as long as the
   program. If nobody has called it, the first child starts the server as a program. Returns false
   with errno if it cannot be forked. */
bool ts_sandbox_begin(void);
/* Returns true in a process that began with ts_sandbox_begin, and so is a program of this project,
   which may fork. */
bool ts_sandbox_began(void);
/* Runs the server that was started as a program: it answers on the socket in descriptor 3 until
   that ends. Returns the program's exit code. */
TS_PUBLIC int ts_sandbox_serve(void);
/* A server that a context has for itself; NULL in its place is that of the process, which the
   functions above and ts_sandbox_finish() are for. `program` is libexec/tomostage/sandbox, and is
   copied; NULL: the one beside the library, or the server of the process after ts_sandbox_begin().
   It starts with the first child. Returns NULL if memory is out. */
struct sandbox;
struct sandbox *ts_sandbox_create(const char *program);
/* Ends the server and waits for it. Its children have ended before. NULL does nothing. */
void ts_sandbox_destroy(struct sandbox *sandbox);
/* Ends the server and waits for it, so that the program leaves no process behind. Its children have
 * ended before. */
void ts_sandbox_finish(void);

/* Starts a child and waits until it is locked. Returns TS_RUN_FAILED ("worker-not-started"), with
   an empty *child, if it cannot be started or prepared. `setup` has at most SANDBOX_SETUP_BYTES and
   is copied; it must not contain addresses of the heap. The child gets copies of the descriptors;
   the caller may close its own at any time. */
enum ts_status ts_sandbox_start(struct sandbox *sandbox, const struct sandbox_kind *kind,
                                const struct sandbox_limits *limits, const void *setup,
                                size_t setup_bytes, const int *fds, int n_fds,
                                struct sandbox_child *child, struct ts_diag *diag);
/* The two halves of ts_sandbox_start, for several children at once. Launch returns 0 or an errno,
   which ts_sandbox_reason explains. The first message on the channel says if the child is locked
   and ready: ts_sandbox_ready waits for it, or only checks. */
int ts_sandbox_launch(struct sandbox *sandbox, const struct sandbox_kind *kind,
                      const struct sandbox_limits *limits, const void *setup, size_t setup_bytes,
                      const int *fds, int n_fds, struct sandbox_child *child);
void ts_sandbox_reason(struct sandbox *sandbox, int error, char *reason, size_t size);
enum sandbox_readiness {
    SANDBOX_READY,
    SANDBOX_PENDING, /* it has not reported yet; only if the caller does not wait */
    /* `error` is the reason; "" if it ended without a report, which ts_sandbox_end explains */
    SANDBOX_FAILED
};
enum sandbox_readiness ts_sandbox_ready(const struct sandbox_child *child, bool wait, char *error,
                                        size_t error_bytes);
/* Kills the child if it lives, reaps it, and closes the channel. `what` (may be NULL) says how it
   had ended by itself: "was killed by signal 11 (Segmentation fault)", "ended with status 1"; or
   "was killed" if it had not. Returns the signal that ended it by itself, or 0. */
int ts_sandbox_end(struct sandbox_child *child, char *what, size_t size);
/* Kills a child that may have ended. */
void ts_sandbox_kill(pid_t pid);
/* Returns true if a signal that ended a child is not one that the child's own code or limits cause:
   a person or the kernel sent it, such as SIGKILL when memory is out. */
bool ts_sandbox_from_outside(int signal_number);
/* Returns the processor time that the child has used, in seconds; 0 if it is gone. */
double ts_sandbox_cpu_seconds(const struct sandbox_child *child);
/* Returns CLOCK_MONOTONIC in nanoseconds, for deadlines. */
int64_t ts_monotonic_ns(void);

/* Writes what locks a child here, such as "seccomp and Landlock (ABI 7)". *filtered is set if
   seccomp does. */
void ts_sandbox_state(char *out, size_t size, bool *filtered);

#endif
