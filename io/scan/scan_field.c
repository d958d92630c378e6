/* SPDX-License-Identifier: Apache-2.0
 *
 * A field is looked for with a list of records of its own, so that one of an unexpected kind is no error of the file.
 */
#include "io/scan/scan_field.h"

#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

static enum ts_status read_object(struct hdf5_input *input, const struct hdf5_ref *object, const char *name,
                                  struct scan_field *field)
{
    enum ts_status status = ts_hdf5_stack_list(input, object, name, SCAN_FIELD_VALUES, &field->values, &field->n);
    if (status == TS_BAD_INPUT)
        status = ts_hdf5_input_text(input, object, NULL, field->text, sizeof field->text);
    else if (status == TS_OK)
        status = ts_hdf5_input_text(input, object, "units", field->units, sizeof field->units);
    return status;
}

enum ts_status ts_scan_field_read(struct hdf5_input *input, const struct hdf5_ref *parent, const char *name,
                                  struct scan_field *field)
{
    struct ts_diag *diag = input->diag, *trial = ts_diag_create();
    struct hdf5_ref object = {0};
    *field = (struct scan_field){0};
    if (!trial)
        return ts_diag_no_memory(diag, sizeof *field);
    input->diag = trial;
    enum ts_status status = parent->kind == FINDER_NONE ? TS_OK : ts_hdf5_input_find(input, parent, name, &object);
    field->there = status == TS_BAD_INPUT || object.kind == FINDER_DATASET;
    if (status == TS_OK && field->there)
        status = read_object(input, &object, name, field);
    ts_hdf5_input_release(input, &object);
    input->diag = diag;
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
    const struct diag_site site = {.code = "field-unused", .span = input->set->spans[0], .stage = input->set->owner};
    ts_diag_warning(input->diag, &site, "%s: %s %s", input->path, shown, text);
}

/* In any case of letters nothing here is a megameter or a petameter apart. */
double ts_scan_field_mm(const char *units)
{
    static const struct {
        double mm;
        const char *names[9];
    } known[] = {{1e3, {"m", "meter", "meters", "metre", "metres"}},
                 {10, {"cm", "centimeter", "centimeters", "centimetre", "centimetres"}},
                 {1, {"mm", "millimeter", "millimeters", "millimetre", "millimetres"}},
                 {1e-3,
                  {"um", "\xC2\xB5m", "\xCE\xBCm", "micron", "microns", "micrometer", "micrometers", "micrometre",
                   "micrometres"}},
                 {1e-6, {"nm", "nanometer", "nanometers", "nanometre", "nanometres"}},
                 {1e-9, {"pm", "picometer", "picometers", "picometre", "picometres"}}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int k = 0; k < 9 && known[i].names[k]; k++)
            if (!strcasecmp(units, known[i].names[k]))
                return known[i].mm;
    return 0;
}
