/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage tables` writes the numbers of a result as a table for spreadsheets and data frames.
 */
#include <string.h>

#include "core/path.h"
#include "io/file/whole_file.h"
#include "program/cli/cli.h"
#include "program/report/tables.h"

static struct arguments {
    const char *output; /* NULL: standard output */
    bool force;
} arguments;

static const struct command_option options[] = {
    {"output", 'o', OPTION_TEXT, OPTION_AT(struct arguments, output), "FILE",
     "a file .csv, .tsv or .json; default: TSV on standard output"},
    {"force", 0, OPTION_FLAG, OPTION_AT(struct arguments, force), NULL,
     "replace an existing file"}};

/* Finds the form by the suffix. */
static enum ts_status find_form(enum tables_form *form, struct ts_diag *diag)
{
    static const char *const suffixes[] = {
        [TABLES_CSV] = ".csv", [TABLES_TSV] = ".tsv", [TABLES_JSON] = ".json"};
    *form = TABLES_TSV;
    for (size_t i = 0; arguments.output && i < sizeof suffixes / sizeof *suffixes; i++)
        if (ts_ends_in(arguments.output, suffixes[i])) {
            *form = (enum tables_form)i;
            return TS_OK;
        }
    if (!arguments.output)
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "output-suffix"},
                  "'%s' has no suffix of a table", arguments.output);
    return ts_diag_hint(diag, "-o FILE.csv, FILE.tsv or FILE.json");
}

static enum ts_status write_file(const struct number_table *tables, enum tables_form form,
                                 struct ts_diag *diag)
{
    struct whole_file file;
    enum ts_status status = ts_whole_file_open(&file, arguments.output, arguments.force, diag);
    if (status != TS_OK)
        return status;
    ts_tables_write(tables, form, file.stream);
    status = ts_whole_file_close(&file, diag);
    if (status == TS_OK) {
        ts_command_written(arguments.output);
        ts_command_print_written(arguments.output);
        putchar('\n');
    }
    return status;
}

static enum ts_status write_tables(const char *path, struct arena *arena, struct ts_diag *diag)
{
    enum tables_form form;
    struct number_table *tables = NULL;
    enum ts_status status = find_form(&form, diag);
    if (status == TS_OK && arguments.output)
        status = ts_command_keep_input(arguments.output, path, diag);
    if (status == TS_OK)
        status = ts_tables_read(path, arena, &tables, diag);
    if (status == TS_OK && !tables) {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "tables-none"},
                      "no stage of %s left numbers", path);
        return ts_diag_hint(diag, "`statistics` and `histogram` in a chain leave some");
    }
    if (status == TS_OK && arguments.output)
        return write_file(tables, form, diag);
    if (status == TS_OK)
        ts_tables_write(tables, form, stdout);
    return status;
}

static int run_tables(char **operands)
{
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    struct arena *arena = ts_arena_create();
    const enum ts_status status =
        arena ? write_tables(operands[0], arena, diag) : ts_diag_no_memory(diag, sizeof diag);
    ts_arena_destroy(arena);
    return ts_command_finish_take(diag, status, false);
}

const struct command ts_cli_tables = {
    .name = "tables",
    .usage = "FILE.h5 [-o FILE.csv] [--force]",
    .summary = "write the numbers of a result as CSV, TSV or JSON: a row a label, slice or bin",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {1, 1, "a FILE"},
    .run = run_tables,
};
