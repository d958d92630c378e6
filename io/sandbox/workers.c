/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker in its sandbox, and the caller's side of the pool: start, queue, wait with a clock, kill
 * and reap. A worker's processor time is limited for its whole life, so one that has used some of
 * it gets no more jobs and is replaced.
 */
#include "io/sandbox/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* OLD_JOBS and LIFE_JOBS count jobs of job_seconds: a worker is old after the first number and is
   killed after the second, so that an old one still has time for all that its queue can hold. */
enum { TICK_MS = 100, OLD_JOBS = 2, LIFE_JOBS = OLD_JOBS + WORKER_QUEUE_MAX };

/* The setup of a worker's sandbox. Its only descriptor is the shared memory, if there is any. */
struct worker_start {
    intptr_t kind; /* ts_sandbox_number of it */
    size_t memory_bytes, bytes;
    unsigned char setup[WORKER_SETUP_MAX];
};

/* A job as it is sent: one message of the first 8 + kind->job_bytes bytes. */
struct worker_job {
    uint64_t number;
    unsigned char bytes[WORKER_JOB_MAX];
};

struct worker_message {
    uint64_t number; /* the job's; UINT64_MAX: the worker could not begin, and the payload is the
                        reason */
    unsigned char payload[WORKER_REPLY_MAX];
};

void ts_worker_refuse(struct worker_verdict *verdict, enum ts_status status, const char *code,
                      const char *text)
{
    verdict->status = (int32_t)status;
    snprintf(verdict->code, sizeof verdict->code, "%s", code);
    if (text)
        snprintf(verdict->text, sizeof verdict->text, "%s", text);
}

/* ---- the worker: it receives jobs on its channel, answers on it, and ends with it ------------ */

static bool workers_prepare(const void *setup, size_t bytes, char *error, size_t error_bytes)
{
    const struct worker_start *start = setup;
    const struct worker_kind *kind = ts_sandbox_object(start->kind);
    (void)bytes;
    return !kind->prepare || kind->prepare(start->setup, start->bytes, error, error_bytes);
}

static bool answer_next(const struct worker_kind *kind, void *state, int channel)
{
    struct worker_job job;
    struct worker_message message = {0};
    int fd = -1, n_fds = 1;
    if (!ts_channel_receive(channel, &job, sizeof job.number + kind->job_bytes, &fd, &n_fds))
        return false;
    message.number = job.number;
    kind->work(state, job.bytes, n_fds > 0 ? fd : -1, message.payload);
    return ts_channel_write(channel, &message, sizeof message);
}

static void serve(int channel, const void *setup, size_t bytes, const int *fds, int n_fds)
{
    const struct worker_start *start = setup;
    const struct worker_kind *kind = ts_sandbox_object(start->kind);
    struct worker_message message = {.number = UINT64_MAX};
    void *memory = NULL;
    (void)bytes;
    if (n_fds > 0)
        memory = mmap(NULL, start->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
    void *state = memory == MAP_FAILED ? NULL : kind->begin(start->setup, memory);
    if (!state) {
        snprintf((char *)message.payload, sizeof message.payload, "it has no memory to begin with");
        (void)ts_channel_write(channel, &message, sizeof message);
        return;
    }
    while (answer_next(kind, state, channel))
        ;
}

static const struct sandbox_kind worker_sandbox = {
    .name = "worker", .prepare = workers_prepare, .serve = serve};

/* ---- the pool -------------------------------------------------------------------------------- */

struct worker {
    struct sandbox_child child;
    bool ready;    /* it has reported that it is locked */
    bool old;      /* it gets no more jobs */
    bool replaced; /* the previous worker was ended from outside */
    int memory_fd;
    void *memory; /* shared with this worker */
    uint64_t queue[WORKER_QUEUE_MAX];
    int n_queued;
    int n_returned;     /* the first jobs of the queue that are handed back to the caller */
    int64_t started_ns; /* when the first job of the queue became the first */
};

struct worker_pool {
    const struct worker_kind *kind;
    struct sandbox *sandbox;
    struct worker_start start;
    struct sandbox_limits limits;
    int job_seconds;
    struct worker workers[WORKERS_MAX];
    int n_workers;
    int next; /* the worker whose answers are checked first, for fairness */
    int unanswered;
    int error; /* errno of a job that could not be sent, other than "not now" */
    bool lost;
};

static void end_all(struct worker_pool *pool)
{
    for (int i = 0; i < pool->n_workers; i++)
        if (pool->workers[i].child.pid > 0)
            /* all are killed first, then each is reaped */
            ts_sandbox_kill(pool->workers[i].child.pid);
    for (int i = 0; i < pool->n_workers; i++)
        ts_sandbox_end(&pool->workers[i].child, NULL, 0);
}

/* Returns 0 or an errno. */
static int workers_launch(struct worker_pool *pool, struct worker *worker)
{
    worker->ready = worker->old = false;
    return ts_sandbox_launch(pool->sandbox, &worker_sandbox, &pool->limits, &pool->start,
                             sizeof pool->start, &worker->memory_fd, worker->memory_fd >= 0,
                             &worker->child);
}

/* Makes memory that the worker cannot shrink while the caller uses it. Returns 0 or an errno. */
static int make_memory(struct worker *worker, size_t bytes)
{
    worker->memory_fd = memfd_create("tomostage-worker", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (worker->memory_fd < 0 || ftruncate(worker->memory_fd, (off_t)bytes) != 0 ||
        fcntl(worker->memory_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return errno;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, worker->memory_fd, 0);
    if (memory == MAP_FAILED)
        return errno;
    worker->memory = memory;
    return 0;
}

/* The worker counts as one of the pool even if it could not be started, so that destroy frees what
   it has. */
static int start_worker(struct worker_pool *pool)
{
    struct worker *worker = &pool->workers[pool->n_workers++];
    *worker = (struct worker){.child = {.channel = -1}, .memory_fd = -1};
    const int error =
        pool->start.memory_bytes > 0 ? make_memory(worker, pool->start.memory_bytes) : 0;
    return error ? error : workers_launch(pool, worker);
}

enum ts_status ts_workers_create(const struct worker_setup *setup, struct worker_pool **out,
                                 struct ts_diag *diag)
{
    *out = NULL;
    struct worker_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return ts_diag_no_memory(diag, sizeof *pool);
    pool->kind = setup->kind;
    pool->sandbox = setup->sandbox;
    pool->job_seconds = setup->job_seconds;
    pool->limits = (struct sandbox_limits){setup->address_bytes + setup->memory_bytes,
                                           LIFE_JOBS * setup->job_seconds};
    pool->start = (struct worker_start){.kind = ts_sandbox_number(setup->kind),
                                        .memory_bytes = setup->memory_bytes,
                                        .bytes = setup->setup_bytes};
    if (setup->setup_bytes > 0)
        memcpy(pool->start.setup, setup->setup, setup->setup_bytes);
    int error = 0;
    while (error == 0 && pool->n_workers < setup->n_workers)
        error = start_worker(pool);
    if (error) {
        char reason[PATH_MAX + SANDBOX_TEXT_MAX];
        struct diag_site site = {.code = "worker-not-started"};
        ts_sandbox_reason(pool->sandbox, error, reason, sizeof reason);
        ts_diag_error(diag, TS_RUN_FAILED, &site,
                      "worker process %d of %d could not be started: %s", pool->n_workers,
                      setup->n_workers, reason);
        ts_workers_destroy(pool);
        return TS_RUN_FAILED;
    }
    *out = pool;
    return TS_OK;
}

void *ts_workers_memory(const struct worker_pool *pool, int i)
{
    return pool->workers[i].memory;
}

int ts_workers_load(const struct worker_pool *pool, int i)
{
    const struct worker *worker = &pool->workers[i];
    return worker->old || worker->n_returned > 0 ? WORKER_QUEUE_MAX : worker->n_queued;
}

bool ts_workers_submit(struct worker_pool *pool, int i, uint64_t number, const void *job, int fd)
{
    struct worker_job message = {.number = number};
    struct worker *worker = &pool->workers[i];
    if (pool->lost || pool->unanswered >= WORKER_JOBS_MAX ||
        ts_workers_load(pool, i) == WORKER_QUEUE_MAX)
        return false;
    /* The queue is so small that a worker that reads nothing cannot block this. */
    memcpy(message.bytes, job, pool->kind->job_bytes);
    if (!ts_channel_send(worker->child.channel, &message,
                         sizeof message.number + pool->kind->job_bytes, &fd, fd >= 0) &&
        errno != EPIPE &&
        errno != ECONNRESET) { /* ts_workers_wait will report how a worker ended that is gone */
        pool->error = errno;
        return false;
    }
    if (worker->n_queued == 0)
        worker->started_ns = ts_monotonic_ns();
    worker->queue[worker->n_queued++] = number;
    pool->unanswered++;
    return true;
}

static enum worker_outcome lose(struct worker_pool *pool)
{
    pool->lost = true;
    end_all(pool);
    return WORKER_LOST;
}

/* Takes the first job out of the queue. */
static void take_first(struct worker_pool *pool, struct worker *worker)
{
    memmove(worker->queue, worker->queue + 1, (size_t)--worker->n_queued * sizeof *worker->queue);
    worker->started_ns = ts_monotonic_ns();
    pool->unanswered--;
}

static enum worker_outcome return_job(struct worker_pool *pool, struct worker *worker,
                                      uint64_t *number)
{
    *number = worker->queue[0];
    take_first(pool, worker);
    worker->n_returned--;
    return WORKER_RETURNED;
}

static enum worker_outcome workers_fail(struct worker_pool *pool, uint64_t *number,
                                        char what[WORKER_TEXT_MAX], const char *happened,
                                        const char *reason)
{
    char text[WORKER_TEXT_MAX];
    *number = UINT64_MAX;
    snprintf(text, sizeof text, "%.*s", WORKER_TEXT_MAX - 64, reason);
    snprintf(what, WORKER_TEXT_MAX, "%s: %s", happened, text);
    return lose(pool);
}

/* Reaps worker i, which has ended, and either reports how it ended or replaces it. */
static enum worker_outcome bury(struct worker_pool *pool, int i, uint64_t *number,
                                char what[WORKER_TEXT_MAX])
{
    struct worker *worker = &pool->workers[i];
    *number = worker->n_queued > 0 ? worker->queue[0] : UINT64_MAX;
    const int signal_number = ts_sandbox_end(&worker->child, what, WORKER_TEXT_MAX);
    if (!ts_sandbox_from_outside(signal_number))
        return lose(pool);
    if (worker->replaced) {
        lose(pool);
        return WORKER_KILLED;
    }
    const int error = workers_launch(pool, worker);
    if (error)
        return workers_fail(pool, number, what, "could not be replaced", strerror(error));
    worker->replaced = true;
    worker->n_returned = worker->n_queued;
    return worker->n_queued > 0 ? return_job(pool, worker, number) : WORKER_IDLE;
}

enum look { LOOK_NOTHING, LOOK_MESSAGE, LOOK_ENDED, LOOK_FAILED /* errno */ };

/* Checks for a message of the worker, without waiting. A message was sent whole, so it comes
   whole. */
static enum look look_at(const struct worker *worker, struct worker_message *message)
{
    ssize_t n;
    do {
        n = recv(worker->child.channel, message, sizeof *message, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof *message)
        return LOOK_MESSAGE;
    if (n < 0) {
        if (errno == EAGAIN)
            return LOOK_NOTHING;
        return errno == ECONNRESET ? LOOK_ENDED : LOOK_FAILED;
    }
    return LOOK_ENDED;
}

static bool overdue(const struct worker_pool *pool, const struct worker *worker)
{
    return worker->n_queued > 0 &&
           ts_monotonic_ns() - worker->started_ns > pool->job_seconds * INT64_C(1000000000);
}

/* Returns 0, or the errno of starting the worker that should have replaced an old one. */
static int replace_old(struct worker_pool *pool, struct worker *worker)
{
    worker->old =
        worker->old || ts_sandbox_cpu_seconds(&worker->child) >= OLD_JOBS * pool->job_seconds;
    if (!worker->old || worker->n_queued > 0)
        return 0;
    ts_sandbox_end(&worker->child, NULL, 0);
    return workers_launch(pool, worker);
}

/* Corrects a verdict, since its sender is not trusted. */
static void mend_verdict(struct worker_verdict *verdict)
{
    if (verdict->status != TS_OK && verdict->status != TS_RUN_FAILED)
        verdict->status = TS_BAD_INPUT;
    verdict->code[sizeof verdict->code - 1] = '\0';
    verdict->text[sizeof verdict->text - 1] = '\0';
}

static enum worker_outcome workers_take(struct worker_pool *pool, int i,
                                        const struct worker_message *message, uint64_t *number,
                                        void *reply, char what[WORKER_TEXT_MAX])
{
    struct worker *worker = &pool->workers[i];
    pool->next = (i + 1) % pool->n_workers;
    if (message->number == UINT64_MAX)
        return workers_fail(pool, number, what, "could not begin", (const char *)message->payload);
    if (worker->n_queued == 0 || message->number != worker->queue[0])
        return workers_fail(pool, number, what, "is of no use",
                            "it answered what it was not asked");
    *number = message->number;
    memcpy(reply, message->payload, pool->kind->reply_bytes);
    mend_verdict(reply);
    take_first(pool, worker);
    const int error = replace_old(pool, worker);
    return error ? workers_fail(pool, number, what, "could not be replaced", strerror(error))
                 : WORKER_REPLIED;
}

/* Takes what worker i has for the caller: an answer, its end, or an overdue job. WORKER_IDLE:
   nothing yet. */
static enum worker_outcome attend(struct worker_pool *pool, int i, uint64_t *number, void *reply,
                                  char what[WORKER_TEXT_MAX])
{
    struct worker *worker = &pool->workers[i];
    struct worker_message message;
    char error[SANDBOX_TEXT_MAX] = "";
    if (worker->n_returned > 0)
        return return_job(pool, worker, number);
    if (!worker->ready) {
        const enum sandbox_readiness readiness =
            ts_sandbox_ready(&worker->child, false, error, sizeof error);
        if (readiness == SANDBOX_FAILED)
            return *error ? workers_fail(pool, number, what, "could not begin", error)
                          : bury(pool, i, number, what);
        worker->ready = readiness == SANDBOX_READY;
    }
    switch (worker->ready ? look_at(worker, &message) : LOOK_NOTHING) {
    case LOOK_MESSAGE:
        return workers_take(pool, i, &message, number, reply, what);
    case LOOK_FAILED:
        return workers_fail(pool, number, what, "cannot be listened to", strerror(errno));
    case LOOK_ENDED:
        return bury(pool, i, number, what);
    case LOOK_NOTHING:
        break;
    }
    if (!overdue(pool, worker))
        return WORKER_IDLE;
    *number = worker->queue[0];
    snprintf(what, WORKER_TEXT_MAX, "took longer than %d s", pool->job_seconds);
    return lose(pool);
}

enum worker_outcome ts_workers_wait(struct worker_pool *pool, uint64_t *number, void *reply,
                                    char what[WORKER_TEXT_MAX])
{
    struct pollfd fds[WORKERS_MAX];
    *number = UINT64_MAX;
    if (pool->lost) {
        snprintf(what, WORKER_TEXT_MAX, "ended before");
        return WORKER_LOST;
    }
    while (pool->unanswered > 0) {
        for (int k = 0, first = pool->next; k < pool->n_workers; k++) {
            const enum worker_outcome outcome =
                attend(pool, (first + k) % pool->n_workers, number, reply, what);
            if (outcome != WORKER_IDLE)
                return outcome;
        }
        for (int i = 0; i < pool->n_workers; i++)
            fds[i] = (struct pollfd){.fd = pool->workers[i].child.channel, .events = POLLIN};
        /* The tick is for the clock of the jobs; an answer or a death ends the poll at once. */
        poll(fds, (nfds_t)pool->n_workers, TICK_MS);
    }
    return pool->error
               ? workers_fail(pool, number, what, "could not be given a job", strerror(pool->error))
               : WORKER_IDLE;
}

enum worker_outcome ts_worker_ask(struct worker_pool *pool, const void *job, int fd,
                                  uint64_t *number, void *reply, char what[WORKER_TEXT_MAX])
{
    enum worker_outcome outcome = WORKER_RETURNED;
    while (outcome == WORKER_RETURNED) {
        (void)ts_workers_submit(pool, 0, 0, job, fd);
        outcome = ts_workers_wait(pool, number, reply, what);
    }
    return outcome;
}

int ts_workers_pid(const struct worker_pool *pool, int i)
{
    return i < pool->n_workers ? pool->workers[i].child.pid : 0;
}

void ts_workers_destroy(struct worker_pool *pool)
{
    if (pool == NULL)
        return;
    end_all(pool);
    for (int i = 0; i < pool->n_workers; i++) {
        if (pool->workers[i].memory)
            munmap(pool->workers[i].memory, pool->start.memory_bytes);
        if (pool->workers[i].memory_fd >= 0)
            close(pool->workers[i].memory_fd);
    }
    free(pool);
}
