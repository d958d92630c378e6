/* SPDX-License-Identifier: Apache-2.0
 *
 * To which series a file may have belonged that cannot say so: one without a readable header, or with a header so far
 * damaged that its Series Instance UID belongs to no whole file. Two things are asked. The place: the series that have
 * several slices in its folder. The name: the series, wherever they are, of which a slice has the same name but for
 * numbers and extensions. Where some series answer to both, it counts for these; else for those that answer to one; and
 * for every series where nothing can be told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/search.h"
#include "io/dicom/dicom_non_images.h"

enum { STEM_BYTES = 64, NO_FOLDER = -1 };

/* That a series has n slices in `folder`, or, where `stem` is not empty, slices of that name. */
struct mark {
    int folder;
    char stem[STEM_BYTES];
    size_t series, n;
};

struct marks {
    struct mark *items;
    size_t n, capacity;
};

struct range {
    const struct mark *first, *end;
};

/* The order of marks by folder and name; those of one folder and name stand in the order of their series. */
static int compare_keys(const void *a, const void *b)
{
    const struct mark *first = a, *second = b;
    return first->folder != second->folder ? (first->folder < second->folder ? -1 : 1)
                                           : strcmp(first->stem, second->stem);
}

static int compare_marks(const void *a, const void *b)
{
    const struct mark *first = a, *second = b;
    const int order = compare_keys(a, b);
    return order ? order : (first->series > second->series) - (first->series < second->series);
}

/* Neighbors are mostly alike, so that the list stays short. */
static bool add_mark(struct marks *marks, int folder, const char *stem, size_t series)
{
    struct mark mark = {.folder = folder, .series = series, .n = 1};
    snprintf(mark.stem, sizeof mark.stem, "%s", stem);
    for (size_t i = marks->n; i > 0 && i + 4 > marks->n; i--) {
        if (compare_marks(&marks->items[i - 1], &mark) == 0) {
            marks->items[i - 1].n++;
            return true;
        }
    }
    struct mark *grown = ts_memory_grow(marks->items, marks->n, &marks->capacity, sizeof *grown);
    if (!grown)
        return false;
    marks->items = grown;
    marks->items[marks->n++] = mark;
    return true;
}

static bool mark_slices(struct marks *marks, const struct dicom_series *series, size_t n_series)
{
    bool ok = true;
    for (size_t i = 0; i < n_series; i++) {
        for (size_t k = 0; ok && k < series[i].n_files && !series[i].doubtful_uid; k++) {
            const struct dicom_file *file = series[i].files[k];
            char stem[STEM_BYTES];
            ts_dicom_name_stem(file->path, stem, sizeof stem);
            ok = (!*stem || add_mark(marks, NO_FOLDER, stem, i)) &&
                 (file->folder == DICOM_NAMED || add_mark(marks, file->folder, "", i));
        }
    }
    if (!ok || marks->n == 0)
        return ok;
    qsort(marks->items, marks->n, sizeof *marks->items, compare_marks);
    size_t kept = 0;
    for (size_t i = 1; i < marks->n; i++)
        if (compare_marks(&marks->items[kept], &marks->items[i]) == 0)
            marks->items[kept].n += marks->items[i].n;
        else
            marks->items[++kept] = marks->items[i];
    marks->n = kept + 1;
    return true;
}

static struct range find(const struct marks *marks, int folder, const char *stem)
{
    struct mark wanted = {.folder = folder};
    if (marks->n == 0)
        return (struct range){NULL, NULL};
    snprintf(wanted.stem, sizeof wanted.stem, "%s", stem);
    const struct mark *end = marks->items + marks->n;
    struct range range;
    range.first = marks->items + ts_lower_bound(&wanted, marks->items, marks->n, sizeof wanted, compare_keys);
    for (range.end = range.first; range.end < end && compare_keys(range.end, &wanted) == 0;)
        range.end++;
    return range;
}

static bool holds(struct range range, size_t series)
{
    if (range.first == range.end)
        return false;
    struct mark wanted = *range.first;
    wanted.series = series;
    return bsearch(&wanted, range.first, (size_t)(range.end - range.first), sizeof wanted, compare_marks) != NULL;
}

static void count(struct dicom_series *series, const struct dicom_other *suspect)
{
    if (series->n_suspects < DICOM_MAX_NAMED)
        series->suspects[series->n_suspects] = suspect;
    series->n_suspects++;
}

/* A single slice does not make a folder its series' own: an overview may stand beside slices of any series. */
static bool is_at_home(const struct mark *mark)
{
    return mark->n > 1;
}

static void assign(const struct marks *marks, struct dicom_series *series, size_t n_series,
                   const struct dicom_other *suspect)
{
    char stem[STEM_BYTES];
    ts_dicom_name_stem(suspect->path, stem, sizeof stem);
    const bool listed = suspect->folder == DICOM_NAMED;
    const struct range none = {marks->items, marks->items};
    const struct range place = listed ? none : find(marks, suspect->folder, "");
    const struct range name = listed || !*stem ? none : find(marks, NO_FOLDER, stem);
    bool both = false, any = name.first < name.end;
    for (const struct mark *mark = place.first; mark < place.end; mark++) {
        any = any || is_at_home(mark);
        both = both || (is_at_home(mark) && holds(name, mark->series));
    }
    for (size_t i = 0; i < n_series && !any; i++)
        count(&series[i], suspect);
    for (const struct mark *mark = place.first; mark < place.end; mark++)
        if (is_at_home(mark) && (!both || holds(name, mark->series)))
            count(&series[mark->series], suspect);
    for (const struct mark *mark = name.first; mark < name.end && !both; mark++)
        count(&series[mark->series], suspect);
}

/* Lists the suspect files, and the damaged ones whose UID may be wrong, in `out` where that is not NULL. Returns how
 * many there are. */
static size_t list_candidates(const struct dicom_folder *folder, const struct dicom_series *series, size_t n_series,
                              struct dicom_other *out)
{
    size_t n = 0;
    for (size_t i = 0; i < folder->n_others; i++) {
        if (out && folder->others[i].suspect)
            out[n] = folder->others[i];
        n += folder->others[i].suspect;
    }
    for (size_t i = 0; i < n_series; i++)
        for (size_t k = 0; series[i].doubtful_uid && k < series[i].n_files; k++, n++) {
            const struct dicom_file *file = series[i].files[k];
            if (out)
                out[n] = (struct dicom_other){.path = file->path, .kind = DICOM_DAMAGED, .folder = file->folder};
        }
    return n;
}

enum ts_status ts_dicom_count_suspects(const struct dicom_folder *folder, struct arena *arena,
                                       struct dicom_series *series, size_t n_series, struct ts_diag *diag)
{
    struct marks marks = {.n = 0};
    const size_t n = list_candidates(folder, series, n_series, NULL);
    if (n == 0)
        return TS_OK;
    struct dicom_other *candidates = ts_arena_alloc(arena, n * sizeof *candidates);
    const bool ok = candidates && mark_slices(&marks, series, n_series);
    if (ok)
        list_candidates(folder, series, n_series, candidates);
    for (size_t i = 0; ok && i < n; i++)
        assign(&marks, series, n_series, &candidates[i]);
    free(marks.items);
    return ok ? TS_OK : ts_diag_no_memory(diag, n * sizeof *candidates);
}
