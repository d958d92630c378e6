/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage batch`: runs one chain over many studies, each in a process of its own, and writes a
 * table of how it went.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/file_bytes.h"
#include "io/file/file_commit.h"
#include "io/sink/sink.h"
#include "pipeline/fleet/ranks/ranks.h"
#include "program/batch/batch.h"
#include "program/batch/fit.h"
#include "program/cli/cli.h"
#include "program/cli/cli_signals.h"
#include "program/cli/rates_path.h"

static struct batch batch = {
    .settle = 10, .jobs = 1, .shard = 1, .shards = 1, .stopped = ts_cli_signals_came};

static bool parse_shard(const struct command *command, const struct command_option *option,
                        const char *value)
{
    enum { MOST = 1000000 };
    char first[16];
    const char *slash = strchr(value, '/');
    int64_t shard, shards;
    snprintf(first, sizeof first, "%.*s", slash ? (int)(slash - value) : 0, value);
    if (!slash || !ts_command_parse_integer(first, 1, MOST, &shard) ||
        !ts_command_parse_integer(slash + 1, 1, MOST, &shards) || shard > shards) {
        ts_command_wrong(command, "'--%s %s' is no part such as 1/4", option->name, value);
        return false;
    }
    batch.shard = (int)shard;
    batch.shards = (int)shards;
    return true;
}

static const struct command_option options[] = {
    {"output", 'o', OPTION_TEXT, OPTION_AT(struct batch, folder), "FOLDER",
     "where the results and the table go"},
    {"jobs", 0, OPTION_INTEGER, OPTION_AT(struct batch, jobs), "N",
     "studies that run at once; default: 1", 1, 1024},
    {"resume", 0, OPTION_FLAG, OPTION_AT(struct batch, resume), NULL,
     "verify results that exist, and run the other studies"},
    {"keep-going", 0, OPTION_FLAG, OPTION_AT(struct batch, keep_going), NULL,
     "run the others where a study is refused or fails"},
    {"fit", 0, OPTION_FLAG, OPTION_AT(struct batch, fit), NULL,
     "first find the landmarks of the stage nyul in all studies, and write them to\nits "
     "landmarks_file"},
    {"force", 0, OPTION_FLAG, OPTION_AT(struct batch, force), NULL,
     "with --fit: replace the landmarks of an older fit"},
    {"shard", 0, OPTION_PARSED, 0, 0, "I/N", "run study I of the list, and every N-th after it",
     .parse = parse_shard},
    {"watch", 0, OPTION_TEXT, OPTION_AT(struct batch, watch), "FOLDER",
     "run the studies that arrive in this folder, until a signal comes"},
    {"settle", 0, OPTION_INTEGER, OPTION_AT(struct batch, settle), "SECONDS",
     "a study of --watch is complete when nothing of it has changed for so\nlong; default: 10", 0,
     86400},
    {"set", 0, OPTION_PARSED, 0, 0, "NAME=VALUE",
     "one parameter, for all studies; may be given several times", .parse = ts_cli_parse_set},
    {"device", 0, OPTION_PARSED, 0, 0, "DEVICE",
     "auto (default), cpu, cuda, cuda:N, cuda:N,M or cuda:all", .parse = ts_cli_parse_device},
    {"threads", 0, OPTION_INTEGER, OPTION_AT(struct batch, options.threads), "N",
     "threads of all jobs together; default: one per core", 1, 4096},
    {"memory", 0, OPTION_BYTES, OPTION_AT(struct batch, options.memory_bytes), "SIZE",
     "memory of all jobs together; default: 60 % of what is free"},
    {"gpu-memory", 0, OPTION_BYTES, OPTION_AT(struct batch, options.gpu_memory_bytes), "SIZE",
     "GPU memory of all jobs together; default: 80 % of what the device has"},
    {"quiet", 0, OPTION_FLAG, OPTION_AT(struct batch, quiet), NULL, "print nothing but messages"},
    {"json", 0, OPTION_FLAG, OPTION_AT(struct batch, json), NULL,
     "what happens as JSON objects, one a line"}};

static enum ts_status load(const struct batch_study *study, struct ts_chain **chain,
                           struct ts_diag *diag)
{
    ts_cli_chain.input = study->input;
    ts_cli_chain.output = study->output;
    ts_cli_chain.n_sets = batch.n_sets;
    if (batch.n_sets + study->n_sets > CLI_MAX_SETS)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "batch-list"},
                             "more than %d parameters for one study", CLI_MAX_SETS);
    for (int i = 0; i < study->n_sets; i++)
        ts_cli_chain.sets[ts_cli_chain.n_sets++] = study->sets[i];
    enum ts_status status = ts_cli_chain_load(batch.chain, chain, diag);
    for (int i = 0; status == TS_OK && i < batch.n_outputs; i++) {
        char set[4096 + 32];
        ts_batch_output_set(&batch, study, i, set, sizeof set);
        status = ts_chain_set(*chain, set, diag);
    }
    if (status == TS_OK && batch.trying)
        ts_fit_assume(*chain);
    return status;
}

/* Remembers the chain's outputs beside HDF5: each study gets them under its own name. */
static void take_outputs(const struct ts_chain *chain)
{
    for (int32_t i = 0; i < chain->output.n_sinks && batch.n_outputs < BATCH_OUTPUTS; i++) {
        const struct chain_sink *sink = &chain->output.sinks[i];
        const bool is_file = ts_sink_is_file(sink->format, sink->path);
        const char *suffix = is_file ? sink->path + ts_sink_stem(sink->format, sink->path) : "";
        batch.outputs[batch.n_outputs++] = (struct batch_output){
            sink->format->name, ts_arena_text(batch.studies.arena, suffix, strlen(suffix))};
    }
}

/* Reports an error of the chain itself once, not for every study. */
static enum ts_status check_chain(struct ts_diag *diag)
{
    struct ts_chain *chain = NULL;
    const enum ts_status status = ts_cli_chain_load(batch.chain, &chain, diag);
    if (status == TS_OK)
        take_outputs(chain);
    ts_chain_destroy(chain);
    return status;
}

/* Refuses a folder with an older table, unless --resume continues it. */
static enum ts_status check_folder(struct ts_diag *diag)
{
    struct stat found;
    char path[4096];
    ts_batch_table_path(&batch, "tsv", path, sizeof path);
    if (batch.resume || lstat(path, &found) != 0)
        return TS_OK;
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-exists"},
                  "'%s' already exists", path);
    return ts_diag_hint(
        diag, "choose another folder; --resume verifies its results and goes on with the others");
}

static enum ts_status make_folder(struct ts_diag *diag)
{
    char parent[4096];
    if (mkdir(batch.folder, 0777) == 0) {
        snprintf(parent, sizeof parent, "%s/..", batch.folder);
        ts_file_sync_folder(parent, batch.folder, diag);
        return TS_OK;
    }
    if (errno == EEXIST)
        return TS_OK;
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "folder-not-usable"},
                         "'%s' cannot be made: %s", batch.folder, ts_errno_text(errno));
}

static enum ts_status cli_batch_prepare(char **operands, struct ts_diag *diag)
{
    enum ts_status status = check_chain(diag);
    for (; *operands && status == TS_OK; operands++)
        status = ts_studies_add(&batch.studies, *operands, diag);
    if (status == TS_OK && batch.studies.n == 0 && !batch.watch)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "command-line"},
                             "a STUDY is missing: `tomostage batch CHAIN STUDY... -o FOLDER`");
    if (status == TS_OK)
        status = ts_studies_name(&batch.studies, batch.folder, diag);
    return status;
}

static void print_summary(void)
{
    char path[4096];
    ts_batch_table_path(&batch, "tsv", path, sizeof path);
    if (batch.json)
        ts_batch_print_finished(&batch, path);
    if (batch.json || batch.quiet)
        return;
    ts_text_print(stdout, "wrote ", path);
    printf(": %zu stud%s", batch.studies.n, batch.studies.n == 1 ? "y" : "ies");
    for (int state = STUDY_PLANNED; state <= STUDY_STOPPED; state++)
        if (ts_batch_count(&batch, state) > 0)
            printf(", %zu %s", ts_batch_count(&batch, state), ts_batch_state_name(state));
    putchar('\n');
}

static void print_refused(void)
{
    fprintf(stderr, "tomostage: %zu of %zu studies are refused; nothing was run\n",
            ts_batch_count(&batch, STUDY_REFUSED), batch.studies.n);
    for (size_t i = 0; batch.json && i < batch.studies.n; i++)
        ts_batch_print_study(&batch, &batch.studies.items[i], 0);
    if (batch.json)
        ts_batch_print_finished(&batch, NULL);
}

/* ---- the fit --------------------------------------------------------------------------------- */

/* Returns true if the chain takes the assignment. */
static bool takes(struct ts_chain *chain, const char *set)
{
    struct ts_diag *unread = ts_diag_create();
    const bool good = unread && ts_chain_set(chain, set, unread) == TS_OK;
    ts_diag_destroy(unread);
    return good;
}

/* Copies the studies for the first batch. Its chain does not have all stages, so that it cannot
   take what a study sets of the others; what the whole chain does not take either stays and is
   refused. */
static enum ts_status copy_studies(struct ts_chain *whole, struct ts_chain *part,
                                   struct studies *studies, struct ts_diag *diag)
{
    for (size_t i = 0; i < studies->n; i++) {
        struct batch_study *study = &studies->items[i];
        const char **sets =
            ts_arena_alloc(studies->arena, (size_t)(study->n_sets + 1) * sizeof *sets);
        int n = 0;
        if (!sets)
            return ts_diag_no_memory(diag, (size_t)study->n_sets * sizeof *sets);
        for (int k = 0; k < study->n_sets; k++) {
            if (!strncmp(study->sets[k], "nyul.landmarks", strlen("nyul.landmarks")))
                return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "fit-chain"},
                                     "--fit: a study cannot have landmarks of its own: %s",
                                     study->sets[k]);
            if (takes(part, study->sets[k]) || !takes(whole, study->sets[k]))
                sets[n++] = study->sets[k];
        }
        study->sets = sets;
        study->n_sets = n;
    }
    return ts_studies_name(studies, batch.folder, diag);
}

/* Plans and runs the first batch, and writes the landmarks. */
static enum ts_status run_fit(const struct fit *fit, struct ts_diag *diag)
{
    if (!ts_batch_plan(&batch)) {
        print_refused();
        return ts_batch_status(&batch);
    }
    if (!batch.quiet)
        printf("fitting %s: the percentiles of %zu stud%s go to %s\n", fit->path, batch.studies.n,
               batch.studies.n == 1 ? "y" : "ies", batch.folder);
    fflush(stdout);
    ts_cli_signals_remember();
    ts_batch_run(&batch);
    const enum ts_status status = ts_batch_status(&batch);
    return status == TS_OK ? ts_fit_write(fit, &batch, batch.force, diag) : status;
}

/* Makes the first batch of the batch, and the batch again at the end. */
static enum ts_status fit_studies(const struct fit *fit, struct ts_chain *whole,
                                  struct ts_diag *diag)
{
    const struct batch kept = batch;
    const struct cli_chain arguments = ts_cli_chain; /* whose places studies take */
    struct ts_chain *part = NULL;
    ts_cli_chain.input = ts_cli_chain.output = NULL;
    ts_cli_chain.n_sets = 0;
    batch.fitting = true;
    batch.chain = fit->chain;
    batch.n_sets = batch.n_outputs = 0;
    batch.quiet |= batch.json;
    batch.json = batch.keep_going = false;
    batch.folder = ts_arena_printf(kept.studies.arena, "%s/fit", kept.folder);
    batch.studies.items = ts_arena_copy(kept.studies.arena, kept.studies.items, kept.studies.n,
                                        sizeof *kept.studies.items);
    enum ts_status status = batch.folder && batch.studies.items
                                ? ts_cli_chain_load(batch.chain, &part, diag)
                                : ts_diag_no_memory(diag, sizeof batch);
    if (status == TS_OK)
        status = make_folder(diag);
    if (status == TS_OK)
        status = copy_studies(whole, part, &batch.studies, diag);
    if (status == TS_OK)
        status = run_fit(fit, diag);
    ts_chain_destroy(part);
    if (status == TS_OK && !batch.quiet)
        printf("wrote %s: the standard scale of %zu stud%s\n", fit->path, batch.studies.n,
               batch.studies.n == 1 ? "y" : "ies");
    fflush(stdout);
    batch = kept;
    ts_cli_chain = arguments;
    return status;
}

/* Plans the studies before the fit, which takes long, and refuses results that are in the way. */
static enum ts_status try_studies(struct ts_diag *diag)
{
    struct stat found;
    const struct batch kept = batch;
    enum ts_status status = TS_OK;
    batch.trying = true;
    batch.studies.n = 0;
    batch.studies.items = ts_arena_copy(kept.studies.arena, kept.studies.items, kept.studies.n,
                                        sizeof *kept.studies.items);
    if (!batch.studies.items)
        status = ts_diag_no_memory(diag, kept.studies.n * sizeof *kept.studies.items);
    for (size_t i = 0; status == TS_OK && i < kept.studies.n; i++)
        if (!kept.resume || lstat(kept.studies.items[i].output, &found) != 0)
            batch.studies.items[batch.studies.n++] = kept.studies.items[i];
    if (status == TS_OK && !ts_batch_plan(&batch)) {
        print_refused();
        status = ts_batch_status(&batch);
    }
    batch = kept;
    return status;
}

static enum ts_status begin_fit(struct ts_diag *diag)
{
    struct ts_chain *whole = NULL;
    struct fit fit;
    enum ts_status status = ts_cli_chain_load(batch.chain, &whole, diag);
    if (status == TS_OK)
        status = ts_fit_prepare(whole, batch.studies.arena, &fit, diag);
    if (status == TS_OK)
        status = check_folder(diag);
    if (status == TS_OK)
        status = try_studies(diag);
    if (status == TS_OK)
        status = make_folder(diag);
    if (status == TS_OK)
        status = ts_fit_check_file(&fit, batch.resume, batch.force, diag);
    if (status == TS_OK)
        status = fit_studies(&fit, whole, diag);
    ts_chain_destroy(whole);
    return status;
}

/* Returns the exit code; after a signal, the handlers of main have it. */
static enum ts_status run_studies(struct ts_diag *diag)
{
    const enum ts_status fitted = batch.fit ? begin_fit(diag) : TS_OK;
    if (fitted != TS_OK)
        return fitted;
    ts_batch_take_shard(&batch);
    if (!ts_batch_plan(&batch) && !batch.keep_going) {
        print_refused();
        return ts_batch_status(&batch);
    }
    enum ts_status status = check_folder(diag);
    if (status == TS_OK)
        status = make_folder(diag);
    if (status != TS_OK)
        return status;
    ts_cli_signals_remember();
    if (batch.json)
        ts_batch_print_started(&batch);
    ts_batch_run(&batch);
    status = ts_batch_write_tables(&batch, diag);
    if (status == TS_OK)
        print_summary();
    return status == TS_OK ? ts_batch_status(&batch) : status;
}

static int cli_batch_run(char **operands)
{
    if (!batch.folder)
        return ts_command_wrong(&ts_cli_batch, "-o FOLDER is missing");
    if (batch.fit && (batch.watch || batch.shards > 1))
        return ts_command_wrong(&ts_cli_batch, "--fit needs all studies at once, and goes without "
                                               "--watch and --shard");
    if (batch.force && !batch.fit)
        return ts_command_wrong(&ts_cli_batch, "--force belongs to --fit");
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    batch.chain = operands[0];
    batch.load = load;
    batch.sets = ts_cli_chain.sets;
    batch.n_sets = ts_cli_chain.n_sets;
    batch.terminal = !batch.quiet && !batch.json && isatty(STDERR_FILENO);
    batch.options.size = sizeof batch.options;
    batch.options.device = ts_cli_chain.options.device;
    batch.options.rates = ts_rates_path_found();
    batch.studies.arena = ts_arena_create();
    enum ts_status status = ts_ranks_refuse_several("batch", diag);
    if (status == TS_OK)
        status = batch.studies.arena ? cli_batch_prepare(operands + 1, diag)
                                     : ts_diag_no_memory(diag, sizeof batch);
    if (status == TS_OK)
        status = run_studies(diag);
    const bool judged = status != TS_OK && ts_diag_error_count(diag) ==
                                               0; /* the messages of each study were printed */
    ts_command_flush();
    const int code = ts_command_finish_take(diag, judged ? TS_OK : status, batch.json);
    free(batch.studies.items);
    ts_arena_destroy(batch.studies.arena);
    if (ts_cli_signals_came())
        return ts_cli_signals_stopped();
    return judged ? (int)status : code;
}

const struct command ts_cli_batch = {
    .name = "batch",
    .usage = "CHAIN [STUDY...] -o FOLDER [options]",
    .summary = "run a chain over many studies, each to a result, with a table of all",
    .help =
        "A STUDY is a folder or a file; a pattern such as 'studies/*'; a file .txt with a path "
        "in each line; or a\n"
        "file .tsv whose first row names columns: input, perhaps output (the result's name), "
        "and parameters such\n"
        "as box.radius. All studies are planned before the first runs, and all that is wrong "
        "is reported.\n"
        "FOLDER gets NAME.h5 for each study, named after it, the chain's other outputs beside it, "
        "and batch.tsv and\nbatch.html with a picture and a report of each. Names of folders may\n"
        "be names of patients: the column output names the results otherwise.\n"
        "Exit code 0: all are done; 1: a run failed; 2: the chain is wrong; 3: an input is "
        "wrong.\n",
    COMMAND_ARGUMENTS(options, batch),
    .operands = {1, INT_MAX, "a CHAIN"},
    .run = cli_batch_run,
    .stopped = "; results that are there are whole, and --resume goes on",
};
