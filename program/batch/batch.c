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
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/path.h"
#include "core/timing.h"
#include "io/file/file_bytes.h"
#include "io/file/file_commit.h"
#include "io/hdf5/hdf5_verify.h"
#include "program/batch/process.h"
#include "program/record/same_plan.h"
#include "program/report/report.h"
#include "program/show/preview.h"

#define CLEAR_LINE "\r\033[K" /* erases the line of a terminal */

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

const char *ts_batch_output_set(const struct batch *batch, const struct batch_study *study, int i,
                                char *set, size_t size)
{
    const struct batch_output *output = &batch->outputs[i];
    const int stem = (int)(strrchr(study->output, '.') - study->output);
    snprintf(set, size, "output.%s=%.*s%s%s", output->format, stem, study->output,
             *output->suffix ? "" : "-", *output->suffix ? output->suffix : output->format);
    return strchr(set, '=') + 1;
}

/* Returns true if all further outputs of the study are there. */
static bool has_outputs(const struct batch *batch, const struct batch_study *study)
{
    struct stat found;
    char set[PATH_MAX];
    bool all = true;
    for (int i = 0; i < batch->n_outputs && all; i++)
        all = lstat(ts_batch_output_set(batch, study, i, set, sizeof set), &found) == 0;
    return all;
}

/* Plans one study. The caller holds the study's lock if other batches may write the same output. If
   the output exists, it is verified, and the state becomes STUDY_FOUND, unless another output of
   the study is missing and it is to be run again. */
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
    study->replace = status == TS_OK && exists && !has_outputs(batch, study);
    if (status == TS_OK && exists && !study->replace)
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
    if (batch->terminal)
        fputs(CLEAR_LINE, stderr);
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
        if (batch->terminal)
            fprintf(stderr, CLEAR_LINE "planning study %zu of %zu", i + 1, batch->studies.n);
        const enum ts_status status =
            diag ? plan_study(batch, &batch->studies.items[i], diag) : TS_RUN_FAILED;
        if (status == TS_OK) {
            ts_diag_destroy(diag); /* the run gives the same warnings again */
            continue;
        }
        refuse_take(batch, &batch->studies.items[i], STUDY_REFUSED, status, diag);
        clean = false;
    }
    if (batch->terminal)
        fputs(CLEAR_LINE, stderr);
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
    double drawn, looked; /* when progress was last shown, and arrivals were looked for */
};

/* ---- messages -------------------------------------------------------------------------------- */

static void print_state(const struct runs *runs, const struct batch_study *study)
{
    if (runs->batch->json)
        ts_batch_print_study(runs->batch, study, runs->ended);
    if (runs->batch->quiet || runs->batch->json)
        return;
    fputs(runs->batch->terminal ? CLEAR_LINE : "", stderr);
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

/* Takes a line that a process has written: how far it is, "pass 1 of 2: 3 of 8 slices, 9.0 MB/s,
   0:03 left", or a part of its messages. */
static void take_line(struct batch_study *study, const char *line, size_t length)
{
    int pass, passes;
    long long done, slices;
    long minutes = -1, seconds = 0;
    const char *at = memmem(line, length, "pass ", 5), *left = memmem(line, length, " left", 5);
    const bool search = !strncmp(line, "looking for the box of ", 23);
    if ((at != line && !search) || !at ||
        sscanf(at, "pass %d of %d: %lld of %lld slices", &pass, &passes, &done, &slices) != 4) {
        if (study->said && study->n_said + length <= SAID_BYTES) {
            memcpy(study->said + study->n_said, line, length);
            study->n_said += length;
        }
        return;
    }
    const double took = ts_seconds() - study->begin;
    while (left && left > at && !strchr(" ,", left[-1]))
        left--;
    if (left && sscanf(left, "%ld:%ld left", &minutes, &seconds) == 2 && !search)
        study->part = took / (took + (double)(60 * minutes + seconds) + 1e-3);
}

/* Reads what the process has written since, up to its last whole line. */
static void read_said(struct batch_study *study)
{
    char text[4096];
    ssize_t n;
    if (!study->said)
        study->said = calloc(1, SAID_BYTES + 1);
    while ((n = pread(study->errors, text, sizeof text, (off_t)study->n_read)) > 0) {
        size_t used = 0;
        for (const char *end; (end = memchr(text + used, '\n', (size_t)n - used)) != NULL;) {
            const size_t length = (size_t)(end + 1 - (text + used));
            take_line(study, text + used, length);
            used += length;
        }
        if (used == 0 && (size_t)n < sizeof text)
            return; /* a line that is not yet whole */
        if (used == 0)
            take_line(study, text, used = (size_t)n);
        study->n_read += used;
    }
}

static void print_said(struct runs *runs, struct batch_study *study)
{
    read_said(study);
    if (study->said && study->n_said > 0) {
        fputs(runs->batch->terminal ? CLEAR_LINE : "", stderr);
        ts_text_print(stderr, "", study->input);
        fprintf(stderr, ":\n%s", study->said);
        take_messages(runs, study, study->said);
    }
    free(study->said);
    study->said = NULL;
    close(study->errors);
}

/* ---- progress -------------------------------------------------------------------------------- */

/* Returns the seconds that all studies still take, as if each took what those took that have ended
   or are far enough to tell; -1 if none is. */
static double seconds_left(const struct runs *runs)
{
    const struct batch *batch = runs->batch;
    double known = 0, running = 0;
    size_t n = 0, unknown = ts_batch_count(batch, STUDY_PLANNED);
    for (size_t i = 0; i < batch->studies.n; i++) {
        const struct batch_study *study = &batch->studies.items[i];
        const double took = ts_seconds() - study->begin;
        const bool told = study->state == STUDY_RUNNING && study->part > 0;
        unknown += study->state == STUDY_RUNNING && !told;
        running += told ? took / study->part - took : 0;
        known += told ? took / study->part : 0;
        known += study->state == STUDY_DONE ? study->seconds : 0;
        n += told || study->state == STUDY_DONE;
    }
    const double at_once = fmax(1, fmin(batch->jobs, (double)unknown + runs->running));
    return n > 0 ? (running + (double)unknown * known / (double)n) / at_once : -1;
}

/* Shows how far the running studies are: often on a terminal, each second as an event, else every
   30 seconds. */
static void show_progress(struct runs *runs)
{
    const struct batch *batch = runs->batch;
    const double now = ts_seconds();
    if (batch->quiet || now - runs->drawn < (batch->terminal ? 0.2 : batch->json ? 1 : 30))
        return;
    runs->drawn = now;
    const double left = seconds_left(runs);
    if (batch->json) {
        ts_batch_print_progress(batch, runs->ended, left);
        return;
    }
    fprintf(stderr, "%s%zu of %zu ended", batch->terminal ? CLEAR_LINE : "", runs->ended,
            batch->studies.n);
    for (size_t i = 0, shown = 0; i < batch->studies.n && shown < 4; i++) {
        const struct batch_study *study = &batch->studies.items[i];
        if (study->state != STUDY_RUNNING)
            continue;
        ts_text_print(stderr, shown++ == 0 ? "; running: " : ", ", study->name);
        if (study->part > 0)
            fprintf(stderr, " %.0f %%", 100 * study->part);
        else
            fputs(" ?", stderr);
    }
    if (left < 0)
        fputs(runs->running > 0 ? "; ? left" : "", stderr);
    else if (runs->ended < batch->studies.n)
        fprintf(stderr, "; %ld:%02ld left", (long)(left + 0.5) / 60, (long)(left + 0.5) % 60);
    if (batch->watch)
        fputs("; waiting for studies", stderr);
    fputs(batch->terminal ? "" : "\n", stderr);
    fflush(stderr);
}

/* ---- the end of a study ---------------------------------------------------------------------- */

/* Writes the picture and the report to which the page leads. Without them the study is as good, so
   that a failure is no error. */
static void write_beside(const struct batch *batch, const struct batch_study *study)
{
    char folder[PATH_MAX], picture[PATH_MAX], report[PATH_MAX];
    FILE *said = fopen("/dev/null", "w");
    struct ts_diag *diag = ts_diag_create();
    snprintf(folder, sizeof folder, "%s/batch-files", batch->folder);
    ts_batch_beside(batch, study, true, "png", picture, sizeof picture);
    ts_batch_beside(batch, study, true, "html", report, sizeof report);
    if (diag) { /* which a batch that was killed may have left beside whole ones */
        ts_file_remove_stale(folder, ts_base_name(picture), diag);
        ts_file_remove_stale(folder, ts_base_name(report), diag);
    }
    const bool there = access(picture, F_OK) == 0 && access(report, F_OK) == 0;
    const bool needed = study->state == STUDY_DONE || (study->state == STUDY_FOUND && !there);
    if (said && diag && needed && (mkdir(folder, 0777) == 0 || errno == EEXIST)) {
        (void)ts_preview_write(
            &(struct preview_request){
                .text = study->output, .dataset = "data", .slice = -1, .montage = 1},
            &(struct preview_style){.plain = true}, picture, said, diag);
        (void)ts_report_write(
            &(struct report_request){.path = study->output, .output = report, .force = true}, diag);
    }
    ts_diag_destroy(diag);
    if (said)
        fclose(said);
}

static void end_study(struct runs *runs, struct batch_study *study)
{
    if (!runs->batch->stopped() && !runs->batch->fitting)
        write_beside(runs->batch, study);
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
        if (study->state == STUDY_RUNNING)
            read_said(study);
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
    const char *first[] = {"tomostage",
                           "run",
                           batch->chain,
                           "-i",
                           study->input,
                           "-o",
                           study->output,
                           "--every",
                           "1",
                           study->replace ? "--force" : "--every=1",
                           "--threads",
                           threads,
                           "--memory",
                           memory,
                           "--device",
                           batch->options.device,
                           "--gpu-memory",
                           gpu_memory};
    const size_t n = sizeof first / sizeof *first - (batch->options.gpu_memory_bytes > 0 ? 0 : 2);
    const int own = batch->n_sets + study->n_sets, n_sets = own + batch->n_outputs;
    char outputs[BATCH_OUTPUTS][PATH_MAX];
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
        const char *set = NULL;
        if (i >= own)
            ts_batch_output_set(batch, study, i - own, outputs[i - own], PATH_MAX);
        if (i >= own)
            set = outputs[i - own];
        else
            set = i < batch->n_sets ? batch->sets[i] : study->sets[i - batch->n_sets];
        arguments[n + 2 * (size_t)i] = "--set";
        arguments[n + 2 * (size_t)i + 1] = (char *)set;
    }
    study->begin = ts_seconds();
    study->n_read = study->n_said = 0;
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
    if (lstat(study->output, &found) == 0)
        status = examine(runs->batch, study, diag);
    if (status == TS_OK && study->state != STUDY_FOUND) {
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
        if (batch->studies.items[i].state == STUDY_PLANNED &&
            (!runs->failed || batch->keep_going || batch->watch))
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

/* Adds one study of the watched folder, and plans it. */
static void add_arrival(struct runs *runs, const char *path)
{
    struct batch *batch = runs->batch;
    const size_t before = batch->studies.n;
    struct ts_diag *diag = ts_diag_create();
    enum ts_status status = diag ? TS_OK : TS_RUN_FAILED;
    if (status == TS_OK)
        status = ts_studies_add_path(&batch->studies, path, diag);
    if (status == TS_OK)
        status = ts_studies_name(&batch->studies, batch->folder, diag);
    if (status != TS_OK) {
        if (diag)
            ts_diag_print(diag, stderr);
        batch->studies.n = before;
    } else if (batch->studies.n > before) {
        struct batch_study *study = &batch->studies.items[before];
        status = plan_study(batch, study, diag);
        if (status != TS_OK) {
            refuse_take(batch, study, STUDY_REFUSED, status, diag);
            diag = NULL;
        }
        if (study->state != STUDY_PLANNED)
            end_study(runs, study);
    }
    ts_diag_destroy(diag);
}

/* Looks for studies that have arrived, once a second, and writes the tables if some have ended. */
static void look_for_arrivals(struct runs *runs, size_t *written)
{
    struct batch *batch = runs->batch;
    char path[PATH_MAX];
    if (!batch->watch || batch->stopped() || ts_seconds() - runs->looked < 1)
        return;
    runs->looked = ts_seconds();
    while (!batch->stopped() && ts_watch_next(&batch->arrivals, batch->watch, batch->folder,
                                              batch->settle, path, sizeof path))
        add_arrival(runs, path);
    if (runs->ended != *written) {
        struct ts_diag *diag = ts_diag_create();
        if (diag && ts_batch_write_tables(batch, diag) != TS_OK)
            ts_diag_print(diag, stderr);
        ts_diag_destroy(diag);
        *written = runs->ended;
    }
}

void ts_batch_run(struct batch *batch)
{
    size_t written = 0;
    const struct timespec step = {0, STEP_MS * 1000000L};
    struct runs runs = {.batch = batch, .drawn = batch->terminal ? 0 : ts_seconds()};
    for (size_t i = 0; i < batch->studies.n; i++)
        if (batch->studies.items[i].state != STUDY_PLANNED)
            end_study(&runs, &batch->studies.items[i]);
    /* if it is not found, starting it fails later and says why */
    if (!ts_process_find(runs.program))
        snprintf(runs.program, sizeof runs.program, "/proc/self/exe");
    for (;;) {
        reap_all(&runs);
        look_for_arrivals(&runs, &written);
        start_all(&runs);
        if (batch->stopped())
            stop_all(&runs);
        const bool waits = ts_batch_count(batch, STUDY_PLANNED) > 0 && !batch->stopped() &&
                           (!runs.failed || batch->keep_going);
        if (runs.running == 0 && !waits && !(batch->watch && !batch->stopped()))
            break;
        show_progress(&runs);
        nanosleep(&step, NULL);
    }
    if (batch->terminal)
        fputs(CLEAR_LINE, stderr);
    ts_watch_end(&batch->arrivals);
}
