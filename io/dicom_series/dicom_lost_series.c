/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the series to which a file may have belonged that does not name it: a file without a readable header, or one
 * whose header is so damaged that its Series Instance UID belongs to no whole file. Two things are looked up: the
 * series that have several slices in its folder, and the series, wherever they are, with a slice of the same name but
 * for numbers and extensions. If some series match in both, the file counts for these; else for those that match in
 * one; else for every series, since any of them may have lost it.
 */
#include <stdlib.h>

#include "io/dicom_series/dicom_name_index.h"
#include "io/dicom_series/dicom_non_images.h"

/* Stands for the place of an entry that is about a name, wherever it is. */
enum { ANYWHERE = -1 };

/* Indexes the places and the names of the series' slices. */
static bool index_slices(struct name_index *index, const struct dicom_series *series, size_t n_series)
{
    bool ok = true;
    for (size_t i = 0; i < n_series; i++)
        for (size_t k = 0; ok && k < series[i].n_images && !series[i].doubtful_uid; k++) {
            const struct dicom_file *file = series[i].images[k]->file;
            char stem[NAME_BYTES];
            ts_dicom_name_stem(file->path, stem, sizeof stem);
            ok = (!*stem || ts_name_add(index, ANYWHERE, stem, i)) &&
                 (file->folder == DICOM_NAMED || ts_name_add(index, file->folder, "", i));
        }
    ts_name_sort(index);
    return ok;
}

static void count(struct dicom_series *series, const struct dicom_other *suspect)
{
    if (series->n_suspects < DICOM_MAX_NAMED)
        series->suspects[series->n_suspects] = suspect;
    series->n_suspects++;
}

/* A single slice does not make a folder its series' own: an overview may stand beside slices of any series. */
static bool is_at_home(const struct name_entry *entry)
{
    return entry->n > 1;
}

/* Counts the suspect for the series that it may belong to. */
static void assign(const struct name_index *index, struct dicom_series *series, size_t n_series,
                   const struct dicom_other *suspect)
{
    char stem[NAME_BYTES];
    ts_dicom_name_stem(suspect->path, stem, sizeof stem);
    const bool listed = suspect->folder == DICOM_NAMED;
    const struct name_range none = {NULL, NULL};
    const struct name_range place = listed ? none : ts_name_find(index, suspect->folder, "");
    const struct name_range name = listed || !*stem ? none : ts_name_find(index, ANYWHERE, stem);
    bool both = false, any = name.first < name.end;
    for (const struct name_entry *at = place.first; at < place.end; at++) {
        any = any || is_at_home(at);
        both = both || (is_at_home(at) && ts_name_range_has(name, at->series));
    }
    for (size_t i = 0; i < n_series && !any; i++)
        count(&series[i], suspect);
    for (const struct name_entry *at = place.first; at < place.end; at++)
        if (is_at_home(at) && (!both || ts_name_range_has(name, at->series)))
            count(&series[at->series], suspect);
    for (const struct name_entry *at = name.first; at < name.end && !both; at++)
        count(&series[at->series], suspect);
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
        for (size_t k = 0; series[i].doubtful_uid && k < series[i].n_images; k++, n++) {
            const struct dicom_file *file = series[i].images[k]->file;
            if (out)
                out[n] = (struct dicom_other){.path = file->path, .kind = DICOM_DAMAGED, .folder = file->folder};
        }
    return n;
}

enum ts_status ts_dicom_count_suspects(const struct dicom_folder *folder, struct arena *arena,
                                       struct dicom_series *series, size_t n_series, struct ts_diag *diag)
{
    struct name_index index = {.n = 0};
    const size_t n = list_candidates(folder, series, n_series, NULL);
    if (n == 0)
        return TS_OK;
    struct dicom_other *candidates = ts_arena_alloc(arena, n * sizeof *candidates);
    const bool ok = candidates && index_slices(&index, series, n_series);
    if (ok)
        list_candidates(folder, series, n_series, candidates);
    for (size_t i = 0; ok && i < n; i++)
        assign(&index, series, n_series, &candidates[i]);
    free(index.items);
    return ok ? TS_OK : ts_diag_no_memory(diag, n * sizeof *candidates);
}
