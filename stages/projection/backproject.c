/* SPDX-License-Identifier: Apache-2.0
 *
 * backproject: every pixel sums the samples of all views at its place on the detector; (z, view,
 * detector) -> (z, y, x), f32. stages/geometry/beam.h defines places and weights,
 * stages/projection/backprojection.c how the CPU divides the work. The adjoint of a fan follows
 * rays instead of pixels (stages/projection/joseph.c).
 */
#include "stages/projection/reconstruction.h"

#include <math.h>

#include "core/arena.h"
#include "stages/geometry/view_angles.h"
#include "stages/projection/back_transpose.h"
#include "stages/projection/radon.h"
#include "stages/values/finite_values.h"

static enum ts_status backproject_resolve(const struct stage_context *context, void *values)
{
    struct reconstruction_params *params = values;
    const struct ts_image *in = &context->in;
    params->filter = ROW_FILTER_NONE;
    params->cutoff = 1;
    if (params->model == BACK_LINEAR && in->beam.kind != TS_BEAM_PARALLEL) {
        ts_param_error(context->set, "model", "model-beam", context->diag,
                       "'linear' knows parallel rays alone, and the beam is %s",
                       ts_beam_name(in->beam.kind));
        return ts_diag_hint(
            context->diag,
            "fbp has the pixel-driven backprojection of a fan, with its weights; filter: none");
    }
    if (params->model == BACK_JOSEPH)
        ts_unit_times_length(in->unit, in->axes[2].unit, params->unit);
    else
        snprintf(params->unit, sizeof params->unit, "%s", in->unit ? in->unit : "");
    /* Weights for a parallel beam have a check of their own. */
    const bool any = params->weights == VIEW_WEIGHTS_NONE || in->beam.kind != TS_BEAM_PARALLEL;
    const enum ts_status status = ts_reconstruction_resolve(context, params);
    return status == TS_OK && params->gaps == VIEW_GAPS_REFUSE && any
               ? ts_view_angles_check_unit(context)
               : status;
}

static enum ts_status backproject_shape(const struct stage_context *context, struct ts_image *out)
{
    ts_reconstruction_shape(context, out);
    out->unit = ((const struct reconstruction_params *)context->params)->unit;
    out->quantity = TS_INTENSITY;
    return TS_OK;
}

/* ---- transpose ------------------------------------------------------------------------------- */

/* Lists the angles one by one. */
static enum ts_status give_angles(const struct stage_context *context, struct param_set *set,
                                  struct arena *arena)
{
    struct radon_params *params = set->values;
    const struct ts_axis *views = &context->in.axes[1];
    double *angles = ts_arena_alloc(arena, (size_t)views->n * sizeof *angles);
    if (!angles)
        return ts_diag_no_memory(context->diag, (size_t)views->n * sizeof *angles);
    for (int64_t v = 0; v < views->n; v++)
        angles[v] = ts_view_degree(views, v);
    params->angles = (struct ts_numbers){1, views->n, angles};
    ts_param_give(set, "angles");
    return TS_OK;
}

static void give_detector(const struct stage_context *context, struct param_set *set)
{
    static const char *const names[] = {"detectors", "detector_spacing", "center", "source_axis",
                                        "source_detector"};
    const struct reconstruction_params *from = context->params;
    const struct ts_image *in = &context->in;
    struct radon_params *params = set->values;
    params->beam = (int32_t)in->beam.kind;
    params->source_axis = in->beam.source_axis_mm;
    params->source_detector = in->beam.source_detector_mm;
    params->detectors = in->axes[2].n;
    params->detector_spacing = ts_axis_spacing(&in->axes[2]);
    params->center = from->center;
    params->method = ts_reconstruction_forth(from->method);
    for (size_t i = 0; i < (in->beam.kind == TS_BEAM_PARALLEL ? 3 : 5); i++)
        ts_param_give(set, names[i]);
}

/* The transpose of `linear`, and with the weights of angles, is no radon. */
static bool back_is_radon(const struct stage_context *context)
{
    const struct reconstruction_params *params = context->params;
    return params->model == BACK_JOSEPH && params->weights == VIEW_WEIGHTS_NONE;
}

static const struct stage *backproject_table(const struct stage_context *context)
{
    return back_is_radon(context) ? NULL : ts_back_transpose_table(context);
}

static enum ts_status backproject_transpose(const struct stage_context *context,
                                            struct param_set *set, struct stage_gather *gather,
                                            struct arena *arena)
{
    static const char *const even[] = {"views", "start", "arc"};
    const struct ts_axis *views = &context->in.axes[1];
    const double arc = views->spacing * (double)views->n;
    struct radon_params *params = set->values;
    if (!back_is_radon(context))
        return ts_back_transpose_describe(context, set, gather, arena);
    give_detector(context, set);
    if (views->positions || fabs(views->first) > 360 || fabs(arc) > 3600)
        return give_angles(context, set, arena);
    params->views = views->n;
    params->start = views->first;
    params->arc = arc;
    for (size_t i = 0; i < sizeof even / sizeof *even; i++)
        ts_param_give(set, even[i]);
    return TS_OK;
}

static const struct stage_transpose backproject_linear = {
    .by = "radon", .table = backproject_table, .describe = backproject_transpose};

/* ---- table ----------------------------------------------------------------------------------- */

static const struct choice model_choices[] = {
    {"joseph", BACK_JOSEPH,
     "the exact adjoint of `radon`: its weights with pixel and ray exchanged"},
    {"linear", BACK_LINEAR,
     "pixel-driven: linear interpolation between the two detector pixels beside the pixel's place"},
    {0},
};

static const struct choice weights_choices[] = {
    {"none", VIEW_WEIGHTS_NONE, "every view counts the same"},
    {"angles", VIEW_WEIGHTS_ANGLES,
     "each view by half the angle between its neighbors modulo 180 degrees, in radian: an integral "
     "over angles"},
    {0},
};

static const struct param backproject_params[] = {
    PARAM(struct reconstruction_params, model, .init.choice = BACK_JOSEPH, .choices = model_choices,
          .unit = "", .doc = "which detector pixels count for a pixel, and how much"),
    PARAM(struct reconstruction_params, weights, .init.choice = VIEW_WEIGHTS_NONE,
          .choices = weights_choices, .unit = "", .doc = "how much each view counts"),
    PARAM(struct reconstruction_params, gaps, .init.choice = VIEW_GAPS_REFUSE,
          .choices = ts_view_gaps_choices, .unit = "",
          .doc = "if the angles look like radians; with weights also if neighboring views are more "
                 "than 4 times their mean angle apart"),
    RECONSTRUCTION_PARAMS,
};

const struct stage backproject_stage = {
    .name = "backproject",
    .summary = "backprojection, unfiltered: sinogram to volume",
    .doc =
        "In a parallel beam pixel (row, column) is at `t = center + (x cos(theta) + y sin(theta)) "
        "/ detector spacing` of a view, with x along rising columns, y along falling rows, both in "
        "mm from the center of the slice. From each view it takes `scale * sum over d of max(0, 1 "
        "- width |d - t|) * sinogram[view][d]`, outside the detector 0.\n\n"
        "`model: joseph` is the exact adjoint of `radon` with the same geometry, for iterative "
        "methods: width is the distance of neighboring rays in pixels along a line of pixels, "
        "scale the length of ray between two lines (P. M. Joseph, IEEE Trans. Med. Imaging 1, "
        "1982). `model: linear` has width and scale 1: the backprojection of `fbp`, which is "
        "`filter`, then `backproject model=linear weights=angles`.\n\n"
        "With `method: tensor` both round weights alike; what keeps `<Ax, y>` from `<x, A'y>` is "
        "the rounding of x and y to 11 bits, about 2e-4 divided by the root of the number of "
        "values.\n\n"
        "Of a fan `model: joseph` is the exact adjoint as well: every ray adds its value to the "
        "pixels that it was projected from, with the same weights. Its other backprojection, by "
        "the pixels, belongs to `fbp`.\n\n"
        "The volume is a square of as many pixels as there are detector pixels unless told "
        "otherwise; its center is the sinogram's origin, so that a volume that was projected comes "
        "back to its place. A value that is NaN or infinite would spoil every pixel on its ray, "
        "and ends the run. More than 8 views within 2.8 to 6.6 degrees, as angles in radians would "
        "be, are an error, and so are many views in few directions, unless `gaps: accept` says "
        "that they are right.\n\n"
        "Cost: one interpolation for each view and pixel.",
    STAGE_TAKES_SINOGRAMS(TS_QUANTITY_BIT(TS_LINE_INTEGRAL) | TS_QUANTITY_BIT(TS_INTENSITY),
                          TS_ANY_BEAM),
    STAGE_PARAMS(backproject_params, struct reconstruction_params),
    .resolve = backproject_resolve,
    .shape = backproject_shape,
    .reduction = &ts_finite_reduction,
    .scratch_bytes = ts_reconstruction_scratch,
    .map = ts_reconstruction_map,
    .transpose = &backproject_linear,
    .cuda = STAGE_CUDA(backproject_cuda),
    .bench = "model=linear|model=joseph|model=joseph scan=fan-flat pixel_size=0.66",
    .tolerance =
        {.relative = 1e-5,
         .why =
             "weights are rounded once to float and up to some thousand products summed in float"},
    .method_tolerances = ts_back_method_tolerances,
};
