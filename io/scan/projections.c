/* SPDX-License-Identifier: Apache-2.0
 *
 * The source over a stack of frames. Several threads read rows slab by slab, ahead of their use; if
 * a chunk of the file holds more rows than a slab, they are kept, so that it is decoded once
 * (io/source/read_ahead.h). Row i of the detector is slice i; column positions are relative to the
 * middle of the detector.
 */
#include "io/scan/projections.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/scan/frame_means.h"
#include "io/scan/scan_field.h"
#include "io/source/read_ahead.h"
#include "io/source/source_slices.h"

enum { SIDE_MAX = 1 << 20 };

const struct choice ts_frames_choices[] = {
    {"projections", FRAMES_PROJECTIONS, "the views of the object, with their angles", 0},
    {"flats", FRAMES_FLATS, "frames with the beam and without the object", 0},
    {"darks", FRAMES_DARKS, "frames without the beam", 0},
    {NULL, 0, NULL, 0},
};

const struct choice ts_projections_quantity_choices[] = {
    {"counts", TS_COUNTS, "detector counts, as measured", 0},
    {"transmission", TS_TRANSMISSION, "divided by the flat field", 0},
    {"line_integral", TS_LINE_INTEGRAL, "the negative logarithm of the transmission", 0},
    {"intensity", TS_INTENSITY, "anything else", 0},
    {NULL, 0, NULL, 0},
};

struct projection_source {
    struct rule_source in; /* first */
    struct projections projections;
    int64_t *map; /* for each frame of the file its view, or -1 */
    struct hdf5_stack_reader *boxes, *masks;
};

enum ts_status ts_projections_hint_missing(int32_t frames, struct ts_diag *diag)
{
    static const char *const hints[] = {
        "`tomostage info FILE` lists what the file has; `hdf5: FILE` with `path:` reads any of its "
        "datasets",
        "take the flats of another file, with `frames: flats` there; or, in place of flat_field, "
        "`air` divides by the beam beside the object, where there is some",
        "leave out `darks` of flat_field and their input, for darks of 0; or take those of another "
        "file, with `frames: darks` there"};
    return ts_diag_hint(diag, "%s", hints[frames]);
}

void ts_projections_hint_empty(const struct projections *projections)
{
    const struct hdf5_storage *storage = &projections->stack.storage;
    bool empty = false;
    for (int32_t d = 0; d < storage->rank && d < STORAGE_RANK; d++)
        empty |= storage->n[d] == 0;
    if (empty)
        ts_projections_hint_missing((int32_t)projections->kind, projections->input.diag);
}

const char *ts_projections_frames_name(int32_t frames)
{
    return ts_choice_name(ts_frames_choices, frames);
}

void ts_projections_close(struct projections *projections)
{
    ts_hdf5_stack_close(&projections->stack);
    ts_hdf5_stack_close(&projections->mask);
    ts_hdf5_input_close(&projections->input);
    ts_arena_destroy(projections->arena);
}

enum ts_status ts_projections_open(const struct param_set *set, struct ts_diag *diag,
                                   struct projections *projections)
{
    const char *path = *(const char *const *)ts_param_field(set, 0);
    struct arena *arena = ts_arena_create();
    *projections = (struct projections){
        .arena = arena,
        .input = {.path = path, .set = set, .sandbox = set->sandbox, .diag = diag, .arena = arena}};
    return arena ? ts_hdf5_input_open(&projections->input)
                 : ts_diag_no_memory(diag, sizeof *projections);
}

enum ts_status ts_projections_attribute(struct projections *projections, const char *name,
                                        const char *format, ...)
{
    char value[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    const char *copy = ts_arena_text(projections->arena, value, strlen(value));
    if (!copy)
        return ts_diag_no_memory(projections->input.diag, sizeof value);
    if (projections->n_attributes <
        sizeof projections->attributes / sizeof *projections->attributes)
        projections->attributes[projections->n_attributes++] =
            (struct source_attribute){name, copy};
    return TS_OK;
}

/* ---- angles ---------------------------------------------------------------------------------- */

/* Refuses angles of views that drop_views does not leave out, if they are not finite. The others
 * get one of a view that stays. */
static enum ts_status check_finite(const struct projections *projections, double *angles, int64_t n)
{
    const struct hdf5_input *input = &projections->input;
    const int64_t *kept;
    int64_t n_kept;
    enum ts_status status =
        ts_drop_views(input->set, n, projections->arena, &kept, &n_kept, input->diag);
    bool *marks = status == TS_OK ? calloc((size_t)n, sizeof *marks) : NULL;
    if (!marks)
        return status == TS_OK ? ts_diag_no_memory(input->diag, (size_t)n) : status;
    for (int64_t i = 0; i < n_kept; i++)
        marks[kept ? kept[i] : i] = !isfinite(angles[kept ? kept[i] : i]);
    const struct view_ranges wrong = ts_view_ranges(marks, n);
    free(marks);
    for (int64_t i = 0; wrong.count == 0 && i < n; i++)
        if (!isfinite(angles[i]))
            angles[i] = angles[kept[0]];
    if (wrong.count == 0)
        return TS_OK;
    status = ts_hdf5_input_refuse(input, "angle-not-finite",
                                  "the angle of view %" PRId64 " is %g, expected a finite number%s",
                                  wrong.first, angles[wrong.first],
                                  wrong.count > 1 ? ", and others are not finite either" : "");
    if (!ts_drop_views_hint(input->set, &wrong, n, input->diag) && projections->angles_hint)
        ts_diag_hint(input->diag, "%s", projections->angles_hint);
    return status;
}

enum ts_status ts_projections_angles(struct projections *projections, double *angles, int64_t n,
                                     enum angle_unit unit, bool sure)
{
    const struct hdf5_input *input = &projections->input;
    const enum ts_status status = check_finite(projections, angles, n);
    if (status != TS_OK)
        return status;
    const int64_t leap = ts_angles_unwrap(angles, n);
    if (leap > 0)
        ts_diag_warning(input->diag,
                        &(struct diag_site){.code = "angles-wrapped",
                                            .span = input->set->spans[0],
                                            .stage = input->set->owner},
                        "%s: the angles are whole numbers of 8 bits that overflow from view "
                        "%" PRId64 " on: they are taken to go on to %g",
                        input->path, leap, angles[n - 1]);
    const double range = ts_angles_to_degrees(angles, n, unit), turns = range / (2 * M_PI);
    if (unit == ANGLE_UNIT_RADIAN && ts_angles_look_like_degrees(range, n) && !sure) {
        ts_hdf5_input_refuse(
            input, "angle-turns",
            "the %" PRId64
            " angles are called radians and have a range of %.6g, %.4g turns, as degrees would",
            n, range, turns);
        return ts_diag_hint(input->diag,
                            "angle_unit: degree, or angle_unit: radian if they are radians");
    }
    if (unit == ANGLE_UNIT_RADIAN)
        ts_angles_warn_of_turns(range, n, input->diag);
    if (unit == ANGLE_UNIT_DEGREE && !sure && ts_angles_look_like_radians(range, n)) {
        ts_hdf5_input_refuse(
            input, "angle-unit",
            "the %" PRId64
            " angles are taken for degrees and have a range of %.6g, as radians would",
            n, range);
        return ts_diag_hint(input->diag,
                            "angle_unit: radian, or angle_unit: degree if they are degrees");
    }
    projections->angles = angles;
    return TS_OK;
}

/* Returns what converts angles to those that theta_start and theta_stop are in. */
static double factor_of_range(enum angle_unit given, const char *units)
{
    return given == ANGLE_UNIT_FILE && ts_angle_unit_of(units) == ANGLE_UNIT_RADIAN ? 180 / M_PI
                                                                                    : 1;
}

enum ts_status ts_projections_hint_count(const struct projections *projections,
                                         const double *angles, int64_t n, enum angle_unit unit,
                                         const char *units)
{
    enum { LEAST = 4 };
    static const double most_off = 0.05;
    const double step = angles && n > 1 ? (angles[n - 1] - angles[0]) / (double)(n - 1) : 0;
    bool even = angles && n >= LEAST && step != 0;
    for (int64_t i = 0; even && i < n; i++)
        even = fabs(angles[i] - angles[0] - step * (double)i) < most_off * fabs(step);
    const double factor = factor_of_range(unit, units), first = angles ? angles[0] * factor : 0;
    if (even && n == projections->n_views + 1)
        return ts_diag_hint(projections->input.diag,
                            "theta_start: %.9g, theta_stop: %.9g take all but the last of these "
                            "angles, if it is the one without a view; %s",
                            first, angles[n - 1] * factor, projections->angles_hint);
    if (even && n == projections->n_views - 1)
        return ts_diag_hint(projections->input.diag,
                            "theta_start: %.9g, theta_stop: %.9g, endpoint: true go on by a step "
                            "for the last view, if it is the one without an angle; %s",
                            first, (angles[n - 1] + step) * factor, projections->angles_hint);
    return ts_diag_hint(projections->input.diag, "%s", projections->angles_hint);
}

enum ts_status ts_projections_listed(struct projections *projections,
                                     const struct hdf5_ref *dataset, const char *name,
                                     enum angle_unit unit, const char *view)
{
    struct hdf5_input *input = &projections->input;
    const bool sure = unit != ANGLE_UNIT_FILE;
    char units[64] = "", shown[256];
    double *angles;
    int64_t n;
    enum ts_status status = ts_hdf5_stack_list(input, dataset, name, 1 << 20, &angles, &n);
    if (status == TS_OK && angles)
        status = ts_scan_field_warn_of_scale(input, dataset, name);
    if (status == TS_OK)
        status = ts_scan_field_units(input, dataset, units, sizeof units);
    if (status == TS_OK && n != projections->n_views) {
        ts_hdf5_input_refuse(input, "angle-count",
                             "%s has %" PRId64 " angles, expected %" PRId64 ", one for each %s",
                             name, n, projections->n_views, view);
        return ts_projections_hint_count(projections, angles, n, unit, units);
    }
    if (status != TS_OK)
        return status;
    if (!sure)
        unit = *units ? ts_angle_unit_of(units) : ANGLE_UNIT_DEGREE;
    if (unit != ANGLE_UNIT_FILE)
        return ts_projections_angles(projections, angles, n, unit, sure);
    ts_text_escape(shown, sizeof shown, units);
    ts_hdf5_input_refuse(input, "angle-unit", "the unit of %s is %s, expected degree or radian",
                         name, shown);
    return ts_diag_hint(input->diag, "%s", ANGLE_UNIT_HINT);
}

enum ts_status ts_projections_range(struct projections *projections, double start, double stop,
                                    bool endpoint, enum angle_unit unit)
{
    const int64_t n = projections->n_views, n_steps = endpoint ? n - 1 : n;
    double *angles = ts_arena_alloc(projections->arena, (size_t)n * sizeof *angles);
    if (!angles)
        return ts_diag_no_memory(projections->input.diag, (size_t)n * sizeof *angles);
    for (int64_t i = 0; i < n; i++)
        angles[i] = start + (n_steps > 0 ? (double)i * (stop - start) / (double)n_steps : 0);
    const double range = n > 1 ? fabs(angles[n - 1] - angles[0]) : 0;
    if (unit == ANGLE_UNIT_FILE && ts_angles_look_like_radians(range, n)) {
        ts_param_error(
            projections->input.set, "theta_stop", "angle-unit", projections->input.diag,
            "%" PRId64
            " views from %g to %g degrees are what half a turn or a turn would be in radians",
            n, start, stop);
        return ts_diag_hint(projections->input.diag,
                            "angle_unit: radian, or angle_unit: degree if they are degrees");
    }
    return ts_projections_angles(projections, angles, n,
                                 unit == ANGLE_UNIT_FILE ? ANGLE_UNIT_DEGREE : unit, true);
}

/* ---- the source ------------------------------------------------------------------------------ */

static void close_source(struct source *base)
{
    struct projection_source *source = (struct projection_source *)base;
    ts_read_ahead_destroy(source->in.reading);
    ts_hdf5_stack_reader_destroy(source->boxes);
    ts_hdf5_stack_reader_destroy(source->masks);
    ts_projections_close(&source->projections);
    free(base->valid);
    free(base->slices);
    free(source->map);
    free(source);
}

static size_t memory_bytes(const struct source *base, int threads, int64_t ahead)
{
    const struct projection_source *source = (const struct projection_source *)base;
    const struct hdf5_stack *mask = &source->projections.mask;
    size_t mask_bytes = ts_source_valid_bytes(base);
    if (mask_bytes > 0 && !source->projections.bad)
        mask_bytes += ts_hdf5_stack_scratch(mask, threads) +
                      (size_t)ts_hdf5_stack_together(mask, 0) * ts_slice_count(&base->image);
    return ts_hdf5_stack_scratch(&source->projections.stack, threads) +
           ts_read_ahead_bytes(base, &source->in.rule, ahead) + mask_bytes;
}

static enum ts_status check_unchanged(const struct source *base, struct ts_diag *diag)
{
    return ts_hdf5_input_check_unchanged(
        &((const struct projection_source *)base)->projections.input, diag);
}

static bool projections_holds(const struct source *base, const struct file_set *files)
{
    return ts_hdf5_input_holds(&((const struct projection_source *)base)->projections.input, files);
}

/* Makes bits from the mask of a slice, unless an earlier read has made them, since they may be in
   use. */
static void take_mask(struct source *base, int64_t z, const uint8_t *mask)
{
    const size_t n = ts_slice_count(&base->image);
    uint64_t *valid = ts_source_valid(base, z);
    if (*base->slices[z].pixel_sha256)
        return;
    base->slices[z].padding_count = 0;
    for (size_t first = 0; first < n; first += 64) {
        uint64_t word = 0;
        for (size_t i = first; i < n && i < first + 64; i++)
            word |= (uint64_t)(mask[i] == 0) << (i - first);
        valid[first / 64] = word;
        base->slices[z].padding_count +=
            (int64_t)(n - first < 64 ? n - first : 64) - __builtin_popcountll(word);
    }
}

/* Reads the masks of slices [z, z + n), those that the file holds together at a time. */
static enum ts_status read_masks(struct projection_source *source, struct pool *readers, int64_t z,
                                 int64_t n, const struct hdf5_input *input)
{
    struct source *base = &source->in.base;
    const struct hdf5_stack *mask = &source->projections.mask;
    const size_t slice = ts_slice_count(&base->image);
    const int64_t together = ts_hdf5_stack_together(mask, 0);
    uint8_t *values = malloc((size_t)together * slice);
    enum ts_status status = TS_OK;
    if (!source->masks)
        source->masks = ts_hdf5_stack_reader_create(mask, readers);
    if (!values || !source->masks)
        status = ts_diag_no_memory(input->diag, (size_t)together * slice);
    for (int64_t first = z, end; status == TS_OK && first < z + n; first = end) {
        end = (first / together + 1) * together < z + n ? (first / together + 1) * together : z + n;
        const struct hdf5_box box = {.first = {first, 0, 0},
                                     .end = {end, mask->n[1], mask->n[2]},
                                     .stride = {(ptrdiff_t)slice, (ptrdiff_t)mask->n[2], 1},
                                     .out = values};
        status = ts_hdf5_stack_read(source->masks, input, &box);
        for (int64_t k = first; status == TS_OK && k < end; k++)
            take_mask(base, k, values + (size_t)(k - first) * slice);
    }
    free(values);
    return status;
}

/* Marks the bad pixels of the detector in all views of slices [z, z + n), unless an earlier read
 * has done so. */
static void mark_bad(struct projection_source *source, int64_t z, int64_t n)
{
    struct source *base = &source->in.base;
    const int64_t n_views = base->image.axes[1].n, columns = base->image.axes[2].n;
    for (int64_t k = z; k < z + n; k++) {
        const uint8_t *bad = source->projections.bad + k * columns;
        uint64_t *valid = ts_source_valid(base, k);
        if (*base->slices[k].pixel_sha256)
            continue;
        memset(valid, 0, ts_valid_bytes(&base->image));
        int64_t n_valid = 0;
        for (int64_t i = 0; i < n_views * columns; i++) {
            valid[i / 64] |= (uint64_t)(bad[i % columns] == 0) << i % 64;
            n_valid += bad[i % columns] == 0;
        }
        base->slices[k].padding_count = n_views * columns - n_valid;
    }
}

/* Reads rows [z, z + n) out of the file. */
static enum ts_status read_rows(struct source *base, struct pool *readers, int64_t z, int64_t n,
                                void *out, struct ts_diag *diag)
{
    struct projection_source *source = (struct projection_source *)base;
    const struct projections *projections = &source->projections;
    const struct ts_image *image = &base->image;
    const int *order = projections->order;
    struct hdf5_input input = projections->input;
    struct ts_rounding rounding = {0};
    struct hdf5_box box = {.out = out, .rounding = &rounding, .doubles = image->dtype == TS_F64};
    input.set = NULL;
    input.diag = diag;
    memcpy(box.end, projections->stack.n, sizeof box.end);
    box.map[order[1]] = source->map;
    box.first[order[0]] = z;
    box.end[order[0]] = z + n;
    box.stride[order[0]] = (ptrdiff_t)ts_slice_count(image);
    box.stride[order[1]] = (ptrdiff_t)image->axes[2].n;
    box.stride[order[2]] = 1;
    if (!source->boxes &&
        !(source->boxes = ts_hdf5_stack_reader_create(&projections->stack, readers)))
        return ts_diag_no_memory(diag, sizeof box);
    enum ts_status status = ts_hdf5_stack_read(source->boxes, &input, &box);
    if (status == TS_OK &&
        (projections->stack.stored == TS_F64 || projections->stack.stored == TS_U64))
        ts_source_note_rounding(base, z, n, &rounding);
    if (status == TS_OK && base->image.masked && projections->bad)
        mark_bad(source, z, n);
    else if (status == TS_OK && base->image.masked)
        status = read_masks(source, readers, z, n, &input);
    return status == TS_OK ? ts_source_digest(base, readers, z, n, out, diag) : status;
}

static const struct source_ops projection_ops = {RULE_SOURCE_OPS, .memory_bytes = memory_bytes,
                                                 .check_unchanged = check_unchanged,
                                                 .holds = projections_holds, .close = close_source};

/* Frames have no angles if they show no object: they are numbered. */
static const double *view_positions(const struct projections *projections)
{
    double *positions =
        ts_arena_alloc(projections->arena, (size_t)projections->n_views * sizeof *positions);
    for (int64_t i = 0; positions && i < projections->n_views; i++)
        positions[i] = (double)(projections->frames ? projections->frames[i] : i);
    return positions;
}

static void describe_image(const struct projections *projections, struct ts_image *image)
{
    const int64_t *n = projections->stack.n;
    const int *order = projections->order;
    const bool volume = projections->volume;
    if (projections->described) {
        *image = *projections->described;
        return;
    }
    *image = (struct ts_image){.rank = 3,
                               .dtype = projections->stack.dtype,
                               .quantity = projections->quantity,
                               .unit = ts_source_unit(projections->quantity)};
    image->axes[0] = ts_source_axis(TS_AXIS_Z, n[order[0]], projections->spacing_mm[0]);
    image->axes[1] =
        volume ? ts_source_axis(TS_AXIS_Y, projections->n_views, projections->spacing_y_mm)
               : (struct ts_axis){.kind = TS_AXIS_VIEW,
                                  .n = projections->n_views,
                                  .unit = projections->angles ? "degree" : "",
                                  .positions = projections->angles};
    image->axes[2] = ts_source_axis(volume ? TS_AXIS_X : TS_AXIS_DETECTOR, n[order[2]],
                                    projections->spacing_mm[1]);
}

/* Finds the view of each frame in the file, -1 if the source has none. */
static enum ts_status map_frames(struct projection_source *source)
{
    const struct projections *projections = &source->projections;
    const int64_t n = projections->stack.n[projections->order[1]];
    source->map = malloc((size_t)n * sizeof *source->map);
    if (!source->map)
        return ts_diag_no_memory(projections->input.diag, (size_t)n * sizeof *source->map);
    for (int64_t i = 0; i < n; i++)
        source->map[i] = projections->frames ? -1 : i;
    for (int64_t i = 0; projections->frames && i < projections->n_views; i++)
        source->map[projections->frames[i]] = i;
    return TS_OK;
}

/* Leaves out the views that drop_views names. */
static enum ts_status drop_views(struct projections *projections)
{
    struct ts_diag *diag = projections->input.diag;
    int64_t n;
    const enum ts_status status =
        ts_drop_views(projections->input.set, projections->volume ? 0 : projections->n_views,
                      projections->arena, &projections->kept, &n, diag);
    if (status != TS_OK || !projections->kept)
        return status;
    int64_t *frames = ts_arena_alloc(projections->arena, (size_t)n * sizeof *frames);
    double *angles = ts_arena_alloc(projections->arena, (size_t)n * sizeof *angles);
    if (!frames || !angles)
        return ts_diag_no_memory(diag, (size_t)n * sizeof *angles);
    for (int64_t i = 0; i < n; i++) {
        const int64_t view = projections->kept[i];
        frames[i] = projections->frames ? projections->frames[view] : view;
        angles[i] = projections->angles ? projections->angles[view] : 0;
    }
    projections->n_views = n;
    projections->frames = frames;
    projections->angles = projections->angles ? angles : NULL;
    return TS_OK;
}

/* ---- what was never written ------------------------------------------------------------------ */

/* Finds the views whose frames are lost. Views that drop_views leaves out are not. */
static struct view_ranges unwritten_views(const struct projection_source *source,
                                          const bool *frames, bool *views)
{
    const struct projections *projections = &source->projections;
    const int64_t n = projections->stack.n[projections->order[1]];
    memset(views, false, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        const int64_t view = source->map[i];
        if (view >= 0)
            views[projections->kept ? projections->kept[view] : view] = frames[i];
    }
    return ts_view_ranges(views, n);
}

/* Refuses a virtual dataset that has no source for a view. */
static enum ts_status check_lost(const struct projection_source *source)
{
    const struct projections *projections = &source->projections;
    const struct hdf5_stack *stack = &projections->stack;
    const bool by_view = projections->order[1] == 0 && !projections->volume;
    const enum ts_status status =
        ts_hdf5_stack_check_lost(&projections->input, stack, by_view ? source->map : NULL);
    bool *views = status != TS_OK && by_view ? malloc((size_t)stack->n[0]) : NULL;
    if (views) {
        const struct view_ranges found = unwritten_views(source, stack->lost, views);
        ts_drop_views_hint(projections->input.set, &found, projections->n_views,
                           projections->input.diag);
    }
    free(views);
    return status;
}

static enum ts_status refuse_unwritten(const struct projections *projections,
                                       const struct view_ranges *found, bool views, int64_t n)
{
    const char *what = "frames";
    if (!views)
        what = "slices";
    else if (projections->kind == FRAMES_PROJECTIONS)
        what = "views";
    const enum ts_status status = ts_hdf5_input_refuse(
        &projections->input, "hdf5-not-written",
        "%" PRId64 " of the %" PRId64 " %s in %s were never written, from number %" PRId64
        " to %" PRId64 ": the program that wrote them was ended early, or has lost them",
        found->count, n, what, projections->stack.name, found->first, found->last);
    if (views)
        ts_drop_views_hint(projections->input.set, found, projections->n_views,
                           projections->input.diag);
    else
        ts_diag_hint(projections->input.diag,
                     "slices: [%" PRId64 ", %" PRId64 "] reads the longest range that is there",
                     found->run_first, found->run_end);
    return status;
}

/* Refuses a scan that was aborted, before anything is read: because of lost views, or of slices if
   fewer of these are lost. It is accepted if the range of slices that the chain gives is there. */
static enum ts_status check_written(const struct projection_source *source)
{
    const struct projections *projections = &source->projections;
    const struct hdf5_stack *stack = &projections->stack;
    const struct ts_numbers *slices = ts_source_slices(projections->input.set);
    const bool sliced = slices && slices->rows > 0,
               volume = projections->volume || projections->described;
    const int64_t n_z = stack->n[projections->order[0]], n = stack->n[projections->order[1]],
                  n_views = projections->n_views;
    if (stack->n_volumes > 1)
        return TS_OK;
    bool *lost = malloc((size_t)(n_z + 2 * n));
    if (!lost)
        return ts_diag_no_memory(projections->input.diag, (size_t)(n_z + 2 * n));
    struct view_ranges z = {0}, views = {0};
    if (!sliced && ts_hdf5_stack_unwritten(stack, projections->order[0], true, lost) > 0)
        z = ts_view_ranges(lost, n_z);
    if (!volume && ts_hdf5_stack_unwritten(stack, projections->order[1], !sliced, lost + n_z) > 0)
        views = unwritten_views(source, lost + n_z, lost + n_z + n);
    free(lost);
    if (views.count == 0 && (!volume || z.count == 0))
        return TS_OK; /* what is not wanted may be lost */
    if (z.count == n_z && (volume || views.count == n_views))
        return ts_hdf5_input_refuse(&projections->input, "hdf5-not-written",
                                    "%s was created, and no slice of it was ever written whole",
                                    stack->name);
    const bool by_view =
        !volume && (sliced || z.count == 0 || views.count * n_z <= z.count * n_views);
    return refuse_unwritten(projections, by_view ? &views : &z, by_view, by_view ? n_views : n_z);
}

static enum ts_status projections_fill(struct projection_source *source)
{
    struct projections *projections = &source->projections;
    struct ts_diag *diag = projections->input.diag;
    struct ts_image *image = &source->in.base.image;
    const bool described = projections->described != NULL;
    for (int d = 0; d < 3; d++)
        if (projections->stack.n[d] > SIDE_MAX)
            return ts_hdf5_input_refuse(&projections->input, "hdf5-size",
                                        "axis %d of %s has length %" PRId64 ", at most %d are read",
                                        d, projections->stack.name, projections->stack.n[d],
                                        SIDE_MAX);
    if (projections->input.set->doubles && !described && projections->stack.stored == TS_F64)
        projections->stack.dtype = TS_F64;
    describe_image(projections, image);
    enum ts_status status = described ? TS_OK : ts_source_beam(projections->input.set, image, diag);
    if (status == TS_OK && !projections->volume && !described && !image->axes[1].positions &&
        !(image->axes[1].positions = view_positions(projections)))
        status = ts_diag_no_memory(diag, (size_t)projections->n_views * sizeof(double));
    if (status == TS_OK && ts_image_bytes(image) > INT64_MAX)
        status = ts_hdf5_input_refuse(&projections->input, "hdf5-size",
                                      "the size of the scan cannot be addressed");
    source->in.base.n_volumes = projections->stack.n_volumes;
    source->in.base.volume_axis = projections->volume_axis;
    if (status == TS_OK)
        status = ts_source_make_slices(&source->in.base, diag);
    for (int64_t z = 0; status == TS_OK && z < ts_source_total(&source->in.base); z++)
        source->in.base.slices[z].states_padding =
            projections->mask.name ||
            (projections->bad &&
             memchr(projections->bad + z * image->axes[2].n, 1, (size_t)image->axes[2].n));
    if (status == TS_OK)
        status = ts_source_set_padding(&source->in.base, projections->padding, diag);
    if (status == TS_OK)
        status = map_frames(source);
    if (status == TS_OK) /* frames that are not read need not be there */
        status = check_lost(source);
    if (status != TS_OK)
        return status;
    source->in.rule = (struct read_rule){
        read_rows, ts_hdf5_stack_together(&projections->stack, projections->order[0]),
        READ_AHEAD_BYTES};
    source->in.base.attributes = projections->attributes;
    source->in.base.n_attributes = projections->n_attributes;
    memcpy(source->in.base.facts, projections->facts, sizeof projections->facts);
    source->in.base.n_files = ts_hdf5_input_count(&projections->input);
    for (int i = 0; i < projections->stack.storage.n_filters && i < STORAGE_FILTERS; i++)
        if (projections->stack.storage.filters[i].filter.id == H5Z_FILTER_DEFLATE)
            source->in.base.coding = SOURCE_DEFLATED;
    return TS_OK;
}

/* What rows of flats or darks are read with, for ts_frame_means_warn(). */
struct frame_reader {
    const struct projections *projections;
    struct hdf5_input input;
    struct hdf5_stack_reader *reader;
};

static bool read_row(void *context, int64_t frame, int64_t z, double *values)
{
    struct frame_reader *of = context;
    const int *order = of->projections->order;
    const int64_t n = of->projections->stack.n[order[2]];
    struct hdf5_box box = {.out = values, .doubles = true};
    if (of->projections->frames)
        frame = of->projections->frames[frame];
    box.first[order[0]] = z;
    box.end[order[0]] = z + 1;
    box.first[order[1]] = frame;
    box.end[order[1]] = frame + 1;
    box.end[order[2]] = n;
    box.stride[order[0]] = box.stride[order[1]] = (ptrdiff_t)n;
    box.stride[order[2]] = 1;
    return ts_hdf5_stack_read(of->reader, &of->input, &box) == TS_OK;
}

static enum ts_status warn_of_drift(const struct projection_source *source)
{
    const struct projections *projections = &source->projections;
    const int *order = projections->order;
    struct frame_reader of = {projections, projections->input, NULL};
    struct ts_diag *diag = of.input.diag, *trial = ts_diag_create();
    struct pool *readers = ts_pool_create(1);
    const struct frame_rows rows = {read_row, &of, projections->n_views,
                                    projections->stack.n[order[0]], projections->stack.n[order[2]]};
    of.reader = readers ? ts_hdf5_stack_reader_create(&projections->stack, readers) : NULL;
    of.input.diag = trial;
    const enum ts_status status =
        trial && of.reader ? ts_frame_means_warn(projections->input.set, projections->input.path,
                                                 projections->kind == FRAMES_DARKS, &rows, diag)
                           : ts_diag_no_memory(diag, sizeof of);
    ts_hdf5_stack_reader_destroy(of.reader);
    ts_pool_destroy(readers);
    ts_diag_destroy(trial);
    return status;
}

static const char is_value[] = "pixels of this value are taken for measured ones";
static const char is_limit[] = "pixels beyond it are taken for measured ones";

/* Warns of the attributes of a dataset that say that its values are others than those that are
 * stored, or that some are none: those of ts_scan_field_warn_of_scale(), and _FillValue,
 * missing_value, valid_min and valid_max of the Climate and Forecast conventions. */
static enum ts_status scan_field_warn_of_attributes(const struct hdf5_input *input,
                                                    const struct hdf5_stack *stack)
{
    double least = -INFINITY, most = INFINITY;
    if (ts_dtype_is_integer(stack->stored) && stack->stored != TS_U64)
        ts_dtype_range(stack->stored, &least, &most);
    const struct {
        const char *name, *what;
        double low, high; /* between these two it changes nothing */
    } rows[] = {
        {"_FillValue", is_value, NAN, NAN},
        {"missing_value", is_value, NAN, NAN},
        {"valid_min", is_limit, -INFINITY, least},
        {"valid_max", is_limit, most, INFINITY},
    };
    enum ts_status status = ts_scan_field_warn_of_scale(input, &stack->dataset, stack->name);
    for (size_t i = 0; status == TS_OK && i < sizeof rows / sizeof *rows; i++) {
        double value = 0;
        int found = 0;
        char name[HDF5_INPUT_PATH + 64];
        status = ts_hdf5_input_numbers(input, &stack->dataset, rows[i].name, 1, &value, &found);
        if (found != 1 || (value >= rows[i].low && value <= rows[i].high) || value < least ||
            value > most)
            continue;
        snprintf(name, sizeof name, "the attribute %s of %s", rows[i].name, stack->name);
        ts_scan_field_warn(input, name, "is %.9g: %s", value, rows[i].what);
        ts_diag_hint(input->diag,
                     "the stage bad_pixels fills what lies below `lowest` or from `highest` on");
    }
    return status;
}

enum ts_status ts_projections_source(const struct param_set *set, projections_find *find,
                                     struct source **out, struct ts_diag *diag)
{
    struct projection_source *source = calloc(1, sizeof *source);
    *out = NULL;
    if (!source)
        return ts_diag_no_memory(diag, sizeof *source);
    struct projections *projections = &source->projections;
    source->in.base.ops = &projection_ops;
    enum ts_status status = ts_projections_open(set, diag, projections);
    if (status == TS_OK)
        status = find(projections, set);
    if (status == TS_OK)
        status = drop_views(projections);
    if (status == TS_OK && !projections->described)
        status = scan_field_warn_of_attributes(&projections->input, &projections->stack);
    if (status == TS_OK)
        status = projections_fill(source);
    if (status == TS_OK)
        status = ts_hdf5_stack_locate(&projections->input, &projections->stack);
    if (status == TS_OK)
        status = check_written(source);
    if (status == TS_OK && source->in.base.image.masked && !projections->bad)
        status = ts_hdf5_stack_locate(&projections->input, &projections->mask);
    if (status == TS_OK && projections->kind != FRAMES_PROJECTIONS)
        status = warn_of_drift(source);
    ts_hdf5_input_found(&projections->input);
    projections->input.set = NULL;
    projections->input.diag = NULL;
    if (status == TS_OK)
        *out = &source->in.base;
    else
        close_source(&source->in.base);
    return status;
}
