/* SPDX-License-Identifier: Apache-2.0
 *
 * A fact with a number for each slice is written as one number a volume where the slices of each volume agree, and as
 * one number where all do. It is left out where stages have changed the slices that it counts. Texts that no list of
 * known values holds are left out as well: a word in their place would look like a value.
 *
 * FSL's gradients are along the axes of the file. Where the transform from these axes to RAS has a positive
 * determinant, FSL takes x the other way, so that x changes its sign. Rows keep their order here, so that this is the
 * case for all volumes but those that `reorient` made left-handed. dcm2niix reverses rows; both mean one direction.
 * Source: FSL, FDT user guide, "bvecs and bvals".
 */
#include "io/sink/nifti_sidecar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom/dicom_metadata.h"
#include "io/source/metadata.h"

enum { TEXT_BYTES = 1024 };

static int64_t volumes_of(const struct sink_request *request)
{
    return request->volumes ? request->volumes->n : 1;
}

/* ---- times --------------------------------------------------------------------------------------- */

/* The step may differ from the Repetition Time by 5 %, or by what a clock of whole seconds leaves open. */
static bool is_repeated(double step_s, double repetition_s, int64_t n)
{
    return fabs(step_s - repetition_s) <= fmax(0.05 * repetition_s, fmin(1.0 / (double)(n - 1), repetition_s / 2));
}

void ts_nifti_timing(const struct sink_request *request, struct nifti_timing *timing)
{
    const struct ts_axis *axis = request->volumes;
    const struct source_attribute *repetition = ts_sink_fact(request, "repetition_time");
    const double repetition_s = repetition && repetition->n == 1 ? repetition->numbers[0] / 1e3 : NAN;
    *timing = (struct nifti_timing){.step_s = 0, .even = true};
    if (!axis || axis->kind != TS_AXIS_TIME || strcmp(axis->unit, "s") != 0 || axis->n < 2)
        return;
    const double mean = (ts_axis_position(axis, axis->n - 1) - ts_axis_position(axis, 0)) / (double)(axis->n - 1);
    bool whole = true;
    timing->step_s = is_repeated(mean, repetition_s, axis->n) ? repetition_s : mean;
    for (int64_t i = 1; i < axis->n; i++) {
        const double since = ts_axis_position(axis, i) - ts_axis_position(axis, 0);
        whole &= since == rint(since);
    }
    const double tolerance =
        whole && timing->step_s == repetition_s ? fmax(1, 0.1 * timing->step_s) : 0.1 * timing->step_s;
    for (int64_t i = 1; i < axis->n; i++)
        timing->even &= fabs(ts_axis_position(axis, i) - ts_axis_position(axis, i - 1) - timing->step_s) <= tolerance;
}

/* ---- facts --------------------------------------------------------------------------------------- */

/* Puts the number of each volume, or the one on which all volumes agree, in place of those of slices. Returns false
 * where slices of one volume differ and the image has other slices than the input had. */
static bool reduce(const struct sink_request *request, struct source_attribute *fact, double *numbers)
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

/* Returns true for facts that are written in another form, or that concern the files of the input alone. */
static bool is_left_out(const char *name)
{
    static const char *const names[] = {"image",       "digest",          DICOM_GRADIENTS,     "repetition_time",
                                        "photometric", "window_center",   "window_width",      "rescale_type",
                                        "image_type",  DICOM_SLICE_TIMES, DICOM_PHASE_POLARITY};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void write_fact(struct json *json, const struct sink_request *request, struct source_attribute fact,
                       double *numbers)
{
    char known[TEXT_BYTES];
    if (!ts_sink_holds(request, &fact))
        return;
    if (fact.numbers && reduce(request, &fact, numbers)) {
        ts_metadata_json(json, &fact, 1);
    } else if (ts_sink_text(&fact, known, sizeof known)) {
        fact.value = known;
        ts_metadata_json(json, &fact, 1);
    }
}

/* The values are computed, whatever the input's were: DERIVED and SECONDARY, and what follows in the input. */
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

/* BIDS has one of RepetitionTime, the step of the volumes, and VolumeTiming, their times. A Repetition Time that is not
 * the step is the interval of excitations. */
static void write_times(struct json *json, const struct sink_request *request, const struct nifti_timing *timing)
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
        ts_json_member_real(json, is_step ? "RepetitionTime" : "RepetitionTimeExcitation", repetition_s);
}

/* The slices of the first volume stand for all. */
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

/* Writes the axis along which phase was encoded, and the direction where the scanner states it. Rows keep their order.
 */
static void write_phase_axis(struct json *json, const struct sink_request *request)
{
    const char *direction = ts_sink_attribute(request, "phase_encoding_direction");
    double off = request->input && request->image->has_geometry ? 0 : INFINITY;
    for (int i = 0; i < 6 && off < INFINITY; i++)
        off = fmax(off, fabs(request->image->direction[i] - request->input->direction[i]));
    const char *polarity = ts_sink_attribute(request, DICOM_PHASE_POLARITY);
    const char *axis = !direction || off > 1e-6            ? NULL
                       : strcmp(direction, "ROW") == 0     ? "i-"
                       : strncmp(direction, "COL", 3) == 0 ? "j-"
                                                           : NULL;
    char text[3] = "";
    if (axis) {
        snprintf(text, sizeof text, "%.*s", polarity && !strcmp(polarity, "NEGATIVE") ? 2 : 1, axis);
        ts_json_member_text(json, polarity ? "PhaseEncodingDirection" : "PhaseEncodingAxis", text);
    }
}

bool ts_nifti_write_json(FILE *stream, const struct sink_request *request, const struct nifti_timing *timing)
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

/* ---- diffusion ----------------------------------------------------------------------------------- */

static bool is_diffusion(const struct sink_request *request)
{
    return request->volumes && request->volumes->kind == TS_AXIS_B;
}

bool ts_nifti_write_bval(FILE *stream, const struct sink_request *request, const struct nifti_timing *timing)
{
    (void)timing;
    for (int64_t v = 0; is_diffusion(request) && v < request->volumes->n; v++)
        fprintf(stream, "%.9g%c", ts_axis_position(request->volumes, v), v + 1 < request->volumes->n ? ' ' : '\n');
    return true;
}

/* The determinant of the transform to RAS has the sign of that to LPS, which turns two axes. */
static bool is_right_handed(const struct ts_image *image)
{
    double m[3][4];
    ts_sink_transform(image, m);
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
               m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]) >
           0;
}

/* Finds the direction of a volume along the axes of the file. Returns false where it has a weighting and no direction.
 */
static bool direction_of(const struct sink_request *request, const struct source_attribute *gradients, int64_t volume,
                         double out[3])
{
    const struct ts_image *image = request->image;
    const double *stated = gradients->numbers + volume * (gradients->n / request->volumes->n) * gradients->columns;
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

bool ts_nifti_write_bvec(FILE *stream, const struct sink_request *request, const struct nifti_timing *timing)
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
