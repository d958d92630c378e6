/* SPDX-License-Identifier: Apache-2.0
 *
 * This draws the study fan-in as a chart of six panels for each device, for sums and for tables:
 * time, speed-up and efficiency against the number of values, with as many processors as the order
 * keeps busy; and the same against the number of processors, of the most values. A color is an
 * order; a dashed line is its analytic speed-up or efficiency; error bars reach from the 10th to
 * the 90th percentile.
 */
#include <string.h>

#include "core/arena.h"
#include "lab/study/fan_in_study.h"
#include "program/show/chart.h"

enum quantity { TIME, SPEED_UP, EFFICIENCY, QUANTITIES };

/* A panel shows this; all rows of it are those of `first`'s device and work. */
struct view {
    const struct fan_in_row *rows, *first;
    int n;
    bool against_size;
    enum quantity quantity;
    int64_t most; /* values */
};

static bool shows(const struct view *view, const struct fan_in_row *row, enum fan_in_order order)
{
    return !strcmp(row->device, view->first->device) && !strcmp(row->work, view->first->work) &&
           !strcmp(row->method, ts_fan_in_orders[order]) &&
           (view->against_size ? row->own : row->n == view->most);
}

/* Makes the line of an order, of what was measured or (analytic) what should be. Returns false
 * where memory is out. */
static bool make_line(const struct view *view, enum fan_in_order order, bool analytic,
                      struct arena *arena, struct chart_line *line)
{
    const double us = 1e6;
    double *x = ts_arena_alloc(arena, ((size_t)view->n * 4 + 1) * sizeof *x), *y = x + view->n,
           *low = y + view->n, *high = low + view->n;
    int n = 0;
    for (int i = 0; x && i < view->n; i++) {
        const struct fan_in_row *row = &view->rows[i];
        const double share = view->quantity == EFFICIENCY ? 1 / (double)row->processors : 1;
        const bool time = view->quantity == TIME;
        if (!shows(view, row, order))
            continue;
        x[n] = (double)(view->against_size ? row->n : row->processors);
        y[n] = analytic ? share * row->model : time ? us * row->seconds : share * row->speed_up;
        low[n] = time ? us * row->fastest : share * row->low;
        high[n++] = time ? us * row->slowest : share * row->high;
    }
    *line = (struct chart_line){.name = ts_arena_printf(arena, "%s%s", ts_fan_in_orders[order],
                                                        analytic ? ", analytic" : ""),
                                .color = (int)order - FAN_IN_STRIDE,
                                .dashed = analytic,
                                .points = !analytic,
                                .n = n,
                                .x = x,
                                .y = y,
                                .low = analytic ? NULL : low,
                                .high = analytic ? NULL : high,
                                .spread = CHART_ERROR_BARS};
    return x && line->name;
}

/* Adjacent pairing has the analytic lines of halving with stride. */
static bool make_panel(const struct view *view, struct arena *arena, struct chart_panel *panel)
{
    static const char *const names[] = {"time (microseconds)", "speed-up", "efficiency"};
    struct chart_line *lines = ts_arena_alloc(arena, 2 * FAN_IN_ORDERS * sizeof *lines);
    const bool tables = !strcmp(view->first->work, ts_fan_in_works[FAN_IN_TABLES]);
    const char *noun = tables ? "tables" : "values";
    char *title = view->against_size
                      ? ts_arena_printf(arena, "%s, %s", view->first->device, view->first->work)
                      : ts_arena_printf(arena, "%s, %s, n = %lld", view->first->device,
                                        view->first->work, (long long)view->most);
    bool complete = lines && title;
    int n = 0;
    for (int order = FAN_IN_STRIDE; complete && order <= FAN_IN_ADJACENT; order++) {
        if (tables && order == FAN_IN_ADJACENT)
            continue;
        complete = make_line(view, (enum fan_in_order)order, false, arena, &lines[n++]);
        if (complete && view->quantity != TIME && order != FAN_IN_ADJACENT)
            complete = make_line(view, (enum fan_in_order)order, true, arena, &lines[n++]);
    }
    *panel = (struct chart_panel){.title = title,
                                  .x = {view->against_size
                                            ? ts_arena_printf(arena, "number n of %s", noun)
                                            : "processors (threads)",
                                        true, view->against_size ? (double)view->first->n : 1,
                                        view->against_size ? (double)view->first->n : 2},
                                  .y = {names[view->quantity], view->quantity != EFFICIENCY,
                                        view->quantity == EFFICIENCY ? 0 : 1, 1},
                                  .lines = lines,
                                  .n_lines = n};
    return complete && panel->x.title;
}

/* Makes the panels of the device and work of row `first`. */
static bool make_panels(const struct table_rows *rows, int first, struct arena *arena,
                        struct chart_panel *panels)
{
    const struct fan_in_row *row = rows->rows;
    struct view view = {.rows = row, .first = &row[first], .n = rows->n};
    bool complete = true;
    for (int i = first; i < rows->n && !strcmp(row[i].device, row[first].device); i++)
        if (!strcmp(row[i].work, row[first].work) && row[i].n > view.most)
            view.most = row[i].n;
    for (int i = 0; complete && i < 2 * QUANTITIES; i++) {
        view.against_size = i < QUANTITIES;
        view.quantity = (enum quantity)(i % QUANTITIES);
        complete = make_panel(&view, arena, &panels[i]);
    }
    return complete;
}

/* True where the row is the first one of a device and of a work that is drawn. */
static bool begins(const struct fan_in_row *row, int i)
{
    const bool drawn = !strcmp(row[i].work, ts_fan_in_works[FAN_IN_SUM]) ||
                       !strcmp(row[i].work, ts_fan_in_works[FAN_IN_TABLES]);
    return drawn && (i == 0 || strcmp(row[i].work, row[i - 1].work) != 0 ||
                     strcmp(row[i].device, row[i - 1].device));
}

enum ts_status ts_fan_in_plot(const struct table_rows *rows, const char *path, struct ts_diag *diag)
{
    const struct fan_in_row *row = rows->rows;
    struct arena *arena = ts_arena_create();
    int n = 0;
    for (int i = 0; i < rows->n; i++)
        n += begins(row, i) ? 2 * QUANTITIES : 0;
    struct chart_panel *panels =
        arena ? ts_arena_alloc(arena, ((size_t)n + 1) * sizeof *panels) : NULL;
    bool complete = panels != NULL;
    n = 0;
    for (int i = 0; complete && i < rows->n; i++)
        if (begins(row, i)) {
            complete = make_panels(rows, i, arena, panels + n);
            n += 2 * QUANTITIES;
        }
    const struct chart chart = {
        .title =
            "speed-up: time of one processor that takes one value or table after the other / time",
        .panels = panels,
        .n_panels = n,
        .columns = QUANTITIES};
    const enum ts_status status = complete ? ts_chart_write(&chart, path, true, diag)
                                           : ts_diag_no_memory(diag, sizeof *panels);
    ts_arena_destroy(arena);
    return status;
}
