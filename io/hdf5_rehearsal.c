/* SPDX-License-Identifier: Apache-2.0
 *
 * The child answers through a pipe: a head, its records, what it printed. The parent believes no length in it. The fork
 * happens under the lock of the library, so that the child finds the library at rest whatever other threads do.
 */
#include "io/hdf5_rehearsal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/child_limits.h"
#include "io/hdf5_error.h"
#include "io/worker_process.h"

enum { TEXTS = 4, RECORDS_MOST = 256, TICK_MS = 1000 };

static const char magic[8] = "rehearse";

struct head {
    char magic[8];
    int32_t status;
    uint32_t n_records;
    uint64_t printed_bytes;
};

struct record_head {
    int32_t severity, status;
    struct ts_span span;
    uint32_t bytes[TEXTS]; /* of code, stage, message, hint, each with its final zero; 0: none */
};

/* ---- the child --------------------------------------------------------------------------------- */

static void put(int fd, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = write(fd, (const char *)data + done, bytes - done);
        if (n < 0 && errno != EINTR)
            _exit(1);
        done += n > 0 ? (size_t)n : 0;
    }
}

static void put_records(int fd, const struct ts_diag *diag, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        const char *texts[TEXTS] = {record->code, record->stage, record->message, record->hint};
        struct record_head head = {(int32_t)record->severity, (int32_t)record->status, record->span, {0}};
        for (int k = 0; k < TEXTS; k++)
            head.bytes[k] = texts[k] ? (uint32_t)strlen(texts[k]) + 1 : 0;
        put(fd, &head, sizeof head);
        for (int k = 0; k < TEXTS; k++)
            put(fd, texts[k], head.bytes[k]);
    }
}

static bool limit_child(void)
{
    struct rlimit cpu;
    if (getrlimit(RLIMIT_CPU, &cpu) != 0)
        return false;
#ifndef TS_SANITIZED /* whose reports are wanted */
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, STDERR_FILENO) < 0) /* the C library speaks of a damaged heap */
        return false;
#endif
    /* The soft limit alone, whose signal tells it from other deaths; a child's clock begins at 0. */
    cpu.rlim_cur = cpu.rlim_max < HDF5_REHEARSAL_SECONDS ? cpu.rlim_max : HDF5_REHEARSAL_SECONDS;
    return ts_child_limit(RLIMIT_CORE, 0) && ts_child_limit(RLIMIT_FSIZE, 0) && setrlimit(RLIMIT_CPU, &cpu) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ts_child_limit_addresses(HDF5_REHEARSAL_BYTES);
}

static _Noreturn void perform(const struct hdf5_rehearsal *rehearsal, bool strict, int fd, pid_t parent)
{
    char *printed = NULL;
    size_t bytes = 0;
    struct hdf5_failure failure;
    ts_child_signals();
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent || !limit_child())
        _exit(1);
    ts_hdf5_note_failures();
    struct ts_diag *diag = ts_diag_create();
    FILE *out = open_memstream(&printed, &bytes);
    if (!diag || !out)
        _exit(1);
    enum ts_status status = rehearsal->work(rehearsal->user, out, diag);
    if (fclose(out) != 0)
        _exit(1);
    if (strict && status == TS_OK && ts_hdf5_noted_failure(&failure))
        status = ts_diag_error(
            diag, TS_BAD_INPUT,
            &(struct diag_site){.code = "hdf5-damaged", .span = rehearsal->span, .stage = rehearsal->owner},
            "%s: a part of the file cannot be read: %s", rehearsal->path, failure.text);
    const size_t n = ts_diag_count(diag) < RECORDS_MOST ? ts_diag_count(diag) : RECORDS_MOST;
    struct head head = {.status = (int32_t)status, .n_records = (uint32_t)n, .printed_bytes = bytes};
    memcpy(head.magic, magic, sizeof magic);
    put(fd, &head, sizeof head);
    put_records(fd, diag, head.n_records);
    put(fd, printed, bytes);
    _exit(0);
}

/* ---- the parent -------------------------------------------------------------------------------- */

struct answer {
    unsigned char *bytes;
    size_t n, capacity, at; /* `at`: taken so far */
};

/* False where the child sends too much, or memory is out. */
static bool receive(struct answer *answer, int fd, bool *ended)
{
    if (answer->n == answer->capacity) {
        const size_t more = answer->capacity ? 2 * answer->capacity : 1 << 16;
        unsigned char *grown = more <= 2 * (size_t)HDF5_REHEARSAL_OUTPUT ? realloc(answer->bytes, more) : NULL;
        if (!grown)
            return false;
        answer->bytes = grown;
        answer->capacity = more;
    }
    const ssize_t n = read(fd, answer->bytes + answer->n, answer->capacity - answer->n);
    *ended = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
    answer->n += n > 0 ? (size_t)n : 0;
    return true;
}

/* The next bytes; NULL past the end. */
static const void *take(struct answer *answer, uint64_t bytes)
{
    if (bytes > answer->n - answer->at)
        return NULL;
    answer->at += bytes;
    return answer->bytes + answer->at - bytes;
}

static bool is_failure(int32_t status)
{
    return status == TS_RUN_FAILED || status == TS_BAD_CHAIN || status == TS_BAD_INPUT;
}

static bool take_record(struct answer *answer, struct ts_diag *diag)
{
    struct record_head head;
    const char *texts[TEXTS];
    const void *bytes = take(answer, sizeof head);
    if (!bytes)
        return false;
    memcpy(&head, bytes, sizeof head);
    for (int k = 0; k < TEXTS; k++) {
        texts[k] = head.bytes[k] ? take(answer, head.bytes[k]) : NULL;
        if (head.bytes[k] && (!texts[k] || texts[k][head.bytes[k] - 1]))
            return false;
    }
    if (!texts[2])
        return false;
    const struct diag_site site = {.code = texts[0], .span = head.span, .stage = texts[1]};
    if (head.severity == TS_ERROR)
        ts_diag_error(diag, is_failure(head.status) ? (enum ts_status)head.status : TS_BAD_INPUT, &site, "%s",
                      texts[2]);
    else if (head.severity == TS_WARNING)
        ts_diag_warning(diag, &site, "%s", texts[2]);
    else
        ts_diag_note(diag, &site, "%s", texts[2]);
    if (texts[3])
        ts_diag_hint(diag, "%s", texts[3]);
    return true;
}

/* False where the answer is none. Of a rehearsal that went well nothing is said: it is said again. */
static bool deliver(struct answer *answer, FILE *out, struct ts_diag *diag, enum ts_status *status)
{
    struct head head;
    const void *bytes = take(answer, sizeof head);
    if (!bytes)
        return false;
    memcpy(&head, bytes, sizeof head);
    if (memcmp(head.magic, magic, sizeof magic) != 0 || (head.status != TS_OK && !is_failure(head.status)))
        return false;
    *status = (enum ts_status)head.status;
    if (*status == TS_OK && !out)
        return true;
    for (uint32_t i = 0; i < head.n_records; i++)
        if (!take_record(answer, diag))
            return false;
    const void *printed = take(answer, head.printed_bytes);
    if (out && printed)
        fwrite(printed, 1, head.printed_bytes, out);
    return printed;
}

/* Waits for the whole answer; NULL, or why there is none. The child is gone afterwards. */
static const char *await(struct answer *answer, int fd, pid_t child, char *what, size_t size)
{
    const int64_t end = ts_monotonic_ns() + HDF5_REHEARSAL_WALL_SECONDS * INT64_C(1000000000);
    const char *reason = NULL;
    bool ended = false;
    int status = 0;
    while (!ended && !reason) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, TICK_MS) > 0 && !receive(answer, fd, &ended))
            reason = "more is to be said of it than is taken";
        if (ts_monotonic_ns() > end)
            reason = "it took longer than a minute";
    }
    if (reason)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!reason && WIFSIGNALED(status)) {
        if (WTERMSIG(status) == SIGXCPU)
            snprintf(what, size, "it took longer than %d s", HDF5_REHEARSAL_SECONDS);
        else
            snprintf(what, size, "libhdf5 crashed on it (%s)", sigdescr_np(WTERMSIG(status)));
        reason = what;
    }
    return reason;
}

static enum ts_status start(const struct hdf5_rehearsal *rehearsal, bool strict, int *fd, pid_t *child,
                            struct ts_diag *diag)
{
    int ends[2] = {-1, -1};
    const pid_t parent = getpid();
    *child = -1;
    if (pipe2(ends, O_CLOEXEC) == 0)
        *child = ts_hdf5_fork();
    if (*child == 0)
        perform(rehearsal, strict, ends[1], parent);
    const int error = errno;
    if (ends[1] >= 0)
        close(ends[1]);
    *fd = ends[0];
    if (*child > 0)
        return TS_OK;
    if (ends[0] >= 0)
        close(ends[0]);
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "worker-not-started"},
                         "the process that tries %s first could not be started: %s", rehearsal->path, strerror(error));
}

static enum ts_status run(const struct hdf5_rehearsal *rehearsal, FILE *out, struct ts_diag *diag)
{
    struct answer answer = {0};
    char what[128];
    pid_t child;
    int fd;
    enum ts_status status = start(rehearsal, !out, &fd, &child, diag);
    if (status != TS_OK)
        return status;
    const char *reason = await(&answer, fd, child, what, sizeof what);
    close(fd);
    if (!reason && !deliver(&answer, out, diag, &status))
        reason = "the process that tried to read it gave no answer";
    free(answer.bytes);
    if (!reason)
        return status;
    const struct diag_site site = {.code = "hdf5-damaged", .span = rehearsal->span, .stage = rehearsal->owner};
    return ts_diag_error(diag, TS_BAD_INPUT, &site, "%s: the file is damaged: %s", rehearsal->path, reason);
}

enum ts_status ts_hdf5_rehearse(const struct hdf5_rehearsal *rehearsal, struct ts_diag *diag)
{
    return ts_hdf5_notes_failures() ? TS_OK : run(rehearsal, NULL, diag);
}

enum ts_status ts_hdf5_delegate(const struct hdf5_rehearsal *rehearsal, FILE *out, struct ts_diag *diag)
{
    return run(rehearsal, out, diag);
}
