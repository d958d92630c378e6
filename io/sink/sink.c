/* SPDX-License-Identifier: Apache-2.0
 *
 * This has the list of the formats, and what they share: names and suffixes, checks, and the order in which outputs are
 * finished, published and closed.
 */
#include "io/sink/sink.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/path.h"
#include "io/dicom_header/dicom_known.h"
#include "io/file/file_bytes.h"

const struct sink_format *const ts_sink_formats[] = {&nifti_sink, &tiff_sink, &png_sink, &dicom_sink, NULL};

static const char *const hdf5_suffixes[] = {".h5", ".hdf5", ".nxs", NULL};
/* A folder that was given such a name is a file that somebody expected. */
static const char *const file_suffixes[] = {".dcm", ".ima", ".nrrd", ".nhdr", ".hdr", ".img",  ".mha", ".mhd",
                                            ".npy", ".raw", ".jpg",  ".jpeg", ".bmp", ".gif",  ".gz",  ".zip",
                                            ".tar", ".xz",  ".yaml", ".yml",  ".txt", ".json", ".csv", NULL};

static bool ends_in(const char *path, const char *suffix)
{
    const size_t length = strlen(path), end = strlen(suffix);
    return length > end && strcasecmp(path + length - end, suffix) == 0;
}

/* Returns true where the path ends in one of the suffixes, in any case. */
static bool ends_in_one(const char *path, const char *const *suffixes)
{
    for (; *suffixes; suffixes++)
        if (ends_in(path, *suffixes))
            return true;
    return false;
}

/* ---- names ------------------------------------------------------------------------------------- */

const struct sink_format *ts_sink_find(const char *name)
{
    for (size_t i = 0; ts_sink_formats[i]; i++)
        if (strcmp(ts_sink_formats[i]->name, name) == 0)
            return ts_sink_formats[i];
    return NULL;
}

size_t ts_sink_stem(const struct sink_format *format, const char *path)
{
    for (int i = 0; i < SINK_SUFFIXES && format->suffixes[i]; i++)
        if (ends_in(path, format->suffixes[i]))
            return strlen(path) - strlen(format->suffixes[i]);
    return strlen(path);
}

bool ts_sink_is_file(const struct sink_format *format, const char *path)
{
    return ts_sink_stem(format, path) < strlen(path);
}

const struct sink_format *ts_sink_of_path(const char *path)
{
    for (size_t i = 0; ts_sink_formats[i]; i++)
        if (ts_sink_is_file(ts_sink_formats[i], path))
            return ts_sink_formats[i];
    return NULL;
}

bool ts_sink_is_hdf5(const char *path)
{
    return ends_in_one(path, hdf5_suffixes);
}

void ts_sink_list_suffixes(const char *name, char *out, size_t size)
{
    const char *const *lists[SINK_FORMATS + 1] = {hdf5_suffixes};
    const char *names[SINK_FORMATS + 1] = {"hdf5"};
    const int lengths[] = {sizeof hdf5_suffixes / sizeof *hdf5_suffixes, SINK_SUFFIXES};
    size_t used = 0;
    for (size_t i = 0; ts_sink_formats[i]; i++) {
        names[i + 1] = ts_sink_formats[i]->name;
        lists[i + 1] = ts_sink_formats[i]->suffixes;
    }
    *out = '\0';
    for (size_t f = 0; f < SINK_FORMATS + 1; f++)
        for (int s = 0; s < lengths[f > 0] && lists[f][s] && (!name || !strcmp(name, names[f])) && used < size; s++)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", lists[f][s]);
}

const char *ts_sink_misnamed(const struct sink_format *format, const char *path, char *hint, size_t size)
{
    const struct sink_format *other = ts_sink_of_path(path);
    const bool is_folder = format && format->part && !other && !ts_sink_is_hdf5(path);
    if (!strcmp(ts_base_name(path), "-")) {
        snprintf(hint, size, "name a file%s", format && format->part ? " or a folder" : "");
        return "'-' is no output: files and folders are written, and no streams";
    }
    if (is_folder && ends_in_one(path, file_suffixes)) {
        snprintf(hint, size, "name a folder; with a slash behind it, as in '%s/', it may have any name",
                 ts_base_name(path));
        return "the path is that of a folder, and ends in the suffix of a file";
    }
    if (is_folder || (format ? ts_sink_is_file(format, path) : other == NULL))
        return NULL;
    char known[256];
    ts_sink_list_suffixes(format ? format->name : "hdf5", known, sizeof known);
    snprintf(hint, size, "output.%s takes %s%s", format ? format->name : "hdf5",
             *known ? known : "the path of a folder",
             *known && format && format->part ? ", and the path of a folder" : "");
    return "the path ends in the suffix of another format, or in none";
}

/* ---- checks ------------------------------------------------------------------------------------ */

static enum ts_status check_image(const struct sink_format *format, const struct sink_request *request,
                                  struct ts_diag *diag)
{
    const char *refusal = request->image ? format->refusal(request) : NULL;
    return refusal
               ? ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "output-cannot-hold", .stage = "output"},
                               "%s cannot hold the image '%s': %s", format->name, request->name, refusal)
               : TS_OK;
}

enum ts_status ts_sink_check(const struct sink_format *format, const struct sink_request *request, struct ts_diag *diag)
{
    const int64_t volumes = request->volumes ? request->volumes->n : 1;
    const int64_t bytes = request->image ? volumes * (int64_t)ts_image_bytes(request->image) : 0;
    const enum ts_status status = check_image(format, request, diag);
    if (status != TS_OK)
        return status;
    return ts_sink_is_file(format, request->path)
               ? ts_file_check(request->path, request->force, bytes, diag)
               : ts_staged_check_folder(request->path, &(struct staged_content){format->part, NULL}, request->force,
                                        bytes, diag);
}

bool ts_sink_folder_holds(const struct sink_format *format, const struct sink_request *request)
{
    struct sink_request folder = *request;
    folder.path = "folder/";
    return format->part && ts_sink_is_file(format, request->path) && format->refusal(request) &&
           !format->refusal(&folder);
}

void ts_sink_warn(const struct sink_format *format, const struct sink_request *request, struct ts_diag *diag)
{
    const char *warning = format->warning ? format->warning(request) : NULL;
    char stage[64];
    snprintf(stage, sizeof stage, "output.%s", format->name);
    if (warning)
        ts_diag_warning(diag, &(struct diag_site){.code = "output-read-back", .stage = stage}, "the image '%s' %s",
                        request->name, warning);
}

size_t ts_sink_memory_bytes(const struct sink_format *format, const struct sink_request *request)
{
    return format->memory_bytes ? format->memory_bytes(request) : 0;
}

/* ---- the life of a sink ------------------------------------------------------------------------ */

enum ts_status ts_sink_open(const struct sink_format *format, const struct sink_request *request, struct sink **out,
                            struct ts_diag *diag)
{
    struct sink *sink = calloc(1, format->sink_bytes);
    *out = NULL;
    if (!sink)
        return ts_diag_no_memory(diag, format->sink_bytes);
    sink->format = format;
    sink->request = *request;
    sink->image = *request->image;
    sink->image.data = NULL;
    for (int i = 0; i < SINK_STAGED; i++)
        sink->staged[i].file.fd = -1;
    sink->n_staged = 1;
    enum ts_status status = check_image(format, request, diag);
    if (status == TS_OK)
        status = ts_sink_is_file(format, request->path)
                     ? ts_staged_file(&sink->staged[0], request->path, request->force, diag)
                     : ts_staged_folder(&sink->staged[0], request->path, &(struct staged_content){format->part, NULL},
                                        request->force, diag);
    if (status == TS_OK)
        status = format->open(sink, diag);
    if (status == TS_OK)
        *out = sink;
    else
        ts_sink_close(sink);
    return status;
}

const char *ts_sink_folder(const struct sink *sink)
{
    const struct staged *staged = &sink->staged[0];
    return staged->is_folder ? staged->folder : staged->file.folder;
}

const char *ts_sink_temporary(const struct sink *sink)
{
    const struct staged *staged = &sink->staged[0];
    return staged->is_folder ? staged->temporary : staged->file.named ? staged->file.temporary : NULL;
}

enum ts_status ts_sink_put(struct sink *sink, const struct ts_image *slab, struct ts_diag *diag)
{
    return sink->format->put(sink, slab, diag);
}

void ts_sink_mask(struct sink *sink, const uint64_t *valid)
{
    sink->valid = valid;
}

enum ts_status ts_sink_finish(struct sink *sink, struct ts_diag *diag)
{
    enum ts_status status = sink->format->finish ? sink->format->finish(sink, diag) : TS_OK;
    for (int i = 0; i < sink->n_staged && status == TS_OK; i++)
        status = ts_staged_sync(&sink->staged[i], diag);
    return status;
}

enum ts_status ts_sinks_publish(struct sink *const *sinks, int n, struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    for (int i = 0; i < n && status == TS_OK; i++)
        for (int j = 0; j < sinks[i]->n_staged && status == TS_OK; j++)
            status = ts_staged_publish(&sinks[i]->staged[j], diag);
    if (status != TS_OK)
        ts_sinks_retract(sinks, n);
    return status;
}

void ts_sinks_retract(struct sink *const *sinks, int n)
{
    for (int i = n - 1; i >= 0; i--)
        for (int j = sinks[i]->n_staged - 1; j >= 0; j--)
            ts_staged_retract(&sinks[i]->staged[j]);
}

void ts_sink_close(struct sink *sink)
{
    if (!sink)
        return;
    if (sink->format->free)
        sink->format->free(sink);
    for (int i = 0; i < SINK_STAGED; i++)
        ts_staged_clear(&sink->staged[i]);
    free(sink);
}

/* ---- for the formats ----------------------------------------------------------------------------- */

enum ts_status ts_sink_failed(const struct sink *sink, int error, struct ts_diag *diag)
{
    return ts_file_failed(diag, "output-write", error, "cannot write the output '%s'", sink->request.path);
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

bool ts_sink_number(const struct sink_request *request, const struct source_attribute *fact, int64_t z, double *value)
{
    const int64_t volumes = request->volumes ? request->volumes->n : 1, slices = request->image->axes[0].n;
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
            n += (size_t)snprintf(out + n, size - n, "%s%.*s", n > 0 ? "\\" : "", (int)length, from);
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
        out[3] = '\0'; /* of enhanced objects; classic ones have COL */
    return *out != '\0';
}

/* Returns true where axis d (0: slices, 1: columns, 2: rows) lies along the input's, in either sense. */
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
               fabs(fabs(image->axes[0].spacing) - fabs(input->axes[0].spacing)) <= 1e-6 * fabs(input->axes[0].spacing);
    if (!strcmp(fact->name, "phase_encoding_direction"))
        return along_input(request, 1) && along_input(request, 2);
    return strcmp(fact->name, "pixel_units") != 0 || (input && !strcmp(input->unit, image->unit));
}

bool ts_sink_same_slices(const struct sink_request *request)
{
    const struct ts_image *image = request->image, *input = request->input;
    const double tolerance = 1e-6;
    double off = 0, along = 0;
    if (!input || image->axes[0].n != input->axes[0].n || image->has_geometry != input->has_geometry)
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
    return ts_image_is_sinogram(request->image) ? "a sinogram is no volume" : NULL;
}
