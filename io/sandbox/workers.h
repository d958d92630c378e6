/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool of sandboxed processes (io/sandbox/sandbox.h) that answer jobs. A job is a number, a small
 * message and perhaps one open descriptor; its answer is a small message of fixed size. Large
 * results go through memory that the caller shares with one worker alone, so that a worker that was
 * taken over by its input reaches the results of no other.
 *
 * Each worker has its own queue, and the caller's process keeps what is in it and since when:
 * nothing that a worker sends or fails to send can lose a job. A worker that dies of its job, takes
 * too long or answers what it was not asked ends the pool: the others are killed, all are reaped,
 * and the caller learns which job it was. A worker that a signal from outside ends, such as that of
 * the kernel when memory is out, says nothing of its job: another one takes its place, once, and
 * the caller gets the jobs back.
 */
#ifndef IO_SANDBOX_WORKERS_H
#define IO_SANDBOX_WORKERS_H

#include "io/sandbox/sandbox.h"

enum {
    WORKERS_MAX = 64,
    WORKER_QUEUE_MAX = 8,  /* unanswered jobs of one worker */
    WORKER_JOBS_MAX = 256, /* limit of all jobs, since each may hold a descriptor */
    WORKER_JOB_MAX = 512,
    WORKER_REPLY_MAX = 1024,
    WORKER_SETUP_MAX = 1024,
    WORKER_TEXT_MAX = SANDBOX_TEXT_MAX,
    WORKER_CODE_MAX = 32,
    WORKER_REASON_MAX = 512
};

/* How a job ended, with which the reply of every kind begins. */
struct worker_verdict {
    int32_t status; /* enum ts_status: TS_BAD_INPUT for the input's fault, TS_RUN_FAILED for the
                       machine's */
    char code[WORKER_CODE_MAX], text[WORKER_REASON_MAX]; /* why; "": none is stated */
};

/* The work of a pool. Objects of this type are static, as those of struct sandbox_kind. */
struct worker_kind {
    const char *name;
    size_t job_bytes, reply_bytes; /* a reply begins with a struct worker_verdict */
    /* Runs before the worker is locked, as in struct sandbox_kind; may be NULL. */
    bool (*prepare)(const void *setup, size_t bytes, char *error, size_t error_bytes);
    /* Runs once in the locked worker and makes the state that work() uses. `memory` is shared with
     * the caller; NULL where setup->memory_bytes is 0. Returns NULL where memory is out. */
    void *(*begin)(const void *setup, void *memory);
    /* Answers one job. It owns fd, the job's descriptor, or -1. `reply` is zeroed. */
    void (*work)(void *state, const void *job, int fd, void *reply);
};

struct worker_setup {
    const struct worker_kind *kind;
    int n_workers;        /* 1 to WORKERS_MAX */
    size_t memory_bytes;  /* that each worker shares with the caller */
    size_t address_bytes; /* addresses that a worker may take beside them; not held to under
                             sanitizers */
    int job_seconds;      /* limit of one job, of its processor time and of its wall time */
    const void *setup;    /* copied to every worker; at most WORKER_SETUP_MAX bytes */
    size_t setup_bytes;
};

struct worker_pool;

/* Starts the workers. TS_RUN_FAILED where processes, sockets or memory are out. */
enum ts_status ts_workers_create(const struct worker_setup *setup, struct worker_pool **pool,
                                 struct ts_diag *diag);
/* Returns the memory that worker i shares with the caller, zeroed at first. The worker may change
 * it at any time. */
void *ts_workers_memory(const struct worker_pool *pool, int i);
/* Returns the number of unanswered jobs of worker i, WORKER_QUEUE_MAX where it accepts no more. */
int ts_workers_load(const struct worker_pool *pool, int i);
/* Queues a job for worker i and returns at once; a worker's jobs are done in this order. `job` has
 * kind->job_bytes. `fd` is -1, or a descriptor of which the worker gets a copy. Returns false where
 * too many jobs are unanswered or the pool is lost. Where the job could not be sent for another
 * reason, ts_workers_wait reports it. */
bool ts_workers_submit(struct worker_pool *pool, int i, uint64_t number, const void *job, int fd);

enum worker_outcome {
    WORKER_REPLIED,  /* *number and reply hold an answer, whose verdict has a status of those above
                      * and texts that end; answers of different workers come in any order */
    WORKER_RETURNED, /* *number is a job that nobody does now, through no fault of its own: submit
                        it again */
    WORKER_LOST, /* *number is the job that is to blame, or UINT64_MAX if none is; what: "was killed
                  * by signal 11 (...)" */
    WORKER_KILLED, /* a worker was ended from outside, and so was the one in its place; what says
                    * how, *number as above */
    WORKER_IDLE    /* no job is unanswered */
};
/* Waits for one answer, at most as long as the time limit of a job. No process is left after
 * WORKER_LOST and WORKER_KILLED. */
enum worker_outcome ts_workers_wait(struct worker_pool *pool, uint64_t *number, void *reply,
                                    char what[WORKER_TEXT_MAX]);
/* Gives the only worker of a pool a job and waits for its reply, in place of ts_workers_submit and
 * ts_workers_wait. */
enum worker_outcome ts_worker_ask(struct worker_pool *pool, const void *job, int fd,
                                  uint64_t *number, void *reply, char what[WORKER_TEXT_MAX]);
/* States in a worker why a job fails. `text` is NULL if the verdict has it. */
void ts_worker_refuse(struct worker_verdict *verdict, enum ts_status status, const char *code,
                      const char *text);
/* Returns the process id of worker i, for tests and messages; 0 after it was reaped. */
int ts_workers_pid(const struct worker_pool *pool, int i);
/* Kills and reaps every worker, and frees their memory. NULL does nothing. */
void ts_workers_destroy(struct worker_pool *pool);

#endif
