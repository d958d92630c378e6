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
    size_t n, room;
};

struct range {
    const struct mark *first, *end;
};

/* By what is asked for: folder and name. */
static int compare_keys(const struct mark *a, const struct mark *b)
{
    return a->folder != b->folder ? (a->folder < b->folder ? -1 : 1) : strcmp(a->stem, b->stem);
}

static int compare_marks(const void *a, const void *b)
{
    const struct mark *first = a, *second = b;
    const int order = compare_keys(first, second);
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
    if (marks->n == marks->room) {
        const size_t room = marks->room ? 2 * marks->room : 64;
        struct mark *more = realloc(marks->items, room * sizeof *more);
        if (!more)
            return false;
        marks->items = more;
        marks->room = room;
    }
    marks->items[marks->n++] = mark;
    return true;
}

static bool mark_slices(struct marks *marks, const struct dicom_series *series, size_t n_series)
{
    bool ok = true;
    for (size_t i = 0; i < n_series; i++) {
        for (size_t k = 0; ok && k < series[i].n_files && !series[i].stranger; k++) {
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
    struct range range = {NULL, NULL};
    size_t low = 0, n = marks->n;
    if (n == 0)
        return range;
    snprintf(wanted.stem, sizeof wanted.stem, "%s", stem);
    while (n > 0) {
        const size_t half = n / 2;
        const bool below = compare_keys(&marks->items[low + half], &wanted) < 0;
        low += below ? half + 1 : 0;
        n = below ? n - half - 1 : half;
    }
    range.first = range.end = marks->items + low;
    while (range.end < marks->items + marks->n && compare_keys(range.end, &wanted) == 0)
        range.end++;
    return range;
}

static int compare_series(const void *a, const void *b)
{
    const struct mark *first = a, *second = b;
    return (first->series > second->series) - (first->series < second->series);
}

/* The marks of a range are sorted by series. */
static bool holds(struct range range, size_t series)
{
    const struct mark wanted = {.series = series};
    return range.first < range.end &&
           bsearch(&wanted, range.first, (size_t)(range.end - range.first), sizeof wanted, compare_series);
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

/* The files of damaged groups that no series has. NULL where memory is out. */
static struct dicom_other *list_strangers(const struct dicom_series *series, size_t n_series, struct arena *arena,
                                          size_t *n)
{
    for (size_t i = 0; i < n_series; i++)
        *n += series[i].stranger ? series[i].n_files : 0;
    struct dicom_other *strangers = ts_arena_alloc(arena, (*n + 1) * sizeof *strangers), *next = strangers;
    for (size_t i = 0; strangers && i < n_series; i++) {
        for (size_t k = 0; k < series[i].n_files && series[i].stranger; k++) {
            const struct dicom_file *file = series[i].files[k];
            *next++ = (struct dicom_other){.path = file->path, .kind = DICOM_DAMAGED, .folder = file->folder};
        }
    }
    return strangers;
}

enum ts_status ts_dicom_count_suspects(const struct dicom_folder *folder, struct arena *arena,
                                       struct dicom_series *series, size_t n_series, struct ts_diag *diag)
{
    struct marks marks = {.n = 0};
    size_t n_strangers = 0;
    const struct dicom_other *strangers = list_strangers(series, n_series, arena, &n_strangers);
    const bool ok = strangers && mark_slices(&marks, series, n_series);
    for (size_t i = 0; ok && i < folder->n_others; i++)
        if (folder->others[i].suspect)
            assign(&marks, series, n_series, &folder->others[i]);
    for (size_t i = 0; ok && i < n_strangers; i++)
        assign(&marks, series, n_series, &strangers[i]);
    free(marks.items);
    return ok ? TS_OK : ts_diag_no_memory(diag, marks.room * sizeof *marks.items);
}
