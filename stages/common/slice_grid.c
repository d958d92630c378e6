/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/common/slice_grid.h"

#include <string.h>

#include "stages/common/beam.h"

enum ts_status ts_slice_grid_resolve(const struct stage_context *context, struct slice_grid *grid)
{
    const struct ts_image *in = &context->in;
    const struct ts_axis *detector = &in->axes[2];
    const bool fan = in->beam.kind != TS_BEAM_PARALLEL;
    if (!in->axes[1].unit || strcmp(in->axes[1].unit, "degree") != 0)
        return ts_diag_error(
            context->diag, TS_BAD_CHAIN,
            &(struct diag_site){.code = "angles-missing", .span = context->set->span, .stage = context->stage->name},
            "the views of the sinogram have no angles");
    if (!ts_param_given(context->set, "rows"))
        grid->rows = detector->n;
    if (!ts_param_given(context->set, "columns"))
        grid->columns = detector->n;
    if (!ts_param_given(context->set, "pixel_size"))
        grid->pixel_size = (detector->spacing > 0 ? detector->spacing : 1) *
                           (fan ? in->beam.source_axis_mm / in->beam.source_detector_mm : 1);
    const struct beam_geometry pixels = {.n_rows = grid->rows,
                                         .n_columns = grid->columns,
                                         .row_spacing = grid->pixel_size,
                                         .column_spacing = grid->pixel_size};
    const double least = ts_beam_least_source_axis(&pixels);
    if (fan && !(in->beam.source_axis_mm > least))
        return ts_param_error(context->set, "pixel_size", "source-inside", context->diag,
                              "the slice would reach to %g mm from the rotation axis, where the source stands at %g mm",
                              least, in->beam.source_axis_mm);
    ts_unit_per_length(in->unit, detector->unit, grid->unit);
    return TS_OK;
}

void ts_slice_grid_shape(const struct stage_context *context, const struct slice_grid *grid, const char *unit,
                         struct ts_image *out)
{
    const char *length = context->in.axes[2].unit;
    const double half_y = 0.5 * (double)(grid->rows - 1) * grid->pixel_size,
                 half_x = 0.5 * (double)(grid->columns - 1) * grid->pixel_size;
    /* A sinogram's origin is the rotation center of its first slice. */
    for (int i = 0; i < 3; i++)
        out->origin_mm[i] -= half_x * out->direction[i] + half_y * out->direction[3 + i];
    out->axes[1] = (struct ts_axis){.kind = TS_AXIS_Y, .n = grid->rows, .spacing = grid->pixel_size, .unit = length};
    out->axes[2] = (struct ts_axis){.kind = TS_AXIS_X, .n = grid->columns, .spacing = grid->pixel_size, .unit = length};
    out->beam = (struct ts_beam){0};
    out->dtype = TS_F32;
    out->unit = unit;
    out->quantity = ts_unit_quantity(unit);
}
