/* SPDX-License-Identifier: Apache-2.0
 *
 * A setting of one acquisition is the same in all its slices, but those that follow the heart or
 * the breath, and those that have another value in each slice. One that has few values, each in
 * several slices, is that of several acquisitions.
 */
#include "io/dicom_series/dicom_sequences.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_header/dicom_kind.h"

/* Warns of volumes that were labeled in several ways: a result does not say which is which. */
static void warn_of_labelings(struct dicom_series *series)
{
    bool stated = false;
    for (const char *const *word = ts_dicom_labelings; *word; word++) {
        size_t found = 0, at[3] = {0};
        for (size_t v = 0; v < series->n_volumes; v++)
            if (!strcmp(series->images[v * series->n_slices]->labeling, *word) && found++ < 3)
                at[found - 1] = v;
        stated |= found > 0;
        if (found == 0 || found == series->n_volumes)
            continue;
        ts_dicom_series_warn(series,
                             found > 3 ? "%zu of %zu volumes are %s by ASL Context, first "
                                         "%zu, %zu and %zu, counted from 0"
                                       : "%zu of %zu volumes are %s by ASL Context, first "
                                         "%zu, counted from 0",
                             found, series->n_volumes, *word, at[0], at[1], at[2]);
    }
    if (!stated && series->n_volumes > 1 &&
        ts_dicom_has_word(series->images[0]->file->image_type, 2, "ASL") &&
        !ts_dicom_has_word(series->images[0]->file->image_type, 0, "DERIVED"))
        ts_dicom_series_warn(series,
                             "the volumes are of perfusion (ASL in Image Type), and nothing "
                             "states which are label and which are control");
}

enum { FEW_SLICES = 2 };
static const double CLEAR_SHARE =
    0.05; /* of the largest, by which numbers of one sequence differ */

static const struct setting {
    enum dicom_field field;
    const char *name, *unit, *modality; /* modality: NULL: any */
    bool waits;                         /* for the heart or the breath, if the scan does */
} settings[] = {
    {DICOM_FIELD_repetition_time, "Repetition Time", " ms", "MR", true},
    {DICOM_FIELD_inversion_time, "Inversion Time", " ms", "MR", true},
    {DICOM_FIELD_flip_angle, "Flip Angle", " degrees", "MR", false},
    {DICOM_FIELD_echo_train_length, "Echo Train Length", "", "MR", false},
    {DICOM_FIELD_pixel_bandwidth, "Pixel Bandwidth", " Hz", "MR", false},
    {DICOM_FIELD_number_of_averages, "Number of Averages", "", "MR", false},
    {DICOM_FIELD_magnetic_field_strength, "Magnetic Field Strength", "", "MR", false},
    {DICOM_FIELD_scanning_sequence, "Scanning Sequence", NULL, "MR", false},
    {DICOM_FIELD_sequence_variant, "Sequence Variant", NULL, "MR", false},
    {DICOM_FIELD_filter_type, "Filter Type", NULL, "CT", false},
    {DICOM_FIELD_manufacturer_model, "Manufacturer's Model Name", NULL, NULL, false},
    {DICOM_FIELD_contrast_agent, "Contrast/Bolus Agent", NULL, NULL, false},
};

/* Returns true if the times of a sequence follow the heart or the breath, from slice to slice. */
static bool is_gated(const struct dicom_image *image)
{
    static const char *const options[] = {"CG", "PPG", "RG", "RPG", "EG"};
    const char *text = ts_dicom_field_text(image, DICOM_FIELD_scan_options);
    bool gated = !isnan(image->trigger_ms) || !isnan(image->cardiac_percent);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        gated |= ts_dicom_has_word(text, 0, options[i]);
    return gated;
}

static int compare_images(const void *a, const void *b, void *user)
{
    const struct dicom_image *first = *(struct dicom_image *const *)a,
                             *second = *(struct dicom_image *const *)b;
    const enum dicom_field field = *(const enum dicom_field *)user;
    if (!ts_dicom_field_is_number(field))
        return strcmp(ts_dicom_field_text(first, field), ts_dicom_field_text(second, field));
    const double x = ts_dicom_field_number(first, field), y = ts_dicom_field_number(second, field);
    if (isnan(x) || isnan(y))
        return !isnan(x) - !isnan(y);
    return (x > y) - (x < y);
}

/* Warns of a setting of slices of the first volume. room is for the slices. */
static void check_setting(struct dicom_series *series, const struct setting *setting,
                          struct dicom_image **room)
{
    static const char several[] = "they may be of several sequences, whose values do not compare";
    enum dicom_field field = setting->field;
    const size_t n = series->n_slices;
    size_t values = 1;
    memcpy(room, series->images, n * sizeof(struct dicom_image *));
    qsort_r(room, n, sizeof *room, compare_images, &field);
    for (size_t z = 1; z < n; z++)
        values += compare_images(&room[z - 1], &room[z], &field) != 0;
    if (values < 2 || FEW_SLICES * values > n)
        return;
    const bool number = ts_dicom_field_is_number(field);
    const double low = number ? ts_dicom_field_number(room[0], field) : 0,
                 high = number ? ts_dicom_field_number(room[n - 1], field) : 0;
    if (!number)
        ts_dicom_series_warn(series, "the slices differ in %s: %s", setting->name, several);
    else if (high - low > CLEAR_SHARE * high)
        ts_dicom_series_warn(series, "the slices differ in %s, %g to %g%s: %s", setting->name, low,
                             high, setting->unit, several);
}

void ts_dicom_warn_of_sequences(struct dicom_series *series)
{
    struct dicom_image **room =
        ts_arena_alloc(series->arena, series->n_slices * sizeof(struct dicom_image *));
    const struct dicom_image *first = series->images[0];
    const bool gated = is_gated(first);
    series->no_memory |= !room;
    for (size_t i = 0; room && i < sizeof settings / sizeof *settings; i++)
        if ((!settings[i].modality || !strcmp(first->file->modality, settings[i].modality)) &&
            !(settings[i].waits && gated))
            check_setting(series, &settings[i], room);
    warn_of_labelings(series);
}
