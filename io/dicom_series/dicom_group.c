/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups images into series. Images are sorted by everything that makes a series but its orientation, and each run of
 * equal ones is split by orientation, so that the result depends neither on names nor on the order in which files were
 * found.
 */
#include "io/dicom_series/dicom_group.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/path.h"
#include "io/dicom_series/dicom_completeness.h"
#include "io/dicom_series/dicom_lossy.h"
#include "io/dicom_series/dicom_non_images.h"
#include "io/dicom_series/dicom_take.h"

enum { MAX_ORIENTATIONS = 256 }; /* limit of one run; a series that has more is no set of volumes */
static const double SAME_ORIENTATION = 1e-4;

static int compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return !isnan(a) - !isnan(b);
    return (a > b) - (a < b);
}

/* Compares everything that separates series from series, but orientation. */
static int compare_keys(const struct dicom_image *a, const struct dicom_image *b)
{
    int order = strcmp(a->file->study, b->file->study);
    order = order ? order : strcmp(a->file->series, b->file->series);
    order = order ? order : strcmp(a->file->modality, b->file->modality);
    order = order ? order : strcmp(a->file->sop_class, b->file->sop_class);
    order = order ? order : strcmp(a->kind, b->kind);
    order = order ? order : strcmp(a->component, b->component);
    order = order ? order : compare_numbers(a->vendor_kind, b->vendor_kind);
    order = order ? order : compare_numbers(a->rows, b->rows);
    order = order ? order : compare_numbers(a->columns, b->columns);
    order = order ? order : compare_numbers(a->file->samples_per_pixel, b->file->samples_per_pixel);
    order = order ? order : strcmp(a->file->frame_of_reference, b->file->frame_of_reference);
    order = order ? order : strcmp(a->stack, b->stack);
    return order ? order : compare_numbers(a->echo_key, b->echo_key);
}

static int compare_images(const void *a, const void *b)
{
    const struct dicom_image *first = *(struct dicom_image *const *)a, *second = *(struct dicom_image *const *)b;
    int order = compare_keys(first, second);
    return order ? order : ts_dicom_compare_images(first, second);
}

static bool same_orientation(const struct dicom_image *a, const struct dicom_image *b)
{
    bool same = a->have_orientation == b->have_orientation;
    for (int i = 0; i < 6; i++)
        same = same && !(fabs(a->orientation[i] - b->orientation[i]) > SAME_ORIENTATION);
    return same;
}

struct grouping {
    struct arena *arena;
    struct dicom_series *series;
    size_t n, capacity;
};

static bool add_series(struct grouping *grouping, struct dicom_image **images, size_t n)
{
    struct dicom_series *grown = ts_memory_grow(grouping->series, grouping->n, &grouping->capacity, sizeof *grown);
    if (!grown)
        return false;
    grouping->series = grown;
    struct dicom_series *series = &grouping->series[grouping->n];
    *series = (struct dicom_series){.number = (int)++grouping->n, .n_images = n, .arena = grouping->arena};
    series->images = ts_arena_copy(grouping->arena, images, n, sizeof *images);
    if (!series->images)
        return false;
    series->n_files = ts_dicom_count_files(series, 1);
    const struct dicom_file *file = images[0]->file;
    memcpy(series->series, file->series, sizeof series->series);
    memcpy(series->modality, file->modality, sizeof series->modality);
    memcpy(series->image_type, file->image_type, sizeof series->image_type);
    return true;
}

/* Splits a run of images with equal keys by orientation, keeping their order. `images` is rearranged, scratch as long.
 */
static bool split_run(struct grouping *grouping, struct dicom_image **images, size_t n, struct dicom_image **scratch)
{
    for (int round = 0; n > 0; round++) {
        size_t same = 0, rest = 0;
        const struct dicom_image *first = images[0];
        for (size_t i = 0; i < n; i++)
            if (round >= MAX_ORIENTATIONS || same_orientation(first, images[i]))
                scratch[same++] = images[i];
            else
                images[rest++] = images[i];
        if (!add_series(grouping, scratch, same))
            return false;
        if (round >= MAX_ORIENTATIONS)
            ts_dicom_series_refuse(&grouping->series[grouping->n - 1], "orientation-mixed", NULL,
                                   "more than %d orientations in one series", (int)MAX_ORIENTATIONS);
        n = rest;
    }
    return true;
}

/* "no Image Position (Patient) in 12 of 120 slices" */
static void refuse_without(struct dicom_series *series, size_t without, const char *code, const char *name)
{
    if (without > 0)
        ts_dicom_series_refuse(series, code, "supply files with their whole headers: this cannot be guessed",
                               "no %s in %zu of %zu slices", name, without, series->n_images);
}

static void check_kind(struct dicom_series *series)
{
    static const char *const secondary_captures[] = {"7", "7.", NULL};
    const struct dicom_image *first = series->images[0];
    if (ts_dicom_is_class(first->file->sop_class, secondary_captures))
        ts_dicom_series_refuse(series, "secondary-capture", "choose a series of CT, MR or PET slices",
                               "secondary captures: pictures of a screen or a page, not measured slices");
    if (*series->modality && strcmp(series->modality, "CT") && strcmp(series->modality, "MR") &&
        strcmp(series->modality, "PT"))
        ts_dicom_series_refuse(series, "modality", "choose a series of CT, MR or PET slices",
                               "modality %s, expected CT, MR or PT", series->modality);
    if (!strcmp(first->kind, "LOCALIZER"))
        ts_dicom_series_refuse(series, "localizer", "choose another series",
                               "a localizer: an overview for planning, not part of a volume");
}

/* Returns what the user can do about a refused file. */
static const char *hint_for(const char *code)
{
    static const char *const hints[][2] = {
        {"dicom-multi-frame", "convert it to single-frame files with another tool first"},
        {"dicom-mosaic", "split it into slices with another tool first"},
        {"dicom-syntax", "convert it to explicit VR little endian with another tool first"},
        {"dicom-color", "choose a series of single-channel slices"},
        {"dicom-pixels-short", "transfer the file again"},
        {"dicom-truncated", "transfer the file again"},
        {"dicom-length", "transfer the file again"},
    };
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (!strcmp(code, hints[i][0]))
            return hints[i][1];
    return "supply a correct file, or take it out of the input";
}

static void check_files(struct dicom_series *series)
{
    size_t refused = 0, warned = 0, no_position = 0, no_orientation = 0, no_spacing = 0;
    const struct dicom_file *bad = NULL, *odd = NULL;
    const struct dicom_image *first = series->images[0];
    for (size_t i = 0; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        bad = !bad && image->file->refusal ? image->file : bad;
        odd = !odd && image->file->warning ? image->file : odd;
        refused += image->file->refusal != NULL;
        warned += image->file->warning != NULL && image == image->file->images;
        no_position += !image->have_position;
        no_orientation += !image->have_orientation;
        no_spacing += !image->have_spacing;
    }
    if (bad) {
        ts_dicom_series_refuse(series, bad->refusal_code, hint_for(bad->refusal_code),
                               "%zu of %zu files cannot be used; %s: %s", refused, series->n_files,
                               ts_base_name(bad->path), bad->refusal);
    }
    if (odd)
        ts_dicom_series_warn(series, "%zu of %zu files: %s", warned, series->n_files, odd->warning);
    if (!*series->modality)
        ts_dicom_series_refuse(series, "modality", "choose a series of CT, MR or PET slices",
                               "no modality, expected CT, MR or PT");
    refuse_without(series, no_position, "position-missing", "Image Position (Patient)");
    refuse_without(series, no_orientation, "orientation-missing", "Image Orientation (Patient)");
    refuse_without(series, no_spacing, "pixel-spacing-missing", "Pixel Spacing");
    for (size_t i = 1; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        for (int k = 0; k < 2; k++) {
            if (!(fabs(image->spacing_mm[k] - first->spacing_mm[k]) <= 1e-4 * fabs(first->spacing_mm[k])))
                ts_dicom_series_refuse(series, "pixel-spacing-mixed", "supply slices of one reconstruction",
                                       "Pixel Spacing is %g by %g mm in %s and %g by %g mm in %s", first->spacing_mm[0],
                                       first->spacing_mm[1], ts_base_name(first->file->path), image->spacing_mm[0],
                                       image->spacing_mm[1], ts_base_name(image->file->path));
        }
    }
}

/* Equal UIDs stand side by side. */
static bool is_split_by_orientation(const struct grouping *grouping, size_t i)
{
    const struct dicom_series *series = grouping->series;
    for (int side = -1; side <= 1; side += 2) {
        size_t other = i + (size_t)side;
        if (other < grouping->n && ts_dicom_same_series(&series[i], &series[other]) &&
            !same_orientation(series[i].images[0], series[other].images[0]))
            return true;
    }
    return false;
}

/* Takes the damaged files out of a series that has others too. */
static void drop_damaged(struct dicom_series *series)
{
    const char *reason = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < series->n_images; i++) {
        struct dicom_image *image = series->images[i];
        if (!ts_dicom_is_damage(image->file->refusal_code))
            series->images[kept++] = image;
        else if (!reason)
            reason = image->file->refusal;
    }
    if (kept == 0 || kept == series->n_images)
        return;
    series->n_dropped = series->n_images - kept;
    series->n_images = kept;
    series->n_files -= series->n_dropped; /* a damaged file is one image */
    ts_dicom_series_warn(series, "%zu damaged file%s skipped: %s", series->n_dropped,
                         series->n_dropped == 1 ? " was" : "s were", reason);
}

/* Returns how many series of their own the volumes of a series make. */
static size_t parts_of(const struct dicom_series *series, unsigned split)
{
    const enum ts_axis_kind kind = series->volume_axis.kind;
    const unsigned bit = kind == TS_AXIS_ECHO ? DICOM_SPLIT_ECHO : kind == TS_AXIS_B ? DICOM_SPLIT_B : DICOM_SPLIT_TIME;
    return series->n_volumes > 1 && (split & bit) ? series->n_volumes : 1;
}

/* Makes a series of each volume where the chain wants that. */
static bool split_volumes(struct grouping *grouping, unsigned split)
{
    struct grouping parts = {.arena = grouping->arena};
    bool ok = true;
    for (size_t i = 0; ok && i < grouping->n; i++) {
        const size_t n = parts_of(&grouping->series[i], split);
        for (size_t v = 0; ok && v < n; v++) {
            struct dicom_series *grown = ts_memory_grow(parts.series, parts.n, &parts.capacity, sizeof *grown);
            ok = grown != NULL;
            if (!ok)
                break;
            parts.series = grown;
            grown += parts.n;
            *grown = grouping->series[i];
            grown->number = (int)++parts.n;
            if (n > 1)
                ts_dicom_keep_volume(grown, v);
        }
    }
    free(grouping->series);
    *grouping = parts;
    return ok;
}

static enum ts_status judge_all(struct grouping *grouping, const struct dicom_folder *folder,
                                const struct dicom_rules *rules, struct dicom_series **out, struct ts_diag *diag)
{
    for (size_t i = 0; i < grouping->n; i++) {
        struct dicom_series *series = &grouping->series[i];
        if (folder->skip)
            drop_damaged(series);
        check_kind(series);
        check_files(series);
        series->image.rank = 3;
        series->image.axes[0].n = (int64_t)series->n_images;
        series->image.axes[1].n = series->images[0]->rows;
        series->image.axes[2].n = series->images[0]->columns;
        if (!series->refusal)
            ts_dicom_arrange(series, is_split_by_orientation(grouping, i), rules);
        if (!series->refusal)
            ts_dicom_quantify(series);
        if (!series->refusal)
            ts_dicom_warn_of_loss(series);
    }
    if (!split_volumes(grouping, folder->split))
        return ts_diag_no_memory(diag, 0);
    ts_dicom_label(grouping->series, grouping->n);
    *out = ts_arena_copy(grouping->arena, grouping->series, grouping->n, sizeof **out);
    return *out ? TS_OK : ts_diag_no_memory(diag, grouping->n * sizeof **out);
}

static size_t count_images(const struct dicom_folder *folder)
{
    size_t n = 0;
    for (size_t i = 0; i < folder->n_files; i++)
        n += folder->files[i].n_images;
    return n;
}

enum ts_status ts_dicom_group(struct dicom_folder *folder, const struct dicom_rules *rules, struct arena *arena,
                              struct dicom_series **series, size_t *n_series, struct ts_diag *diag)
{
    struct grouping grouping = {.arena = arena};
    size_t n = 0, bytes = 2 * count_images(folder) * sizeof(struct dicom_image *);
    struct dicom_image **images = malloc(bytes + 1);
    enum ts_status status = images ? ts_dicom_mark_suspects(folder, arena, diag) : ts_diag_no_memory(diag, bytes);
    for (size_t i = 0; images && i < folder->n_files; i++)
        for (size_t k = 0; k < folder->files[i].n_images; k++) {
            images[n++] = &folder->files[i].images[k];
            images[n - 1]->echo_key = folder->split & DICOM_SPLIT_ECHO ? images[n - 1]->echo_time_ms : NAN;
        }
    if (status == TS_OK && n > 0)
        qsort(images, n, sizeof *images, compare_images);
    for (size_t first = 0; status == TS_OK && first < n;) {
        size_t end = first + 1;
        while (end < n && compare_keys(images[first], images[end]) == 0)
            end++;
        if (!split_run(&grouping, images + first, end - first, images + n))
            status = ts_diag_no_memory(diag, 0);
        first = end;
    }
    if (status == TS_OK)
        status = judge_all(&grouping, folder, rules, series, diag);
    if (status == TS_OK)
        ts_dicom_check_completeness(*series, grouping.n);
    for (size_t i = 0; status == TS_OK && i < grouping.n; i++)
        if ((*series)[i].no_memory)
            status = ts_diag_no_memory(diag, 0);
    if (status == TS_OK)
        status = ts_dicom_count_suspects(folder, arena, *series, grouping.n, diag);
    *n_series = status == TS_OK ? grouping.n : 0;
    free(grouping.series);
    free(images);
    return status;
}
