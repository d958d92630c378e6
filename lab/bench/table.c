/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints a row by the table of its columns: each value is read from its place in the row's struct,
 * by its kind.
 */
#include "lab/bench/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/svg.h"
#include "io/file/whole_file.h"

/* ---- one value ------------------------------------------------------------------------------- */

static const char *text_of(const struct table_column *column, const void *at)
{
    return column->kind == COLUMN_TEXT ? *(const char *const *)at : *(const char *)at ? at : NULL;
}

static bool is_known(const struct table_column *column, const void *at)
{
    switch (column->kind) {
    case COLUMN_INTEGER:
        return *(const int64_t *)at >= 0;
    case COLUMN_REAL:
        return !isnan(*(const double *)at);
    case COLUMN_SHAPE:
        return true;
    default:
        return text_of(column, at) != NULL;
    }
}

static void format(const struct table_column *column, const void *at, char text[512])
{
    const char *unit = column->unit ? column->unit : "";
    const double scale = column->scale != 0 ? column->scale : 1;
    const int64_t *n = at;
    if (!is_known(column, at))
        snprintf(text, 512, "%s", column->unknown ? column->unknown : "-");
    else if (column->kind == COLUMN_INTEGER)
        snprintf(text, 512, "%lld", (long long)*n);
    else if (column->kind == COLUMN_SHAPE)
        snprintf(text, 512, "%lldx%lldx%lld", (long long)n[0], (long long)n[1], (long long)n[2]);
    else if (column->kind != COLUMN_REAL)
        snprintf(text, 512, "%s", text_of(column, at));
    else if (column->decimals == TABLE_SCIENTIFIC)
        snprintf(text, 512, "%.1e", scale * *(const double *)at);
    else
        snprintf(text, 512, "%.*f%s", column->decimals, scale * *(const double *)at, unit);
}

static void write_json(struct json *json, const struct table_column *column, const void *at)
{
    switch (column->kind) {
    case COLUMN_INTEGER:
        ts_json_integer(json, *(const int64_t *)at);
        break;
    case COLUMN_REAL:
        ts_json_real(json, *(const double *)at);
        break;
    case COLUMN_SHAPE:
        ts_json_open(json, '[');
        for (int i = 0; i < 3; i++)
            ts_json_integer(json, ((const int64_t *)at)[i]);
        ts_json_close(json, ']');
        break;
    case COLUMN_CHARS:
        ts_json_text(json, at);
        break;
    default:
        ts_json_text(json, text_of(column, at));
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Prints a line of the table: the heads of its columns (row NULL) or a row. Nothing stands behind
 * the last word. */
static void print_line(const struct table *table, const void *row, FILE *stream)
{
    int blanks = 0;
    for (size_t i = 0; i < table->n_columns; i++) {
        const struct table_column *column = &table->columns[i];
        char text[512];
        if (!column->head)
            continue;
        if (row)
            format(column, (const char *)row + column->offset, text);
        else
            snprintf(text, sizeof text, "%s", column->head);
        const int length = (int)strlen(text), width = abs(column->width),
                  missing = width > length ? width - length : 0;
        if (column->width > 0)
            blanks += missing;
        if (length > 0)
            fprintf(stream, "%*s%s", blanks, "", text);
        blanks = (length > 0 ? 0 : blanks) + (column->width < 0 ? missing : 0) + 1;
    }
    fputc('\n', stream);
}

/* Prints one object on a line of its own. */
static void print_json(const struct table *table, const void *row, FILE *stream)
{
    struct json json;
    ts_json_init(&json, stream, false);
    ts_json_open(&json, '{');
    for (size_t i = 0; i < table->n_columns; i++) {
        const struct table_column *column = &table->columns[i];
        const void *at = (const char *)row + column->offset;
        if (!column->key || (column->optional && !is_known(column, at)))
            continue;
        ts_json_key(&json, column->key);
        write_json(&json, column, at);
    }
    ts_json_close(&json, '}');
}

void ts_table_begin(struct table_rows *rows)
{
    if (rows->json)
        fputs("[\n", rows->stream);
    else
        print_line(rows->table, NULL, rows->stream);
}

enum ts_status ts_table_add(struct table_rows *rows, const void *row, struct ts_diag *diag)
{
    const size_t bytes = rows->table->row_bytes;
    if (rows->json) {
        fputs(rows->n ? "," : "", rows->stream);
        print_json(rows->table, row, rows->stream);
    } else {
        print_line(rows->table, row, rows->stream);
    }
    fflush(rows->stream);
    if (rows->n == rows->capacity) {
        const int capacity = 2 * rows->capacity + 64;
        void *grown = realloc(rows->rows, (size_t)capacity * bytes);
        if (!grown)
            return ts_diag_no_memory(diag, (size_t)capacity * bytes);
        rows->rows = grown;
        rows->capacity = capacity;
    }
    memcpy((char *)rows->rows + (size_t)rows->n++ * bytes, row, bytes);
    return TS_OK;
}

enum ts_status ts_table_end(struct table_rows *rows, struct ts_diag *diag)
{
    fputs(rows->json ? "]\n" : "", rows->stream);
    if (fflush(rows->stream) == 0 && !ferror(rows->stream))
        return TS_OK;
    return ts_file_failed(diag, "not-written", errno, "the rows could not be written");
}

void ts_table_clear(struct table_rows *rows)
{
    free(rows->rows);
    rows->rows = NULL;
    rows->n = rows->capacity = 0;
}

void ts_table_html(const struct table_rows *rows, FILE *page)
{
    const struct table *table = rows->table;
    fprintf(page, "<table>\n");
    for (int i = -1; i < rows->n; i++) {
        fprintf(page, "<tr>");
        for (size_t k = 0; k < table->n_columns; k++) {
            const struct table_column *column = &table->columns[k];
            char text[512];
            if (!column->head)
                continue;
            if (i >= 0)
                format(column,
                       (const char *)rows->rows + (size_t)i * table->row_bytes + column->offset,
                       text);
            fprintf(page, i < 0 ? "<th>" : "<td>");
            ts_svg_text(page, i < 0 ? column->head : text);
        }
        fprintf(page, "\n");
    }
    fprintf(page, "</table>\n");
}

enum ts_status ts_table_save(const struct table_rows *rows, const char *path, struct ts_diag *diag)
{
    struct whole_file file;
    const enum ts_status status = ts_whole_file_open(&file, path, true, diag);
    if (status != TS_OK)
        return status;
    fprintf(file.stream, "[\n");
    for (int i = 0; i < rows->n; i++) {
        fprintf(file.stream, "%s", i > 0 ? "," : "");
        print_json(rows->table, (const char *)rows->rows + (size_t)i * rows->table->row_bytes,
                   file.stream);
    }
    fprintf(file.stream, "]\n");
    return ts_whole_file_close(&file, diag);
}
