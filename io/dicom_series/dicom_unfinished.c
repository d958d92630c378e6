/* SPDX-License-Identifier: Apache-2.0
 *
 * This tells which images belong together if volumes lack some, as those of a scan that was stopped
 * do, whether that is certain, and what is missing.
 */
#include "io/dicom_series/dicom_unfinished.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The order in which the images were made, whatever their positions. */
static int compare_values(const void *a, const void *b)
{
    const struct volume_item *first = a, *second = b;
    if (first->value != second->value)
        return first->value < second->value ? -1 : 1;
    return (first->position > second->position) - (first->position < second->position);
}

bool ts_dicom_cut_volumes(const struct volume_criterion *criterion, struct volume_items *items,
                          size_t *seen)
{
    size_t volume = 0;
    qsort(items->at, items->n, sizeof *items->at, compare_values);
    memset(seen, 0, items->positions * sizeof *seen);
    for (size_t i = 0; i < items->n; i++) {
        struct volume_item *item = &items->at[i];
        const bool again = seen[item->position] == volume;
        const bool next =
            criterion->rule == SHARED ? i > 0 && item->value != items->at[i - 1].value : again;
        if (i == 0 || next)
            volume++;
        else if (again)
            return false;
        seen[item->position] = volume;
        item->volume = volume - 1;
    }
    return volume == items->volumes;
}

/* Returns true if a number counts the images of the series, so that whole volume v has the numbers
 * behind those of v volumes. numbers: SIZE_MAX for volumes that are not whole. */
static bool counts_on(const struct volume_items *items, size_t place, const size_t *numbers)
{
    const double positions = (double)items->positions;
    double least = INFINITY;
    for (size_t i = 0; i < items->n; i++)
        least = fmin(least, ts_dicom_image_number(items->at[i].image, place));
    for (size_t i = 0; i < items->n; i++) {
        const size_t volume = items->at[i].volume;
        const double number = ts_dicom_image_number(items->at[i].image, place) - least;
        if (numbers[volume] != SIZE_MAX && !(floor(number / positions) == (double)volume))
            return false;
    }
    return least <= 1;
}

/* Returns true if more is between two volumes than between two images of one. */
static bool stands_apart(const struct volume_items *items)
{
    const double clearly = 1.5;
    double within = 0, between = INFINITY;
    for (size_t i = 1; i < items->n; i++) {
        const struct volume_item *before = &items->at[i - 1], *here = &items->at[i];
        const double step = here->value - before->value;
        if (here->volume == before->volume)
            within = fmax(within, step);
        else
            between = fmin(between, step);
    }
    return between > clearly * within;
}

bool ts_dicom_begin_whole(const struct volume_criterion *criterion,
                          const struct volume_items *items, const size_t *numbers)
{
    return criterion->rule == SHARED || counts_on(items, DICOM_NUMBER(instance_number), numbers) ||
           counts_on(items, DICOM_NUMBER(frame_order), numbers) || stands_apart(items);
}

void ts_dicom_note_lack(struct dicom_series *series, const struct volume_items *items,
                        size_t complete, const size_t *numbers)
{
    const size_t lost = items->positions * items->volumes - items->n;
    bool *left = ts_arena_alloc(series->arena, items->n * sizeof *left);
    bool *there = ts_arena_alloc(series->arena, items->positions * sizeof *there);
    size_t volume = 0, missing = 0;
    size_t *whole = ts_arena_alloc(series->arena, complete * sizeof *whole);
    series->no_memory |= !left || !there || !whole;
    if (!left || !there || !whole)
        return;
    for (size_t v = 0; v < items->volumes; v++)
        if (numbers[v] != SIZE_MAX)
            whole[numbers[v]] = v;
    series->volume_numbers = whole;
    while (numbers[volume] != SIZE_MAX) /* the first that is not whole */
        volume++;
    for (size_t i = 0; i < items->n; i++) {
        left[i] = i >= complete * items->positions;
        there[items->at[i].position] |= items->at[i].volume == volume;
    }
    while (there[missing])
        missing++;
    series->lacking = ts_arena_printf(
        series->arena,
        "%zu slice%s missing, and %zu of %zu volumes %s whole: volume %zu of 0 to %zu lacks the "
        "slice at %.3f mm along the normal",
        lost, lost == 1 ? " is" : "s are", complete, items->volumes, complete == 1 ? "is" : "are",
        volume, items->volumes - 1, series->images[missing]->along_mm);
    series->no_memory |= !series->lacking;
    ts_dicom_series_leave_out(series, left);
}
