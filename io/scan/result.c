/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens an image of a result as a source, as io/hdf5/hdf5_image.c writes it: the NXdata group
 * /entry/NAME has its axes, units, quantity, geometry and beam, so that a run goes on as if there
 * had been one chain. Evenly spaced axes keep their spacing in an attribute, since rounded
 * positions would not give it exactly. The whole file is checked against its digests before
 * anything of it is used, because outputs record its digest as their origin, and must not do so for
 * a file that was edited. That reads the file once more, with all processors.
 */
#include "io/scan/result.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/description.h"
#include "io/dicom/dicom_metadata.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_series/dicom_lossy.h"
#include "io/file/result_check.h"
#include "io/hdf5/hdf5_verify.h"
#include "io/scan/projections.h"
#include "io/source/source_slices.h"

/* ---- facts of the input ---------------------------------------------------------------------- */

/* The file has a group for each input (pipeline/run/provenance.c). The one called `input` is taken,
 * else the first that has a modality. Of its fields those are read that io/dicom/ may have written,
 * by the same table, so that nothing else of a file reaches an output. Whoever edits a file can
 * compute its digests anew, so that texts are held against the same lists as those of a header, and
 * outputs say that the identity was removed. Numbers of slices hold as long as the image has the
 * positions of the input. */

enum { TEXT_BYTES = 512, MOST_NUMBERS = 1 << 22, VECTOR = 3 };

/* dicom_metadata.c and dicom.c add these to the rows of the table; they concern more than one
 * reading. */
static const struct source_attribute more[] = {
    {.name = DICOM_GRADIENTS, .key = "DiffusionGradientOrientation", .columns = VECTOR},
    {.name = DICOM_SLICE_TIMES, .key = "SliceTiming", .unit = "s", .n = 1},
    {.name = "acquisition_time_offset", .key = "AcquisitionTimeOffset", .unit = "s", .n = 1},
    {.name = DICOM_PHASE_POLARITY},
    {.name = DICOM_COMPONENT, .key = "ComplexImageComponent"},
    {.name = "burned_in_annotation"},
    {.name = "pixels_masked"},
    {.name = "lossy_image_compression"},
    {.name = "lossy_image_compression_method"},
    {.name = "lossy_image_compression_ratio"},
    {.name = "suv_type"},
    {.name = "deidentification_method"},
    {.name = "deidentification_codes"},
    {.name = "longitudinal_temporal_information_modified"},
    {.name = "contains_phi"}};

/* These are the values of the texts above, without those of a lossy compression. */
static const char *const words[] = {"YES",         "NO",        "UNKNOWN",    "POSITIVE",
                                    "NEGATIVE",    "MAGNITUDE", "PHASE",      "REAL",
                                    "IMAGINARY",   "01",        "113100",     "113107",
                                    "REMOVED",     "MODIFIED",  "UNMODIFIED", DICOM_DEIDENTIFIED,
                                    "BSA",         "BW",        "IBW",        "LBM",
                                    "LBMJAMES128", "LBMJANMA",  DICOM_MIXED,  NULL};

struct facts {
    struct projections *projections;
    const struct ts_image *image;
    struct hdf5_ref group;
    int64_t volumes;
    bool same_slices; /* the image has the slices of the input */
    bool keep,
        moved; /* the file says that it keeps the identity; that a key replaced UIDs and dates */
};

static enum ts_status find_text(struct facts *facts, const char *name, char text[TEXT_BYTES])
{
    struct hdf5_input *input = &facts->projections->input;
    struct hdf5_ref dataset;
    *text = '\0';
    enum ts_status status = ts_hdf5_input_find(input, &facts->group, name, &dataset);
    if (status == TS_OK && dataset.kind != FINDER_NONE)
        status = ts_hdf5_input_text(input, &dataset, NULL, text, TEXT_BYTES);
    ts_hdf5_input_release(input, &dataset);
    for (char *c = text; *c; c++)
        *c = *c < 0x20 || *c > 0x7E ? '?' : *c;
    return status;
}

/* Chooses the group of the input. Its kind is FINDER_NONE if the file has none. */
static enum ts_status find_group(struct facts *facts)
{
    struct hdf5_input *input = &facts->projections->input;
    struct hdf5_ref inputs;
    struct hdf5_name *names = NULL;
    size_t n = 0;
    enum ts_status status = ts_hdf5_input_find_root(input, "/entry/inputs", &inputs);
    facts->group = (struct hdf5_ref){.kind = FINDER_NONE};
    if (status != TS_OK || inputs.kind == FINDER_NONE)
        return status;
    status = ts_hdf5_input_find(input, &inputs, "input", &facts->group);
    if (status == TS_OK && facts->group.kind == FINDER_NONE)
        status = ts_hdf5_input_names(input, &inputs, &names, &n);
    for (size_t i = 0; i < n && status == TS_OK; i++) {
        char modality[TEXT_BYTES] = "";
        status = ts_hdf5_input_find(input, &inputs, names[i].name, &facts->group);
        if (status == TS_OK &&
            (ts_hdf5_input_is_class(&facts->group, "NXparameters") ||
             ts_hdf5_input_is_class(&facts->group, "NXcollection"))) /* of older results */
            status = find_text(facts, "modality", modality);
        if (*modality)
            break;
        ts_hdf5_input_release(input, &facts->group);
        facts->group = (struct hdf5_ref){.kind = FINDER_NONE};
    }
    return status;
}

/* Finds out if the slices of the image are at the places of the input's slices. */
static enum ts_status compare_slices(struct facts *facts)
{
    const struct ts_image *image = facts->image;
    const double tolerance_mm = 1e-3;
    double *places;
    int64_t n;
    const enum ts_status status =
        ts_hdf5_stack_vectors(&facts->projections->input, &facts->group, "slice_position", VECTOR,
                              MOST_NUMBERS, &places, &n);
    facts->same_slices = status == TS_OK && places && n == facts->volumes * image->axes[0].n;
    for (int64_t z = 0; facts->same_slices && image->has_geometry && z < image->axes[0].n; z++)
        for (int i = 0; i < VECTOR; i++) {
            const double *normal = image->direction + 6, *place = places + VECTOR * z;
            double along = 0;
            for (int k = 0; k < VECTOR; k++)
                along +=
                    normal[k] * (place[k] - image->origin_mm[k] - (double)z * image->step_z_mm[k]);
            facts->same_slices &= fabs(along) <= tolerance_mm;
        }
    return status;
}

/* Returns true if all slices of each volume have one value. */
static bool is_of_volumes(const struct facts *facts, const double *numbers, int64_t n,
                          int64_t columns)
{
    if (n % facts->volumes != 0)
        return false;
    const int64_t each = n / facts->volumes * columns;
    for (int64_t i = 0; i < n * columns; i++) {
        const double first = numbers[i / each * each + i % columns];
        if (numbers[i] != first && !(isnan(numbers[i]) && isnan(first)))
            return false;
    }
    return true;
}

static enum ts_status result_add(struct facts *facts, struct source_attribute fact)
{
    struct projections *projections = facts->projections;
    if (projections->n_attributes < PROJECTIONS_ATTRIBUTES)
        projections->attributes[projections->n_attributes++] = fact;
    return TS_OK;
}

static enum ts_status add_number_facts(struct facts *facts, enum dicom_field field,
                                       struct source_attribute fact)
{
    double *numbers;
    int64_t n;
    const int64_t columns = fact.columns > 0 ? fact.columns : 1;
    const enum ts_status status = ts_hdf5_stack_vectors(
        &facts->projections->input, &facts->group, fact.name, columns, MOST_NUMBERS, &numbers, &n);
    if (status != TS_OK || !numbers || n < 1)
        return status;
    for (int64_t i = 0; i < n * columns && field < DICOM_FIELDS; i++)
        numbers[i] = ts_dicom_field_believed(field, numbers[i]);
    if (n > 1 && !facts->same_slices && !is_of_volumes(facts, numbers, n, columns))
        return TS_OK;
    fact.value = "";
    fact.numbers = numbers;
    fact.n = n;
    fact.unit = fact.unit ? fact.unit : "";
    return result_add(facts, fact);
}

/* Reads from the file what was done with the identity, which decides about its texts. */
static enum ts_status read_identity(struct facts *facts)
{
    const struct hdf5_input *input = &facts->projections->input;
    char text[TEXT_BYTES];
    enum ts_status status = find_text(facts, "contains_phi", text);
    facts->keep = !strcmp(text, "YES");
    if (status == TS_OK)
        status = find_text(facts, "longitudinal_temporal_information_modified", text);
    facts->moved = !strcmp(text, "MODIFIED");
    if (status == TS_OK && facts->keep)
        ts_diag_warning(input->diag, &(struct diag_site){.code = "result-identity"},
                        "'%s' keeps texts, UIDs and dates that lead to a patient, and so do "
                        "outputs that are made of it",
                        input->path);
    return status;
}

/* Writes what may be taken of a text of a header; "" if nothing may. */
static void allow_field(const struct facts *facts, enum dicom_field field, const char *text,
                        char out[TEXT_BYTES])
{
    const enum dicom_field_kind kind = ts_dicom_fields[field].kind;
    const bool replaced =
        facts->moved && ((kind == DICOM_FIELD_UID && ts_dicom_is_replaced_uid(text)) ||
                         (kind == DICOM_FIELD_DATE && ts_dicom_is_date(text)));
    if (!ts_dicom_allow_code(field, text, out, TEXT_BYTES))
        snprintf(out, TEXT_BYTES, "%s", facts->keep || replaced ? text : "");
}

/* Writes what may be taken of one of the other texts. */
static void allow_word(const char *name, const char *text, char out[TEXT_BYTES])
{
    if (strcmp(text, DICOM_MIXED) != 0 && !strcmp(name, "lossy_image_compression_method"))
        snprintf(out, TEXT_BYTES, "%s", ts_dicom_lossy_method(text));
    else if (strcmp(text, DICOM_MIXED) != 0 && !strcmp(name, "lossy_image_compression_ratio"))
        snprintf(out, TEXT_BYTES, "%s", ts_dicom_lossy_ratio(text));
    else
        ts_dicom_keep_known(words, text, out, TEXT_BYTES);
}

/* Adds a text; its field is DICOM_FIELDS if it is none of the table. */
static enum ts_status add_text_fact(struct facts *facts, enum dicom_field field,
                                    struct source_attribute fact)
{
    char text[TEXT_BYTES], allowed[TEXT_BYTES] = "";
    const enum ts_status status = find_text(facts, fact.name, text);
    if (status == TS_OK && *text && field < DICOM_FIELDS)
        allow_field(facts, field, text, allowed);
    else if (status == TS_OK && *text)
        allow_word(fact.name, text, allowed);
    if (!*allowed)
        return status;
    fact.value = ts_arena_text(facts->projections->arena, allowed, strlen(allowed));
    return fact.value ? result_add(facts, fact)
                      : ts_diag_no_memory(facts->projections->input.diag, sizeof text);
}

/* Adds the facts of the result's first input to the attributes of the source: the fields that a
 * DICOM input can have. So an image that is read again, or exported, is still that of a CT or MR
 * with its settings. Numbers of slices are left out if the image does not have the slices that they
 * count. A fact that is damaged or of another kind is an error of the file. */
static enum ts_status read_facts(struct projections *projections, const struct ts_image *image)
{
    const int64_t volumes = projections->stack.n_volumes;
    struct facts facts = {
        .projections = projections, .image = image, .volumes = volumes > 1 ? volumes : 1};
    enum ts_status status = find_group(&facts);
    if (status != TS_OK || facts.group.kind == FINDER_NONE)
        return status;
    status = read_identity(&facts);
    if (status == TS_OK)
        status = compare_slices(&facts);
    for (int i = 0; i < DICOM_FIELDS && status == TS_OK; i++) {
        const struct dicom_field_row *row = &ts_dicom_fields[i];
        const struct source_attribute fact = {
            .name = row->name, .unit = row->unit, .key = row->key, .key_scale = row->scale};
        if (row->kind != DICOM_FIELD_HIDDEN)
            status = ts_dicom_field_is_number((enum dicom_field)i)
                         ? add_number_facts(&facts, (enum dicom_field)i, fact)
                         : add_text_fact(&facts, (enum dicom_field)i, fact);
    }
    for (size_t i = 0; i < sizeof more / sizeof *more && status == TS_OK; i++) {
        struct source_attribute fact = more[i];
        fact.key_scale = 1;
        status = fact.n > 0 || fact.columns > 0 ? add_number_facts(&facts, DICOM_FIELDS, fact)
                                                : add_text_fact(&facts, DICOM_FIELDS, fact);
    }
    ts_hdf5_input_release(&projections->input, &facts.group);
    return status;
}

/* ---- the format ------------------------------------------------------------------------------ */

enum { IMAGE_NAME_BYTES = 256 };

static const struct param result_params[] = {
    PARAM(struct result_params, result, .required = true, .unit = "",
          .doc = "the HDF5 file that a run wrote"),
    PARAM(struct result_params, image, .unit = "", .init.text = "data",
          .doc = "name of the image in the file: what `save` called it, or data, the last one"),
    PADDING_PARAM(struct result_params, "that the file's pixel_mask marks"),
    TAKE_PARAM(struct result_params),
    SLICES_PARAM(struct result_params),
};

/* Reads a text attribute into the arena; it is "" if there is none. */
static enum ts_status get_text(const struct hdf5_input *input, const struct hdf5_ref *object,
                               const char *name, const char **out)
{
    char text[IMAGE_NAME_BYTES];
    const enum ts_status status = ts_hdf5_input_text(input, object, name, text, sizeof text);
    *out = ts_arena_text(input->arena, text, strlen(text));
    return status == TS_OK && !*out ? ts_diag_no_memory(input->diag, sizeof text) : status;
}

static enum ts_status unlike(struct projections *projections, const char *what)
{
    return ts_hdf5_input_refuse(&projections->input, "result-image", "%s: %s",
                                projections->stack.name, what);
}

/* ---- the description in the group ------------------------------------------------------------ */

/* An even axis was written as first + i * spacing. */
static bool is_even(const double *positions, int64_t n, double spacing)
{
    bool even = true;
    for (int64_t i = 0; i < n && even; i++)
        even = fabs(positions[i] - (positions[0] + (double)i * spacing)) <=
               1e-6 * fabs(spacing) + 1e-12 * fabs(positions[0]);
    return even;
}

static enum ts_status take_positions(struct projections *projections, const char *name,
                                     const double *positions, int64_t n, struct ts_axis *axis)
{
    if (n != axis->n)
        return ts_hdf5_input_refuse(&projections->input, "result-image",
                                    "%s has %" PRId64 " positions along %s, expected %" PRId64,
                                    projections->stack.name, n, name, axis->n);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(positions[i]))
            return unlike(projections, "an axis has positions that are not finite");
    if (axis->positions)
        return TS_OK;
    if ((axis->spacing == 0 && n > 1) || !is_even(positions, n, axis->spacing))
        return ts_hdf5_input_refuse(
            &projections->input, "result-spacing",
            "%s: the spacing along %s is %g, and its positions say otherwise",
            projections->stack.name, name, axis->spacing);
    axis->first = positions[0];
    return TS_OK;
}

/* If an image has no place in the patient, y decreases with the row in present files, and positions
   of an image increase with its index; in older files y increases, and stays. */
static void turn_y(double *positions, int64_t n, double *spacing)
{
    if (!(*spacing < 0 || (*spacing == 0 && n > 1 && positions[n - 1] < positions[0])))
        return;
    *spacing = 0 - *spacing;
    for (int64_t i = 0; i < n; i++)
        positions[i] = 0 - positions[i];
}

static enum ts_status read_axis(struct projections *projections, const struct hdf5_ref *group,
                                enum ts_axis_kind kind, const char *name, int64_t n_samples,
                                struct ts_axis *axis)
{
    struct hdf5_input *input = &projections->input;
    struct hdf5_ref dataset;
    double *positions = NULL, spacing = 0, first = 0;
    int64_t n = 0;
    int found = 0, placed = 0;
    enum ts_status status = ts_hdf5_input_find(input, group, name, &dataset);
    if (status == TS_OK && dataset.kind == FINDER_NONE)
        status = unlike(projections, "an axis has no positions");
    if (status != TS_OK)
        return status;
    *axis =
        (struct ts_axis){.kind = kind, .n = n_samples, .name = kind == TS_AXIS_ITEM ? name : NULL};
    status = get_text(input, &dataset, "units", &axis->unit);
    if (status == TS_OK)
        status = ts_hdf5_input_numbers(input, &dataset, "spacing", 1, &spacing, &found);
    if (status == TS_OK)
        status = ts_hdf5_input_numbers(input, &dataset, "first", 1, &first, &placed);
    if (status == TS_OK)
        status = ts_hdf5_stack_list(input, &dataset, name, 1 << 20, &positions, &n);
    if (status == TS_OK && placed <= 0 && kind == TS_AXIS_Y)
        turn_y(positions, n, &spacing);
    axis->spacing = spacing;
    axis->positions = found > 0 || (placed > 0 && n == 1) ? NULL : positions;
    if (status == TS_OK)
        status = take_positions(projections, name, positions, n, axis);
    if (status == TS_OK && placed > 0) { /* the positions are those in the patient */
        axis->first = first;
        axis->spacing = fabs(spacing);
    }
    return status;
}

/* Reads the axis of several volumes, which is before the others. */
static enum ts_status read_volume_axis(struct projections *projections,
                                       const struct hdf5_ref *group)
{
    for (enum ts_axis_kind kind = TS_AXIS_TIME; kind <= TS_AXIS_B; kind++) {
        double index = -1;
        int found;
        char name[32];
        snprintf(name, sizeof name, "%s_indices", ts_axis_kind_name(kind));
        const enum ts_status status =
            ts_hdf5_input_numbers(&projections->input, group, name, 1, &index, &found);
        if (status != TS_OK)
            return status;
        if (found > 0 && index == 0)
            return read_axis(projections, group, kind, ts_axis_kind_name(kind),
                             projections->stack.n_volumes, &projections->volume_axis);
    }
    const char *sweep;
    const enum ts_status status = get_text(&projections->input, group, "sweep", &sweep);
    if (status == TS_OK && !*sweep)
        return unlike(projections,
                      "its first axis is neither time nor echo nor b, nor that of a sweep");
    return status == TS_OK ? read_axis(projections, group, TS_AXIS_ITEM, sweep,
                                       projections->stack.n_volumes, &projections->volume_axis)
                           : status;
}

static enum ts_status read_axes(struct projections *projections, const struct hdf5_ref *group,
                                struct ts_image *image)
{
    static const enum ts_axis_kind kinds[2][3] = {{TS_AXIS_Z, TS_AXIS_Y, TS_AXIS_X},
                                                  {TS_AXIS_Z, TS_AXIS_VIEW, TS_AXIS_DETECTOR}};
    const struct hdf5_input *input = &projections->input;
    double index = -1;
    int found;
    enum ts_status status =
        ts_hdf5_input_numbers(input, group, "detector_indices", 1, &index, &found);
    const bool sinogram = found >= 0;
    const int64_t n_volumes = projections->stack.n_volumes;
    projections->volume = status == TS_OK && !sinogram;
    image->rank = 3;
    for (int d = 0; d < 3 && status == TS_OK; d++) {
        const enum ts_axis_kind kind = kinds[sinogram][d];
        char name[32];
        snprintf(name, sizeof name, "%s_indices", ts_axis_kind_name(kind));
        status = ts_hdf5_input_numbers(input, group, name, 1, &index, &found);
        if (status == TS_OK && (found < 1 || index != d + (n_volumes > 1)))
            status =
                unlike(projections, "its axes are neither z, y and x nor z, view and detector");
        if (status == TS_OK)
            status = read_axis(projections, group, kind, ts_axis_kind_name(kind),
                               projections->stack.n[d] / (d == 0 ? n_volumes : 1), &image->axes[d]);
    }
    return status == TS_OK && n_volumes > 1 ? read_volume_axis(projections, group) : status;
}

static enum ts_status read_quantity(struct projections *projections, struct ts_image *image)
{
    const char *quantity, *labels;
    enum ts_status status =
        get_text(&projections->input, &projections->stack.dataset, "quantity", &quantity);
    if (status == TS_OK)
        status = get_text(&projections->input, &projections->stack.dataset, "units", &image->unit);
    if (status == TS_OK)
        status = get_text(&projections->input, &projections->stack.dataset, "labels", &labels);
    if (status != TS_OK)
        return status;
    if (!strcmp(labels, "mask"))
        image->labels = 1;
    else
        image->labels = *labels ? 2 : 0;
    for (int i = TS_COUNTS; i <= TS_INTENSITY; i++)
        if (!strcmp(quantity, ts_quantity_name((enum ts_quantity)i))) {
            image->quantity = projections->quantity = (enum ts_quantity)i;
            return TS_OK;
        }
    return unlike(projections, "its quantity is not known");
}

/* A sinogram has a beam. The distances of a fan are checked as those of a foreign scan are. */
static enum ts_status read_beam(struct projections *projections, const struct hdf5_ref *group,
                                struct ts_image *image)
{
    const struct hdf5_input *input = &projections->input;
    struct ts_beam *beam = &image->beam;
    const char *name;
    int kind = TS_BEAM_PARALLEL, found = 0;
    if (projections->volume)
        return TS_OK;
    enum ts_status status = get_text(input, group, "beam", &name);
    if (status != TS_OK)
        return status;
    while (kind <= TS_BEAM_FAN_FLAT && strcmp(name, ts_beam_name((enum ts_beam_kind)kind)))
        kind++;
    if (kind > TS_BEAM_FAN_FLAT)
        return unlike(projections, "its beam is not known");
    beam->kind = (enum ts_beam_kind)kind;
    if (beam->kind == TS_BEAM_PARALLEL)
        return TS_OK;
    status =
        ts_hdf5_input_numbers(input, group, "source_axis_mm", 1, &beam->source_axis_mm, &found);
    if (status == TS_OK && found > 0)
        status = ts_hdf5_input_numbers(input, group, "source_detector_mm", 1,
                                       &beam->source_detector_mm, &found);
    if (status != TS_OK)
        return status;
    const char *wrong =
        found > 0 ? ts_beam_wrong(beam, &image->axes[2]) : "its source has no distances";
    return wrong ? unlike(projections, wrong) : TS_OK;
}

/* The geometry must be complete or absent. */
static enum ts_status read_geometry(struct projections *projections, const struct hdf5_ref *group,
                                    struct ts_image *image)
{
    const struct {
        const char *name;
        int n;
        double *values;
    } parts[] = {{"origin_mm", 3, image->origin_mm},
                 {"direction", 9, image->direction},
                 {"step_z_mm", 3, image->step_z_mm}};
    int n_there = 0, n_found = 0;
    for (int i = 0; i < 3; i++) {
        int found;
        const enum ts_status status = ts_hdf5_input_numbers(
            &projections->input, group, parts[i].name, parts[i].n, parts[i].values, &found);
        if (status != TS_OK)
            return status;
        n_there += found >= 0;
        n_found += found > 0;
    }
    image->has_geometry = n_found == 3;
    return n_there > 0 && n_found < 3
               ? ts_hdf5_input_refuse(
                     &projections->input, "result-geometry",
                     "%s: its geometry is not complete or has numbers that are not finite",
                     projections->stack.name)
               : TS_OK;
}

static enum ts_status check_sense(struct projections *projections, const struct ts_image *image)
{
    const char *code, *wrong = ts_result_wrong(image, &code);
    return wrong ? ts_hdf5_input_refuse(&projections->input, code, "%s: %s",
                                        projections->stack.name, wrong)
                 : TS_OK;
}

/* ---- the image ------------------------------------------------------------------------------- */

/* A file of this program has a digest, and a mark that it is complete, which was written last of
 * all. */
static enum ts_status check_file(struct projections *projections)
{
    struct hdf5_input *input = &projections->input;
    const struct hdf5_ref *root = &input->files[0].root;
    char digest[80];
    double complete = 0;
    int found = 0;
    enum ts_status status = ts_hdf5_input_text(input, root, "digest", digest, sizeof digest);
    if (status == TS_OK)
        status = ts_hdf5_input_numbers(input, root, "complete", 1, &complete, &found);
    if (status != TS_OK)
        return status;
    if (strlen(digest) != 64 || found < 0) {
        ts_hdf5_input_refuse(input, "result-foreign", "this file was not written by tomostage");
        return ts_diag_hint(
            input->diag,
            "hdf5: FILE with path and axes reads any dataset; nexus and exchange read scans");
    }
    if (found < 1 || complete != 1)
        return ts_hdf5_input_refuse(input, "result-incomplete",
                                    "the file is not complete: its run did not end");
    return ts_projections_attribute(projections, "digest", "%s", digest);
}

/* Refuses the file, and lists the images that there are. */
static enum ts_status no_image(struct projections *projections, const char *wanted)
{
    struct hdf5_input *input = &projections->input;
    char shown[IMAGE_NAME_BYTES], list[1024] = "";
    struct hdf5_name *names = NULL;
    size_t n = 0;
    struct hdf5_ref entry, group;
    enum ts_status status = ts_hdf5_input_find_root(input, "/entry", &entry);
    if (status == TS_OK && entry.kind != FINDER_NONE)
        status = ts_hdf5_input_names(input, &entry, &names, &n);
    for (size_t i = 0; i < n && status == TS_OK; i++) {
        const size_t length = strlen(list);
        status = ts_hdf5_input_find(input, &entry, names[i].name, &group);
        ts_text_escape(shown, sizeof shown, names[i].name);
        if (status == TS_OK && ts_hdf5_input_is_class(&group, "NXdata"))
            snprintf(list + length, sizeof list - length, "%s%s", length > 0 ? ", " : "", shown);
        ts_hdf5_input_release(input, &group);
    }
    ts_text_escape(shown, sizeof shown, wanted);
    return status == TS_OK
               ? ts_hdf5_input_refuse(input, "result-no-image", "there is no image '%s'; it has %s",
                                      shown, *list ? list : "none")
               : status;
}

static enum ts_status result_describe(struct projections *projections, const struct hdf5_ref *group)
{
    struct ts_image *image = ts_arena_alloc(projections->arena, sizeof *image);
    if (!image)
        return ts_diag_no_memory(projections->input.diag, sizeof *image);
    *image = (struct ts_image){.dtype = projections->stack.dtype};
    enum ts_status status = read_axes(projections, group, image);
    if (status == TS_OK)
        status = read_quantity(projections, image);
    if (status == TS_OK)
        status = read_beam(projections, group, image);
    if (status == TS_OK)
        status = read_geometry(projections, group, image);
    projections->described = image;
    return status == TS_OK ? check_sense(projections, image) : status;
}

/* Opens the mask that a run writes beside an image some of whose pixels are invalid. */
static enum ts_status open_mask(struct projections *projections, const struct hdf5_ref *group)
{
    struct hdf5_stack *mask = &projections->mask;
    struct hdf5_ref dataset = {0};
    enum ts_status status = ts_hdf5_input_find(&projections->input, group, "pixel_mask", &dataset);
    if (status != TS_OK || dataset.kind == FINDER_NONE)
        return status;
    status = ts_hdf5_stack_open(&projections->input, &dataset, "pixel_mask", TS_MAX_RANK, mask);
    if (status == TS_OK &&
        (mask->dtype != TS_U8 || memcmp(mask->n, projections->stack.n, sizeof mask->n) != 0 ||
         mask->n_volumes != projections->stack.n_volumes))
        status = unlike(projections, "its pixel_mask has another shape, or is not of u8");
    return status;
}

static enum ts_status find_all(struct projections *projections, const struct param_set *set)
{
    const struct result_params *params = set->values;
    struct hdf5_input *input = &projections->input;
    char path[IMAGE_NAME_BYTES + 16];
    struct hdf5_ref group = {0}, dataset = {0};
    enum ts_status status = check_file(projections);
    if (status != TS_OK)
        return status;
    snprintf(path, sizeof path, "/entry/%.255s", params->image);
    if (*params->image && !strchr(params->image, '/') && strlen(params->image) < IMAGE_NAME_BYTES)
        status = ts_hdf5_input_find_root(input, path, &group);
    if (status == TS_OK && ts_hdf5_input_is_class(&group, "NXdata"))
        status = ts_hdf5_input_find(input, &group, "data", &dataset);
    const char *name = ts_arena_text(projections->arena, path, strlen(path));
    if (status == TS_OK && dataset.kind == FINDER_NONE)
        status = no_image(projections, params->image);
    if (status == TS_OK && !name)
        status = ts_diag_no_memory(input->diag, sizeof path);
    if (status == TS_OK)
        status = ts_hdf5_stack_open(input, &dataset, name, TS_MAX_RANK, &projections->stack);
    for (int d = 0; d < 3; d++)
        projections->order[d] = d;
    projections->n_views = projections->stack.n[1];
    if (status == TS_OK)
        status = result_describe(projections, &group);
    projections->padding = (enum source_padding)params->padding;
    if (status == TS_OK)
        status = open_mask(projections, &group);
    if (status == TS_OK)
        status = read_facts(projections, projections->described);
    if (status == TS_OK)
        status = ts_projections_attribute(projections, "image", "%s", params->image);
    return status == TS_OK && !params->proved
               ? ts_hdf5_verify_open(input->session, input->files[0].fd, input->path, NULL,
                                     input->diag)
               : status;
}

static enum ts_status open_result(const struct param_set *set, struct source **source,
                                  struct ts_diag *diag)
{
    return ts_projections_source(set, find_all, source, diag);
}

static void result_resolve(struct param_set *set, const struct source *source)
{
    ts_source_resolve_padding(set, source);
}

const struct source_format result_format = {
    .name = "result",
    .summary = "an image of a file that a run wrote, with its axes, units, geometry and beam",
    .params = result_params,
    .n_params = sizeof result_params / sizeof result_params[0],
    .params_bytes = sizeof(struct result_params),
    .open = open_result,
    .resolve = result_resolve,
};

enum ts_status ts_result_open(struct sandbox *sandbox, const char *path, const char *image,
                              bool proved, const char *owner, struct source **source,
                              struct ts_diag *diag)
{
    struct result_params params = {0};
    struct param_set set = {.params = result_format.params,
                            .n_params = result_format.n_params,
                            .values = &params,
                            .owner = owner,
                            .sandbox = sandbox};
    ts_params_init(&set);
    params.result = path;
    params.image = image;
    params.proved = proved;
    return ts_source_open(&result_format, &set, source, diag);
}
