/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage plot`: draws the residuals of every iterative reconstruction that a file records, in one chart: over the
 * iterations a line for the median slice and a band from the least to the largest. A slice counts until it is done
 * (its residuals are NaN from there on), and a line ends where all slices are.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "io/hdf5/hdf5_slice.h"
#include "pipeline/cli/cli.h"
#include "pipeline/command/chart.h"

enum { MOST_CURVES = 16 };

static struct arguments {
    const char *output; /* NULL: FILE.h5.svg */
    bool force;
} arguments;

static const struct command_option options[] = {
    {"output", 'o', OPTION_TEXT, OPTION_AT(struct arguments, output), "FILE", "the picture; default FILE.h5.svg"},
    {"force", 0, OPTION_FLAG, OPTION_AT(struct arguments, force), NULL, "replace an existing picture"}};

/* Copies the residuals that the slices have after i iterations and sorts them; returns how many. */
static size_t sort_residuals(const struct hdf5_slice *table, int64_t i, float *sorted)
{
    size_t n = 0;
    for (int64_t z = 0; z < table->rows; z++) {
        const float value = table->values[z * table->columns + i];
        if (value > 0 && isfinite(value))
            sorted[n++] = value;
    }
    qsort(sorted, n, sizeof *sorted, ts_compare_floats);
    return n;
}

/* Fills in the line of a table [slice][iteration]. False where memory is out. */
static bool make_line(const struct hdf5_slice *table, struct arena *arena, struct chart_line *line)
{
    const size_t most = (size_t)table->columns;
    double *x = ts_arena_alloc(arena, (4 * most + 1) * sizeof *x), *median = x + most, *least = median + most,
           *largest = least + most;
    float *sorted = ts_arena_alloc(arena, ((size_t)table->rows + 1) * sizeof *sorted);
    *line = (struct chart_line){.x = x, .y = median, .low = least, .high = largest};
    if (!x || !sorted)
        return false;
    for (size_t i = 0, n; i < most && (n = sort_residuals(table, (int64_t)i, sorted)) > 0; i++, line->n++) {
        x[i] = (double)i;
        least[i] = (double)sorted[0];
        median[i] = (double)sorted[(n - 1) / 2];
        largest[i] = (double)sorted[n - 1];
    }
    return true;
}

/* Returns "process_2_sirt, 24 slices: median, least to largest" for "/entry/process_2_sirt/tables/residual". */
static const char *name_of(const char *dataset, int64_t slices, struct arena *arena)
{
    const char *start = strstr(dataset, "/process_"), *end = start ? strchr(start + 1, '/') : NULL;
    const char *name = end ? start + 1 : dataset;
    const int length = (int)(end ? end - name : (ptrdiff_t)strlen(name));
    return slices > 1
               ? ts_arena_printf(arena, "%.*s, %lld slices: median, least to largest", length, name, (long long)slices)
               : ts_arena_text(arena, name, (size_t)length);
}

/* Reads the residuals of one dataset into a line. `shown` receives its name as it may be printed. */
static enum ts_status read_line(const char *path, const char *dataset, struct arena *arena, struct chart_line *line,
                                const char **shown, struct ts_diag *diag)
{
    struct hdf5_slice table = {0};
    char escaped[2048];
    ts_text_escape(escaped, sizeof escaped, dataset);
    const enum ts_status status = ts_hdf5_read_slice(path, dataset, -1, &table, diag);
    bool complete = status != TS_OK || make_line(&table, arena, line);
    *shown = ts_arena_printf(arena, "%s: %lld x %lld", escaped, (long long)table.rows, (long long)table.columns);
    line->name = name_of(escaped, table.rows, arena);
    complete = complete && *shown && line->name;
    free(table.values);
    return complete ? status : ts_diag_no_memory(diag, sizeof escaped);
}

static enum ts_status plot_file(const char *path, const char *output, struct arena *arena, struct ts_diag *diag)
{
    struct chart_line lines[MOST_CURVES];
    const char **datasets, *shown[MOST_CURVES];
    size_t n = 0;
    enum ts_status status = ts_hdf5_list_datasets(path, "residual", arena, &datasets, &n, diag);
    n = n < MOST_CURVES ? n : MOST_CURVES;
    for (size_t i = 0; i < n && status == TS_OK; i++) {
        status = read_line(path, datasets[i], arena, &lines[i], &shown[i], diag);
        lines[i].color = (int)i;
    }
    const struct chart_panel panel = {.title = "",
                                      .x = {.title = "iterations", .low = 0, .high = 1},
                                      .y = {.title = "residual ||b - A x|| / ||b|| after them", .logarithmic = true},
                                      .lines = lines,
                                      .n_lines = (int)n};
    const struct chart chart = {.title = "residuals of iterative reconstruction", .panels = &panel, .n_panels = 1};
    if (status == TS_OK)
        status = ts_chart_write(&chart, output, arguments.force, diag);
    if (status == TS_OK)
        ts_command_written(output);
    for (size_t i = 0; i < n && status == TS_OK; i++)
        printf("%s\n", shown[i]);
    return status;
}

static int plot(char **operands)
{
    char name[4096];
    struct ts_diag *diag = ts_command_diag();
    struct arena *arena = ts_arena_create();
    enum ts_status status = TS_RUN_FAILED;
    snprintf(name, sizeof name, "%s.svg", operands[0]);
    if (diag)
        status = arena ? plot_file(operands[0], arguments.output ? arguments.output : name, arena, diag)
                       : ts_diag_no_memory(diag, sizeof name);
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
