/* SPDX-License-Identifier: Apache-2.0
 *
 * Which axes a dataset has follows from its shape: the group holds the positions along each axis
 * under the axis' name. Datasets of equal axes are columns of one table. What is left of a shape,
 * such as several percentiles, becomes columns beside each other.
 */
#include "program/report/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/number.h"
#include "core/path.h"
#include "io/hdf5/hdf5_slice.h"
#include "io/hdf5/hdf5_write.h"
#include "program/report/facts.h"

enum { MOST_AXES = 3, MOST_COLUMNS = 256, MOST_SPREAD = 64 };

/* ---- axes ------------------------------------------------------------------------------------ */

/* Names of datasets that hold positions along an axis, and what the axis counts. The first axis of
   several volumes comes before z, and z before others. */
static const struct axis_kind {
    const char *dataset, *counts;
    bool has_position; /* its values say more than the number of the row */
} kinds[] = {{"time", "volume", true},          {"echo", "volume", true}, {"b", "volume", true},
             {"volume", "volume", false},       {"z", "slice", true},     {"bin", "bin", false},
             {"iteration", "iteration", false}, {"look", "look", false},  {"item", "item", false}};

struct axis {
    const struct axis_kind *kind;
    const char *counts;
    const char *path, *unit;
    int64_t n;
};

struct group {
    const struct report_facts *facts;
    const struct report_stage *stage;
    struct arena *arena;
    struct axis axes[MOST_AXES];
    int n_axes;
    bool labels;
};

static const struct axis_kind *kind_of(const char *dataset)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].dataset, dataset))
            return &kinds[i];
    return NULL;
}

static const struct hdf5_listed *table_of(const struct group *group, const char *name)
{
    return ts_report_dataset(group->facts, "/entry/%s/tables/%s", group->stage->of->group, name);
}

static void find_axes(struct group *group)
{
    group->labels = table_of(group, "other_labels") != NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && group->n_axes < MOST_AXES; i++) {
        const struct hdf5_listed *found = table_of(group, kinds[i].dataset);
        const bool is_label = group->labels && !strcmp(kinds[i].dataset, "item");
        if (found && found->rank == 1)
            group->axes[group->n_axes++] =
                (struct axis){.kind = &kinds[i],
                              .counts = is_label ? "label" : kinds[i].counts,
                              .path = found->path,
                              .unit = found->units ? found->units : "",
                              .n = (int64_t)found->n[0]};
    }
}

/* Which of the group's axes a dataset has, as bits, and what is left of its shape. */
struct layout {
    unsigned axes;
    int64_t spread; /* columns; 0: the dataset is a picture or has too many */
    bool edges;     /* the last axis has one more than there are bins */
};

static struct layout layout_of(const struct group *group, const struct hdf5_listed *dataset)
{
    struct layout layout = {.spread = 1};
    const char *name = ts_base_name(dataset->path);
    const bool spreads = !strcmp(name, "percentiles");
    int next = 0;
    for (int d = 0; d < dataset->rank; d++) {
        const int64_t n = (int64_t)dataset->n[d];
        int found = spreads && d + 1 == dataset->rank ? group->n_axes : next;
        layout.edges = !strcmp(name, "edges") && d + 1 == dataset->rank;
        while (found < group->n_axes && group->axes[found].n + (layout.edges ? 1 : 0) != n)
            found++;
        if (found < group->n_axes) {
            layout.axes |= 1U << found;
            next = found + 1;
        } else {
            layout.spread = layout.spread > 1 || n > MOST_SPREAD || d + 1 < dataset->rank ? 0 : n;
            next = group->n_axes;
        }
    }
    return layout;
}

/* ---- columns --------------------------------------------------------------------------------- */

static int64_t rows_of(const struct group *group, unsigned axes)
{
    int64_t rows = 1;
    for (int a = 0; a < group->n_axes; a++)
        rows *= axes >> a & 1 ? group->axes[a].n : 1;
    return rows;
}

/* Returns the values of a new column, all NaN; NULL without memory for it. */
static double *add_column(const struct group *group, struct number_table *table, const char *name,
                          const char *unit, enum table_role role)
{
    double *values =
        name ? ts_arena_alloc(group->arena, (size_t)table->n_rows * sizeof *values + 1) : NULL;
    if (!values || table->n_columns == MOST_COLUMNS)
        return NULL;
    for (int64_t row = 0; row < table->n_rows; row++)
        values[row] = NAN;
    table->columns[table->n_columns++] =
        (struct table_column){name, unit && strcmp(unit, "1") != 0 ? unit : "", role, values};
    return values;
}

/* Returns how many rows follow each other with the same index of an axis. */
static int64_t repeats(const struct group *group, unsigned axes, int axis)
{
    int64_t n = 1;
    for (int a = axis + 1; a < group->n_axes; a++)
        n *= axes >> a & 1 ? group->axes[a].n : 1;
    return n;
}

static enum ts_status add_index(const struct group *group, unsigned axes, int axis,
                                struct number_table *table, struct ts_diag *diag)
{
    const struct axis *of = &group->axes[axis];
    const int64_t by = repeats(group, axes, axis);
    struct hdf5_numbers at = {0};
    double *index = add_column(group, table, of->counts, "", TABLE_INDEX), *position = NULL;
    enum ts_status status = TS_OK;
    if (of->kind->has_position) {
        status = ts_hdf5_read_numbers(group->facts->path, of->path, &at, diag);
        position = add_column(group, table, of->kind->dataset, of->unit, TABLE_POSITION);
    }
    if (status == TS_OK && (!index || (of->kind->has_position && !position)))
        status = ts_diag_no_memory(diag, (size_t)table->n_rows * sizeof *index);
    for (int64_t row = 0; status == TS_OK && row < table->n_rows; row++) {
        const int64_t i = row / by % of->n;
        index[row] = (double)i;
        if (position && i < at.total)
            position[row] = at.values[i];
    }
    free(at.values);
    return status;
}

/* Returns the name of one of several columns that one dataset becomes: a percentile by its
   number. */
static const char *spread_name(const struct group *group, const char *name, int64_t i,
                               const struct hdf5_numbers *percentiles)
{
    char number[48];
    if (!strcmp(name, "percentiles") && i < percentiles->total) {
        ts_real_format(percentiles->values[i], number, sizeof number);
        return ts_arena_printf(group->arena, "p%s", number);
    }
    return ts_arena_printf(group->arena, "%s_%lld", name, (long long)i);
}

/* Copies the values of a dataset into columns of its own. Those of edges become the lower and the
   upper edge of each bin. */
static enum ts_status add_values(const struct group *group, const struct hdf5_listed *dataset,
                                 const struct layout *layout, struct number_table *table,
                                 const struct hdf5_numbers *percentiles, struct ts_diag *diag)
{
    static const char *const sides[] = {"lower", "upper"};
    const char *name = ts_base_name(dataset->path);
    const int64_t columns = layout->edges ? 2 : layout->spread;
    const int64_t bins = layout->edges ? (int64_t)dataset->n[dataset->rank - 1] - 1 : 1;
    struct hdf5_numbers numbers = {0};
    enum ts_status status = ts_hdf5_read_numbers(group->facts->path, dataset->path, &numbers, diag);
    for (int64_t c = 0; status == TS_OK && c < columns; c++) {
        const char *own = ts_arena_text(group->arena, name, strlen(name));
        if (layout->edges)
            own = sides[c];
        else if (columns > 1 || !strcmp(name, "percentiles"))
            own = spread_name(group, name, c, percentiles);
        double *column = add_column(group, table, own, dataset->units, TABLE_MEASURE);
        if (!column)
            status = ts_diag_no_memory(diag, (size_t)table->n_rows * sizeof *column);
        for (int64_t row = 0; column && row < table->n_rows; row++) {
            const int64_t at =
                layout->edges ? row / bins * (bins + 1) + row % bins + c : row * layout->spread + c;
            if (at < numbers.total)
                column[row] = numbers.values[at];
        }
    }
    free(numbers.values);
    return status;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Drops the rows of labels that no pixel has. */
static void drop_empty(const struct group *group, struct number_table *table)
{
    int count = -1, label = -1;
    int64_t kept = 0;
    for (int c = 0; c < table->n_columns; c++) {
        count = strcmp(table->columns[c].name, "count") ? count : c;
        label = strcmp(table->columns[c].name, "label") ? label : c;
    }
    for (int64_t row = 0; row < table->n_rows; row++) {
        if (group->labels && label >= 0 && count >= 0 && table->columns[count].values[row] == 0)
            continue;
        for (int c = 0; c < table->n_columns; c++)
            table->columns[c].values[kept] = table->columns[c].values[row];
        kept++;
    }
    table->n_rows = kept;
}

/* Returns whether the table says no more than that no pixel has a label that is too high. */
static bool is_lone_zero(const struct number_table *table)
{
    int measures = 0;
    const struct table_column *last = NULL;
    for (int c = 0; c < table->n_columns; c++)
        if (table->columns[c].role == TABLE_MEASURE) {
            last = &table->columns[c];
            measures++;
        }
    for (int64_t row = 0; measures == 1 && row < table->n_rows; row++)
        if (last->values[row] != 0)
            return false;
    return measures == 1 && !strcmp(last->name, "other_labels");
}

static bool is_table_of(const struct group *group, const struct hdf5_listed *object)
{
    char prefix[512];
    const int length =
        snprintf(prefix, sizeof prefix, "/entry/%s/tables/", group->stage->of->group);
    const char *name = object->path + length;
    return object->kind == HDF5_DATASET && !strncmp(object->path, prefix, (size_t)length) &&
           object->type && !strchr("tc", *object->type) && object->rank <= MOST_AXES &&
           !strchr(name, '/') && !(kind_of(name) && object->rank == 1) &&
           !ts_hdf5_is_index(object->path);
}

/* Names the table after its stage. Returns false without memory. */
static bool name_table(const struct group *group, struct number_table *table)
{
    const struct report_sweep *sweep = &group->facts->sweep;
    const struct report_stage *stage = group->stage;
    const bool swept = stage->value >= 0;
    if (swept) /* that of the first value has the label of all */
        stage -= (size_t)stage->value * (group->facts->n_stages - sweep->stage) / (size_t)sweep->n;
    table->stage = table->name = *stage->of->name ? stage->of->name : stage->label;
    if (swept)
        table->stage = ts_arena_printf(group->arena, "%s[%s=%s]", table->name, sweep->param,
                                       sweep->values[group->stage->value]);
    return table->stage != NULL;
}

/* Adds the value of the sweep to each row, if it is a number. */
static enum ts_status add_value(const struct group *group, struct number_table *table,
                                struct ts_diag *diag)
{
    const struct report_sweep *sweep = &group->facts->sweep;
    double number = 0, own = 0;
    if (group->stage->value < 0)
        return TS_OK;
    for (int64_t k = 0; k < sweep->n; k++) {
        if (ts_number_real(sweep->values[k], &number))
            return TS_OK;
        own = k == group->stage->value ? number : own;
    }
    double *values = add_column(group, table, sweep->param, sweep->unit, TABLE_INDEX);
    for (int64_t row = 0; values && row < table->n_rows; row++)
        values[row] = own;
    return values ? TS_OK : ts_diag_no_memory(diag, (size_t)table->n_rows * sizeof *values);
}

/* Reads the table of all datasets of the group with these axes; NULL if there are none. */
static enum ts_status read_part(const struct group *group, unsigned axes,
                                const struct hdf5_numbers *percentiles, struct number_table **found,
                                struct ts_diag *diag)
{
    struct arena *arena = group->arena;
    struct number_table *table = ts_arena_alloc(arena, sizeof *table);
    enum ts_status status = TS_OK;
    *found = NULL;
    if (!table)
        return ts_diag_no_memory(diag, sizeof *table);
    *table = (struct number_table){.label = group->stage->label, .n_rows = rows_of(group, axes)};
    if (!name_table(group, table))
        return ts_diag_no_memory(diag, sizeof *table);
    for (const struct hdf5_listed *object = group->facts->made.objects; object;
         object = object->next) {
        const struct layout layout =
            is_table_of(group, object) ? layout_of(group, object) : (struct layout){0};
        if (status != TS_OK || layout.spread == 0 || layout.axes != axes)
            continue;
        if (!table->columns) {
            table->columns = ts_arena_alloc(arena, MOST_COLUMNS * sizeof *table->columns);
            if (!table->columns)
                return ts_diag_no_memory(diag, MOST_COLUMNS * sizeof *table->columns);
            status = add_value(group, table, diag);
            for (int a = 0; status == TS_OK && a < group->n_axes; a++)
                if (axes >> a & 1)
                    status = add_index(group, axes, a, table, diag);
        }
        if (status == TS_OK)
            status = add_values(group, object, &layout, table, percentiles, diag);
    }
    if (!table->columns)
        return status;
    drop_empty(group, table);
    if (!is_lone_zero(table))
        *found = table;
    return status;
}

static enum ts_status read_stage(const struct report_facts *facts, size_t i, struct arena *arena,
                                 struct number_table ***last, struct ts_diag *diag)
{
    struct group group = {.facts = facts, .stage = &facts->stages[i], .arena = arena};
    struct hdf5_numbers percentiles = {0};
    enum ts_status status = TS_OK;
    const struct hdf5_listed *listed =
        ts_report_dataset(facts, "/entry/%s/parameters/percentiles", group.stage->of->group);
    find_axes(&group);
    if (listed && listed->rank == 1)
        status = ts_hdf5_read_numbers(facts->path, listed->path, &percentiles, diag);
    for (unsigned axes = 0; status == TS_OK && axes < 1U << group.n_axes; axes++) {
        status = read_part(&group, axes, &percentiles, *last, diag);
        if (**last)
            *last = &(**last)->next;
    }
    free(percentiles.values);
    return status;
}

/* Copies the texts, which are the report's. Returns false without memory. */
static bool keep_texts(struct arena *arena, struct number_table *table)
{
    table->stage = ts_arena_text(arena, table->stage, strlen(table->stage));
    table->name = ts_arena_text(arena, table->name, strlen(table->name));
    table->label = ts_arena_text(arena, table->label, strlen(table->label));
    bool kept = table->stage && table->name && table->label;
    for (int c = 0; c < table->n_columns; c++) {
        struct table_column *column = &table->columns[c];
        column->name = ts_arena_text(arena, column->name, strlen(column->name));
        column->unit = ts_arena_text(arena, column->unit, strlen(column->unit));
        kept = kept && column->name && column->unit;
    }
    return kept;
}

enum ts_status ts_tables_read(const char *path, struct arena *arena, struct number_table **tables,
                              struct ts_diag *diag)
{
    struct report_facts facts;
    struct number_table **last = tables;
    *tables = NULL;
    enum ts_status status = ts_report_facts_made(path, &facts, diag);
    for (size_t i = 0; status == TS_OK && i < facts.n_stages; i++)
        status = read_stage(&facts, i, arena, &last, diag);
    for (struct number_table *table = *tables; status == TS_OK && table; table = table->next)
        if (!keep_texts(arena, table))
            status = ts_diag_no_memory(diag, sizeof *table);
    ts_report_facts_close(&facts);
    return status;
}

struct number_table *ts_tables_of(struct number_table *tables, const char *stage)
{
    struct number_table **at = &tables;
    while (*at)
        if (strcmp((*at)->stage, stage) != 0 && strcmp((*at)->name, stage) != 0 &&
            strcmp((*at)->label, stage) != 0)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    return tables;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Writes a text from a file: between quotes in CSV if it must be, without tabs in TSV. */
static void write_text(const char *text, enum tables_form form, FILE *out)
{
    char shown[1024];
    ts_text_escape(shown, sizeof shown, text);
    const bool quotes = form == TABLES_CSV && strpbrk(shown, ",\"");
    fputs(quotes ? "\"" : "", out);
    for (const char *at = shown; *at; at++) {
        if (quotes && *at == '"')
            fputc('"', out);
        fputc(*at, out);
    }
    fputs(quotes ? "\"" : "", out);
}

/* Writes a number of a column. A position has 12 digits, as many as headers state. */
static void write_number(const struct table_column *column, int64_t row, FILE *out)
{
    const double value = column->values[row];
    char text[48];
    ts_real_format(value, text, sizeof text);
    if (column->role == TABLE_POSITION)
        snprintf(text, sizeof text, "%.12g", value);
    fputs(isfinite(value) ? text : isnan(value) ? "nan" : value > 0 ? "inf" : "-inf", out);
}

/* Returns the column of a table that has the same name, unit and role, or -1. */
static int find_column(const struct number_table *table, const struct table_column *column)
{
    for (int c = 0; c < table->n_columns; c++)
        if (table->columns[c].role == column->role &&
            !strcmp(table->columns[c].name, column->name) &&
            !strcmp(table->columns[c].unit, column->unit))
            return c;
    return -1;
}

/* Lists the columns of all tables, each once; those that say which row it is come first. Returns
   their number. */
static int all_columns(const struct number_table *tables, struct table_column *columns, int most)
{
    struct number_table all = {.columns = columns};
    for (enum table_role role = TABLE_INDEX; role <= TABLE_MEASURE; role++)
        for (const struct number_table *table = tables; table; table = table->next)
            for (int c = 0; c < table->n_columns; c++)
                if (table->columns[c].role == role && all.n_columns < most &&
                    find_column(&all, &table->columns[c]) < 0)
                    columns[all.n_columns++] = table->columns[c];
    return all.n_columns;
}

static void write_rows(const struct number_table *tables, enum tables_form form, FILE *out)
{
    enum { MOST = 4 * MOST_COLUMNS };
    struct table_column columns[MOST];
    int own[MOST];
    const char *comma = form == TABLES_CSV ? "," : "\t";
    const int n = all_columns(tables, columns, MOST);
    fputs("stage", out);
    for (int c = 0; c < n; c++) {
        char head[256];
        snprintf(head, sizeof head, *columns[c].unit ? "%s (%s)" : "%s", columns[c].name,
                 columns[c].unit);
        fputs(comma, out);
        write_text(head, form, out);
    }
    for (const struct number_table *table = tables; table; table = table->next) {
        for (int c = 0; c < n; c++)
            own[c] = find_column(table, &columns[c]);
        for (int64_t row = 0; row < table->n_rows; row++) {
            fputc('\n', out);
            write_text(table->stage, form, out);
            for (int c = 0; c < n; c++) {
                fputs(comma, out);
                if (own[c] >= 0)
                    write_number(&table->columns[own[c]], row, out);
            }
        }
    }
    fputc('\n', out);
}

static void write_json(const struct number_table *tables, FILE *out)
{
    struct json json;
    ts_json_init(&json, out, true);
    ts_json_open(&json, '[');
    for (const struct number_table *table = tables; table; table = table->next) {
        ts_json_open(&json, '{');
        ts_json_member_text(&json, "stage", table->stage);
        ts_json_open_member(&json, "units", '{');
        for (int c = 0; c < table->n_columns; c++)
            if (*table->columns[c].unit)
                ts_json_member_text(&json, table->columns[c].name, table->columns[c].unit);
        ts_json_close(&json, '}');
        ts_json_open_member(&json, "rows", '[');
        for (int64_t row = 0; row < table->n_rows; row++) {
            ts_json_open(&json, '{');
            for (int c = 0; c < table->n_columns; c++)
                ts_json_member_real(&json, table->columns[c].name, table->columns[c].values[row]);
            ts_json_close(&json, '}');
        }
        ts_json_close(&json, ']');
        ts_json_close(&json, '}');
    }
    ts_json_close(&json, ']');
}

void ts_tables_write(const struct number_table *tables, enum tables_form form, FILE *out)
{
    if (form == TABLES_JSON)
        write_json(tables, out);
    else
        write_rows(tables, form, out);
}

const char ts_tables_long_head[] = "study\tstage\tlabel\tmeasure\tvalue\tunit\n";

/* Writes which row it is: the number of a label, or all indices with their names. */
static void write_row_label(const struct number_table *table, int64_t row, FILE *out)
{
    int n = 0;
    for (int c = 0; c < table->n_columns; c++)
        n += table->columns[c].role == TABLE_INDEX;
    for (int c = 0, before = 0; c < table->n_columns; c++) {
        if (table->columns[c].role != TABLE_INDEX)
            continue;
        if (n > 1 || strcmp(table->columns[c].name, "label") != 0)
            fprintf(out, "%s%s=", before++ ? " " : "", table->columns[c].name);
        write_number(&table->columns[c], row, out);
    }
}

void ts_tables_write_long(const struct number_table *tables, const char *study, FILE *out)
{
    for (const struct number_table *table = tables; table; table = table->next)
        for (int64_t row = 0; row < table->n_rows; row++)
            for (int c = 0; c < table->n_columns; c++) {
                if (table->columns[c].role != TABLE_MEASURE)
                    continue;
                write_text(study, TABLES_TSV, out);
                fputc('\t', out);
                write_text(table->stage, TABLES_TSV, out);
                fputc('\t', out);
                write_row_label(table, row, out);
                fputc('\t', out);
                write_text(table->columns[c].name, TABLES_TSV, out);
                fputc('\t', out);
                write_number(&table->columns[c], row, out);
                fputc('\t', out);
                write_text(table->columns[c].unit, TABLES_TSV, out);
                fputc('\n', out);
            }
}
