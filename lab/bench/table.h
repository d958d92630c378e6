/* SPDX-License-Identifier: Apache-2.0
 *
 * This prints rows of measurements as a table for people and as JSON. The columns of a kind of row
 * are one table, which has for each value its place in the row's struct and how it is printed, so
 * that text and JSON cannot disagree.
 */
#ifndef LAB_BENCH_TABLE_H
#define LAB_BENCH_TABLE_H

#include "core/diag.h"

enum column_kind {
    COLUMN_TEXT,    /* const char *; NULL is unknown */
    COLUMN_CHARS,   /* char[]; "" is unknown, and "" in JSON too */
    COLUMN_INTEGER, /* int64_t; negative is unknown */
    COLUMN_REAL,    /* double; NaN is unknown */
    COLUMN_SHAPE    /* int64_t[3] */
};

struct table_column {
    const char *key;  /* name of the JSON member; NULL: only people see the column */
    const char *head; /* over the column; NULL: only JSON has it */
    enum column_kind kind;
    size_t offset;       /* where the value stands in a row's struct */
    int width;           /* negative: the values stand left */
    int decimals;        /* digits of a real number; TABLE_SCIENTIFIC: 1.2e-03 */
    double scale;        /* people see the number times this; 0: as it is */
    const char *unit;    /* follows the number; NULL: nothing */
    const char *unknown; /* people see this for what is unknown; NULL: "-" */
    bool optional;       /* JSON leaves out what is unknown; else it is null */
};
enum { TABLE_SCIENTIFIC = -1 };

struct table {
    const struct table_column *columns;
    size_t n_columns, row_bytes;
};
#define TABLE_OF(type, rows)                                                                       \
    {                                                                                              \
        (rows), sizeof(rows) / sizeof *(rows), sizeof(type)                                        \
    }

/* Rows of one table in the order in which they were added, each of which is printed at once. */
struct table_rows {
    const struct table *table;
    FILE *stream;
    bool json; /* prints an array of one object a row instead of a table for people */
    void *rows;
    int n, capacity;
};

/* Begins the output: the heads of the columns, or the array. */
void ts_table_begin(struct table_rows *rows);
/* Prints the row and copies it behind the others, whose addresses change. */
enum ts_status ts_table_add(struct table_rows *rows, const void *row, struct ts_diag *diag);
/* Ends the output. TS_RUN_FAILED (not-written) where any of it was lost. */
enum ts_status ts_table_end(struct table_rows *rows, struct ts_diag *diag);
/* Frees the rows. */
void ts_table_clear(struct table_rows *rows);
/* Writes all rows as a table of HTML, in the columns that people see. */
void ts_table_html(const struct table_rows *rows, FILE *page);
/* Writes an array of all rows to a file; TS_RUN_FAILED (not-written) where it cannot be written. */
enum ts_status ts_table_save(const struct table_rows *rows, const char *path, struct ts_diag *diag);

#endif
