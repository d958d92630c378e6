/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources: NeXus manual, "Associating plottable data"; element_size_um as Fiji and ilastik write
 * it, in the order of the dataset's axes.
 */
#include "io/scan/hdf5_spacing.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/scan/hdf5_source.h"
#include "io/scan/scan_axes.h"
#include "io/scan/scan_field.h"

static const double most_off = 0.01;

/* What the file says of the axes of the image. */
struct said {
    double mm[3]; /* 0: nothing */
    bool uneven;  /* along an axis; that is warned of */
    char by[HDF5_INPUT_PATH + 32];
};

/* Names of datasets that may hold positions, if the file says none for the axis. */
static const char *const usual[2][3][2] = {{{"z", "y"}, {NULL}, {"detector", "x"}},
                                           {{"z"}, {"y"}, {"x"}}};

/* Takes the step of positions that rise or fall evenly. */
static void take_positions(const struct projections *projections, int d, const char *name,
                           const struct scan_field *field, struct said *said)
{
    const struct hdf5_input *input = &projections->input;
    const double *at = field->values, unit = ts_scan_field_mm(field->units);
    const int64_t n = field->n;
    const double step = (at[n - 1] - at[0]) / (double)(n - 1);
    const double rounding = 2e-7 * fmax(fabs(at[0]), fabs(at[n - 1]));
    bool even = step != 0;
    for (int64_t i = 1; i < n; i++)
        even &= fabs(at[i] - at[i - 1] - step) <= most_off * fabs(step) + rounding;
    if (!even) {
        ts_scan_field_warn(input, name, "has steps that differ, and the image has one for all");
        said->uneven = true;
        return;
    }
    if (step < 0 && d != 1) /* y of a volume without a place falls with the row */
        ts_scan_field_warn(input, name,
                           "falls from %.6g to %.6g, and the values are read in their order: the "
                           "image is reversed along this axis",
                           at[0], at[n - 1]);
    said->mm[d] = fabs(step) * unit;
    if (!*said->by)
        snprintf(said->by, sizeof said->by, "%s", name);
}

/* Reads the positions along an axis of the image, if the group has a dataset of as many lengths. */
static enum ts_status read_positions(struct projections *projections, const struct hdf5_ref *group,
                                     int d, const char *name, bool *found, struct said *said)
{
    struct scan_field field;
    const enum ts_status status = ts_scan_field_read(&projections->input, group, name, &field);
    *found = status == TS_OK && field.n > 1 &&
             field.n == projections->stack.n[projections->order[d]] &&
             ts_scan_field_mm(field.units) > 0;
    if (*found)
        take_positions(projections, d, name, &field, said);
    return status;
}

/* Cuts a list of names for the axes of the file into those of the image's axes. */
static void name_axes(const struct projections *projections, char *text, const char *names[3])
{
    const char *cut[3] = {NULL};
    char *rest = NULL;
    int n = 0;
    for (char *name = strtok_r(text, "[]:, ", &rest); name;
         name = strtok_r(NULL, "[]:, ", &rest), n++)
        if (n < 3)
            cut[n] = name;
    for (int d = 0; n == 3 && d < 3; d++)
        names[d] = cut[projections->order[d]];
}

static enum ts_status find_positions(struct projections *projections, const struct hdf5_ref *group,
                                     struct said *said)
{
    enum { MOST_AXES = 8 };
    struct hdf5_input *input = &projections->input;
    const struct hdf5_ref *const objects[3] = {&projections->stack.dataset,
                                               &projections->stack.dataset, group};
    static const char *const attributes[3] = {"axes", "DIMENSION_LABELS", "axes"};
    const struct hdf5_ref *root = &input->files[objects[0]->file].root;
    char texts[3][256];
    const char *names[4][3] = {{NULL}};
    enum ts_status status = TS_OK;
    for (int i = 0; i < 3 && status == TS_OK; i++) {
        status = ts_hdf5_input_texts(input, objects[i], attributes[i], MOST_AXES, texts[i],
                                     sizeof texts[i]);
        if (status == TS_OK)
            name_axes(projections, texts[i], names[i]);
    }
    for (int d = 0; d < 3; d++) {
        bool found = d == 1 && !projections->volume;
        char path[FINDER_NAME] = "";
        if (status == TS_OK && !found)
            status = ts_hdf5_input_scale(input, objects[0], projections->order[d], path);
        if (status == TS_OK && *path)
            status = read_positions(projections, root, d, path, &found, said);
        for (int i = 0; i < 3 && status == TS_OK && !found; i++)
            if (names[i][d])
                status = read_positions(projections, group, d, names[i][d], &found, said);
        for (int i = 0; i < 2 && status == TS_OK && !found; i++)
            if (usual[projections->volume][d][i])
                status = read_positions(projections, group, d, usual[projections->volume][d][i],
                                        &found, said);
    }
    return status;
}

/* Reads an attribute with a length for each axis of the file, or one for all. */
static enum ts_status read_sizes(const struct projections *projections, const char *name,
                                 double sizes[3], bool *found)
{
    double values[3];
    int n = 0;
    *found = false;
    enum ts_status status = ts_hdf5_input_numbers(&projections->input, &projections->stack.dataset,
                                                  name, 3, values, &n);
    if (status == TS_OK && n == 0) {
        status = ts_hdf5_input_numbers(&projections->input, &projections->stack.dataset, name, 1,
                                       values, &n);
        values[1] = values[2] = values[0];
    }
    if (status != TS_OK || n <= 0)
        return status;
    *found = true;
    for (int d = 0; d < 3; d++) {
        sizes[d] = values[projections->order[d]];
        *found &= sizes[d] > 0 || (d == 1 && !projections->volume);
    }
    return status;
}

static enum ts_status find_sizes(const struct projections *projections, struct said *said)
{
    static const struct {
        const char *name;
        double mm;
    } rows[] = {{"element_size_um", 1e-3}, {"element_size_mm", 1}, {"element_size_nm", 1e-6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double sizes[3];
        bool found;
        const enum ts_status status = read_sizes(projections, rows[i].name, sizes, &found);
        if (status != TS_OK)
            return status;
        for (int d = 0; found && d < 3; d++)
            if (!(said->mm[d] > 0))
                said->mm[d] = sizes[d] * rows[i].mm;
        if (found && !*said->by)
            snprintf(said->by, sizeof said->by, "the attribute %s", rows[i].name);
    }
    return TS_OK;
}

/* Writes a list as `spacing` takes it. */
static void write_list(const struct projections *projections, const double mm[3], char *text,
                       size_t size)
{
    if (projections->volume)
        snprintf(text, size, "[%.9g, %.9g, %.9g]", mm[0], mm[1], mm[2]);
    else
        snprintf(text, size, "[%.9g, %.9g]", mm[0], mm[2]);
}

/* Warns of sizes whose unit the file does not say. */
static enum ts_status warn_of_sizes(const struct projections *projections)
{
    static const char *const names[] = {"spacing",    "voxel_size", "voxel_spacing",
                                        "pixel_size", "resolution", "element_size"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double sizes[3];
        bool found;
        char list[128], name[64];
        const enum ts_status status = read_sizes(projections, names[i], sizes, &found);
        if (status != TS_OK)
            return status;
        if (!found || (sizes[0] == 1 && sizes[2] == 1 && (!projections->volume || sizes[1] == 1)))
            continue;
        write_list(projections, sizes, list, sizeof list);
        snprintf(name, sizeof name, "the attribute %s", names[i]);
        ts_scan_field_warn(&projections->input, name,
                           "has no unit that is known, and is not used: lengths are in pixels");
        ts_diag_hint(projections->input.diag,
                     "spacing: %s, if it is in mm and in the order of the file's axes", list);
        return TS_OK;
    }
    return TS_OK;
}

static enum ts_status compare(const struct projections *projections, const struct param_set *set,
                              const double given[3], const struct said *said, bool all)
{
    const struct diag_site site = {
        .code = "pixel-size-differs", .span = set->spans[0], .stage = set->owner};
    static const char *const names[2][3] = {{"z", "", "detector"}, {"z", "y", "x"}};
    struct ts_diag *diag = projections->input.diag;
    char list[128];
    for (int d = 0; d < 3; d++) {
        if (!(said->mm[d] > 0) || (d == 1 && !projections->volume) ||
            fabs(said->mm[d] - given[d]) <= most_off * given[d])
            continue;
        ts_diag_warning(diag, &site,
                        "%s: %s says that neighbors along %s are %.6g mm apart, and `spacing` that "
                        "they are %.6g mm apart: that is taken",
                        projections->input.path, said->by, names[projections->volume][d],
                        said->mm[d], given[d]);
        write_list(projections, said->mm, list, sizeof list);
        if (all)
            ts_diag_hint(diag, "spacing: %s is what the file says", list);
        return TS_OK;
    }
    return TS_OK;
}

enum ts_status ts_hdf5_spacing(struct projections *projections, const struct param_set *set,
                               const struct hdf5_ref *group)
{
    const struct ts_numbers *spacing = &((const struct hdf5_params *)set->values)->spacing;
    const int64_t expected = projections->volume ? 3 : 2;
    struct said said = {0};
    if (spacing->values && (spacing->rows != 1 || spacing->columns != expected))
        return ts_param_error(set, "spacing", "spacing-count", projections->input.diag,
                              "%" PRId64 " numbers, expected %" PRId64,
                              spacing->rows * spacing->columns, expected);
    enum ts_status status = find_positions(projections, group, &said);
    if (status == TS_OK)
        status = find_sizes(projections, &said);
    bool all = true;
    for (int d = 0; d < 3; d++)
        all &= said.mm[d] > 0 || (d == 1 && !projections->volume) ||
               projections->stack.n[projections->order[d]] == 1;
    const double *of = spacing->values;
    const double given[3] = {of ? of[0] : 0, of ? of[1] : 0, of ? of[spacing->columns - 1] : 0};
    const double *mm = of ? given : said.mm;
    if (status == TS_OK && of)
        status = compare(projections, set, given, &said, all);
    else if (status == TS_OK && !all && *said.by && !said.uneven)
        ts_scan_field_warn(&projections->input, said.by,
                           "gives lengths along some axes only, and is not used: lengths are in "
                           "pixels");
    else if (status == TS_OK && !*said.by && !said.uneven)
        status = warn_of_sizes(projections);
    if (of || all) {
        projections->spacing_mm[0] = mm[0];
        projections->spacing_mm[1] = mm[2];
        projections->spacing_y_mm = mm[1];
    }
    return status;
}
