/* SPDX-License-Identifier: Apache-2.0
 *
 * crop: y[z][y][x] = x[z0 + z][y0 + y][x0 + x], a box of (z, y, x). An axis whose range is not
 * given is kept whole. With `unit: mm` or `patient` a range is turned into indices by the positions
 * of the pixels' centers along the axis, counted from the first pixel or in the patient. The result
 * stores the latter, so that a box that was read off a picture with axes can be given as it is.
 *
 * The box of a region is found by `bounds` before a plan is made (stages/engine/stage.h: struct
 * stage_search), because the size of the output follows from it. It becomes the ranges of the axes
 * that have none, in the chain's unit, and with these the recorded chain can be run again.
 */
#include "stages/grid/crop.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/grid.h"
#include "stages/engine/validity.h"

static const struct choice unit_choices[] = {
    {"pixel", CROP_PIXEL,
     "[first, end): indices from 0, of which `end` is the first that is dropped"},
    {"mm", CROP_MM,
     "[low, high]: pixels stay whose centers are within, by their positions along the axis"},
    {"patient", CROP_PATIENT,
     "[low, high] in mm: the same by the positions that the output file has, in the patient"},
    {NULL, 0, NULL},
};

#define RANGE(axis)                                                                                \
    PARAM(struct crop_params, axis, .unit = "", .optional = true,                                  \
          .doc = "the range along " #axis                                                          \
                 " in `unit`: [first, end), or [low, high] in mm. Without it all of the axis "     \
                 "stays")
static const struct param crop_params[] = {
    RANGE(x),
    RANGE(y),
    RANGE(z),
    PARAM(struct crop_params, unit, .unit = "", .choices = unit_choices, .init.choice = CROP_PIXEL,
          .doc = "the unit of the ranges, and of the margin"),
    PARAM(struct crop_params, above, .unit = "value", .min = -INFINITY, .max = INFINITY,
          .init.r = -INFINITY,
          .doc = "the ranges that are not given are those of the smallest box of the pixels above "
                 "this value"),
    PARAM(struct crop_params, below, .unit = "value", .min = -INFINITY, .max = INFINITY,
          .init.r = INFINITY,
          .doc = "the same of the pixels below this value; with `above`, of those between the two"),
    PARAM(struct crop_params, mask, .optional = true,
          .doc = "the same of the pixels where this image of the same shape is not 0; with `above` "
                 "or `below`, of those that both choose; absent: all"),
    PARAM(
        struct crop_params, margin, .unit = "", .min = 0, .max = 1e9, .init.r = 0,
        .doc =
            "how far the box that is found is widened to every side, as far as the image reaches"),
};

STAGE_PARAMS_OF(crop_params)

static const struct {
    const char *name;
    size_t offset;
} ranges[3] = {{"z", offsetof(struct crop_params, z)},
               {"y", offsetof(struct crop_params, y)},
               {"x", offsetof(struct crop_params, x)}};

static const struct ts_numbers *range_of(const struct crop_params *params, int d)
{
    return (const struct ts_numbers *)((const char *)params + ranges[d].offset);
}

/* Returns the position of index i along input axis d. If it is not that in the patient, y falls
 * with the row (docs/geometry.md). */
static double position_of(const struct crop_params *params, const struct ts_image *in, int d,
                          int64_t i)
{
    const double own = ts_axis_position(&in->axes[d], i);
    double first, step, vector[3];
    if (params->unit == CROP_PATIENT && ts_grid_place_axis(in, d, &first, &step, vector))
        return first + (double)i * step;
    return d == 1 ? 0 - own : own;
}

static bool is_within(double position, double low, double high)
{
    return position >= low && position <= high;
}

/* Finds the indices [*first, *end) of an axis that a range keeps; none if *first >= *end. */
static void find_range(const struct crop_params *params, const struct ts_image *in, int d,
                       int64_t *first, int64_t *end)
{
    const struct ts_axis *axis = &in->axes[d];
    /* A center at an end of the range is inside, whatever the rounding of its position. */
    const double slack = 1e-6 * ts_axis_spacing(axis);
    const struct ts_numbers *range = range_of(params, d);
    *first = 0;
    *end = axis->n;
    if (range->columns == 0)
        return;
    if (params->unit == CROP_PIXEL) {
        *first = (int64_t)range->values[0];
        *end = (int64_t)range->values[1];
        return;
    }
    const double low = range->values[0] - slack, high = range->values[1] + slack;
    while (*first < *end && !is_within(position_of(params, in, d, *first), low, high))
        ++*first;
    while (*end > *first && !is_within(position_of(params, in, d, *end - 1), low, high))
        --*end;
}

static bool has_region(const struct param_set *set)
{
    return ts_param_given(set, "above") || ts_param_given(set, "below") ||
           ts_param_given(set, "mask");
}

static enum ts_status check_unit(const struct stage_context *context,
                                 const struct crop_params *params, int d)
{
    const struct ts_axis *axis = &context->in.axes[d];
    const char *name = ranges[d].name;
    double first, step, vector[3];
    if (params->unit == CROP_PATIENT &&
        !ts_grid_place_axis(&context->in, d, &first, &step, vector)) {
        ts_param_error(context->set, "unit", "crop-unit", context->diag,
                       "is patient, and the image has no place in a patient along %s", name);
        return ts_diag_hint(context->diag, "`unit: pixel`, with indices from 0");
    }
    if (axis->unit && !strcmp(axis->unit, "mm"))
        return TS_OK;
    ts_param_error(context->set, name, "crop-unit", context->diag,
                   "is in mm, and positions along %s are in '%s'", name,
                   axis->unit ? axis->unit : "");
    return ts_diag_hint(context->diag, "`unit: pixel`, with indices from 0");
}

static enum ts_status check_range(const struct stage_context *context,
                                  const struct crop_params *params, int d)
{
    const struct ts_axis *axis = &context->in.axes[d];
    const struct ts_numbers *range = range_of(params, d);
    const char *name = ranges[d].name;
    if (range->columns == 0)
        return params->unit != CROP_PIXEL && has_region(context->set)
                   ? check_unit(context, params, d)
                   : TS_OK;
    if (range->rows != 1 || range->columns != 2)
        return ts_param_error(context->set, name, "crop-list", context->diag,
                              "%" PRId64 " rows of %" PRId64
                              " numbers, expected two: where the range begins and ends",
                              range->rows, range->columns);
    const double low = range->values[0], high = range->values[1];
    if (params->unit == CROP_PIXEL) {
        if (low == floor(low) && high == floor(high) && low >= 0 && low < high &&
            high <= (double)axis->n)
            return TS_OK;
        ts_param_error(context->set, name, "crop-range", context->diag,
                       "[%g, %g) is not a range of the %" PRId64 " indices of %s", low, high,
                       axis->n, name);
        return ts_diag_hint(
            context->diag, "[first, end] with whole numbers 0 <= first < end <= %" PRId64, axis->n);
    }
    const enum ts_status status = check_unit(context, params, d);
    if (status != TS_OK)
        return status;
    int64_t first, end;
    find_range(params, &context->in, d, &first, &end);
    if (first < end)
        return TS_OK;
    ts_param_error(context->set, name, "crop-range", context->diag,
                   "no pixel has its center within [%g, %g] mm", low, high);
    return ts_diag_hint(context->diag, "along %s the centers lie from %g to %g mm", name,
                        position_of(params, &context->in, d, 0),
                        position_of(params, &context->in, d, axis->n - 1));
}

/* ---- the box of a region --------------------------------------------------------------------- */

static bool search_needed(const struct param_set *set)
{
    bool whole = false;
    for (int d = 0; d < 3; d++)
        whole |= range_of(set->values, d)->columns == 0;
    return whole && has_region(set);
}

/* Returns how many pixels the margin has along an axis. */
static int64_t margin_of(const struct crop_params *params, const struct ts_axis *axis)
{
    const double pixels =
        params->unit == CROP_PIXEL ? params->margin : params->margin / ts_axis_spacing(axis) + 1e-6;
    return pixels < (double)axis->n ? (int64_t)pixels : axis->n;
}

static void set_range(struct param_set *set, int d, const struct ts_image *in, int64_t first,
                      int64_t end, double *memory)
{
    const struct crop_params *params = set->values;
    size_t index;
    ts_param_find(set->params, set->n_params, ranges[d].name, &index);
    const double a = position_of(params, in, d, first), b = position_of(params, in, d, end - 1);
    memory[0] = params->unit == CROP_PIXEL ? (double)first : fmin(a, b);
    memory[1] = params->unit == CROP_PIXEL ? (double)end : fmax(a, b);
    *(struct ts_numbers *)ts_param_field(set, index) = (struct ts_numbers){1, 2, memory};
    set->given |= 1u << index;
}

static enum ts_status search_found(struct param_set *set, const struct stage_context *context,
                                   const struct stage_table *tables, int n_tables,
                                   double memory[STAGE_SEARCH_NUMBERS])
{
    const uint64_t *counts[3] = {NULL}; /* count, first, end: the tables of bounds */
    for (int i = 0; i < n_tables && i < 3; i++)
        counts[i] = tables[i].image.data;
    if (*counts[0] == 0) {
        const char *param = ts_param_given(set, "above") ? "above" : "below";
        if (ts_param_given(set, "mask"))
            param = "mask";
        ts_param_error(set, param, "crop-empty", context->diag,
                       "chooses no pixel, so that there is no box");
        return ts_diag_hint(context->diag, "`statistics` in place of `crop` tells the range of the "
                                           "values; x, y and z give a box by hand");
    }
    for (int d = 0; d < 3; d++) {
        const struct ts_axis *axis = &context->in.axes[d];
        const int64_t margin = margin_of(set->values, axis), first = (int64_t)counts[1][d] - margin;
        const int64_t end = (int64_t)counts[2][d] + margin;
        if (range_of(set->values, d)->columns == 0)
            set_range(set, d, &context->in, first > 0 ? first : 0, end < axis->n ? end : axis->n,
                      memory + 2 * d);
    }
    return TS_OK;
}

static const struct stage_search search = {
    .by = &bounds_stage, .needed = search_needed, .found = search_found};

static enum ts_status check_region(const struct stage_context *context,
                                   const struct crop_params *params)
{
    static const char *const names[] = {"above", "below", "margin"};
    if (!has_region(context->set)) {
        if (ts_param_given(context->set, "margin"))
            return ts_param_error(
                context->set, "margin", "parameter-unused", context->diag,
                "is that of a box that `above`, `below` or `mask` finds, and none is given");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            ts_param_idle(context->set, names[i]);
    } else if (!(params->above < params->below)) {
        ts_param_error(context->set, "below", "range-order", context->diag,
                       "%g is not above `above`, %g", params->below, params->above);
        return ts_diag_hint(context->diag,
                            "values between two have `above`, the lower one, and `below`");
    } else if (params->unit == CROP_PIXEL && params->margin != floor(params->margin)) {
        return ts_param_error(context->set, "margin", "crop-range", context->diag,
                              "%g is no whole number of pixels", params->margin);
    }
    return ts_stage_check_mask(context);
}

static enum ts_status crop_resolve(const struct stage_context *context, void *values)
{
    enum ts_status status = check_region(context, values);
    for (int d = 2; status == TS_OK && d >= 0; d--)
        status = check_range(context, values, d);
    return status;
}

struct moves ts_crop_moves(const struct stage_context *context)
{
    struct moves moves = {.from = {0, 1, 2}, .sign = {1, 1, 1}};
    for (int d = 0; d < 3; d++) {
        int64_t end;
        find_range(params_of(context), &context->in, d, &moves.start[d], &end);
        moves.n[d] = end - moves.start[d];
    }
    return moves;
}

static enum ts_status crop_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct moves moves = ts_crop_moves(context);
    ts_moves_shape(&moves, &context->in, out);
    return TS_OK;
}

static struct stage_slices reads(const struct stage_context *context, int64_t first, int64_t end)
{
    const struct moves moves = ts_crop_moves(context);
    return ts_moves_read(&moves, first, end);
}

static enum ts_status crop_map(const struct stage_context *context, const struct ts_image *in,
                               struct ts_image *out, void *scratch)
{
    const struct moves moves = ts_crop_moves(context);
    (void)scratch;
    ts_moves_copy(&moves, in, out, context->threads);
    return TS_OK;
}

const struct stage crop_stage = {
    .name = "crop",
    .traits = TRAIT_NEW_DETECTOR,
    .summary = "a box of a volume, by indices or by positions in mm",
    .doc =
        "Keeps the pixels within a range of each axis. The ranges are indices, `[first, end)` as "
        "in NumPy, or positions along the axes, where a pixel stays if its center is within. With "
        "`unit: patient` these are positions in the patient, as output files have them: of usual "
        "axial slices, x rises to the left, y to the back and z to the head. With `unit: mm` they "
        "are counted from the first pixel: of a CT, x begins at 0 and rises, and y begins at 0 and "
        "falls. Origin and positions follow, so that every pixel stays where it was in the "
        "patient. Slices outside the range of z are not read.\n\n"
        "With `above`, `below` or `mask` the smallest box of a region is found, widened by "
        "`margin`: `crop: {above: -500, margin: 10, unit: mm}` cuts the air around a patient away. "
        "Axes whose ranges are given keep these. The pixels then decide the size of the result: "
        "`run` finds the box first, by a pass of `bounds` over the output of the stages before, "
        "and plans with it. The ranges that it found are recorded, and the recorded chain cuts the "
        "same box without a search. `check` reads no pixels, and plans with the largest box. NaN "
        "and invalid pixels belong to no region; an empty one is refused.\n\n"
        "Sinograms are refused: `pad` and `stitch` change their detector, and `slices` of the "
        "input their slices. A box along views would silently leave angles out.",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    STAGE_PARAMS(crop_params, struct crop_params),
    .resolve = crop_resolve,
    .shape = crop_shape,
    .reads = reads,
    .map = crop_map,
    .validity = VALIDITY_MOVES,
    .search = &search,
    .cuda = STAGE_CUDA(crop_cuda),
    .bench = "|x=[16,400] y=[30,500]",
    .tolerance = {.why = "values are copied"},
};
