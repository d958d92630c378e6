/* SPDX-License-Identifier: Apache-2.0
 *
 * Forked worker processes for code that is not trusted to survive its input: a job is a number, its answer a small
 * message of fixed size, and large results go through memory that the caller mapped shared before the fork, at a size
 * that the caller computed.
 *
 * A worker has limits on memory, time and files, no core dump, no file descriptor of the parent, ignores the terminal's
 * signals and dies with the parent. A worker that dies or takes too long ends the pool: the others are killed, all are
 * reaped, and the caller learns which job it was.
 */
#ifndef IO_WORKERS_H
#define IO_WORKERS_H

#include "pipeline/diag.h"

enum { WORKERS_MAX = 64, WORKER_JOBS_MAX = 4096, WORKER_REPLY_MAX = 1024, WORKER_TEXT_MAX = 256 };

struct worker_setup {
    int n_workers;      /* 1 to WORKERS_MAX */
    size_t reply_bytes; /* at most WORKER_REPLY_MAX */
    size_t
        address_bytes; /* address space that a worker may take beyond what it inherits; not held to under sanitizers */
    int job_seconds;   /* of one job, CPU time and wall time each */
    void *user;        /* handed to both; a worker sees the caller's memory as it was at the fork */
    /* Once in every worker, before its first job. False: the pool fails with the text. May be NULL. */
    bool (*begin)(void *user, char *error, size_t error_bytes);
    /* In a worker. Fills reply (reply_bytes, zeroed). */
    void (*work)(void *user, uint64_t job, void *reply);
};

struct worker_pool;

/* Forks the workers. The calling thread must outlive the pool, and the process should have no other threads that
 * hold locks. TS_RUN_FAILED where processes, pipes or memory are out. */
enum ts_status ts_workers_create(const struct worker_setup *setup, struct worker_pool **pool, struct ts_diag *diag);
/* Queues a job and returns at once; jobs start in this order. False: WORKER_JOBS_MAX are unanswered, or the pool
 * is lost. */
bool ts_workers_submit(struct worker_pool *pool, uint64_t job);

enum worker_outcome {
    WORKER_REPLIED, /* *job and reply hold an answer; answers come in any order */
    WORKER_LOST, /* *job is the one in progress or UINT64_MAX where none was; what: "was killed by signal 11 (...)" */
    WORKER_IDLE  /* no job is unanswered */
};
/* Waits for one answer, at most as long as the time limit of a job. After WORKER_LOST no process is left. */
enum worker_outcome ts_workers_wait(struct worker_pool *pool, uint64_t *job, void *reply, char what[WORKER_TEXT_MAX]);
/* Process id of worker i, for tests and messages; 0 after it was reaped. */
int ts_workers_pid(const struct worker_pool *pool, int i);
/* Kills and reaps every worker. */
void ts_workers_destroy(struct worker_pool *pool);

#endif
