/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers that stages leave in a result, as tables of one row for each label, slice, volume or
 * bin. They are read from the file's NXdata groups `tables` and written as CSV, TSV or JSON.
 */
#ifndef PROGRAM_REPORT_TABLES_H
#define PROGRAM_REPORT_TABLES_H

#include <stdio.h>

#include "core/arena.h"
#include "core/diag.h"

enum table_role {
    /* which row it is: the value of a sweep, and from 0: volume, slice, label, bin */
    TABLE_INDEX,
    TABLE_POSITION, /* where it is: z in mm */
    TABLE_MEASURE
};

struct table_column {
    const char *name, *unit; /* unit: "" if there is none */
    enum table_role role;
    double *values; /* one a row */
};

/* Rows of one stage. */
struct number_table {
    struct number_table *next;
    /* the name that the chain gives, else the label, such as "statistics#2"; of a sweep with the
       value, "statistics[radius=1]" */
    const char *stage;
    const char *name, *label; /* the first of these without the value; the label of the report */
    struct table_column *columns;
    int n_columns;
    int64_t n_rows;
};

/* Reads all tables of a result in the order of its stages; the arena owns them. A stage has one for
 * the numbers of the whole image and one for each kind of row. Labels that no pixel has are left
 * out, and so are pictures among the tables. Returns TS_BAD_INPUT if the file is damaged, or is no
 * result. */
enum ts_status ts_tables_read(const char *path, struct arena *arena, struct number_table **tables,
                              struct ts_diag *diag);
/* Removes all tables but those of a stage, by its name, of a sweep with a value or for all, or by
 * its label. */
struct number_table *ts_tables_of(struct number_table *tables, const char *stage);

enum tables_form { TABLES_CSV, TABLES_TSV, TABLES_JSON };
/* Writes all tables. CSV and TSV are one table with the columns of all, whose cells are empty if a
 * row has no such number; JSON is a list of them. */
void ts_tables_write(const struct number_table *tables, enum tables_form form, FILE *out);
/* Writes a line for each number, as TSV: study, stage, label, measure, value, unit. `label` is the
 * number of a label, or says which row it is, such as "slice=4 bin=7". */
void ts_tables_write_long(const struct number_table *tables, const char *study, FILE *out);
extern const char ts_tables_long_head[];

#endif
