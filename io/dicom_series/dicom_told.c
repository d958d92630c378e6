/* SPDX-License-Identifier: Apache-2.0
 *
 * An attribute tells volumes apart if it has several values at a position, the same ones at all,
 * and no more than a position has images. Comments that count slices have one value at each
 * position, and those that count images have one in each. Such an attribute has no order that can
 * be relied on, so that it makes no volumes, but no volume mixes its values.
 */
#include "io/dicom_series/dicom_told.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_series/dicom_settings.h"

static const struct attribute {
    size_t place; /* DICOM_NUMBER */
    const char *name;
} times[] = {
    {DICOM_NUMBER(acquired_s), "Acquisition Time"},
    {DICOM_NUMBER(trigger_ms), "Trigger Time"},
    {DICOM_NUMBER(frame_reference_ms), "Frame Reference Time"},
};
/* Attributes are Series Description with the comments, these times, and the settings. */
enum { COMMENTS, TIMES = 1, SETTINGS = TIMES + sizeof times / sizeof *times };

static int compare_comments(const struct dicom_image *a, const struct dicom_image *b)
{
    const int order = strcmp(a->file->description, b->file->description);
    return order ? order : strcmp(a->comment, b->comment);
}

static int dicom_told_compare(int attribute, const struct dicom_image *a,
                              const struct dicom_image *b)
{
    if (attribute == COMMENTS)
        return compare_comments(a, b);
    if (attribute >= SETTINGS)
        return ts_dicom_compare_setting(attribute - SETTINGS, a, b);
    const size_t place = times[attribute - TIMES].place;
    const double first = ts_dicom_image_number(a, place), second = ts_dicom_image_number(b, place);
    if (isnan(first) || isnan(second))
        return !isnan(first) - !isnan(second);
    return (first > second) - (first < second);
}

static int compare_images(const void *a, const void *b, void *attribute)
{
    return dicom_told_compare(*(const int *)attribute, *(struct dicom_image *const *)a,
                              *(struct dicom_image *const *)b);
}

/* Returns n images in the order of the attribute, to be freed; NULL if memory is out. */
static struct dicom_image **sort_by(struct dicom_series *series, size_t first, size_t n,
                                    int attribute)
{
    struct dicom_image **sorted = malloc(n * sizeof(struct dicom_image *));
    series->no_memory |= !sorted;
    if (!sorted)
        return NULL;
    memcpy(sorted, series->images + first, n * sizeof(struct dicom_image *));
    qsort_r(sorted, n, sizeof *sorted, compare_images, &attribute);
    return sorted;
}

static size_t count_values(struct dicom_image *const *sorted, size_t n, int attribute)
{
    size_t values = n > 0;
    for (size_t i = 1; i < n; i++)
        values += dicom_told_compare(attribute, sorted[i], sorted[i - 1]) != 0;
    return values;
}

/* Returns the end of the images at the position of the one at `first`. */
static size_t end_of_position(const struct dicom_series *series, size_t first)
{
    const double same = ts_dicom_same_position(series->images[0]);
    size_t end = first + 1;
    while (end < series->n_images &&
           series->images[end]->along_mm - series->images[end - 1]->along_mm <= same)
        end++;
    return end;
}

/* Returns true if all positions that have `most` images, at least two, have the same values, which
 * differ. A comment that was written from some time on has others at each. */
static bool is_same_everywhere(struct dicom_series *series, size_t most, int attribute)
{
    struct dicom_image **first = NULL;
    bool same = true;
    for (size_t at = 0, end; same && at < series->n_images; at = end) {
        end = end_of_position(series, at);
        if (end - at < most)
            continue;
        struct dicom_image **here = sort_by(series, at, most, attribute);
        same = here && (first || count_values(here, most, attribute) > 1);
        first = first ? first : here;
        for (size_t i = 0; same && i < most; i++)
            same = dicom_told_compare(attribute, first[i], here[i]) == 0;
        if (here != first)
            free(here);
    }
    same = same && first;
    free(first);
    return same;
}

/* Returns true if the attribute tells volumes apart. */
static bool tells(struct dicom_series *series, int attribute)
{
    const size_t n = series->n_images;
    size_t most = 0;
    for (size_t at = 0, end; at < n; at = end) {
        end = end_of_position(series, at);
        most = end - at > most ? end - at : most;
    }
    if (!is_same_everywhere(series, most, attribute))
        return false;
    struct dicom_image **sorted = sort_by(series, 0, n, attribute);
    const bool few = sorted && count_values(sorted, n, attribute) <= most;
    free(sorted);
    return few;
}

uint64_t ts_dicom_find_told(struct dicom_series *series)
{
    uint64_t told = tells(series, COMMENTS);
    for (int i = 0; i < ts_dicom_count_settings(); i++)
        told |= (uint64_t)(ts_dicom_is_of_volumes(i) && tells(series, SETTINGS + i))
                << (SETTINGS + i);
    return told;
}

bool ts_dicom_differ_in_comments(const struct dicom_image *a, const struct dicom_image *b)
{
    return compare_comments(a, b) != 0;
}

bool ts_dicom_is_mixture(struct dicom_image *const *images, size_t n, uint64_t told)
{
    for (int k = 0; told >> k; k++)
        for (size_t i = 1; told >> k & 1 && i < n; i++)
            if (dicom_told_compare(k, images[0], images[i]) != 0)
                return true;
    return false;
}

const char *ts_dicom_name_mixture(struct dicom_series *series, const bool *left)
{
    for (int k = 0; k < SETTINGS + ts_dicom_count_settings(); k++) {
        const struct dicom_image *first = NULL;
        bool mixed = false;
        if (k >= SETTINGS && !ts_dicom_is_of_volumes(k - SETTINGS))
            continue;
        for (size_t i = 0; i < series->n_images; i++) {
            const struct dicom_image *image = series->images[i];
            first = first || left[i] ? first : image;
            mixed |= !left[i] && dicom_told_compare(k, first, image) != 0;
        }
        if (mixed && tells(series, k)) {
            if (k == COMMENTS)
                return "Series Description or Image Comments";
            return k >= SETTINGS ? ts_dicom_setting_name(k - SETTINGS) : times[k - TIMES].name;
        }
    }
    return NULL;
}

/* Returns true for a comment with a number before a percent sign. */
static bool names_phase(const char *comment)
{
    const char *percent = strchr(comment, '%');
    while (percent && percent > comment && percent[-1] == ' ')
        percent--;
    return percent && percent > comment && percent[-1] >= '0' && percent[-1] <= '9';
}

void ts_dicom_warn_of_comments(struct dicom_series *series)
{
    const size_t n = series->n_slices;
    struct dicom_image **sorted = n > 1 ? sort_by(series, 0, n, COMMENTS) : NULL;
    bool phases = sorted != NULL;
    size_t values = 0;
    for (size_t first = 0, end; phases && first < n; first = end, values++) {
        end = first + 1;
        while (end < n && compare_comments(sorted[first], sorted[end]) == 0)
            end++;
        phases = end > first + 1 && names_phase(sorted[first]->comment);
    }
    free(sorted);
    if (phases && values > 1)
        ts_dicom_series_warn(series, "the slices differ in Image Comments that name phases: they "
                                     "may not belong together");
}
