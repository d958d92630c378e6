/* SPDX-License-Identifier: Apache-2.0
 *
 * What both sides of io/sandbox/workers.h share: messages and the life of a worker.
 */
#ifndef IO_SANDBOX_WORKER_PROCESS_H
#define IO_SANDBOX_WORKER_PROCESS_H

#include "io/sandbox/workers.h"

/* The setup that a worker's sandbox carries. Its one descriptor is the shared memory, where there is any. */
struct worker_start {
    const struct worker_kind *kind;
    size_t memory_bytes, bytes;
    unsigned char setup[WORKER_SETUP_MAX];
};

/* A job as it is sent: one message of the first 8 + kind->job_bytes bytes. */
struct worker_job {
    uint64_t number;
    unsigned char bytes[WORKER_JOB_MAX];
};

struct worker_message {
    uint64_t number; /* of the job, or UINT64_MAX: it could not begin, and the payload is the reason */
    unsigned char payload[WORKER_REPLY_MAX];
};

extern const struct sandbox_kind ts_worker_sandbox;

#endif
