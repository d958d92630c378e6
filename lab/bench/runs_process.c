/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts processes and reads from wait4 what they used. Their standard error goes to a file without
 * a name, of which a message shows the first line.
 */
#include "lab/bench/runs_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/timing.h"
#include "io/file/file_bytes.h"
#include "io/file/file_commit.h"
#include "program/batch/process.h"

enum { SAID_BYTES = 400, BLOCK_BYTES = 4 << 20 };

/* ---- signals --------------------------------------------------------------------------------- */

static const int stops[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static volatile sig_atomic_t stopped_by;
static volatile pid_t running;

static void on_signal(int number)
{
    stopped_by = number;
    if (running > 0)
        kill(running, number);
}

void ts_runs_signals_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (sigaction(stops[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) /* nohup */
            sigaction(stops[i], &action, NULL);
}

void ts_runs_signals_obey(void)
{
    if (!stopped_by)
        return;
    signal(stopped_by, SIG_DFL);
    raise(stopped_by);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Says what the process was to do and how it ended. */
static enum ts_status report(const char *const *arguments, int ended, int errors,
                             struct ts_diag *diag)
{
    char said[SAID_BYTES + 1], line[SAID_BYTES] = "";
    const ssize_t length = pread(errors, said, SAID_BYTES, 0);
    said[length > 0 ? length : 0] = '\0';
    said[strcspn(said, "\n")] = '\0';
    for (size_t used = 0; *arguments && used < sizeof line; arguments++)
        used += (size_t)snprintf(line + used, sizeof line - used, " %s", *arguments);
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "runs-failed"},
                         "tomostage%s: ended by %s %d: %s", line,
                         WIFSIGNALED(ended) ? "signal" : "exit code",
                         WIFSIGNALED(ended) ? WTERMSIG(ended) : WEXITSTATUS(ended), said);
}

static enum ts_status failed_to_start(const char *path, int error, struct ts_diag *diag)
{
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "runs-failed"},
                         "%s: cannot be started: %s", path, ts_errno_text(error));
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + 1e-6 * (double)time->tv_usec;
}

/* Starts the process and waits; *ended is what waitpid says. Returns 0 or an errno. */
static int start_and_wait(const char *path, char *const *arguments, int errors,
                          struct runs_process *process, int *ended)
{
    struct rusage used;
    pid_t pid;
    const double begin = ts_seconds();
    const int error = ts_process_start(path, arguments, errors, -1, &pid);
    if (error)
        return error;
    running = pid;
    while (wait4(pid, ended, 0, &used) < 0)
        if (errno != EINTR)
            return errno;
    running = 0;
    *process = (struct runs_process){.seconds = ts_seconds() - begin,
                                     .processor_seconds =
                                         seconds_of(&used.ru_utime) + seconds_of(&used.ru_stime),
                                     .memory_bytes = 1024.0 * (double)used.ru_maxrss};
    return 0;
}

enum ts_status ts_runs_process(const char *const *arguments, struct runs_process *process,
                               struct ts_diag *diag)
{
    enum { MOST = 32 };
    char path[PATH_MAX];
    char *all[MOST + 2] = {"tomostage"};
    int ended = 0;
    for (int i = 0; arguments[i] && i < MOST; i++)
        all[i + 1] = (char *)arguments[i];
    if (!ts_process_find(path))
        return failed_to_start("tomostage", ENOENT, diag);
    const int errors = memfd_create("errors", MFD_CLOEXEC);
    const int error = errors < 0 ? errno : start_and_wait(path, all, errors, process, &ended);
    enum ts_status status = TS_OK;
    if (stopped_by)
        status = TS_STOPPED;
    else if (error)
        status = failed_to_start(path, error, diag);
    else if (ended != 0)
        status = report(arguments, ended, errors, diag);
    if (errors >= 0)
        close(errors);
    return status;
}

/* ---- plain writing --------------------------------------------------------------------------- */

/* Returns false with errno where a call fails. */
static bool write_blocks(int fd, const unsigned char *block, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += BLOCK_BYTES)
        if (!ts_file_write_at(fd, block,
                              (size_t)(bytes - at < BLOCK_BYTES ? bytes - at : BLOCK_BYTES),
                              (uint64_t)at))
            return false;
    return fsync(fd) == 0;
}

enum ts_status ts_runs_write(const char *path, int64_t bytes, double *seconds, struct ts_diag *diag)
{
    unsigned char *block = malloc(BLOCK_BYTES);
    if (!block)
        return ts_diag_no_memory(diag, BLOCK_BYTES);
    for (size_t i = 0; i < BLOCK_BYTES; i++) /* some file systems do not store zeros */
        block[i] = (unsigned char)(i * 2654435761u >> 13);
    const double begin = ts_seconds();
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool done = fd >= 0 && write_blocks(fd, block, bytes);
    int error = errno;
    if (fd >= 0 && close(fd) != 0 && done) {
        error = errno;
        done = false;
    }
    *seconds = ts_seconds() - begin;
    free(block);
    if (fd >= 0)
        unlink(path);
    return done ? TS_OK
                : ts_file_failed(diag, "not-written", error, "%s: could not be written", path);
}
