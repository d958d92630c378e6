/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool of sandboxed processes (io/sandbox/sandbox.h) that answer jobs. A job is a number, a small
 * message and perhaps one open descriptor; its answer is a small message of fixed size. Large
 * results go through memory that the caller shares with one worker alone, so that a worker that was
 * taken over by its input reaches the results of no other.
 *
 * Each worker has its own queue, and the caller's process keeps what is in it and since when:
 * nothing that a worker sends or fails to send can lose a job. If a worker dies of its job, takes
 * too long or answers a question that was not asked, the pool ends: the others are killed, all are
 * reaped, and the caller learns which job it was. If a signal from outside ends a worker, such as
 * that of the kernel when memory is out, that tells nothing about its job: the worker is replaced,
 * once, and the caller gets the jobs back.
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

/* How a job ended; every reply begins with it. */
struct worker_verdict {
    int32_t status; /* enum ts_status: TS_BAD_INPUT for the input's fault, TS_RUN_FAILED for the
                       machine's */
    char code[WORKER_CODE_MAX], text[WORKER_REASON_MAX]; /* why; "": not stated */
};

/* The work of a pool. Objects of this type are static, as those of struct sandbox_kind. */
struct worker_kind {
    const char *name;
    size_t job_bytes, reply_bytes; /* a reply begins with a struct worker_verdict */
    /* Runs before the worker is locked, as in struct sandbox_kind; may be NULL. */
    bool (*prepare)(const void *setup, size_t bytes, char *error, size_t error_bytes);
    /* Runs once in the locked worker and makes the state for work(). `memory` is shared with the
       caller; NULL if setup->memory_bytes is 0. Returns NULL if memory is out. */
    void *(*begin)(const void *setup, void *memory);
    /* Answers one job. It owns fd, the job's descriptor, or -1. `reply` is zeroed. */
    void (*work)(void *state, const void *job, int fd, void *reply);
};

struct worker_setup {
    const struct worker_kind *kind;
    struct sandbox *sandbox; /* the server of the workers; NULL: that of the process */
    int n_workers;           /* 1 to WORKERS_MAX */
    size_t memory_bytes;     /* bytes that each worker shares with the caller */
    /* addresses that a worker may use in addition; not limited under sanitizers */
    size_t address_bytes;
    int job_seconds;   /* limit of the processor time, and of the wall time, of one job */
    const void *setup; /* copied to every worker; at most WORKER_SETUP_MAX bytes */
    size_t setup_bytes;
};

struct worker_pool;

/* Starts the workers. TS_RUN_FAILED if processes, sockets or memory are out. */
enum ts_status ts_workers_create(const struct worker_setup *setup, struct worker_pool **pool,
                                 struct ts_diag *diag);
/* Returns the memory that worker i shares with the caller, zeroed at first. The worker may change
 * it at any time. */
void *ts_workers_memory(const struct worker_pool *pool, int i);
/* Returns the number of unanswered jobs of worker i; WORKER_QUEUE_MAX if it accepts no more. */
int ts_workers_load(const struct worker_pool *pool, int i);
/* Queues a job for worker i and returns at once; a worker does its jobs in this order. `job` has
   kind->job_bytes. `fd` is -1, or a descriptor of which the worker gets a copy. Returns false if
   too many jobs are unanswered or the pool is lost. If the job could not be sent for another
   reason, ts_workers_wait reports it. */
bool ts_workers_submit(struct worker_pool *pool, int i, uint64_t number, const void *job, int fd);

enum worker_outcome {
    /* *number and reply hold an answer, whose verdict was checked: its status is one of those
       above, and its texts end. Answers of different workers come in any order */
    WORKER_REPLIED,
    /* *number is a job that was dropped through no fault of its own: submit it again */
    WORKER_RETURNED,
    /* *number is the job that caused it, or UINT64_MAX if none did; `what` says how, such as "was
       killed by signal 11 (...)" */
    WORKER_LOST,
    /* a worker was ended from outside, and so was its replacement; `what` says how, *number as
       above */
    WORKER_KILLED,
    WORKER_IDLE /* no job is unanswered */
};
/* Waits for one answer, at most as long as the time limit of a job. No process is left after
 * WORKER_LOST and WORKER_KILLED. */
enum worker_outcome ts_workers_wait(struct worker_pool *pool, uint64_t *number, void *reply,
                                    char what[WORKER_TEXT_MAX]);
/* Gives a job to the only worker of a pool and waits for its reply, in place of ts_workers_submit
   and ts_workers_wait. */
enum worker_outcome ts_worker_ask(struct worker_pool *pool, const void *job, int fd,
                                  uint64_t *number, void *reply, char what[WORKER_TEXT_MAX]);
/* States in a worker why a job fails. `text` is NULL if the verdict has it already. */
void ts_worker_refuse(struct worker_verdict *verdict, enum ts_status status, const char *code,
                      const char *text);
/* Returns the process id of worker i, for tests and messages; 0 after it was reaped. */
int ts_workers_pid(const struct worker_pool *pool, int i);
/* Kills and reaps every worker, and frees their memory. NULL does nothing. */
void ts_workers_destroy(struct worker_pool *pool);

#endif
