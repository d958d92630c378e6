/* SPDX-License-Identifier: Apache-2.0
 *
 * What a worker process does: gives up what it does not need, sets its limits, then takes job numbers from one pipe
 * that all workers share and answers on its own pipe, until the first pipe ends.
 */
#include "io/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "io/child_limits.h"

_Static_assert(sizeof(struct worker_message) <= PIPE_BUF, "a message must be one atomic write");

enum { JOBS_FD = 3, REPLIES_FD = 4, FIRST_FREE_FD = 5, WORKER_FILES_MAX = 16 };

int64_t ts_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static bool set_files(int jobs_fd, int replies_fd)
{
    int jobs = fcntl(jobs_fd, F_DUPFD, FIRST_FREE_FD);
    int replies = fcntl(replies_fd, F_DUPFD, FIRST_FREE_FD);
    int null = open("/dev/null", O_RDWR);
    if (jobs < 0 || replies < 0 || null < 0)
        return false;
    if (dup2(jobs, JOBS_FD) < 0 || dup2(replies, REPLIES_FD) < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
        return false;
#ifndef TS_SANITIZED /* whose reports are wanted */
    if (dup2(null, 2) < 0)
        return false;
#endif
    closefrom(FIRST_FREE_FD);
    return true;
}

static bool set_limits(const struct worker_setup *setup)
{
    return ts_child_limit_addresses(setup->address_bytes) && ts_child_limit(RLIMIT_CORE, 0) &&
           ts_child_limit(RLIMIT_FSIZE, 0) && ts_child_limit(RLIMIT_NOFILE, WORKER_FILES_MAX) &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* RLIMIT_CPU counts from the start of the process, so the soft limit moves along with the jobs. */
static void limit_next_job(int seconds)
{
    struct rusage usage;
    struct rlimit limit;
    if (getrusage(RUSAGE_SELF, &usage) != 0 || getrlimit(RLIMIT_CPU, &limit) != 0)
        return;
    rlim_t used = (rlim_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1);
    rlim_t wanted = used + (rlim_t)seconds;
    if (limit.rlim_cur == wanted)
        return;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || wanted < limit.rlim_max ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_CPU, &limit);
}

static void answer(const struct worker_message *message)
{
    ssize_t written;
    do {
        written = write(REPLIES_FD, message, sizeof *message);
    } while (written < 0 && errno == EINTR);
    if (written != (ssize_t)sizeof *message)
        _exit(1);
}

static bool next_job(uint64_t *job)
{
    ssize_t count;
    do {
        count = read(JOBS_FD, job, sizeof *job);
    } while (count < 0 && errno == EINTR);
    return count == (ssize_t)sizeof *job;
}

_Noreturn void ts_worker_main(const struct worker_setup *setup, struct worker_progress *progress, int jobs_fd,
                              int replies_fd, pid_t parent)
{
    struct worker_message message;
    memset(&message, 0, sizeof message);
    ts_child_signals();
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent) /* it died before the line above */
        _exit(1);
    if (!set_files(jobs_fd, replies_fd))
        _exit(1);
    message.job = UINT64_MAX;
    char *text = (char *)message.payload;
    if (!set_limits(setup)) {
        message.failed = 1;
        snprintf(text, sizeof message.payload, "could not set its limits: %s", strerror(errno));
    } else if (setup->begin != NULL && !setup->begin(setup->user, text, sizeof message.payload)) {
        message.failed = 1;
    }
    if (message.failed) {
        answer(&message);
        _exit(1);
    }
    uint64_t job;
    while (next_job(&job)) {
        atomic_store(&progress->started_ns, ts_monotonic_ns());
        atomic_store(&progress->job, job);
        limit_next_job(setup->job_seconds);
        memset(&message, 0, sizeof message);
        message.job = job;
        setup->work(setup->user, job, message.payload);
        answer(&message);
        atomic_store(&progress->job, UINT64_MAX);
    }
    _exit(0);
}
