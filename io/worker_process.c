/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a worker, in its sandbox: it takes jobs from one socket that all workers share, answers on its own
 * channel, and ends with the socket.
 */
#include "io/worker_process.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static bool prepare(const void *setup, size_t bytes, char *error, size_t error_bytes)
{
    const struct worker_start *start = setup;
    (void)bytes;
    return !start->kind->prepare || start->kind->prepare(start->setup, start->bytes, error, error_bytes);
}

static double processor_seconds(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* True while it may take another job. */
static bool answer_next(const struct worker_start *start, void *state, struct worker_progress *progress, int channel,
                        int jobs)
{
    struct worker_job job;
    struct worker_message message = {.state = WORKER_ANSWERS};
    int fd = -1, n_fds = 1;
    if (!ts_channel_receive(jobs, &job, sizeof job.number + start->kind->job_bytes, &fd, &n_fds))
        return false;
    atomic_store(&progress->started_ns, ts_monotonic_ns());
    atomic_store(&progress->number, job.number);
    message.number = job.number;
    start->kind->work(state, job.bytes, n_fds > 0 ? fd : -1, message.payload);
    if (n_fds > 0)
        close(fd);
    if (!ts_channel_write(channel, &message, sizeof message))
        return false;
    atomic_store(&progress->number, UINT64_MAX);
    if (processor_seconds() < (WORKER_LIFE_JOBS - 1) * start->job_seconds)
        return true;
    message.state = WORKER_RETIRES;
    (void)ts_channel_write(channel, &message, sizeof message);
    return false;
}

static void serve(int channel, const void *setup, size_t bytes, const int *fds, int n_fds)
{
    const struct worker_start *start = setup;
    struct worker_message message = {.number = UINT64_MAX, .state = WORKER_FAILS};
    const size_t table_bytes = WORKERS_MAX * sizeof(struct worker_progress);
    struct worker_progress *table =
        mmap(NULL, table_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[WORKER_FD_PROGRESS], 0);
    void *state = table == MAP_FAILED ? NULL : start->kind->begin(start->setup, fds + WORKER_FDS_OWN);
    (void)bytes;
    (void)n_fds;
    if (!state) {
        snprintf((char *)message.payload, sizeof message.payload, "has no memory to begin with");
        (void)ts_channel_write(channel, &message, sizeof message);
        return;
    }
    while (answer_next(start, state, &table[start->index], channel, fds[WORKER_FD_JOBS]))
        ;
}

const struct sandbox_kind ts_worker_sandbox = {.name = "worker", .prepare = prepare, .serve = serve};
