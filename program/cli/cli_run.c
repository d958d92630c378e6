/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage run`: runs a chain, shows how far it is (program/cli/cli_progress.h), and prints what
 * was written and how long each stage took.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/timing.h"
#include "cuda/device/device.h"
#include "pipeline/fleet/ranks/ranks.h"
#include "pipeline/plan/plan_reuse.h"
#include "program/cli/cli.h"
#include "program/cli/cli_progress.h"
#include "program/cli/cli_signals.h"
#include "program/cli/rates_path.h"
#include "program/record/resume.h"
#include "program/report/tables.h"

/* Prints the time of each input and stage, and of each image that is read instead of computed. */
static void print_times(const struct ts_plan *plan)
{
    for (int32_t i = 0; i < plan->n_nodes; i++)
        if (!plan->nodes[i].reused || plan->nodes[i].reused->saved)
            printf("%s%s %.2f s", i > 0 ? ", " : "times: ", plan->nodes[i].label,
                   plan->state->seconds[i]);
    putchar('\n');
}

static void print_summary(const struct cli_progress *progress)
{
    const struct chain_output *output = &progress->plan->chain->output;
    char device[512];
    ts_command_print_written(progress->output);
    ts_plan_device_text(progress->plan, device, sizeof device);
    printf(" in %.2f s on %s\n", progress->seconds, device);
    for (int32_t i = output->path ? 0 : 1; i < output->n_sinks; i++) {
        ts_command_print_written(output->sinks[i].path);
        putchar('\n');
    }
    print_times(progress->plan);
}

/* Accepts --picture only to say that it belongs to `check`. */
static bool refuse_picture(const struct command *command, const struct command_option *option,
                           const char *value)
{
    (void)value;
    ts_command_wrong(command, "'--%s' is an option of `tomostage check`", option->name);
    return false;
}

/* Returns the seconds of a time in Slurm's form, [DAYS-]HOURS:MINUTES:SECONDS; 0 if it has another
   form. */
static double clock_seconds(const char *value)
{
    enum { DAYS, HOURS, MINUTES, SECONDS };
    double total = 0;
    for (int unit = strchr(value, '-') ? DAYS : HOURS; unit <= SECONDS; unit++) {
        const size_t digits = strspn(value, "0123456789");
        char past = ':';
        if (unit == SECONDS)
            past = '\0';
        else if (unit == DAYS)
            past = '-';
        if (digits == 0 || digits > 4 || value[digits] != past)
            return 0;
        total = total * (unit == HOURS ? 24 : 60) + atof(value);
        value += digits + 1;
    }
    return total;
}

static bool parse_time_limit(const struct command *command, const struct command_option *option,
                             const char *value)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    const size_t digits = strspn(value, "0123456789");
    ts_cli_chain.options.time_limit_s = clock_seconds(value);
    for (size_t i = 0; digits > 0 && digits < 10 && i < sizeof units / sizeof *units; i++)
        if (!strcmp(value + digits, units[i].name))
            ts_cli_chain.options.time_limit_s = units[i].seconds * atof(value);
    if (ts_cli_chain.options.time_limit_s > 0)
        return true;
    ts_command_wrong(command,
                     "'--%s %s' is not a time such as 90m, 2h, 1d, 4:00:00 or 3600 (seconds)",
                     option->name, value);
    return false;
}

static const struct command_option options[] = {
    CLI_CHAIN_OPTIONS,
    {"resume", 0, OPTION_FLAG, OPTION_AT(struct cli_chain, options.resume), NULL,
     "go on from the checkpoint of a run that was stopped, where there is one; the\n"
     "output is the same as without a stop"},
    {"time-limit", 0, OPTION_PARSED, 0, 0, "TIME",
     "stop with exit code 75 at a checkpoint before this time has passed: 90m, 2h,\n4:00:00",
     .parse = parse_time_limit},
    {"resume-from", 0, OPTION_TEXT, OPTION_AT(struct cli_chain, resume_from), "FILE.h5",
     "start from the images that this result of the same inputs holds, where the\n"
     "chain has not changed before them; the output is the same as without"},
    {"table", 0, OPTION_TEXT, OPTION_AT(struct cli_chain, table), "STAGE",
     "print the numbers that a stage leaves, by its name, as tab-separated values"},
    {"profile", 0, OPTION_TEXT, OPTION_AT(struct cli_chain, options.profile), "NAME",
     "show what each part of the run did and when: a table, NAME.svg with\n"
     "a lane for each part, and NAME.json for Perfetto; --force replaces them"},
    {"every", 0, OPTION_INTEGER, OPTION_AT(struct cli_chain, every), "SECONDS",
     "how often to print a line of progress where standard error is no terminal;\ndefault: 30, and "
     "0 prints every step",
     0, 86400},
    {"view", 0, OPTION_FLAG, OPTION_AT(struct cli_chain, view), NULL,
     "show the slices as they are computed, and then the result"},
    {"picture", 0, OPTION_PARSED, .parse = refuse_picture}};

/* Returns true if the program could read the chain again, as it must if it starts again after a
 * crash of the driver. A regular file can be read again, a pipe cannot. If there is no file of
 * this name, the chain is in the arguments. */
static bool can_read_again(const struct ts_chain *chain)
{
    struct stat status;
    return stat(chain->source_name, &status) != 0 || S_ISREG(status.st_mode);
}

/* A rank can neither start again, since MPI already runs, nor ask the driver in a separate process.
   If the driver crashes, the rank ends, and the launcher ends the others. */
static void start_cuda(const struct ts_chain *chain)
{
    if (ts_ranks().begun)
        ts_cuda_start();
    else if (can_read_again(chain))
        ts_cli_signals_start_cuda();
}

/* What a run allocates on its way and frees at its end. */
struct running {
    struct ts_chain *chain;
    struct ts_plan *plan;
    struct cli_progress progress;
};

/* Only rank 0 shows progress, that of all ranks, and has a profile. */
static enum ts_status take_ranks(struct cli_chain *arguments, struct cli_progress *progress,
                                 struct ts_diag *diag)
{
    const enum ts_status status = ts_ranks_begin(diag);
    const struct ranks ranks = ts_ranks();
    arguments->options.on_event = ranks.number == 0 ? ts_cli_progress_event : NULL;
    arguments->options.user = progress;
    if (ranks.number > 0)
        arguments->options.profile = NULL;
    if (status == TS_OK)
        ts_ranks_warn_alone(diag);
    if (status != TS_OK || ranks.count == 1 || !arguments->resume_from)
        return status;
    return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "ranks-resume"},
                         "several ranks cannot start from an earlier result: run without "
                         "--resume-from, or one rank");
}

/* Subtracts from the time limit, which is one of the whole run, what the start of MPI and searches
   in the pixels took. If nothing is left, the run still completes one slab. */
static void spend_time_limit(struct ts_options *of_run, double began)
{
    const double least = 1e-3;
    if (of_run->time_limit_s <= 0)
        return;
    of_run->time_limit_s -= ts_seconds() - began;
    of_run->time_limit_s = of_run->time_limit_s > least ? of_run->time_limit_s : least;
}

/* Refuses --table for a stage that leaves no numbers, or without the output that holds them. */
static enum ts_status check_table(const struct ts_plan *plan, const char *table,
                                  struct ts_diag *diag)
{
    const char *names[CHAIN_MAX_STAGES];
    const struct diag_site site = {.code = "table-unknown", .stage = "--table"};
    char known[512];
    size_t n = 0;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct chain_stage *stage = plan->nodes[i].chain_stage;
        const bool reduces = stage->stage->reduction && stage->stage->reduction->tables;
        if (!reduces && !stage->stage->tables)
            continue;
        if (!strcmp(plan->nodes[i].label, table) || (stage->name && !strcmp(stage->name, table)))
            n = CHAIN_MAX_STAGES;
        if (n < CHAIN_MAX_STAGES)
            names[n++] = stage->name ? stage->name : plan->nodes[i].label;
    }
    if (n == CHAIN_MAX_STAGES && plan->chain->output.path)
        return TS_OK;
    if (n == CHAIN_MAX_STAGES) {
        ts_diag_error(diag, TS_BAD_CHAIN, &site, "only an HDF5 output holds the numbers of stages");
        return ts_diag_hint(diag, "-o FILE.h5, or hdf5: FILE.h5 beside the other outputs");
    }
    ts_diag_error(diag, TS_BAD_CHAIN, &site, "no stage of the chain leaves numbers as '%s'", table);
    ts_list_names(known, sizeof known, names, n);
    return ts_diag_hint(diag, n > 0 ? "known: %s" : "`statistics` and `histogram` leave some%s",
                        known);
}

/* Prints the numbers of a stage from the result that was written. */
static enum ts_status print_table(const char *path, const char *stage, struct ts_diag *diag)
{
    struct arena *arena = ts_arena_create();
    struct number_table *tables = NULL;
    const enum ts_status status = arena ? ts_tables_read(path, arena, &tables, diag)
                                        : ts_diag_no_memory(diag, sizeof *tables);
    if (status == TS_OK)
        ts_tables_write(ts_tables_of(tables, stage), TABLES_TSV, stdout);
    ts_arena_destroy(arena);
    return status;
}

static enum ts_status run_chain(const char *path, struct cli_chain *arguments, double began,
                                struct running *running, struct ts_diag *diag)
{
    enum ts_status status = ts_cli_chain_load(path, &running->chain, diag);
    if (status == TS_OK && ts_plan_may_use_cuda(running->chain, arguments->options.device))
        start_cuda(running->chain);
    if (status == TS_OK)
        status =
            ts_resume_search(running->chain, &arguments->options, arguments->resume_from, diag);
    spend_time_limit(&arguments->options, began);
    if (status == TS_OK)
        status = ts_plan_create(running->chain, &arguments->options, &running->plan, diag);
    if (status == TS_OK && arguments->table)
        status = check_table(running->plan, arguments->table, diag);
    if (status == TS_OK && arguments->resume_from)
        status = ts_plan_resume(running->plan, arguments->resume_from, diag);
    if (status == TS_OK) {
        running->progress.plan = running->plan;
        ts_cli_signals_plan(running->plan);
        status = ts_plan_run(running->plan, diag);
        ts_cli_signals_plan_ended(status == TS_OK);
    }
    return status;
}

/* Prints the messages of the run, which one rank does for all, and returns the exit code. */
static int finish_run_take(struct ts_diag *diag, enum ts_status status, bool json)
{
    ts_ranks_hand_notes(diag);
    if (status != TS_OK && status != TS_PAUSED && status != TS_STOPPED)
        ts_ranks_name_speaker(diag);
    if (!ts_ranks_speaks()) {
        ts_diag_destroy(diag);
        return (int)status;
    }
    const int code = ts_command_finish_take(diag, status, json);
    ts_command_flush(); /* the sentence about a signal is written without this buffer */
    return status == TS_STOPPED ? ts_cli_signals_stopped() : code;
}

/* Prints what was written, the time of each stage and the table that was asked for. */
static enum ts_status print_results(const struct cli_chain *arguments,
                                    const struct running *running, struct ts_diag *diag)
{
    if (!arguments->quiet && !arguments->json) {
        print_summary(&running->progress);
        ts_plan_print_profile(running->plan, stdout);
    }
    return arguments->table ? print_table(running->progress.output, arguments->table, diag) : TS_OK;
}

/* Refuses options that do not go together. Returns the exit code, or 0 if all do. */
static int refuse_options(const struct cli_chain *arguments)
{
    if (arguments->view && arguments->resume_from)
        return ts_command_wrong(&ts_cli_run, "'--resume-from' and '--view' do not go together");
    if (arguments->table && (arguments->view || arguments->json))
        return ts_command_wrong(&ts_cli_run, "'--table' and '--%s' do not go together",
                                arguments->json ? "json" : "view");
    return 0;
}

static int cli_run_run(char **operands)
{
    const double began = ts_seconds();
    struct cli_chain *arguments = &ts_cli_chain;
    const int refused = refuse_options(arguments);
    if (refused != 0)
        return refused;
    if (arguments->view)
        return ts_cli_show(operands[0], true);
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    struct running running = {.chain = NULL};
    ts_cli_signals_catch_pause(arguments->options.checkpoint || arguments->options.resume ||
                               arguments->options.time_limit_s > 0);
    ts_cli_progress_init(&running.progress, arguments->quiet, arguments->json, arguments->every);
    arguments->options.rates = ts_rates_path_found();
    enum ts_status status = take_ranks(arguments, &running.progress, diag);
    if (status == TS_OK)
        status = run_chain(operands[0], arguments, began, &running, diag);
    status = ts_ranks_agree(status);
    ts_cli_progress_clear(&running.progress);
    if (status == TS_OK && ts_ranks_speaks())
        status = print_results(arguments, &running, diag);
    ts_plan_destroy(running.plan);
    ts_chain_destroy(running.chain);
    if (status == TS_OK && ts_ranks_speaks())
        ts_command_written(running.progress.output);
    const int code = finish_run_take(diag, status, arguments->json);
    ts_command_flush();
    ts_cuda_await_start();
    return ts_ranks_end(code);
}

const struct command ts_cli_run = {
    .name = "run",
    .usage = "CHAIN [options]",
    .summary = "run a chain and write its result to an HDF5 file",
    .help = ts_cli_chain_help,
    COMMAND_ARGUMENTS(options, ts_cli_chain),
    .operands = {1, 1, "a CHAIN"},
    .run = cli_run_run,
    .stopped = "; nothing was written",
    .apart = "tomostage-view",
    .apart_for = "--view",
};
