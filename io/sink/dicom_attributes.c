/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the header of one file of a derived series. Geometry and values are the image's. What is
 * known of the acquisition comes, by a table, from those facts about the input that this kind of
 * object has an element for; each has passed the list of what may leave a header
 * (io/dicom_header/dicom_fields.def). What an object must name and nobody knows is empty. Elements
 * are put in any order and sorted at the end. Source: DICOM PS3.3 A.3, A.4, A.8, A.21 and C.8,
 * C.11; PS3.15 annex E.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom/dicom_metadata.h"
#include "io/dicom_header/dicom_kind.h"
#include "io/sink/dicom_files.h"

enum { TEXT_BYTES = 256, LONGEST_CODE = 16 };

/* A rule says to which element the value of a fact goes. */
static const struct rule {
    uint32_t tag;
    char vr[3];
    const char *fact;
    unsigned objects;      /* enum dicom_object: the kinds that have the element */
    unsigned always;       /* the kinds that have it even if the fact is not known */
    const char *otherwise; /* its value then; NULL: empty */
} rules[] = {
    {0x00080022, "DA", "acquisition_date", DICOM_ANY, DICOM_PT},
    {0x00080070, "LO", "manufacturer", DICOM_ANY, DICOM_ANY},
    {0x00081090, "LO", "manufacturer_model", DICOM_ANY, 0},
    {0x00102210, "CS", "anatomical_orientation", DICOM_ANY, 0},
    {0x00180015, "CS", "body_part", DICOM_ANY, 0},
    {0x00180020, "CS", "scanning_sequence", DICOM_MR, DICOM_MR,
     "RM"}, /* research mode: none is certain to be right */
    {0x00180021, "CS", "sequence_variant", DICOM_MR, DICOM_MR, "NONE"},
    {0x00180022, "CS", "scan_options", DICOM_MR | DICOM_CT, DICOM_MR},
    {0x00180023, "CS", "mr_acquisition_type", DICOM_MR, DICOM_MR},
    {0x00180060, "DS", "tube_voltage", DICOM_CT, DICOM_CT},
    {0x00180080, "DS", "repetition_time", DICOM_MR, DICOM_MR},
    {0x00180081, "DS", "echo_time", DICOM_MR, DICOM_MR},
    {0x00180082, "DS", "inversion_time", DICOM_MR, 0},
    {0x00180083, "DS", "number_of_averages", DICOM_MR, 0},
    {0x00180084, "DS", "imaging_frequency", DICOM_MR, 0},
    {0x00180085, "SH", "imaged_nucleus", DICOM_MR, 0},
    {0x00180086, "IS", "echo_number", DICOM_MR, 0},
    {0x00180087, "DS", "magnetic_field_strength", DICOM_MR, 0},
    {0x00180091, "IS", "echo_train_length", DICOM_MR, DICOM_MR},
    {0x00180093, "DS", "percent_sampling", DICOM_MR, 0},
    {0x00180094, "DS", "percent_phase_field_of_view", DICOM_MR, 0},
    {0x00180095, "DS", "pixel_bandwidth", DICOM_MR, 0},
    {0x00181110, "DS", "distance_source_to_detector", DICOM_CT, 0},
    {0x00181111, "DS", "distance_source_to_patient", DICOM_CT, 0},
    {0x00181140, "CS", "rotation_direction", DICOM_CT, 0},
    {0x00181150, "IS", "exposure_time", DICOM_CT, 0},
    {0x00181151, "IS", "tube_current", DICOM_CT, 0},
    {0x00181152, "IS", "exposure", DICOM_CT, 0},
    {0x00181160, "SH", "filter_type", DICOM_CT, 0},
    {0x00181210, "SH", "convolution_kernel", DICOM_CT | DICOM_PT, 0},
    {0x00181242, "IS", "frame_duration", DICOM_PT, DICOM_PT},
    {0x00181312, "CS", "phase_encoding_direction", DICOM_MR, 0},
    {0x00181314, "DS", "flip_angle", DICOM_MR, 0},
    {0x00181316, "DS", "specific_absorption_rate", DICOM_MR, 0},
    {0x00185100, "CS", "patient_position", DICOM_CT | DICOM_MR, DICOM_CT | DICOM_MR},
    {0x00280051, "CS", "corrected_image", DICOM_PT, DICOM_PT},
    {0x00282110, "CS", "lossy_image_compression", DICOM_ANY, 0},
    {0x00282112, "DS", "lossy_image_compression_ratio", DICOM_ANY, 0},
    {0x00282114, "CS", "lossy_image_compression_method", DICOM_ANY, 0},
    {0x00280303, "CS", "longitudinal_temporal_information_modified", DICOM_ANY, 0},
    {0x00541002, "CS", "counts_source", DICOM_PT, DICOM_PT},
    {0x00541100, "CS", "randoms_correction", DICOM_PT, 0},
    {0x00541102, "CS", "decay_correction", DICOM_PT, DICOM_PT},
    {0x00541300, "DS", "frame_reference_time", DICOM_PT, 0},
    {0x00541321, "DS", "decay_factor", DICOM_PT, 0},
};

/* Puts an element of VR FD. */
static void put_doubles(struct dicom_header *header, uint32_t tag, const double *values, uint32_t n)
{
    ts_dicom_put_element(header, tag, "FD", n * (uint32_t)sizeof *values);
    memcpy(header->bytes + header->n, values, n * sizeof *values);
    header->n += n * sizeof *values;
}

static const char *class_of(enum dicom_object object)
{
    if (object == DICOM_CT)
        return "1.2.840.10008.5.1.4.1.1.2";
    if (object == DICOM_MR)
        return "1.2.840.10008.5.1.4.1.1.4";
    return object == DICOM_PT ? "1.2.840.10008.5.1.4.1.1.128" : "1.2.840.10008.5.1.4.1.1.7";
}

void ts_dicom_choose_object(struct dicom_files *files)
{
    static const struct {
        const char *modality;
        enum dicom_object object;
    } known[] = {{"CT", DICOM_CT}, {"MR", DICOM_MR}, {"PT", DICOM_PT}};
    const char *modality = ts_sink_attribute(&files->sink.request, "modality");
    const enum ts_quantity quantity = files->sink.image.quantity;
    files->object = DICOM_CAPTURE;
    if (!modality && (quantity == TS_HU || quantity == TS_ATTENUATION))
        modality = "CT";
    files->modality = modality && strlen(modality) <= LONGEST_CODE ? modality : "OT";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(files->modality, known[i].modality))
            files->object = known[i].object;
}

/* Returns the UID among the facts, NULL if there is none. */
static const char *known_uid(const struct dicom_files *files, const char *name)
{
    const char *uid = ts_sink_attribute(&files->sink.request, name);
    return uid && *uid && strlen(uid) < DICOM_UID_BYTES && strspn(uid, "0123456789.") == strlen(uid)
               ? uid
               : NULL;
}

void ts_dicom_make_uids(struct dicom_files *files)
{
    char text[700], part[800];
    const char *study = known_uid(files, "study_instance_uid");
    const char *frame =
        files->sink.image.has_geometry ? known_uid(files, "frame_of_reference_uid") : NULL;
    size_t n = (size_t)snprintf(text, sizeof text, "%s %s%s%s", files->scratch.digest_text,
                                class_of(files->object), study ? " of " : "", study ? study : "");
    if (files->sink.valid)
        n += (size_t)snprintf(text + n, sizeof text - n, " padding %d", (int)files->padding);
    for (int i = 0; i < 3; i++)
        for (int d = 0; d < 4; d++)
            n += (size_t)snprintf(text + n, sizeof text - n, " %.9g", files->transform[i][d]);
    snprintf(part, sizeof part, "tomostage study %s", text);
    ts_dicom_uid(files->study, part);
    snprintf(part, sizeof part, "tomostage series %s %d", text, (int)files->sink.request.codec);
    ts_dicom_uid(files->series, part);
    snprintf(part, sizeof part, "tomostage frame %s", text);
    ts_dicom_uid(files->frame, part);
    if (study)
        strcpy(files->study, study);
    if (frame)
        strcpy(files->frame, frame);
}

/* ---- single elements ------------------------------------------------------------------------- */

enum { MOST_DECIMALS = 6 };

/* Puts n numbers, at most MOST_DECIMALS, with backslashes between. */
static void put_decimals(struct dicom_header *header, uint32_t tag, const double *values, int n)
{
    char text[MOST_DECIMALS * DICOM_NUMBER_BYTES] = "", number[DICOM_NUMBER_BYTES];
    for (int i = 0; i < n; i++) {
        ts_dicom_decimal(values[i], number);
        if (i > 0)
            strcat(text, "\\");
        strcat(text, number);
    }
    ts_dicom_put_text(header, tag, "DS", "%s", text);
}

static void put_empty(struct dicom_header *header, uint32_t tag, const char *vr)
{
    ts_dicom_put_text(header, tag, vr, "%s", "");
}

/* Puts a number as the VR has it. */
static void put_number(struct dicom_header *header, const struct rule *rule, double value)
{
    if (!strcmp(rule->vr, "IS"))
        ts_dicom_put_text(header, rule->tag, "IS", "%.0f",
                          fmin(fmax(rint(value), INT32_MIN), INT32_MAX));
    else
        put_decimals(header, rule->tag, &value, 1);
}

/* Returns true if this is one of the values of a text. */
static bool has_value(const char *text, const char *value)
{
    for (const char *at = text; at && *at; at += strspn(at, "\\")) {
        const size_t length = strcspn(at, "\\");
        if (length == strlen(value) && !strncmp(at, value, length))
            return true;
        at += length;
    }
    return false;
}

/* Standard MR objects have Inversion Time only beside the sequence IR (PS3.3 C.8.3.1), but scanners
   state it beside others too. */
static bool has_place(const struct rule *rule, const struct dicom_files *files)
{
    return (rule->objects & files->object) &&
           (strcmp(rule->fact, "inversion_time") != 0 ||
            has_value(ts_sink_attribute(&files->sink.request, "scanning_sequence"), "IR"));
}

/* Puts each known fact for which the object has an element. */
static void put_facts(struct dicom_header *header, const struct dicom_files *files, int64_t z)
{
    const struct sink_request *request = &files->sink.request;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *rule = &rules[i];
        const struct source_attribute *fact = ts_sink_fact(request, rule->fact);
        char text[TEXT_BYTES];
        double value;
        if (!has_place(rule, files))
            continue;
        if (fact && !ts_sink_holds(request, fact))
            fact = NULL;
        if (fact && fact->numbers && ts_sink_number(request, fact, z, &value))
            put_number(header, rule, value);
        else if (fact && ts_sink_text(fact, text, sizeof text))
            ts_dicom_put_text(header, rule->tag, rule->vr, "%s", text);
        else if (rule->always & files->object)
            ts_dicom_put_text(header, rule->tag, rule->vr, "%s",
                              rule->otherwise ? rule->otherwise : "");
    }
}

/* ---- groups of elements ---------------------------------------------------------------------- */

static bool is_fact(const struct dicom_files *files, const char *name, const char *value)
{
    const char *text = ts_sink_attribute(&files->sink.request, name);
    return text && !strcmp(text, value);
}

/* Leaves texts and dates of the patient and the study empty. States that the identity is removed,
   unless the chain keeps it or the pixels show it. */
static void put_identity(struct dicom_header *header, const struct dicom_files *files)
{
    static const struct {
        uint32_t tag;
        const char *vr;
    } empty[] = {{0x00080020, "DA"}, {0x00080030, "TM"}, {0x00080050, "SH"},
                 {0x00080090, "PN"}, {0x00100010, "PN"}, {0x00100020, "LO"},
                 {0x00100030, "DA"}, {0x00100040, "CS"}, {0x00200010, "SH"}};
    const bool shown = is_fact(files, "burned_in_annotation", "YES"),
               kept = is_fact(files, "contains_phi", "YES");
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        put_empty(header, empty[i].tag, empty[i].vr);
    ts_dicom_put_text(header, 0x00120062, "CS", shown || kept ? "NO" : "YES");
    if (!shown && !kept)
        ts_dicom_put_text(header, 0x00120063, "LO",
                          "tomostage: nothing but an allow-list of attributes");
    if (shown || is_fact(files, "burned_in_annotation", "NO"))
        ts_dicom_put_text(header, 0x00280301, "CS", shown ? "YES" : "NO");
}

/* Puts Laterality (the side of the body) as empty, and omits it for parts of which there is only
   one. */
static void put_laterality(struct dicom_header *header, const struct dicom_files *files)
{
    static const char *const single[] = {"HEAD",   "BRAIN",   "SKULL",  "NECK",     "CHEST",
                                         "THORAX", "ABDOMEN", "PELVIS", "CSPINE",   "TSPINE",
                                         "LSPINE", "HEART",   "LIVER",  "WHOLEBODY"};
    bool known = false;
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        known |= is_fact(files, "body_part", single[i]);
    if (!known)
        put_empty(header, 0x00200060, "CS");
}

/* Returns Image Type. In MR, the third and fourth values state the part of a complex image, as
   scanners do, if the values have the unit of the input: a phase must not be taken for a
   magnitude. */
static const char *image_type(const struct dicom_files *files)
{
    static const char *const types[][2] = {{"MAGNITUDE", "DERIVED\\SECONDARY\\OTHER\\M"},
                                           {"PHASE", "DERIVED\\SECONDARY\\PHASE MAP\\P"},
                                           {"REAL", "DERIVED\\SECONDARY\\OTHER\\R"},
                                           {"IMAGINARY", "DERIVED\\SECONDARY\\OTHER\\I"}};
    const struct sink_request *request = &files->sink.request;
    const struct ts_image *image = request->image, *input = request->input;
    const char *component = ts_sink_attribute(request, DICOM_COMPONENT);
    const char *stated = ts_sink_attribute(request, "image_type");
    if (files->object == DICOM_CT)
        return "DERIVED\\SECONDARY\\AXIAL";
    if (files->object == DICOM_PT)
        return "DERIVED\\PRIMARY"; /* the standard demands this of PET */
    if (!component)
        component = stated ? ts_dicom_component(stated, 2) : "";
    const bool holds = files->object == DICOM_MR && input && input->quantity == image->quantity &&
                       strcmp(input->unit, image->unit) == 0;
    for (size_t i = 0; holds && i < sizeof types / sizeof *types; i++)
        if (!strcmp(component, types[i][0]))
            return types[i][1];
    return "DERIVED\\SECONDARY\\OTHER";
}

static void put_object(struct dicom_header *header, const struct dicom_files *files, int64_t z)
{
    char instance[DICOM_UID_BYTES], text[160], described[TEXT_BYTES];
    const struct ts_image *image = &files->sink.image;
    const char *description = ts_sink_attribute(&files->sink.request, "series_description");
    snprintf(text, sizeof text, "%s instance %lld", files->series, (long long)z);
    ts_dicom_uid(instance, text);
    static const char *const syntaxes[] = {[SINK_CODEC_NONE] = DICOM_EXPLICIT_SYNTAX,
                                           [SINK_CODEC_RLE] = DICOM_RLE_SYNTAX,
                                           [SINK_CODEC_J2K] = DICOM_JPEG_2000_SYNTAX};
    ts_dicom_put_meta(header, class_of(files->object), instance,
                      syntaxes[files->sink.request.codec]);
    ts_dicom_put_text(header, 0x00080008, "CS", "%s", image_type(files));
    ts_dicom_put_text(header, 0x00080016, "UI", "%s", class_of(files->object));
    ts_dicom_put_text(header, 0x00080018, "UI", "%s", instance);
    ts_dicom_put_text(header, 0x00080060, "CS", "%s", files->modality);
    if (files->object == DICOM_CAPTURE)
        ts_dicom_put_text(header, 0x00080064, "CS", "WSD");
    snprintf(described, sizeof described, "%.24s: %s in %.16s", files->sink.request.name,
             ts_quantity_name(image->quantity), image->unit);
    ts_dicom_put_text(header, 0x0008103E, "LO", "%.62s%s%.*s", described, description ? "; " : "",
                      description ? (int)(62 - strnlen(described, 62)) : 0,
                      description ? description : "");
    ts_dicom_put_text(header, 0x00082111, "ST", "computed by tomostage %s", ts_version());
    ts_dicom_put_text(header, 0x0020000D, "UI", "%s", files->study);
    ts_dicom_put_text(header, 0x0020000E, "UI", "%s", files->series);
    ts_dicom_put_text(header, 0x00200011, "IS", "1");
    put_empty(header, 0x00200012, "IS");
    ts_dicom_put_text(header, 0x00200013, "IS", "%lld", (long long)z + 1);
}

static void put_place(struct dicom_header *header, const struct dicom_files *files, int64_t slice)
{
    const int64_t z = slice % files->sink.image.axes[0].n; /* in its volume */
    const struct sink_request *request = &files->sink.request;
    const struct source_attribute *stated = ts_sink_fact(request, "slice_thickness");
    const double distance = files->sink.image.axes[0].spacing;
    double thickness = distance;
    double position[3], orientation[6];
    for (int i = 0; i < 3; i++) {
        position[i] = files->transform[i][3] + (double)z * files->transform[i][2];
        for (int d = 0; d < 2; d++)
            orientation[3 * d + i] =
                files->transform[i][d] / ts_axis_spacing(&files->sink.image.axes[2 - d]) +
                0; /* no negative zero */
    }
    /* Slices that are the input's keep its thickness, which differs from their distance if they
       overlap or leave gaps. */
    if (stated && stated->numbers && ts_sink_holds(request, stated) &&
        (!ts_sink_number(request, stated, slice, &thickness) || !(thickness > 0)))
        thickness = distance;
    if (distance > 0)
        put_decimals(header, 0x00180088, &distance, 1);
    if (thickness > 0)
        put_decimals(header, 0x00180050, &thickness, 1);
    else
        put_empty(header, 0x00180050, "DS");
    put_decimals(header, 0x00200032, position, 3);
    put_decimals(header, 0x00200037, orientation, 6);
    ts_dicom_put_text(header, 0x00200052, "UI", "%s", files->frame);
    if (files->object == DICOM_CAPTURE)
        put_empty(header, 0x00200020, "CS");
    put_empty(header, 0x00201040, "LO");
    ts_dicom_put_text(header, 0x00181020, "LO", "tomostage %s", ts_version());
}

/* Puts what tells the volumes of a series apart: a number and a time, an echo time, or a
   weighting. */
static void put_volume(struct dicom_header *header, const struct dicom_files *files, int64_t z)
{
    const struct sink_request *request = &files->sink.request;
    const struct ts_axis *axis = request->volumes;
    if (!axis)
        return;
    const int64_t volume = z / request->image->axes[0].n;
    const double place = ts_axis_position(axis, volume);
    ts_dicom_put_text(header, 0x00200100, "IS", "%lld", (long long)volume + 1);
    ts_dicom_put_text(header, 0x00200105, "IS", "%lld", (long long)axis->n);
    if (axis->kind == TS_AXIS_ECHO) {
        put_decimals(header, 0x00180081, &place, 1);
        ts_dicom_put_text(header, 0x00180086, "IS", "%lld", (long long)volume + 1);
    } else if (axis->kind == TS_AXIS_B) {
        const struct source_attribute *gradients = ts_sink_fact(request, DICOM_GRADIENTS);
        const bool known = gradients && gradients->n % axis->n == 0;
        const double *direction =
            known ? gradients->numbers + volume * (gradients->n / axis->n) * gradients->columns
                  : NULL;
        put_doubles(header, 0x00189087, &place, 1);
        if (known && (direction[0] != 0 || direction[1] != 0 || direction[2] != 0))
            put_doubles(header, 0x00189089, direction, 3);
    } else if (!strcmp(axis->unit, "s")) {
        put_doubles(header, 0x0020930D, &place, 1);
    }
}

static void put_pixel_module(struct dicom_header *header, const struct dicom_files *files)
{
    const struct ts_image *image = &files->sink.image;
    const double spacing[2] = {ts_axis_spacing(&image->axes[1]), ts_axis_spacing(&image->axes[2])};
    const double width = files->window.high - files->window.low,
                 center = (files->window.high + files->window.low) / 2;
    ts_dicom_put_short(header, 0x00280002, 1);
    ts_dicom_put_text(header, 0x00280004, "CS", "MONOCHROME2");
    ts_dicom_put_short(header, 0x00280010, (uint32_t)image->axes[1].n);
    ts_dicom_put_short(header, 0x00280011, (uint32_t)image->axes[2].n);
    put_decimals(header, 0x00280030, spacing, 2);
    ts_dicom_put_short(header, 0x00280100, 16);
    ts_dicom_put_short(header, 0x00280101, 16);
    ts_dicom_put_short(header, 0x00280102, 15);
    ts_dicom_put_short(header, 0x00280103, files->is_signed);
    if (files->has_padding) {
        ts_dicom_put_element(header, 0x00280120, files->is_signed ? "SS" : "US", 2);
        ts_dicom_put_number(header, (uint32_t)files->padding, 2);
    }
    put_decimals(header, 0x00281050, &center, 1);
    put_decimals(header, 0x00281051, &width, 1);
    put_decimals(header, 0x00281052, &files->intercept, 1);
    put_decimals(header, 0x00281053, &files->slope, 1);
    if (files->object != DICOM_PT)
        ts_dicom_put_text(header, 0x00281054, "LO", "%s", image->quantity == TS_HU ? "HU" : "US");
    if (width < 1) /* the usual function allows no smaller width */
        ts_dicom_put_text(header, 0x00281056, "CS", "LINEAR_EXACT");
}

/* Returns the units of PET values: those of the input, if the values still have its unit. */
static const char *pet_units(const struct dicom_files *files)
{
    const struct sink_request *request = &files->sink.request;
    const char *units = ts_sink_attribute(request, "pixel_units");
    const struct source_attribute *fact = ts_sink_fact(request, "pixel_units");
    return units && *units && ts_sink_holds(request, fact) && strlen(units) <= LONGEST_CODE
               ? units
               : "NONE";
}

/* Puts the time of the image from the date and time of the series, which are dummies. If the input
   states none, it is the time of the image's volume, or 0 in a series without times. */
static void put_frame_reference(struct dicom_header *header, const struct dicom_files *files,
                                int64_t z)
{
    const struct ts_axis *volumes = files->sink.request.volumes;
    const bool timed = volumes && volumes->kind == TS_AXIS_TIME && !strcmp(volumes->unit, "s");
    const double time_ms =
        timed ? 1e3 * ts_axis_position(volumes, z / files->sink.image.axes[0].n) : 0;
    double stated;
    const struct source_attribute *fact =
        ts_sink_fact(&files->sink.request, "frame_reference_time");
    if (!fact || !fact->numbers || !ts_sink_number(&files->sink.request, fact, z, &stated))
        put_decimals(header, 0x00541300, &time_ms, 1);
}

const char *ts_dicom_lacks_of_pet(const struct sink_request *request)
{
    static const char *const facts[] = {"decay_correction", "counts_source"};
    const char *modality = ts_sink_attribute(request, "modality");
    char text[2][TEXT_BYTES];
    double factor;
    if (!modality || strcmp(modality, "PT") != 0)
        return NULL;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const struct source_attribute *fact = ts_sink_fact(request, facts[i]);
        if (!fact || !ts_sink_text(fact, text[i], sizeof text[i]) || !*text[i])
            return i == 0 ? "a PET image must state its Decay Correction, which the input does not"
                          : "a PET image must state its Counts Source, which the input does not";
    }
    const struct source_attribute *fact = ts_sink_fact(request, "decay_factor");
    return !strcmp(text[0], "NONE") ||
                   (fact && fact->numbers && ts_sink_number(request, fact, 0, &factor))
               ? NULL
               : "a PET image whose decay was corrected must state its Decay Factor, which is not "
                 "known of its slices";
}

/* Puts the date, which a PET series must have: the known one, else 1900-01-01 as a dummy (PS3.15,
   action D). */
static void put_pet(struct dicom_header *header, const struct dicom_files *files, int64_t z)
{
    static const uint32_t sequences[] = {0x00540016, 0x00540410, 0x00540414};
    const struct sink_request *request = &files->sink.request;
    const char *date = ts_sink_attribute(request, "acquisition_date");
    const int64_t slices = files->sink.image.axes[0].n;
    char type[TEXT_BYTES] = "";
    const char *stated = ts_sink_attribute(request, "pet_series_type");
    if (stated)
        (void)ts_sink_known_text(stated, type, sizeof type);
    ts_dicom_put_text(header, 0x00080021, "DA", "%s",
                      date && strlen(date) == 8 ? date : "19000101");
    ts_dicom_put_text(header, 0x00080031, "TM", "000000");
    put_empty(header, 0x00080032, "TM");
    put_empty(header, 0x00181181, "CS");
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++)
        ts_dicom_put_element(header, sequences[i], "SQ", 0);
    ts_dicom_put_short(header, 0x00540081, (uint32_t)slices);
    if (request->volumes)
        ts_dicom_put_short(header, 0x00540101, (uint32_t)request->volumes->n);
    const char *of_time = !strncmp(type, "WHOLE BODY", 10) ? "WHOLE BODY" : "STATIC";
    ts_dicom_put_text(header, 0x00541000, "CS", "%s\\IMAGE",
                      request->volumes ? "DYNAMIC" : of_time);
    const char *units = pet_units(files), *by = ts_sink_attribute(request, "suv_type");
    ts_dicom_put_text(header, 0x00541001, "CS", "%s", units);
    if (by && *by && (!strcmp(units, "GML") || !strcmp(units, "CM2ML")))
        ts_dicom_put_text(header, 0x00541006, "CS", "%s", by);
    put_frame_reference(header, files, z);
    ts_dicom_put_short(header, 0x00541330, (uint32_t)(z + 1));
}

void ts_dicom_make_header(const struct dicom_files *files, int64_t z, struct dicom_header *header)
{
    put_object(header, files, z); /* puts the meta information as well */
    put_identity(header, files);
    put_laterality(header, files);
    put_place(header, files, z);
    put_volume(header, files, z);
    put_facts(header, files, z);
    put_pixel_module(header, files);
    if (files->object == DICOM_PT)
        put_pet(header, files, z);
    ts_dicom_sort(header);
}
