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

static bool is_version(const char *word)
{
    static const char *const words[] = {"--version", "version", "-V", "-v"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(word, words[i]))
            return true;
    return false;
}

static int no_command(int argc, char **argv)
{
    if (argc < 2) {
        ts_cli_print_commands(stderr);
        return COMMAND_WRONG;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        ts_cli_print_commands(stdout);
        return 0;
    }
    if (is_version(argv[1])) {
        printf("tomostage %s\n", ts_version());
        return 0;
    }
    return ts_cli_unknown_command(argv[1]);
}

/* Turns `help COMMAND` into `COMMAND --help`. */
static void turn_help(int argc, char **argv)
{
    static char help[] = "--help";
    if (argc != 3 || strcmp(argv[1], ts_cli_help.name) != 0 || !ts_cli_find(argv[2]))
        return;
    argv[1] = argv[2];
    argv[2] = help;
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
    if (!ts_command_take_common(&argc, argv))
        return COMMAND_WRONG;
    turn_help(argc, argv);
    const struct command *command = argc < 2 ? NULL : ts_cli_find(argv[1]);
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
