/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver is asked in a child process: the caller may still fork workers afterwards, and goes on
 * even if the driver crashes or hangs. The answer comes back through a pipe. A caller that will use
 * a device does not start the driver twice, which takes a tenth of a second each time: a thread of
 * its own process asks. If the driver crashes then, the caller must handle that.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/thread.h"
#include "cuda/device/device.h"

enum { QUERY_SECONDS = 60 }; /* a machine with many devices that nobody keeps awake takes ten */

/* The message from the child or the thread: the devices, or the record of the error. */
struct answer {
    enum ts_status status;
    struct cuda_devices found;
    char code[32], message[320], hint[320];
};

static void ask(struct answer *answer)
{
    struct ts_diag *diag = ts_diag_create();
    memset(answer, 0, sizeof *answer);
    answer->status = TS_RUN_FAILED;
    if (!diag) {
        snprintf(answer->code, sizeof answer->code, "no-memory");
        snprintf(answer->message, sizeof answer->message, "no memory to list the CUDA devices");
        return;
    }
    answer->status = ts_cuda_query_here(&answer->found, diag);
    if (answer->status != TS_OK) {
        const struct ts_diag_record *record = ts_diag_get(diag, 0);
        snprintf(answer->code, sizeof answer->code, "%s", record->code);
        snprintf(answer->message, sizeof answer->message, "%s", record->message);
        snprintf(answer->hint, sizeof answer->hint, "%s", record->hint ? record->hint : "");
    }
    ts_diag_destroy(diag);
}

static enum ts_status hint(struct ts_diag *diag)
{
    return ts_diag_hint(diag, "see whether nvidia-smi works; --device cpu does without");
}

static enum ts_status refuse_late(struct ts_diag *diag)
{
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-timeout"},
                  "the CUDA driver did not list its devices within %d seconds", QUERY_SECONDS);
    return hint(diag);
}

static enum ts_status query_report(const struct answer *answer, struct cuda_devices *found,
                                   struct ts_diag *diag)
{
    *found = answer->found;
    if (answer->status == TS_OK)
        return TS_OK;
    ts_diag_error(diag, answer->status, &(struct diag_site){.code = answer->code}, "%s",
                  answer->message);
    if (answer->hint[0])
        ts_diag_hint(diag, "%s", answer->hint);
    return answer->status;
}

/* ---- in a thread ----------------------------------------------------------------------------- */

/* A process has one driver, and so one thread that starts it. */
static struct {
    pthread_t handle;
    atomic_bool asked, begun; /* ts_cuda_start was called, and there is a thread */
    pthread_mutex_t lock;
    bool joined, given_up; /* under the lock; given_up: starting took too long once */
    pthread_cond_t ended;
    atomic_bool over;
    struct answer answer;
} thread = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER, .over = true};

static void *ask_here(void *data)
{
    ask(data);
    pthread_mutex_lock(&thread.lock);
    atomic_store(&thread.over, true);
    pthread_cond_broadcast(&thread.ended);
    pthread_mutex_unlock(&thread.lock);
    return NULL;
}

void ts_cuda_start(void)
{
    pthread_mutex_lock(&thread.lock);
    atomic_store(&thread.asked, true);
    if (!thread.begun) {
        atomic_store(&thread.over, false);
        thread.begun = ts_thread_start(&thread.handle, ask_here, &thread.answer) == 0;
        if (!thread.begun)
            atomic_store(&thread.over, true);
    }
    pthread_mutex_unlock(&thread.lock);
}

bool ts_cuda_was_started(void)
{
    return thread.begun;
}

bool ts_cuda_starting(void)
{
    return !atomic_load(&thread.over);
}

static bool wait_until_over(void)
{
    struct timespec until;
    int error = 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    pthread_mutex_lock(&thread.lock);
    until.tv_sec += thread.given_up ? 0 : QUERY_SECONDS;
    while (!atomic_load(&thread.over) && error == 0)
        error = pthread_cond_clockwait(&thread.ended, &thread.lock, CLOCK_MONOTONIC, &until);
    thread.given_up = !atomic_load(&thread.over);
    if (!thread.given_up && !thread.joined) { /* the thread has left the lock */
        pthread_join(thread.handle, NULL);
        thread.joined = true;
    }
    const bool over = !thread.given_up;
    pthread_mutex_unlock(&thread.lock);
    return over;
}

static enum ts_status wait_for_thread(struct cuda_devices *found, struct ts_diag *diag)
{
    *found = (struct cuda_devices){0};
    return wait_until_over() ? query_report(&thread.answer, found, diag) : refuse_late(diag);
}

void ts_cuda_await_start(void)
{
    if (thread.begun)
        (void)wait_until_over();
}

/* ---- in a process ---------------------------------------------------------------------------- */

/* Ends by _exit, because the libraries' clean-up must run only in the parent. */
static _Noreturn void serve(int pipe)
{
    struct answer answer;
    signal(SIGPIPE, SIG_IGN);
    ask(&answer);
    const char *at = (const char *)&answer;
    for (size_t left = sizeof answer; left > 0;) {
        const ssize_t n = write(pipe, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(1);
        at += n;
        left -= (size_t)n;
    }
    _exit(0);
}

static int64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Returns the bytes read: the whole answer, or fewer if the child ended or the time was up
 * (*late). */
static size_t receive(int pipe, struct answer *answer, bool *late)
{
    const int64_t deadline = milliseconds() + QUERY_SECONDS * INT64_C(1000);
    size_t have = 0;
    *late = false;
    while (have < sizeof *answer) {
        struct pollfd wait = {.fd = pipe, .events = POLLIN};
        const int64_t left = deadline - milliseconds();
        const int ready = left > 0 ? poll(&wait, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0) {
            *late = ready == 0;
            break;
        }
        const ssize_t n = read(pipe, (char *)answer + have, sizeof *answer - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    return have;
}

/* Waits for the child's end. A process that the kernel does not release is left behind. */
static int reap(pid_t child, bool late)
{
    int status = 0;
    pid_t reaped = 0;
    if (late)
        kill(child, SIGKILL);
    for (int i = 0; i < 100 && (reaped = waitpid(child, &status, late ? WNOHANG : 0)) != child;
         i++) {
        if (reaped < 0 && errno != EINTR)
            break;
        usleep(10000);
    }
    return status;
}

static enum ts_status refuse_end(struct ts_diag *diag, int status)
{
    if (WIFSIGNALED(status))
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-crashed"},
                      "the CUDA driver crashed while it listed its devices: signal %d (%s)",
                      WTERMSIG(status),
                      sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "unknown");
    else
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-crashed"},
                      "the CUDA driver ended the process in which it listed its devices");
    return hint(diag);
}

enum ts_status ts_cuda_query(struct cuda_devices *found, struct ts_diag *diag)
{
    int pipes[2];
    struct answer answer;
    bool late;
    if (thread.begun)
        return wait_for_thread(found, diag);
    /* CUDA runs already, there is no driver, or a caller's process, which is never forked, has no
     * thread left. */
    if (ts_cuda_started() || thread.asked || !ts_cuda_driver_present())
        return ts_cuda_query_here(found, diag);
    *found = (struct cuda_devices){0};
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-failed"},
                             "no pipe to ask the CUDA driver through: %s", strerror(errno));
    const pid_t child = fork();
    if (child == 0) {
        close(pipes[0]);
        serve(pipes[1]);
    }
    close(pipes[1]);
    if (child < 0) {
        close(pipes[0]);
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-failed"},
                             "no process to ask the CUDA driver in: %s", strerror(errno));
    }
    const bool whole = receive(pipes[0], &answer, &late) == sizeof answer;
    close(pipes[0]);
    const int status = reap(child, late);
    if (!whole)
        return late ? refuse_late(diag) : refuse_end(diag, status);
    return query_report(&answer, found, diag);
}
