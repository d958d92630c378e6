/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage run`: runs a chain and shows how far it is, on a terminal as one line that is drawn again and again, with
 * --json as one event a line.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json.h"
#include "core/timing.h"
#include "cuda/device/device.h"
#include "pipeline/cli/cli.h"
#include "pipeline/cli/cli_signals.h"
#include "pipeline/command/rates_path.h"
#include "pipeline/plan/plan.h"

struct progress {
    const struct ts_plan *plan;
    bool json, terminal, drawn;
    double last; /* seconds of the last line shown */
    char output[4096];
    double seconds;
};

static void print_event(const struct ts_plan *plan, const struct ts_event *event)
{
    static const char *const names[] = {"started", "progress", "finished"};
    struct json json;
    ts_json_init(&json, stdout, false);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "event", names[event->kind]);
    if (event->kind == TS_EVENT_STARTED) {
        ts_json_member_text(&json, "device", plan->device);
        if (plan->device_note)
            ts_json_member_text(&json, "device_note", plan->device_note);
        if (plan->device_times)
            ts_json_member_text(&json, "device_times", plan->device_times);
    }
    ts_json_member_integer(&json, "pass", event->pass);
    ts_json_member_integer(&json, "passes", event->n_passes);
    ts_json_member_integer(&json, "slices_done", event->slices_done);
    ts_json_member_integer(&json, "slices", event->n_slices);
    ts_json_member_real(&json, "seconds", event->seconds);
    ts_json_member_real(&json, "bytes_per_second", event->bytes_per_second);
    ts_json_member_real(&json, "seconds_left", event->seconds_left > 0 ? event->seconds_left : 0);
    if (event->output)
        ts_json_member_text(&json, "output", event->output);
    if (event->output && plan->chain->output.n_sinks > 0) {
        ts_json_open_member(&json, "outputs", '[');
        if (plan->chain->output.path)
            ts_json_text(&json, plan->chain->output.path);
        for (int32_t i = 0; i < plan->chain->output.n_sinks; i++)
            ts_json_text(&json, plan->chain->output.sinks[i].path);
        ts_json_close(&json, ']');
    }
    ts_json_close(&json, '}');
    ts_command_flush();
}

static void draw(struct progress *progress, const struct ts_event *event)
{
    const long left = event->seconds_left > 0 && event->seconds_left < 1e6 ? (long)(event->seconds_left + 0.5) : 0;
    fprintf(stderr, "\r\033[Kpass %d of %d: %lld of %lld slices, %.1f MB/s, %ld:%02ld left", event->pass,
            event->n_passes, (long long)event->slices_done, (long long)event->n_slices, event->bytes_per_second / 1e6,
            left / 60, left % 60);
    fflush(stderr);
    progress->drawn = true;
}

static void on_event(void *user, const struct ts_event *event)
{
    struct progress *progress = user;
    const double time = ts_seconds();
    const bool due =
        event->kind != TS_EVENT_PROGRESS || time - progress->last >= 0.1 || event->slices_done == event->n_slices;
    if (event->kind == TS_EVENT_FINISHED) {
        progress->seconds = event->seconds;
        snprintf(progress->output, sizeof progress->output, "%s", event->output ? event->output : "");
    }
    if (!due)
        return;
    progress->last = time;
    if (progress->json)
        print_event(progress->plan, event);
    else if (progress->terminal && event->kind == TS_EVENT_PROGRESS)
        draw(progress, event);
}

static void clear_line(struct progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}

/* Prints the path and the size of an output; a folder has none. */
static void print_output(const char *path)
{
    struct stat found;
    char size[32] = "?", shown[4096];
    const bool there = stat(path, &found) == 0;
    if (there)
        ts_command_format_bytes((double)found.st_size, size, sizeof size);
    ts_text_escape(shown, sizeof shown, path);
    printf("wrote %s: %s", shown, there && S_ISDIR(found.st_mode) ? "a folder of one file a slice" : size);
}

static void print_summary(const struct progress *progress)
{
    const struct chain_output *output = &progress->plan->chain->output;
    char device[512];
    print_output(progress->output);
    ts_plan_device_text(progress->plan, device, sizeof device);
    printf(" in %.2f s on %s\n", progress->seconds, device);
    for (int32_t i = output->path ? 0 : 1; i < output->n_sinks; i++) {
        print_output(output->sinks[i].path);
        putchar('\n');
    }
}

/* --picture is named here for the sake of its error alone. */
static bool refuse_picture(const struct command *command, const struct command_option *option, const char *value)
{
    (void)value;
    ts_command_wrong(command, "'--%s' is an option of `tomostage check`", option->name);
    return false;
}

static const struct command_option options[] = {CLI_CHAIN_OPTIONS,
                                                {"profile", 0, OPTION_TEXT,
                                                 OPTION_AT(struct cli_chain, options.profile), "NAME",
                                                 "show what each part of the run did and when: a table, NAME.svg with\n"
                                                 "a lane for each part, and NAME.json for Perfetto"},
                                                {"view", 0, OPTION_FLAG, OPTION_AT(struct cli_chain, view), NULL,
                                                 "show the slices as they are computed, and then the result"},
                                                {"picture", 0, OPTION_PARSED, .parse = refuse_picture}};

/* Returns true where the program could read the chain again: it starts anew where the driver crashes. */
static bool can_read_again(const struct ts_chain *chain)
{
    struct stat status;
    return stat(chain->source_name, &status) != 0 || S_ISREG(status.st_mode);
}

static int run(char **operands)
{
    struct cli_chain *arguments = &ts_cli_chain;
    if (arguments->view)
        return ts_cli_show(operands[0], true);
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    struct progress progress = {.json = arguments->json,
                                .terminal = !arguments->quiet && !arguments->json && isatty(STDERR_FILENO)};
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    arguments->options.on_event = on_event;
    arguments->options.user = &progress;
    arguments->options.rates = ts_rates_path_found();
    enum ts_status status = ts_cli_chain_load(operands[0], &chain, diag);
    if (status == TS_OK && can_read_again(chain) && ts_plan_may_use_cuda(chain, arguments->options.device))
        ts_cli_signals_start_cuda();
    if (status == TS_OK)
        status = ts_chain_search(chain, &arguments->options, diag);
    if (status == TS_OK)
        status = ts_plan_create(chain, &arguments->options, &plan, diag);
    if (status == TS_OK) {
        progress.plan = plan;
        ts_cli_signals_plan(plan);
        status = ts_plan_run(plan, diag);
        ts_cli_signals_plan_ended(status == TS_OK);
    }
    clear_line(&progress);
    if (status == TS_OK && !arguments->quiet && !arguments->json)
        print_summary(&progress);
    if (status == TS_OK && !arguments->quiet && !arguments->json)
        ts_plan_print_profile(plan, stdout);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    if (status == TS_OK)
        ts_command_written(progress.output);
    const int code = ts_command_finish_take(diag, status, arguments->json);
    ts_command_flush();
    ts_cuda_start_end();
    return status == TS_STOPPED ? ts_cli_signals_stopped() : code;
}

const struct command ts_cli_run = {
    .name = "run",
    .usage = "CHAIN [options]",
    .summary = "run a chain and write its result to an HDF5 file",
    .help = ts_cli_chain_help,
    COMMAND_ARGUMENTS(options, ts_cli_chain),
    .operands = {1, 1, "a CHAIN"},
    .run = run,
    .stopped = "; nothing was written",
    .apart = "tomostage-view",
    .apart_for = "--view",
};
