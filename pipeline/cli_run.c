/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage run`. A signal asks the plan to stop, and cleaning up happens on the ordinary way out. A stage in the
 * midst of a long slab does not hear it: after PATIENCE_SECONDS the temporary file is removed and the process ends as
 * it is.
 */
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "pipeline/cli.h"
#include "pipeline/json.h"
#include "pipeline/plan.h"

enum { PATIENCE_SECONDS = 1 };

/* A handler has no argument to carry these. */
static struct ts_plan *volatile current_plan;
static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
    if (stop_signal)
        return;
    stop_signal = number;
    if (current_plan)
        ts_plan_stop(current_plan);
    alarm(PATIENCE_SECONDS);
}

/* The decoding processes end with their parent. */
static void on_patience_lost(int number)
{
    (void)number;
    if (!current_plan)
        return;
    ts_plan_abandon(current_plan);
    _exit(128 + stop_signal);
}

/* From here on a signal stops the plan; before, nothing exists that would have to be cleaned up. */
static void catch_signals(struct ts_plan *plan)
{
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    current_plan = plan;
    action.sa_handler = on_patience_lost;
    sigaction(SIGALRM, &action, NULL);
    action.sa_handler = on_signal;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (sigaction(stops[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) /* nohup */
            sigaction(stops[i], &action, NULL);
    /* A reader that went away and a size limit become errors of write(), which are reported. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

struct progress {
    const struct ts_plan *plan;
    bool json, terminal, drawn;
    double last; /* seconds of the last line shown */
    char output[4096];
    double seconds;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

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
    ts_json_close(&json, '}');
    fflush(stdout);
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
    const double time = now();
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

static void print_summary(const struct progress *progress)
{
    struct stat status;
    char size[32] = "?", path[4096], device[512];
    if (stat(progress->output, &status) == 0)
        ts_cli_format_bytes((double)status.st_size, size, sizeof size);
    ts_text_escape(path, sizeof path, progress->output);
    ts_plan_device_text(progress->plan, device, sizeof device);
    printf("wrote %s: %s in %.2f s on %s\n", path, size, progress->seconds, device);
}

static int run(int argc, char **argv)
{
    struct cli_chain arguments;
    int code;
    if (!ts_cli_chain_arguments(&ts_cli_run, argc, argv, &arguments, &code))
        return code;
    struct ts_diag *diag = ts_cli_diag();
    if (!diag)
        return TS_RUN_FAILED;
    struct progress progress = {.json = arguments.json,
                                .terminal = !arguments.quiet && !arguments.json && isatty(STDERR_FILENO)};
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    arguments.options.on_event = on_event;
    arguments.options.user = &progress;
    enum ts_status status = ts_cli_chain_load(&arguments, &chain, diag);
    if (status == TS_OK)
        status = ts_plan_create(chain, &arguments.options, &plan, diag);
    if (status == TS_OK) {
        progress.plan = plan;
        catch_signals(plan);
        status = ts_plan_run(plan, diag);
        current_plan = NULL;
    }
    clear_line(&progress);
    if (status == TS_OK && !arguments.quiet && !arguments.json)
        print_summary(&progress);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    code = ts_cli_finish_take(diag, status, arguments.json);
    return status == TS_STOPPED ? 128 + stop_signal : code;
}

const struct cli_command ts_cli_run = {
    .name = "run",
    .usage = "CHAIN [options]",
    .summary = "run a chain and write its result to an HDF5 file",
    .help = ts_cli_chain_options,
    .run = run,
};
