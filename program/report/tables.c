/* SPDX-License-Identifier: Apache-2.0
 *
 * Small tables are written as numbers. A list is drawn over the positions that its stage wrote
 * beside it, such as those of slices, and a table of few columns with a line a column; a larger
 * one, such as the histogram of each slice, is named with its shape and its range.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_slice.h"
#include "program/report/html.h"
#include "program/report/parts.h"
#include "program/report/residuals.h"

enum { MOST_TABLES = 32, MOST_LINES = 6, MOST_POINTS = 256 };

static enum ts_status write_residuals(const struct report_facts *facts, FILE *stream,
                                      struct ts_diag *diag)
{
    struct residuals residuals;
    bool there = false;
    for (size_t i = 0; i < facts->made.n_facts; i++) {
        const char *table = strstr(facts->made.facts[i].path, "/tables/residual");
        there |= table && !strcmp(table, "/tables/residual");
    }
    if (!there)
        return TS_OK;
    const enum ts_status status = ts_residuals_read(facts->path, facts->arena, &residuals, diag);
    if (status != TS_OK)
        return status;
    const struct chart_panel panel = ts_residuals_panel(&residuals);
    const struct chart chart = {
        .title = "Residuals of iterative reconstruction", .panels = &panel, .n_panels = 1};
    return ts_html_chart(stream, &chart, diag);
}

/* This is a table that is read, because the listing does not hold its values. */
struct large {
    const char *title, *unit;
    struct hdf5_slice values;
    double low, high; /* of the finite values */
    bool drawn;       /* as a chart; else its range is a row of the table */
};

static void find_range(struct large *large)
{
    large->low = INFINITY;
    large->high = -INFINITY;
    for (int64_t i = 0; i < large->values.rows * large->values.columns; i++) {
        const double value = (double)large->values.values[i];
        large->low = isfinite(value) ? fmin(large->low, value) : large->low;
        large->high = isfinite(value) ? fmax(large->high, value) : large->high;
    }
}

static void write_range(const struct large *large, FILE *stream)
{
    char text[128], size[64];
    snprintf(size, sizeof size, "%lld", (long long)large->values.columns);
    if (large->values.rows > 1)
        snprintf(size, sizeof size, "%lld x %lld", (long long)large->values.rows,
                 (long long)large->values.columns);
    if (large->low < large->high)
        snprintf(text, sizeof text, "%s values from %.6g to %.6g", size, large->low, large->high);
    else if (large->low == large->high)
        snprintf(text, sizeof text, "%s values, all %.6g", size, large->low);
    else
        snprintf(text, sizeof text, "%s values, none finite", size);
    ts_html_row(stream, large->title, text, large->unit);
}

/* These tables hold positions along axes of the others. One of several that fit comes first
 * here. */
static const char *const positions[] = {"trial_center", "bin", "iteration", "look", "z", "item"};

/* Finds the positions of the rows of a table, in the same group of the file; NULL: there are
 * none. */
static const struct hdf5_listed *find_positions(const struct report_facts *facts, const char *title,
                                                int64_t rows)
{
    const int group = (int)(strrchr(title, '/') - title);
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
        const struct hdf5_listed *found =
            ts_report_dataset(facts, "/entry/%.*s/%s", group, title, positions[i]);
        if (found && found->rank == 1 && (int64_t)found->n[0] == rows)
            return found;
    }
    return NULL;
}

/* Reads the positions of the rows into x, or numbers the rows. Returns the title of the axis. */
static const char *read_positions(const struct report_facts *facts, const char *title, int64_t rows,
                                  double *x, struct ts_diag *diag)
{
    const struct hdf5_listed *found = find_positions(facts, title, rows);
    struct hdf5_slice at = {0};
    const bool read = found && ts_hdf5_read_slice(facts->path, found->path, -1, &at, diag) == TS_OK;
    for (int64_t i = 0; i < rows; i++)
        x[i] = read ? (double)at.values[i] : (double)i;
    free(at.values);
    return read ? ts_arena_printf(facts->arena, "%s / %s", strrchr(found->path, '/') + 1,
                                  found->units && *found->units ? found->units : "1")
                : "row";
}

/* Draws columns of a table over its rows; of a long one each point is the first of several rows. */
static enum ts_status draw_columns(const struct report_facts *facts, const struct large *large,
                                   FILE *stream, struct ts_diag *diag)
{
    const struct hdf5_slice *table = &large->values;
    const bool list = table->rows == 1;
    const int64_t rows = list ? table->columns : table->rows, columns = list ? 1 : table->columns;
    const int64_t by = (rows + MOST_POINTS - 1) / MOST_POINTS;
    struct chart_line lines[MOST_LINES] = {0};
    double *x = ts_arena_alloc(facts->arena, (size_t)(rows * (columns + 1)) * sizeof *x);
    if (!x)
        return ts_diag_no_memory(diag, (size_t)rows * sizeof *x);
    const char *across = read_positions(facts, large->title, rows, x, diag);
    for (int64_t i = 0; i < columns; i++) {
        double *y = x + (i + 1) * rows;
        lines[i] = (struct chart_line){.x = x, .y = y, .color = (int)i};
        lines[i].name =
            columns > 1 ? ts_arena_printf(facts->arena, "column %lld", (long long)i) : NULL;
        for (int64_t k = 0; k < rows; k += by)
            y[lines[i].n++] = (double)table->values[k * columns + i];
    }
    for (int64_t k = 0; k * by < rows; k++)
        x[k] = x[k * by];
    const struct chart_panel panel = {
        .title = "",
        .x = {.title = across, .low = x[0], .high = x[0]},
        .y = {.title = large->unit, .low = INFINITY, .high = -INFINITY},
        .lines = lines,
        .n_lines = (int)columns};
    const struct chart chart = {.title = large->title, .panels = &panel, .n_panels = 1};
    return ts_html_chart(stream, &chart, diag);
}

/* Returns the name of a stage's table, or NULL for other objects: the positions along axes of
 * tables among them. */
static const char *table_name(const struct hdf5_listed *object)
{
    const char *table = object->kind == HDF5_DATASET ? strstr(object->path, "/tables/") : NULL;
    const char *name = table ? table + strlen("/tables/") : NULL;
    for (size_t i = 0; name && i < sizeof positions / sizeof *positions; i++)
        if (!strcmp(name, positions[i]))
            return NULL;
    return name;
}

/* Returns true for a table of numbers that are too many for the listing to hold. */
static bool is_large_table(const struct hdf5_listed *object)
{
    const bool numbers = object->type && !strchr("tc", *object->type); /* text, compound */
    return table_name(object) && numbers && !object->value &&
           (object->rank == 1 || object->rank == 2);
}

static enum ts_status read_large(const struct report_facts *facts, const struct hdf5_listed *object,
                                 struct large *large, struct ts_diag *diag)
{
    const char *title = object->path + strlen("/entry/");
    *large = (struct large){.title = title, .unit = object->units ? object->units : "1"};
    const enum ts_status status =
        ts_hdf5_read_slice(facts->path, object->path, -1, &large->values, diag);
    if (status != TS_OK)
        return status;
    find_range(large);
    large->drawn =
        large->low < large->high && (object->rank == 1 || large->values.columns <= MOST_LINES);
    return TS_OK;
}

static void write_small(const struct report_facts *facts, const struct large *larges, int n,
                        FILE *stream)
{
    fputs("<table>\n", stream);
    for (const struct hdf5_listed *object = facts->made.objects; object; object = object->next)
        if (object->value && table_name(object))
            ts_html_row(stream, object->path + strlen("/entry/"), object->value, object->units);
    for (int i = 0; i < n; i++)
        if (!larges[i].drawn)
            write_range(&larges[i], stream);
    fputs("</table>\n", stream);
}

static enum ts_status write_tables(const struct report_facts *facts, struct large *larges,
                                   FILE *stream, struct ts_diag *diag)
{
    int n = 0, n_left_out = 0;
    enum ts_status status = TS_OK;
    for (const struct hdf5_listed *object = facts->made.objects; status == TS_OK && object;
         object = object->next) {
        const bool is_large = is_large_table(object);
        n_left_out += is_large && n == MOST_TABLES;
        if (is_large && n < MOST_TABLES)
            status = read_large(facts, object, &larges[n++], diag);
    }
    if (status == TS_OK)
        write_small(facts, larges, n, stream);
    fputs("<div class=\"charts\">\n", stream);
    for (int i = 0; i < n && status == TS_OK; i++)
        if (larges[i].drawn)
            status = draw_columns(facts, &larges[i], stream, diag);
    fputs("</div>\n", stream);
    if (n_left_out > 0)
        fprintf(stream, "<p>%d more tables are in the result.</p>\n", n_left_out);
    for (int i = 0; i < n; i++)
        free(larges[i].values.values);
    return status;
}

enum ts_status ts_report_tables(const struct report_facts *facts, FILE *stream,
                                struct ts_diag *diag)
{
    int n = 0;
    for (size_t i = 0; i < facts->made.n_facts; i++)
        n += ts_made_is_table(&facts->made.facts[i]);
    if (n == 0)
        return TS_OK;
    struct large *larges = ts_arena_alloc(facts->arena, MOST_TABLES * sizeof *larges);
    ts_html_section(stream, "tables", "What the stages measured");
    enum ts_status status =
        larges ? write_residuals(facts, stream, diag) : ts_diag_no_memory(diag, sizeof *larges);
    if (status == TS_OK)
        status = write_tables(facts, larges, stream, diag);
    fputs("</section>\n", stream);
    return status;
}
