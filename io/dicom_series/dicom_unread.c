/* SPDX-License-Identifier: Apache-2.0
 *
 * A number that cannot be read counts as absent, which is harmless if all images of a series have
 * the same one: it tells none of them apart. If they have several, as echo times of 2,46 and 4,92
 * have, they might be taken for one volume, so that the files that have it are refused, unless
 * another element gives the number. A warning names all others. It does not repeat the values,
 * because results keep warnings, and people can write anything into a header.
 */
#include "io/dicom_series/dicom_unread.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TAGS = 64, MOST_NAMED = 6 };

/* Returns true if another element gives the number, as a public b-value does beside a private
 * one. */
static bool is_given(const struct dicom_image *image, const struct dicom_unread *unread)
{
    const bool b_value = unread->field == offsetof(struct dicom_image, b_value);
    return unread->field > 0 && (!isnan(*(const double *)((const char *)image + unread->field)) ||
                                 (b_value && !isnan(image->ge_b_value)));
}

static const struct dicom_unread *find_unread(const struct dicom_image *image, uint32_t tag)
{
    const struct dicom_unread *unread = image->unread;
    while (unread && (unread->tag != tag || is_given(image, unread)))
        unread = unread->next;
    return unread;
}

/* Lists the elements that some of the images could not read, each once. Returns how many. */
static size_t list_unread(struct dicom_image *const *images, size_t n,
                          const struct dicom_unread *list[MOST_TAGS])
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && images[i]->unread == images[i - 1]->unread)
            continue; /* frames of one file share it */
        for (const struct dicom_unread *unread = images[i]->unread; unread; unread = unread->next) {
            size_t k = 0;
            while (k < count && list[k]->tag != unread->tag)
                k++;
            if (k == count && count < MOST_TAGS)
                list[count++] = unread;
        }
    }
    return count;
}

/* Returns true if the images do not all have the same unread value of an element. */
static bool unread_differ(struct dicom_image *const *images, size_t n, uint32_t tag)
{
    const struct dicom_unread *first = find_unread(images[0], tag);
    for (size_t i = 1; i < n; i++) {
        const struct dicom_unread *other = find_unread(images[i], tag);
        if (!first != !other || (first && strcmp(first->text, other->text) != 0))
            return true;
    }
    return false;
}

/* Refuses the file of the image for an unread value. Returns false if memory is out. */
static bool refuse_file(struct dicom_file *file, const struct dicom_unread *unread,
                        struct arena *arena)
{
    enum { SHOWN = 40 };
    const bool cut = strlen(unread->text) > SHOWN;
    if (file->refusal)
        return true;
    file->refusal = ts_arena_printf(
        arena,
        "%s (%04x,%04x) is no number that can be read, '%.*s%s' of VR %s, and other images of the "
        "series have another one",
        unread->name, unread->tag >> 16, unread->tag & 0xFFFF, (int)SHOWN, unread->text,
        cut ? "..." : "", *unread->vr ? unread->vr : "(implicit)");
    file->refusal_code = "dicom-bad-value";
    file->advice = "correct the number in the files: its decimals stand behind a point";
    return file->refusal != NULL;
}

/* Refuses the files among images of one series UID. Returns false if memory is out. */
static bool refuse_among(struct dicom_image *const *images, size_t n, struct arena *arena)
{
    const struct dicom_unread *list[MOST_TAGS];
    const size_t count = list_unread(images, n, list);
    for (size_t k = 0; k < count; k++) {
        if (!list[k]->tells || !unread_differ(images, n, list[k]->tag))
            continue;
        for (size_t i = 0; i < n; i++) {
            const struct dicom_unread *unread = find_unread(images[i], list[k]->tag);
            if (unread && !refuse_file((struct dicom_file *)images[i]->file, unread, arena))
                return false;
        }
    }
    return true;
}

static int compare_uids(const void *a, const void *b)
{
    return strcmp((*(struct dicom_image *const *)a)->file->series,
                  (*(struct dicom_image *const *)b)->file->series);
}

bool ts_dicom_refuse_unread(struct dicom_image *const *images, size_t n, struct arena *arena)
{
    bool ok = true, any = false;
    for (size_t i = 0; i < n; i++)
        any |= images[i]->unread != NULL;
    struct dicom_image **sorted = any ? malloc(n * sizeof *sorted) : NULL;
    if (!sorted)
        return !any;
    memcpy(sorted, images, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_uids);
    for (size_t first = 0, end; ok && first < n; first = end) {
        for (end = first + 1; end < n && compare_uids(&sorted[first], &sorted[end]) == 0; end++) {
        }
        ok = refuse_among(sorted + first, end - first, arena);
    }
    free(sorted);
    return ok;
}

void ts_dicom_warn_of_unread(struct dicom_series *series)
{
    const struct dicom_unread *list[MOST_TAGS];
    const size_t count = list_unread(series->images, series->n_images, list);
    const char *names = "";
    for (size_t k = 0; k < count && k < MOST_NAMED && names; k++)
        names = ts_arena_printf(series->arena, "%s%s%s (%04x,%04x; VR %s)", names, k ? ", " : "",
                                list[k]->name, list[k]->tag >> 16, list[k]->tag & 0xFFFF,
                                *list[k]->vr ? list[k]->vr : "implicit");
    series->no_memory |= !names;
    if (count > 0 && names)
        ts_dicom_series_warn(series,
                             "numbers or times of the header cannot be read, and count as not "
                             "stated: %s%s",
                             names, count > MOST_NAMED ? ", and others" : "");
}
