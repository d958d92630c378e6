/* SPDX-License-Identifier: Apache-2.0
 *
 * In p_<angle>_<counter> the angles of a golden or interlaced scan do not rise with the counter. A
 * list of angles has the order in which views were taken, so the counter decides. Even angles and
 * slices have the order of places: if a counter and an even number disagree, either may be meant,
 * unless one is the reverse of the other, or one has the angles of the range that the chain gives.
 */
#include "io/scan/tiff_counter.h"

#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "io/scan/tiff_gaps.h"
#include "io/scan/tiff_names.h"

enum { LONGEST_STAMP = 14 }; /* digits of a date with a time of day */

/* The numbers in one place of the names, in the order of the files. */
struct run {
    const double *values;
    enum tiff_steps steps;
    bool angles, falls; /* those of the chain's range; they must fall */
};

struct place {
    double value;
    int64_t file;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    return (left->value > right->value) - (left->value < right->value);
}

/* Returns true if one run rises (or falls, for -1) when the other rises. */
static bool agree(const struct run *one, const struct run *other, int sign, int64_t n,
                  struct place *scratch)
{
    for (int64_t i = 0; i < n; i++)
        scratch[i] = (struct place){one->values[i], i};
    qsort(scratch, (size_t)n, sizeof *scratch, compare_places);
    for (int64_t i = 1; i < n; i++)
        if (sign * (other->values[scratch[i].file] - other->values[scratch[i - 1].file]) <= 0)
            return false;
    return true;
}

/* Reads the date and time of day in each name as one number. */
static enum tiff_steps read_stamps(const struct tiff_pages *pages, double *values,
                                   struct place *scratch)
{
    for (int64_t i = 0; i < pages->n_files; i++) {
        const struct tiff_numbers numbers =
            ts_tiff_find_numbers(ts_base_name(pages->files[i].path), pages->decimals);
        const struct tiff_stamp stamp = ts_tiff_find_stamp(&numbers);
        char text[LONGEST_STAMP + 1] = "";
        size_t used = 0;
        for (int c = stamp.first; c < stamp.first + stamp.n; c++) {
            if (used + numbers.length[c] > LONGEST_STAMP)
                return TIFF_STEPS_NONE;
            memcpy(text + used, numbers.at[c], numbers.length[c]);
            used += numbers.length[c];
        }
        values[i] = strtod(text, NULL);
        scratch[i] = (struct place){values[i], i};
    }
    qsort(scratch, (size_t)pages->n_files, sizeof *scratch, compare_places);
    for (int64_t i = 1; i < pages->n_files; i++)
        if (scratch[i].value <= scratch[i - 1].value)
            return TIFF_STEPS_NONE;
    return TIFF_STEPS_UNEVEN;
}

/* Lists the numbers that differ everywhere. Returns -1 if memory is out. A number behind a time of
 * day may be the fraction of a second, unless it counts. */
static int list_runs(const struct tiff_pages *pages, struct arena *arena, struct place *places,
                     struct run runs[TIFF_MOST_NUMBERS])
{
    const size_t bytes = (size_t)pages->n_files * sizeof(double);
    const struct tiff_numbers numbers =
        ts_tiff_find_numbers(ts_base_name(pages->files[0].path), pages->decimals);
    const struct tiff_stamp stamp = ts_tiff_find_stamp(&numbers);
    double *scratch = ts_arena_alloc(arena, bytes);
    int n = 0;
    for (int c = 0; c < numbers.n; c++) {
        const bool stamped = stamp.n > 0 && c >= stamp.first && c < stamp.first + stamp.n;
        double *values = ts_arena_alloc(arena, bytes);
        if (!values || !scratch)
            return -1;
        bool angles = false;
        double unit;
        const enum tiff_steps steps = stamped
                                          ? (c == stamp.first ? read_stamps(pages, values, places)
                                                              : TIFF_STEPS_NONE)
                                          : ts_tiff_read_steps(pages, c, values, scratch, &angles,
                                                               &unit),
                              least = stamp.n > 0 && c == stamp.first + stamp.n ? TIFF_STEPS_ONE
                                                                                : TIFF_STEPS_UNEVEN;
        if (steps >= least)
            runs[n++] = (struct run){values, steps, angles, false};
    }
    return n;
}

/* Returns the only run that has the angles of the chain's range, in the order of these; NULL: there
 * is none. */
static const struct run *find_angles(struct run *runs, int n, const struct tiff_pages *pages)
{
    struct run *found = NULL;
    for (int k = 0; k < n; k++) {
        if (runs[k].angles && found)
            return NULL;
        found = runs[k].angles ? &runs[k] : found;
    }
    if (found)
        found->falls = pages->range[1] < pages->range[0];
    return found;
}

/* Returns the run that gives the order: the one with the surest steps, or, if places are even, the
   first even one. NULL: the order stays. Sets *doubtful if another run may be meant as well. */
static const struct run *tiff_counter_choose(struct run *runs, int n,
                                             const struct tiff_pages *pages, struct place *scratch,
                                             bool *doubtful)
{
    const bool listed = pages->order == TIFF_ORDER_LISTED;
    enum tiff_steps least = TIFF_STEPS_GAP;
    const struct run *chosen = n > 1 ? find_angles(runs, n, pages) : NULL;
    *doubtful = false;
    if (chosen)
        return chosen;
    for (int k = 0; k < n && listed; k++)
        least = runs[k].steps > least ? runs[k].steps : least;
    for (int k = 0; k < n; k++) {
        if (runs[k].steps < least)
            continue;
        if (chosen && !agree(chosen, &runs[k], 1, pages->n_files, scratch))
            *doubtful |= listed || !agree(chosen, &runs[k], -1, pages->n_files, scratch);
        chosen = chosen ? chosen : &runs[k];
    }
    if (!chosen)
        for (int k = 1; k < n; k++)
            *doubtful |= !agree(runs, &runs[k], 1, pages->n_files, scratch) &&
                         (listed || !agree(runs, &runs[k], -1, pages->n_files, scratch));
    /* The other numbers are there several times, as those of several scans are. */
    return n == 1 && !(listed && runs[0].steps == TIFF_STEPS_ONE) ? NULL : chosen;
}

static bool is_in_order(const struct run *run, int64_t n)
{
    const int sign = run->falls ? -1 : 1;
    for (int64_t i = 1; i < n; i++)
        if (sign * (run->values[i] - run->values[i - 1]) <= 0)
            return false;
    return true;
}

static enum ts_status tiff_counter_refuse(const struct tiff_pages *pages, const char *folder,
                                          struct ts_diag *diag)
{
    ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-order"),
                  "%s: several numbers run in names such as %s, and the order of the files depends "
                  "on which of them counts",
                  folder, ts_base_name(pages->files[0].path));
    if (pages->order == TIFF_ORDER_RANGE)
        return ts_diag_hint(
            diag, "angle_start and angle_stop decide if they are the angles of one of these "
                  "numbers; angles_file lists those of the views in the order of the "
                  "other; " TIFF_ORDER_HINT);
    return ts_diag_hint(diag, TIFF_ORDER_HINT);
}

/* Puts the files in the order of a run and notes it. */
static enum ts_status take_run(struct tiff_pages *pages, const char *folder, const struct run *run,
                               struct place *scratch, struct ts_diag *diag)
{
    const size_t n = (size_t)pages->n_files;
    const struct tiff_file *before = ts_arena_copy(pages->arena, pages->files, n, sizeof *before);
    if (!before)
        return ts_diag_no_memory(diag, n * sizeof *before);
    for (size_t i = 0; i < n; i++)
        scratch[i] = (struct place){(run->falls ? -1 : 1) * run->values[i], (int64_t)i};
    qsort(scratch, n, sizeof *scratch, compare_places);
    for (size_t i = 0; i < n; i++)
        pages->files[i] = before[scratch[i].file];
    ts_diag_note(diag, TIFF_SITE(pages, "tiff-order"),
                 "the files of %s are read in the order of the number in their names that counts, "
                 "%.15g to %.15g: %s first, %s last",
                 folder, run->values[scratch[0].file], run->values[scratch[n - 1].file],
                 ts_base_name(pages->files[0].path), ts_base_name(pages->files[n - 1].path));
    return TS_OK;
}

static bool have_same_text(const struct tiff_pages *pages)
{
    const char *first = ts_base_name(pages->files[0].path);
    for (int64_t i = 1; i < pages->n_files; i++)
        if (!ts_tiff_same_text(first, ts_base_name(pages->files[i].path), pages->decimals, true))
            return false;
    return true;
}

enum ts_status ts_tiff_sort_counted(struct tiff_pages *pages, int64_t first, const char *folder,
                                    bool *counted, struct ts_diag *diag)
{
    enum { LEAST_FILES = 3 };
    struct tiff_pages part = *pages;
    *counted = false;
    if (pages->n_files - first < LEAST_FILES)
        return TS_OK;
    part.files = pages->files + first;
    part.n_files = pages->n_files - first;
    if (pages->order == TIFF_ORDER_NONE || !have_same_text(&part))
        return TS_OK;
    struct run runs[TIFF_MOST_NUMBERS];
    struct arena *arena = ts_arena_create();
    struct place *scratch =
        arena ? ts_arena_alloc(arena, (size_t)part.n_files * sizeof *scratch) : NULL;
    const int n = scratch ? list_runs(&part, arena, scratch, runs) : -1;
    enum ts_status status =
        n < 0 ? ts_diag_no_memory(diag, (size_t)part.n_files * sizeof *scratch) : TS_OK;
    bool doubtful = false;
    const struct run *run = n > 0 ? tiff_counter_choose(runs, n, &part, scratch, &doubtful) : NULL;
    if (doubtful)
        status = tiff_counter_refuse(&part, folder, diag);
    else if (run && !is_in_order(run, part.n_files))
        *counted = (status = take_run(&part, folder, run, scratch, diag)) == TS_OK;
    if (arena)
        ts_arena_destroy(arena);
    return status;
}
