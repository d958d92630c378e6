/* SPDX-License-Identifier: Apache-2.0
 *
 * This chooses the series of a run: the one that the user names, or else the only one that is fit
 * for a volume. Where another group of files may hold slices of it, nothing is chosen unless the
 * user names the series or allows damaged files.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_series/dicom_completeness.h"
#include "io/dicom_series/dicom_group.h"
#include "io/dicom_series/dicom_join.h"
#include "io/dicom_series/dicom_non_images.h"
#include "io/dicom_series/dicom_take.h"

enum { MAX_LISTED = 40, LINE_BYTES = 512 };

static void list_series(const struct dicom_series *series, size_t n, struct ts_diag *diag)
{
    for (size_t i = 0; i < n && i < MAX_LISTED; i++) {
        char line[LINE_BYTES];
        ts_dicom_series_line(&series[i], false, line, sizeof line);
        ts_diag_note(diag, &(struct diag_site){.code = "series"}, "series %d: %s%s%s",
                     series[i].number, line, series[i].refusal ? "; would be refused: " : "",
                     series[i].refusal ? series[i].refusal : "");
    }
    if (n > MAX_LISTED)
        ts_diag_note(diag, &(struct diag_site){.code = "series"}, "%zu more series are not listed",
                     n - MAX_LISTED);
}

static enum ts_status take(const struct dicom_series *series, const struct dicom_series **chosen,
                           struct ts_diag *diag)
{
    if (series->refusal) {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = series->refusal_code},
                      "series %d (%s): %s", series->number,
                      *series->modality ? series->modality : "no modality", series->refusal);
        if (series->hint)
            ts_diag_hint(diag, "%s", series->hint);
        return TS_BAD_INPUT;
    }
    *chosen = series;
    return TS_OK;
}

/* Returns true where every image of a group of pictures of a screen lies in a slice that the
 * candidate has: it lacks none of them. */
static bool repeats(const struct dicom_series *pictures, const struct dicom_series *candidate)
{
    if (strcmp(pictures->refusal_code, "secondary-capture") != 0 || candidate->n_slices == 0)
        return false;
    for (size_t i = 0; i < pictures->n_images; i++) {
        const struct dicom_image *image = pictures->images[i];
        bool there = false;
        for (size_t k = 0; k < candidate->n_images && image->have_position && !there; k++) {
            const double *at = candidate->images[k]->position_mm;
            there = fabs(image->position_mm[0] - at[0]) + fabs(image->position_mm[1] - at[1]) +
                        fabs(image->position_mm[2] - at[2]) <
                    ts_dicom_same_position(candidate->images[k]);
        }
        if (!there)
            return false;
    }
    return true;
}

/* Finds a refused group that may hold a slice of the series: damaged files with its UID, or without
 * any. */
static const struct dicom_series *find_doubt(const struct dicom_series *series, size_t n,
                                             const struct dicom_series *candidate)
{
    for (size_t i = 0; i < n; i++) {
        bool related = !*series[i].series || !strcmp(series[i].series, candidate->series);
        if (&series[i] != candidate && series[i].refusal && related && !series[i].overview &&
            !repeats(&series[i], candidate))
            return &series[i];
    }
    return NULL;
}

/* Takes a series that the user named, or the only one where damaged files are allowed. A warning
 * states what it may lack. */
static enum ts_status take_named(const struct dicom_series *series, size_t n,
                                 const struct dicom_series *named,
                                 const struct dicom_series **chosen, struct ts_diag *diag)
{
    const struct dicom_series *doubt = find_doubt(series, n, named);
    if (doubt && !named->refusal)
        ts_diag_warning(diag, &(struct diag_site){.code = doubt->refusal_code},
                        "series %d may lack slices that series %d holds: %s", named->number,
                        doubt->number, doubt->refusal);
    return take(named, chosen, diag);
}

/* Returns true where the choice is the series UID of the image, its description, or # and its
 * Series Number. */
static bool has_name(const struct dicom_image *image, const char *choice)
{
    const struct dicom_file *file = image->file;
    char number[32] = "";
    if (!isnan(file->series_number))
        snprintf(number, sizeof number, "#%.0f", file->series_number);
    return (*file->series && !strcmp(choice, file->series)) ||
           (*file->description && !strcmp(choice, file->description)) ||
           (*number && !strcmp(choice, number));
}

/* Counts the images of the series that have the name. */
static size_t count_named(const struct dicom_series *series, const char *choice)
{
    size_t n = 0;
    for (size_t i = 0; i < series->n_images; i++)
        n += has_name(series->images[i], choice);
    return n;
}

static enum ts_status choose_named(const struct dicom_series *series, size_t n, const char *choice,
                                   const struct dicom_series **chosen, struct ts_diag *diag)
{
    const struct dicom_series *match = NULL,
                              *part = NULL; /* part: only some of its images have the name */
    size_t matches = 0, named = 0;
    for (size_t i = 0; i < n; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", series[i].number);
        if (!strcmp(choice, number) && !series[i].left_out)
            return take_named(series, n, &series[i], chosen, diag);
        const size_t count = series[i].left_out ? 0 : count_named(&series[i], choice);
        match = count > 0 && count == series[i].n_images ? &series[i] : match;
        matches += count > 0 && count == series[i].n_images;
        part = count > 0 && count < series[i].n_images ? &series[i] : part;
        named = part == &series[i] ? count : named;
    }
    if (matches == 1 && !part)
        return take_named(series, n, match, chosen, diag);
    if (matches == 0 && part)
        ts_diag_error(
            diag, TS_BAD_INPUT, &(struct diag_site){.code = "series-ambiguous"},
            "only %zu of the %zu images of series %d have the UID, number or description '%s'",
            named, part->n_images, part->number, choice);
    else
        ts_diag_error(diag, TS_BAD_INPUT,
                      &(struct diag_site){.code = matches ? "series-ambiguous" : "series-unknown"},
                      matches ? "%zu groups of images share the UID, number or description '%s'"
                              : "%zu series have the number, UID or description '%s'",
                      matches + (part != NULL), choice);
    ts_diag_hint(diag, "give the number of one of the %zu below", n);
    list_series(series, n, diag);
    return TS_BAD_INPUT;
}

/* Returns true where Series Number is all that tells the series apart, as in volumes of one scan
 * that Siemens XA numbers 16001, 16002, ... */
static bool differ_in_number(const struct dicom_series *a, const struct dicom_series *b)
{
    const struct dicom_image *first = a->images[0], *other = b->images[0];
    bool same = *a->series && !strcmp(a->series, b->series) && a->n_slices == b->n_slices &&
                ts_dicom_compare_content(first, other) == 0 && first->along_mm == other->along_mm;
    for (int k = 0; k < DICOM_SERIES_KEYS && same; k++)
        same = k == KEY_NUMBER || !strcmp(first->keys[k], other->keys[k]);
    return same && strcmp(first->keys[KEY_NUMBER], other->keys[KEY_NUMBER]) != 0;
}

/* Writes what a hint adds where settings divide the slices of a series, or attributes tear what
 * would be a volume. */
static void hint_to_join(const struct dicom_series *series, size_t n, char *out, size_t size)
{
    char words[LINE_BYTES];
    *out = '\0';
    for (size_t i = 0; i < n && !*out; i++)
        if (series[i].apart)
            snprintf(out, size, "; split: none reads the slices of several settings as one volume");
    for (size_t i = 0; i < n && !*out; i++) {
        ts_dicom_join_list(&series[i], words, sizeof words);
        if (*words)
            snprintf(out, size,
                     "; `join: [%s]` reads series %d and those that differ only in that as one",
                     words, series[i].number);
    }
    for (size_t i = 1; i < n && !*out; i++)
        if (!series[i - 1].refusal && !series[i].refusal &&
            differ_in_number(&series[i - 1], &series[i]))
            snprintf(out, size,
                     "; `join: [number]` reads series %d and %d, which differ in Series Number "
                     "only, as one",
                     series[i - 1].number, series[i].number);
}

static enum ts_status choose_only(const struct dicom_series *series, size_t n, bool skip,
                                  const struct dicom_series **chosen, struct ts_diag *diag)
{
    const struct dicom_series *fit = NULL;
    size_t n_fit = 0, n_left = 0, n_all = 0; /* n_all: those that are fit, whatever `take` says */
    for (int overviews = 0; overviews < 2 && n_fit == 0; overviews++)
        for (size_t i = 0; i < n; i++) {
            n_left += !series[i].left_out && overviews == 0;
            n_all += !series[i].refusal && overviews == 0;
            if (!series[i].refusal && !series[i].left_out && series[i].overview == overviews) {
                fit = &series[i];
                n_fit++;
            }
        }
    if (n == 1 && n_left == 1)
        return take(&series[0], chosen, diag);
    char takes[LINE_BYTES], join[2 * LINE_BYTES];
    hint_to_join(series, n, join, sizeof join);
    const struct dicom_series *doubt = n_fit == 1 ? find_doubt(series, n, fit) : NULL;
    if (n_fit == 1 && (!doubt || (skip && ts_dicom_is_damage(doubt->refusal_code))))
        return take_named(series, n, fit, chosen, diag);
    if (doubt) {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = doubt->refusal_code},
                      "series %d may lack slices that series %d holds: %s", fit->number,
                      doubt->number, doubt->refusal);
        struct dicom_lack lacks[DICOM_MAX_LACKS];
        if (ts_dicom_lacks(fit, lacks) > 0)
            ts_diag_hint(diag, "%s", lacks[0].hint);
        else
            ts_diag_hint(diag, "mend or remove those files, or say series: %d%s", fit->number,
                         join);
    } else if (n_left == 0) {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "take-unknown"},
                      "none of the %zu series in the input has what `take` says", n);
        const bool all = ts_dicom_list_takes(series, n, takes, sizeof takes);
        if (*takes)
            ts_diag_hint(diag,
                         "a number chooses a volume, one with ms, s or s/mm2 a value, a word a "
                         "kind; there are: %s%s",
                         takes, all ? "" : "; series: N chooses others");
        else if (n_all == 1)
            ts_diag_hint(diag, "leave out `take`: only one volume is fit for a run");
        else
            ts_diag_hint(diag, "choose one with series: N%s",
                         n_all == 0 ? " to see its way out" : "");
    } else if (n_fit == 0) {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "no-volume"},
                      "none of the %zu series in the input is one clean volume", n);
        ts_diag_hint(diag, "choose one with series: N to see its way out%s", join);
    } else {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "several-series"},
                      "the input holds %zu series, %zu of them fit for a run", n, n_fit);
        const bool all = ts_dicom_list_takes(series, n, takes, sizeof takes) && *takes;
        ts_diag_hint(diag, "choose one with series: N%s%s%s", all ? ", or with `take`: " : "",
                     all ? takes : "", join);
    }
    list_series(series, n, diag);
    return TS_BAD_INPUT;
}

enum ts_status ts_dicom_choose(const struct dicom_series *series, size_t n_series,
                               const char *choice, const struct dicom_folder *folder,
                               const struct dicom_series **chosen, struct ts_diag *diag)
{
    *chosen = NULL;
    if (n_series == 0) {
        char reasons[LINE_BYTES];
        ts_dicom_passed_over(folder, reasons, sizeof reasons);
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "no-images"},
                      "no DICOM image in the input (%zu file%s seen%s%s)", folder->n_seen,
                      folder->n_seen == 1 ? "" : "s", *reasons ? "; " : "", reasons);
        return ts_diag_hint(diag, "give the folder that holds the DICOM files");
    }
    if (choice && *choice)
        return choose_named(series, n_series, choice, chosen, diag);
    return choose_only(series, n_series, folder->skip, chosen, diag);
}
