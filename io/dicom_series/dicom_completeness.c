/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks whether series are whole, as far as their headers state it. Positions show a slice that is
 * missing between others (dicom_geometry.c). One that is missing at an end shows only in the
 * Instance Numbers and in the counts that headers state, or as a file of another group that would
 * continue the series. Source: DICOM PS3.3 C.7.6.1 (Instance Number), C.7.3.1 and PS3.4 C.3.4
 * (Number of Series Related Instances), C.7.6.1.1 (Images in Acquisition), C.7.6.16.2.2.4 (a
 * concatenation: a multi-frame image that was cut into several files).
 */
#include "io/dicom_series/dicom_completeness.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"

/* At most this many times the slices that are there may be missing before the first one. A larger
 * first Instance Number is a way of counting, not a loss. */
enum { MAX_BEFORE = 10 };

/* The numbers of the images of all groups that share a series UID, since a series may have been
 * split by orientation or by kind. */
struct relatives {
    size_t n_images, n_files, n_numbers, n_parts;
    size_t n_slices, n_volumes;      /* of all groups; 0: one of them is no volume */
    double *numbers, *acquisitions;  /* sorted; acquisitions of files without one are -INFINITY */
    const struct dicom_file **parts; /* of concatenations, each file once, sorted by them */
};

static int compare_parts(const void *a, const void *b)
{
    const struct dicom_file *const first = *(const struct dicom_file *const *)a,
                                   *const second = *(const struct dicom_file *const *)b;
    const int order = strcmp(first->concatenation, second->concatenation);
    return order ? order : strcmp(first->path, second->path);
}

/* Returns image k of those that the series has and that it leaves out. */
static const struct dicom_image *image_at(const struct dicom_series *series, size_t k)
{
    return k < series->n_images ? series->images[k] : series->unused[k - series->n_images];
}

/* Gathers the files that are parts of a concatenation. False if memory is out. */
static bool gather_parts(const struct dicom_series *all, size_t first, size_t end,
                         struct relatives *relatives)
{
    const struct dicom_file *last = NULL;
    size_t n = 0;
    relatives->parts =
        ts_arena_alloc(all[first].arena, relatives->n_images * sizeof *relatives->parts);
    for (size_t i = first; relatives->parts && i < end; i++) {
        for (size_t k = 0; k < all[i].n_images + all[i].n_unused; k++) {
            const struct dicom_file *file = image_at(&all[i], k)->file;
            if (*file->concatenation && file != last)
                relatives->parts[n++] = last = file;
        }
    }
    if (n > 0)
        qsort(relatives->parts, n, sizeof *relatives->parts, compare_parts);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || relatives->parts[i] != relatives->parts[i - 1])
            relatives->parts[relatives->n_parts++] = relatives->parts[i];
    return relatives->parts != NULL;
}

/* Gathers the numbers of groups [first, end). False if memory is out. */
static bool gather(const struct dicom_series *all, size_t first, size_t end,
                   struct relatives *relatives)
{
    struct arena *arena = all[first].arena;
    size_t n = 0;
    *relatives = (struct relatives){.n_files = ts_dicom_count_files(all + first, end - first)};
    bool whole = true;
    for (size_t i = first; i < end; i++) {
        relatives->n_images += all[i].n_images + all[i].n_unused;
        relatives->n_slices += all[i].n_slices;
        relatives->n_volumes += all[i].n_volumes;
        whole &= !all[i].refusal && all[i].n_slices > 0;
    }
    if (!whole)
        relatives->n_slices = relatives->n_volumes = 0;
    relatives->numbers = ts_arena_alloc(arena, relatives->n_images * sizeof(double));
    relatives->acquisitions = ts_arena_alloc(arena, relatives->n_images * sizeof(double));
    if (!relatives->numbers || !relatives->acquisitions || relatives->n_files == 0)
        return false;
    for (size_t i = first; i < end; i++) {
        for (size_t k = 0; k < all[i].n_images + all[i].n_unused; k++) {
            const struct dicom_image *image = image_at(&all[i], k);
            relatives->acquisitions[n++] =
                isnan(image->acquisition_number) ? -INFINITY : image->acquisition_number;
            if (!isnan(image->instance_number))
                relatives->numbers[relatives->n_numbers++] = image->instance_number;
        }
    }
    qsort(relatives->numbers, relatives->n_numbers, sizeof(double), ts_compare_doubles);
    qsort(relatives->acquisitions, n, sizeof(double), ts_compare_doubles);
    return gather_parts(all, first, end, relatives);
}

/* Counts the values that are equal to `value` among n sorted ones. */
static size_t count_equal(const double *values, size_t n, double value)
{
    const double above = nextafter(value, INFINITY);
    return ts_lower_bound(&above, values, n, sizeof *values, ts_compare_doubles) -
           ts_lower_bound(&value, values, n, sizeof *values, ts_compare_doubles);
}

/* Returns the step that more than half of the neighbors in n sorted numbers have, if all others are
 * several of it; else 0. */
static double common_step(const double *numbers, size_t n)
{
    double step = 0;
    size_t votes = 0, regular = 0;
    for (size_t i = 1; i < n; i++) { /* the majority, if there is one: Boyer and Moore, 1981 */
        const double here = numbers[i] - numbers[i - 1];
        step = votes == 0 ? here : step;
        votes = here == step ? votes + 1 : votes - 1;
    }
    for (size_t i = 1; i < n && step > 0; i++) {
        const double here = numbers[i] - numbers[i - 1];
        if (here <= 0 || fmod(here, step) != 0)
            return 0;
        regular += here == step;
    }
    return 2 * regular > n - 1 ? step : 0;
}

/* Counts the numbers from + step, from + 2 step, ... before `to` that no relative has; *first is
 * the lowest of them. */
static size_t count_missing(const struct relatives *relatives, double from, double to, double step,
                            double *first)
{
    size_t missing = 0;
    for (double number = from + step; number < to; number += step)
        if (count_equal(relatives->numbers, relatives->n_numbers, number) == 0)
            *first = missing++ == 0 ? number : *first;
    return missing;
}

/* Numbers with a regular stride are whole; so are those whose gaps other groups of the series fill.
 * If more numbers are missing than there are, the numbers are not those of slices. */
static void warn_of_gaps(struct dicom_series *series, const struct relatives *relatives)
{
    const size_t n = series->n_images;
    double *numbers = ts_arena_alloc(series->arena, n * sizeof *numbers), first = NAN,
           ignored = NAN;
    size_t missing = 0;
    series->no_memory |= !numbers;
    if (!numbers || n < 3)
        return;
    for (size_t i = 0; i < n; i++) {
        numbers[i] = series->images[i]->instance_number;
        if (!(fabs(numbers[i]) <= INT32_MAX) || numbers[i] != rint(numbers[i]))
            return;
    }
    qsort(numbers, n, sizeof *numbers, ts_compare_doubles);
    const double step = common_step(numbers, n), widest = step * (double)(n + 1);
    if (step == 0)
        return;
    for (size_t i = 1; i < n; i++) {
        if (numbers[i] - numbers[i - 1] > widest || missing > n)
            return;
        missing +=
            count_missing(relatives, numbers[i - 1], numbers[i], step, missing ? &ignored : &first);
    }
    if (missing > 0) {
        ts_dicom_series_warn(
            series, "Instance Numbers have gaps: %zu %s missing, first %g; slices may be missing",
            missing, missing == 1 ? "is" : "are", first);
    }
    if (step == 1 && numbers[0] > 1 && numbers[0] <= MAX_BEFORE * (double)n &&
        (double)count_missing(relatives, 0, numbers[0], 1, &ignored) == numbers[0] - 1)
        ts_dicom_series_warn(series, "Instance Numbers begin at %g; slices may be missing",
                             numbers[0]);
}

static void warn_of_acquisition(struct dicom_series *series, const struct relatives *relatives)
{
    for (size_t i = 0; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        const double acquisition =
            isnan(image->acquisition_number) ? -INFINITY : image->acquisition_number;
        const size_t here = count_equal(relatives->acquisitions, relatives->n_images, acquisition);
        if (image->file->images_in_acquisition > (double)here) {
            ts_dicom_series_warn(
                series,
                "Images in Acquisition says %g, %zu are in the input; slices may be missing",
                image->file->images_in_acquisition, here);
            return;
        }
    }
}

/* Volumes or slices of PET that are missing at an end show in the counts that the header states. A
 * series of one volume may be one of several that share the count. */
static void warn_of_counts(struct dicom_series *series, const struct relatives *relatives)
{
    const struct dicom_file *file = series->images[0]->file;
    const bool pet = !strcmp(file->modality, "PT");
    const double volumes = (double)relatives->n_volumes, slices = (double)relatives->n_slices;
    const char *name = "Number of Temporal Positions";
    double claimed = file->temporal_positions;
    if (pet && file->pet_time_slices > 0) {
        name = "Number of Time Slices";
        claimed = file->pet_time_slices;
    }
    if (volumes > 1 && claimed > volumes)
        ts_dicom_series_warn(series,
                             "%s says %g, %g volumes are in the input; volumes may be missing",
                             name, claimed, volumes);
    if (pet && slices > 0 && file->pet_slices > slices)
        ts_dicom_series_warn(series,
                             "Number of Slices says %g, %g are in the input; slices may be missing",
                             file->pet_slices, slices);
}

bool ts_dicom_is_damage(const char *code)
{
    static const char *const whole[] = {"dicom-color", "dicom-mosaic", "dicom-multi-frame",
                                        "dicom-rescale"};
    bool damaged = code && !strncmp(code, "dicom-", 6);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        damaged = damaged && strcmp(code, whole[i]) != 0;
    return damaged;
}

static bool is_damaged(const struct dicom_series *group)
{
    return ts_dicom_is_damage(group->refusal_code) &&
           (!*group->series || strcmp(group->refusal_code, "dicom-syntax") != 0);
}

/* Returns the first damaged one of groups [first, end), or NULL. */
static const struct dicom_series *find_damaged(const struct dicom_series *all, size_t first,
                                               size_t end)
{
    for (size_t i = first; i < end; i++)
        if (is_damaged(&all[i]))
            return &all[i];
    return NULL;
}

/* Returns true if the user listed the files one by one. Such a user may leave out files of a series
 * on purpose, unlike one who gives a folder. */
static bool is_listed(const struct dicom_series *series)
{
    for (size_t i = 0; i < series->n_images; i++)
        if (series->images[i]->file->folder != DICOM_NAMED)
            return false;
    return true;
}

/* Returns true if the file lies where the next slice of the series would, before its first or
 * behind its last one. */
static bool is_next_slice(const struct dicom_series *series, const struct dicom_image *image)
{
    const double *step = series->image.step_z_mm,
                 tolerance = ts_dicom_same_position(image) + 0.02 * series->image.axes[0].spacing;
    bool before = image->have_position, behind = image->have_position;
    for (int i = 0; i < 3; i++) {
        const double first = series->images[0]->position_mm[i],
                     last = series->images[series->n_slices - 1]->position_mm[i];
        before = before && fabs(image->position_mm[i] - first + step[i]) <= tolerance;
        behind = behind && fabs(image->position_mm[i] - last - step[i]) <= tolerance;
    }
    return before || behind;
}

/* A slice of which one element was changed is in another group: of the same UID, of none, or, if it
 * is the UID that was changed, alone in its group, in the same folder. */
static bool may_hold_slices_of(const struct dicom_series *group, const struct dicom_series *series)
{
    return !*group->series || !strcmp(group->series, series->series) ||
           (group->n_images == 1 &&
            group->images[0]->file->folder == series->images[0]->file->folder);
}

/* Warns of images of other groups with which the series would be a longer volume. */
static void warn_of_next_slices(struct dicom_series *all, size_t n, struct dicom_series *series)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0;
             &all[i] != series && may_hold_slices_of(&all[i], series) && k < all[i].n_images; k++) {
            if (is_next_slice(series, all[i].images[k])) {
                ts_dicom_series_warn(
                    series,
                    "an image of series %d lies where the next slice would; slices may be missing",
                    all[i].number);
                break;
            }
        }
    }
}

/* Notes that the header claims more than there is: `text`, which is NULL if memory is out. */
static void note_incomplete(struct dicom_series *series, const char *text)
{
    series->no_memory |= !text;
    if (text && is_listed(series))
        ts_dicom_series_warn(series, "%s", text);
    else if (!series->incomplete)
        series->incomplete = text;
}

/* Looks for a concatenation of which parts are not there. */
static void check_parts(struct dicom_series *series, const struct relatives *relatives)
{
    const struct dicom_file **parts = relatives->parts;
    for (size_t first = 0, end; first < relatives->n_parts; first = end) {
        double claimed = 0;
        for (end = first; end < relatives->n_parts &&
                          !strcmp(parts[end]->concatenation, parts[first]->concatenation);
             end++)
            claimed = fmax(claimed, parts[end]->concatenation_files);
        if (claimed > (double)(end - first)) {
            note_incomplete(
                series,
                ts_arena_printf(series->arena,
                                "In-concatenation Total Number says %g, %zu are in the input",
                                claimed, end - first));
            return;
        }
    }
}

static void check_one(struct dicom_series *series, const struct relatives *relatives)
{
    double claimed = 0;
    for (size_t i = 0; i < series->n_images; i++)
        claimed = fmax(claimed, series->images[i]->file->series_instances);
    if (claimed > (double)relatives->n_files)
        note_incomplete(
            series,
            ts_arena_printf(series->arena,
                            "Number of Series Related Instances says %g, %zu are in the input",
                            claimed, relatives->n_files));
    check_parts(series, relatives);
    if (!series->refusal) {
        warn_of_gaps(series, relatives);
        warn_of_acquisition(series, relatives);
        warn_of_counts(series, relatives);
    }
}

/* Returns true if the UID is the beginning of another one, which may have been cut. */
static bool is_cut_uid(const struct dicom_series *all, size_t n, const struct dicom_series *group)
{
    const size_t length = strlen(group->series);
    for (size_t i = 0; i < n; i++)
        if (strlen(all[i].series) > length && !strncmp(all[i].series, group->series, length))
            return true;
    return false;
}

/* Returns true if bytes that no UID has stand in it, which belong to other elements. */
static bool is_garbled(const char *uid)
{
    while (isprint((unsigned char)*uid))
        uid++;
    return *uid != '\0';
}

/* Groups [first, end) share a UID. A damaged file that has it alone may have had another one.
 * Several files that have it are a series of their own, and so is one of which only pixels were
 * lost. */
static void mark_doubtful_uids(struct dicom_series *all, size_t n, size_t first, size_t end,
                               size_t n_files)
{
    bool usable = false;
    for (size_t i = first; i < end; i++)
        for (size_t k = 0; k < all[i].n_images; k++)
            usable = usable || !all[i].images[k]->file->refusal;
    for (size_t i = first; i < end; i++) {
        const struct dicom_series *group = &all[i];
        const bool damaged = is_damaged(group) &&
                             strcmp(group->refusal_code, "dicom-pixels-short") != 0 &&
                             (n_files == 1 || is_cut_uid(all, n, group));
        all[i].doubtful_uid = (is_damaged(group) && !*group->series) || (!usable && damaged) ||
                              (group->refusal && is_garbled(group->series));
    }
}

void ts_dicom_check_completeness(struct dicom_series *all, size_t n)
{
    for (size_t first = 0, end; first < n; first = end) {
        struct relatives relatives;
        for (end = first + 1; end < n && ts_dicom_same_series(&all[end], &all[first]); end++) {
        }
        if (!gather(all, first, end, &relatives)) {
            all[first].no_memory = true;
            return;
        }
        const struct dicom_series *damaged =
            *all[first].series ? find_damaged(all, first, end) : NULL;
        for (size_t i = first; i < end; i++) {
            check_one(&all[i], &relatives);
            all[i].damaged = all[i].refusal ? NULL : damaged;
        }
        mark_doubtful_uids(all, n, first, end, relatives.n_files);
    }
    for (size_t i = 0; i < n; i++)
        if (!all[i].refusal && all[i].n_images > 2 && all[i].image.has_geometry)
            warn_of_next_slices(all, n, &all[i]);
}
