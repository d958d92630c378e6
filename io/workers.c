/* SPDX-License-Identifier: Apache-2.0
 *
 * The parent's side of the worker processes: fork, queue, wait with a clock, kill and reap.
 *
 * One pipe carries job numbers to whichever worker is free; the parent keeps its reading end open too, so that writing
 * can never raise SIGPIPE. Each worker answers on a pipe of its own, whose end tells of its death.
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
#include <sys/wait.h>
#include <unistd.h>

#include "io/worker_process.h"

enum { TICK_MS = 100 };

struct worker {
    pid_t pid; /* 0: reaped */
    int replies_fd;
};

struct worker_pool {
    struct worker_setup setup;
    struct worker_progress *progress; /* shared, one a worker */
    struct worker workers[WORKERS_MAX];
    int jobs_read_fd, jobs_write_fd;
    int n_workers; /* forked so far */
    int next;      /* whose answers are looked at first: fairness */
    int unanswered;
    bool lost;
};

static size_t progress_bytes(const struct worker_pool *pool)
{
    return (size_t)pool->setup.n_workers * sizeof *pool->progress;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Kills worker i and waits for it; *status is that of waitpid, or 0 where someone else reaped it. */
static void reap(struct worker_pool *pool, int i, int *status)
{
    struct worker *worker = &pool->workers[i];
    *status = 0;
    if (worker->pid > 0) {
        kill(worker->pid, SIGKILL);
        while (waitpid(worker->pid, status, 0) < 0 && errno == EINTR)
            ;
    }
    worker->pid = 0;
    close_fd(&worker->replies_fd);
}

static void end_all(struct worker_pool *pool)
{
    int status;
    for (int i = 0; i < pool->n_workers; i++)
        if (pool->workers[i].pid > 0)
            kill(pool->workers[i].pid, SIGKILL);
    for (int i = 0; i < pool->n_workers; i++)
        reap(pool, i, &status);
    close_fd(&pool->jobs_read_fd);
    close_fd(&pool->jobs_write_fd);
}

static bool start_worker(struct worker_pool *pool, pid_t parent)
{
    int ends[2];
    int i = pool->n_workers;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    atomic_store(&pool->progress[i].job, UINT64_MAX);
    pid_t pid = fork();
    if (pid == 0)
        ts_worker_main(&pool->setup, &pool->progress[i], pool->jobs_read_fd, ends[1], parent);
    int error = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        errno = error;
        return false;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    pool->workers[i] = (struct worker){.pid = pid, .replies_fd = ends[0]};
    pool->n_workers++;
    return true;
}

enum ts_status ts_workers_create(const struct worker_setup *setup, struct worker_pool **out, struct ts_diag *diag)
{
    int ends[2];
    *out = NULL;
    struct worker_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return ts_diag_no_memory(diag, sizeof *pool);
    pool->setup = *setup;
    pool->jobs_read_fd = pool->jobs_write_fd = -1;
    pool->progress = mmap(NULL, progress_bytes(pool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pool->progress == MAP_FAILED) {
        free(pool);
        return ts_diag_no_memory(diag, (size_t)setup->n_workers * sizeof *pool->progress);
    }
    bool ok = pipe2(ends, O_CLOEXEC) == 0;
    if (ok) {
        pool->jobs_read_fd = ends[0];
        pool->jobs_write_fd = ends[1];
        fcntl(ends[1], F_SETFL, O_NONBLOCK);
    }
    pid_t parent = getpid();
    while (ok && pool->n_workers < setup->n_workers)
        ok = start_worker(pool, parent);
    if (!ok) {
        struct diag_site site = {.code = "worker-not-started"};
        ts_diag_error(diag, TS_RUN_FAILED, &site, "worker process %d of %d could not be started: %s",
                      pool->n_workers + 1, setup->n_workers, strerror(errno));
        ts_workers_destroy(pool);
        return TS_RUN_FAILED;
    }
    *out = pool;
    return TS_OK;
}

bool ts_workers_submit(struct worker_pool *pool, uint64_t job)
{
    if (pool->lost || pool->unanswered >= WORKER_JOBS_MAX)
        return false;
    if (write(pool->jobs_write_fd, &job, sizeof job) != (ssize_t)sizeof job)
        return false;
    pool->unanswered++;
    return true;
}

static enum worker_outcome lose(struct worker_pool *pool)
{
    end_all(pool);
    pool->lost = true;
    return WORKER_LOST;
}

/* Says how worker i ended. */
static enum worker_outcome bury(struct worker_pool *pool, int i, uint64_t *job, char what[WORKER_TEXT_MAX])
{
    int status = 0;
    *job = atomic_load(&pool->progress[i].job);
    if (waitpid(pool->workers[i].pid, &status, 0) == pool->workers[i].pid)
        pool->workers[i].pid = 0;
    if (WIFSIGNALED(status))
        snprintf(what, WORKER_TEXT_MAX, "was killed by signal %d (%s)", WTERMSIG(status),
                 sigdescr_np(WTERMSIG(status)));
    else
        snprintf(what, WORKER_TEXT_MAX, "ended with status %d", WEXITSTATUS(status));
    return lose(pool);
}

/* Takes one answer of worker i; false where there is none. */
static bool take(struct worker_pool *pool, int i, struct worker_message *message, bool *ended)
{
    ssize_t count;
    do {
        count = read(pool->workers[i].replies_fd, message, sizeof *message);
    } while (count < 0 && errno == EINTR);
    *ended = count == 0 || (count > 0 && count != (ssize_t)sizeof *message);
    return count == (ssize_t)sizeof *message;
}

static bool overdue(const struct worker_pool *pool, int i)
{
    const struct worker_progress *progress = &pool->progress[i];
    return atomic_load(&progress->job) != UINT64_MAX &&
           ts_monotonic_ns() - atomic_load(&progress->started_ns) > pool->setup.job_seconds * INT64_C(1000000000);
}

static enum worker_outcome look(struct worker_pool *pool, uint64_t *job, void *reply, char what[WORKER_TEXT_MAX])
{
    struct worker_message message;
    for (int k = 0; k < pool->n_workers; k++) {
        int i = (pool->next + k) % pool->n_workers;
        bool ended;
        if (take(pool, i, &message, &ended)) {
            pool->next = (i + 1) % pool->n_workers;
            if (message.failed) {
                *job = UINT64_MAX;
                snprintf(what, WORKER_TEXT_MAX, "%.*s", WORKER_TEXT_MAX - 1, (const char *)message.payload);
                return lose(pool);
            }
            pool->unanswered--;
            *job = message.job;
            memcpy(reply, message.payload, pool->setup.reply_bytes);
            return WORKER_REPLIED;
        }
        if (ended)
            return bury(pool, i, job, what);
        if (overdue(pool, i)) {
            *job = atomic_load(&pool->progress[i].job);
            snprintf(what, WORKER_TEXT_MAX, "took longer than %d s", pool->setup.job_seconds);
            return lose(pool);
        }
    }
    return WORKER_IDLE;
}

enum worker_outcome ts_workers_wait(struct worker_pool *pool, uint64_t *job, void *reply, char what[WORKER_TEXT_MAX])
{
    struct pollfd fds[WORKERS_MAX];
    *job = UINT64_MAX;
    if (pool->lost) {
        snprintf(what, WORKER_TEXT_MAX, "ended before");
        return WORKER_LOST;
    }
    while (pool->unanswered > 0) {
        enum worker_outcome outcome = look(pool, job, reply, what);
        if (outcome != WORKER_IDLE)
            return outcome;
        for (int i = 0; i < pool->n_workers; i++)
            fds[i] = (struct pollfd){.fd = pool->workers[i].replies_fd, .events = POLLIN};
        /* The tick serves the clock of the jobs; an answer or a death wakes the poll at once. */
        poll(fds, (nfds_t)pool->n_workers, TICK_MS);
    }
    return WORKER_IDLE;
}

int ts_workers_pid(const struct worker_pool *pool, int i)
{
    return i < pool->n_workers ? pool->workers[i].pid : 0;
}

void ts_workers_destroy(struct worker_pool *pool)
{
    if (pool == NULL)
        return;
    end_all(pool);
    munmap(pool->progress, progress_bytes(pool));
    free(pool);
}
