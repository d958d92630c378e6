/* SPDX-License-Identifier: Apache-2.0
 *
 * A session runs libhdf5 on a foreign file in a sandboxed child, because a damaged file can make
 * the library crash, loop or use all memory. The parent opens the files, sends their descriptors
 * and lets the child carry out tasks. If a task exceeds its processor time, the child is ended and
 * the file refused. The parent trusts no length in an answer.
 */
#ifndef IO_HDF5_HDF5_SESSION_H
#define IO_HDF5_HDF5_SESSION_H

#include "io/hdf5/hdf5_child.h"

enum {
    SESSION_ADDRESS_BYTES = 256 << 20, /* in addition to those of a fresh child */
    SESSION_WALL_SECONDS = 60,      /* for one task: the file may be on a slow disk or far away */
    SESSION_ANSWER_BYTES = 64 << 20 /* limit of one task's answer */
};

struct hdf5_session;

struct hdf5_session_options {
    struct sandbox *sandbox; /* as in ts_sandbox_start() */
    const char *path;        /* for messages */
    struct ts_span span;
    const char *owner; /* or NULL */
    bool strict;
    size_t address_bytes; /* 0: SESSION_ADDRESS_BYTES */
};

/* Starts a child. */
enum ts_status ts_hdf5_session_start(const struct hdf5_session_options *options,
                                     struct hdf5_session **session, struct ts_diag *diag);
/* Passes one more open file to the child; *root becomes the child's number of its root group. The
   descriptor stays the caller's. */
enum ts_status ts_hdf5_session_add(struct hdf5_session *session, int fd, int64_t *root,
                                   struct ts_diag *diag);
/* Starts a child with the file at options->path. The caller closes *fd; if fd is NULL, only the
   child keeps the file open. */
enum ts_status ts_hdf5_session_open(const struct hdf5_session_options *options,
                                    struct hdf5_session **session, int *fd, struct ts_diag *diag);
/* Lets the child carry out a task. *answer is its output, which the caller frees with free(). On
   failure *answer is NULL, and `diag` has the child's records, or the reason why it did not finish.
   If a signal from outside ends the child, a new one replaces it, once: it repeats all tasks so far
   and must give the same answers. When the child is gone, calls fail without reporting anything
   more. */
enum ts_status ts_hdf5_session_call(struct hdf5_session *session, hdf5_task *task,
                                    const void *request, size_t bytes, void **answer,
                                    size_t *answer_bytes, struct ts_diag *diag);
/* Makes a call whose answer has a known size; refuses any other answer. */
enum ts_status ts_hdf5_session_ask(struct hdf5_session *session, hdf5_task *task,
                                   const void *request, size_t bytes, void *answer,
                                   size_t answer_bytes, struct ts_diag *diag);
/* Records "the file is damaged: ..." for a malformed answer. */
enum ts_status ts_hdf5_session_wrong_answer(const struct hdf5_session *session,
                                            struct ts_diag *diag);
void ts_hdf5_session_end(struct hdf5_session *session); /* NULL: nothing */

#endif
