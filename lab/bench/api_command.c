/* SPDX-License-Identifier: Apache-2.0
 *
 * The command `tomostage-bench api`.
 */
#include <limits.h>
#include <string.h>

#include "lab/bench/api.h"
#include "lab/bench/bench.h"

static struct api_request arguments = {.side = 64, .runs = 5, .cycles = 100};

/* Reads names of parts that are parted by commas. */
static bool parse_parts(const struct command *command, const struct command_option *option,
                        const char *value)
{
    if (ts_bench_pick(value, ts_api_parts, sizeof *ts_api_parts, API_PARTS, arguments.parts))
        return true;
    ts_command_wrong(command, "'--%s %s' is not a list of parts such as calls,views", option->name,
                     value);
    return false;
}

static const struct command_option options[] = {
    {"part", 0, OPTION_PARSED, .value = "A,B", .help = "only these parts", .parse = parse_parts},
    {"device", 0, OPTION_TEXT, OPTION_AT(struct api_request, device), "DEVICE",
     "cpu (the default), cuda or cuda:N"},
    {"size", 0, OPTION_INTEGER, OPTION_AT(struct api_request, side), "N",
     "pixels along each side of an image; default 64", 8, 2048},
    {"runs", 0, OPTION_INTEGER, OPTION_AT(struct api_request, runs), "N",
     "the median of N runs; default 5", 1, 1000},
    {"cycles", 0, OPTION_INTEGER, OPTION_AT(struct api_request, cycles), "N",
     "so many plans and runs; default 100", 1, 1000000},
    {"json", 0, OPTION_FLAG, OPTION_AT(struct api_request, json), NULL,
     "an array of one object per row instead of the table"},
    {"save", 0, OPTION_TEXT, OPTION_AT(struct api_request, save), "FILE.json",
     "the same into a file, beside the table"}};

static void list_parts(FILE *stream)
{
    fputs("\nparts:\n", stream);
    for (int i = 0; i < API_PARTS; i++)
        fprintf(stream, "  %-8s  %s%s\n", ts_api_parts[i].name, ts_api_parts[i].summary,
                ts_api_parts[i].on_cpu ? " (CPU)" : "");
}

static int run(char **operands)
{
    (void)operands;
    struct ts_diag *diag = ts_command_diag();
    return diag ? ts_command_finish_take(diag, ts_api_run(&arguments, stdout, diag), false)
                : TS_RUN_FAILED;
}

const struct command ts_api_command = {
    .program = "tomostage-bench",
    .name = "api",
    .usage = "[options]",
    .summary = "measure the library on arrays in memory",
    .help = "`beside` is what a figure is compared with, as the row says, and `ratio` is the "
            "figure divided by it.\n",
    COMMAND_ARGUMENTS(options, arguments),
    .more_help = list_parts,
    .run = run,
};
