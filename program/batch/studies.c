/* SPDX-License-Identifier: Apache-2.0
 *
 * A study is a path; only lists are opened here. Whether it can be read is for its plan to say.
 */
#include "program/batch/studies.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/memory.h"
#include "core/path.h"
#include "io/file/regular_file.h"

enum { LIST_COLUMNS = 64 };

static enum ts_status add(struct studies *studies, const struct batch_study *study, struct ts_diag *diag)
{
    struct batch_study *items = ts_memory_grow(studies->items, studies->n, &studies->capacity, sizeof *items);
    if (!items)
        return ts_diag_no_memory(diag, sizeof *items);
    studies->items = items;
    items[studies->n++] = *study;
    return TS_OK;
}

/* Adds a path of the command line. One that a pattern has added before, or the shell, is not added twice. */
static enum ts_status add_path(struct studies *studies, const char *path, struct ts_diag *diag)
{
    for (size_t i = 0; i < studies->n; i++)
        if (!studies->items[i].name && studies->items[i].n_sets == 0 && !strcmp(studies->items[i].input, path))
            return TS_OK;
    const struct batch_study study = {.input = ts_arena_text(studies->arena, path, strlen(path))};
    return study.input ? add(studies, &study, diag) : ts_diag_no_memory(diag, strlen(path));
}

/* ---- lists ------------------------------------------------------------------------------------- */

/* A list that is being read, and the columns of its first row; a plain list has the one column `input`. */
struct list {
    const char *path;
    bool table;
    long line;
    char *columns[LIST_COLUMNS];
    int n_columns;
};

static enum ts_status refuse(const struct list *list, struct ts_diag *diag, const char *what, const char *hint)
{
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "batch-list"}, "%s, line %ld: %s", list->path,
                  list->line, what);
    return ts_diag_hint(diag, "%s", hint);
}

/* Parts a row at its tabs, in place. Returns the number of cells, or -1 where there are too many. */
static int split(char *row, char *cells[LIST_COLUMNS])
{
    int n = 0;
    for (char *cell; (cell = strsep(&row, "\t"));) {
        if (n == LIST_COLUMNS)
            return -1;
        cells[n++] = cell;
    }
    return n;
}

static enum ts_status take_header(struct studies *studies, struct list *list, char *row, struct ts_diag *diag)
{
    bool input = false;
    char *copy = ts_arena_text(studies->arena, row, strlen(row));
    if (!copy)
        return ts_diag_no_memory(diag, strlen(row));
    list->n_columns = split(copy, list->columns);
    for (int i = 0; i < list->n_columns; i++)
        input |= !strcmp(list->columns[i], "input");
    return input ? TS_OK
                 : refuse(list, diag, "the first row names no column 'input'",
                          "columns are parted by tabs: input, perhaps output, and parameters such as box.radius");
}

/* Returns the path as seen from the list's folder. */
static const char *path_of(const struct studies *studies, const struct list *list, const char *cell)
{
    return *cell == '/' ? ts_arena_text(studies->arena, cell, strlen(cell))
                        : ts_arena_printf(studies->arena, "%.*s%s", (int)(ts_base_name(list->path) - list->path),
                                          list->path, cell);
}

static enum ts_status take_row(struct studies *studies, const struct list *list, char *row, struct ts_diag *diag)
{
    char *cells[LIST_COLUMNS] = {row};
    struct batch_study study = {0};
    const char **sets = ts_arena_alloc(studies->arena, (size_t)list->n_columns * sizeof *sets);
    bool memory = sets != NULL;
    if (list->table && split(row, cells) != list->n_columns)
        return refuse(list, diag, "the row has not as many cells as the first", "cells are parted by tabs");
    for (int i = 0; i < list->n_columns && memory; i++) {
        const char *text = "";
        if (!strcmp(list->columns[i], "input"))
            text = study.input = path_of(studies, list, cells[i]);
        else if (*cells[i] && !strcmp(list->columns[i], "output"))
            text = study.name = ts_arena_text(studies->arena, cells[i], strlen(cells[i]));
        else if (*cells[i])
            text = sets[study.n_sets++] = ts_arena_printf(studies->arena, "%s=%s", list->columns[i], cells[i]);
        memory = text != NULL;
    }
    if (!memory)
        return ts_diag_no_memory(diag, strlen(row));
    study.sets = sets;
    return *ts_base_name(study.input) || strlen(study.input) > 1
               ? add(studies, &study, diag)
               : refuse(list, diag, "the row names no input", "a path is expected");
}

static enum ts_status read_list(struct studies *studies, struct list *list, FILE *file, struct ts_diag *diag)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    enum ts_status status = TS_OK;
    char *buffer = NULL;
    size_t capacity = 0;
    for (ssize_t length; status == TS_OK && (length = getline(&buffer, &capacity, file)) >= 0;) {
        char *row = buffer;
        if (list->line++ == 0 && !strncmp(row, byte_order_mark, strlen(byte_order_mark)))
            row += strlen(byte_order_mark);
        row[strcspn(row, "\r\n")] = '\0';
        if (!*row || *row == '#')
            continue;
        status = list->table && list->n_columns == 0 ? take_header(studies, list, row, diag)
                                                     : take_row(studies, list, row, diag);
    }
    free(buffer);
    return status;
}

static enum ts_status add_list(struct studies *studies, const char *path, bool table, struct ts_diag *diag)
{
    struct list list = {.path = path, .table = table, .columns = {"input"}, .n_columns = table ? 0 : 1};
    struct stat found;
    char reason[512];
    const size_t before = studies->n;
    const int fd = ts_regular_file_open(path, &found, reason, sizeof reason);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "batch-list-unreadable"}, "%s %s", path,
                             fd < 0 ? reason : "cannot be read");
    const enum ts_status status = read_list(studies, &list, file, diag);
    fclose(file);
    if (status == TS_OK && studies->n == before)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "batch-no-study"}, "%s names no study",
                             path);
    return status;
}

/* ---- operands ---------------------------------------------------------------------------------- */

/* Adds what fits a pattern, and a folder that has the pattern's characters in its own name. */
static enum ts_status add_pattern(struct studies *studies, const char *pattern, bool there, struct ts_diag *diag)
{
    glob_t found;
    enum ts_status status = TS_OK;
    const bool fits = glob(pattern, 0, NULL, &found) == 0;
    if (!fits && !there) {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "batch-no-study"}, "nothing fits '%s'", pattern);
        return ts_diag_hint(diag, "a folder of studies is given as 'FOLDER/*'");
    }
    if (there)
        status = add_path(studies, pattern, diag);
    for (size_t i = 0; fits && i < found.gl_pathc && status == TS_OK; i++)
        status = add_path(studies, found.gl_pathv[i], diag);
    if (fits)
        globfree(&found);
    return status;
}

enum ts_status ts_studies_add(struct studies *studies, const char *operand, struct ts_diag *diag)
{
    struct stat found;
    const bool there = stat(operand, &found) == 0;
    const char *suffix = strrchr(ts_base_name(operand), '.');
    if (strpbrk(operand, "*?["))
        return add_pattern(studies, operand, there, diag);
    if (there && S_ISREG(found.st_mode) && suffix && (!strcmp(suffix, ".txt") || !strcmp(suffix, ".tsv")))
        return add_list(studies, operand, !strcmp(suffix, ".tsv"), diag);
    return add_path(studies, operand, diag);
}
