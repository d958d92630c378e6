/* SPDX-License-Identifier: Apache-2.0
 *
 * A study is a path. Only lists are opened here; its plan will say if a study can be read.
 */
#include "program/batch/studies.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/memory.h"
#include "core/path.h"
#include "io/file/regular_file.h"
#include "io/sink/sink.h"
#include "pipeline/chain/formats.h"

enum { LIST_COLUMNS = 64 };

static enum ts_status studies_add(struct studies *studies, const struct batch_study *study,
                                  struct ts_diag *diag)
{
    struct batch_study *items =
        ts_memory_grow(studies->items, studies->n, &studies->capacity, sizeof *items);
    if (!items)
        return ts_diag_no_memory(diag, sizeof *items);
    studies->items = items;
    items[studies->n++] = *study;
    return TS_OK;
}

enum ts_status ts_studies_add_path(struct studies *studies, const char *path, struct ts_diag *diag)
{
    for (size_t i = 0; i < studies->n; i++)
        if (!studies->items[i].name && studies->items[i].n_sets == 0 &&
            !strcmp(studies->items[i].input, path))
            return TS_OK;
    const struct batch_study study = {.input = ts_arena_text(studies->arena, path, strlen(path))};
    return study.input ? studies_add(studies, &study, diag) : ts_diag_no_memory(diag, strlen(path));
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* A list while it is read, and the columns of its first row. A plain list has the one column
   `input`. */
struct list {
    const char *path;
    bool table;
    long line;
    char *columns[LIST_COLUMNS];
    int n_columns;
};

static enum ts_status studies_refuse(const struct list *list, struct ts_diag *diag,
                                     const char *what, const char *hint)
{
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "batch-list"}, "%s, line %ld: %s",
                  list->path, list->line, what);
    return ts_diag_hint(diag, "%s", hint);
}

/* Splits a row at its tabs, in place. Returns the number of cells, or -1 if there are too many. */
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

static enum ts_status take_header(struct studies *studies, struct list *list, char *row,
                                  struct ts_diag *diag)
{
    bool input = false;
    char *copy = ts_arena_text(studies->arena, row, strlen(row));
    if (!copy)
        return ts_diag_no_memory(diag, strlen(row));
    list->n_columns = split(copy, list->columns);
    if (list->n_columns < 0)
        return studies_refuse(list, diag, "the first row names too many columns",
                              "columns are input, perhaps output, and parameters that are set");
    for (int i = 0; i < list->n_columns; i++)
        input |= !strcmp(list->columns[i], "input");
    return input ? TS_OK
                 : studies_refuse(
                       list, diag, "the first row names no column 'input'",
                       "columns are parted by tabs: input, perhaps output, and parameters such "
                       "as box.radius");
}

/* Returns the path as seen from the list's folder. */
static const char *path_of(const struct studies *studies, const struct list *list, const char *cell)
{
    return *cell == '/'
               ? ts_arena_text(studies->arena, cell, strlen(cell))
               : ts_arena_printf(studies->arena, "%.*s%s",
                                 (int)(ts_base_name(list->path) - list->path), list->path, cell);
}

/* Returns true if a column holds paths: the path of an input, as in seg.mask, or a file. */
static bool is_path(const char *column)
{
    const char *dot = strrchr(column, '.');
    return dot && (ts_source_format_find(dot + 1) || ts_ends_in(dot, "_file"));
}

static enum ts_status take_row(struct studies *studies, const struct list *list, char *row,
                               struct ts_diag *diag)
{
    char *cells[LIST_COLUMNS] = {row};
    struct batch_study study = {0};
    const char **sets = ts_arena_alloc(studies->arena, (size_t)list->n_columns * sizeof *sets);
    bool memory = sets != NULL;
    if (list->table && split(row, cells) != list->n_columns)
        return studies_refuse(list, diag, "the row has not as many cells as the first",
                              "cells are parted by tabs");
    for (int i = 0; i < list->n_columns && memory; i++) {
        const char *text = "";
        if (!strcmp(list->columns[i], "input"))
            text = study.input = path_of(studies, list, cells[i]);
        else if (*cells[i] && !strcmp(list->columns[i], "output"))
            text = study.name = ts_arena_text(studies->arena, cells[i], strlen(cells[i]));
        else if (*cells[i])
            text = sets[study.n_sets++] = ts_arena_printf(
                studies->arena, "%s=%s", list->columns[i],
                is_path(list->columns[i]) ? path_of(studies, list, cells[i]) : cells[i]);
        memory = text != NULL;
    }
    if (!memory)
        return ts_diag_no_memory(diag, strlen(row));
    study.sets = sets;
    return *ts_base_name(study.input) || strlen(study.input) > 1
               ? studies_add(studies, &study, diag)
               : studies_refuse(list, diag, "the row names no input", "a path is expected");
}

static enum ts_status read_list(struct studies *studies, struct list *list, FILE *file,
                                struct ts_diag *diag)
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

static enum ts_status add_list(struct studies *studies, const char *path, bool table,
                               struct ts_diag *diag)
{
    struct list list = {
        .path = path, .table = table, .columns = {"input"}, .n_columns = table ? 0 : 1};
    struct stat found;
    char reason[512];
    const size_t before = studies->n;
    const int fd = ts_regular_file_open(path, &found, reason, sizeof reason);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file)
        return ts_diag_error(diag, TS_BAD_INPUT,
                             &(struct diag_site){.code = "batch-list-unreadable"}, "%s %s", path,
                             fd < 0 ? reason : "cannot be read");
    const enum ts_status status = read_list(studies, &list, file, diag);
    fclose(file);
    if (status == TS_OK && studies->n == before)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "batch-no-study"},
                             "%s names no study", path);
    return status;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Adds what matches a pattern; also a folder in whose own name the pattern's characters occur. */
static enum ts_status add_pattern(struct studies *studies, const char *pattern, bool there,
                                  struct ts_diag *diag)
{
    glob_t found;
    enum ts_status status = TS_OK;
    const bool fits = glob(pattern, 0, NULL, &found) == 0;
    if (!fits && !there) {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "batch-no-study"},
                      "nothing fits '%s'", pattern);
        return ts_diag_hint(diag, "a folder of studies is given as 'FOLDER/*'");
    }
    if (there)
        status = ts_studies_add_path(studies, pattern, diag);
    for (size_t i = 0; fits && i < found.gl_pathc && status == TS_OK; i++)
        status = ts_studies_add_path(studies, found.gl_pathv[i], diag);
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
    if (there && S_ISREG(found.st_mode) && suffix &&
        (!strcmp(suffix, ".txt") || !strcmp(suffix, ".tsv")))
        return add_list(studies, operand, !strcmp(suffix, ".tsv"), diag);
    return ts_studies_add_path(studies, operand, diag);
}

/* ---- names of outputs ------------------------------------------------------------------------ */

/* Names of outputs are compared without regard to case, because some file systems do so. Collisions
   are found by sorting. Studies of one name are told apart by digits that depend only on the study,
   so that a study has the same output in every list in which its name collides. */

enum { DIGITS = 8 };

/* Writes the path without slashes at its end. A path that ends in no name (".", "a/..") becomes the
   absolute one; a link keeps the name that the user sees. */
static const char *named_path(const struct batch_study *study, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s", study->input);
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    const char *name = ts_base_name(path);
    if (*name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
        return path;
    return realpath(study->input, path) ? path : study->input;
}

/* Returns the study's name without the suffixes of a file; NULL if memory is out. Characters that
   might control a terminal, and a leading dot, become underscores. */
static char *own_name(const struct batch_study *study, struct arena *arena)
{
    char path[PATH_MAX], name[NAME_MAX + 1];
    struct stat found;
    const char *input = named_path(study, path);
    const bool is_file = stat(input, &found) != 0 || S_ISREG(found.st_mode);
    snprintf(name, sizeof name, "%s", *ts_base_name(input) ? ts_base_name(input) : "study");
    for (char *dot = strrchr(name, '.'), *last = NULL; is_file && dot && dot > name && !last;
         dot = strrchr(name, '.')) {
        last = strcmp(dot, ".gz") != 0 ? dot : NULL;
        *dot = '\0';
    }
    name[0] = name[0] == '.' ? '_' : name[0];
    for (char *at = name; *at; at++)
        *at = (unsigned char)*at < ' ' || *at == 0x7F ? '_' : *at;
    return ts_arena_text(arena, name, strlen(name));
}

/* Returns the name with digits of the digest of the study's absolute path and parameters; NULL if
 * it fails. */
static char *distinct_name(const struct batch_study *study, struct arena *arena)
{
    char path[PATH_MAX], text[DIGEST_TEXT_BYTES];
    const char *input = realpath(study->input, path) ? path : study->input;
    struct digest *digest = ts_digest_create();
    bool ok = digest && ts_digest_add(digest, input, strlen(input) + 1);
    for (int i = 0; i < study->n_sets && ok; i++)
        ok = ts_digest_add(digest, study->sets[i], strlen(study->sets[i]) + 1);
    ok = ok && ts_digest_end(digest, text);
    ts_digest_destroy(digest);
    return ok ? ts_arena_printf(arena, "%s-%.*s", study->name, DIGITS, text) : NULL;
}

static int by_name(const void *a, const void *b)
{
    const struct batch_study *const *first = a, *const *second = b;
    return strcasecmp((*first)->name, (*second)->name);
}

/* Sorts the n studies by name, and sets equal[i] to 1 if the name occurs more than once. */
static void find_equal(struct batch_study **sorted, unsigned char *equal, size_t n)
{
    qsort(sorted, n, sizeof(struct batch_study *), by_name);
    memset(equal, 0, n);
    for (size_t i = 1; i < n; i++)
        if (!strcasecmp(sorted[i - 1]->name, sorted[i]->name))
            equal[i - 1] = equal[i] = 1;
}

static enum ts_status name_all(struct studies *studies, struct batch_study **sorted,
                               unsigned char *equal, struct ts_diag *diag)
{
    size_t n = 0;
    bool memory = true;
    for (size_t i = 0; i < studies->n; i++)
        if (!studies->items[i].name) {
            sorted[n] = &studies->items[i];
            sorted[n]->name = own_name(sorted[n], studies->arena);
            if (!sorted[n++]->name)
                return ts_diag_no_memory(diag, NAME_MAX);
        }
    find_equal(sorted, equal, n);
    for (size_t i = 0; i < n && memory; i++)
        if (equal[i])
            memory = (sorted[i]->name = distinct_name(sorted[i], studies->arena)) != NULL;
    for (size_t i = 0; i < studies->n && memory; i++) {
        struct batch_study *study = &studies->items[i];
        if (!ts_sink_is_hdf5(study->name))
            memory = (study->name = ts_arena_printf(studies->arena, "%s.h5", study->name)) != NULL;
        sorted[i] = study;
    }
    return memory ? TS_OK : ts_diag_no_memory(diag, NAME_MAX);
}

static enum ts_status refuse_equal(struct batch_study **sorted, unsigned char *equal, size_t n,
                                   struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    find_equal(sorted, equal, n);
    for (size_t i = 1; i < n; i++)
        if (equal[i] && !strcasecmp(sorted[i - 1]->name, sorted[i]->name)) {
            status =
                ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "batch-same-output"},
                              "%s and %s would both be written to %s", sorted[i - 1]->input,
                              sorted[i]->input, sorted[i]->name);
            ts_diag_hint(
                diag,
                "a study stands twice in the list, or its column 'output' names a result twice");
        }
    return status;
}

enum ts_status ts_studies_name(struct studies *studies, const char *folder, struct ts_diag *diag)
{
    struct batch_study **sorted = malloc((studies->n + 1) * sizeof *sorted);
    unsigned char *equal = malloc(studies->n + 1);
    enum ts_status status =
        sorted && equal ? TS_OK : ts_diag_no_memory(diag, studies->n * sizeof *sorted);
    for (size_t i = 0; i < studies->n && status == TS_OK; i++) {
        const char *name = studies->items[i].name;
        if (name && (strchr(name, '/') || *name == '.'))
            status = ts_diag_error(
                diag, TS_BAD_CHAIN, &(struct diag_site){.code = "batch-output-name"},
                "'%s' is no plain file name for the result of %s", name, studies->items[i].input);
    }
    if (status == TS_OK)
        status = name_all(studies, sorted, equal, diag);
    if (status == TS_OK)
        status = refuse_equal(sorted, equal, studies->n, diag);
    for (size_t i = 0; i < studies->n && status == TS_OK; i++) {
        struct batch_study *study = &studies->items[i];
        study->output = ts_arena_printf(studies->arena, "%s/%s", folder, study->name);
        status = study->output ? TS_OK : ts_diag_no_memory(diag, NAME_MAX);
    }
    free(sorted);
    free(equal);
    return status;
}
