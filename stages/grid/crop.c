/* SPDX-License-Identifier: Apache-2.0
 *
 * crop: y[z][y][x] = x[z0 + z][y0 + y][x0 + x], a box of (z, y, x). An axis whose range is not given is kept whole.
 * With `unit: mm` a range is turned into indices by the positions of the pixels' centers along the axis, which the
 * result stores, so that a box that was read off a picture with axes can be given as it is.
 */
#include "stages/grid/crop.h"

#include <inttypes.h>
#include <string.h>

static const struct choice unit_choices[] = {
    {"pixel", CROP_PIXEL, "[first, end): indices from 0, of which `end` is the first that is dropped"},
    {"mm", CROP_MM, "[low, high]: pixels stay whose centers lie within, by their positions along the axis"},
    {NULL, 0, NULL},
};

#define RANGE(axis)                                                                                                    \
    PARAM(struct crop_params, axis, .unit = "", .optional = true,                                                      \
          .doc =                                                                                                       \
              "the range along " #axis " in `unit`: [first, end), or [low, high] in mm. Without it all of the axis "   \
              "stays")
static const struct param crop_params[] = {
    RANGE(x),
    RANGE(y),
    RANGE(z),
    PARAM(struct crop_params, unit, .unit = "", .choices = unit_choices, .init.choice = CROP_PIXEL,
          .doc = "the unit of the ranges"),
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

/* Returns the position along input axis d as the output file has it: y falls with the row (docs/geometry.md). */
static double position_of(const struct ts_axis *axis, int d, int64_t i)
{
    return d == 1 ? 0 - ts_axis_position(axis, i) : ts_axis_position(axis, i);
}

/* Finds the indices [*first, *end) of an axis that a range keeps; none where *first >= *end. */
static void find_range(const struct crop_params *params, const struct ts_axis *axis, int d, int64_t *first,
                       int64_t *end)
{
    /* A center that lies on an end of the range is within, whatever the rounding of its position. */
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
    while (*first < *end && !(position_of(axis, d, *first) >= low && position_of(axis, d, *first) <= high))
        ++*first;
    while (*end > *first && !(position_of(axis, d, *end - 1) >= low && position_of(axis, d, *end - 1) <= high))
        --*end;
}

static enum ts_status check_range(const struct stage_context *context, const struct crop_params *params, int d)
{
    const struct ts_axis *axis = &context->in.axes[d];
    const struct ts_numbers *range = range_of(params, d);
    const char *name = ranges[d].name;
    if (range->columns == 0)
        return TS_OK;
    if (range->rows != 1 || range->columns != 2)
        return ts_param_error(context->set, name, "crop-list", context->diag,
                              "%" PRId64 " rows of %" PRId64 " numbers, expected two: where the range begins and ends",
                              range->rows, range->columns);
    const double low = range->values[0], high = range->values[1];
    if (params->unit == CROP_PIXEL) {
        if (low == floor(low) && high == floor(high) && low >= 0 && low < high && high <= (double)axis->n)
            return TS_OK;
        ts_param_error(context->set, name, "crop-range", context->diag,
                       "[%g, %g) is not a range of the %" PRId64 " indices of %s", low, high, axis->n, name);
        return ts_diag_hint(context->diag, "[first, end] with whole numbers 0 <= first < end <= %" PRId64, axis->n);
    }
    if (!axis->unit || strcmp(axis->unit, "mm") != 0)
        return ts_param_error(context->set, name, "crop-unit", context->diag,
                              "is in mm, and positions along %s are in '%s'", name, axis->unit ? axis->unit : "");
    int64_t first, end;
    find_range(params, axis, d, &first, &end);
    if (first < end)
        return TS_OK;
    ts_param_error(context->set, name, "crop-range", context->diag, "no pixel has its center within [%g, %g] mm", low,
                   high);
    return ts_diag_hint(context->diag, "along %s the centers lie from %g to %g mm", name, position_of(axis, d, 0),
                        position_of(axis, d, axis->n - 1));
}

static enum ts_status resolve(const struct stage_context *context, void *values)
{
    enum ts_status status = TS_OK;
    for (int d = 2; status == TS_OK && d >= 0; d--)
        status = check_range(context, values, d);
    return status;
}

struct moves ts_crop_moves(const struct stage_context *context)
{
    struct moves moves = {.from = {0, 1, 2}, .sign = {1, 1, 1}};
    for (int d = 0; d < 3; d++) {
        int64_t end;
        find_range(params_of(context), &context->in.axes[d], d, &moves.start[d], &end);
        moves.n[d] = end - moves.start[d];
    }
    return moves;
}

static enum ts_status shape(const struct stage_context *context, struct ts_image *out)
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

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          void *scratch)
{
    const struct moves moves = ts_crop_moves(context);
    (void)scratch;
    ts_moves_copy(&moves, in, out, context->threads);
    return TS_OK;
}

const struct stage crop_stage = {
    .name = "crop",
    .summary = "a box of a volume, by indices or by positions in mm",
    .doc = "Keeps the pixels within a range of each axis. The ranges are indices, `[first, end)` as in NumPy, or with "
           "`unit: mm` positions along the axes as the output file has them, where a pixel stays if its center "
           "lies within: of a CT, x begins at 0 and rises, and y begins at 0 and falls. Origin and positions follow, "
           "so that every pixel stays where it was in the patient. Slices outside "
           "the range of z are not read.\n\n"
           "Sinograms are refused: `pad` and `stitch` change their detector, and `slices` of the input their slices. A "
           "box along views would leave angles out without a word.",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    STAGE_PARAMS(crop_params, struct crop_params),
    .resolve = resolve,
    .shape = shape,
    .reads = reads,
    .map = map,
    .validity = VALIDITY_MOVES,
    .cuda = STAGE_CUDA(crop_cuda),
    .bench = "|x=[16,400] y=[30,500]",
    .tolerance = {.why = "values are copied"},
};
