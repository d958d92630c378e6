/* SPDX-License-Identifier: Apache-2.0
 *
 * The program: finds the command, hands it the rest of the command line, and sees that what it printed arrived.
 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "io/sandbox.h"
#include "pipeline/cli.h"
#include "pipeline/omp_wait.h"
#include "pipeline/params.h"

static const struct cli_command *const commands[] = {&ts_cli_run,     &ts_cli_check,   &ts_cli_stages, &ts_cli_schema,
                                                     &ts_cli_info,    &ts_cli_preview, &ts_cli_plot,   &ts_cli_verify,
                                                     &ts_cli_phantom, &ts_cli_doctor,  &ts_cli_bench,  NULL};

static void print_help(FILE *stream)
{
    fputs(
        "usage: tomostage COMMAND [arguments]\n\n"
        "tomostage runs a chain of stages over a medical image and writes the result and how it was made to HDF5.\n\n",
        stream);
    for (size_t i = 0; commands[i]; i++)
        fprintf(stream, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n  tomostage COMMAND --help    the page of one command\n"
          "  tomostage --version         the version\n\n"
          "exit codes: 0 done, 1 the run failed, 2 the chain or the command line is wrong,\n"
          "            3 the input is wrong, 128+N stopped by signal N\n",
          stream);
}

static int unknown_command(const char *name)
{
    const char *names[32];
    size_t n = 0;
    for (; commands[n] && n < sizeof names / sizeof *names; n++)
        names[n] = commands[n]->name;
    const char *nearest = ts_nearest_name(name, names, n);
    return ts_cli_wrong(NULL, "unknown command '%s'; %s%s%s", name, nearest ? "did you mean '" : "",
                        nearest ? nearest : "'tomostage --help' lists the commands", nearest ? "'?" : "");
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return CLI_WRONG;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        print_help(stdout);
        return 0;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("tomostage %s\n", ts_version());
        return 0;
    }
    for (size_t i = 0; commands[i]; i++)
        if (!strcmp(argv[1], commands[i]->name))
            return commands[i]->run(argc - 1, argv + 1);
    return unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
    ts_omp_wait_asleep(argv);
    /* Before anything else is made that a child could inherit. Where it fails, the first child says why. */
    (void)ts_sandbox_begin();
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* no process of this user can look into this one's memory */
    ts_cli_json_find(argc, argv);
    const int code = dispatch(argc, argv);
    /* A full disk behind a redirection shows here, if at all. */
    if ((fflush(stdout) || ferror(stdout)) && code == 0) {
        fprintf(stderr, "tomostage: standard output could not be written: %s\n", strerror(errno));
        return TS_RUN_FAILED;
    }
    return code;
}
