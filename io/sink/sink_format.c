/* SPDX-License-Identifier: Apache-2.0
 *
 * What the formats share, and what is known of a format without the list of them (sink.c):
 * suffixes, failures, and those facts about the input that apply to the image.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/dicom_header/dicom_fields.h"
#include "io/file/file_bytes.h"
#include "io/sink/sink.h"

size_t ts_sink_stem(const struct sink_format *format, const char *path)
{
    for (int i = 0; i < SINK_SUFFIXES && format->suffixes[i]; i++)
        if (ts_sink_has_suffix(path, format->suffixes[i]))
            return strlen(path) - strlen(format->suffixes[i]);
    return strlen(path);
}

bool ts_sink_is_file(const struct sink_format *format, const char *path)
{
    return ts_sink_stem(format, path) < strlen(path);
}

enum ts_status ts_sink_failed(const struct sink *sink, int error, struct ts_diag *diag)
{
    return ts_file_failed(diag, "output-write", error, "cannot write the output '%s'",
                          sink->request.path);
}

int64_t ts_sink_slices(const struct sink *sink)
{
    return sink->image.axes[0].n * (sink->request.volumes ? sink->request.volumes->n : 1);
}

const struct source_attribute *ts_sink_fact(const struct sink_request *request, const char *name)
{
    for (size_t i = 0; i < request->n_attributes; i++)
        if (strcmp(request->attributes[i].name, name) == 0)
            return &request->attributes[i];
    return NULL;
}

const char *ts_sink_attribute(const struct sink_request *request, const char *name)
{
    const struct source_attribute *fact = ts_sink_fact(request, name);
    return fact ? fact->value : NULL;
}

void ts_sink_transform(const struct ts_image *image, double rows[3][4])
{
    const struct ts_axis *axes = image->axes;
    for (int i = 0; i < 3; i++)
        for (int d = 0; d < 4; d++)
            rows[i][d] = 0;
    for (int i = 0; i < 3 && image->has_geometry; i++) {
        rows[i][0] = image->direction[i] * ts_axis_spacing(&axes[2]);
        rows[i][1] = image->direction[3 + i] * ts_axis_spacing(&axes[1]);
        /* A volume of one slice has no step. */
        rows[i][2] = axes[0].spacing > 0 ? image->step_z_mm[i] : image->direction[6 + i];
        rows[i][3] = image->origin_mm[i];
    }
    for (int i = 0; i < 3 && !image->has_geometry; i++) {
        const struct ts_axis *axis = &axes[2 - i];
        rows[i][i] = axis->spacing != 0 ? axis->spacing : 1;
        rows[i][3] = axis->positions ? axis->positions[0] : axis->first;
    }
}

bool ts_sink_number(const struct sink_request *request, const struct source_attribute *fact,
                    int64_t z, double *value)
{
    const int64_t volumes = request->volumes ? request->volumes->n : 1,
                  slices = request->image->axes[0].n;
    const int64_t each = fact->n / volumes, volume = z / slices;
    *value = fact->numbers[0];
    if (fact->n == 1)
        return !isnan(*value);
    if (fact->n % volumes != 0 || fact->columns > 1)
        return false;
    if (each == slices && ts_sink_same_slices(request)) {
        *value = fact->numbers[z];
        return !isnan(*value);
    }
    *value = fact->numbers[volume * each];
    for (int64_t i = volume * each; i < (volume + 1) * each; i++)
        if (fact->numbers[i] != *value) /* NaN differs as well */
            return false;
    return true;
}

bool ts_sink_known_text(const char *text, char *out, size_t size)
{
    static const char *const others[] = {DICOM_UNRECOGNIZED, DICOM_MIXED};
    size_t n = 0;
    for (const char *from = text; *from;) {
        const size_t length = strcspn(from, "\\");
        bool known = true;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            known &= strlen(others[i]) != length || strncmp(from, others[i], length) != 0;
        if (known && n + length + 2 > size) {
            *out = '\0';
            return false;
        }
        if (known)
            n +=
                (size_t)snprintf(out + n, size - n, "%s%.*s", n > 0 ? "\\" : "", (int)length, from);
        from += length + (from[length] != '\0');
    }
    out[n] = '\0';
    return true;
}

bool ts_sink_text(const struct source_attribute *fact, char *out, size_t size)
{
    *out = '\0';
    if (fact->numbers || !ts_sink_known_text(fact->value, out, size))
        return false;
    if (!strcmp(fact->name, "phase_encoding_direction") && !strcmp(out, "COLUMN"))
        out[3] = '\0'; /* for enhanced objects; classic ones have COL */
    return *out != '\0';
}

/* Returns true if axis d (0: slices, 1: columns, 2: rows) is parallel to the input's, in the same
   or opposite direction. */
static bool along_input(const struct sink_request *request, int d)
{
    const struct ts_image *image = request->image, *input = request->input;
    double dot = 0;
    if (!input || image->has_geometry != input->has_geometry)
        return false;
    for (int i = 0; i < 3 && image->has_geometry; i++)
        dot += image->direction[3 * (2 - d) + i] * input->direction[3 * (2 - d) + i];
    return !image->has_geometry || fabs(dot) > 1 - 1e-6;
}

bool ts_sink_holds(const struct sink_request *request, const struct source_attribute *fact)
{
    const struct ts_image *image = request->image, *input = request->input;
    bool zero = fact->numbers != NULL;
    for (int64_t i = 0; zero && i < fact->n; i++)
        zero = fact->numbers[i] == 0;
    if (!strcmp(fact->name, "inversion_time"))
        return !zero;
    if (!strcmp(fact->name, "slice_thickness") || !strcmp(fact->name, "spacing_between_slices"))
        return along_input(request, 0) &&
               fabs(fabs(image->axes[0].spacing) - fabs(input->axes[0].spacing)) <=
                   1e-6 * fabs(input->axes[0].spacing);
    if (!strcmp(fact->name, "phase_encoding_direction"))
        return along_input(request, 1) && along_input(request, 2);
    return strcmp(fact->name, "pixel_units") != 0 || (input && !strcmp(input->unit, image->unit));
}

bool ts_sink_same_slices(const struct sink_request *request)
{
    const struct ts_image *image = request->image, *input = request->input;
    const double tolerance = 1e-6;
    double off = 0, along = 0;
    if (!input || image->axes[0].n != input->axes[0].n ||
        image->has_geometry != input->has_geometry)
        return false;
    for (int i = 0; i < 3 && image->has_geometry; i++) {
        off = fmax(off, fabs(image->direction[6 + i] - input->direction[6 + i]));
        off = fmax(off, fabs(image->step_z_mm[i] - input->step_z_mm[i]));
        along += (image->origin_mm[i] - input->origin_mm[i]) * input->direction[6 + i];
    }
    return off <= tolerance && fabs(along) <= tolerance;
}

const char *ts_sink_no_volume(const struct sink_request *request)
{
    const struct ts_image *image = request->image;
    if (ts_image_is_sinogram(image))
        return "a sinogram is no volume";
    for (int d = 0; d < 3; d++)
        if (image->axes[d].positions)
            return "its slices, rows or columns are not evenly spaced, and the format has one "
                   "distance of each";
    return NULL;
}
