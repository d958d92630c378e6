/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage plot`: draws the residuals of every iterative reconstruction that a file records
 * (program/report/residuals.h), in one chart.
 */
#include <string.h>

#include "program/cli/cli.h"
#include "program/report/residuals.h"

static struct arguments {
    const char *output; /* NULL: FILE.h5.svg in the current folder */
    bool force;
} arguments;

static const struct command_option options[] = {
    {"output", 'o', OPTION_TEXT, OPTION_AT(struct arguments, output), "FILE",
     "the picture; default FILE.h5.svg in the current folder"},
    {"force", 0, OPTION_FLAG, OPTION_AT(struct arguments, force), NULL,
     "replace an existing picture"}};

static enum ts_status plot_file(const char *path, const char *output, struct arena *arena,
                                struct ts_diag *diag)
{
    struct residuals residuals;
    enum ts_status status = ts_residuals_read(path, arena, &residuals, diag);
    if (ts_diag_count(diag) > 0 &&
        !strcmp(ts_diag_get(diag, ts_diag_count(diag) - 1)->code, "hdf5-no-table"))
        ts_diag_hint(diag, "`sirt` and `cgls` leave one in the result of their chain");
    const struct chart_panel panel = {
        .title = "",
        .x = {.title = "iterations", .low = 0, .high = 1},
        .y = {.title = "residual ||b - A x|| / ||b|| after them", .logarithmic = true},
        .lines = residuals.lines,
        .n_lines = residuals.n};
    const struct chart chart = {
        .title = "residuals of iterative reconstruction", .panels = &panel, .n_panels = 1};
    if (status == TS_OK)
        status = ts_chart_write(&chart, output, arguments.force, diag);
    if (status == TS_OK)
        ts_command_written(output);
    for (int i = 0; i < residuals.n && status == TS_OK; i++)
        printf("%s\n", residuals.shown[i]);
    return status;
}

static int plot(char **operands)
{
    char name[4096];
    struct ts_diag *diag = ts_command_diag();
    struct arena *arena = ts_arena_create();
    enum ts_status status = TS_RUN_FAILED;
    const char *output = arguments.output ? arguments.output
                                          : ts_cli_default_output(&ts_cli_plot, operands[0], ".svg",
                                                                  name, sizeof name);
    if (diag)
        status = arena ? ts_command_check_suffix(output, ".svg", diag)
                       : ts_diag_no_memory(diag, sizeof name);
    if (diag && status == TS_OK)
        status = ts_command_keep_input(output, operands[0], diag);
    if (diag && status == TS_OK)
        status = plot_file(operands[0], output, arena, diag);
    if (diag && !arguments.output)
        ts_cli_hint_output(".svg", diag);
    ts_arena_destroy(arena);
    return diag ? ts_command_finish_take(diag, status, false) : TS_RUN_FAILED;
}

const struct command ts_cli_plot = {
    .name = "plot",
    .usage = "FILE.h5 [-o OUT.svg] [--force]",
    .summary = "draw the residuals of sirt and cgls over their iterations as SVG",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {1, 1, "a FILE"},
    .run = plot,
};
