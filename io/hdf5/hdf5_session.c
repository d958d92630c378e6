/* SPDX-License-Identifier: Apache-2.0
 *
 * The parent's side of a session. The channel never blocks: in every round of a loop that sends or
 * receives, the parent checks the clock and the child's processor time, so a child gains nothing by
 * sending a byte now and then.
 */
#include "io/hdf5/hdf5_session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/regular_file.h"

enum { RECORDS_BYTES = 4 << 20, PAST_BYTES = 4 << 20, CODE_BYTES = 40, TICK_MS = 20 };
/* limit of all tasks; the limits of single tasks usually apply before */
enum { LIFE_CPU_SECONDS = 300 };

/* These bound one task; a whole session may use a few times as much. */
static const double cpu_seconds = 0.7, cpu_seconds_a_byte = 1e-8, cpu_seconds_most = 60,
                    session_factor = 3;

/* A task that the child has carried out. If a new child replaces it, that one must carry it out
   again. */
struct past_task {
    hdf5_task *task;
    void *request;
    size_t bytes;
    int fd; /* -1: none */
    int32_t status;
    uint64_t answer; /* hash() of it */
};

struct hdf5_session {
    struct sandbox *sandbox;
    struct sandbox_child child;
    struct sandbox_limits limits;
    struct past_task *past;
    int n_past;
    size_t kept_bytes; /* of them */
    bool one_life;     /* no new child may replace this one, */
    bool replaced;     /* because it has replaced one itself, or there are too many tasks to keep */
    struct hdf5_child setup;
    int64_t file_bytes;  /* bytes of all files */
    int64_t waited_ns;   /* for all tasks so far */
    enum ts_status lost; /* status of the call that ended the child */
};

static struct diag_site site_of(const struct hdf5_child *setup, const char *code)
{
    return (struct diag_site){
        .code = code, .span = setup->span, .stage = *setup->owner ? setup->owner : NULL};
}

/* Reports a failure between this process and the child; the file may be whole. */
static enum ts_status hdf5_session_fail(const struct hdf5_child *setup, int error,
                                        struct ts_diag *diag)
{
    const struct diag_site site = site_of(setup, "hdf5-channel");
    return ts_diag_error(diag, TS_RUN_FAILED, &site,
                         "%s: the channel to the process that reads it failed: %s", setup->path,
                         strerror(error));
}

static enum ts_status start_child(struct hdf5_session *session, struct ts_diag *diag)
{
    const struct hdf5_child *setup = &session->setup;
    const enum ts_status status =
        ts_sandbox_start(session->sandbox, &ts_hdf5_reader, &session->limits, setup, sizeof *setup,
                         NULL, 0, &session->child, diag);
    return status == TS_OK && fcntl(session->child.channel, F_SETFL, O_NONBLOCK) != 0
               ? hdf5_session_fail(setup, errno, diag)
               : status;
}

enum ts_status ts_hdf5_session_start(const struct hdf5_session_options *options,
                                     struct hdf5_session **out, struct ts_diag *diag)
{
    struct hdf5_session *session = calloc(1, sizeof *session);
    *out = NULL;
    if (!session)
        return ts_diag_no_memory(diag, sizeof *session);
    session->sandbox = options->sandbox;
    session->limits = (struct sandbox_limits){
        .address_bytes = options->address_bytes ? options->address_bytes : SESSION_ADDRESS_BYTES,
        .cpu_seconds = LIFE_CPU_SECONDS};
    struct hdf5_child *setup = &session->setup;
    snprintf(setup->path, sizeof setup->path, "%s", options->path);
    snprintf(setup->owner, sizeof setup->owner, "%s", options->owner ? options->owner : "");
    setup->span = options->span;
    setup->strict = options->strict;
    const enum ts_status status = start_child(session, diag);
    if (status == TS_OK)
        *out = session;
    else
        ts_hdf5_session_end(session);
    return status;
}

static void forget_past(struct hdf5_session *session)
{
    for (int i = 0; i < session->n_past; i++) {
        free(session->past[i].request);
        if (session->past[i].fd >= 0)
            close(session->past[i].fd);
    }
    free(session->past);
    session->past = NULL;
    session->n_past = 0;
}

void ts_hdf5_session_end(struct hdf5_session *session)
{
    if (session) {
        ts_sandbox_end(&session->child, NULL, 0);
        forget_past(session);
    }
    free(session);
}

static enum ts_status damaged(const struct hdf5_session *session, const char *reason,
                              struct ts_diag *diag)
{
    return ts_hdf5_child_refuse(&session->setup, diag, "hdf5-damaged", "the file is damaged: %s",
                                reason);
}

enum ts_status ts_hdf5_session_wrong_answer(const struct hdf5_session *session,
                                            struct ts_diag *diag)
{
    return damaged(session, "the process that tried to read it gave no answer", diag);
}

/* The time that one task may use, and why the session ended before the task did: because of the
   file, or because this process could not go on. */
struct allowance {
    double seconds, used_before; /* processor time */
    int64_t end_ns;
    char reason[64];     /* the file's fault; "": none */
    int error;           /* errno of the channel; 0: none */
    size_t memory_bytes; /* of memory that this process could not get; 0: none */
};

/* Returns false if the child has used up what is allowed for a task or for all tasks, or the time
   is over. */
static bool may_go_on(const struct hdf5_session *session, struct allowance *allowance)
{
    const double used = ts_sandbox_cpu_seconds(&session->child);
    if (used - allowance->used_before > allowance->seconds)
        snprintf(allowance->reason, sizeof allowance->reason, "it took longer than %.2g s",
                 allowance->seconds);
    else if (used > session_factor * allowance->seconds)
        snprintf(allowance->reason, sizeof allowance->reason, "it took longer than %.2g s",
                 session_factor * allowance->seconds);
    else if (ts_monotonic_ns() > allowance->end_ns)
        snprintf(allowance->reason, sizeof allowance->reason, "it took longer than a minute");
    return !*allowance->reason;
}

/* Waits until the channel is ready. Returns false if the child took too long, with the reason, or
   if poll fails. */
static bool await(const struct hdf5_session *session, struct allowance *allowance, short events)
{
    struct pollfd ready = {.fd = session->child.channel, .events = events};
    while (may_go_on(session, allowance)) {
        const int n = poll(&ready, 1, TICK_MS);
        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            allowance->error = errno;
            return false;
        }
    }
    return false;
}

/* Returns true if a failed transfer is worth another try. The end of the child is no error of the
   channel. */
static bool may_try_again(struct allowance *allowance)
{
    if (errno == EINTR || errno == EAGAIN)
        return true;
    allowance->error = errno == EPIPE || errno == ECONNRESET ? 0 : errno;
    return false;
}

/* Sends (POLLOUT) or receives (POLLIN) all of the bytes. */
static bool transfer(const struct hdf5_session *session, struct allowance *allowance, short event,
                     void *data, size_t bytes)
{
    const int channel = session->child.channel;
    for (char *at = data; bytes > 0;) {
        if (!await(session, allowance, event))
            return false;
        const ssize_t n =
            event == POLLIN ? read(channel, at, bytes) : send(channel, at, bytes, MSG_NOSIGNAL);
        if (n == 0 || (n < 0 && !may_try_again(allowance)))
            return false;
        at += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* The head is so small that it is sent, with its descriptor, whole or not at all. */
static bool send_head(const struct hdf5_session *session, struct allowance *allowance,
                      const struct task_head *head, int fd)
{
    do {
        if (!await(session, allowance, POLLOUT))
            return false;
        if (ts_channel_send(session->child.channel, head, sizeof *head, &fd, fd >= 0 ? 1 : 0))
            return true;
    } while (may_try_again(allowance));
    return false;
}

static enum ts_status report_kill(const struct hdf5_session *session, int signal_number,
                                  struct ts_diag *diag)
{
    const struct diag_site site = site_of(&session->setup, "decoder-killed");
    ts_diag_error(diag, TS_RUN_FAILED, &site,
                  "%s: the process that reads it was killed by signal %d (%s)%s",
                  session->setup.path, signal_number, sigdescr_np(signal_number),
                  session->replaced ? ", and so was the one in its place" : "");
    return ts_diag_hint(diag, CHILD_KILLED_HINT);
}

/* Reports why the child ended without an answer: because of the file, unless a signal from outside
   ended it or this process lacked something. */
static enum ts_status lose(const struct hdf5_session *session, const struct allowance *allowance,
                           int signal_number, struct ts_diag *diag)
{
    char text[128] = "the process that tried to read it gave no answer";
    if (allowance->memory_bytes)
        return ts_diag_no_memory(diag, allowance->memory_bytes);
    if (allowance->error)
        return hdf5_session_fail(&session->setup, allowance->error, diag);
    if (*allowance->reason)
        snprintf(text, sizeof text, "%s", allowance->reason);
    else if (signal_number == SIGXCPU)
        snprintf(text, sizeof text, "it took longer than %d s", LIFE_CPU_SECONDS);
    else if (ts_sandbox_from_outside(signal_number))
        return report_kill(session, signal_number, diag);
    else if (signal_number)
        snprintf(text, sizeof text, "libhdf5 crashed on it (%s)", sigdescr_np(signal_number));
    return damaged(session, text, diag);
}

static bool is_failure(int32_t status)
{
    return status == TS_RUN_FAILED || status == TS_BAD_CHAIN || status == TS_BAD_INPUT;
}

static bool is_code(const char *text)
{
    const size_t n = text ? strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;
    return n > 0 && n < CODE_BYTES && !text[n];
}

/* Reads one record from the bytes up to `end`. Returns false if it is malformed. The child reports
   only the fault; which source asked for the file, and where in the chain, is added here. */
static bool take_record(const struct hdf5_child *setup, const char **at, const char *end,
                        struct ts_diag *diag)
{
    struct record_head head;
    const char *texts[RECORD_TEXTS];
    if ((size_t)(end - *at) < sizeof head)
        return false;
    memcpy(&head, *at, sizeof head);
    *at += sizeof head;
    for (int k = 0; k < RECORD_TEXTS; k++) {
        if (head.bytes[k] > (size_t)(end - *at) || (head.bytes[k] && (*at)[head.bytes[k] - 1]))
            return false;
        texts[k] = head.bytes[k] ? *at : NULL;
        *at += head.bytes[k];
    }
    if (!is_code(texts[0]) || !texts[1])
        return false;
    const struct diag_site site = site_of(setup, texts[0]);
    if (head.severity == TS_ERROR)
        ts_diag_error(diag, is_failure(head.status) ? (enum ts_status)head.status : TS_BAD_INPUT,
                      &site, "%s", texts[1]);
    else if (head.severity == TS_WARNING)
        ts_diag_warning(diag, &site, "%s", texts[1]);
    else
        ts_diag_note(diag, &site, "%s", texts[1]);
    if (texts[2])
        ts_diag_hint(diag, "%s", texts[2]);
    return true;
}

/* Takes the answer; returns false if there is none or it is malformed. */
static bool take_answer(const struct hdf5_session *session, struct allowance *allowance,
                        int32_t *status, void **answer, size_t *bytes, struct ts_diag *diag)
{
    struct answer_head head;
    if (!transfer(session, allowance, POLLIN, &head, sizeof head))
        return false;
    if ((head.status != TS_OK && !is_failure(head.status)) || head.n_records > RECORDS_MOST ||
        head.record_bytes > RECORDS_BYTES)
        return false;
    if (head.bytes > SESSION_ANSWER_BYTES) {
        snprintf(allowance->reason, sizeof allowance->reason, "its listing needs more than %d MiB",
                 SESSION_ANSWER_BYTES >> 20);
        return false;
    }
    char *records = malloc(head.record_bytes + 1);
    *answer = malloc(head.bytes + 1);
    if (!records || !*answer)
        allowance->memory_bytes = head.record_bytes + head.bytes + 2;
    bool whole = records && *answer &&
                 transfer(session, allowance, POLLIN, records, head.record_bytes) &&
                 transfer(session, allowance, POLLIN, *answer, head.bytes);
    const char *at = records;
    for (uint32_t i = 0; i < head.n_records && whole; i++)
        whole = take_record(&session->setup, &at, records + head.record_bytes, diag);
    free(records);
    *bytes = head.bytes;
    *status = head.status;
    return whole;
}

/* An answer of the child, and the time that it took. */
struct taken {
    struct allowance allowance;
    int32_t status;
    void *answer;
    size_t bytes;
};

/* Sends a task and takes its answer. Returns false if none came. */
static bool carry_out(struct hdf5_session *session, const struct past_task *task,
                      struct taken *taken, struct ts_diag *diag)
{
    const struct task_head head = {.task = ts_sandbox_number((const void *)(intptr_t)task->task),
                                   .bytes = task->bytes};
    const double seconds = cpu_seconds + cpu_seconds_a_byte * (double)session->file_bytes;
    const int64_t start = ts_monotonic_ns(), task_ns = SESSION_WALL_SECONDS * INT64_C(1000000000);
    const int64_t left_ns = (int64_t)session_factor * task_ns - session->waited_ns;
    *taken = (struct taken){
        .allowance = {.seconds = seconds < cpu_seconds_most ? seconds : cpu_seconds_most,
                      .used_before = ts_sandbox_cpu_seconds(&session->child),
                      .end_ns = start + (left_ns < task_ns ? left_ns : task_ns)},
        .status = TS_BAD_INPUT};
    const bool done = send_head(session, &taken->allowance, &head, task->fd) &&
                      transfer(session, &taken->allowance, POLLOUT, task->request, task->bytes) &&
                      take_answer(session, &taken->allowance, &taken->status, &taken->answer,
                                  &taken->bytes, diag);
    session->waited_ns += ts_monotonic_ns() - start;
    if (!done || taken->status != TS_OK) {
        free(taken->answer);
        taken->answer = NULL;
        taken->bytes = 0;
    }
    return done;
}

/* FNV-1a; it need only detect answers that differ by accident. */
static uint64_t hash(const void *data, size_t bytes)
{
    uint64_t sum = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001B3);
    return sum;
}

/* Keeps a task that was answered, for a child that may replace this one. */
static void remember(struct hdf5_session *session, const struct past_task *task,
                     const struct taken *taken)
{
    if (session->one_life)
        return;
    struct past_task kept = *task;
    struct past_task *more = realloc(session->past, (size_t)(session->n_past + 1) * sizeof *more);
    session->past = more ? more : session->past;
    kept.request = task->bytes > 0 ? malloc(task->bytes) : NULL;
    kept.fd = task->fd >= 0 ? fcntl(task->fd, F_DUPFD_CLOEXEC, 0) : -1;
    kept.status = taken->status;
    kept.answer = hash(taken->answer, taken->bytes);
    session->kept_bytes += sizeof kept + task->bytes;
    if (!more || (task->bytes > 0 && !kept.request) || (task->fd >= 0 && kept.fd < 0) ||
        session->kept_bytes > PAST_BYTES) {
        free(kept.request);
        if (kept.fd >= 0)
            close(kept.fd);
        forget_past(session);
        session->one_life = true;
        return;
    }
    if (task->bytes > 0)
        memcpy(kept.request, task->request, task->bytes);
    session->past[session->n_past++] = kept;
}

/* Starts a child that replaces the lost one and repeats its tasks. Drops their records, which were
   reported before. */
static bool take_place(struct hdf5_session *session)
{
    struct ts_diag *silent = ts_diag_create();
    bool same = silent && !session->one_life && start_child(session, silent) == TS_OK;
    session->one_life = true;
    for (int i = 0; same && i < session->n_past; i++) {
        struct taken taken;
        same = carry_out(session, &session->past[i], &taken, silent) &&
               taken.status == session->past[i].status &&
               hash(taken.answer, taken.bytes) == session->past[i].answer;
        free(taken.answer);
        ts_diag_clear(silent);
    }
    ts_diag_destroy(silent);
    session->replaced = session->replaced || same;
    return same;
}

static enum ts_status call(struct hdf5_session *session, hdf5_task *task, const void *request,
                           size_t bytes, int fd, void **answer, size_t *answer_bytes,
                           struct ts_diag *diag)
{
    const struct past_task now = {
        .task = task, .request = (void *)request, .bytes = bytes, .fd = fd};
    struct taken taken;
    int signal_number = 0;
    *answer = NULL;
    *answer_bytes = 0;
    if (session->child.pid == 0) /* reported already */
        return session->lost;
    bool done = carry_out(session, &now, &taken, diag);
    if (!done)
        signal_number = ts_sandbox_end(&session->child, NULL, 0);
    if (!done && ts_sandbox_from_outside(signal_number) && take_place(session))
        done = carry_out(session, &now, &taken, diag);
    if (!done) {
        const int second = ts_sandbox_end(&session->child, NULL, 0);
        session->lost = lose(session, &taken.allowance, second ? second : signal_number, diag);
        return session->lost;
    }
    remember(session, &now, &taken);
    *answer = taken.answer;
    *answer_bytes = taken.bytes;
    return (enum ts_status)taken.status;
}

enum ts_status ts_hdf5_session_call(struct hdf5_session *session, hdf5_task *task,
                                    const void *request, size_t bytes, void **answer,
                                    size_t *answer_bytes, struct ts_diag *diag)
{
    return call(session, task, request, bytes, -1, answer, answer_bytes, diag);
}

/* Does what ts_hdf5_session_ask does, with a descriptor for the child (-1: none). */
static enum ts_status ask(struct hdf5_session *session, hdf5_task *task, const void *request,
                          size_t bytes, int fd, void *answer, size_t answer_bytes,
                          struct ts_diag *diag)
{
    void *found;
    size_t found_bytes;
    enum ts_status status = call(session, task, request, bytes, fd, &found, &found_bytes, diag);
    if (status == TS_OK && found_bytes != answer_bytes)
        status = ts_hdf5_session_wrong_answer(session, diag);
    if (status == TS_OK && answer_bytes > 0)
        memcpy(answer, found, answer_bytes);
    free(found);
    return status;
}

enum ts_status ts_hdf5_session_ask(struct hdf5_session *session, hdf5_task *task,
                                   const void *request, size_t bytes, void *answer,
                                   size_t answer_bytes, struct ts_diag *diag)
{
    return ask(session, task, request, bytes, -1, answer, answer_bytes, diag);
}

enum ts_status ts_hdf5_session_add(struct hdf5_session *session, int fd, int64_t *root,
                                   struct ts_diag *diag)
{
    struct stat found;
    if (fstat(fd, &found) == 0) {
        /* Holes in a file do not give a task more time. */
        const int64_t on_disk = INT64_C(512) * found.st_blocks;
        session->file_bytes += on_disk > 0 && on_disk < found.st_size ? on_disk : found.st_size;
    }
    return ask(session, ts_hdf5_child_add_file, NULL, 0, fd, root, sizeof *root, diag);
}

enum ts_status ts_hdf5_session_open(const struct hdf5_session_options *options,
                                    struct hdf5_session **session, int *fd, struct ts_diag *diag)
{
    struct stat found;
    char reason[200];
    int64_t root;
    *session = NULL;
    const int opened = ts_regular_file_open(options->path, &found, reason, sizeof reason);
    if (opened < 0)
        return ts_diag_error(diag, TS_BAD_INPUT,
                             &(struct diag_site){.code = "input-unreadable",
                                                 .span = options->span,
                                                 .stage = options->owner},
                             "%s: %s", options->path, reason);
    enum ts_status status = ts_hdf5_session_start(options, session, diag);
    if (status == TS_OK)
        status = ts_hdf5_session_add(*session, opened, &root, diag);
    if (status == TS_OK && fd)
        *fd = opened;
    else
        close(opened);
    if (status != TS_OK) {
        ts_hdf5_session_end(*session);
        *session = NULL;
    }
    return status;
}
