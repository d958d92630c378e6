/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a volume as NIfTI-1, or as NIfTI-2 if an axis is longer than 32,767; uncompressed, or in
 * gzip by all threads. The values keep their type. A volume with a place in a patient keeps the
 * order of its values, x fastest and row 0 first: the transform gives their places, and LPS becomes
 * RAS by changing the signs of the first two coordinates. A volume without such a place has no
 * transform (both codes are 0). Programs then draw the second axis upwards, so its rows are written
 * from the last to the first, and row 0 is at the top as in DICOM and HDF5. A series of volumes has
 * a fourth axis, which has a unit if it is time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom/dicom_metadata.h"
#include "io/file/gzip_writer.h"
#include "io/sink/volume_file.h"
#include "io/source/metadata.h"
#include "io/volume/nifti.h"

/* ---- the files beside it --------------------------------------------------------------------- */

/* NIfTI has no place for facts about the input, so NAME.json has them under the keys of BIDS, and
   for diffusion series NAME.bval and NAME.bvec are written for FSL. Source: Brain Imaging Data
   Structure, K. J. Gorgolewski et al., Scientific Data 3 (2016). A fact with a number for each
   slice is written as one number a volume if the slices of each volume agree, and as one number if
   all agree. It is left out if stages have changed the slices to which it belongs. Texts that are
   not in a list of known values are left out as well: a placeholder would look like a value. FSL's
   gradients are along the axes of the file. If the transform from these axes to RAS has a positive
   determinant, FSL reverses x, so x changes its sign. Rows keep their order here, so that is the
   case for all volumes except those that `reorient` made left-handed. dcm2niix reverses rows; both
   mean one direction. Source: FSL, FDT user guide, "bvecs and bvals". */

/* When the volumes of a series were acquired. */
struct nifti_timing {
    double step_s; /* 0: their axis is not time, or the times are not known */
    bool even;     /* the volumes follow each other in equal steps, as exactly as clocks tell */
};

/* Writes the text of one file, or nothing if the image has no such file. Returns false if memory is
   out. */
typedef bool nifti_sidecar_write(FILE *stream, const struct sink_request *request,
                                 const struct nifti_timing *timing);

enum { TEXT_BYTES = 1024 };
static const double SAME_STEP = 0.01; /* how far clocks are off, in steps */

static int64_t volumes_of(const struct sink_request *request)
{
    return request->volumes ? request->volumes->n : 1;
}

/* ---- beside it: times ------------------------------------------------------------------------ */

/* Returns how far the time of a volume is from an even step, in s. */
static double off_step(const struct ts_axis *axis, int64_t i, double step_s)
{
    return ts_axis_position(axis, i) - ts_axis_position(axis, 0) - (double)i * step_s;
}

/* Returns true if clocks of whole seconds tell these times of volumes that are one Repetition Time
   apart: steps differ although they would not, and no time is off by a second. */
static bool is_rounded(const struct ts_axis *axis, double repetition_s, double mean_s)
{
    double low = 0, high = 0;
    bool whole = true, equal = true;
    for (int64_t i = 1; i < axis->n; i++) {
        const double since = off_step(axis, i, 0), off = off_step(axis, i, repetition_s);
        whole &= since == rint(since);
        equal &= off_step(axis, i, mean_s) == 0;
        low = fmin(low, off);
        high = fmax(high, off);
    }
    return whole && !equal && high - low < 1;
}

/* Finds the step: the mean distance of the times, but the Repetition Time if the times agree with
   it. */
static void find_timing(const struct sink_request *request, struct nifti_timing *timing)
{
    const struct ts_axis *axis = request->volumes;
    const struct source_attribute *repetition = ts_sink_fact(request, "repetition_time");
    const double repetition_s =
        repetition && repetition->n == 1 ? repetition->numbers[0] / 1e3 : NAN;
    *timing = (struct nifti_timing){.step_s = 0, .even = true};
    if (!axis || axis->kind != TS_AXIS_TIME || strcmp(axis->unit, "s") != 0 || axis->n < 2)
        return;
    const int64_t steps = axis->n - 1;
    const double mean = off_step(axis, steps, 0) / (double)steps;
    timing->step_s = mean;
    if (repetition_s > 0 && is_rounded(axis, repetition_s, mean)) {
        timing->step_s = repetition_s;
        return;
    }
    bool repeats = true;
    for (int64_t i = 1; i < axis->n; i++) {
        timing->even &= fabs(off_step(axis, i, mean)) <= SAME_STEP * mean;
        repeats &= fabs(off_step(axis, i, repetition_s)) <= SAME_STEP * mean;
    }
    if (repeats)
        timing->step_s = repetition_s;
}

/* ---- beside it: facts ------------------------------------------------------------------------ */

/* Replaces the numbers of slices by one for each volume, or by one for all if volumes agree.
   Returns false if slices of one volume differ and the image has other slices than the input. */
static bool nifti_sink_reduce(const struct sink_request *request, struct source_attribute *fact,
                              double *numbers)
{
    const int64_t volumes = volumes_of(request), slices = fact->n / volumes;
    bool each = true, all = true;
    if (fact->n == 1)
        return true;
    if (fact->n % volumes != 0)
        return false;
    for (int64_t i = 0; i < fact->n; i++) {
        const double value = fact->numbers[i], first = fact->numbers[i / slices * slices];
        each &= value == first || (isnan(value) && isnan(first));
        all &= value == fact->numbers[0];
    }
    if (!each)
        return ts_sink_same_slices(request) && slices == request->image->axes[0].n;
    fact->n = all ? 1 : volumes;
    for (int64_t v = 0; v < fact->n; v++)
        numbers[v] = fact->numbers[v * slices];
    fact->numbers = numbers;
    return true;
}

/* Returns true for facts that are written in another form, or that only concern the files of the
   input. */
static bool is_left_out(const char *name)
{
    static const char *const names[] = {
        "image",       "digest",          DICOM_GRADIENTS,     "repetition_time",
        "photometric", "window_center",   "window_width",      "rescale_type",
        "image_type",  DICOM_SLICE_TIMES, DICOM_PHASE_POLARITY};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void write_fact(struct json *json, const struct sink_request *request,
                       struct source_attribute fact, double *numbers)
{
    char known[TEXT_BYTES];
    if (!ts_sink_holds(request, &fact))
        return;
    if (fact.numbers && nifti_sink_reduce(request, &fact, numbers)) {
        ts_metadata_json(json, &fact, 1);
    } else if (ts_sink_text(&fact, known, sizeof known)) {
        fact.value = known;
        ts_metadata_json(json, &fact, 1);
    }
}

/* Writes the values as computed, whatever the input's were: DERIVED, SECONDARY, and what follows in
   the input. */
static void write_image_type(struct json *json, const struct sink_request *request)
{
    const char *stated = ts_sink_attribute(request, "image_type");
    char text[TEXT_BYTES] = "DERIVED\\SECONDARY\\";
    const size_t start = strlen(text);
    for (int i = 0; stated && i < 2; i++) {
        stated += strcspn(stated, "\\");
        stated += *stated == '\\';
    }
    if (!stated || !ts_sink_known_text(stated, text + start, sizeof text - start) || !text[start])
        text[start - 1] = '\0';
    ts_metadata_json(json, &(struct source_attribute){.name = "image_type", .value = text}, 1);
}

static void write_positions(struct json *json, const char *key, const struct ts_axis *axis)
{
    ts_json_open_member(json, key, '[');
    for (int64_t i = 0; i < axis->n; i++)
        ts_json_real(json, ts_axis_position(axis, i));
    ts_json_close(json, ']');
}

/* BIDS has either RepetitionTime, the step of the volumes, or VolumeTiming, their times. A
   Repetition Time that is not the step is the interval of excitations. */
static void write_times(struct json *json, const struct sink_request *request,
                        const struct nifti_timing *timing)
{
    const struct source_attribute *repetition = ts_sink_fact(request, "repetition_time");
    if (!timing->even)
        write_positions(json, "VolumeTiming", request->volumes);
    if (!repetition || repetition->n != 1)
        return;
    const double repetition_s = repetition->numbers[0] / 1e3;
    const bool is_step = timing->step_s == 0 || timing->step_s == repetition_s;
    if (timing->even && !is_step)
        ts_json_member_real(json, "RepetitionTime", timing->step_s);
    if (timing->even || !is_step)
        ts_json_member_real(json, is_step ? "RepetitionTime" : "RepetitionTimeExcitation",
                            repetition_s);
}

/* Writes the times of the slices of the first volume, which apply to all volumes. */
static void write_slice_times(struct json *json, const struct sink_request *request)
{
    const struct source_attribute *times = ts_sink_fact(request, DICOM_SLICE_TIMES);
    const int64_t slices = request->image->axes[0].n;
    if (!times || times->n != slices * volumes_of(request) || !ts_sink_same_slices(request))
        return;
    ts_json_open_member(json, "SliceTiming", '[');
    for (int64_t z = 0; z < slices; z++)
        ts_json_real(json, times->numbers[z]);
    ts_json_close(json, ']');
}

/* Writes the axis along which phase was encoded, and the direction if the scanner states it. Rows
   keep their order. */
static void write_phase_axis(struct json *json, const struct sink_request *request)
{
    const char *direction = ts_sink_attribute(request, "phase_encoding_direction");
    double off = request->input && request->image->has_geometry ? 0 : INFINITY;
    for (int i = 0; i < 6 && off < INFINITY; i++)
        off = fmax(off, fabs(request->image->direction[i] - request->input->direction[i]));
    const char *polarity = ts_sink_attribute(request, DICOM_PHASE_POLARITY);
    const char *axis = NULL;
    if (direction && off <= 1e-6) {
        if (strcmp(direction, "ROW") == 0)
            axis = "i-";
        else if (strncmp(direction, "COL", 3) == 0)
            axis = "j-";
    }
    char text[3] = "";
    if (axis) {
        snprintf(text, sizeof text, "%.*s", polarity && !strcmp(polarity, "NEGATIVE") ? 2 : 1,
                 axis);
        ts_json_member_text(json, polarity ? "PhaseEncodingDirection" : "PhaseEncodingAxis", text);
    }
}

static bool write_json(FILE *stream, const struct sink_request *request,
                       const struct nifti_timing *timing)
{
    struct json json;
    double *numbers = malloc((size_t)volumes_of(request) * sizeof *numbers);
    if (!numbers)
        return false;
    ts_json_init(&json, stream, true);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "Quantity", ts_quantity_name(request->image->quantity));
    ts_json_member_text(&json, "Units", request->image->unit);
    ts_json_member_text(&json, "Image", request->name);
    write_image_type(&json, request);
    for (size_t i = 0; i < request->n_attributes; i++)
        if (!is_left_out(request->attributes[i].name))
            write_fact(&json, request, request->attributes[i], numbers);
    free(numbers);
    write_times(&json, request, timing);
    write_slice_times(&json, request);
    write_phase_axis(&json, request);
    if (request->volumes) {
        ts_json_open_member(&json, "Volumes", '{');
        ts_json_member_text(&json, "Axis", ts_axis_name(request->volumes));
        ts_json_member_text(&json, "Units", request->volumes->unit);
        write_positions(&json, "Positions", request->volumes);
        ts_json_close(&json, '}');
    }
    ts_json_open_member(&json, "GeneratedBy", '[');
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "Name", "tomostage");
    ts_json_member_text(&json, "Version", ts_version());
    ts_json_close(&json, '}');
    ts_json_close(&json, ']');
    ts_json_close(&json, '}');
    return true;
}

/* ---- beside it: diffusion -------------------------------------------------------------------- */

static bool is_diffusion(const struct sink_request *request)
{
    return request->volumes && request->volumes->kind == TS_AXIS_B;
}

static bool write_bval(FILE *stream, const struct sink_request *request,
                       const struct nifti_timing *timing)
{
    (void)timing;
    for (int64_t v = 0; is_diffusion(request) && v < request->volumes->n; v++)
        fprintf(stream, "%.9g%c", ts_axis_position(request->volumes, v),
                v + 1 < request->volumes->n ? ' ' : '\n');
    return true;
}

/* The determinants of the transforms to RAS and to LPS have the same sign, since the two differ by
   two reversed axes. */
static bool is_right_handed(const struct ts_image *image)
{
    double m[3][4];
    ts_sink_transform(image, m);
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
               m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
               m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]) >
           0;
}

/* Finds the gradient direction of a volume along the axes of the file. Returns false if the volume
   has a weighting but no direction. */
static bool direction_of(const struct sink_request *request,
                         const struct source_attribute *gradients, int64_t volume, double out[3])
{
    const struct ts_image *image = request->image;
    const double *stated =
        gradients->numbers + volume * (gradients->n / request->volumes->n) * gradients->columns;
    double length = 0;
    for (int d = 0; d < 3; d++) {
        length += stated[d] * stated[d];
        out[d] = 0;
        for (int i = 0; i < 3; i++)
            out[d] += stated[i] * image->direction[3 * d + i];
        out[d] = out[d] * (d == 0 && is_right_handed(image) ? -1 : 1) + 0; /* no negative zero */
    }
    return length > 0 || !(ts_axis_position(request->volumes, volume) > 0);
}

static bool write_bvec(FILE *stream, const struct sink_request *request,
                       const struct nifti_timing *timing)
{
    (void)timing;
    const struct source_attribute *gradients = ts_sink_fact(request, DICOM_GRADIENTS);
    double direction[3];
    if (!is_diffusion(request) || !gradients || gradients->n % request->volumes->n != 0 ||
        !request->image->has_geometry)
        return true;
    for (int64_t v = 0; v < request->volumes->n; v++)
        if (!direction_of(request, gradients, v, direction))
            return true;
    for (int d = 0; d < 3; d++)
        for (int64_t v = 0; v < request->volumes->n; v++) {
            (void)direction_of(request, gradients, v, direction);
            fprintf(stream, "%.9g%c", direction[d], v + 1 < request->volumes->n ? ' ' : '\n');
        }
    return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

struct nifti_file {
    struct volume_file file; /* first */
    struct nifti_timing timing;
};

static bool is_gzip(const char *path)
{
    return ts_sink_has_suffix(path, ".gz");
}

static size_t memory_bytes(const struct sink_request *request)
{
    return (is_gzip(request->path) ? ts_gzip_writer_bytes(request->threads) : 0) +
           (request->image->has_geometry ? 0 : ts_slice_bytes(request->image));
}

/* Names the axis of a sweep, and states its values if they are even. Its unit is not one of time;
   its full name goes to the description, since that of the intent has at most 15 letters. */
static void name_sweep(const struct ts_axis *values, struct nifti_header *header)
{
    const size_t length = strlen(header->text);
    const double first = ts_axis_position(values, 0),
                 step = values->n > 1 ? (ts_axis_position(values, values->n - 1) - first) /
                                            (double)(values->n - 1)
                                      : 0;
    bool even = step > 0;
    for (int64_t i = 0; i < values->n; i++)
        even &= fabs(ts_axis_position(values, i) - first - (double)i * step) <= 1e-6 * step;
    snprintf(header->text + length, sizeof header->text - length, NIFTI_VOLUMES_BY "%s",
             ts_axis_name(values));
    snprintf(header->intent, sizeof header->intent, "%.*s", NIFTI_INTENT_BYTES - 1,
             ts_axis_name(values));
    header->first = even ? first : 0;
    header->pixdim[4] = even ? step : 1;
}

static void make_header(const struct nifti_file *file, struct nifti_header *header)
{
    const struct sink *sink = &file->file.sink;
    const struct ts_image *image = &sink->image;
    double rows[3][4];
    *header = (struct nifti_header){.version = 1, .dim = {3, 1, 1, 1, 1, 1, 1, 1}, .slope = 1};
    for (int d = 0; d < 3; d++) {
        header->dim[1 + d] = (double)image->axes[2 - d].n;
        header->version = image->axes[2 - d].n > NIFTI_1_LONGEST ? 2 : header->version;
    }
    for (int d = 4; d < 8; d++)
        header->pixdim[d] = 1;
    if (sink->request.volumes) {
        const struct ts_axis *volumes = sink->request.volumes;
        header->dim[0] = 4;
        header->dim[4] = (double)volumes->n;
        header->version = volumes->n > NIFTI_1_LONGEST ? 2 : header->version;
    }
    if (file->timing.step_s > 0) {
        header->pixdim[4] = file->timing.step_s;
        header->first = ts_axis_position(sink->request.volumes, 0);
    }
    header->datatype = ts_nifti_datatype(image->dtype);
    header->bits = 8 * (double)ts_dtype_bytes(image->dtype);
    header->intent_code = image->labels == 2 ? NIFTI_LABEL : 0;
    header->offset = header->version == 1 ? NIFTI_1_BYTES + 4 : NIFTI_2_BYTES + 4;
    const bool in_mm = ts_volume_file_unknown_axis(image) < 0;
    const bool timed = sink->request.volumes ? file->timing.step_s > 0 : in_mm;
    header->units = (in_mm ? NIFTI_MM : 0) + (timed ? NIFTI_SECONDS : 0);
    snprintf(header->text, sizeof header->text, "tomostage %s: %s, %s", ts_version(),
             ts_quantity_name(image->quantity), image->unit);
    if (sink->request.volumes && sink->request.volumes->kind == TS_AXIS_ITEM)
        name_sweep(sink->request.volumes, header);
    if (!image->has_geometry) {
        for (int d = 0; d < 3; d++)
            header->pixdim[1 + d] = ts_axis_spacing(&image->axes[2 - d]);
        header->pixdim[0] = 1;
        return;
    }
    ts_volume_file_transform(sink, rows);
    for (int d = 0; d < 4; d++) {
        rows[0][d] = 0 - rows[0][d]; /* a zero keeps its sign */
        rows[1][d] = 0 - rows[1][d];
    }
    ts_nifti_set_transform(header, rows);
}

/* ---- files beside it ------------------------------------------------------------------------- */

/* Creates a file beside the output with the text that `write` writes; no file if there is no
   text. */
static enum ts_status create_beside(struct nifti_file *file, const char *ending,
                                    nifti_sidecar_write *write, struct ts_diag *diag)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (!stream)
        return ts_diag_no_memory(diag, sizeof *stream);
    const bool written = write(stream, &file->file.sink.request, &file->timing);
    enum ts_status status =
        fclose(stream) == 0 && written ? TS_OK : ts_diag_no_memory(diag, length);
    if (status == TS_OK && length > 0)
        status = ts_volume_file_stage(&file->file, ending, text, length, diag);
    free(text);
    return status;
}

/* ---- the table ------------------------------------------------------------------------------- */

static enum ts_status nifti_sink_begin(struct volume_file *file, struct ts_diag *diag)
{
    const struct sink *sink = &file->sink;
    struct nifti_header header;
    unsigned char bytes[NIFTI_2_BYTES + 4];
    make_header((struct nifti_file *)file, &header);
    const size_t n = ts_nifti_encode(&header, bytes), slice = ts_slice_bytes(&sink->image);
    if (!sink->image.has_geometry && !(file->reversed = malloc(slice)))
        return ts_diag_no_memory(diag, slice);
    return ts_volume_file_begin(file, bytes, n,
                                is_gzip(sink->request.path) ? VOLUME_GZIP_WHOLE : VOLUME_RAW, diag);
}

static enum ts_status open_file(struct sink *sink, struct ts_diag *diag)
{
    static nifti_sidecar_write *const writes[] = {write_json, write_bval, write_bvec};
    struct nifti_file *file = (struct nifti_file *)sink;
    file->file.begin = nifti_sink_begin;
    find_timing(&sink->request, &file->timing);
    ts_volume_file_warn_of_unit(&file->file, "nifti-unit", diag);
    enum ts_status status = nifti_sink_begin(&file->file, diag);
    for (size_t i = 0; i < sizeof writes / sizeof *writes && status == TS_OK; i++)
        status = create_beside(file, sink->format->beside[i], writes[i], diag);
    return status;
}

const struct sink_format nifti_sink = {
    .name = "nifti",
    .summary =
        "one NIfTI file, .nii or .nii.gz, with .json and for diffusion .bval and .bvec beside it",
    .suffixes = {".nii.gz", ".nii"},
    .beside = {".json", ".bval", ".bvec", "_mask.nii", "_mask.nii.gz"},
    .sink_bytes = sizeof(struct nifti_file),
    .refusal = ts_sink_no_volume,
    .memory_bytes = memory_bytes,
    .open = open_file,
    .put = ts_volume_file_put,
    .finish = ts_volume_file_finish,
    .free = ts_volume_file_free,
};
