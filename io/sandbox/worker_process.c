/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a worker, in its sandbox: it takes jobs from its channel, answers on it, and ends with it.
 */
#include "io/sandbox/worker_process.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool prepare(const void *setup, size_t bytes, char *error, size_t error_bytes)
{
    const struct worker_start *start = setup;
    (void)bytes;
    return !start->kind->prepare || start->kind->prepare(start->setup, start->bytes, error, error_bytes);
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
    if (n_fds > 0)
        close(fd);
    return ts_channel_write(channel, &message, sizeof message);
}

static void serve(int channel, const void *setup, size_t bytes, const int *fds, int n_fds)
{
    const struct worker_start *start = setup;
    struct worker_message message = {.number = UINT64_MAX};
    void *memory = NULL;
    (void)bytes;
    if (n_fds > 0)
        memory = mmap(NULL, start->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
    void *state = memory == MAP_FAILED ? NULL : start->kind->begin(start->setup, memory);
    if (!state) {
        snprintf((char *)message.payload, sizeof message.payload, "it has no memory to begin with");
        (void)ts_channel_write(channel, &message, sizeof message);
        return;
    }
    while (answer_next(start->kind, state, channel))
        ;
}

const struct sandbox_kind ts_worker_sandbox = {.name = "worker", .prepare = prepare, .serve = serve};
