/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws the rows of a study that compares methods: a panel a device and subject, in the order in
 * which they were measured, and in it a line a method, whose color is the same in every panel.
 * Lines are dashed where colors repeat.
 */
#include <string.h>

#include "core/arena.h"
#include "lab/study/study_rows.h"
#include "program/show/chart.h"

enum { MOST_LINES = 24 };

static bool same_panel(const struct study_row *a, const struct study_row *b)
{
    return !strcmp(a->device, b->device) && !strcmp(a->subject, b->subject);
}

/* Returns the number of different methods before row i, which is the color of its method if it is
 * new. */
static int color_of(const struct study_row *rows, int i)
{
    int color = 0;
    for (int k = 0; strcmp(rows[k].method, rows[i].method) != 0; k++) {
        bool first = true;
        for (int before = 0; before < k; before++)
            first = first && strcmp(rows[before].method, rows[k].method) != 0;
        color += first;
    }
    return color;
}

/* Makes the line of the rows of the panel and method of row `first`, of their times or of their
 * numbers; memory: 4 numbers a row. */
static struct chart_line line_of(const struct study_row *rows, int n, int first, bool numbers,
                                 double *memory)
{
    const double ms = 1e3;
    double *x = memory, *y = x + n, *low = y + n, *high = low + n;
    int points = 0;
    for (int i = first; i < n; i++)
        if (same_panel(&rows[i], &rows[first]) && !strcmp(rows[i].method, rows[first].method)) {
            x[points] = (double)rows[i].x;
            y[points] = numbers ? rows[i].number : ms * rows[i].seconds;
            low[points] = ms * rows[i].fastest;
            high[points++] = ms * rows[i].slowest;
        }
    return (struct chart_line){.name = rows[first].method,
                               .color = color_of(rows, first),
                               .dashed = color_of(rows, first) / CHART_COLORS % 2 == 1,
                               .points = true,
                               .n = points,
                               .x = x,
                               .y = y,
                               .low = numbers ? NULL : low,
                               .high = numbers ? NULL : high,
                               .spread = CHART_ERROR_BARS};
}

/* Returns true where no row before row i has its panel (and its method, where `line`). */
static bool is_first(const struct study_row *rows, int i, bool line)
{
    for (int k = 0; k < i; k++)
        if (same_panel(&rows[k], &rows[i]) && (!line || !strcmp(rows[k].method, rows[i].method)))
            return false;
    return true;
}

/* Makes the panel of row `first`, of times, or of numbers with this title. Returns false where
 * memory is out. */
static bool make_panel(const struct study_row *rows, int n, int first, const char *x_title,
                       const char *number_title, struct arena *arena, struct chart_panel *panel)
{
    const double y = number_title ? rows[first].number : 1e3 * rows[first].seconds;
    struct chart_line *lines = ts_arena_alloc(arena, MOST_LINES * sizeof *lines);
    char *title = ts_arena_printf(arena, "%s, %s", rows[first].device, rows[first].subject);
    int n_lines = 0;
    bool complete = lines && title;
    for (int i = first; complete && i < n && n_lines < MOST_LINES; i++)
        if (same_panel(&rows[i], &rows[first]) && is_first(rows, i, true)) {
            double *memory = ts_arena_alloc(arena, (size_t)n * 4 * sizeof *memory);
            complete = memory != NULL;
            if (complete)
                lines[n_lines++] = line_of(rows, n, i, number_title != NULL, memory);
        }
    *panel =
        (struct chart_panel){.title = title,
                             .x = {x_title, true, (double)rows[first].x, (double)rows[first].x},
                             .y = {number_title ? number_title : "time (ms)", true, y, y},
                             .lines = lines,
                             .n_lines = n_lines};
    return complete;
}

enum ts_status ts_study_plot(const struct table_rows *rows, const char *title, const char *x_title,
                             const char *path, struct ts_diag *diag)
{
    return ts_study_plot_numbers(rows, title, x_title, NULL, path, diag);
}

enum ts_status ts_study_plot_numbers(const struct table_rows *rows, const char *title,
                                     const char *x_title, const char *number_title,
                                     const char *path, struct ts_diag *diag)
{
    const struct study_row *row = rows->rows;
    struct arena *arena = ts_arena_create();
    struct chart_panel *panels =
        arena ? ts_arena_alloc(arena, ((size_t)rows->n * 2 + 1) * sizeof *panels) : NULL;
    bool complete = panels != NULL;
    int n_panels = 0;
    for (int i = 0; complete && i < rows->n; i++)
        if (is_first(row, i, false)) {
            complete = make_panel(row, rows->n, i, x_title, NULL, arena, &panels[n_panels++]);
            if (complete && number_title)
                complete =
                    make_panel(row, rows->n, i, x_title, number_title, arena, &panels[n_panels++]);
        }
    const struct chart chart = {
        .title = title, .panels = panels, .n_panels = n_panels, .columns = 2};
    const enum ts_status status = complete ? ts_chart_write(&chart, path, true, diag)
                                           : ts_diag_no_memory(diag, sizeof *panels);
    ts_arena_destroy(arena);
    return status;
}
