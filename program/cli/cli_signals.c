/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals that end the program. Before a plan runs, there is nothing to clean up, and the handler
 * ends the process at once. While a plan runs, the handler asks it to stop, and it cleans up on the
 * ordinary way out. A stage in a long slab does not notice that: after some seconds the plan's
 * temporary files are removed and the process ends. In any case the exit code is 128 + the signal's
 * number, and one sentence names the signal. Signals that arrive before the handlers are set are
 * held until then.
 */
#include "program/cli/cli_signals.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cuda/device/device.h"
#include "pipeline/fleet/ranks/ranks.h"
#include "pipeline/plan/plan.h"

/* Open MPI's launcher kills a rank one second after it has asked it to end; temporary files must be
   gone by then. */
enum { PATIENCE_SECONDS = 1, PATIENCE_OF_RANK_US = 700000 };

static const struct stop {
    int number;
    const char *name, *code;
} stops[] = {{SIGINT, "SIGINT", "130"},
             {SIGTERM, "SIGTERM", "143"},
             {SIGHUP, "SIGHUP", "129"},
             {SIGQUIT, "SIGQUIT", "131"},
             {SIGUSR1, "SIGUSR1",
              /* SIGUSR1 pauses a run that has a checkpoint, and is held until that is known */
              "138"}};
enum { STOPS = sizeof stops / sizeof *stops, STOPS_AT_ONCE = STOPS - 1 };

/* Handlers have no arguments, so these are global. */
static struct ts_plan *volatile current_plan;
static char **volatile arguments; /* of the program */
static const char *volatile consequence;
static const struct stop *volatile stopped_by;
static volatile sig_atomic_t plan_ended, print_json, pause_asked, line_stands;
/* The sentence must be printed once, although the alarm may interrupt the ordinary way out while it
   prints. */
static atomic_int sentence;
enum { NOT_PRINTED, BEING_PRINTED, PRINTED };

static void mask(int how, int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(how, &set, NULL);
}

static void mask_stops(int how, int n)
{
    for (int i = 0; i < n; i++)
        mask(how, stops[i].number);
}

void ts_cli_signals_hold(void)
{
    mask_stops(SIG_BLOCK, STOPS);
}

/* Writes all texts at once, so that lines of other processes do not come between. Does not block if
   nobody reads, which would keep the process alive. */
static void cli_signals_put(int fd, const char *const *texts)
{
    enum { WAIT_MS = 100 };
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    char line[512];
    size_t used = 0;
    for (size_t length; *texts && used + (length = strlen(*texts)) <= sizeof line;
         texts++, used += length)
        memcpy(line + used, *texts, length);
    if (poll(&ready, 1, WAIT_MS) == 1)
        (void)!write(fd, line, used); /* if it fails, nobody can read it any more */
}

int ts_cli_signals_stopped(void)
{
    static const char start[] = "{\"event\": \"diagnostic\", \"severity\": \"error\", \"code\": "
                                "\"stopped\", \"message\": \"stopped by ";
    const char *name = stopped_by->name, *then = consequence;
    int expected = NOT_PRINTED;
    if (!atomic_compare_exchange_strong(&sentence, &expected, BEING_PRINTED))
        return 128 + stopped_by->number;
    cli_signals_put(STDERR_FILENO,
                    (const char *const[]){line_stands ? CLI_CLEAR_LINE : "",
                                          "tomostage: stopped by ", name, then, "\n", NULL});
    if (print_json)
        cli_signals_put(STDOUT_FILENO, (const char *const[]){
                                           start, name, then,
                                           "\", \"exit_code\": ", stopped_by->code, "}\n", NULL});
    sentence = PRINTED;
    return 128 + stopped_by->number;
}

void ts_cli_signals_line(bool stands)
{
    line_stands = stands;
}

bool ts_cli_signals_came(void)
{
    return stopped_by != NULL;
}

static void begin_patience(void)
{
    if (ts_ranks().begun)
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = PATIENCE_OF_RANK_US}, NULL);
    else
        alarm(PATIENCE_SECONDS);
}

static void on_signal(int number)
{
    struct ts_plan *plan = current_plan;
    if (stopped_by)
        return;
    for (int i = 0; i < STOPS; i++)
        if (stops[i].number == number)
            stopped_by = &stops[i];
    if (plan)
        ts_plan_stop(plan);
    else if (!plan_ended)
        _exit(ts_cli_signals_stopped());
    begin_patience();
}

void ts_cli_signals_abandon(void)
{
    const struct ts_plan *plan = current_plan;
    if (plan)
        ts_plan_abandon(plan);
}

/* The decoding processes end when their parent ends. */
static void on_patience_lost(int number)
{
    struct ts_plan *plan = current_plan;
    (void)number;
    if (!stopped_by)
        return;
    /* this thread, or another one, is printing it, and gets one more second */
    if (sentence == BEING_PRINTED) {
        alarm(PATIENCE_SECONDS);
        return;
    }
    if (sentence == PRINTED)
        _exit(128 + stopped_by->number);
    ts_cli_signals_abandon();
    if (plan && atomic_load(&plan->state->committing))
        consequence = "; the output may have got its name already";
    _exit(ts_cli_signals_stopped());
}

void ts_cli_signals_catch(char **argv, const char *then, bool json)
{
    struct sigaction action = {.sa_flags = SA_RESTART}, before;
    arguments = argv;
    consequence = then ? then : "";
    print_json = json;
    sigfillset(&action.sa_mask);
    action.sa_handler = on_patience_lost;
    sigaction(SIGALRM, &action, NULL);
    action.sa_handler = on_signal;
    for (int i = 0; i < STOPS; i++)
        if (sigaction(stops[i].number, NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN) /* nohup */
            sigaction(stops[i].number, &action, NULL);
    /* Passing a size limit becomes an error of write(), which is reported. */
    signal(SIGXFSZ, SIG_IGN);
    mask_stops(SIG_UNBLOCK, STOPS_AT_ONCE);
}

static void on_pause(int number)
{
    struct ts_plan *plan = current_plan;
    (void)number;
    pause_asked = true;
    if (plan)
        ts_plan_pause(plan);
}

void ts_cli_signals_catch_pause(bool pauses)
{
    struct sigaction action = {.sa_handler = on_pause, .sa_flags = SA_RESTART}, before;
    sigfillset(&action.sa_mask);
    if (pauses)
        consequence = "; the output was not written, and --resume goes on from the checkpoint";
    if (pauses && sigaction(SIGUSR1, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGUSR1, &action, NULL);
    mask(SIG_UNBLOCK, SIGUSR1);
}

/* ---- a driver that crashes ------------------------------------------------------------------- */

#define STARTED_ANEW                                                                               \
    "TOMOSTAGE_DRIVER_CRASHED" /* environment variable that is set for the second start */

static void on_fault(int number)
{
    sigset_t all;
    sigfillset(&all);
    signal(number, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    if (ts_cuda_starting())
        execv("/proc/self/exe", arguments);
    raise(number);
}

void ts_cli_signals_start_cuda(void)
{
    struct sigaction action = {.sa_handler = on_fault};
    if (getenv(STARTED_ANEW) || setenv(STARTED_ANEW, "1", 1) != 0)
        return;
    for (const int *fault = (const int[]){SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, 0}; *fault;
         fault++)
        sigaction(*fault, &action, NULL);
    ts_cuda_start();
}

void ts_cli_signals_plan(struct ts_plan *plan)
{
    /* A closed pipe must not end a run. */
    signal(SIGPIPE, SIG_IGN);
    current_plan = plan;
    if (pause_asked)
        ts_plan_pause(plan);
}

void ts_cli_signals_remember(void)
{
    signal(SIGPIPE, SIG_IGN);
    plan_ended = true;
}

void ts_cli_signals_plan_ended(bool written)
{
    if (written)
        consequence = "; the result is written";
    plan_ended = true;
    current_plan = NULL;
}
