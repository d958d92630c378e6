/* SPDX-License-Identifier: Apache-2.0
 *
 * Writers put into NXtomo what they know of a scan: currents of the ring, movements of the sample,
 * mirrored detectors. A reader that ignores them is silently wrong. So every field of the tables
 * below is looked for, and a warning is given unless its values are trivial: the same for all
 * frames, zero, or the identity. A field that cannot be read is warned of, too. Sources: NeXus
 * definitions (NXdetector, NXsample, NXmonitor, NXtransformations); the fields that the ESRF adds.
 */
#include "io/scan/nexus_fields.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/path.h"
#include "core/vector3.h"
#include "io/scan/nexus_pixels.h"
#include "io/scan/scan_field.h"

enum { CHAIN_MAX = 16 };

/* ---- fields and warnings --------------------------------------------------------------------- */

static enum ts_status read_field(const struct nexus_places *places, const struct hdf5_ref *parent,
                                 const char *name, struct scan_field *field)
{
    return ts_scan_field_read(places->input, parent, name, field);
}

__attribute__((format(printf, 4, 5))) static void warn(const struct nexus_places *places,
                                                       const char *where, const char *name,
                                                       const char *format, ...)
{
    char text[512], full[HDF5_INPUT_PATH + 64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(full, sizeof full, "%s of the %s", name, where);
    ts_scan_field_warn(places->input, full, "%s", text);
}

static void warn_unreadable(const struct nexus_places *places, const char *where, const char *name)
{
    warn(places, where, name, "is no list of numbers that can be read, and is not used");
}

/* ---- sizes of pixels ------------------------------------------------------------------------- */

/* Refuses a size of the detector's pixels that is no valid size. */
static enum ts_status read_detector_size(const struct nexus_places *places, const char *name,
                                         double *mm)
{
    char units[64] = "", shown[256];
    struct hdf5_ref dataset;
    double *values = NULL;
    int64_t n = 0;
    enum ts_status status = ts_hdf5_input_find(places->input, places->detector, name, &dataset);
    if (status == TS_OK)
        status = ts_hdf5_stack_list(places->input, &dataset, name, SCAN_FIELD_VALUES, &values, &n);
    if (status == TS_OK && values)
        status = ts_scan_field_units(places->input, &dataset, units, sizeof units);
    if (status == TS_OK && values)
        status = ts_scan_field_warn_of_scale(places->input, &dataset, name);
    if (status != TS_OK || !values)
        return status;
    *mm = values[0] * ts_scan_field_mm(units);
    for (int64_t i = 1; i < n; i++)
        if (values[i] != values[0])
            return ts_hdf5_input_refuse(places->input, "pixel-size",
                                        "%s is not the same for all pixels", name);
    if (*mm > 0 && isfinite(*mm))
        return TS_OK;
    ts_text_escape(shown, sizeof shown, units);
    ts_hdf5_input_refuse(places->input, "pixel-size",
                         "%s is %g in the unit '%s', expected a positive length in m to pm", name,
                         values[0], shown);
    return ts_diag_hint(places->input->diag, "pixel_size in mm stands for what the file says");
}

/* Reads the sizes from row to row and from column to column that two fields give; 0 if they do not.
 */
static enum ts_status read_sizes(const struct nexus_places *places, const struct hdf5_ref *parent,
                                 const char *where, const char *const names[2], double mm[2])
{
    struct scan_field fields[2];
    mm[0] = mm[1] = 0;
    for (int i = 0; i < 2; i++) {
        const enum ts_status status = read_field(places, parent, names[i], &fields[i]);
        if (status != TS_OK)
            return status;
    }
    if (!fields[0].there && !fields[1].there)
        return TS_OK;
    for (int i = 0; i < 2; i++)
        mm[i] = fields[i].n == 1 ? fields[i].values[0] * ts_scan_field_mm(fields[i].units) : 0;
    if (mm[0] > 0 && mm[1] > 0 && isfinite(mm[0]) && isfinite(mm[1]))
        return TS_OK;
    const int bad = mm[1] > 0 && isfinite(mm[1]) ? 0 : 1;
    mm[0] = mm[1] = 0;
    warn(places, where, names[bad],
         "is no positive length in m to pm, and %s is not used either: the sizes are those of the "
         "detector's pixels",
         names[!bad]);
    return TS_OK;
}

/* A microscope before the detector makes its pixels smaller in the sample. */
static enum ts_status warn_of_magnification(const struct nexus_places *places)
{
    struct scan_field field;
    const double column_mm = places->projections->spacing_mm[1];
    const enum ts_status status = read_field(places, places->detector, "magnification", &field);
    if (status != TS_OK || !field.there || field.n != 1 || !(field.values[0] > 0) ||
        field.values[0] == 1 || !places->projected)
        return status;
    warn(places, "detector", "magnification",
         "is %g, and is not used: the file does not say whether x_pixel_size and y_pixel_size are "
         "those of the sample",
         field.values[0]);
    if (column_mm > 0)
        ts_diag_hint(places->input->diag,
                     "pixel_size: %.9g, in mm, where they are those of the detector",
                     column_mm / field.values[0]);
    return TS_OK;
}

enum ts_status ts_nexus_pixel_size(const struct nexus_places *places, bool diverging)
{
    static const char *const of_sample[] = {"y_pixel_size", "x_pixel_size"};
    static const char *const magnified[] = {"y_magnified_pixel_size", "x_magnified_pixel_size"};
    double *mm = places->projections->spacing_mm, sample_mm[2] = {0};
    struct hdf5_ref sample;
    enum ts_status status = read_detector_size(places, of_sample[0], &mm[0]);
    if (status == TS_OK)
        status = read_detector_size(places, of_sample[1], &mm[1]);
    if (status == TS_OK)
        status = ts_hdf5_input_find_class(places->input, places->entry, "NXsample", &sample);
    if (status == TS_OK)
        status = read_sizes(places, &sample, "sample", of_sample, sample_mm);
    if (status == TS_OK && sample_mm[0] == 0)
        status = read_sizes(places, places->detector, "detector", magnified, sample_mm);
    if (status != TS_OK)
        return status;
    if (sample_mm[0] == 0)
        return warn_of_magnification(places);
    const bool differ =
        fabs(sample_mm[0] - mm[0]) > 1e-6 * mm[0] || fabs(sample_mm[1] - mm[1]) > 1e-6 * mm[1];
    const struct param_set *set = places->input->set;
    const struct diag_site site = {
        .code = "pixel-size-sample", .span = set->spans[0], .stage = set->owner};
    if (differ && places->projected)
        ts_diag_note(places->input->diag, &site,
                     "%s: a pixel is %.6g x %.6g mm of the sample and %.6g x %.6g mm of the "
                     "detector (rows x columns); the %s are used",
                     places->input->path, sample_mm[0], sample_mm[1], mm[0], mm[1],
                     diverging ? "detector's, since the beam is a fan" : "sample's");
    if (!diverging)
        memcpy(mm, sample_mm, sizeof sample_mm);
    return TS_OK;
}

/* ---- pixel_mask ------------------------------------------------------------------------------ */

/* Returns true if pixel_mask marks a bad pixel. Bit 31 marks interpolated pixels between chips,
 * which are good. */
static bool is_bad(double value)
{
    return value < 0 || ((uint64_t)value & ~(UINT64_C(1) << 31)) != 0;
}

static enum ts_status take_pixel_mask(const struct nexus_places *places, const double *values)
{
    struct projections *projections = places->projections;
    const int *order = projections->order;
    const int64_t rows = projections->stack.n[order[0]], columns = projections->stack.n[order[2]];
    const size_t n = (size_t)(rows * columns);
    uint8_t *bad = ts_arena_alloc(projections->arena, n);
    size_t n_bad = 0;
    if (!bad)
        return ts_diag_no_memory(places->input->diag, n);
    for (int64_t z = 0; z < rows; z++)
        for (int64_t c = 0; c < columns; c++)
            n_bad += bad[z * columns + c] =
                is_bad(values[order[0] < order[2] ? z * columns + c : c * rows + z]);
    if (n_bad > 0)
        projections->bad = bad;
    return n_bad > 0
               ? ts_projections_attribute(projections, "pixel_mask", "%zu of %zu pixels", n_bad, n)
               : TS_OK;
}

enum ts_status ts_nexus_pixel_mask(const struct nexus_places *places)
{
    struct hdf5_input *input = places->input;
    const struct hdf5_stack *stack = &places->projections->stack;
    const int *order = places->projections->order;
    const bool turned = order[0] > order[2]; /* in the file columns come before rows */
    const int64_t rows = stack->n[order[turned ? 2 : 0]], columns = stack->n[order[turned ? 0 : 2]];
    struct ts_diag *diag = input->diag, *trial = ts_diag_create();
    struct arena *arena = input->arena, *scratch = ts_arena_create();
    double *values = NULL;
    int64_t n = 0;
    enum ts_status status = trial && scratch ? TS_OK : ts_diag_no_memory(diag, sizeof n);
    if (status == TS_OK) {
        input->diag = trial;
        input->arena = scratch; /* of doubles that are bits in the end */
        status = ts_hdf5_stack_vectors(input, places->detector, "pixel_mask", columns,
                                       rows * columns, &values, &n);
        input->diag = diag;
        input->arena = arena;
    }
    if (status == TS_RUN_FAILED && trial)
        ts_diag_append(diag, trial);
    if (status == TS_BAD_INPUT || (values && n != rows)) {
        warn(places, "detector", "pixel_mask",
             "is no array of integers, one for each of its %" PRId64 " x %" PRId64
             " pixels, and is not used",
             rows, columns);
        status = TS_OK;
    } else if (status == TS_OK && values) {
        status = take_pixel_mask(places, values);
    }
    ts_arena_destroy(scratch);
    ts_diag_destroy(trial);
    return status;
}

/* ---- fields that should be trivial ----------------------------------------------------------- */

/* frames that are compared: projections; flats too; darks too */
enum over { OVER_VIEWS, OVER_BEAM, OVER_ALL };

/* Finds the range of the values of such frames. Returns false if there is none that is finite. */
static bool find_range(const struct nexus_places *places, const struct scan_field *field,
                       enum over over, double *low, double *high)
{
    const bool listed = field->n == places->n_frames;
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t i = 0; i < field->n; i++) {
        const double key = listed ? places->keys[i] : FRAMES_PROJECTIONS;
        if ((places->projected && key > (over == OVER_VIEWS  ? FRAMES_PROJECTIONS
                                         : over == OVER_BEAM ? FRAMES_FLATS
                                                             : FRAMES_DARKS)) ||
            !isfinite(field->values[i]))
            continue;
        *low = fmin(*low, field->values[i]);
        *high = fmax(*high, field->values[i]);
    }
    return *low <= *high;
}

/* Fields with one value, or one for each frame; if the values differ, frames are not alike. */
static const struct varying {
    const char *group, *name;
    enum over over;
    /* relative change above which a warning is given; of lengths, a part of a pixel */
    double least;
    const char *what, *hint;
} varying[] = {
    {"sample", "x_translation", OVER_VIEWS, 0.01, "the sample moved, and the views are not shifted",
     NULL},
    {"sample", "y_translation", OVER_VIEWS, 0.01, "the sample moved, and the views are not shifted",
     NULL},
    {"sample", "z_translation", OVER_VIEWS, 0.01, "the sample moved, and the views are not shifted",
     NULL},
    {"detector", "x_translation", OVER_VIEWS, 0.01,
     "the detector moved, and the views are not shifted", NULL},
    {"detector", "y_translation", OVER_VIEWS, 0.01,
     "the detector moved, and the views are not shifted", NULL},
    {"detector", "distance", OVER_VIEWS, 0.01,
     "the detector moved along the beam, and one size of pixels is used", NULL},
    {"detector", "count_time", OVER_ALL, 1e-3,
     "frames were exposed for different times, and counts are not divided by them", NULL},
    {"detector", "exposure_time", OVER_ALL, 1e-3,
     "frames were exposed for different times, and counts are not divided by them", NULL},
    {"detector", "gain", OVER_ALL, 1e-3,
     "frames were taken with different gains, and counts are not divided by them", NULL},
    {"detector", "gain_setting", OVER_ALL, 1e-3,
     "frames were taken with different gains, and counts are not divided by them", NULL},
    {"source", "current", OVER_BEAM, 1e-3, "the beam changed, and counts are not divided by it",
     "the stage air after flat_field does so by detector pixels beside the object, where there are "
     "some"},
    {"control", "data", OVER_BEAM, 1e-3, "the beam changed, and counts are not divided by it",
     "the stage air after flat_field does so by detector pixels beside the object, where there are "
     "some"},
    {"diode", "data", OVER_BEAM, 1e-3, "the beam changed, and counts are not divided by it",
     "the stage air after flat_field does so by detector pixels beside the object, where there are "
     "some"},
};

static enum ts_status warn_of_varying(const struct nexus_places *places, const struct varying *row,
                                      const struct hdf5_ref *group)
{
    static const char *const frames[] = {"projections", "projections and flats", "frames"};
    const double pixel_mm = places->projections->spacing_mm[1];
    struct scan_field field;
    double low, high;
    const enum ts_status status = read_field(places, group, row->name, &field);
    if (status != TS_OK || !field.there)
        return status;
    if (!field.values) {
        if (strcmp(row->name, "gain_setting") != 0 || !*field.text) /* which may be a word */
            warn_unreadable(places, row->group, row->name);
        return TS_OK;
    }
    if (!find_range(places, &field, row->over, &low, &high))
        return TS_OK;
    const double mm = (high - low) * ts_scan_field_mm(field.units),
                 largest = fmax(fabs(low), fabs(high));
    const bool length = row->least == 0.01 && pixel_mm > 0 && mm > 0;
    if (length ? mm <= row->least * pixel_mm
               : !(high - low > 1e-9 * largest) ||
                     (row->over != OVER_VIEWS && high - low <= row->least * largest))
        return TS_OK;
    char shown[256];
    ts_text_escape(shown, sizeof shown, field.units);
    warn(places, row->group, row->name, "goes from %.6g to %.6g%s%s over the %s: %s", low, high,
         *shown ? " " : "", shown, field.n == places->n_frames ? frames[row->over] : "scan",
         row->what);
    if (row->hint)
        ts_diag_hint(places->input->diag, "%s", row->hint);
    return TS_OK;
}

/* Fields with one value: a number, or a word for the usual case. */
static const struct unusual {
    const char *name, *word; /* word: for the usual case */
    double usual;
    const char *what, *hint;
} unusual[] = {
    {"x_flipped", "false", 0, ts_nexus_pixels_mirrored, ts_nexus_pixels_flip_hint},
    {"y_flipped", "false", 0, ts_nexus_pixels_upside_down, NULL},
    {"flatfield_applied", "false", 0,
     "the frames are divided by a flat field already; flat_field would do so again", NULL},
    {"countrate_correction_applied", "true", 1,
     "the detector lost counts where many came at once, and they are not made up for", NULL},
    {"estimated_cor_from_motor", "false", 0,
     "the rotation axis is so far from the middle; it is not moved there",
     "the stage center finds the axis, or is given it"},
};

static enum ts_status warn_of_unusual(const struct nexus_places *places)
{
    for (size_t i = 0; i < sizeof unusual / sizeof *unusual; i++) {
        const struct unusual *row = &unusual[i];
        struct scan_field field;
        const enum ts_status status = read_field(places, places->detector, row->name, &field);
        if (status != TS_OK)
            return status;
        if (!field.there || (field.n == 1 && field.values[0] == row->usual) ||
            !strcasecmp(field.text, row->word))
            continue;
        if (field.n == 1)
            warn(places, "detector", row->name, "is %.6g: %s", field.values[0], row->what);
        else if (*field.text)
            warn(places, "detector", row->name, "is '%s': %s", field.text, row->what);
        else
            warn_unreadable(places, "detector", row->name);
        if (row->hint && (field.values || *field.text))
            ts_diag_hint(places->input->diag, "%s", row->hint);
    }
    return TS_OK;
}

/* Values beyond these cannot be measured by the detector and are invalid, if its type can hold such
   values. */
static enum ts_status warn_of_limits(const struct nexus_places *places)
{
    static const char *const names[] = {"underload_value", "saturation_value"};
    const enum ts_dtype dtype = places->projections->stack.stored;
    const bool integer = ts_dtype_is_integer(dtype) && dtype != TS_U64;
    double ends[2] = {-INFINITY, INFINITY};
    if (integer)
        ts_dtype_range(dtype, &ends[0], &ends[1]);
    for (int i = 0; i < 2; i++) {
        struct scan_field field;
        const enum ts_status status = read_field(places, places->detector, names[i], &field);
        if (status != TS_OK)
            return status;
        if (!field.there)
            continue;
        if (field.n != 1 || isnan(field.values[0])) {
            warn_unreadable(places, "detector", names[i]);
            continue;
        }
        const double value = field.values[0];
        if (i == 0 ? value <= ends[0] : value >= ends[1])
            continue;
        warn(places, "detector", names[i],
             "is %.9g: pixels %s it are not valid, and are taken for measured ones", value,
             i == 0 ? "below" : "above");
        ts_diag_hint(places->input->diag, "the stage bad_pixels with %s: %.9g fills them",
                     i == 0 ? "lowest" : "highest", i == 1 && integer ? value + 1 : value);
    }
    return TS_OK;
}

/* Warns of a scale of the frames, which the detector or an NXdata of the entry states. */
static enum ts_status warn_of_scales(const struct nexus_places *places)
{
    struct hdf5_name *names;
    char signal[64];
    size_t n;
    enum ts_status status = ts_scan_field_warn_beside(places->input, places->detector, "data");
    if (status == TS_OK)
        status = ts_hdf5_input_names(places->input, places->entry, &names, &n);
    for (size_t i = 0; status == TS_OK && i < n; i++) {
        struct hdf5_ref member;
        if (names[i].kind != 'h')
            continue;
        status = ts_hdf5_input_find(places->input, places->entry, names[i].name, &member);
        if (status == TS_OK && ts_hdf5_input_is_class(&member, "NXdata"))
            status = ts_hdf5_input_text(places->input, &member, "signal", signal, sizeof signal);
        if (status == TS_OK && ts_hdf5_input_is_class(&member, "NXdata"))
            status = ts_scan_field_warn_beside(places->input, &member, *signal ? signal : "data");
        ts_hdf5_input_release(places->input, &member);
    }
    return status;
}

/* Notes that a scan sees half of its object, for the plan, which knows whether the chain joins
 * opposite views. */
static enum ts_status note_half(const struct nexus_places *places)
{
    struct scan_field view, half;
    enum ts_status status = read_field(places, places->detector, "field_of_view", &view);
    if (status == TS_OK)
        status = read_field(places, places->detector, "half_acquisition", &half);
    if (status != TS_OK)
        return status;
    return !strcasecmp(view.text, "half") || (half.n == 1 && half.values[0] != 0) ||
                   !strcasecmp(half.text, "true")
               ? ts_projections_attribute(places->projections, "field_of_view", "Half")
               : TS_OK;
}

/* ---- transformations ------------------------------------------------------------------------- */

/* Returns 1 if the values are the angles of the views except for a constant, -1 if they turn the
 * other way, 0 if they are others. */
static int rotation_sense(const struct nexus_places *places, const struct scan_field *field,
                          double to_degrees)
{
    const struct projections *projections = places->projections;
    const int64_t n = projections->n_views;
    bool same = places->angles && (field->n == places->n_frames || field->n == n), opposite = same;
    for (int64_t i = 1; (same || opposite) && i < n; i++) {
        const int64_t first = field->n == n ? 0 : projections->frames[0],
                      at = field->n == n ? i : projections->frames[i];
        const double turned = (field->values[at] - field->values[first]) * to_degrees,
                     expected = places->angles[i] - places->angles[0];
        same &= fabs(turned - expected) < 1e-3;
        opposite &= fabs(turned + expected) < 1e-3;
    }
    return same ? 1 : opposite ? -1 : 0;
}

/* Warns of an axis that moves over the projections. One that turns as rotation_angle does is that
 * of the scan: it is taken for vertical, and positive about y, if the file does not say which way
 * rotation_angle turns itself. */
static void warn_of_turning(const struct nexus_places *places, const char *where, const char *name,
                            double degrees, int sense, const double vector[3])
{
    const double length = ts_length(vector);
    const int *order = places->projections->order;
    const bool turned = order[0] > order[2]; /* the chain exchanges rows and columns */
    if (sense == 0) {
        warn(places, where, name, "turns it by %.6g degrees over the projections, and is not used",
             degrees);
    } else if (length > 0 && fabs(vector[turned ? 0 : 1]) < 0.9998 * length) {
        warn(places, where, name,
             "turns it about (%g, %g, %g) as rotation_angle does, and the axis is taken for that "
             "of the detector's columns, %s",
             vector[0], vector[1], vector[2], turned ? "(1, 0, 0)" : "(0, 1, 0)");
        if (fabs(vector[turned ? 1 : 0]) > 0.9998 * length)
            ts_nexus_pixels_hint_exchanged(places);
    } else if (!turned && sense * (vector[1] < 0 ? -1 : 1) < 0 &&
               !ts_param_given(places->input->set, "angle_sense")) {
        warn(places, where, name, "turns it about (%g, %g, %g) the other way than %s", vector[0],
             vector[1], vector[2],
             strcmp(ts_base_name(name), "rotation_angle") != 0
                 ? "rotation_angle, which is taken"
                 : "it is taken to turn it, about (0, 1, 0)");
        ts_diag_hint(places->input->diag,
                     "angle_sense: y-to-x turns the views the other way; angle_sense: x-to-y says "
                     "that rotation_angle is right");
    }
}

/* Notes that an axis turns the detector round, which mirrors it along x or y. */
static void note_turn(const struct nexus_places *places, enum source_fact_kind kind)
{
    struct source_fact *fact = &places->projections->facts[kind];
    fact->low = fact->high = fact->low == 0;
}

static void warn_of_rotation(const struct nexus_places *places, const char *where, const char *name,
                             double degrees, const double vector[3])
{
    const bool half = fabs(fabs(degrees) - 180) < 1e-6, detector = !strcmp(where, "detector");
    const double length = ts_length(vector);
    if (half && detector && length > 0 && fabs(vector[1]) / length > 0.999999) {
        note_turn(places, SOURCE_X_FLIPPED);
        warn(places, where, name, "turns it by 180 degrees about y: %s", ts_nexus_pixels_mirrored);
        ts_diag_hint(places->input->diag, "%s", ts_nexus_pixels_flip_hint);
    } else if (half && detector && length > 0 && fabs(vector[0]) / length > 0.999999) {
        note_turn(places, SOURCE_Y_FLIPPED);
        warn(places, where, name, "turns it by 180 degrees about x: %s",
             ts_nexus_pixels_upside_down);
    } else {
        if (half && detector && length > 0 && fabs(vector[2]) / length > 0.999999) {
            note_turn(places, SOURCE_X_FLIPPED);
            note_turn(places, SOURCE_Y_FLIPPED);
        }
        warn(places, where, name, "turns it by %.6g degrees about (%g, %g, %g), and is not used",
             degrees, vector[0], vector[1], vector[2]);
    }
}

/* Warns of an axis of a transformation, which has `vector` and `transformation_type`, unless it
 * does nothing. */
static enum ts_status check_axis(const struct nexus_places *places, const char *where,
                                 const struct hdf5_ref *group, const char *path,
                                 char depends_on[HDF5_INPUT_PATH])
{
    struct hdf5_input *input = places->input;
    struct hdf5_ref axis;
    struct scan_field field;
    char type[64] = "";
    double vector[3] = {0}, low, high;
    int n_vector = 0;
    const bool is_scan = !strcmp(ts_base_name(path), "rotation_angle");
    *depends_on = '\0';
    enum ts_status status = ts_hdf5_input_find(input, group, path, &axis);
    if (status == TS_OK && axis.kind == FINDER_DATASET)
        status = ts_hdf5_input_text(input, &axis, "transformation_type", type, sizeof type);
    if (status == TS_OK && axis.kind == FINDER_DATASET && (*type || is_scan))
        status = ts_hdf5_input_numbers(input, &axis, "vector", 3, vector, &n_vector);
    if (!*type && n_vector == 3)
        snprintf(type, sizeof type, "rotation");
    if (status == TS_OK && *type)
        status = ts_hdf5_input_text(input, &axis, "depends_on", depends_on, HDF5_INPUT_PATH);
    ts_hdf5_input_release(input, &axis);
    const bool rotation = !strcasecmp(type, "rotation"),
               translation = !strcasecmp(type, "translation");
    if (status != TS_OK || !(rotation || translation))
        return status;
    status = read_field(places, group, path, &field);
    if (status != TS_OK)
        return status;
    if (!field.values) {
        warn_unreadable(places, where, path);
        return TS_OK;
    }
    const double to_degrees = ts_angle_unit_of(field.units) == ANGLE_UNIT_RADIAN ? 180 / M_PI : 1;
    if (!find_range(places, &field, OVER_VIEWS, &low, &high))
        return TS_OK;
    if (translation && is_scan)
        warn(places, where, path,
             "is called a translation, and its values are taken for the angles");
    else if (translation && high - low > 1e-9 * fmax(fabs(low), fabs(high)) &&
             ts_scan_field_mm(field.units) > 0)
        warn(places, where, path,
             "moves it by %.6g %s over the projections, and the views are not shifted", high - low,
             field.units);
    else if (rotation && high - low > 1e-9)
        warn_of_turning(places, where, path, (high - low) * to_degrees,
                        rotation_sense(places, &field, to_degrees), vector);
    else if (rotation && !(high - low > 1e-9) && fabs(remainder(low * to_degrees, 360)) > 1e-6)
        warn_of_rotation(places, where, path, remainder(low * to_degrees, 360), vector);
    return TS_OK;
}

/* Warns of all axes of a group. */
static enum ts_status check_axes(const struct nexus_places *places, const char *where,
                                 const struct hdf5_ref *group)
{
    struct hdf5_name *names;
    char further[HDF5_INPUT_PATH];
    size_t n;
    enum ts_status status = ts_hdf5_input_names(places->input, group, &names, &n);
    for (size_t i = 0; status == TS_OK && i < n; i++)
        if (names[i].kind != 'e')
            status = check_axis(places, where, group, names[i].name, further);
    return status;
}

/* Follows depends_on of a detector or sample from axis to axis, to axes outside of its own
   transformations, which are checked already if `listed`. A path is relative to the root, or to the
   group of the object that names it. *turned becomes true if one of them is rotation_angle. */
static enum ts_status follow_axes(const struct nexus_places *places, const char *where,
                                  const struct hdf5_ref *parent, bool listed, bool *turned)
{
    const struct hdf5_ref *root = &places->input->files[0].root;
    struct scan_field first;
    char path[HDF5_INPUT_PATH], next[HDF5_INPUT_PATH], folder[HDF5_INPUT_PATH] = "";
    enum ts_status status = read_field(places, parent, "depends_on", &first);
    if (status != TS_OK || !*first.text)
        return status;
    snprintf(next, sizeof next, "%s", first.text);
    for (int i = 0; i < CHAIN_MAX && status == TS_OK && *next && strcmp(next, ".") != 0; i++) {
        char short_path[HDF5_INPUT_PATH];
        snprintf(short_path, sizeof short_path, "%s", next);
        const bool from_root = *short_path == '/' || *folder == '/';
        if (*short_path == '/' || !*folder)
            snprintf(path, sizeof path, "%s", short_path);
        else if (snprintf(path, sizeof path, "%s%s", folder, short_path) >= (int)sizeof path)
            return TS_OK;
        snprintf(folder, sizeof folder, "%.*s", (int)(ts_base_name(path) - path), path);
        struct hdf5_ref axis;
        status = ts_hdf5_input_find(places->input, from_root ? root : parent, path, &axis);
        const bool missing = status == TS_OK && axis.kind == FINDER_NONE;
        ts_hdf5_input_release(places->input, &axis);
        if (missing) {
            warn(places, where, "depends_on",
                 "leads to '%s', which is not there: how the %s lies is not known", path, where);
            return TS_OK;
        }
        if (status != TS_OK)
            return status;
        if (listed && strstr(path, "transformations/"))
            return TS_OK; /* these depend on each other, or on nothing */
        *turned |= !strcmp(ts_base_name(path), "rotation_angle");
        status = check_axis(places, where, from_root ? root : parent, path, next);
    }
    return status;
}

/* The axis of the angles may say what it is without a depends_on that leads to it. */
static enum ts_status check_rotation(const struct nexus_places *places)
{
    char further[HDF5_INPUT_PATH];
    return places->angles_in && places->angles_at
               ? check_axis(places, "sample", places->angles_in, places->angles_at, further)
               : TS_OK;
}

static enum ts_status warn_of_transformations(const struct nexus_places *places, const char *where,
                                              const struct hdf5_ref *parent)
{
    static const char *const classes[] = {"NXtransformations", "NX_transformations"};
    struct hdf5_ref group = {0};
    enum ts_status status = TS_OK;
    for (int i = 0;
         i < 2 && status == TS_OK && group.kind == FINDER_NONE && parent->kind != FINDER_NONE; i++)
        status = ts_hdf5_input_find_class(places->input, parent, classes[i], &group);
    const bool listed = group.kind != FINDER_NONE;
    if (status == TS_OK && listed)
        status = check_axes(places, where, &group);
    ts_hdf5_input_release(places->input, &group);
    bool turned = false;
    if (status == TS_OK && parent->kind != FINDER_NONE)
        status = follow_axes(places, where, parent, listed, &turned);
    return status == TS_OK && !turned && !strcmp(where, "sample") ? check_rotation(places) : status;
}

/* ---- the source of the rays ------------------------------------------------------------------ */

/* Warns if distances say that the rays diverge. A source at a synchrotron is so far away that they
   hardly do. */
static enum ts_status warn_of_divergence(const struct nexus_places *places)
{
    struct scan_field distances[2];
    double mm[2];
    enum ts_status status = read_field(places, places->source, "distance", &distances[0]);
    if (status == TS_OK)
        status = read_field(places, places->detector, "distance", &distances[1]);
    if (status != TS_OK)
        return status;
    for (int i = 0; i < 2; i++)
        mm[i] = distances[i].n > 0
                    ? fabs(distances[i].values[0]) * ts_scan_field_mm(distances[i].units)
                    : 0;
    const double magnification = mm[0] > 0 ? (mm[0] + mm[1]) / mm[0] : 1;
    const struct param_set *set = places->input->set;
    if (!(magnification > 1.01) || !isfinite(magnification) || ts_param_given(set, "beam"))
        return TS_OK;
    warn(places, "source", "distance",
         "is %.6g mm, and the detector's %.6g mm: the rays diverge, by a magnification of %.4g, "
         "and are taken to be parallel",
         mm[0], mm[1], magnification);
    ts_diag_hint(places->input->diag,
                 "beam: fan-flat, source_axis: %.9g, source_detector: %.9g; slices far from the "
                 "middle row of the detector need a cone, which is not reconstructed",
                 mm[0], mm[0] + mm[1]);
    return TS_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Warns of the monitors of a group: every NXmonitor, and a diode. */
static enum ts_status warn_of_monitors(const struct nexus_places *places, const struct varying *row)
{
    struct hdf5_name *names;
    size_t n;
    enum ts_status status = ts_hdf5_input_names(places->input, places->entry, &names, &n);
    for (size_t i = 0; status == TS_OK && i < n; i++) {
        struct hdf5_ref member;
        struct varying named = *row;
        if (names[i].kind != 'h')
            continue;
        named.group = names[i].name;
        status = ts_hdf5_input_find(places->input, places->entry, names[i].name, &member);
        if (status == TS_OK && ts_hdf5_input_is_class(&member, "NXmonitor"))
            status = warn_of_varying(places, &named, &member);
        ts_hdf5_input_release(places->input, &member);
    }
    return status;
}

static enum ts_status warn_in_groups(const struct nexus_places *places,
                                     const struct hdf5_ref *sample)
{
    enum ts_status status = TS_OK;
    for (size_t i = 0; i < sizeof varying / sizeof *varying && status == TS_OK; i++) {
        const struct varying *row = &varying[i];
        if (!strcmp(row->group, "control"))
            status = warn_of_monitors(places, row);
        else
            status = warn_of_varying(places, row,
                                     !strcmp(row->group, "sample")   ? sample
                                     : !strcmp(row->group, "source") ? places->source
                                     : !strcmp(row->group, "diode")  ? places->diode
                                                                     : places->detector);
    }
    if (status == TS_OK)
        status = warn_of_unusual(places);
    if (status == TS_OK)
        status = warn_of_limits(places);
    if (status == TS_OK)
        status = warn_of_scales(places);
    if (status == TS_OK)
        status = ts_nexus_pixels_warn(places);
    if (status == TS_OK)
        status = note_half(places);
    if (status == TS_OK)
        status = warn_of_transformations(places, "detector", places->detector);
    if (status == TS_OK)
        status = warn_of_transformations(places, "sample", sample);
    return status == TS_OK ? warn_of_divergence(places) : status;
}

enum ts_status ts_nexus_note_axes(const struct nexus_places *places)
{
    struct ts_diag *diag = places->input->diag, *trial = ts_diag_create();
    if (!trial)
        return ts_diag_no_memory(diag, sizeof diag);
    places->input->diag = trial;
    const enum ts_status status = warn_of_transformations(places, "detector", places->detector);
    places->input->diag = diag;
    if (status != TS_OK)
        ts_diag_append(diag, trial);
    ts_diag_destroy(trial);
    return status;
}

enum ts_status ts_nexus_warn(const struct nexus_places *places)
{
    struct hdf5_ref sample;
    if (places->entry->kind == FINDER_NONE || places->detector->kind == FINDER_NONE)
        return TS_OK; /* the chain names datasets, and the file says nothing in a way that is
                       * known */
    enum ts_status status =
        ts_hdf5_input_find_class(places->input, places->entry, "NXsample", &sample);
    if (status == TS_OK)
        status = warn_in_groups(places, &sample);
    ts_hdf5_input_release(places->input, &sample);
    return status;
}
