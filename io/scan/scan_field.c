/* SPDX-License-Identifier: Apache-2.0
 *
 * A field is looked for with a separate list of records, so that one of an unexpected kind is no
 * error of the file.
 */
#include "io/scan/scan_field.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum ts_status ts_scan_field_units(struct hdf5_input *input, const struct hdf5_ref *dataset,
                                   char *units, size_t size)
{
    static const char *const names[] = {"units", "unit"};
    enum ts_status status = TS_OK;
    units[0] = '\0';
    for (size_t i = 0; status == TS_OK && !*units && i < sizeof names / sizeof *names; i++)
        status = ts_hdf5_input_text(input, dataset, names[i], units, size);
    return status;
}

static enum ts_status read_object(struct hdf5_input *input, const struct hdf5_ref *object,
                                  const char *name, struct scan_field *field)
{
    enum ts_status status =
        ts_hdf5_stack_list(input, object, name, SCAN_FIELD_VALUES, &field->values, &field->n);
    if (status == TS_BAD_INPUT)
        status = ts_hdf5_input_text(input, object, NULL, field->text, sizeof field->text);
    else if (status == TS_OK)
        status = ts_scan_field_units(input, object, field->units, sizeof field->units);
    return status;
}

enum ts_status ts_scan_field_read(struct hdf5_input *input, const struct hdf5_ref *parent,
                                  const char *name, struct scan_field *field)
{
    struct ts_diag *diag = input->diag, *trial = ts_diag_create();
    struct hdf5_ref object = {0};
    *field = (struct scan_field){0};
    if (!trial)
        return ts_diag_no_memory(diag, sizeof *field);
    input->diag = trial;
    enum ts_status status =
        parent->kind == FINDER_NONE ? TS_OK : ts_hdf5_input_find(input, parent, name, &object);
    field->there = status == TS_BAD_INPUT || object.kind == FINDER_DATASET;
    if (status == TS_OK && field->there)
        status = read_object(input, &object, name, field);
    input->diag = diag;
    if (status == TS_OK && field->n > 0)
        status = ts_scan_field_warn_of_scale(input, &object, name);
    ts_hdf5_input_release(input, &object);
    if (status == TS_RUN_FAILED)
        ts_diag_append(diag, trial);
    ts_diag_destroy(trial);
    return status == TS_RUN_FAILED ? status : TS_OK;
}

void ts_scan_field_warn(const struct hdf5_input *input, const char *name, const char *format, ...)
{
    char text[512], shown[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ts_text_escape(shown, sizeof shown, name);
    const struct diag_site site = {
        .code = "field-unused", .span = input->set->spans[0], .stage = input->set->owner};
    ts_diag_warning(input->diag, &site, "%s: %s %s", input->path, shown, text);
}

static const char as_stored[] = "values are taken as they are stored";

/* Returns true if the list has a record of this message: several sources may read a field of one
   file. */
static bool is_told(const struct ts_diag *diag, const char *message)
{
    bool told = false;
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        told |= !strcmp(ts_diag_get(diag, i)->message, message);
    return told;
}

enum ts_status ts_scan_field_warn_of_scale(const struct hdf5_input *input,
                                           const struct hdf5_ref *dataset, const char *name)
{
    static const struct {
        const char *name;
        double usual; /* changes nothing */
        bool number;  /* it must be a plain number: a scale or an offset may be that of axes */
    } rows[] = {{"scale_factor", 1, true},     {"scaling_factor", 1, true},
                {"scaling", 1, true}, /* of NXtomoproc */
                {"scale", 1, false},           {"slope", 1, false},
                {"rescale_slope", 1, true},    {"add_offset", 0, true},
                {"offset", 0, false},          {"intercept", 0, false},
                {"rescale_intercept", 0, true}};
    const struct diag_site site = {
        .code = "field-unused", .span = input->set->spans[0], .stage = input->set->owner};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double value = 0;
        int found = 0;
        char shown[256], message[HDF5_INPUT_PATH + 512], number[32] = "not one number";
        const enum ts_status status =
            ts_hdf5_input_numbers(input, dataset, rows[i].name, 1, &value, &found);
        if (status != TS_OK)
            return status;
        if (found < 0 || (found == 0 && !rows[i].number) || (found == 1 && value == rows[i].usual))
            continue;
        if (found == 1)
            snprintf(number, sizeof number, "%.9g", value);
        ts_text_escape(shown, sizeof shown, name);
        snprintf(message, sizeof message, "%s: the attribute %s of %s is %s: %s", input->path,
                 rows[i].name, shown, number, as_stored);
        if (!is_told(input->diag, message))
            ts_diag_warning(input->diag, &site, "%s", message);
    }
    return TS_OK;
}

/* Warns of a factor or an offset that is not `usual`. */
static enum ts_status warn_of_scale(struct hdf5_input *input, const struct hdf5_ref *group,
                                    const char *name, double usual)
{
    struct scan_field field;
    const enum ts_status status = ts_scan_field_read(input, group, name, &field);
    bool trivial = field.n > 0;
    for (int64_t i = 0; i < field.n; i++)
        trivial &= field.values[i] == usual;
    if (status != TS_OK || !field.there || trivial)
        return status;
    if (field.n == 1)
        ts_scan_field_warn(input, name, "is %.9g: %s", field.values[0], as_stored);
    else
        ts_scan_field_warn(input, name, "is not one number: %s", as_stored);
    return TS_OK;
}

enum ts_status ts_scan_field_warn_beside(struct hdf5_input *input, const struct hdf5_ref *group,
                                         const char *name)
{
    static const struct {
        const char *ending;
        double usual;
    } rows[] = {{"scaling_factor", 1}, {"offset", 0}};
    char signal[64] = "", full[HDF5_INPUT_PATH];
    const bool shown = ts_hdf5_input_is_class(group, "NXdata");
    enum ts_status status = TS_OK;
    if (shown)
        status = ts_hdf5_input_text(input, group, "signal", signal, sizeof signal);
    for (size_t i = 0; i < 2 && status == TS_OK && group->kind != FINDER_NONE; i++) {
        snprintf(full, sizeof full, "%s_%s", name, rows[i].ending);
        status = warn_of_scale(input, group, full, rows[i].usual);
        if (status == TS_OK && shown && (!*signal || !strcmp(signal, name)))
            status = warn_of_scale(input, group, rows[i].ending, rows[i].usual);
    }
    return status;
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Case is ignored, since nothing here is a megameter or a petameter apart. */
double ts_scan_field_mm(const char *units)
{
    static const struct {
        double mm;
        const char *names[9];
    } known[] = {{1e3, {"m", "meter", "meters", "metre", "metres"}},
                 {10, {"cm", "centimeter", "centimeters", "centimetre", "centimetres"}},
                 {1, {"mm", "millimeter", "millimeters", "millimetre", "millimetres"}},
                 {1e-3,
                  {"um", "\xC2\xB5m", "\xCE\xBCm", "micron", "microns", "micrometer", "micrometers",
                   "micrometre", "micrometres"}},
                 {1e-6, {"nm", "nanometer", "nanometers", "nanometre", "nanometres"}},
                 {1e-9, {"pm", "picometer", "picometers", "picometre", "picometres"}}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int k = 0; k < 9 && known[i].names[k]; k++)
            if (!strcasecmp(units, known[i].names[k]))
                return known[i].mm;
    return 0;
}
