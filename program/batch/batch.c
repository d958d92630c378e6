/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans the studies of a batch, recognizes results that are there already, and runs what is left.
 *
 * One loop starts processes, waits for them, and looks for signals, many times a second: none of
 * the three may keep the loop waiting. What a process says is kept in a file without a name and
 * printed when it has ended, so that the messages of several do not mix. The lock of an output is
 * taken before its process starts; an output that has appeared in the meantime is another batch's,
 * and is verified.
 */
#include "program/batch/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/json.h"
#include "core/svg.h"
#include "core/timing.h"
#include "io/file/file_bytes.h"
#include "io/file/publish_lock.h"
#include "io/file/whole_file.h"
#include "io/hdf5/hdf5_verify.h"
#include "program/batch/process.h"
#include "program/record/same_plan.h"

/* ---- locks of outputs ------------------------------------------------------------------------ */

/* Whoever unlocks removes the file first. A process that had opened it before then locks a file
   without a name, which excludes nobody. It notices that from the number of links, and tries
   again. */

enum { OUTPUT_LOCK_BUSY = -1 };

static void lock_path(char path[PATH_MAX], const char *folder, const char *name)
{
    snprintf(path, PATH_MAX, "%s/.%s.lock", folder, name);
}

/* Tries to lock the output `name` in the folder, without waiting. *lock becomes the descriptor, or
   OUTPUT_LOCK_BUSY if another process has the lock. Returns TS_RUN_FAILED (batch-lock) if locks do
   not work in the folder. */
static enum ts_status lock_output(const char *folder, const char *name, int *lock,
                                  struct ts_diag *diag)
{
    char path[PATH_MAX];
    struct stat found = {0};
    lock_path(path, folder, name);
    *lock = OUTPUT_LOCK_BUSY;
    while (found.st_nlink == 0) {
        const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        const bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
        const int error = errno;
        if (locked && fstat(fd, &found) == 0 && found.st_nlink > 0) {
            *lock = fd;
            return TS_OK;
        }
        if (fd >= 0)
            close(fd);
        if (!locked)
            return fd >= 0 && error == EWOULDBLOCK
                       ? TS_OK
                       : ts_diag_error(diag, TS_RUN_FAILED,
                                       &(struct diag_site){.code = "batch-lock"},
                                       "%s: cannot be locked: %s", path, ts_errno_text(error));
    }
    return TS_OK;
}

/* Removes the lock's file and closes it. */
static void unlock_output(const char *folder, const char *name, int lock)
{
    char path[PATH_MAX];
    lock_path(path, folder, name);
    (void)unlink(path);
    close(lock);
}

/* ---- the plans of studies -------------------------------------------------------------------- */

/* Studies are planned one after the other in this process, as `check` does: it reads headers, and
   pixels only of a result that is to be verified. Each study has its own list of messages, so that
   one study cannot fill the list of another. */

void ts_batch_take_shard(struct batch *batch)
{
    size_t n = 0;
    for (size_t i = 0; i < batch->studies.n; i++)
        if (i % (size_t)batch->shards == (size_t)batch->shard - 1)
            batch->studies.items[n++] = batch->studies.items[i];
    batch->studies.n = n;
}

/* Divides what the first plan would take among the jobs: memory and threads, and on a device its
   memory. Returns true if the plan now has less than it was made with. */
static bool share(struct batch *batch, const struct ts_plan *plan)
{
    struct ts_options *options = &batch->options;
    const bool first = !batch->shared, first_gpu = plan->cuda && !batch->gpu_shared;
    if (first) {
        options->threads = plan->threads > batch->jobs ? plan->threads / batch->jobs : 1;
        options->memory_bytes = plan->budget_bytes / batch->jobs;
    }
    if (first_gpu)
        options->gpu_memory_bytes = plan->gpu_budget_bytes / batch->jobs;
    batch->shared = true;
    batch->gpu_shared |= first_gpu;
    return (first || first_gpu) && batch->jobs > 1;
}

static enum ts_status create_plan(struct batch *batch, const struct ts_chain *chain,
                                  struct ts_plan **plan, struct ts_diag *diag)
{
    enum ts_status status = ts_plan_create(chain, &batch->options, plan, diag);
    if (status == TS_OK && share(batch, *plan)) {
        ts_plan_destroy(*plan);
        *plan = NULL;
        status = ts_plan_create(chain, &batch->options, plan, diag);
    }
    return status;
}

/* Plans one study. The caller holds the study's lock if other batches may write the same output. If
   the output exists, it is verified, and the state becomes STUDY_FOUND. */
static enum ts_status examine(struct batch *batch, struct batch_study *study, struct ts_diag *diag)
{
    struct stat found;
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    const bool exists = lstat(study->output, &found) == 0;
    enum ts_status status = batch->load(study, &chain, diag);
    if (status == TS_OK && exists)
        status = ts_chain_search(chain, &batch->options, diag);
    if (status == TS_OK)
        status = create_plan(batch, chain, &plan, diag);
    if (status == TS_OK && exists)
        status = ts_same_as_planned(study->output, plan, study->digest, diag);
    if (status == TS_OK && exists)
        study->state = STUDY_FOUND;
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    return status;
}

/* Records why a study was refused or failed, prints it, and destroys the diag, which is NULL if
   memory was out. */
static void refuse_take(struct batch *batch, struct batch_study *study, enum study_state state,
                        enum ts_status status, struct ts_diag *diag)
{
    study->state = state;
    study->status = status;
    const char *message = diag ? ts_diag_first_error(diag) : NULL;
    if (message && !study->message)
        study->message = ts_arena_text(batch->studies.arena, message, strlen(message));
    ts_text_print(stderr, "", study->input);
    fputs(diag ? ":\n" : ":\ntomostage: error: out of memory\n", stderr);
    if (!diag) {
        study->message = "out of memory";
        return;
    }
    ts_diag_print(diag, stderr);
    ts_diag_destroy(diag);
}

static enum ts_status plan_study(struct batch *batch, struct batch_study *study,
                                 struct ts_diag *diag)
{
    struct stat found;
    if (batch->resume || lstat(study->output, &found) != 0)
        return examine(batch, study, diag);
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-exists"},
                  "'%s' already exists", study->output);
    return ts_diag_hint(diag,
                        "--resume verifies results that are there and goes on with the others");
}

bool ts_batch_plan(struct batch *batch)
{
    bool clean = true;
    for (size_t i = 0; i < batch->studies.n; i++) {
        struct ts_diag *diag = ts_diag_create();
        const enum ts_status status =
            diag ? plan_study(batch, &batch->studies.items[i], diag) : TS_RUN_FAILED;
        if (status == TS_OK) {
            ts_diag_destroy(diag); /* the run gives the same warnings again */
            continue;
        }
        refuse_take(batch, &batch->studies.items[i], STUDY_REFUSED, status, diag);
        clean = false;
    }
    return clean;
}

/* ---- the runs of studies --------------------------------------------------------------------- */

enum {
    STEP_MS = 20,      /* milliseconds between two looks for processes that have ended */
    PATIENCE_S = 10,   /* seconds for the runs to end after a signal; they take two */
    SAID_BYTES = 65536 /* most bytes of a process's messages that are kept */
};

struct runs {
    struct batch *batch;
    char program[PATH_MAX];
    int running;
    size_t ended; /* number of studies that are no longer planned or running */
    bool failed, told;
};

/* ---- messages -------------------------------------------------------------------------------- */

static void print_state(const struct runs *runs, const struct batch_study *study)
{
    if (runs->batch->json)
        ts_batch_print_study(runs->batch, study, runs->ended);
    if (runs->batch->quiet || runs->batch->json)
        return;
    printf("[%zu of %zu] ", runs->ended, runs->batch->studies.n);
    ts_text_print(stdout, "", study->name);
    printf(": %s", ts_batch_state_name(study->state));
    if (study->seconds > 0)
        printf(" in %.2f s", study->seconds);
    if (study->warnings > 0)
        printf(", %d warning%s", study->warnings, study->warnings == 1 ? "" : "s");
    putchar('\n');
    fflush(stdout);
}

/* Returns the length of a message without the code at the end of its line: " [output-exists]". */
static size_t message_length(const char *message)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    const char *code = strrchr(message, '[');
    const bool found = code && code > message && code[-1] == ' ' &&
                       !strcmp(code + 1 + strspn(code + 1, letters), "]");
    return found ? (size_t)(code - 1 - message) : strlen(message);
}

/* Counts the warnings in the output of a process and finds its first error. A line that begins a
   record has a place, or the program's name, and the severity; further lines of a record begin with
   blanks. */
static void take_messages(struct runs *runs, struct batch_study *study, char *said)
{
    static const char error[] = ": error: ";
    for (char *line; (line = strsep(&said, "\n"));) {
        const char *at = *line == ' ' ? NULL : strstr(line, error);
        study->warnings += *line != ' ' && strstr(line, ": warning: ");
        if (at && !study->message) {
            at += strlen(error);
            study->message = ts_arena_text(runs->batch->studies.arena, at, message_length(at));
        }
    }
}

static void print_said(struct runs *runs, struct batch_study *study)
{
    char *said = calloc(1, SAID_BYTES + 1);
    if (said && pread(study->errors, said, SAID_BYTES, 0) > 0) {
        ts_text_print(stderr, "", study->input);
        fprintf(stderr, ":\n%s", said);
        take_messages(runs, study, said);
    }
    free(said);
    close(study->errors);
}

/* ---- the end of a study ---------------------------------------------------------------------- */

static void end_study(struct runs *runs, struct batch_study *study)
{
    runs->ended++;
    runs->failed |= study->state == STUDY_FAILED;
    print_state(runs, study);
}

static void batch_fail(struct runs *runs, struct batch_study *study, enum ts_status status,
                       struct ts_diag *diag)
{
    refuse_take(runs->batch, study, STUDY_FAILED, status, diag);
    end_study(runs, study);
}

/* Reads the result back, as anybody who is given it would. */
static enum ts_status verify(struct batch_study *study, struct ts_diag *diag)
{
    struct hdf5_proof proof;
    const enum ts_status status = ts_hdf5_verify(NULL, study->output, &proof, diag);
    if (status == TS_OK)
        memcpy(study->digest, proof.digest, sizeof study->digest);
    return status;
}

static void reap(struct runs *runs, struct batch_study *study, int ended)
{
    struct ts_diag *diag = ts_diag_create();
    const int code = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    enum ts_status status = code <= TS_BAD_INPUT ? (enum ts_status)code : TS_RUN_FAILED;
    runs->running--;
    study->seconds = ts_seconds() - study->begin;
    print_said(runs, study);
    if (status == TS_OK)
        status = diag ? verify(study, diag) : TS_RUN_FAILED;
    unlock_output(runs->batch->folder, study->name, study->lock);
    if (status == TS_OK)
        study->state = STUDY_DONE;
    else
        study->state = code > 128 && runs->batch->stopped() ? STUDY_STOPPED : STUDY_FAILED;
    if (status != TS_OK && !study->message && study->state == STUDY_FAILED) {
        if (diag && ts_diag_error_count(diag) == 0)
            ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "batch-run-ended"},
                          "the run was ended by %s %d", WIFSIGNALED(ended) ? "signal" : "exit code",
                          WIFSIGNALED(ended) ? WTERMSIG(ended) : code);
        batch_fail(runs, study, status, diag);
        return;
    }
    study->status = status;
    ts_diag_destroy(diag);
    end_study(runs, study);
}

static void reap_all(struct runs *runs)
{
    for (size_t i = 0; i < runs->batch->studies.n; i++) {
        struct batch_study *study = &runs->batch->studies.items[i];
        int ended;
        if (study->state == STUDY_RUNNING && waitpid(study->pid, &ended, WNOHANG) == study->pid)
            reap(runs, study, ended);
    }
}

/* ---- the start of a study -------------------------------------------------------------------- */

/* Starts `tomostage run` for a study, with its share of threads and memory. Returns 0 or an
   errno. */
static int start_process(struct runs *runs, struct batch_study *study)
{
    const struct batch *batch = runs->batch;
    char threads[16], memory[24], gpu_memory[24];
    const char *first[] = {"tomostage",    "run",
                           batch->chain,   "-i",
                           study->input,   "-o",
                           study->output,  "--quiet",
                           "--threads",    threads,
                           "--memory",     memory,
                           "--device",     batch->options.device,
                           "--gpu-memory", gpu_memory};
    const size_t n = sizeof first / sizeof *first - (batch->options.gpu_memory_bytes > 0 ? 0 : 2);
    const int n_sets = batch->n_sets + study->n_sets;
    char **arguments = calloc(n + 2 * (size_t)n_sets + 1, sizeof *arguments);
    study->errors = memfd_create("messages", MFD_CLOEXEC);
    if (!arguments || study->errors < 0) {
        free(arguments);
        if (study->errors >= 0)
            close(study->errors);
        return ENOMEM;
    }
    snprintf(threads, sizeof threads, "%d", batch->options.threads);
    snprintf(memory, sizeof memory, "%lld", (long long)batch->options.memory_bytes);
    snprintf(gpu_memory, sizeof gpu_memory, "%lld", (long long)batch->options.gpu_memory_bytes);
    memcpy(arguments, first, n * sizeof *arguments);
    for (int i = 0; i < n_sets; i++) {
        const char *set = i < batch->n_sets ? batch->sets[i] : study->sets[i - batch->n_sets];
        arguments[n + 2 * (size_t)i] = "--set";
        arguments[n + 2 * (size_t)i + 1] = (char *)set;
    }
    study->begin = ts_seconds();
    const int error =
        ts_process_start(runs->program, arguments, study->errors, study->lock, &study->pid);
    free(arguments);
    if (error)
        close(study->errors);
    return error;
}

/* Starts a study whose lock is held, unless its output is there. */
static void start_locked(struct runs *runs, struct batch_study *study, struct ts_diag *diag)
{
    struct stat found;
    enum ts_status status = TS_OK;
    if (lstat(study->output, &found) == 0) {
        status = examine(runs->batch, study, diag);
    } else {
        const int error = start_process(runs, study);
        if (error)
            status =
                ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "batch-run-ended"},
                              "%s: cannot be started: %s", runs->program, ts_errno_text(error));
        else
            study->state = STUDY_RUNNING;
    }
    runs->running += study->state == STUDY_RUNNING;
    if (study->state == STUDY_RUNNING && runs->batch->json)
        ts_batch_print_study(runs->batch, study, runs->ended);
    if (study->state != STUDY_RUNNING)
        unlock_output(runs->batch->folder, study->name, study->lock);
    if (status != TS_OK) {
        batch_fail(runs, study, status, diag);
        return;
    }
    ts_diag_destroy(diag);
    if (study->state == STUDY_FOUND)
        end_study(runs, study);
}

static void batch_start(struct runs *runs, struct batch_study *study)
{
    struct ts_diag *diag = ts_diag_create();
    if (!diag) {
        batch_fail(runs, study, TS_RUN_FAILED, NULL);
        return;
    }
    const enum ts_status status = lock_output(runs->batch->folder, study->name, &study->lock, diag);
    if (status != TS_OK) {
        batch_fail(runs, study, status, diag);
        return;
    }
    if (study->lock != OUTPUT_LOCK_BUSY) {
        start_locked(runs, study, diag);
        return;
    }
    ts_diag_destroy(diag);
    if (!study->waited && !runs->batch->quiet && !runs->batch->json) {
        ts_text_print(stdout, "", study->name);
        puts(": another batch is working on it");
        fflush(stdout);
    }
    study->waited = true;
}

static void start_all(struct runs *runs)
{
    const struct batch *batch = runs->batch;
    for (size_t i = 0; i < batch->studies.n && runs->running < batch->jobs && !batch->stopped();
         i++)
        if (batch->studies.items[i].state == STUDY_PLANNED && (!runs->failed || batch->keep_going))
            batch_start(runs, &batch->studies.items[i]);
}

/* ---- the batch ------------------------------------------------------------------------------- */

/* Passes the signal on to all runs, once. A terminal sends it to them as well, which does no
   harm. */
static void stop_all(struct runs *runs)
{
    const struct batch *batch = runs->batch;
    if (runs->told)
        return;
    runs->told = true;
    alarm(PATIENCE_S);
    for (size_t i = 0; i < batch->studies.n; i++)
        if (batch->studies.items[i].state == STUDY_RUNNING)
            kill(batch->studies.items[i].pid, SIGTERM);
}

void ts_batch_run(struct batch *batch)
{
    const struct timespec step = {0, STEP_MS * 1000000L};
    struct runs runs = {.batch = batch};
    for (size_t i = 0; i < batch->studies.n; i++) {
        if (batch->studies.items[i].state == STUDY_PLANNED)
            continue;
        runs.ended++;
        print_state(&runs, &batch->studies.items[i]);
    }
    /* if it is not found, starting it fails later and says why */
    if (!ts_process_find(runs.program))
        snprintf(runs.program, sizeof runs.program, "/proc/self/exe");
    for (;;) {
        reap_all(&runs);
        start_all(&runs);
        if (batch->stopped())
            stop_all(&runs);
        const bool waits = ts_batch_count(batch, STUDY_PLANNED) > 0 && !batch->stopped() &&
                           (!runs.failed || batch->keep_going);
        if (runs.running == 0 && !waits)
            return;
        nanosleep(&step, NULL);
    }
}

/* ---- events as JSON -------------------------------------------------------------------------- */

/* Events are printed as JSON, one a line: when a study starts, and when it has ended. */

static void open_event(struct json *json, const char *name)
{
    ts_json_init(json, stdout, false);
    ts_json_open(json, '{');
    ts_json_member_text(json, "event", name);
}

static void close_event(struct json *json)
{
    ts_json_close(json, '}');
    fflush(stdout);
}

void ts_batch_print_started(const struct batch *batch)
{
    struct json json;
    open_event(&json, "started");
    ts_json_member_integer(&json, "studies", (int64_t)batch->studies.n);
    ts_json_member_integer(&json, "jobs", batch->jobs);
    ts_json_member_integer(&json, "shard", batch->shard);
    ts_json_member_integer(&json, "shards", batch->shards);
    close_event(&json);
}

void ts_batch_print_study(const struct batch *batch, const struct batch_study *study, size_t ended)
{
    struct json json;
    open_event(&json, "study");
    ts_json_member_text(&json, "state", ts_batch_state_name(study->state));
    ts_json_member_text(&json, "output", study->output);
    ts_json_member_text(&json, "input", study->input);
    if (study->state != STUDY_RUNNING) {
        ts_json_member_real(&json, "seconds", study->seconds);
        ts_json_member_integer(&json, "warnings", study->warnings);
    }
    if (*study->digest)
        ts_json_member_text(&json, "digest", study->digest);
    if (study->message)
        ts_json_member_text(&json, "message", study->message);
    ts_json_member_integer(&json, "ended", (int64_t)ended);
    ts_json_member_integer(&json, "studies", (int64_t)batch->studies.n);
    close_event(&json);
}

void ts_batch_print_finished(const struct batch *batch, const char *table)
{
    struct json json;
    open_event(&json, "finished");
    if (table)
        ts_json_member_text(&json, "table", table);
    ts_json_member_integer(&json, "studies", (int64_t)batch->studies.n);
    for (int state = STUDY_PLANNED; state <= STUDY_STOPPED; state++)
        if (state != STUDY_RUNNING)
            ts_json_member_integer(&json, ts_batch_state_name(state),
                                   (int64_t)ts_batch_count(batch, state));
    close_event(&json);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* A table for programs and a page for people tell how a batch went. The page needs no other file.
   Both are written whole or not at all, like results. */

const char *ts_batch_state_name(enum study_state state)
{
    static const char *const names[] = {"not run", "refused", "running", "done",
                                        "found",   "failed",  "stopped"};
    return names[state];
}

size_t ts_batch_count(const struct batch *batch, enum study_state state)
{
    size_t n = 0;
    for (size_t i = 0; i < batch->studies.n; i++)
        n += batch->studies.items[i].state == state;
    return n;
}

enum ts_status ts_batch_status(const struct batch *batch)
{
    bool any[TS_STOPPED + 1] = {false};
    for (size_t i = 0; i < batch->studies.n; i++) {
        const struct batch_study *study = &batch->studies.items[i];
        const bool good = study->state == STUDY_DONE || study->state == STUDY_FOUND;
        const bool judged = study->state == STUDY_REFUSED || study->state == STUDY_FAILED;
        any[judged ? study->status : good ? TS_OK : TS_STOPPED] = true;
    }
    if (any[TS_BAD_CHAIN])
        return TS_BAD_CHAIN;
    if (any[TS_RUN_FAILED])
        return TS_RUN_FAILED;
    if (any[TS_BAD_INPUT])
        return TS_BAD_INPUT;
    return any[TS_STOPPED] ? TS_RUN_FAILED : TS_OK;
}

void ts_batch_table_path(const struct batch *batch, const char *suffix, char *path, size_t size)
{
    if (batch->shards > 1)
        snprintf(path, size, "%s/batch-%d-of-%d.%s", batch->folder, batch->shard, batch->shards,
                 suffix);
    else
        snprintf(path, size, "%s/batch.%s", batch->folder, suffix);
}

/* Writes a cell without tabs and control characters. */
static void cell(FILE *out, bool html, const char *text)
{
    char escaped[8192];
    ts_text_escape(escaped, sizeof escaped, text ? text : "");
    if (html)
        fputs("<td>", out);
    if (html)
        ts_svg_text(out, escaped);
    else
        fprintf(out, "\t%s", escaped);
}

static void row(FILE *out, bool html, const struct batch_study *study)
{
    char seconds[32], warnings[16];
    const char *state = ts_batch_state_name(study->state);
    snprintf(seconds, sizeof seconds, "%.2f", study->seconds);
    snprintf(warnings, sizeof warnings, "%d", study->warnings);
    if (html)
        fprintf(out, "<tr class=\"%s\"><td>%s", study->state == STUDY_PLANNED ? "open" : state,
                state);
    else
        fputs(state, out);
    cell(out, html, study->name);
    cell(out, html, study->seconds > 0 ? seconds : "");
    cell(out, html, study->state == STUDY_DONE || study->warnings > 0 ? warnings : "");
    cell(out, html, study->digest);
    cell(out, html, study->input);
    cell(out, html, study->message);
    fputc('\n', out);
}

static void write_rows(FILE *out, bool html, const struct batch *batch)
{
    for (size_t i = 0; i < batch->studies.n; i++)
        row(out, html, &batch->studies.items[i]);
}

static void write_page(FILE *out, const struct batch *batch)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>tomostage "
          "batch</title>\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n"
          "<style>body{font:14px "
          "sans-serif;margin:2em}table{border-collapse:collapse}td,th{border:1px solid "
          "#ccc;padding:3px "
          "8px;text-align:left;vertical-align:top}td:nth-child(5){font-family:monospace;max-width:"
          "10em;overflow:hidden;text-overflow:ellipsis}.done,.found{background:#eaf6ea}.failed,."
          "refused{background:#fde8e8}.stopped,.open{background:#fff6dc}</style>\n<h1>tomostage "
          "batch</h1>\n<p>",
          out);
    fprintf(out, "%zu studies", batch->studies.n);
    for (int state = STUDY_PLANNED; state <= STUDY_STOPPED; state++)
        if (ts_batch_count(batch, state) > 0)
            fprintf(out, ", %zu %s", ts_batch_count(batch, state), ts_batch_state_name(state));
    fputs("</"
          "p>\n<table>\n<tr><th>state<th>output<th>seconds<th>warnings<th>digest<th>input<th>"
          "message\n",
          out);
    write_rows(out, true, batch);
    fputs("</table>\n</html>\n", out);
}

static enum ts_status write_table(const struct batch *batch, bool html, struct ts_diag *diag)
{
    char path[4096];
    struct whole_file file;
    ts_batch_table_path(batch, html ? "html" : "tsv", path, sizeof path);
    const enum ts_status status = ts_whole_file_open(&file, path, true, diag);
    if (status != TS_OK)
        return status;
    if (html) {
        write_page(file.stream, batch);
    } else {
        fputs("state\toutput\tseconds\twarnings\tdigest\tinput\tmessage\n", file.stream);
        write_rows(file.stream, false, batch);
    }
    return ts_whole_file_close(&file, diag);
}

enum ts_status ts_batch_write_tables(const struct batch *batch, struct ts_diag *diag)
{
    struct publish_lock lock;
    char path[4096];
    ts_batch_table_path(batch, "tsv", path, sizeof path);
    char *folder = ts_file_folder(path);
    ts_publish_lock(&lock, (const char *const[]){folder}, 1, diag);
    enum ts_status status = write_table(batch, false, diag);
    if (status == TS_OK)
        status = write_table(batch, true, diag);
    ts_publish_unlock(&lock);
    free(folder);
    return status;
}
