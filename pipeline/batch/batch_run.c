/* SPDX-License-Identifier: Apache-2.0
 *
 * One loop starts processes, waits for them, and looks for signals, many times a second: none of the three ends the
 * waiting for the others. What a process says is kept in a file without a name and printed when it has ended, so that
 * the messages of several do not mix. The lock of an output is taken before its process starts; an output that has
 * appeared in the meantime is another batch's, and is verified.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/timing.h"
#include "io/file/file_bytes.h"
#include "io/hdf5/hdf5_verify.h"
#include "pipeline/batch/batch.h"
#include "pipeline/batch/output_lock.h"
#include "pipeline/command/process.h"

enum {
    STEP_MS = 20,      /* between two looks at what has ended */
    PATIENCE_S = 10,   /* for the runs to end after a signal, which takes them two seconds */
    SAID_BYTES = 65536 /* of messages of a process that are kept */
};

struct runs {
    struct batch *batch;
    char program[PATH_MAX];
    int running;
    size_t ended; /* studies that are no longer planned or running */
    bool failed, told;
};

/* ---- messages ---------------------------------------------------------------------------------- */

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

/* Returns the length of a message without the code behind it, which a line ends with: " [output-exists]". */
static size_t message_length(const char *message)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    const char *code = strrchr(message, '[');
    const bool found = code && code > message && code[-1] == ' ' && !strcmp(code + 1 + strspn(code + 1, letters), "]");
    return found ? (size_t)(code - 1 - message) : strlen(message);
}

/* Counts the warnings among the lines of a process and finds its first error. A record's line begins with a place, or
 * the program's name, and the severity; the lines that belong to it begin with blanks. */
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

/* ---- the end of a study ------------------------------------------------------------------------ */

static void end_study(struct runs *runs, struct batch_study *study)
{
    runs->ended++;
    runs->failed |= study->state == STUDY_FAILED;
    print_state(runs, study);
}

static void fail(struct runs *runs, struct batch_study *study, enum ts_status status, struct ts_diag *diag)
{
    ts_batch_refuse_take(runs->batch, study, STUDY_FAILED, status, diag);
    end_study(runs, study);
}

/* The result is read back, as anybody who is given it would. */
static enum ts_status verify(struct batch_study *study, struct ts_diag *diag)
{
    struct hdf5_proof proof;
    const enum ts_status status = ts_hdf5_verify(study->output, &proof, diag);
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
    ts_output_unlock(runs->batch->folder, study->name, study->lock);
    study->state = status == TS_OK ? STUDY_DONE : code > 128 && runs->batch->stopped() ? STUDY_STOPPED : STUDY_FAILED;
    if (status != TS_OK && !study->message && study->state == STUDY_FAILED) {
        if (diag && ts_diag_error_count(diag) == 0)
            ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "batch-run-ended"},
                          "the run was ended by %s %d", WIFSIGNALED(ended) ? "signal" : "exit code",
                          WIFSIGNALED(ended) ? WTERMSIG(ended) : code);
        fail(runs, study, status, diag);
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

/* ---- the start of a study ---------------------------------------------------------------------- */

/* Starts `tomostage run` with the study's part of everything. Returns 0 or an errno. */
static int start_process(struct runs *runs, struct batch_study *study)
{
    const struct batch *batch = runs->batch;
    char threads[16], memory[24], gpu_memory[24];
    const char *first[] = {
        "tomostage",    "run",       batch->chain, "-i",       study->input, "-o",       study->output,
        "--quiet",      "--threads", threads,      "--memory", memory,       "--device", batch->options.device,
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
    const int error = ts_process_start(runs->program, arguments, study->errors, study->lock, &study->pid);
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
        status = ts_batch_examine(runs->batch, study, diag);
    } else {
        const int error = start_process(runs, study);
        if (error)
            status = ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "batch-run-ended"},
                                   "%s: cannot be started: %s", runs->program, ts_errno_text(error));
        else
            study->state = STUDY_RUNNING;
    }
    runs->running += study->state == STUDY_RUNNING;
    if (study->state == STUDY_RUNNING && runs->batch->json)
        ts_batch_print_study(runs->batch, study, runs->ended);
    if (study->state != STUDY_RUNNING)
        ts_output_unlock(runs->batch->folder, study->name, study->lock);
    if (status != TS_OK) {
        fail(runs, study, status, diag);
        return;
    }
    ts_diag_destroy(diag);
    if (study->state == STUDY_FOUND)
        end_study(runs, study);
}

static void start(struct runs *runs, struct batch_study *study)
{
    struct ts_diag *diag = ts_diag_create();
    if (!diag) {
        fail(runs, study, TS_RUN_FAILED, NULL);
        return;
    }
    const enum ts_status status = ts_output_lock(runs->batch->folder, study->name, &study->lock, diag);
    if (status != TS_OK) {
        fail(runs, study, status, diag);
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
    for (size_t i = 0; i < batch->studies.n && runs->running < batch->jobs && !batch->stopped(); i++)
        if (batch->studies.items[i].state == STUDY_PLANNED && (!runs->failed || batch->keep_going))
            start(runs, &batch->studies.items[i]);
}

/* ---- the whole --------------------------------------------------------------------------------- */

/* Passes the signal on to all runs, once. A terminal sends it to them too, which changes nothing. */
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
    if (!ts_process_find(runs.program)) /* starting this one then fails, and says why */
        snprintf(runs.program, sizeof runs.program, "/proc/self/exe");
    for (;;) {
        reap_all(&runs);
        start_all(&runs);
        if (batch->stopped())
            stop_all(&runs);
        const bool waits =
            ts_batch_count(batch, STUDY_PLANNED) > 0 && !batch->stopped() && (!runs.failed || batch->keep_going);
        if (runs.running == 0 && !waits)
            return;
        nanosleep(&step, NULL);
    }
}
