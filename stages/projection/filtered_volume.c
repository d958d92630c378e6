/* SPDX-License-Identifier: Apache-2.0
 *
 * The sum over views is an integral over angles; filtered, it has the unit of the rows over a length.
 */
#include "stages/projection/filtered_volume.h"

#include <math.h>

/* The side of the axis that sees less may see so much of what the other does without a word. */
static const double nearer_share = 2.0 / 3;

/* A filter needs rows that see the whole object. */
static void warn_of_field(const struct stage_context *context, const struct reconstruction_params *params)
{
    const struct diag_site site = {.code = "axis-near-end", .span = context->set->span, .stage = context->stage->name};
    const int64_t n = context->in.axes[2].n;
    const double left = params->center, right = (double)(n - 1) - params->center, nearer = fmin(left, right);
    if (!(nearer < nearer_share * fmax(left, right)))
        return;
    struct beam_scan seen = ts_beam_scan(&context->in, &context->in);
    seen.grid.center = params->center;
    const double radius = fabs(ts_beam_detector(&seen, left < right ? 0 : n - 1).distance_mm);
    ts_diag_warning(context->diag, &site,
                    "the rotation axis, at detector %.6g of 0 to %lld, is near an end of the detector: all views see a "
                    "circle of radius %.6g %s about it alone, and where the object reaches beyond that the slice is "
                    "wrong",
                    params->center, (long long)n - 1, radius, context->in.axes[2].unit);
    if (context->in.beam.kind == TS_BEAM_PARALLEL)
        ts_diag_hint(context->diag, "`stitch: {}` before it joins the opposite views of a whole turn; of an object "
                                    "within that circle `circle` keeps what is right; sirt takes any rays");
    else
        ts_diag_hint(context->diag,
                     "`rebin: {}` before it takes rays from the longer side in a whole turn; of an object within that "
                     "circle `circle` keeps what is right; sirt takes any rays");
}

enum ts_status ts_filtered_volume_resolve(const struct stage_context *context, void *values)
{
    struct reconstruction_params *params = values;
    params->model = BACK_LINEAR;
    params->weights = VIEW_WEIGHTS_ANGLES;
    ts_row_filter_resolve(context, params->filter, params->unit);
    const enum ts_status status = ts_reconstruction_resolve(context, params);
    if (status == TS_OK)
        warn_of_field(context, params);
    return status;
}

enum ts_status ts_filtered_volume_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct reconstruction_params *params = context->params;
    ts_reconstruction_shape(context, out);
    out->unit = params->unit;
    out->quantity = params->filter == ROW_FILTER_NONE ? TS_INTENSITY : ts_unit_quantity(params->unit);
    return TS_OK;
}
