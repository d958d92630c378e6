/* SPDX-License-Identifier: Apache-2.0
 *
 * Residuals over iterations: a line for the median slice and a band from the least to the largest. An iteration counts
 * the slices that were not done before it; a curve ends where there are none.
 */
#include "pipeline/cli/residual_plot.h"

#include <math.h>
#include <stdlib.h>

#include "pipeline/command/chart.h"

/* The numbers of one curve: 4 series of as many values as there are iterations. */
struct series {
    double *x, *median, *least, *largest;
};

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Fills in iteration i; `sorted` is scratch space for a number of each slice. False where no slice has a residual. */
static bool spread_of(const struct residual_curve *curve, int64_t i, float *sorted, struct series *series)
{
    size_t n = 0;
    for (int64_t z = 0; z < curve->slices; z++) {
        const float value = curve->values[z * curve->iterations + i];
        if (value > 0 && isfinite(value))
            sorted[n++] = value;
    }
    if (n == 0)
        return false;
    qsort(sorted, n, sizeof *sorted, compare_floats);
    series->x[i] = (double)i;
    series->least[i] = (double)sorted[0];
    series->median[i] = (double)sorted[(n - 1) / 2];
    series->largest[i] = (double)sorted[n - 1];
    return true;
}

/* Makes the line of a curve, whose numbers are in line->x until free(). */
static enum ts_status line_of(const struct residual_curve *curve, int color, char name[256], struct chart_line *line,
                              struct ts_diag *diag)
{
    const size_t iterations = (size_t)curve->iterations;
    double *numbers = malloc((4 * iterations + 1) * sizeof *numbers);
    float *sorted = malloc(((size_t)curve->slices + 1) * sizeof *sorted);
    struct series series = {numbers, numbers + iterations, numbers + 2 * iterations, numbers + 3 * iterations};
    int n = 0;
    if (numbers && sorted)
        while (n < curve->iterations && spread_of(curve, n, sorted, &series))
            n++;
    if (curve->slices > 1)
        snprintf(name, 256, "%s, %lld slices: median, least to largest", curve->name, (long long)curve->slices);
    else
        snprintf(name, 256, "%s", curve->name);
    *line = (struct chart_line){.name = name, .color = color, .n = n, .x = numbers, .y = series.median};
    line->low = series.least;
    line->high = series.largest;
    const bool complete = numbers && sorted;
    free(sorted);
    return complete ? TS_OK : ts_diag_no_memory(diag, 4 * iterations * sizeof *numbers);
}

enum ts_status ts_residual_plot(const char *path, bool replace, const struct residual_curve *curves, int n,
                                struct ts_diag *diag)
{
    struct chart_line lines[RESIDUAL_CURVES] = {{0}};
    char names[RESIDUAL_CURVES][256];
    enum ts_status status = TS_OK;
    for (int c = 0; c < n && status == TS_OK; c++)
        status = line_of(&curves[c], c, names[c], &lines[c], diag);
    const struct chart_panel panel = {.title = "",
                                      .x = {.title = "iterations", .low = 0, .high = 1},
                                      .y = {.title = "residual ||b - A x|| / ||b|| after them", .logarithmic = true},
                                      .lines = lines,
                                      .n_lines = n};
    const struct chart chart = {.title = "residuals of iterative reconstruction", .panels = &panel, .n_panels = 1};
    if (status == TS_OK)
        status = ts_chart_write(&chart, path, replace, diag);
    for (int c = 0; c < n; c++)
        free((void *)(uintptr_t)lines[c].x);
    return status;
}
