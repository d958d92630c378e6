/* SPDX-License-Identifier: Apache-2.0
 *
 * fbp: f(x, y) = integral over 180 degrees of q(theta, x cos(theta) + y sin(theta)), where q are
 * the rows of the sinogram through a filter (stages/projection/row_filter.h); (z, view, detector)
 * -> (z, y, x), f32. The sum over views is an integral over angles, because each view has half the
 * angle between its neighbors as weight. The filtered rows, and so the volume, have the unit of the
 * rows divided by a length. Rows that do not see the whole object make a filtered reconstruction
 * wrong, so there is a warning if the axis is near an end of the detector.
 */
#include "stages/projection/fbp.h"

#include <math.h>

#include "stages/geometry/line_integrals.h"
#include "stages/projection/back_transpose.h"
#include "stages/values/finite_values.h"

/* There is no warning if the shorter side of the detector (from the axis) is at least this fraction
 * of the longer. */
static const double nearer_share = 2.0 / 3;

static void warn_of_field(const struct stage_context *context,
                          const struct reconstruction_params *params)
{
    const struct diag_site site = {
        .code = "axis-near-end", .span = context->set->span, .stage = context->stage->name};
    const bool given = ts_param_given(context->set, "center");
    if (given ? context->set->resolved : context->set->axis_later)
        return; /* it was said before, or is to be said of the axis that is found */
    const int64_t n = context->in.axes[2].n;
    const double left = params->center, right = (double)(n - 1) - params->center,
                 nearer = fmin(left, right);
    if (!(nearer < nearer_share * fmax(left, right)))
        return;
    struct beam_scan seen = ts_beam_scan(&context->in, &context->in);
    seen.grid.center = params->center;
    const double radius = fabs(ts_beam_detector(&seen, left < right ? 0 : n - 1).distance_mm);
    ts_diag_warning(context->diag, &site,
                    "the rotation axis, at detector pixel %.6g of 0 to %lld, is near an end of the "
                    "detector: all views see a circle of radius %.6g %s about it alone, and where "
                    "the object reaches beyond that the slice is wrong",
                    params->center, (long long)n - 1, radius, context->in.axes[2].unit);
    if (context->in.beam.kind == TS_BEAM_PARALLEL)
        ts_diag_hint(context->diag,
                     "`stitch: {}` before it joins the opposite views of a whole turn; of an "
                     "object within that circle `circle` keeps what is right; sirt takes any rays");
    else
        ts_diag_hint(context->diag,
                     "`rebin: {}` before it takes rays from the longer side in a whole turn; of an "
                     "object within that circle `circle` keeps what is right; sirt takes any rays");
}

enum ts_status ts_fbp_resolve(const struct stage_context *context, void *values)
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

enum ts_status ts_fbp_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct reconstruction_params *params = context->params;
    ts_reconstruction_shape(context, out);
    out->unit = params->unit;
    out->quantity =
        params->filter == ROW_FILTER_NONE ? TS_INTENSITY : ts_unit_quantity(params->unit);
    return TS_OK;
}

static const struct param fbp_params[] = {
    FBP_PARAMS,
    RECONSTRUCTION_PARAMS,
};

static const struct stage_transpose fbp_linear = {.table = ts_back_transpose_table,
                                                  .describe = ts_back_transpose_describe};

const struct stage fbp_stage = {
    .name = "fbp",
    .summary = "filtered backprojection of parallel and fan beams: sinogram to volume",
    .doc =
        "`f(x, y) = integral over theta of q(theta, x cos(theta) + y sin(theta))`, where q is the "
        "sinogram with its rows through the filter that the page of `filter` defines, x runs along "
        "rising columns, y along falling rows, both in mm from the center of the slice. Between "
        "two detector pixels q is interpolated linearly, outside them it is 0.\n\n"
        "The integral is the sum over the views, each by half the angle between its neighbors on "
        "the circle modulo 180 degrees: half a turn and a whole one, with the last view or "
        "without, evenly spaced or not, need no parameter. Views in one direction share their "
        "part. A gap of more than 4 times the mean angle is an error, with the views beside it; so "
        "are angles that look like radians, and views that all look in one direction, a single one "
        "included unless `gaps` is `accept`. Many views in few directions are an error too "
        "(`views-repeated`), if a gap is 4 times the mean angle of so many views and wider than 8 "
        "degrees; a scan of many turns, or of up to 4 whose step is that gap, is warned of.\n\n"
        "A fan is reconstructed directly (A. C. Kak, M. Slaney, Principles of Computerized "
        "Tomographic Imaging, 1988, section 3.4): rows times cos(gamma), the ramp of its equal "
        "angles or equal distances, and a backprojection that weighs each pixel by its distance "
        "from the source. Views over a whole turn count by half the angle between their neighbors, "
        "each ray being seen twice; over less, 180 degrees and the fan's angle at least, rays that "
        "are seen twice are shared between their two views (D. L. Parker, Med. Phys. 9, 1982). "
        "Fewer are an error.\n\n"
        "Line integrals without a unit over mm give attenuation in 1/mm; HU mm give HU. The volume "
        "is a square of as many pixels as there are detector pixels, of their spacing, unless told "
        "otherwise; its center is the sinogram's origin, so that a volume that `radon` projected "
        "comes back to its place. A value that is NaN or infinite would spoil its whole slice, and "
        "ends the run.\n\n"
        "If one side of the rotation axis sees less than two thirds as much of the detector as the "
        "other, a warning has the radius of the circle that all views see: an object that reaches "
        "beyond it comes out wrong. `stitch` makes a scan of half a turn from such a whole turn of "
        "a parallel beam.\n\n"
        "Rows that end within the object, as in a scan of a region of interest, give values that "
        "are too high, most of all near the rim. A run warns (`rows-cut-off`) if an end of the "
        "rows sees more than a tenth of the most that is seen, in means of a "
        "64th of the detector pixels and a 16th of the views; flats of another exposure give it "
        "too. `pad: {}` before it lessens the fault. Rows that go on unchanged to their ends, as "
        "`pad` makes them, are not warned of, nor is air that a drift of the beam by a fifth "
        "lifts.\n\n"
        "A run looks at five slices, the middle one and those that halve the other fifths. It "
        "tells what it finds in the one nearest to the middle of those that see an object beyond "
        "noise, and a tenth of what another sees; it names the slice if it is not the middle one. "
        "Frames that were given again, views without light and views in another order are told "
        "of any of them.\n\n"
        "Of a parallel scan whose rows end in air it looks, before this and every other "
        "reconstruction, at the centers of mass of the views, how wide they are, at neighbors and "
        "at opposite views. It warns if the rotation axis is more than a detector pixel from where "
        "it is taken to be (`center-off`) or leans (`center-leans`), if the views contradict their "
        "angles and fit others much better (`angles-contradicted`: another range, milliradians, "
        "frames in the order of texts or taken in passes), if the last view shows what the first "
        "does "
        "and the angles do not say so, or the other way about (`angles-end`, also of rows that do "
        "not end in air), if views leap or stray, since some are "
        "lost or in another place (`angles-contradicted`, also of rows that do not end in air), "
        "and if the sample leaps (`sample-moved`). Noise of 2 % of the most that is seen "
        "leaves most of that visible; of 20 % an axis that is off by a tenth of the row. An even "
        "drift of the sample over half a turn looks like another axis and an object that is moved "
        "by 0.4 times the drift. The axis that `center` finds makes up for all but a 29th of it, "
        "so that nothing more is warned of. An even drift over a whole turn is warned of "
        "(`sample-moved`) from 1.5 detector pixels on.\n\n"
        "A run warns (`views-fan`) if a whole turn of a fan is read as a parallel beam: a ray at "
        "the angle gamma from the central one is seen again at theta + 180 + 2 gamma. Without "
        "noise 8 of 10 simulated objects show a fan of 5 degrees, and 5 of 10 a fan of 2; with "
        "noise of 1 % of the most that is seen, 4 of 10 show a fan of 5 degrees, and 7 of 10 a fan "
        "of 10. A round object about the axis shows none. Half a turn shows no fan at all: `beam` "
        "has to say so.\n\n"
        "scikit-image's `iradon` has its rotation center at pixel n // 2 in place of (n - 1) / 2 "
        "and gives 1/pixel; its angles turn the same way. Its filter None gives half of `filter: "
        "none` here, which is the plain integral over angles.\n\n"
        "Cost: one interpolation for each view and pixel; filtering is a small part of it.",
    STAGE_TAKES_SINOGRAMS(TS_QUANTITY_BIT(TS_LINE_INTEGRAL), TS_ANY_BEAM),
    .quantity_hints = LINE_INTEGRAL_HINTS,
    STAGE_PARAMS(fbp_params, struct reconstruction_params),
    .traits = TRAIT_ROWS_END_IN_AIR,
    .resolve = ts_fbp_resolve,
    .shape = ts_fbp_shape,
    .reduction = &ts_finite_reduction,
    .transforms = ts_reconstruction_transforms,
    .scratch_bytes = ts_reconstruction_scratch,
    .map = ts_reconstruction_map,
    .transpose = &fbp_linear,
    .cuda = STAGE_CUDA(fbp_cuda),
    .bench = "filter=ramp|filter=ramp scan=fan-flat pixel_size=0.66|filter=ramp scan=fan-arc "
             "pixel_size=0.66",
    .tolerance = {.relative = 1e-5,
                  .why = "weights and filtered rows are rounded to float and up to some thousand "
                         "products summed in float"},
    .method_tolerances = ts_back_method_tolerances,
};
