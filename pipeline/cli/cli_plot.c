/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage plot`: draws the residuals of every iterative reconstruction that a file records, in one chart.
 */
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_slice.h"
#include "pipeline/cli/cli.h"
#include "pipeline/cli/residual_plot.h"

static struct arguments {
    const char *output; /* NULL: FILE.h5.svg */
    bool force;
} arguments;

static const struct command_option options[] = {
    {"output", 'o', OPTION_TEXT, OPTION_AT(struct arguments, output), "FILE", "the picture; default FILE.h5.svg"},
    {"force", 0, OPTION_FLAG, OPTION_AT(struct arguments, force), NULL, "replace an existing picture"}};

/* "process_2_sirt" of "/entry/process_2_sirt/tables/residual". */
static const char *process_name(struct arena *arena, const char *dataset)
{
    const char *start = strstr(dataset, "/process_"), *end = start ? strchr(start + 1, '/') : NULL;
    return end ? ts_arena_text(arena, start + 1, (size_t)(end - start - 1)) : dataset;
}

/* The path as it may be shown; NULL where memory is out. */
static const char *escaped(struct arena *arena, const char *dataset)
{
    char shown[2048];
    ts_text_escape(shown, sizeof shown, dataset);
    return ts_arena_text(arena, shown, strlen(shown));
}

static enum ts_status plot_file(const char *path, const char *output, bool replace, struct arena *arena,
                                struct ts_diag *diag)
{
    struct hdf5_slice slices[RESIDUAL_CURVES] = {{0}};
    struct residual_curve curves[RESIDUAL_CURVES];
    const char **datasets;
    size_t n = 0;
    enum ts_status status = ts_hdf5_list_tables(path, "residual", arena, &datasets, &n, diag);
    n = n < RESIDUAL_CURVES ? n : RESIDUAL_CURVES;
    for (size_t i = 0; i < n && status == TS_OK; i++) {
        status = ts_hdf5_read_slice(path, datasets[i], -1, &slices[i], diag);
        curves[i] = (struct residual_curve){
            .slices = slices[i].rows, .iterations = slices[i].columns, .values = slices[i].values};
        const char *shown = escaped(arena, datasets[i]);
        curves[i].name = shown ? process_name(arena, shown) : NULL;
        if (!curves[i].name)
            status = ts_diag_no_memory(diag, strlen(datasets[i]));
        datasets[i] = shown;
    }
    if (status == TS_OK)
        status = ts_residual_plot(output, replace, curves, (int)n, diag);
    if (status == TS_OK)
        ts_command_written(output);
    for (size_t i = 0; i < n && status == TS_OK; i++)
        printf("%s: %lld x %lld\n", datasets[i], (long long)curves[i].slices, (long long)curves[i].iterations);
    for (size_t i = 0; i < RESIDUAL_CURVES; i++)
        free(slices[i].values);
    return status;
}

static int plot(int n, char **operands)
{
    char name[4096];
    (void)n;
    snprintf(name, sizeof name, "%s.svg", operands[0]);
    struct ts_diag *diag = ts_command_diag();
    struct arena *arena = ts_arena_create();
    if (!diag || !arena) {
        ts_arena_destroy(arena);
        return diag ? ts_command_finish_take(diag, ts_diag_no_memory(diag, sizeof name), false) : TS_RUN_FAILED;
    }
    const enum ts_status status =
        plot_file(operands[0], arguments.output ? arguments.output : name, arguments.force, arena, diag);
    ts_arena_destroy(arena);
    return ts_command_finish_take(diag, status, false);
}

const struct command ts_cli_plot = {
    .name = "plot",
    .usage = "FILE.h5 [-o OUT.svg] [--force]",
    .summary = "draw the residuals of sirt and cgls over their iterations as SVG",
    COMMAND_OPTIONS(options),
    .arguments = &arguments,
    .least = 1,
    .most = 1,
    .operand = "a FILE",
    .run = plot,
};
