/* SPDX-License-Identifier: Apache-2.0
 *
 * The caller's side of the workers: start, queue, wait with a clock, kill and reap.
 *
 * One socket carries jobs to whichever worker is free; the pool keeps the workers' end open too, so that a job can be
 * queued while no worker listens. Each worker answers on its own channel, whose end tells of its death.
 */
#include "io/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/worker_process.h"

enum { TICK_MS = 100, QUEUE_BYTES = 1 << 20 };

struct worker {
    struct sandbox_child child;
    bool ready; /* it has said that it is locked */
};

struct worker_pool {
    const struct worker_kind *kind;
    struct worker_start start;
    struct sandbox_limits limits;
    int fds[WORKER_FDS_OWN + WORKER_FDS_MAX], n_fds; /* handed to each worker */
    struct worker_progress *progress;                /* shared, one a worker */
    struct worker workers[WORKERS_MAX];
    int jobs_fd; /* the writing end */
    int n_workers;
    int next; /* whose answers are looked at first: fairness */
    int unanswered;
    int error; /* errno of a job that could not be handed over, other than "not now" */
    bool lost;
};

static size_t progress_bytes(void)
{
    return WORKERS_MAX * sizeof(struct worker_progress);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void end_all(struct worker_pool *pool)
{
    for (int i = 0; i < pool->n_workers; i++)
        if (pool->workers[i].child.pid > 0)
            kill(pool->workers[i].child.pid, SIGKILL); /* all at once, then one after the other is reaped */
    for (int i = 0; i < pool->n_workers; i++)
        ts_sandbox_end(&pool->workers[i].child, NULL, 0);
    for (int i = 0; i < pool->n_fds; i++)
        close_fd(&pool->fds[i]);
    close_fd(&pool->jobs_fd);
}

/* 0 or an errno. */
static int start_worker(struct worker_pool *pool, int i)
{
    struct worker *worker = &pool->workers[i];
    pool->start.index = i;
    atomic_store(&pool->progress[i].number, UINT64_MAX);
    *worker = (struct worker){.child = {.channel = -1}};
    return ts_sandbox_launch(&ts_worker_sandbox, &pool->limits, &pool->start, sizeof pool->start, pool->fds,
                             pool->n_fds, &worker->child);
}

/* The queue of jobs, the table of progress and the caller's descriptors. 0 or an errno. */
static int open_shared(struct worker_pool *pool, const struct worker_setup *setup)
{
    int ends[2], bytes = QUEUE_BYTES;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return errno;
    pool->jobs_fd = ends[0];
    pool->fds[WORKER_FD_JOBS] = ends[1];
    pool->n_fds = WORKER_FDS_OWN;
    /* A worker that was taken over must not fill the other direction, which nobody reads. */
    (void)shutdown(ends[0], SHUT_RD);
    (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    const int table = pool->fds[WORKER_FD_PROGRESS] = memfd_create("tomostage-progress", MFD_CLOEXEC);
    if (table < 0 || ftruncate(table, (off_t)progress_bytes()) != 0)
        return errno;
    pool->progress = mmap(NULL, progress_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, table, 0);
    if (pool->progress == MAP_FAILED) {
        pool->progress = NULL;
        return errno;
    }
    for (int i = 0; i < setup->n_fds; i++) {
        const int copy = fcntl(setup->fds[i], F_DUPFD_CLOEXEC, 0);
        if (copy < 0)
            return errno;
        pool->fds[pool->n_fds++] = copy;
    }
    return 0;
}

enum ts_status ts_workers_create(const struct worker_setup *setup, struct worker_pool **out, struct ts_diag *diag)
{
    *out = NULL;
    struct worker_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return ts_diag_no_memory(diag, sizeof *pool);
    pool->kind = setup->kind;
    pool->limits = (struct sandbox_limits){setup->address_bytes, WORKER_LIFE_JOBS * setup->job_seconds};
    pool->start =
        (struct worker_start){.kind = setup->kind, .job_seconds = setup->job_seconds, .bytes = setup->setup_bytes};
    if (setup->setup_bytes > 0)
        memcpy(pool->start.setup, setup->setup, setup->setup_bytes);
    pool->jobs_fd = pool->fds[WORKER_FD_PROGRESS] = -1;
    int error = open_shared(pool, setup);
    for (; error == 0 && pool->n_workers < setup->n_workers; pool->n_workers += error == 0)
        error = start_worker(pool, pool->n_workers);
    if (error) {
        struct diag_site site = {.code = "worker-not-started"};
        ts_diag_error(diag, TS_RUN_FAILED, &site, "worker process %d of %d could not be started: %s",
                      pool->n_workers + 1, setup->n_workers, strerror(error));
        ts_workers_destroy(pool);
        return TS_RUN_FAILED;
    }
    *out = pool;
    return TS_OK;
}

bool ts_workers_submit(struct worker_pool *pool, uint64_t number, const void *job, int fd)
{
    struct worker_job message = {.number = number};
    if (pool->lost || pool->unanswered >= WORKER_JOBS_MAX)
        return false;
    memcpy(message.bytes, job, pool->kind->job_bytes);
    if (!ts_channel_send(pool->jobs_fd, &message, sizeof message.number + pool->kind->job_bytes, &fd, fd >= 0)) {
        pool->error = errno == EAGAIN ? 0 : errno;
        return false;
    }
    pool->unanswered++;
    return true;
}

static enum worker_outcome lose(struct worker_pool *pool)
{
    pool->lost = true;
    end_all(pool);
    return WORKER_LOST;
}

/* Says how worker i ended. */
static enum worker_outcome bury(struct worker_pool *pool, int i, uint64_t *number, char what[WORKER_TEXT_MAX])
{
    *number = atomic_load(&pool->progress[i].number);
    ts_sandbox_end(&pool->workers[i].child, what, WORKER_TEXT_MAX);
    return lose(pool);
}

static enum worker_outcome fail(struct worker_pool *pool, uint64_t *number, char what[WORKER_TEXT_MAX],
                                const char *text)
{
    *number = UINT64_MAX;
    snprintf(what, WORKER_TEXT_MAX, "%.*s", WORKER_TEXT_MAX - 1, text);
    return lose(pool);
}

enum look { LOOK_NOTHING, LOOK_MESSAGE, LOOK_ENDED, LOOK_FAILED /* errno */ };

/* What worker i has to say. A message was sent whole, so it comes whole. */
static enum look look_at(const struct worker *worker, struct worker_message *message)
{
    ssize_t n;
    do {
        n = recv(worker->child.channel, message, sizeof *message, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof *message)
        return LOOK_MESSAGE;
    if (n < 0)
        return errno == EAGAIN ? LOOK_NOTHING : errno == ECONNRESET ? LOOK_ENDED : LOOK_FAILED;
    return LOOK_ENDED;
}

static bool overdue(const struct worker_pool *pool, int i)
{
    const struct worker_progress *progress = &pool->progress[i];
    return atomic_load(&progress->number) != UINT64_MAX &&
           ts_monotonic_ns() - atomic_load(&progress->started_ns) > pool->start.job_seconds * INT64_C(1000000000);
}

static enum worker_outcome take(struct worker_pool *pool, int i, const struct worker_message *message, uint64_t *number,
                                void *reply, char what[WORKER_TEXT_MAX])
{
    pool->next = (i + 1) % pool->n_workers;
    if (message->state == WORKER_RETIRES) {
        ts_sandbox_end(&pool->workers[i].child, NULL, 0);
        const int error = start_worker(pool, i);
        return error ? fail(pool, number, what, strerror(error)) : WORKER_IDLE;
    }
    if (message->state != WORKER_ANSWERS)
        return fail(pool, number, what, (const char *)message->payload);
    pool->unanswered--;
    *number = message->number;
    memcpy(reply, message->payload, pool->kind->reply_bytes);
    return WORKER_REPLIED;
}

static enum worker_outcome look(struct worker_pool *pool, uint64_t *number, void *reply, char what[WORKER_TEXT_MAX])
{
    struct worker_message message;
    char error[SANDBOX_TEXT_MAX] = "";
    for (int k = 0; k < pool->n_workers; k++) {
        const int i = (pool->next + k) % pool->n_workers;
        struct worker *worker = &pool->workers[i];
        if (!worker->ready) {
            const enum sandbox_readiness readiness = ts_sandbox_ready(&worker->child, false, error, sizeof error);
            if (readiness == SANDBOX_FAILED)
                return *error ? fail(pool, number, what, error) : bury(pool, i, number, what);
            worker->ready = readiness == SANDBOX_READY;
        }
        const enum look found = worker->ready ? look_at(worker, &message) : LOOK_NOTHING;
        if (found == LOOK_MESSAGE) {
            const enum worker_outcome outcome = take(pool, i, &message, number, reply, what);
            if (outcome != WORKER_IDLE)
                return outcome;
        }
        if (found == LOOK_FAILED) {
            snprintf(error, sizeof error, "cannot be listened to: %s", strerror(errno));
            return fail(pool, number, what, error);
        }
        if (found == LOOK_ENDED)
            return bury(pool, i, number, what);
        if (overdue(pool, i)) {
            *number = atomic_load(&pool->progress[i].number);
            snprintf(what, WORKER_TEXT_MAX, "took longer than %d s", pool->start.job_seconds);
            return lose(pool);
        }
    }
    return WORKER_IDLE;
}

enum worker_outcome ts_workers_wait(struct worker_pool *pool, uint64_t *number, void *reply, char what[WORKER_TEXT_MAX])
{
    struct pollfd fds[WORKERS_MAX];
    *number = UINT64_MAX;
    if (pool->lost) {
        snprintf(what, WORKER_TEXT_MAX, "ended before");
        return WORKER_LOST;
    }
    while (pool->unanswered > 0) {
        const enum worker_outcome outcome = look(pool, number, reply, what);
        if (outcome != WORKER_IDLE)
            return outcome;
        for (int i = 0; i < pool->n_workers; i++)
            fds[i] = (struct pollfd){.fd = pool->workers[i].child.channel, .events = POLLIN};
        /* The tick serves the clock of the jobs; an answer or a death wakes the poll at once. */
        poll(fds, (nfds_t)pool->n_workers, TICK_MS);
    }
    if (!pool->error)
        return WORKER_IDLE;
    snprintf(what, WORKER_TEXT_MAX, "could not be given a job: %s", strerror(pool->error));
    return lose(pool);
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
    if (pool->progress)
        munmap(pool->progress, progress_bytes());
    free(pool);
}
