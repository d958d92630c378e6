/* SPDX-License-Identifier: Apache-2.0
 *
 * What both sides of io/workers.h share: messages and the life of a worker.
 */
#ifndef IO_WORKER_PROCESS_H
#define IO_WORKER_PROCESS_H

#include <stdatomic.h>

#include "io/workers.h"

/* The setup that a worker's sandbox carries. */
struct worker_start {
    const struct worker_kind *kind;
    int index; /* of its entry in the shared table of progress */
    int job_seconds;
    size_t bytes;
    unsigned char setup[WORKER_SETUP_MAX];
};

/* Descriptors of a worker, before those of its kind. */
enum { WORKER_FD_JOBS, WORKER_FD_PROGRESS, WORKER_FDS_OWN };

/* What one worker is doing, in shared memory. The parent uses it for messages and the clock only. */
struct worker_progress {
    _Atomic uint64_t number;    /* UINT64_MAX: none */
    _Atomic int64_t started_ns; /* CLOCK_MONOTONIC */
};

/* A job as it is sent: one message of the first 8 + kind->job_bytes bytes. */
struct worker_job {
    uint64_t number;
    unsigned char bytes[WORKER_JOB_MAX];
};

enum worker_state {
    WORKER_ANSWERS, /* the payload is an answer */
    WORKER_FAILS,   /* it could not begin; the payload is the reason */
    WORKER_RETIRES  /* it has used most of its processor time and ends; another one takes its place */
};

struct worker_message {
    uint64_t number;
    uint64_t state;
    unsigned char payload[WORKER_REPLY_MAX];
};

/* A worker's processor time is limited for its whole life, in jobs of job_seconds. It retires before the last of them
 * could be cut off. */
enum { WORKER_LIFE_JOBS = 4 };

extern const struct sandbox_kind ts_worker_sandbox;

#endif
