/* SPDX-License-Identifier: Apache-2.0
 *
 * Nothing of a header reaches a result but through this file. Each row of the table says what is
 * done with its value: numbers are taken as they are, texts are held against the lists of known
 * values, and what leads to a person is left out, replaced by the key, or kept on request.
 */
#include "io/dicom/dicom_metadata.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/dicom_header/dicom_kernel.h"
#include "io/dicom_header/dicom_kind.h"

enum { TEXT_BYTES = 512 };

static const char mixed[] = DICOM_MIXED;

enum ts_status ts_dicom_metadata_add(struct dicom_metadata *list, const char *name, const char *key,
                                     const char *text, struct ts_diag *diag)
{
    char *value = ts_arena_text(list->arena, text, strlen(text));
    if (value == NULL)
        return ts_diag_no_memory(diag, strlen(text));
    for (char *c = value; *c; c++)
        if (*c < 0x20 || *c > 0x7E)
            *c = '?';
    if (*value != '\0')
        list->items[list->n++] =
            (struct source_attribute){.name = name, .value = value, .key = key, .key_scale = 1};
    return TS_OK;
}

/* Adds a number for each image, or the one on which all agree; nothing if all are NaN. */
static enum ts_status add_numbers(struct dicom_metadata *list, const struct source_attribute *row,
                                  double *numbers, size_t n)
{
    bool any = false, same = true;
    for (size_t i = 0; i < n; i++) {
        any |= !isnan(numbers[i]);
        same &= numbers[i] == numbers[0];
    }
    if (!any)
        return TS_OK;
    struct source_attribute *item = &list->items[list->n++];
    *item = *row;
    item->value = "";
    item->numbers = numbers;
    item->n = same ? 1 : (int64_t)n;
    return TS_OK;
}

static double *make_numbers(const struct dicom_series *series, struct arena *arena,
                            struct ts_diag *diag)
{
    const size_t bytes = series->n_images * sizeof(double);
    double *numbers = ts_arena_alloc(arena, bytes);
    if (!numbers)
        ts_diag_no_memory(diag, bytes);
    return numbers;
}

static enum ts_status add_field_numbers(const struct dicom_series *series, enum dicom_field field,
                                        struct dicom_metadata *list, struct ts_diag *diag)
{
    const struct dicom_field_row *row = &ts_dicom_fields[field];
    bool any = false;
    for (size_t i = 0; i < series->n_images && !any; i++)
        any = !isnan(ts_dicom_field_number(series->images[i], field));
    double *numbers = any ? make_numbers(series, list->arena, diag) : NULL;
    if (!numbers)
        return any ? TS_RUN_FAILED : TS_OK;
    for (size_t i = 0; i < series->n_images; i++)
        numbers[i] =
            ts_dicom_field_believed(field, ts_dicom_field_number(series->images[i], field));
    return add_numbers(
        list,
        &(struct source_attribute){
            .name = row->name, .unit = row->unit, .key = row->key, .key_scale = row->scale},
        numbers, series->n_images);
}

/* Adds the seconds from the first acquisition to that of each image, if all state a time and not
 * all the same. */
static enum ts_status add_times(const struct dicom_series *series, struct dicom_metadata *list,
                                struct ts_diag *diag)
{
    const size_t n = series->n_images;
    double first = INFINITY, last = -INFINITY;
    double *numbers = make_numbers(series, list->arena, diag);
    if (!numbers)
        return TS_RUN_FAILED;
    for (size_t i = 0; i < n; i++) {
        numbers[i] = series->images[i]->acquired_s;
        if (isnan(numbers[i]))
            return TS_OK;
        first = fmin(first, numbers[i]);
        last = fmax(last, numbers[i]);
    }
    for (size_t i = 0; i < n; i++)
        numbers[i] = rint((numbers[i] - first) * 1e6) / 1e6; /* DICOM's times end at microseconds */
    return first < last ? add_numbers(list,
                                      &(struct source_attribute){.name = "acquisition_time_offset",
                                                                 .unit = "s",
                                                                 .key = "AcquisitionTimeOffset",
                                                                 .key_scale = 1},
                                      numbers, n)
                        : TS_OK;
}

/* Adds when each slice was acquired, in seconds from the start of its volume: as the scanner lists
 * it, else by the times of slices in a series of volumes by time. */
static enum ts_status add_slice_times(const struct dicom_series *series,
                                      struct dicom_metadata *list, struct ts_diag *diag)
{
    const size_t n = series->n_images, slices = series->n_slices;
    const bool by_time = series->n_volumes > 1 && series->volume_axis.kind == TS_AXIS_TIME;
    double *numbers = make_numbers(series, list->arena, diag);
    bool listed = true, differ = false;
    if (!numbers)
        return TS_RUN_FAILED;
    if (slices == 0 || n % slices != 0) /* a series that is refused may have no whole volumes */
        return TS_OK;
    for (size_t i = 0; i < n; i++) {
        numbers[i] = series->images[i]->slice_time_ms / 1e3;
        listed &= !isnan(numbers[i]);
    }
    for (size_t i = 0; i < n && !listed; i++)
        numbers[i] = by_time ? series->images[i]->acquired_s : NAN;
    for (size_t v = 0; v < n; v += slices) {
        double first = INFINITY;
        for (size_t z = v; z < v + slices; z++)
            first = isnan(numbers[z]) ? -INFINITY : fmin(first, numbers[z]);
        for (size_t z = v; z < v + slices; z++) {
            numbers[z] = rint((numbers[z] - first) * 1e6) / 1e6;
            differ |= numbers[z] > 0;
            if (!isfinite(numbers[z]))
                return TS_OK;
        }
    }
    return differ ? add_numbers(list,
                                &(struct source_attribute){.name = DICOM_SLICE_TIMES,
                                                           .unit = "s",
                                                           .key = "SliceTiming",
                                                           .key_scale = 1},
                                numbers, n)
                  : TS_OK;
}

/* Returns the text if all slices agree, "mixed" if they do not. */
static const char *common_text(const struct dicom_series *series, enum dicom_field field)
{
    const char *first = ts_dicom_field_text(series->images[0], field);
    for (size_t i = 1; i < series->n_images; i++)
        if (strcmp(first, ts_dicom_field_text(series->images[i], field)) != 0)
            return mixed;
    return first;
}

/* Returns the earliest date of the slices; "" if none has any. */
static const char *earliest(const struct dicom_series *series, enum dicom_field field)
{
    const char *first = "";
    for (size_t i = 0; i < series->n_images; i++) {
        const char *date = ts_dicom_field_text(series->images[i], field);
        first = *date && (!*first || strcmp(date, first) < 0) ? date : first;
    }
    return first;
}

/* Writes what takes the place of a UID or a date under the key; "" if nothing does. */
static void replace(const struct dicom_series *series, const struct dicom_identity *identity,
                    enum dicom_field_kind kind, const char *text, char out[TEXT_BYTES])
{
    const bool possible = identity->key_bytes > 0 && *text && text != mixed;
    bool replaced = false;
    if (possible && kind == DICOM_FIELD_UID)
        replaced = ts_dicom_replace_uid(identity, text, out);
    else if (possible && kind == DICOM_FIELD_DATE)
        replaced =
            ts_dicom_move_date(identity, common_text(series, DICOM_FIELD_patient_id), text, out);
    if (!replaced)
        out[0] = '\0';
}

bool ts_dicom_allow_code(enum dicom_field field, const char *text, char *out, size_t size)
{
    const struct dicom_field_row *row = &ts_dicom_fields[field];
    const bool known = !*text || !strcmp(text, mixed);
    if (row->kind == DICOM_FIELD_KERNEL)
        snprintf(out, size, "%s",
                 known || ts_dicom_kernel_is_known(text) ? text : DICOM_UNRECOGNIZED);
    else if (row->kind == DICOM_FIELD_CODE && !known)
        ts_dicom_keep_known(row->known, text, out, size);
    else if (row->kind == DICOM_FIELD_CODE)
        snprintf(out, size, "%s", text);
    else
        return false;
    return true;
}

/* Writes what may be recorded of a text; "" if nothing may. */
static void allow_text(const struct dicom_series *series, const struct dicom_identity *identity,
                       enum dicom_field field, char out[TEXT_BYTES])
{
    const enum dicom_field_kind kind = ts_dicom_fields[field].kind;
    const char *text =
        kind == DICOM_FIELD_DATE ? earliest(series, field) : common_text(series, field);
    if (kind == DICOM_FIELD_HIDDEN)
        out[0] = '\0';
    else if (ts_dicom_allow_code(field, text, out, TEXT_BYTES))
        return;
    else if (identity->keep)
        snprintf(out, TEXT_BYTES, "%s", text);
    else
        replace(series, identity, kind, text, out);
}

enum ts_status ts_dicom_metadata(const struct dicom_series *series,
                                 const struct dicom_identity *identity, struct arena *arena,
                                 struct dicom_metadata *list, struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    size_t n = DICOM_MORE_ATTRIBUTES;
    /* Most fields are in no image. Their rows are left out, since a large series has many images to
     * ask, and they have no place in the list, since an input may have many series. */
    bool present[DICOM_FIELDS] = {false};
    for (size_t i = 0; i < series->n_images; i++)
        ts_dicom_field_mark(series->images[i], present);
    for (int field = 0; field < DICOM_FIELDS; field++)
        n += present[field];
    *list = (struct dicom_metadata){.items = ts_arena_alloc(arena, n * sizeof *list->items),
                                    .arena = arena};
    if (list->items == NULL)
        return ts_diag_no_memory(diag, n * sizeof *list->items);
    for (int field = 0; status == TS_OK && field < DICOM_FIELDS; field++) {
        char text[TEXT_BYTES];
        if (!present[field])
            continue;
        if (ts_dicom_field_is_number(field)) {
            status = add_field_numbers(series, field, list, diag);
            continue;
        }
        allow_text(series, identity, field, text);
        status = ts_dicom_metadata_add(list, ts_dicom_fields[field].name,
                                       ts_dicom_fields[field].key, text, diag);
    }
    const double positive = series->images[0]->phase_positive;
    if (status == TS_OK && !isnan(positive))
        status = ts_dicom_metadata_add(list, DICOM_PHASE_POLARITY, NULL,
                                       positive > 0 ? "POSITIVE" : "NEGATIVE", diag);
    const char *component = series->images[0]->component;
    if (status == TS_OK &&
        strcmp(component, ts_dicom_component(series->images[0]->file->image_type, 2)) != 0)
        status =
            ts_dicom_metadata_add(list, DICOM_COMPONENT, "ComplexImageComponent", component, diag);
    if (status == TS_OK && series->gradients)
        list->items[list->n++] = (struct source_attribute){.name = DICOM_GRADIENTS,
                                                           .value = "",
                                                           .numbers = series->gradients,
                                                           .n = (int64_t)series->n_volumes,
                                                           .unit = "",
                                                           .key = "DiffusionGradientOrientation",
                                                           .key_scale = 1,
                                                           .columns = 3};
    status = status == TS_OK ? add_slice_times(series, list, diag) : status;
    return status == TS_OK ? add_times(series, list, diag) : status;
}

const char *ts_dicom_burned_in(const struct dicom_series *series)
{
    size_t n_no = 0;
    for (size_t i = 0; i < series->n_images; i++) {
        if (strcmp(series->images[i]->file->burned_in, "YES") == 0)
            return "YES";
        n_no += strcmp(series->images[i]->file->burned_in, "NO") == 0;
    }
    return n_no == series->n_images ? "NO" : "UNKNOWN";
}
