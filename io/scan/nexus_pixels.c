/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources: NeXus definitions, NXdetector (x_pixel_offset, y_pixel_offset) and NXdetector_module.
 */
#include "io/scan/nexus_pixels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/vector3.h"
#include "io/scan/scan_field.h"

const char ts_nexus_pixels_mirrored[] =
    "the detector's pixels run from right to left, and they are read as they are";
const char ts_nexus_pixels_upside_down[] =
    "the detector's rows run from bottom to top, and they are read "
    "as they are: the slices come out in the opposite order";
const char ts_nexus_pixels_flip_hint[] = "the stage flip, after flat_field, mirrors the views";

static const double off_axis = 0.9998, most_off = 0.01;

/* What differs between the rows and the columns of a frame. */
static const struct side {
    int order; /* projections->order[] of its index */
    const char *plural, *size, *offsets[2];
    const char *reversed, *hint;
} sides[2] = {
    {0, "rows", "y_pixel_size", {"y_pixel_offset", "y_offset"}, ts_nexus_pixels_upside_down, NULL},
    {2,
     "columns",
     "x_pixel_size",
     {"x_pixel_offset", "x_offset"},
     ts_nexus_pixels_mirrored,
     ts_nexus_pixels_flip_hint},
};

static int64_t count_of(const struct nexus_places *places, int side)
{
    const struct projections *projections = places->projections;
    return projections->stack.n[projections->order[sides[side].order]];
}

void ts_nexus_pixels_hint_exchanged(const struct nexus_places *places)
{
    const int *order = places->projections->order;
    const char *names[3];
    names[order[0]] = "detector";
    names[order[1]] = "view";
    names[order[2]] = "z";
    ts_diag_hint(places->input->diag, "axes: [%s, %s, %s] exchanges rows and columns", names[0],
                 names[1], names[2]);
}

/* Compares a distance of pixels with the one that is taken, and with that of the detector. */
static enum ts_status check_size(const struct nexus_places *places, int side, const char *name,
                                 double mm)
{
    const double taken = places->projections->spacing_mm[side];
    struct scan_field size;
    if (!(mm > 0) || !isfinite(mm) || ts_param_given(places->input->set, "pixel_size"))
        return TS_OK;
    const enum ts_status status =
        ts_scan_field_read(places->input, places->detector, sides[side].size, &size);
    const double own = size.n > 0 ? size.values[0] * ts_scan_field_mm(size.units) : 0;
    if (status != TS_OK || fabs(mm - taken) <= most_off * taken || fabs(mm - own) <= most_off * own)
        return status;
    if (taken > 0)
        ts_scan_field_warn(places->input, name,
                           "says that %s are %.6g mm apart, and they are taken to be %.6g mm apart",
                           sides[side].plural, mm, taken);
    else
        ts_scan_field_warn(places->input, name,
                           "says that %s are %.6g mm apart, and lengths are in pixels",
                           sides[side].plural, mm);
    ts_diag_hint(places->input->diag, "pixel_size: %.9g, in mm, where that is right", mm);
    return TS_OK;
}

/* ---- offsets --------------------------------------------------------------------------------- */

/* Reads an array with an offset for each pixel. Leaves those of the first row (columns: the first
 * column) in the field; *exchanged becomes true if they change along the other side. */
static enum ts_status read_array(const struct nexus_places *places, int side, const char *name,
                                 struct scan_field *field, bool *exchanged)
{
    struct hdf5_input *input = places->input;
    const int *order = places->projections->order;
    const int64_t n[2] = {count_of(places, 0), count_of(places, 1)};
    const int fast = order[0] < order[2]; /* side that is last in the file */
    struct ts_diag *diag = input->diag, *trial = ts_diag_create();
    struct arena *arena = input->arena, *scratch = ts_arena_create();
    double *values = NULL, *kept = ts_arena_alloc(arena, (size_t)n[side] * sizeof *kept);
    int64_t n_read = 0;
    enum ts_status status = trial && scratch && kept ? TS_OK : ts_diag_no_memory(diag, sizeof n);
    if (status == TS_OK) {
        input->diag = trial;
        input->arena = scratch;
        status = ts_hdf5_stack_vectors(input, places->detector, name, n[fast], n[0] * n[1], &values,
                                       &n_read);
        input->diag = diag;
        input->arena = arena;
    }
    if (status == TS_OK && values && n_read == n[!fast]) {
        const int64_t stride[2] = {fast == 0 ? 1 : n[1], fast == 1 ? 1 : n[0]};
        for (int64_t i = 0; i < n[side]; i++)
            kept[i] = values[i * stride[side]];
        *exchanged = fabs(values[(n[!side] - 1) * stride[!side]] - values[0]) >
                     fabs(kept[n[side] - 1] - kept[0]);
        field->values = kept;
        field->n = n[side];
    }
    if (status == TS_RUN_FAILED && trial)
        ts_diag_append(diag, trial);
    ts_arena_destroy(scratch);
    ts_diag_destroy(trial);
    return status == TS_RUN_FAILED ? status : TS_OK;
}

/* A detector that is moved across has its axis elsewhere. */
static void check_middle(const struct nexus_places *places, const char *name,
                         const struct scan_field *field)
{
    const double pixel_mm = places->projections->spacing_mm[1],
                 middle = (field->values[0] + field->values[field->n - 1]) / 2,
                 mm = ts_scan_field_mm(field->units);
    char shown[256];
    if (!(mm > 0 && pixel_mm > 0 ? fabs(middle) * mm > 0.5 * pixel_mm : middle != 0))
        return;
    ts_text_escape(shown, sizeof shown, field->units);
    ts_scan_field_warn(places->input, name,
                       "is %.6g%s%s: the rotation axis may be so far from the middle; it is not "
                       "moved there",
                       middle, *shown ? " " : "", shown);
    ts_diag_hint(places->input->diag, "the stage center finds the axis, or is given it");
}

static enum ts_status check_offsets(const struct nexus_places *places, int side, const char *name,
                                    const struct scan_field *field)
{
    const double *at = field->values,
                 step = field->n > 1 ? (at[field->n - 1] - at[0]) / (double)(field->n - 1) : 0;
    bool even = true;
    for (int64_t k = 1; k < field->n; k++)
        even &= fabs(at[k] - at[k - 1] - step) <= most_off * fabs(step);
    if (!even) {
        ts_scan_field_warn(places->input, name,
                           "has steps that differ, and %s are taken to be evenly spaced",
                           sides[side].plural);
        return TS_OK;
    }
    if (step < 0) {
        ts_scan_field_warn(places->input, name, "falls from %.6g to %.6g: %s", at[0],
                           at[field->n - 1], sides[side].reversed);
        if (sides[side].hint)
            ts_diag_hint(places->input->diag, "%s", sides[side].hint);
    }
    if (side == 1)
        check_middle(places, name, field);
    return check_size(places, side, name, fabs(step) * ts_scan_field_mm(field->units));
}

/* An offset is one number, one for each row or column, or one for each pixel. */
static enum ts_status warn_of_offset(const struct nexus_places *places, int side, const char *name)
{
    struct scan_field field;
    char full[64];
    const int64_t n = count_of(places, side), other = count_of(places, !side);
    bool exchanged = false;
    enum ts_status status = ts_scan_field_read(places->input, places->detector, name, &field);
    snprintf(full, sizeof full, "%s of the detector", name);
    if (status == TS_OK && field.there && !field.values && !*field.text) {
        status = read_array(places, side, name, &field, &exchanged);
        if (status == TS_OK && !field.values)
            ts_scan_field_warn(places->input, full,
                               "is no list of numbers that can be read, and is not used");
    }
    if (status != TS_OK || !field.values)
        return status;
    if (exchanged || (field.n != n && field.n == other && n > 1)) {
        ts_scan_field_warn(places->input, full, "changes along what is taken for %s",
                           sides[!side].plural);
        ts_nexus_pixels_hint_exchanged(places);
        return TS_OK;
    }
    if (field.n == 1 || field.n == n)
        return check_offsets(places, side, full, &field);
    ts_scan_field_warn(places->input, full, "has %lld values for %lld %s, and is not used",
                       (long long)field.n, (long long)n, sides[side].plural);
    return TS_OK;
}

/* ---- modules --------------------------------------------------------------------------------- */

/* Returns the side along which a direction points, with the sign of it: 1 for -y, 2 for -x, 3 for
 * y, 4 for x; 0 for none. */
static int direction_of(const double vector[3])
{
    const double length = ts_length(vector);
    for (int axis = 0; axis < 2 && length > 0; axis++)
        if (fabs(vector[axis]) > off_axis * length)
            return (axis == 0 ? 2 : 1) + (vector[axis] > 0 ? 2 : 0);
    return 0;
}

enum { MINUS_Y = 1, MINUS_X, PLUS_Y, PLUS_X };

static enum ts_status check_directions(const struct nexus_places *places,
                                       const char *const names[2], const double vectors[2][3],
                                       const double mm[2])
{
    const bool turned = places->projections->order[0] > places->projections->order[2];
    const int of[2] = {direction_of(vectors[0]), direction_of(vectors[1])}; /* slow, fast */
    const int rows = of[turned], columns = of[!turned];
    struct hdf5_input *input = places->input;
    if (of[0] == 0 || of[1] == 0 || of[0] % 2 == of[1] % 2) {
        const int bad = of[0] == 0 ? 0 : 1;
        ts_scan_field_warn(input, names[bad], "is (%g, %g, %g), and is not used", vectors[bad][0],
                           vectors[bad][1], vectors[bad][2]);
        return TS_OK;
    }
    if (rows % 2 == 0) {
        ts_scan_field_warn(
            input, names[1],
            "is (%g, %g, %g): the detector lies on its side, and rows of the file are "
            "taken for its rows",
            vectors[1][0], vectors[1][1], vectors[1][2]);
        ts_nexus_pixels_hint_exchanged(places);
        return TS_OK;
    }
    /* Half a turn about the beam, (-1, 0, 0) and (0, -1, 0), mirrors nothing. */
    if (rows == PLUS_Y && columns == MINUS_X) {
        ts_scan_field_warn(input, names[!turned], "is (%g, %g, %g): %s", vectors[!turned][0],
                           vectors[!turned][1], vectors[!turned][2], ts_nexus_pixels_mirrored);
        ts_diag_hint(input->diag, "%s", ts_nexus_pixels_flip_hint);
    } else if (rows == MINUS_Y && columns == PLUS_X) {
        ts_scan_field_warn(input, names[turned], "is (%g, %g, %g): %s", vectors[turned][0],
                           vectors[turned][1], vectors[turned][2], ts_nexus_pixels_upside_down);
    }
    for (int i = 0; i < 2; i++) {
        const enum ts_status status = check_size(places, turned ? !i : i, names[i], mm[i]);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

/* Warns of a module whose pixels do not follow one another along x, and its rows along y. */
static enum ts_status warn_of_module(const struct nexus_places *places,
                                     const struct hdf5_ref *module, const char *name)
{
    static const char *const fields[2] = {"slow_pixel_direction", "fast_pixel_direction"};
    char full[2][HDF5_INPUT_PATH + 64];
    double vectors[2][3] = {{0}}, mm[2] = {0};
    int n_found[2] = {0};
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < 2; i++) {
        struct hdf5_ref direction;
        struct scan_field field = {0};
        snprintf(full[i], sizeof full[i], "%s of %s", fields[i], name);
        status = ts_hdf5_input_find(places->input, module, fields[i], &direction);
        if (status == TS_OK && direction.kind == FINDER_DATASET)
            status = ts_hdf5_input_numbers(places->input, &direction, "vector", 3, vectors[i],
                                           &n_found[i]);
        ts_hdf5_input_release(places->input, &direction);
        if (status == TS_OK)
            status = ts_scan_field_read(places->input, module, fields[i], &field);
        mm[i] = field.n == 1 ? fabs(field.values[0]) * ts_scan_field_mm(field.units) : 0;
    }
    return status == TS_OK && n_found[0] == 3 && n_found[1] == 3
               ? check_directions(places, (const char *const[2]){full[0], full[1]},
                                  (const double(*)[3])vectors, mm)
               : status;
}

enum ts_status ts_nexus_pixels_warn(const struct nexus_places *places)
{
    struct hdf5_name *names;
    size_t n;
    enum ts_status status = TS_OK;
    for (int side = 1; side >= 0; side--)
        for (int i = 0; i < 2 && status == TS_OK; i++)
            status = warn_of_offset(places, side, sides[side].offsets[i]);
    if (status == TS_OK)
        status = ts_hdf5_input_names(places->input, places->detector, &names, &n);
    for (size_t i = 0; status == TS_OK && i < n; i++) {
        struct hdf5_ref module;
        if (names[i].kind != 'h')
            continue;
        status = ts_hdf5_input_find(places->input, places->detector, names[i].name, &module);
        if (status == TS_OK && ts_hdf5_input_is_class(&module, "NXdetector_module"))
            status = warn_of_module(places, &module, names[i].name);
        ts_hdf5_input_release(places->input, &module);
    }
    return status;
}
