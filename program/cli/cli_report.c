/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage report`: makes one page of HTML from a result (program/report).
 */
#include <string.h>

#include "program/cli/cli.h"
#include "program/report/report.h"

static struct report_request arguments;

static bool parse_slices(const struct command *command, const struct command_option *option,
                         const char *value)
{
    if (!strcmp(value, "all"))
        return arguments.slices = INT64_MAX, true;
    if (ts_command_parse_integer(value, 1, INT64_MAX, &arguments.slices))
        return true;
    ts_command_wrong(command, "'--%s %s' is neither all nor a number from 1 on", option->name,
                     value);
    return false;
}

static const struct command_option options[] = {
    {"output", 'o', OPTION_TEXT, OPTION_AT(struct report_request, output), "FILE",
     "the page; default FILE.h5.html in the current folder"},
    {"profile", 0, OPTION_TEXT, OPTION_AT(struct report_request, profile), "NAME.json",
     "the profile that `run --profile NAME` wrote: time and memory"},
    {"slices", 0, OPTION_PARSED, 0, 0, "all|N",
     "the page can scroll through all slices of each image, or N of them, and has up\n"
     "to 20 MB; default: the middle planes, and up to 5 MB",
     .parse = parse_slices},
    {"force", 0, OPTION_FLAG, OPTION_AT(struct report_request, force), NULL,
     "replace an existing page"}};

static int cli_report_report(char **operands)
{
    char name[4096];
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    const bool given = arguments.output != NULL;
    arguments.path = operands[0];
    if (!given)
        arguments.output =
            ts_cli_default_output(&ts_cli_report, operands[0], ".html", name, sizeof name);
    const enum ts_status status = ts_report_write(&arguments, diag);
    if (status == TS_OK) {
        ts_command_written(arguments.output);
        ts_command_print_written(arguments.output);
        puts(", after every digest of the result was found right");
    }
    if (!given)
        ts_cli_hint_output(".html", diag);
    return ts_command_finish_take(diag, status, false);
}

const struct command ts_cli_report = {
    .name = "report",
    .usage = "FILE.h5 [-o OUT.html] [--profile NAME.json] [--slices all|N] [--force]",
    .summary = "write one page of HTML that shows a result and how it was made",
    .help = "The page needs no other file and no network. It shows the images with a slider for "
            "their window, histograms,\n"
            "tables, every parameter, every input slice with its digest, warnings, device and "
            "versions. The result is\n"
            "verified first; a damaged one is refused (exit code 3).\n",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {1, 1, "a FILE"},
    .run = cli_report_report,
};
