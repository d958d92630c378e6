/* SPDX-License-Identifier: Apache-2.0
 *
 * The file has a group for each input (pipeline/run/provenance.c). The one called `input` is taken, else the first that
 * has a modality. Of its fields those are read that io/dicom/ may have written, by the same table, so that nothing else
 * of a file reaches an output. Whoever edits a file can compute its digests anew, so that texts are held against the
 * same lists as those of a header, and outputs say that the identity was removed. Numbers of slices hold as long as the
 * image has the positions of the input.
 */
#include "io/scan/result_facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/dicom/dicom_metadata.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_header/dicom_known.h"
#include "io/dicom_series/dicom_lossy.h"

enum { TEXT_BYTES = 512, MOST_NUMBERS = 1 << 22, VECTOR = 3 };

/* dicom_metadata.c and dicom_record.c add these to the rows of the table; they concern more than one reading. */
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
    {.name = "deidentification_method"},
    {.name = "deidentification_codes"},
    {.name = "longitudinal_temporal_information_modified"},
    {.name = "contains_phi"}};

/* These are the values of the texts above, without those of a lossy compression. */
static const char *const words[] = {
    "YES",    "NO",     "UNKNOWN", "POSITIVE", "NEGATIVE",   "MAGNITUDE",        "PHASE",     "REAL", "IMAGINARY", "01",
    "113100", "113107", "REMOVED", "MODIFIED", "UNMODIFIED", DICOM_DEIDENTIFIED, DICOM_MIXED, NULL};

struct facts {
    struct projections *projections;
    const struct ts_image *image;
    struct hdf5_ref group;
    int64_t volumes;
    bool same_slices; /* the image has the slices of the input */
    bool keep, moved; /* the file says that it keeps the identity; that a key replaced UIDs and dates */
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

/* Chooses the group of the input. Its kind is FINDER_NONE where the file has none. */
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
        if (status == TS_OK && (ts_hdf5_input_is_class(&facts->group, "NXparameters") ||
                                ts_hdf5_input_is_class(&facts->group, "NXcollection"))) /* of older results */
            status = find_text(facts, "modality", modality);
        if (*modality)
            break;
        ts_hdf5_input_release(input, &facts->group);
        facts->group = (struct hdf5_ref){.kind = FINDER_NONE};
    }
    return status;
}

/* Looks whether the image has slices where the input had them. */
static enum ts_status compare_slices(struct facts *facts)
{
    const struct ts_image *image = facts->image;
    const double tolerance_mm = 1e-3;
    double *places;
    int64_t n;
    const enum ts_status status = ts_hdf5_stack_vectors(&facts->projections->input, &facts->group, "slice_position",
                                                        VECTOR, MOST_NUMBERS, &places, &n);
    facts->same_slices = status == TS_OK && places && n == facts->volumes * image->axes[0].n;
    for (int64_t z = 0; facts->same_slices && image->has_geometry && z < image->axes[0].n; z++)
        for (int i = 0; i < VECTOR; i++) {
            const double *normal = image->direction + 6, *place = places + VECTOR * z;
            double along = 0;
            for (int k = 0; k < VECTOR; k++)
                along += normal[k] * (place[k] - image->origin_mm[k] - (double)z * image->step_z_mm[k]);
            facts->same_slices &= fabs(along) <= tolerance_mm;
        }
    return status;
}

/* Returns true where all slices of each volume have one value. */
static bool is_of_volumes(const struct facts *facts, const double *numbers, int64_t n, int64_t columns)
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

static enum ts_status add(struct facts *facts, struct source_attribute fact)
{
    struct projections *projections = facts->projections;
    if (projections->n_attributes < PROJECTIONS_ATTRIBUTES)
        projections->attributes[projections->n_attributes++] = fact;
    return TS_OK;
}

static enum ts_status add_numbers(struct facts *facts, enum dicom_field field, struct source_attribute fact)
{
    double *numbers;
    int64_t n;
    const int64_t columns = fact.columns > 0 ? fact.columns : 1;
    const enum ts_status status = ts_hdf5_stack_vectors(&facts->projections->input, &facts->group, fact.name, columns,
                                                        MOST_NUMBERS, &numbers, &n);
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
    return add(facts, fact);
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
        ts_diag_warning(
            input->diag, &(struct diag_site){.code = "result-identity"},
            "'%s' keeps texts, UIDs and dates that lead to a patient, and so do outputs that are made of it",
            input->path);
    return status;
}

/* Writes what may be taken of a text of a header; "" where nothing may. */
static void allow_field(const struct facts *facts, enum dicom_field field, const char *text, char out[TEXT_BYTES])
{
    const enum dicom_field_kind kind = ts_dicom_fields[field].kind;
    const bool replaced = facts->moved && ((kind == DICOM_FIELD_UID && ts_dicom_is_replaced_uid(text)) ||
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

/* Adds a text; its field is DICOM_FIELDS where it is none of the table. */
static enum ts_status add_text(struct facts *facts, enum dicom_field field, struct source_attribute fact)
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
    return fact.value ? add(facts, fact) : ts_diag_no_memory(facts->projections->input.diag, sizeof text);
}

enum ts_status ts_result_facts(struct projections *projections, const struct ts_image *image)
{
    const int64_t volumes = projections->stack.n_volumes;
    struct facts facts = {.projections = projections, .image = image, .volumes = volumes > 1 ? volumes : 1};
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
            status = ts_dicom_field_is_number((enum dicom_field)i) ? add_numbers(&facts, (enum dicom_field)i, fact)
                                                                   : add_text(&facts, (enum dicom_field)i, fact);
    }
    for (size_t i = 0; i < sizeof more / sizeof *more && status == TS_OK; i++) {
        struct source_attribute fact = more[i];
        fact.key_scale = 1;
        status = fact.n > 0 || fact.columns > 0 ? add_numbers(&facts, DICOM_FIELDS, fact)
                                                : add_text(&facts, DICOM_FIELDS, fact);
    }
    ts_hdf5_input_release(&projections->input, &facts.group);
    return status;
}
