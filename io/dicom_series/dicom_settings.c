/* SPDX-License-Identifier: Apache-2.0
 *
 * A setting counts only where it divides the images into equal sets of positions. One that changes from slice to slice
 * does not, such as the repetition time of a scan that waits for the heart.
 */
#include "io/dicom_series/dicom_settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/vector3.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_header/dicom_kernel.h"
#include "io/dicom_header/dicom_known.h"
#include "io/dicom_series/dicom_repeats.h"

enum { RECEIVE_COIL = DICOM_FIELDS }; /* a text that is in no field, since no output may have it */

static const struct setting {
    int field;                       /* enum dicom_field, or RECEIVE_COIL */
    const char *name, *label, *unit; /* label: how people call it */
} settings[] = {
    {DICOM_FIELD_inversion_time, "Inversion Time", "TI", " ms"},
    {DICOM_FIELD_flip_angle, "Flip Angle", "flip angle", " degrees"},
    {DICOM_FIELD_repetition_time, "Repetition Time", "TR", " ms"},
    {DICOM_FIELD_tube_voltage, "KVP", "KVP", " kV"},
    {DICOM_FIELD_cardiac_phase, "Nominal Percentage of Cardiac Phase", "cardiac phase", " %"},
    {DICOM_FIELD_convolution_kernel, "Convolution Kernel", "kernel", NULL},
    {RECEIVE_COIL, "Receive Coil Name", "coil", NULL},
    {DICOM_FIELD_image_type, "Image Type", "type", NULL},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static int compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return !isnan(a) - !isnan(b);
    return (a > b) - (a < b);
}

/* Returns the text of a field. Of Image Type that is value 3 and what follows: the first two say how the pixels came
 * about, rather than what they show. */
static const char *text_of(const struct dicom_image *image, int field)
{
    const char *text = field == RECEIVE_COIL ? image->coil : ts_dicom_field_text(image, (enum dicom_field)field);
    for (int i = 0; i < 2 && field == DICOM_FIELD_image_type; i++) {
        text += strcspn(text, "\\");
        text += *text != '\0';
    }
    return text;
}

static bool is_number(int field)
{
    return field != RECEIVE_COIL && ts_dicom_field_is_number((enum dicom_field)field);
}

int ts_dicom_compare_setting(int setting, const struct dicom_image *a, const struct dicom_image *b)
{
    const int field = settings[setting].field;
    return is_number(field) ? compare_numbers(ts_dicom_field_number(a, (enum dicom_field)field),
                                              ts_dicom_field_number(b, (enum dicom_field)field))
                            : strcmp(text_of(a, field), text_of(b, field));
}

void ts_dicom_setting_text(int setting, const struct dicom_image *image, int number, char *out, size_t size)
{
    const int field = settings[setting].field;
    const char *label = settings[setting].label, *text = text_of(image, field);
    char kept[DICOM_TEXT_MAX * 2] = "";
    if (is_number(field)) {
        snprintf(out, size, "%s %g%s", label, ts_dicom_field_number(image, (enum dicom_field)field),
                 settings[setting].unit);
        return;
    }
    if (field == DICOM_FIELD_image_type)
        ts_dicom_keep_known(ts_dicom_image_types, text, kept, sizeof kept);
    else if (field == DICOM_FIELD_convolution_kernel && ts_dicom_kernel_is_known(text))
        snprintf(kept, sizeof kept, "%s", text);
    if (*kept && !strstr(kept, DICOM_UNRECOGNIZED))
        snprintf(out, size, "%s %s", label, kept);
    else
        snprintf(out, size, "%s %d", label, number);
}

/* An image with the number of its position along the normal, and the setting by which it is sorted there. */
struct item {
    size_t position;
    int setting;
    struct dicom_image *image;
};

static int compare_along(const void *a, const void *b)
{
    const double first = ((const struct item *)a)->image->along_mm, second = ((const struct item *)b)->image->along_mm;
    return (first > second) - (first < second);
}

static int compare_items(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    if (first->position != second->position)
        return first->position < second->position ? -1 : 1;
    return ts_dicom_compare_setting(first->setting, first->image, second->image);
}

/* Numbers the positions of the images, and sorts the items by them. Returns how many images each position has; 0 where
 * positions are unknown, or do not have equally many. */
static size_t number_positions(struct item *items, size_t n)
{
    const double *orientation = items[0].image->orientation, same = ts_dicom_same_position(items[0].image);
    double normal[3];
    size_t each = 0, first = 0;
    ts_cross(orientation, orientation + 3, normal);
    for (size_t i = 0; i < n; i++) {
        struct dicom_image *image = items[i].image;
        if (!image->have_position || !image->have_orientation)
            return 0;
        image->along_mm = ts_dot(image->position_mm, normal);
    }
    qsort(items, n, sizeof *items, compare_along);
    for (size_t i = 1; i <= n; i++) {
        const bool next = i == n || items[i].image->along_mm - items[i - 1].image->along_mm > same;
        each = next && first == 0 ? i : each;
        if (next && i - first != each)
            return 0;
        first = next ? i : first;
        if (i < n)
            items[i].position = items[i - 1].position + next;
    }
    return each;
}

/* Returns true where the setting has several values at each position, those of the first one, each as often. */
static bool divides(int setting, struct item *items, size_t n, size_t each)
{
    bool several = false;
    for (size_t i = 1; i < n && !several; i++)
        several = ts_dicom_compare_setting(setting, items[0].image, items[i].image) != 0;
    if (!several)
        return false;
    for (size_t i = 0; i < n; i++)
        items[i].setting = setting;
    qsort(items, n, sizeof *items, compare_items);
    for (size_t i = each; i < n; i++)
        if (ts_dicom_compare_setting(setting, items[i].image, items[i % each].image) != 0)
            return false;
    return ts_dicom_compare_setting(setting, items[0].image, items[each - 1].image) != 0;
}

bool ts_dicom_find_setting(struct dicom_image **images, size_t n, int *setting)
{
    struct item *items = malloc(n * sizeof *items);
    *setting = -1;
    if (!items)
        return false;
    for (size_t i = 0; i < n; i++)
        items[i] = (struct item){.image = images[i]};
    const size_t each = number_positions(items, n);
    for (int i = 0; each > 1 && *setting < 0 && i < SETTINGS; i++)
        *setting = divides(i, items, n, each) ? i : -1;
    for (size_t i = 0; *setting >= 0 && i < n; i++) /* value by value, position by position */
        images[i % each * (n / each) + i / each] = items[i].image;
    free(items);
    return true;
}

const char *ts_dicom_name_difference(struct dicom_image *const *images, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct dicom_image *a = images[0], *b = images[i];
        if (compare_numbers(a->temporal_position, b->temporal_position))
            return "Temporal Position Identifier";
        if (compare_numbers(a->b_value, b->b_value))
            return "diffusion b-value";
        for (int k = 0; k < 3; k++)
            if (compare_numbers(a->gradient[k], b->gradient[k]))
                return "diffusion gradient";
        if (compare_numbers(a->echo_ms, b->echo_ms))
            return "Echo Time";
        if (compare_numbers(a->acquisition_number, b->acquisition_number))
            return "Acquisition Number";
        if (strcmp(a->file->image_type, b->file->image_type) != 0)
            return "Image Type";
    }
    for (int setting = 0; setting < SETTINGS; setting++)
        for (size_t i = 1; i < n; i++)
            if (ts_dicom_compare_setting(setting, images[0], images[i]) != 0)
                return settings[setting].name;
    return NULL;
}

void ts_dicom_warn_of_settings(struct dicom_series *series)
{
    for (int setting = 0; setting < SETTINGS; setting++) {
        const int field = settings[setting].field;
        if (field != DICOM_FIELD_tube_voltage && field != DICOM_FIELD_convolution_kernel)
            continue; /* the others may change from slice to slice of one acquisition */
        for (size_t i = 1; i < series->n_images; i++)
            if (ts_dicom_compare_setting(setting, series->images[0], series->images[i]) != 0) {
                ts_dicom_series_warn(series,
                                     "the slices differ in %s: they come from more than one acquisition or "
                                     "reconstruction",
                                     settings[setting].name);
                break;
            }
    }
}
