/* SPDX-License-Identifier: Apache-2.0
 *
 * This draws the study fan-in as a chart: for each device and work speed-up (both axes logarithmic; gray: as many times
 * as there are processors) and efficiency against the number of processors, beside each other. A color is a size, a
 * dashed line two-level; error bars reach from the 10th to the 90th percentile.
 */
#include <math.h>
#include <string.h>

#include "core/arena.h"
#include "pipeline/command/chart.h"
#include "pipeline/study/fan_in_study.h"

/* All lines of one panel, and the numbers of all of them. */
enum { MOST_LINES = 16, GRAY_POINTS = 2 };

static bool same_panel(const struct fan_in_row *a, const struct fan_in_row *b)
{
    return !strcmp(a->device, b->device) && !strcmp(a->work, b->work);
}

static bool same_line(const struct fan_in_row *a, const struct fan_in_row *b)
{
    return a->n == b->n && !strcmp(a->method, b->method);
}

/* Returns the line of the n rows from `rows` on; memory: 4 n numbers. */
static struct chart_line line_of(const struct fan_in_row *rows, int n, bool efficiency, double *memory)
{
    double *x = memory, *y = x + n, *low = y + n, *high = low + n;
    for (int i = 0; i < n; i++) {
        const double share = efficiency ? 1 / (double)rows[i].processors : 1;
        x[i] = (double)rows[i].processors;
        y[i] = share * rows[i].speed_up;
        low[i] = share * rows[i].low;
        high[i] = share * rows[i].high;
    }
    return (struct chart_line){.dashed = !strcmp(rows->method, "two-level"),
                               .points = true,
                               .n = n,
                               .x = x,
                               .y = y,
                               .low = low,
                               .high = high,
                               .spread = CHART_ERROR_BARS};
}

/* Makes the panel of the n rows of one device and work. Returns false where memory is out. */
static bool make_panel(const struct fan_in_row *rows, int n, bool efficiency, struct arena *arena,
                       struct chart_panel *panel)
{
    struct chart_line *lines = ts_arena_alloc(arena, MOST_LINES * sizeof *lines);
    double *memory = ts_arena_alloc(arena, ((size_t)n * 4 + 2 * GRAY_POINTS) * sizeof *memory), most = 1, fastest = 1;
    char *title = ts_arena_printf(arena, "%s, %s", rows->device, rows->work);
    int n_lines = 1, color = -1;
    if (!lines || !memory || !title)
        return false;
    for (int first = 0, end; first < n && n_lines < MOST_LINES; first = end) {
        color += first == 0 || rows[first].n != rows[first - 1].n;
        for (end = first; end < n && same_line(&rows[first], &rows[end]); end++) {
            most = fmax(most, (double)rows[end].processors);
            fastest = fmax(fastest, rows[end].speed_up);
        }
        lines[n_lines] = line_of(&rows[first], end - first, efficiency, memory + 4 * first);
        lines[n_lines].color = color;
        lines[n_lines++].name = ts_arena_printf(arena, "n = %lld, %s", (long long)rows[first].n, rows[first].method);
    }
    double *gray = memory + 4 * n;
    gray[0] = gray[2] = 1;
    gray[1] = efficiency ? most : fmin(most, fastest);
    gray[3] = efficiency ? 1 : gray[1];
    lines[0] =
        (struct chart_line){.name = "efficiency 1", .color = CHART_GRAY, .n = GRAY_POINTS, .x = gray, .y = gray + 2};
    *panel = (struct chart_panel){.title = title,
                                  .x = {"processors (threads)", true, 1, 2},
                                  .y = {efficiency ? "efficiency" : "speed-up", !efficiency, efficiency ? 0 : 1, 1},
                                  .lines = lines,
                                  .n_lines = n_lines};
    return true;
}

enum ts_status ts_fan_in_plot(const struct table_rows *rows, const char *path, struct ts_diag *diag)
{
    const struct fan_in_row *row = rows->rows;
    struct arena *arena = ts_arena_create();
    struct chart_panel *panels = arena ? ts_arena_alloc(arena, ((size_t)rows->n * 2 + 1) * sizeof *panels) : NULL;
    bool complete = panels != NULL;
    int n_panels = 0;
    for (int first = 0, end; complete && first < rows->n; first = end) {
        for (end = first; end < rows->n && same_panel(&row[first], &row[end]);)
            end++;
        for (int efficiency = 0; complete && efficiency < 2; efficiency++)
            complete = make_panel(&row[first], end - first, efficiency, arena, &panels[n_panels++]);
    }
    const struct chart chart = {
        .title = "speed-up: time of one processor that takes one value or table after the other / time",
        .panels = panels,
        .n_panels = n_panels,
        .columns = 2};
    const enum ts_status status =
        complete ? ts_chart_write(&chart, path, true, diag) : ts_diag_no_memory(diag, sizeof *panels);
    ts_arena_destroy(arena);
    return status;
}
