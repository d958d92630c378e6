/* SPDX-License-Identifier: Apache-2.0
 *
 * The command `study`, for which tomostage starts this program: it lists the studies, or carries
 * one out.
 */
#include <limits.h>
#include <string.h>

#include "lab/study/study.h"

static struct study_request arguments;

static const struct command_option options[] = {
    {"output", 'o', OPTION_TEXT, OPTION_AT(struct study_request, folder), "FOLDER",
     "write the rows as NAME.json and a chart as NAME.svg into this folder; with `all` also "
     "index.html"},
    {"input", 'i', OPTION_TEXT, OPTION_AT(struct study_request, input), "PATH",
     "make the images of the middle slice of this DICOM file or folder; default: a phantom"},
    {"device", 0, OPTION_TEXT, OPTION_AT(struct study_request, device), "DEVICE",
     "auto (the CPU, and a CUDA device where there is one), cpu, cuda or cuda:N"},
    {"most", 0, OPTION_INTEGER, OPTION_AT(struct study_request, most), "N",
     "measure on at most N values; the smallest size of a study always", 1, INT64_MAX},
    {"threads", 0, OPTION_INTEGER, OPTION_AT(struct study_request, threads), "N",
     "on the CPU with at most N threads, from 1 to 4096; default: all", 1, 4096},
    {"runs", 0, OPTION_INTEGER, OPTION_AT(struct study_request, runs), "N", "the median of N runs",
     1, INT_MAX - 1},
    {"json", 0, OPTION_FLAG, OPTION_AT(struct study_request, json), NULL,
     "an array of one object per row instead of the table"}};

static void list_studies(FILE *stream)
{
    for (const struct study *const *study = ts_studies; *study; study++)
        fprintf(stream, "%-18s %s\n", (*study)->name, (*study)->sentence);
}

static void list_below(FILE *stream)
{
    fputs("\nstudies:\n", stream);
    list_studies(stream);
}

static int study(char **operands)
{
    const char *names[64];
    size_t i = 0;
    if (!operands[0]) {
        list_studies(stdout);
        return 0;
    }
    for (; ts_studies[i] && strcmp(ts_studies[i]->name, operands[0]) != 0; i++)
        names[i] = ts_studies[i]->name;
    const bool all = !strcmp(operands[0], "all");
    if (!ts_studies[i] && !all)
        return ts_command_wrong_name(&ts_study_command, "study", operands[0], names, i,
                                     "'tomostage study' lists them");
    if (all && (!arguments.folder || arguments.json))
        return ts_command_wrong(&ts_study_command,
                                "'all' writes into the folder of -o, and takes no --json");
    arguments.compare = ts_oracle_compare;
    struct ts_diag *diag = ts_command_diag();
    return diag ? ts_command_finish_take(
                      diag, ts_study_run(ts_studies[i], &arguments, stdout, diag), false)
                : TS_RUN_FAILED;
}

const struct command ts_study_command = {
    .name = "study",
    .usage = "[NAME | all] [options]",
    .summary = "repeat a published experiment on this machine, with a table and a chart",
    .help =
        "Without a NAME it lists the studies; `all` carries out every one into the folder of -o.\n",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {0, 1},
    .more_help = list_below,
    .run = study,
};
