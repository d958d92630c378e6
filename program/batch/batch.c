/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans the studies of a batch, recognizes results that are there already, and runs what is left.
 *
 * One loop starts processes, waits for them, and looks for signals, many times a second: none of the three ends the
 * waiting for the others. What a process says is kept in a file without a name and printed when it has ended, so that
 * the messages of several do not mix. The lock of an output is taken before its process starts; an output that has
 * appeared in the meantime is another batch's, and is verified.
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

#include "core/timing.h"
#include "io/file/file_bytes.h"
#include "io/hdf5/hdf5_verify.h"
#include "pipeline/chain/chain_build.h"
#include "pipeline/plan/plan_sweep.h"
#include "program/batch/process.h"
#include "program/record/inputs.h"
#include "program/record/same_params.h"

/* ---- locks of outputs ---------------------------------------------------------------------------- */

/* Whoever unlocks removes the file first. A process that had opened it before then locks a file without a name, which
 * excludes nobody: that is found by the number of its links, and it tries again. */

enum { OUTPUT_LOCK_BUSY = -1 };

static void lock_path(char path[PATH_MAX], const char *folder, const char *name)
{
    snprintf(path, PATH_MAX, "%s/.%s.lock", folder, name);
}

/* Tries to lock the output `name` in the folder, without waiting. *lock is the descriptor, or OUTPUT_LOCK_BUSY where
 * another process has it. Returns TS_RUN_FAILED (batch-lock) where the folder takes no locks. */
static enum ts_status lock_output(const char *folder, const char *name, int *lock, struct ts_diag *diag)
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
                       : ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "batch-lock"},
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

/* ---- results that are there already -------------------------------------------------------------- */

/* A result holds its chain with every parameter resolved. The plan's parameters are resolved as well, as far as headers
 * tell, so that the two are compared value by value, as the texts that both would be written as. */

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* Returns true where the two chains, as they are written, have the same sources and stages and sweep over as many
 * values of the same parameter, whatever their parameters are. */
static bool same_form(const struct ts_chain *a, const struct ts_chain *b)
{
    bool same = a->version == b->version && a->n_sources == b->n_sources && a->n_stages == b->n_stages &&
                a->sweep.n == b->sweep.n &&
                (a->sweep.n == 0 || (a->sweep.stage == b->sweep.stage && a->sweep.param == b->sweep.param));
    for (int32_t i = 0; same && i < a->n_sources; i++)
        same = a->sources[i].format == b->sources[i].format && same_text(a->sources[i].name, b->sources[i].name);
    for (int32_t i = 0; same && i < a->n_stages; i++)
        same = a->stages[i].stage == b->stages[i].stage && a->stages[i].input_node == b->stages[i].input_node &&
               same_text(a->stages[i].name, b->stages[i].name);
    return same;
}

/* Compares chains of the same form, `recorded` with a stage for each value of a sweep as the plan has them. */
static bool same_values(const struct ts_plan *plan, const struct ts_chain *recorded,
                        struct param_difference *difference)
{
    struct ts_chain outputs[2] = {*plan->chain, *recorded};
    const struct param_set sets[2] = {ts_chain_output_set(&outputs[0]), ts_chain_output_set(&outputs[1])};
    bool same = true;
    for (int32_t i = 0; same && i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        const bool known = node->input_axes_pass == 0 && node->set.resolved;
        same = i < plan->n_sources ? ts_same_params(&node->set, &recorded->sources[i].set,
                                                    ts_chain_path_param(recorded->sources[i].format), true, difference)
                                   : ts_same_stage_params(&node->set, recorded, i - plan->n_sources, known, difference);
    }
    return same && ts_same_params(&sets[0], &sets[1], -1, true, difference);
}

static enum ts_status refuse_chain(const char *path, const struct param_difference *difference, struct ts_diag *diag)
{
    if (difference->no_memory)
        return ts_diag_no_memory(diag, sizeof *difference);
    if (difference->name)
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "batch-other-chain"},
                      "%s exists, and was made by another chain: %s.%s is %s there, not %s", path, difference->owner,
                      difference->name, difference->recorded, difference->planned);
    else
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "batch-other-chain"},
                      "%s exists, and was made by a chain of other inputs or stages", path);
    return ts_diag_hint(diag, "remove it, or write to another folder");
}

static enum ts_status check_chain(const char *path, const struct ts_plan *plan, const struct recorded *recorded,
                                  struct ts_diag *diag)
{
    struct ts_plan old = {.arena = recorded->arena};
    struct param_difference difference = {0};
    if (!same_form(plan->given, recorded->chain))
        return refuse_chain(path, &difference, diag);
    enum ts_status status = ts_plan_expand(&old, recorded->chain, diag);
    if (status == TS_OK && !same_values(plan, old.chain, &difference))
        status = refuse_chain(path, &difference, diag);
    ts_param_difference_clear(&difference);
    return status;
}

/* Gives the recorded chain the paths of the plan's, which it borrows. */
static void borrow_paths(struct ts_chain *recorded, const struct ts_chain *chain)
{
    for (int32_t i = 0; i < recorded->n_sources; i++) {
        const struct param_set *set = &recorded->sources[i].set;
        const size_t path = (size_t)ts_chain_path_param(recorded->sources[i].format);
        memcpy(ts_param_field(set, path), ts_param_field(&chain->sources[i].set, path),
               ts_param_bytes(set->params[path].kind));
    }
}

/* Checks the result at `path` against the plan, whose chain was searched (ts_chain_search), and writes the result's
 * digest. Parameters that a plan cannot know before the run, such as a center that a stage will find, follow from the
 * others and are not compared. Returns TS_OK; TS_RUN_FAILED (batch-other-chain) where a parameter is another,
 * TS_BAD_INPUT where the file is damaged, is no result, or was made from other images (inputs-differ). */
static enum ts_status check_finished(const char *path, const struct ts_plan *plan, char digest[DIGEST_TEXT_BYTES],
                                     struct ts_diag *diag)
{
    struct inputs_found found[CHAIN_MAX_SOURCES];
    struct recorded recorded = {0};
    struct hdf5_proof proof;
    enum ts_status status = ts_hdf5_verify(path, &proof, diag);
    if (status == TS_OK)
        status = ts_recorded_open(path, NULL, 0, &recorded, diag);
    if (status == TS_OK)
        status = check_chain(path, plan, &recorded, diag);
    if (status == TS_OK) {
        borrow_paths(recorded.chain, plan->chain);
        status = ts_inputs_check(&recorded, found, diag);
    }
    if (status == TS_OK)
        memcpy(digest, proof.digest, DIGEST_TEXT_BYTES);
    ts_recorded_close(&recorded);
    return status;
}

/* ---- the plans of studies ------------------------------------------------------------------------ */

/* Studies are planned one after the other in this process, as `check` does it: headers are read, pixels only of a
 * result that is to be recognized. Each study has a list of messages of its own, so that none crowds out another's. */

void ts_batch_take_shard(struct batch *batch)
{
    size_t n = 0;
    for (size_t i = 0; i < batch->studies.n; i++)
        if (i % (size_t)batch->shards == (size_t)batch->shard - 1)
            batch->studies.items[n++] = batch->studies.items[i];
    batch->studies.n = n;
}

/* Divides among the jobs what the first plan would take, and the first one on a device of the device's memory. Returns
 * true where the plan has less now than it was made with. */
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

static enum ts_status create_plan(struct batch *batch, const struct ts_chain *chain, struct ts_plan **plan,
                                  struct ts_diag *diag)
{
    enum ts_status status = ts_plan_create(chain, &batch->options, plan, diag);
    if (status == TS_OK && share(batch, *plan)) {
        ts_plan_destroy(*plan);
        *plan = NULL;
        status = ts_plan_create(chain, &batch->options, plan, diag);
    }
    return status;
}

/* Plans one study, which needs its lock where others may write its output. Where the output exists it is verified, and
 * the state becomes STUDY_FOUND. */
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
        status = check_finished(study->output, plan, study->digest, diag);
    if (status == TS_OK && exists)
        study->state = STUDY_FOUND;
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    return status;
}

/* Records why a study was refused or failed, prints it, and destroys the diag. NULL: there was no memory for one. */
static void refuse_take(struct batch *batch, struct batch_study *study, enum study_state state, enum ts_status status,
                        struct ts_diag *diag)
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

static enum ts_status plan_study(struct batch *batch, struct batch_study *study, struct ts_diag *diag)
{
    struct stat found;
    if (batch->resume || lstat(study->output, &found) != 0)
        return examine(batch, study, diag);
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-exists"}, "'%s' already exists",
                  study->output);
    return ts_diag_hint(diag, "--resume verifies results that are there and goes on with the others");
}

bool ts_batch_plan(struct batch *batch)
{
    bool clean = true;
    for (size_t i = 0; i < batch->studies.n; i++) {
        struct ts_diag *diag = ts_diag_create();
        const enum ts_status status = diag ? plan_study(batch, &batch->studies.items[i], diag) : TS_RUN_FAILED;
        if (status == TS_OK) {
            ts_diag_destroy(diag); /* its warnings come again from the run */
            continue;
        }
        refuse_take(batch, &batch->studies.items[i], STUDY_REFUSED, status, diag);
        clean = false;
    }
    return clean;
}

/* ---- the runs of studies ------------------------------------------------------------------------- */

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
    refuse_take(runs->batch, study, STUDY_FAILED, status, diag);
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
    unlock_output(runs->batch->folder, study->name, study->lock);
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
        status = examine(runs->batch, study, diag);
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
        unlock_output(runs->batch->folder, study->name, study->lock);
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
    const enum ts_status status = lock_output(runs->batch->folder, study->name, &study->lock, diag);
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

/* ---- the batch ----------------------------------------------------------------------------------- */

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
