/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups images into series. Images are sorted by everything that makes a series but its
 * orientation, and each run of equal ones is split by orientation, and then by the settings that
 * tell acquisitions apart, so that the result depends neither on names nor on the order in which
 * files were found.
 */
#include "io/dicom_series/dicom_group.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/vector3.h"
#include "io/dicom_frames/dicom_cells.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_series/dicom_completeness.h"
#include "io/dicom_series/dicom_images.h"
#include "io/dicom_series/dicom_join.h"
#include "io/dicom_series/dicom_lossy.h"
#include "io/dicom_series/dicom_non_images.h"
#include "io/dicom_series/dicom_settings.h"
#include "io/dicom_series/dicom_take.h"
#include "io/dicom_series/dicom_unread.h"

/* ---- group ----------------------------------------------------------------------------------- */

enum { MAX_ORIENTATIONS = 256 }; /* limit of one run; a series that has more is no set of volumes */

static int compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return !isnan(a) - !isnan(b);
    return (a > b) - (a < b);
}

/* Compares everything that separates series from series, but orientation. */
static int compare_keys(const struct dicom_image *a, const struct dicom_image *b)
{
    int order = 0;
    for (int i = 0; i < KEY_FRAME && order == 0; i++)
        order = strcmp(a->keys[i], b->keys[i]);
    order = order ? order : ts_dicom_compare_content(a, b);
    for (int i = KEY_FRAME; i < DICOM_SERIES_KEYS && order == 0; i++)
        order = strcmp(a->keys[i], b->keys[i]);
    return order ? order : compare_numbers(a->echo_key, b->echo_key);
}

static int compare_images(const void *a, const void *b)
{
    const struct dicom_image *first = *(struct dicom_image *const *)a,
                             *second = *(struct dicom_image *const *)b;
    int order = compare_keys(first, second);
    return order ? order : ts_dicom_compare_images(first, second);
}

struct grouping {
    struct arena *arena;
    struct dicom_series *series;
    size_t n, capacity;
    bool joined;       /* settings do not divide images at positions of their own */
    bool acquisitions; /* each Acquisition Number is a series of its own */
};

static bool add_series(struct grouping *grouping, struct dicom_image **images, size_t n,
                       const char *settings)
{
    struct dicom_series *grown =
        ts_memory_grow(grouping->series, grouping->n, &grouping->capacity, sizeof *grown);
    if (!grown)
        return false;
    grouping->series = grown;
    struct dicom_series *series = &grouping->series[grouping->n];
    *series = (struct dicom_series){
        .number = (int)++grouping->n, .n_images = n, .arena = grouping->arena};
    series->images = ts_arena_copy(grouping->arena, images, n, sizeof *images);
    if (!series->images)
        return false;
    snprintf(series->settings, sizeof series->settings, "%s", settings);
    series->n_files = ts_dicom_count_files(series, 1);
    const struct dicom_file *file = images[0]->file;
    memcpy(series->series, file->series, sizeof series->series);
    if (*file->modality)
        snprintf(series->modality, sizeof series->modality, "%s",
                 ts_dicom_known(ts_dicom_modalities, file->modality));
    memcpy(series->image_type, file->image_type, sizeof series->image_type);
    return true;
}

/* Marks the series from number `first` on as parts of one that the settings of its slices
 * divide. */
static void mark_apart(struct grouping *grouping, size_t first)
{
    for (size_t i = first; i < grouping->n; i++) {
        if (!grouping->series[i].apart)
            ts_dicom_series_warn(&grouping->series[i],
                                 "other slices of the series have other settings and are a series "
                                 "of their own; `split: none` reads them as one");
        grouping->series[i].apart = true;
    }
}

/* Adds a series for each value of the settings that tell the images apart, which are rearranged. */
static bool add_parts(struct grouping *grouping, struct dicom_image **images, size_t n,
                      const char *settings)
{
    const size_t before = grouping->n;
    int setting, number = 1;
    bool apart;
    if (!ts_dicom_find_setting(images, n, grouping->joined, grouping->acquisitions, &setting,
                               &apart))
        return false;
    if (setting < 0)
        return add_series(grouping, images, n, settings);
    for (size_t first = 0, end; first < n; first = end, number++) {
        char text[DICOM_LABEL_MAX], all[DICOM_LABEL_MAX * 2];
        end = first + 1;
        while (end < n && ts_dicom_compare_setting(setting, images[first], images[end]) == 0)
            end++;
        ts_dicom_setting_text(setting, images[first], number, text, sizeof text);
        snprintf(all, sizeof all, "%s%s%s", settings, *settings ? ", " : "", text);
        qsort(images + first, end - first, sizeof *images, compare_images);
        if (!add_parts(grouping, images + first, end - first, all))
            return false;
    }
    if (apart)
        mark_apart(grouping, before);
    for (size_t i = before;
         i < grouping->n && !grouping->acquisitions && ts_dicom_is_acquisition(setting); i++)
        ts_dicom_series_warn(&grouping->series[i],
                             "the series is of acquisitions that overlap: each is a series of its "
                             "own, told apart by Acquisition Number");
    return true;
}

/* Warns of series from number `first` on, which are one but for their orientations. */
static void warn_of_orientations(struct grouping *grouping, size_t first)
{
    for (size_t i = first; i < grouping->n; i++) {
        double nearest = INFINITY;
        const struct dicom_image *image = grouping->series[i].images[0];
        for (size_t k = first; k < grouping->n; k++) {
            const struct dicom_image *other = grouping->series[k].images[0];
            if (!ts_dicom_same_orientation(image, other, DICOM_SAME_ORIENTATION) &&
                image->have_orientation && other->have_orientation)
                nearest =
                    fmin(nearest, ts_dicom_angle_between(image->orientation, other->orientation));
        }
        if (nearest < INFINITY)
            ts_dicom_series_warn(&grouping->series[i],
                                 "other images of the series lie %.2g degrees off and are a series "
                                 "of their own (direction cosines that differ by more than %g)",
                                 nearest, DICOM_SAME_ORIENTATION);
    }
}

enum { MOST_GROUPS = 256, LEAST_POSITIONS = 3 };
static const double EVEN_SHARE = 0.05; /* of the step, by which a gap may be off a multiple of it */

struct item {
    const struct dicom_image *image;
    double along_mm;
    size_t group, position;
};

static int orientations_compare_along(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    return (first->along_mm > second->along_mm) - (first->along_mm < second->along_mm);
}

static int compare_groups(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    if (first->group != second->group)
        return first->group < second->group ? -1 : 1;
    return (first->position > second->position) - (first->position < second->position);
}

/* Collects the images that jitter around the first. Returns how many there are; 0 if all have its
   orientation, or one has no place. */
static size_t dicom_group_collect(struct dicom_image *const *images, size_t n, struct item *items)
{
    const struct dicom_image *groups[MOST_GROUPS];
    double normal[3];
    size_t count = 0, n_groups = 0;
    ts_cross(images[0]->orientation, images[0]->orientation + 3, normal);
    for (size_t i = 0; i < n; i++) {
        size_t group = 0;
        if (!ts_dicom_same_orientation(images[0], images[i], DICOM_JITTER))
            continue;
        if (!images[i]->have_position || !images[i]->have_orientation)
            return 0;
        while (group < n_groups &&
               !ts_dicom_same_orientation(groups[group], images[i], DICOM_SAME_ORIENTATION))
            group++;
        if (group == n_groups && n_groups < MOST_GROUPS)
            groups[n_groups++] = images[i];
        items[count++] = (struct item){images[i], ts_dot(images[i]->position_mm, normal), group, 0};
    }
    return n_groups > 1 ? count : 0;
}

/* Numbers the positions. Returns how many there are; 0 unless each has equally many images, and the
 * gaps are multiples of the smallest. */
static size_t number_positions(struct item *items, size_t n)
{
    const double same = ts_dicom_same_position(items[0].image);
    double step = INFINITY;
    qsort(items, n, sizeof *items, orientations_compare_along);
    for (size_t i = 1; i < n; i++) {
        const double gap = items[i].along_mm - items[i - 1].along_mm;
        items[i].position = items[i - 1].position + (gap > same);
        step = gap > same ? fmin(step, gap) : step;
    }
    const size_t positions = items[n - 1].position + 1, each = n / positions;
    for (size_t i = 0; i < n; i++) {
        const double gaps = i < each ? 0 : (items[i].along_mm - items[i - each].along_mm) / step;
        if (items[i].position != i / each || fabs(gaps - rint(gaps)) > EVEN_SHARE * fmax(1, gaps))
            return 0;
    }
    return positions >= LEAST_POSITIONS ? positions : 0;
}

/* Returns true if each orientation has images at all positions. The items get sorted by
   orientation. */
static bool are_whole(struct item *items, size_t n, size_t positions)
{
    size_t found = 0;
    qsort(items, n, sizeof *items, compare_groups);
    for (size_t i = 0; i < n; i++) {
        const bool next = i == 0 || items[i].group != items[i - 1].group;
        if (next && i > 0 && found != positions)
            return false;
        found = next ? 1 : found + (items[i].position != items[i - 1].position);
    }
    return found == positions;
}

/* Returns true if the images whose orientation jitters around that of the first are one volume, or
   several: they are at even steps, equally many at each position, and no orientation has all
   positions for itself. Returns false if they have one orientation, too. *no_memory is set if
   memory is out. */
static bool dicom_is_jitter(struct dicom_image *const *images, size_t n, bool *no_memory)
{
    struct item *items = malloc(n * sizeof *items);
    *no_memory |= !items;
    const size_t count = items ? dicom_group_collect(images, n, items) : 0;
    const size_t positions = count > 0 ? number_positions(items, count) : 0;
    const bool jitter = positions > 0 && !are_whole(items, count, positions);
    free(items);
    return jitter;
}

/* Splits a run of images with equal keys by orientation, keeping their order. `images` is
 * rearranged, scratch as long. */
static bool split_run(struct grouping *grouping, struct dicom_image **images, size_t n,
                      struct dicom_image **scratch)
{
    const size_t before = grouping->n;
    bool no_memory = false;
    int round = 0;
    for (; n > 0; round++) {
        size_t same = 0, rest = 0;
        const struct dicom_image *first = images[0];
        const bool jitter = round < MAX_ORIENTATIONS && dicom_is_jitter(images, n, &no_memory);
        const double most = jitter ? DICOM_JITTER : DICOM_SAME_ORIENTATION;
        for (size_t i = 0; i < n; i++)
            if (round >= MAX_ORIENTATIONS || ts_dicom_same_orientation(first, images[i], most))
                scratch[same++] = images[i];
            else
                images[rest++] = images[i];
        if (no_memory ||
            !(round < MAX_ORIENTATIONS ? add_parts : add_series)(grouping, scratch, same, ""))
            return false;
        if (round >= MAX_ORIENTATIONS)
            ts_dicom_series_refuse(&grouping->series[grouping->n - 1], "orientation-mixed", NULL,
                                   "more than %d orientations in one series",
                                   (int)MAX_ORIENTATIONS);
        n = rest;
    }
    if (round > 1 && round <= MAX_ORIENTATIONS)
        warn_of_orientations(grouping, before);
    return true;
}

/* Equal UIDs stand side by side. */
static bool is_split_by_orientation(const struct grouping *grouping, size_t i)
{
    const struct dicom_series *series = grouping->series;
    for (int side = -1; side <= 1; side += 2) {
        size_t other = i + (size_t)side;
        if (other < grouping->n && ts_dicom_same_series(&series[i], &series[other]) &&
            !ts_dicom_same_orientation(series[i].images[0], series[other].images[0],
                                       DICOM_SAME_ORIENTATION))
            return true;
    }
    return false;
}

/* Returns how many series of their own the volumes of a series make. */
static size_t parts_of(const struct dicom_series *series, unsigned split)
{
    const enum ts_axis_kind kind = series->volume_axis.kind;
    unsigned bit = DICOM_SPLIT_TIME;
    if (kind == TS_AXIS_ECHO)
        bit = DICOM_SPLIT_ECHO;
    else if (kind == TS_AXIS_B)
        bit = DICOM_SPLIT_B;
    return series->n_volumes > 1 && (split & bit) ? series->n_volumes : 1;
}

/* Refuses a series whose last volumes lack slices, unless each whole one is a series of its own. */
static void judge_lack(struct dicom_series *series, unsigned split)
{
    char numbers[DICOM_LABEL_MAX];
    static const char keeps_all[] =
        "`split: acquisition` beside the path makes a series of each acquisition; or ";
    const bool acquired = series->order && !strcmp(series->order, "Acquisition Number");
    if (series->refusal || !series->lacking)
        return;
    ts_dicom_list_volumes(series, numbers, sizeof numbers);
    if (parts_of(series, split) > 1)
        ts_dicom_series_warn(series, "%s", series->lacking);
    else
        ts_dicom_series_refuse(
            series, "volume-incomplete",
            ts_arena_printf(series->arena,
                            series->n_volumes == 1
                                ? "supply the slices; or %stake: %s reads the whole volume"
                                : "supply the slices; or %stake: N reads one whole volume: %s",
                            acquired ? keeps_all : "", numbers),
            "%s", series->lacking);
}

/* Makes a series of each volume if the chain wants that. */
static bool split_volumes(struct grouping *grouping, unsigned split)
{
    struct grouping parts = {.arena = grouping->arena};
    bool ok = true;
    for (size_t i = 0; ok && i < grouping->n; i++) {
        const size_t n = parts_of(&grouping->series[i], split);
        for (size_t v = 0; ok && v < n; v++) {
            struct dicom_series *grown =
                ts_memory_grow(parts.series, parts.n, &parts.capacity, sizeof *grown);
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

/* Warns of it. */
static void dicom_warn_of_loss(struct dicom_series *series)
{
    const struct dicom_loss loss = ts_dicom_loss(series);
    bool padded = false;
    for (size_t i = 0; i < series->n_images; i++) {
        double low, high;
        padded |= ts_dicom_says_loss(series->images[i]->file) &&
                  ts_dicom_padding_range(series->images[i], &low, &high);
    }
    if (loss.n_images > 0)
        ts_dicom_series_warn(
            series,
            "%zu of %zu images were compressed with loss (method %s, ratio %s): values differ from "
            "those that were measured%s",
            loss.n_images, series->n_images, *loss.method ? loss.method : "unknown",
            *loss.ratio ? loss.ratio : "unknown",
            padded ? ", and padding that no longer has its value counts as measured" : "");
}

static enum ts_status judge_all(struct grouping *grouping, const struct dicom_folder *folder,
                                const struct dicom_rules *rules, struct dicom_series **out,
                                struct ts_diag *diag)
{
    ts_dicom_warn_of_keys(grouping->series, grouping->n);
    for (size_t i = 0; i < grouping->n; i++) {
        struct dicom_series *series = &grouping->series[i];
        ts_dicom_check_images(series, folder->skip);
        series->image.rank = 3;
        series->image.axes[0].n = (int64_t)series->n_images;
        series->image.axes[1].n = series->images[0]->rows;
        series->image.axes[2].n = series->images[0]->columns;
        if (!series->refusal)
            ts_dicom_arrange(series, is_split_by_orientation(grouping, i), rules);
        if (!series->refusal)
            ts_dicom_quantify(series, rules);
        if (!series->refusal)
            dicom_warn_of_loss(series);
        judge_lack(series, folder->split);
    }
    if (!split_volumes(grouping, folder->split))
        return ts_diag_no_memory(diag, 0);
    ts_dicom_label(grouping->series, grouping->n);
    *out = ts_arena_copy(grouping->arena, grouping->series, grouping->n, sizeof **out);
    return *out ? TS_OK : ts_diag_no_memory(diag, grouping->n * sizeof **out);
}

static int compare_places(const void *a, const void *b)
{
    const double first = (*(struct dicom_image *const *)a)->along_mm,
                 second = (*(struct dicom_image *const *)b)->along_mm;
    return (first > second) - (first < second);
}

static int compare_echoes(const void *a, const void *b)
{
    const struct dicom_image *first = *(struct dicom_image *const *)a,
                             *second = *(struct dicom_image *const *)b;
    const int order = compare_keys(first, second);
    return order ? order : compare_numbers(first->echo_time_ms, second->echo_time_ms);
}

/* Returns true if no position has images of two echo times, so that they are no echoes of one
 * another: those of one scan lie at the same positions. The images get sorted by place. */
static bool lie_apart(struct dicom_image **images, size_t n)
{
    const struct dicom_image *first = images[0];
    double normal[3];
    ts_cross(first->orientation, first->orientation + 3, normal);
    for (size_t i = 0; i < n; i++) {
        if (!images[i]->have_position || !images[i]->have_orientation ||
            !ts_dicom_same_orientation(first, images[i], DICOM_SAME_ORIENTATION))
            return false;
        images[i]->along_mm = ts_dot(images[i]->position_mm, normal);
    }
    qsort(images, n, sizeof *images, compare_places);
    for (size_t i = 1; i < n; i++)
        if (images[i]->echo_ms != images[i - 1]->echo_ms &&
            images[i]->along_mm - images[i - 1]->along_mm <= ts_dicom_same_position(first))
            return false;
    return true;
}

/* Gives n images with equal keys, sorted by echo time, the lowest of these times, if the times
 * differ by at most DICOM_NEAR_ECHO_MS and DICOM_NEAR_ECHO_SHARE and no position has images of two.
 * May reorder the images. */
static void join_apart(struct dicom_image **images, size_t n)
{
    const double low = images[0]->echo_ms, high = images[n - 1]->echo_ms;
    if (!(high > low) || !(high - low <= DICOM_NEAR_ECHO_MS) ||
        !(high - low <= DICOM_NEAR_ECHO_SHARE * low) || !lie_apart(images, n))
        return;
    for (size_t i = 0; i < n; i++)
        images[i]->echo_ms = low;
}

/* Takes echo times that differ by rounding as one, and sorts the images. */
static void join_echoes(struct dicom_image **images, size_t n, bool split)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        any |= !isnan(images[i]->echo_time_ms);
        images[i]->echo_ms = NAN;
    }
    if (any)
        qsort(images, n, sizeof *images, compare_echoes);
    for (size_t i = 0, first = 0; any && i < n; i++) {
        if (compare_keys(images[first], images[i]) != 0 ||
            !(images[i]->echo_time_ms - images[first]->echo_time_ms <= DICOM_SAME_ECHO_MS))
            first = i;
        images[i]->echo_ms = images[first]->echo_time_ms;
    }
    for (size_t first = 0, end; any && first < n; first = end) {
        for (end = first + 1; end < n && compare_keys(images[first], images[end]) == 0; end++) {
        }
        join_apart(images + first, end - first);
    }
    for (size_t i = 0; i < n; i++)
        images[i]->echo_key = split ? images[i]->echo_ms : NAN;
    qsort(images, n, sizeof *images, compare_images);
}

static size_t count_images(const struct dicom_folder *folder)
{
    size_t n = 0;
    for (size_t i = 0; i < folder->n_files; i++)
        n += folder->files[i].n_images;
    return n;
}

enum ts_status ts_dicom_group(struct dicom_folder *folder, const struct dicom_rules *rules,
                              struct arena *arena, struct dicom_series **series, size_t *n_series,
                              struct ts_diag *diag)
{
    struct grouping grouping = {.arena = arena,
                                .joined = folder->split == 0,
                                .acquisitions = folder->split & DICOM_SPLIT_ACQUISITION};
    size_t n = 0, bytes = 2 * count_images(folder) * sizeof(struct dicom_image *);
    struct dicom_image **images = malloc(bytes + 1);
    enum ts_status status =
        images ? ts_dicom_mark_suspects(folder, arena, diag) : ts_diag_no_memory(diag, bytes);
    for (size_t i = 0; images && i < folder->n_files; i++)
        for (size_t k = 0; k < folder->files[i].n_images; k++) {
            images[n++] = &folder->files[i].images[k];
            images[n - 1]->echo_key = NAN;
        }
    if (status == TS_OK && !ts_dicom_refuse_unread(images, n, arena))
        status = ts_diag_no_memory(diag, bytes);
    if (status == TS_OK && !ts_dicom_join(images, n, folder->join, arena))
        status = ts_diag_no_memory(diag, bytes);
    if (status == TS_OK && n > 0)
        join_echoes(images, n, folder->split & DICOM_SPLIT_ECHO);
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
