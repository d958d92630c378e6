/* SPDX-License-Identifier: Apache-2.0
 *
 * The command `bench runs`, the same in both programs.
 */
#include <limits.h>
#include <string.h>

#include "lab/bench/bench.h"
#include "lab/bench/runs.h"

static struct runs_request arguments = {.smaller = 1, .runs = 3};

/* Reads names of jobs that are parted by commas. */
static bool parse_jobs(const struct command *command, const struct command_option *option,
                       const char *value)
{
    if (ts_bench_pick(value, ts_runs_jobs, sizeof *ts_runs_jobs, RUNS_JOBS, arguments.jobs))
        return true;
    ts_command_wrong(command, "'--%s %s' is not a list of jobs such as A,B", option->name, value);
    return false;
}

static const struct command_option options[] = {
    {"job", 0, OPTION_PARSED, .value = "A,B", .help = "these jobs alone", .parse = parse_jobs},
    {"device", 0, OPTION_TEXT, OPTION_AT(struct runs_request, device), "DEVICE",
     "auto (the CPU, and a CUDA device where there is one), cpu, cuda, cuda:N, cuda:N,M or "
     "cuda:all"},
    {"runs", 0, OPTION_INTEGER, OPTION_AT(struct runs_request, runs), "N",
     "the median of N runs; default 3", 1, 1000},
    {"smaller", 0, OPTION_INTEGER, OPTION_AT(struct runs_request, smaller), "N",
     "divide every side and the number of views by N; there are no\ngoals then", 1, 64},
    {"output", 'o', OPTION_TEXT, OPTION_AT(struct runs_request, folder), "FOLDER",
     "make inputs and chains in this folder, which must be absent or\n"
     "empty, and keep them; else in a temporary one of $TMPDIR"},
    {"profile", 0, OPTION_FLAG, OPTION_AT(struct runs_request, profile), NULL,
     "write what the parts of the last run of each row did into the\n"
     "folder, as `run --profile` does"},
    {"verify", 0, OPTION_FLAG, OPTION_AT(struct runs_request, verify), NULL,
     "verify the last result of each row, which is not timed"},
    {"json", 0, OPTION_FLAG, OPTION_AT(struct runs_request, json), NULL,
     "an array of one object per row instead of the table"},
    {"save", 0, OPTION_TEXT, OPTION_AT(struct runs_request, save), "FILE.json",
     "the same into a file, beside the table"}};

static void list_jobs(FILE *stream)
{
    fputs("\njobs:\n", stream);
    for (int i = 0; i < RUNS_JOBS; i++)
        fprintf(stream, "  %s  %s\n", ts_runs_jobs[i].name, ts_runs_jobs[i].summary);
}

static int runs(char **operands)
{
    (void)operands;
    if (arguments.profile && !arguments.folder)
        return ts_command_wrong(&ts_runs_command,
                                "--profile writes into the folder of -o, which is missing");
    struct ts_diag *diag = ts_command_diag();
    return diag ? ts_command_finish_take(diag, ts_runs_run(&arguments, stdout, diag), false)
                : TS_RUN_FAILED;
}

const struct command ts_runs_command = {
    .name = "bench runs",
    .usage = "[options]",
    .summary = "time whole runs, from file to file, beside the plain writing of as many bytes",
    .help = "Each run is a process of this program, from its start to its end. `write` is the time "
            "of writing as many bytes\n"
            "as the result file has, in blocks of 4 MiB, and of syncing them, in the same folder; "
            "`ratio` is that of the run\n"
            "to it. Results are removed when they are timed. The goal\n"
            "of job C is for the best of its forms. Files of job C lie in memory: in the folder of "
            "-o where that is\n"
            "a memory file system, else in /dev/shm.\n",
    COMMAND_ARGUMENTS(options, arguments),
    .more_help = list_jobs,
    .run = runs,
};
