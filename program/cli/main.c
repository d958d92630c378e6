/* SPDX-License-Identifier: Apache-2.0
 *
 * The program: finds the command, gives it the rest of the command line, and checks that its output
 * was written. Commands of other programs beside this one are passed on to these: `bench`, `study`,
 * and those that open a window. tomostage-view is this program with windows, and passes nothing on
 * to itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/omp_wait.h"
#include "io/sandbox/sandbox.h"
#include "program/cli/cli.h"
#include "program/cli/cli_signals.h"

static const struct command *const commands[] = {&ts_cli_run,
                                                 &ts_cli_batch,
                                                 &ts_cli_check,
                                                 &ts_cli_stages,
                                                 &ts_cli_schema,
                                                 &ts_cli_info,
                                                 &ts_cli_preview,
                                                 &ts_cli_plot,
                                                 &ts_cli_view,
                                                 &ts_cli_export,
                                                 &ts_cli_report,
                                                 &ts_cli_verify,
                                                 &ts_cli_diff,
                                                 &ts_cli_rerun,
                                                 &ts_cli_phantom,
                                                 &ts_cli_doctor,
                                                 &ts_cli_bench,
                                                 &ts_cli_study,
                                                 NULL};

static void print_help(FILE *stream)
{
    fputs("usage: tomostage COMMAND [arguments]\n\n"
          "tomostage runs a chain of stages over a medical image and writes the result and how it "
          "was made to HDF5.\n\n",
          stream);
    for (size_t i = 0; commands[i]; i++)
        fprintf(stream, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n  tomostage COMMAND --help    the page of one command\n"
          "  tomostage --plugin FILE COMMAND  the stages of a plugin, too\n"
          "  tomostage --version         the version\n\n",
          stream);
    fputs(ts_command_exit_codes, stream);
    fputs("errors, warnings and notes end with their [code]; docs/errors.md has its cause and a "
          "way out\n",
          stream);
}

static int unknown_command(const char *name)
{
    const char *names[32];
    size_t n = 0;
    for (; commands[n] && n < sizeof names / sizeof *names; n++)
        names[n] = commands[n]->name;
    return ts_command_wrong_name(NULL, "command", name, names, n,
                                 "'tomostage --help' lists the commands");
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (!strcmp(name, commands[i]->name))
            return commands[i];
    return NULL;
}

static int no_command(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return COMMAND_WRONG;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        print_help(stdout);
        return 0;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("tomostage %s\n", ts_version());
        return 0;
    }
    return unknown_command(argv[1]);
}

/* Opens the standard streams that are closed: an opened file takes the lowest free number, so an
   output file could become standard output or standard error, and get messages. If there is no
   /dev/null, a folder takes the place. */
static void fill_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) < 0)
            (void)!open("/", O_RDONLY | O_DIRECTORY);
}

static bool ended, json;

/* If memory or threads run out, libhdf5 and libgomp call exit(), without a message or with a code
   of their own. */
static void report_exit(void)
{
    if (ended)
        return;
    ts_cli_signals_abandon();
    fputs("tomostage: error: a library ended the program, as it does where memory or threads have "
          "run out [library-exit]\n",
          stderr);
    if (json)
        puts("{\"event\": \"diagnostic\", \"severity\": \"error\", \"code\": \"library-exit\", "
             "\"message\": \"a library ended the program, as it does where memory or threads have "
             "run out\", \"exit_code\": 1}");
    fflush(stdout);
    _exit(TS_RUN_FAILED);
}

/* Raises the stack limit, which `ulimit -s` may have lowered, for the program and its threads.
   Returns false, with a message, if the limit may not be raised. */
static bool take_stack(int argc, char **argv)
{
    const rlim_t needed = 1 << 20, taken = 8 << 20;
    struct rlimit limit;
    pthread_attr_t attributes;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= needed)
        return true;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max < taken ? limit.rlim_max : taken;
    if (limit.rlim_cur < needed)
        limit.rlim_cur = limit.rlim_max = taken;
    if (setrlimit(RLIMIT_STACK, &limit) != 0) {
        struct ts_diag *diag = ts_command_diag();
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "stack-limit"},
                      "the stack is limited to %llu KiB, and the program needs %llu KiB",
                      (unsigned long long)before >> 10, (unsigned long long)needed >> 10);
        (void)ts_diag_hint(diag, "raise the limit before the program starts: ulimit -s 8192");
        (void)ts_command_finish_take(diag, TS_RUN_FAILED, ts_command_json_find(argc, argv));
        return false;
    }
    if (pthread_attr_init(&attributes) == 0) {
        if (pthread_attr_setstacksize(&attributes, taken) == 0)
            (void)pthread_setattr_default_np(&attributes);
        pthread_attr_destroy(&attributes);
    }
    return true;
}

int main(int argc, char **argv)
{
    if (!take_stack(argc, argv))
        return TS_RUN_FAILED;
    if (!ts_command_take_plugins(&argc, argv))
        return COMMAND_WRONG;
    const struct command *command = argc < 2 ? NULL : find_command(argv[1]);
    if (command &&
        command
            ->apart) { /* before signals are blocked, since the other program would inherit that */
        fill_standard_streams();
        ts_command_hand_over(command, argv);
    }
    ts_cli_signals_hold();
    fill_standard_streams();
    ts_omp_wait_asleep(argv);
    /* Nothing exists yet that a child could inherit. If this fails, the first child reports why. */
    (void)ts_sandbox_begin();
    signal(SIGCHLD, SIG_DFL); /* if it were ignored, we could not learn how children end */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* no process of this user can read this one's memory */
    atexit(report_exit);
    json = ts_command_json_find(argc, argv);
    ts_cli_signals_catch(argv, command ? command->stopped : NULL, json);
    if (command != &ts_cli_run) /* `run` decides that by its options */
        ts_cli_signals_catch_pause(false);
    const int code = ts_command_output_end(command ? ts_command_run(command, argc - 1, argv + 1)
                                                   : no_command(argc, argv));
    ended = true;
    ts_sandbox_finish();
#ifndef TS_SANITIZED
    /* Destructors of libraries (DCMTK's log) need memory, and abort after a run that ran out of
       it. */
    if (code == TS_RUN_FAILED)
        _exit(code);
#endif
    return code;
}
