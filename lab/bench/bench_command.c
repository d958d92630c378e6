/* SPDX-License-Identifier: Apache-2.0
 *
 * The command `bench`, for which tomostage starts this program.
 */
#include <limits.h>
#include <string.h>

#include "lab/bench/bench_rates.h"
#include "lab/bench/runs.h"
#include "program/cli/rates_path.h"

static struct arguments {
    struct bench_request request; /* first: BENCH_CASE_OPTIONS write here */
    const char *folder;
    bool reductions;
} arguments = {.request = BENCH_REQUEST_DEFAULT, .folder = "."};

/* Finds a name among n, and reports all of them where it is none. */
static bool find_name(const struct command *command, const struct command_option *option,
                      const char *value, const char *const *names, int n, int *found)
{
    char list[256] = "";
    size_t used = 0;
    for (int i = 0; i < n && used < sizeof list; i++) {
        if (!strcmp(value, names[i])) {
            *found = i;
            return true;
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    ts_command_wrong(command, "'--%s %s' is none of %s", option->name, value, list);
    return false;
}

bool ts_bench_parse_dtype(const struct command *command, const struct command_option *option,
                          const char *value)
{
    struct bench_request *request = command->arguments;
    const char *names[TS_F32 + 1];
    for (int i = 0; i <= TS_F32; i++)
        names[i] = ts_dtype_name((enum ts_dtype)i);
    return find_name(command, option, value, names, TS_F32 + 1, &request->dtype);
}

bool ts_bench_parse_values(const struct command *command, const struct command_option *option,
                           const char *value)
{
    struct bench_request *request = command->arguments;
    return find_name(command, option, value, ts_bench_values_names, BENCH_VALUES, &request->values);
}

bool ts_bench_parse_size(const struct command *command, const struct command_option *option,
                         const char *value)
{
    struct bench_request *request = command->arguments;
    long long nz, ny, nx;
    char rest;
    if (sscanf(value, "%lldx%lldx%lld%c", &nz, &ny, &nx, &rest) != 3 || nz < 1 || ny < 1 ||
        nx < 1) {
        ts_command_wrong(command,
                         "'--%s %s' is not of the form ZxYxX, three whole numbers from 1 on",
                         option->name, value);
        return false;
    }
    request->nz = nz;
    request->ny = ny;
    request->nx = nx;
    return true;
}

static const struct command_option options[] = {
    BENCH_CASE_OPTIONS,
    {"device", 0, OPTION_TEXT, OPTION_AT(struct arguments, request.device), "DEVICE",
     "auto (the CPU, and a CUDA device where there is one), cpu, cuda or cuda:N"},
    {"threads", 0, OPTION_INTEGER, OPTION_AT(struct arguments, request.threads), "N",
     "on the CPU with N threads, from 1 to 4096, instead of one and all", 1, 4096},
    {"runs", 0, OPTION_INTEGER, OPTION_AT(struct arguments, request.runs), "N",
     "the median of N runs; 1: one run after the first", 1, INT_MAX - 1},
    {"json", 0, OPTION_FLAG, OPTION_AT(struct arguments, request.json), NULL,
     "an array of one object per row instead of the table"},
    {"save", 0, OPTION_TEXT, OPTION_AT(struct arguments, request.save), "FILE.json",
     "the same into a file, beside the table; the file of `rates`"},
    {"folder", 0, OPTION_TEXT, OPTION_AT(struct arguments, folder), "DIR",
     "where `rates` measures writing: the folder of later outputs; default: this one"},
    {"plot", 0, OPTION_TEXT, OPTION_AT(struct arguments, request.plot), "FILE.svg",
     "a bar chart of the rows as well"},
    {"reductions", 0, OPTION_FLAG, OPTION_AT(struct arguments, reductions)}};

/* Measures the rates by which plans are predicted. No case has a part in it. */
static int bench_rates(void)
{
    const struct bench_request *request = &arguments.request;
    char path[RATES_PATH_BYTES];
    if (request->parameters || request->ny || request->dtype >= 0 || request->values >= 0 ||
        request->runs || request->threads || request->plot)
        return ts_command_wrong(&ts_bench_command,
                                "'rates' takes --device, --folder, --save and --json alone");
    if (!request->save && !ts_rates_path(path))
        return ts_command_wrong(
            &ts_bench_command,
            "there is no folder to keep rates in: name a file by --save FILE.json");
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    enum ts_status status = request->save ? TS_OK : ts_rates_path_make(path, diag);
    if (status == TS_OK)
        status = ts_bench_rates(request, arguments.folder, request->save ? request->save : path,
                                stdout, diag);
    return ts_command_finish_take(diag, status, false);
}

static int bench(char **operands)
{
    struct bench_request *request = &arguments.request;
    if (arguments.reductions)
        return ts_command_wrong(&ts_bench_command,
                                "'--reductions' is a study: tomostage study fan-in");
    if (operands[0] && !strcmp(operands[0], "rates"))
        return bench_rates();
    if (operands[0] && strcmp(operands[0], "chain") && !ts_stage_find(operands[0]))
        return ts_command_wrong_stage(&ts_bench_command, operands[0]);
    if (!operands[0] && request->parameters)
        return ts_command_wrong(&ts_bench_command,
                                "--parameters are those of a STAGE, which is missing");
    request->stage = operands[0];
    request->compare = ts_oracle_compare;
    struct ts_diag *diag = ts_command_diag();
    return diag ? ts_command_finish_take(diag, ts_bench_run(request, stdout, diag), false)
                : TS_RUN_FAILED;
}

const struct command ts_bench_command = {
    .name = "bench",
    .usage = "[STAGE] [options]",
    .summary = "time the stages: rate, percent of the ceiling, error",
    .help = "STAGE is timed in each of its methods and types, over all values and three sizes: 512 "
            "x 512 (so many slices\n"
            "that no cache holds them), one such slice, and 2,048 x 2,048; without it every stage "
            "in 512 x 512, and a\n"
            "`chain` of three on one slice (which `bench chain` times alone), in the values that "
            "matter. Rows: minutes.\n"
            "`rates` measures in under a minute how fast this machine does each part of a run, and "
            "keeps that in\n"
            "~/.cache/tomostage/rates.json ($XDG_CACHE_HOME, or the file that $TOMOSTAGE_RATES "
            "names): `check` then\n"
            "predicts how long a chain takes, and --device auto takes the device that will be done "
            "first.\n"
            "Errors are against oracles in double precision.\n"
            "`bench runs` times whole runs, from file to file: `tomostage bench runs --help`.\n",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {0, 1},
    .run = bench,
    .inner = &ts_runs_command,
};
