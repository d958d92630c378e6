/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws for each iteration a line through the median of the slices and a band from the smallest to
 * the largest. A slice counts until it is done (its residuals are NaN from then on), and a line
 * ends when all slices are done.
 */
#include "program/report/residuals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "io/hdf5/hdf5_slice.h"

/* Copies the residuals of the slices after i iterations, sorts them, and returns how many there
   are. */
static size_t sort_residuals(const struct hdf5_slice *table, int64_t i, float *sorted)
{
    size_t n = 0;
    for (int64_t z = 0; z < table->rows; z++) {
        const float value = table->values[z * table->columns + i];
        if (value > 0 && isfinite(value))
            sorted[n++] = value;
    }
    qsort(sorted, n, sizeof *sorted, ts_compare_floats);
    return n;
}

/* Makes the line of a table [slice][iteration]. Returns false if memory is out. */
static bool make_line(const struct hdf5_slice *table, struct arena *arena, struct chart_line *line)
{
    const size_t most = (size_t)table->columns;
    double *x = ts_arena_alloc(arena, (4 * most + 1) * sizeof *x), *median = x + most,
           *least = median + most, *largest = least + most;
    float *sorted = ts_arena_alloc(arena, ((size_t)table->rows + 1) * sizeof *sorted);
    *line = (struct chart_line){.x = x, .y = median, .low = least, .high = largest};
    if (!x || !sorted)
        return false;
    for (size_t i = 0, n; i < most && (n = sort_residuals(table, (int64_t)i, sorted)) > 0;
         i++, line->n++) {
        x[i] = (double)i;
        least[i] = (double)sorted[0];
        median[i] = (double)sorted[(n - 1) / 2];
        largest[i] = (double)sorted[n - 1];
    }
    return true;
}

/* Returns "process_2_sirt, 24 slices: median, least to largest" for
 * "/entry/process_2_sirt/tables/residual". */
static const char *name_of(const char *dataset, int64_t slices, struct arena *arena)
{
    const char *start = strstr(dataset, "/process_"), *end = start ? strchr(start + 1, '/') : NULL;
    const char *name = end ? start + 1 : dataset;
    const int length = (int)(end ? end - name : (ptrdiff_t)strlen(name));
    return slices > 1 ? ts_arena_printf(arena, "%.*s, %lld slices: median, least to largest",
                                        length, name, (long long)slices)
                      : ts_arena_text(arena, name, (size_t)length);
}

/* Reads the residuals of one dataset into a line. `shown` gets its name in printable form. */
static enum ts_status read_line(const char *path, const char *dataset, struct arena *arena,
                                struct chart_line *line, const char **shown, struct ts_diag *diag)
{
    struct hdf5_slice table = {0};
    char escaped[2048];
    ts_text_escape(escaped, sizeof escaped, dataset);
    const enum ts_status status = ts_hdf5_read_slice(path, dataset, -1, &table, diag);
    bool complete = status != TS_OK || make_line(&table, arena, line);
    *shown = ts_arena_printf(arena, "%s: %lld x %lld", escaped, (long long)table.rows,
                             (long long)table.columns);
    line->name = name_of(escaped, table.rows, arena);
    complete = complete && *shown && line->name;
    free(table.values);
    return complete ? status : ts_diag_no_memory(diag, sizeof escaped);
}

enum ts_status ts_residuals_read(const char *path, struct arena *arena, struct residuals *residuals,
                                 struct ts_diag *diag)
{
    const char **datasets;
    size_t n = 0;
    *residuals = (struct residuals){0};
    enum ts_status status = ts_hdf5_list_datasets(path, "residual", arena, &datasets, &n, diag);
    n = n < RESIDUALS_MOST ? n : RESIDUALS_MOST;
    for (size_t i = 0; i < n && status == TS_OK; i++) {
        status =
            read_line(path, datasets[i], arena, &residuals->lines[i], &residuals->shown[i], diag);
        residuals->lines[i].color = (int)i;
        residuals->n++;
    }
    return status;
}
