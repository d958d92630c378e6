/* SPDX-License-Identifier: Apache-2.0
 *
 * There may be a thousand events a second. At most ten a second are shown, among them the first and
 * the last of a pass.
 */
#include "program/cli/cli_progress.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/json.h"
#include "core/timing.h"
#include "program/cli/cli_signals.h"
#include "program/cli/command.h"

void ts_cli_progress_init(struct cli_progress *progress, bool quiet, bool json, int every)
{
    const bool terminal = !quiet && !json && isatty(STDERR_FILENO);
    *progress = (struct cli_progress){.json = json,
                                      .quiet = quiet,
                                      .terminal = terminal,
                                      .every = terminal || (json && every > 0) ? 0.1 : every,
                                      .last = terminal || json ? 0 : ts_seconds()};
}

static void print_start(struct json *json, const struct ts_plan *plan)
{
    ts_json_member_text(json, "device", plan->device);
    if (plan->device_note)
        ts_json_member_text(json, "device_note", plan->device_note);
    if (plan->device_times)
        ts_json_member_text(json, "device_times", plan->device_times);
}

static void print_iteration(struct json *json, const struct ts_event *event)
{
    ts_json_member_text(json, "stage", event->stage);
    ts_json_member_integer(json, "iteration", event->iteration);
    ts_json_member_integer(json, "iterations", event->n_iterations);
    if (!isnan(event->residual))
        ts_json_member_real(json, "residual", event->residual);
}

static void print_end(struct json *json, const struct ts_plan *plan, const struct ts_event *event)
{
    ts_json_member_text(json, "output", event->output);
    if (plan->chain->output.n_sinks > 0) {
        ts_json_open_member(json, "outputs", '[');
        if (plan->chain->output.path)
            ts_json_text(json, plan->chain->output.path);
        for (int32_t i = 0; i < plan->chain->output.n_sinks; i++)
            ts_json_text(json, plan->chain->output.sinks[i].path);
        ts_json_close(json, ']');
    }
    ts_json_open_member(json, "times", '{');
    for (int32_t i = 0; i < plan->n_nodes; i++)
        ts_json_member_real(json, plan->nodes[i].label, plan->state->seconds[i]);
    ts_json_close(json, '}');
}

static void print_event(const struct ts_plan *plan, const struct ts_event *event)
{
    static const char *const names[] = {"started", "progress", "finished", "iteration"};
    struct json json;
    ts_json_init(&json, stdout, false);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "event", names[event->kind]);
    if (event->search)
        ts_json_member_text(&json, "search", event->search);
    if (event->kind == TS_EVENT_STARTED)
        print_start(&json, plan);
    if (event->kind == TS_EVENT_ITERATION)
        print_iteration(&json, event);
    ts_json_member_integer(&json, "pass", event->pass);
    ts_json_member_integer(&json, "passes", event->n_passes);
    ts_json_member_integer(&json, "slices_done", event->slices_done);
    ts_json_member_integer(&json, "slices", event->n_slices);
    ts_json_member_real(&json, "seconds", event->seconds);
    ts_json_member_real(&json, "bytes_per_second", event->bytes_per_second);
    ts_json_member_real(&json, "seconds_left", event->seconds_left); /* NaN: null */
    if (event->kind == TS_EVENT_FINISHED)
        print_end(&json, plan, event);
    ts_json_close(&json, '}');
    ts_command_flush();
}

/* Writes the state of a run as text: the search, the pass and its slices, the iteration, the time
   left. */
static void print_state(const struct ts_event *event)
{
    const long left = event->seconds_left > 0 && event->seconds_left < 1e6
                          ? (long)(event->seconds_left + 0.5)
                          : 0;
    if (event->search)
        fprintf(stderr, "looking for the box of %s: ", event->search);
    fprintf(stderr, "pass %d of %d: %lld of %lld slices", event->pass, event->n_passes,
            (long long)event->slices_done, (long long)event->n_slices);
    if (event->kind == TS_EVENT_ITERATION)
        fprintf(stderr, ", %s: iteration %lld of %lld", event->stage, (long long)event->iteration,
                (long long)event->n_iterations);
    else
        fprintf(stderr, ", %.1f MB/s", event->bytes_per_second / 1e6);
    if (event->kind == TS_EVENT_ITERATION && !isnan(event->residual))
        fprintf(stderr, ", residual %.4g", event->residual);
    if (isnan(event->seconds_left))
        fputs(", ? left", stderr);
    else
        fprintf(stderr, ", %ld:%02ld left", left / 60, left % 60);
}

static void draw(struct cli_progress *progress, const struct ts_event *event)
{
    ts_cli_signals_line(progress->terminal);
    fputs(progress->terminal ? CLI_CLEAR_LINE : "", stderr);
    print_state(event);
    fputs(progress->terminal ? "" : "\n", stderr);
    fflush(stderr);
    progress->drawn = progress->terminal;
}

void ts_cli_progress_event(void *user, const struct ts_event *event)
{
    struct cli_progress *progress = user;
    const double time = ts_seconds();
    const bool is_end = event->kind == TS_EVENT_STARTED || event->kind == TS_EVENT_FINISHED ||
                        (event->kind == TS_EVENT_PROGRESS && event->slices_done == event->n_slices);
    if (event->kind == TS_EVENT_FINISHED) {
        progress->seconds = event->seconds;
        snprintf(progress->output, sizeof progress->output, "%s",
                 event->output ? event->output : "");
    }
    if (time - progress->last < progress->every &&
        !(is_end && (progress->json || progress->terminal)))
        return;
    progress->last = time;
    if (progress->json)
        print_event(progress->plan, event);
    else if (!progress->quiet &&
             (event->kind == TS_EVENT_PROGRESS || event->kind == TS_EVENT_ITERATION))
        draw(progress, event);
}

void ts_cli_progress_clear(struct cli_progress *progress)
{
    if (progress->drawn)
        fputs(CLI_CLEAR_LINE, stderr);
    progress->drawn = false;
    ts_cli_signals_line(false);
}
