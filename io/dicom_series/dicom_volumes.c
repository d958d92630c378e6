/* SPDX-License-Identifier: Apache-2.0
 *
 * What tells the images at one position apart decides which volume each belongs to. The attributes below are tried in
 * turn, and the first that gives every image of a position a value of its own wins: its values, or for times their
 * order, must be the same at all positions. Instance Numbers come last, and only where the header states how many
 * volumes or how many slices there are, because they say nothing of what a volume is. Diffusion series have the order
 * in which they were acquired, and their axis the b-value of each volume.
 */
#include "io/dicom_series/dicom_volumes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "io/dicom_series/dicom_repeats.h"

static const double SAME_GRADIENT = 1e-3, SAME_PLACE_MM = 1e-2;

/* An attribute that may tell volumes apart. */
struct criterion {
    size_t offset;
    bool shared;      /* the images of a volume have one value; else only their order counts */
    bool when_stated; /* it counts only where the header states how many volumes there are */
};

#define VALUE(field) offsetof(struct dicom_image, field)
static const struct criterion echo = {VALUE(echo_time_ms), true, false};
static const struct criterion criteria[] = {
    {VALUE(temporal_position), true, false},  {VALUE(time_offset_s), true, false},
    {VALUE(acquisition_number), true, false}, {VALUE(acquired_s), false, false},
    {VALUE(trigger_ms), false, false},        {VALUE(b_value), true, false},
    {VALUE(instance_number), false, true},
};

/* An image with the number of its position and its value of a criterion, for sorting. */
struct item {
    size_t position;
    double value;
    struct dicom_image *image;
};

static int compare_items(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    if (first->position != second->position)
        return first->position < second->position ? -1 : 1;
    if (first->value != second->value)
        return first->value < second->value ? -1 : 1;
    return ts_dicom_compare_images(first->image, second->image);
}

static double value_of(const struct dicom_image *image, size_t offset)
{
    double value;
    memcpy(&value, (const char *)image + offset, sizeof value);
    return value;
}

/* Numbers the positions. Returns how many there are where all have the same number of images, else 0. */
static size_t number_positions(const struct dicom_series *series, struct item *items)
{
    size_t positions = 0, first = 0, each = 0;
    for (size_t i = 0; i < series->n_images; i++) {
        struct dicom_image *image = series->images[i];
        if (i > 0 && image->along_mm - series->images[i - 1]->along_mm > DICOM_SAME_POSITION_MM) {
            each = positions == 0 ? i : each;
            if (i - first != each)
                return 0;
            first = i;
            positions++;
        }
        items[i] = (struct item){.position = positions, .image = image};
    }
    each = positions == 0 ? series->n_images : each;
    return series->n_images - first == each ? positions + 1 : 0;
}

static bool is_stated(const struct dicom_series *series, size_t positions, size_t volumes)
{
    const struct dicom_file *file = series->images[0]->file;
    return file->temporal_positions == (double)volumes || file->images_in_acquisition == (double)positions;
}

/* Sorts the items of every position by the criterion. Returns true where it gives each image a volume. */
static bool sort_by(const struct criterion *criterion, struct item *items, size_t positions, size_t volumes)
{
    const size_t n = positions * volumes;
    for (size_t i = 0; i < n; i++) {
        items[i].value = value_of(items[i].image, criterion->offset);
        if (isnan(items[i].value))
            return false;
    }
    qsort(items, n, sizeof *items, compare_items);
    for (size_t i = 0; i < n; i++) {
        if (i % volumes > 0 && items[i].value == items[i - 1].value)
            return false;
        if (criterion->shared && items[i].value != items[i % volumes].value)
            return false;
    }
    return true;
}

/* Returns true where the values of an attribute differ between images at one position. */
static bool differs(const struct item *items, size_t n, size_t offset)
{
    for (size_t i = 1; i < n; i++) {
        const double before = value_of(items[i - 1].image, offset), here = value_of(items[i].image, offset);
        if (items[i].position == items[i - 1].position && before != here && !(isnan(before) && isnan(here)))
            return true;
    }
    return false;
}

/* Returns true where all images of a volume have the same b-value and direction. */
static bool same_weighting(const struct item *items, size_t positions, size_t volumes)
{
    for (size_t i = volumes; i < positions * volumes; i++) {
        const struct dicom_image *image = items[i].image, *first = items[i % volumes].image;
        if (image->b_value != first->b_value || image->have_gradient != first->have_gradient)
            return false;
        for (int k = 0; k < 3; k++)
            if (fabs(image->gradient[k] - first->gradient[k]) > SAME_GRADIENT)
                return false;
    }
    return true;
}

/* Fills values with the time of each volume: the least one of its slices, counted from the first volume. Returns false
 * where times are missing or do not rise. */
static bool list_times(const struct item *items, size_t positions, size_t volumes, size_t offset, double factor,
                       double *values)
{
    for (size_t v = 0; v < volumes; v++) {
        values[v] = INFINITY;
        for (size_t p = 0; p < positions; p++) {
            const double time = value_of(items[p * volumes + v].image, offset) * factor;
            if (isnan(time))
                return false;
            values[v] = fmin(values[v], time);
        }
    }
    for (size_t v = volumes; v-- > 0;) {
        if (v > 0 && !(values[v] > values[v - 1]))
            return false;
        values[v] -= values[0];
    }
    return true;
}

/* Gives the axis of time its positions: as measured, else as multiples of the interval that the header states. */
static void place_times(struct dicom_series *series, const struct item *items, size_t positions, double *values)
{
    const size_t volumes = series->n_volumes;
    const struct dicom_file *file = items[0].image->file;
    struct ts_axis *axis = &series->volume_axis;
    if (!list_times(items, positions, volumes, VALUE(acquired_s), 1, values) &&
        !list_times(items, positions, volumes, VALUE(time_offset_s), 1, values) &&
        !list_times(items, positions, volumes, VALUE(trigger_ms), 1e-3, values)) {
        const bool resolution = file->temporal_resolution_ms > 0;
        const double step = resolution ? file->temporal_resolution_ms / 1e3 : file->repetition_ms / 1e3;
        if (!(step > 0)) {
            *axis = (struct ts_axis){.kind = TS_AXIS_TIME, .n = (int64_t)volumes, .spacing = 1, .unit = ""};
            ts_dicom_series_warn(series, "the header states no times: the volumes are numbered");
            return;
        }
        ts_dicom_series_warn(series, "the times of the volumes are multiples of %s, %g s",
                             resolution ? "Temporal Resolution" : "Repetition Time", step);
        for (size_t v = 0; v < volumes; v++)
            values[v] = (double)v * step;
    }
    axis->positions = values;
}

static void set_axis(struct dicom_series *series, const struct item *items, size_t positions, enum ts_axis_kind kind)
{
    const size_t volumes = series->n_volumes;
    double *values = ts_arena_alloc(series->arena, volumes * sizeof *values);
    if (!values) {
        series->no_memory = true;
        return;
    }
    series->volume_axis = (struct ts_axis){.kind = kind, .n = (int64_t)volumes, .positions = values};
    series->volume_axis.unit = kind == TS_AXIS_TIME ? "s" : kind == TS_AXIS_ECHO ? "ms" : "s/mm2";
    if (kind == TS_AXIS_TIME) {
        series->volume_axis.positions = NULL;
        place_times(series, items, positions, values);
        return;
    }
    for (size_t v = 0; v < volumes; v++)
        values[v] = kind == TS_AXIS_ECHO ? items[v].image->echo_time_ms : items[v].image->b_value;
}

/* Refuses volumes that do not lie at one place. */
static void check_places(struct dicom_series *series)
{
    const size_t n = series->n_slices;
    for (size_t i = n; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i], *first = series->images[i % n];
        double off = 0;
        for (int k = 0; k < 3; k++)
            off = fmax(off, fabs(image->position_mm[k] - first->position_mm[k]));
        if (off > SAME_PLACE_MM) {
            ts_dicom_series_refuse(series, "volumes-shifted", "put the volumes into folders of their own",
                                   "the volumes do not lie at one place: %s is %.3f mm off %s",
                                   ts_base_name(image->file->path), off, ts_base_name(first->file->path));
            return;
        }
    }
}

/* Finds the order of the volumes. Returns false where nothing gives one. */
static bool find_order(const struct dicom_series *series, struct item *items, size_t positions, size_t volumes,
                       enum ts_axis_kind kind)
{
    if (kind == TS_AXIS_ECHO)
        return sort_by(&echo, items, positions, volumes);
    for (size_t i = 0; i < sizeof criteria / sizeof *criteria; i++)
        if ((!criteria[i].when_stated || kind == TS_AXIS_B || is_stated(series, positions, volumes)) &&
            sort_by(&criteria[i], items, positions, volumes) &&
            (kind != TS_AXIS_B || same_weighting(items, positions, volumes)))
            return true;
    return false;
}

void ts_dicom_split_volumes(struct dicom_series *series)
{
    const size_t n = series->n_images;
    struct item *items = ts_arena_alloc(series->arena, n * sizeof *items);
    series->n_slices = n;
    series->n_volumes = 1;
    if (!items) {
        series->no_memory = true;
        return;
    }
    const size_t positions = number_positions(series, items);
    if (positions == n)
        return;
    if (positions == 0) { /* the items are not all filled in */
        ts_dicom_refuse_repeats(series);
        return;
    }
    const size_t volumes = n / positions;
    const bool weighted = differs(items, n, VALUE(b_value)) || differs(items, n, VALUE(gradient));
    const bool echoes = differs(items, n, VALUE(echo_time_ms));
    const enum ts_axis_kind kind = echoes ? TS_AXIS_ECHO : weighted ? TS_AXIS_B : TS_AXIS_TIME;
    if (positions < 2 || !find_order(series, items, positions, volumes, kind)) {
        if (echoes && positions > 1)
            ts_dicom_series_refuse(
                series, "position-repeated",
                "write `split: echo` beside the path: each echo is then a series of its own",
                "images at one position differ in Echo Time and in more: %zu images at %zu positions", n, positions);
        else
            ts_dicom_refuse_repeats(series);
        return;
    }
    series->n_slices = positions;
    series->n_volumes = volumes;
    for (size_t i = 0; i < n; i++)
        series->images[i % volumes * positions + i / volumes] = items[i].image;
    set_axis(series, items, positions, kind);
    check_places(series);
}
