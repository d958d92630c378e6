/* SPDX-License-Identifier: Apache-2.0
 *
 * The child's side of io/workers.h.
 */
#ifndef IO_WORKER_PROCESS_H
#define IO_WORKER_PROCESS_H

#include <stdatomic.h>
#include <sys/types.h>

#include "io/workers.h"

/* What one worker is doing, in shared memory. The parent takes it for messages and the clock only. */
struct worker_progress {
    _Atomic uint64_t job;       /* UINT64_MAX: none */
    _Atomic int64_t started_ns; /* CLOCK_MONOTONIC */
};

/* One write of at most PIPE_BUF bytes, hence never torn. */
struct worker_message {
    uint64_t job;
    uint64_t failed; /* 1: begin() failed or a limit could not be set; payload is its text */
    unsigned char payload[WORKER_REPLY_MAX];
};

int64_t ts_monotonic_ns(void); /* CLOCK_MONOTONIC */
/* The whole life of a worker. */
_Noreturn void ts_worker_main(const struct worker_setup *setup, struct worker_progress *progress, int jobs_fd,
                              int replies_fd, pid_t parent);

#endif
