/* SPDX-License-Identifier: Apache-2.0
 *
 * The file has a group for each input (pipeline/run/provenance.c). The one called `input` is taken, else the first that
 * has a modality. Of its fields those are read that io/dicom/ may have written, by the same table, so that nothing else
 * of a file reaches an output. Numbers of slices hold as long as the image has the positions of the input.
 */
#include "io/scan/result_facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/dicom/dicom_metadata.h"
#include "io/dicom_header/dicom_fields.h"

enum { TEXT_BYTES = 512, MOST_NUMBERS = 1 << 22, VECTOR = 3 };

/* What dicom_metadata.c and dicom_record.c add to the rows of the table and concerns more than one reading. */
static const struct source_attribute more[] = {
    {.name = DICOM_GRADIENTS, .key = "DiffusionGradientOrientation", .columns = VECTOR},
    {.name = DICOM_SLICE_TIMES, .key = "SliceTiming", .unit = "s", .n = 1},
    {.name = "acquisition_time_offset", .key = "AcquisitionTimeOffset", .unit = "s", .n = 1},
    {.name = DICOM_PHASE_POLARITY},
    {.name = "burned_in_annotation"},
    {.name = "pixels_masked"},
    {.name = "lossy_image_compression"},
    {.name = "lossy_image_compression_method"},
    {.name = "lossy_image_compression_ratio"},
    {.name = "deidentification_method"},
    {.name = "deidentification_codes"},
    {.name = "longitudinal_temporal_information_modified"},
    {.name = "contains_phi"}};

struct facts {
    struct projections *projections;
    const struct ts_image *image;
    struct hdf5_ref group;
    int64_t volumes;
    bool same_slices; /* the image has the slices of the input */
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
        if (status == TS_OK && ts_hdf5_input_is_class(&facts->group, "NXcollection"))
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

static enum ts_status add_numbers(struct facts *facts, struct source_attribute fact)
{
    double *numbers;
    int64_t n;
    const int64_t columns = fact.columns > 0 ? fact.columns : 1;
    const enum ts_status status = ts_hdf5_stack_vectors(&facts->projections->input, &facts->group, fact.name, columns,
                                                        MOST_NUMBERS, &numbers, &n);
    if (status != TS_OK || !numbers || n < 1)
        return status;
    if (n > 1 && !facts->same_slices && !is_of_volumes(facts, numbers, n, columns))
        return TS_OK;
    fact.value = "";
    fact.numbers = numbers;
    fact.n = n;
    fact.unit = fact.unit ? fact.unit : "";
    return add(facts, fact);
}

static enum ts_status add_text(struct facts *facts, struct source_attribute fact)
{
    char text[TEXT_BYTES];
    const enum ts_status status = find_text(facts, fact.name, text);
    if (status != TS_OK || !*text)
        return status;
    fact.value = ts_arena_text(facts->projections->arena, text, strlen(text));
    return fact.value ? add(facts, fact) : ts_diag_no_memory(facts->projections->input.diag, sizeof text);
}

enum ts_status ts_result_facts(struct projections *projections, const struct ts_image *image)
{
    const int64_t volumes = projections->stack.n_volumes;
    struct facts facts = {.projections = projections, .image = image, .volumes = volumes > 1 ? volumes : 1};
    enum ts_status status = find_group(&facts);
    if (status != TS_OK || facts.group.kind == FINDER_NONE)
        return status;
    status = compare_slices(&facts);
    for (int i = 0; i < DICOM_FIELDS && status == TS_OK; i++) {
        const struct dicom_field_row *row = &ts_dicom_fields[i];
        const struct source_attribute fact = {
            .name = row->name, .unit = row->unit, .key = row->key, .key_scale = row->scale};
        if (row->kind != DICOM_FIELD_HIDDEN)
            status = ts_dicom_field_is_number((enum dicom_field)i) ? add_numbers(&facts, fact) : add_text(&facts, fact);
    }
    for (size_t i = 0; i < sizeof more / sizeof *more && status == TS_OK; i++) {
        struct source_attribute fact = more[i];
        fact.key_scale = 1;
        status = fact.n > 0 || fact.columns > 0 ? add_numbers(&facts, fact) : add_text(&facts, fact);
    }
    ts_hdf5_input_release(&projections->input, &facts.group);
    return status;
}
