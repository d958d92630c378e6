/* SPDX-License-Identifier: Apache-2.0
 *
 * Small tables are written as numbers. A list is drawn over the positions that its stage wrote
 * beside it, such as those of slices; of a table with few columns, each column is. Of a larger
 * table, such as the histogram of each slice, the record has the shape and the range.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_slice.h"
#include "program/report/facts.h"
#include "program/report/residuals.h"

enum { MOST_TABLES = 32, MOST_LINES = 6, MOST_POINTS = 256, MOST_ITERATIONS = 1024 };

/* ---- residuals ------------------------------------------------------------------------------- */

/* Writes every by-th of n numbers. */
static void write_reals(struct json *json, const char *key, const double *values, int n, int by)
{
    ts_json_open_member(json, key, '[');
    for (int i = 0; i < n; i += by)
        ts_json_real(json, values[i]);
    ts_json_close(json, ']');
}

static enum ts_status write_residuals(const struct report_facts *facts, struct json *json,
                                      struct ts_diag *diag)
{
    struct residuals residuals = {0};
    enum ts_status status = TS_OK;
    bool there = false;
    for (size_t i = 0; i < facts->made.n_facts; i++) {
        const char *table = strstr(facts->made.facts[i].path, "/tables/residual");
        there |= table && !strcmp(table, "/tables/residual");
    }
    if (there)
        status = ts_residuals_read(facts->path, facts->arena, &residuals, diag);
    ts_json_open_member(json, "residuals", '[');
    for (int i = 0; status == TS_OK && i < residuals.n; i++) {
        const struct chart_line *line = &residuals.lines[i];
        const int by = (line->n + MOST_ITERATIONS - 1) / MOST_ITERATIONS;
        ts_json_open(json, '{');
        ts_json_member_text(json, "name", line->name);
        write_reals(json, "iteration", line->x, line->n, by);
        write_reals(json, "least", line->low, line->n, by);
        write_reals(json, "median", line->y, line->n, by);
        write_reals(json, "largest", line->high, line->n, by);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
    return status;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* These tables hold positions along axes of other tables; if several fit, the first one here is
   used. */
static const char *const positions[] = {"trial_center", "bin", "iteration", "look", "z", "item"};

/* Finds the positions of the rows of a table, in the same group of the file; NULL: there are
 * none. */
static const struct hdf5_listed *find_positions(const struct report_facts *facts, const char *path,
                                                int64_t rows)
{
    const int group = (int)(strrchr(path, '/') - path);
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
        const struct hdf5_listed *found =
            ts_report_dataset(facts, "%.*s/%s", group, path, positions[i]);
        if (found && found->rank == 1 && (int64_t)found->n[0] == rows)
            return found;
    }
    return NULL;
}

/* Writes every by-th of n values that are `stride` apart, with the digits of a float. */
static void write_floats(struct json *json, const float *values, int64_t n, int64_t by,
                         int64_t stride)
{
    ts_json_open(json, '[');
    for (int64_t i = 0; i < n; i += by) {
        char text[32];
        snprintf(text, sizeof text, "%.7g", (double)values[i * stride]);
        ts_json_real(json, strtod(text, NULL));
    }
    ts_json_close(json, ']');
}

/* Writes columns of a table over its rows; in a long one each point is the first of several
   rows. */
static void write_columns(const struct report_facts *facts, const struct hdf5_listed *object,
                          const struct hdf5_slice *table, struct json *json, struct ts_diag *diag)
{
    const bool list = table->rows == 1;
    const int64_t rows = list ? table->columns : table->rows, columns = list ? 1 : table->columns;
    const int64_t by = (rows + MOST_POINTS - 1) / MOST_POINTS;
    const struct hdf5_listed *found = find_positions(facts, object->path, rows);
    struct hdf5_slice at = {0};
    const bool read = found && ts_hdf5_read_slice(facts->path, found->path, -1, &at, diag) == TS_OK;
    ts_json_member_integer(json, "rows_per_point", by);
    if (read) {
        ts_json_open_member(json, "over", '{');
        ts_json_member_text(json, "name", strrchr(found->path, '/') + 1);
        ts_json_member_text(json, "unit", found->units);
        ts_json_key(json, "at");
        write_floats(json, at.values, rows, by, 1);
        ts_json_close(json, '}');
    }
    ts_json_open_member(json, "columns", '[');
    for (int64_t i = 0; i < columns; i++)
        write_floats(json, table->values + i, rows, by, columns);
    ts_json_close(json, ']');
    free(at.values);
}

/* Returns true for a stage's table that is not one of positions along axes of tables. */
static bool is_table(const struct hdf5_listed *object)
{
    const char *table = object->kind == HDF5_DATASET ? strstr(object->path, "/tables/") : NULL;
    for (size_t i = 0; table && i < sizeof positions / sizeof *positions; i++)
        if (!strcmp(table + strlen("/tables/"), positions[i]))
            return false;
    return table != NULL;
}

/* Returns true for a table with more numbers than the listing holds. */
static bool is_large(const struct hdf5_listed *object)
{
    const bool numbers = object->type && !strchr("tc", *object->type); /* text, compound */
    return numbers && !object->value && (object->rank == 1 || object->rank == 2);
}

static enum ts_status write_large(const struct report_facts *facts,
                                  const struct hdf5_listed *object, struct json *json,
                                  struct ts_diag *diag)
{
    struct hdf5_slice table = {0};
    double low = INFINITY, high = -INFINITY; /* of the finite values */
    const enum ts_status status = ts_hdf5_read_slice(facts->path, object->path, -1, &table, diag);
    if (status != TS_OK)
        return status;
    for (int64_t i = 0; i < table.rows * table.columns; i++) {
        const double value = (double)table.values[i];
        low = isfinite(value) ? fmin(low, value) : low;
        high = isfinite(value) ? fmax(high, value) : high;
    }
    ts_json_member_real(json, "low", low);
    ts_json_member_real(json, "high", high);
    if (low < high && (object->rank == 1 || table.columns <= MOST_LINES))
        write_columns(facts, object, &table, json, diag);
    free(table.values);
    return TS_OK;
}

enum ts_status ts_report_tables(const struct report_facts *facts, struct json *json,
                                struct ts_diag *diag)
{
    int n = 0;
    enum ts_status status = write_residuals(facts, json, diag);
    ts_json_open_member(json, "tables", '[');
    for (const struct hdf5_listed *object = facts->made.objects; status == TS_OK && object;
         object = object->next) {
        const bool large = is_large(object);
        if (!is_table(object) || !(object->value || large) || (large && n++ >= MOST_TABLES))
            continue;
        ts_json_open(json, '{');
        ts_json_member_text(json, "path", object->path);
        if (large)
            status = write_large(facts, object, json, diag);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
    ts_json_member_integer(json, "tables_left_out", n > MOST_TABLES ? n - MOST_TABLES : 0);
    return status;
}
