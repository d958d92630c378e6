/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/engine/distances.h"

#include <math.h>
#include <string.h>

/* Returns true if listed positions are those of an even detector that was read from its last pixel
 * to its first. */
static bool falls_evenly(const struct ts_axis *axis)
{
    const double *at = axis->positions,
                 step = axis->n > 1 ? (at[axis->n - 1] - at[0]) / (double)(axis->n - 1) : 0;
    bool even = step < 0;
    for (int64_t i = 0; even && i < axis->n; i++)
        even = fabs(at[i] - (at[0] + (double)i * step)) <= 1e-3 * -step;
    return even;
}

enum ts_status ts_stage_needs_even(const struct stage_context *context)
{
    const struct ts_axis *y = &context->in.axes[1], *x = &context->in.axes[2];
    const bool sinogram = ts_image_is_sinogram(&context->in);
    struct diag_site site = {.code = sinogram ? "detectors-uneven" : "axis-uneven",
                             .span = context->set->span,
                             .stage = context->stage->name};
    if (x->positions || (!sinogram && y->positions)) {
        ts_diag_error(context->diag, TS_BAD_CHAIN, &site,
                      "the positions along %s are listed one by one, and must be evenly spaced and "
                      "rise",
                      ts_axis_name(x->positions ? x : y));
        return sinogram && falls_evenly(x)
                   ? ts_diag_hint(context->diag,
                                  "state the positions times -1, so that they rise, and begin the "
                                  "chain with `flip`, which turns the rows round")
                   : TS_BAD_CHAIN;
    }
    site.code = "axis-units";
    return sinogram || !x->unit || !y->unit || !strcmp(x->unit, y->unit)
               ? TS_OK
               : ts_diag_error(context->diag, TS_BAD_CHAIN, &site,
                               "the distance of rows is in %s and that of columns in %s, expected "
                               "one unit",
                               y->unit, x->unit);
}

enum ts_status ts_stage_needs_mm(const struct stage_context *context, bool of_one)
{
    struct diag_site site = {.span = context->set->span, .stage = context->stage->name};
    for (int i = 0; i < 3; i++) {
        const struct ts_axis *axis = &context->in.axes[i];
        if (ts_axis_mm(axis) > 0 || (axis->n == 1 && !of_one))
            continue;
        site.code = axis->positions && axis->n > 1 ? "axis-uneven" : "spacing-mm";
        if (axis->positions && axis->n > 1)
            return ts_diag_error(context->diag, TS_BAD_CHAIN, &site,
                                 "works in mm, and the positions along %s are listed one by one, "
                                 "and must be evenly spaced and rise",
                                 ts_axis_name(axis));
        ts_diag_error(context->diag, TS_BAD_CHAIN, &site,
                      "works in mm, and the distance of voxels along %s is not known in mm",
                      ts_axis_name(axis));
        return ts_diag_hint(context->diag,
                            "state it at the input, as with `spacing: [0.5, 0.5, 2]`");
    }
    return TS_OK;
}

enum ts_status ts_stage_needs_upright(const struct stage_context *context, const char *does,
                                      const char *hint)
{
    const double lean = ts_image_lean_degree(&context->in);
    if (lean <= TS_UPRIGHT_DEGREE)
        return TS_OK;
    ts_diag_error(
        context->diag, TS_BAD_CHAIN,
        &(struct diag_site){
            .code = "stage-sheared", .span = context->set->span, .stage = context->stage->name},
        "%s, and the volume is sheared: its slices lean %.2f degrees off their normal", does, lean);
    return ts_diag_hint(context->diag, "%s", hint);
}

double ts_stage_axis_pixel(const struct stage_context *context)
{
    const struct ts_axis *detector = &context->in.axes[2];
    const double last = (double)(detector->n - 1),
                 pixel = (0 - detector->first) / ts_axis_spacing(detector);
    return context->set->axis_later && !(pixel >= 0 && pixel <= last) ? 0.5 * last : pixel;
}
