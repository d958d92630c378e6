/* SPDX-License-Identifier: Apache-2.0
 *
 * unshear: the step from slice to slice is h n + a u + b v, with the normal n, and u and v along x
 * and y of the slice. Slice z is then shifted by (a z, b z) mm against slice 0. The output's pixels
 * have the input's spacing and are aligned with those of slice 0; it has as many more columns and
 * rows as every slice needs, and its slices are h mm apart along n. So pixel (z, y, x) of the
 * output lies at column x + x0 - a z / dx and row y + y0 - b z / dy of the input's slice z: no
 * value is made from two slices, and a gantry that was tilted about x moves pixels only along y.
 */
#include "stages/grid/unshear.h"

#include "core/vector3.h"
#include "stages/engine/border.h"

static const struct param unshear_params[] = {SAMPLING_PARAMS(struct unshear_params)};

STAGE_PARAMS_OF(unshear_params)

/* A shift of the last slice by less than this fraction of a pixel is rounding. */
static const double least_shift = 1e-3;

/* Returns the step's component along an axis of the slice, in pixels. */
static double shift_of(const struct ts_image *in, int d)
{
    const double *unit = in->direction + 6 - 3 * d, *step = in->step_z_mm;
    const double shift = ts_dot(step, unit) / ts_axis_spacing(&in->axes[d]);
    return fabs(shift) * (double)(in->axes[0].n - 1) < least_shift ? 0 : shift;
}

struct sampling ts_unshear_sampling(const struct stage_context *context)
{
    const struct unshear_params *params = params_of(context);
    const struct ts_image *in = &context->in;
    struct sampling sampling = {.interpolation = params->interpolation, .outside = params->outside};
    for (int d = 0; d < 3; d++) {
        sampling.n_in[d] = sampling.n_out[d] = in->axes[d].n;
        sampling.matrix[d][d] = 1;
    }
    for (int d = 1; d < 3 && in->has_geometry; d++) {
        const double shift = shift_of(in, d), far = shift * (double)(in->axes[0].n - 1);
        /* Only whole pixels are added, so that the output's pixels are aligned with those of slice
         * 0; a fraction that is rounding adds none. */
        const double more = ceil(fabs(far) - least_shift);
        sampling.matrix[d][0] = -shift;
        sampling.offset[d] = far < 0 ? -more : 0;
        sampling.n_out[d] += (int64_t)more;
    }
    return sampling;
}

static enum ts_status unshear_resolve(const struct stage_context *context, void *values)
{
    const struct ts_image *in = &context->in;
    struct unshear_params *params = values;
    ts_sampling_defaults(context, &params->interpolation, &params->outside);
    struct diag_site site = {
        .code = "unshear-geometry", .span = context->set->span, .stage = context->stage->name};
    if (!in->has_geometry)
        return ts_diag_error(
            context->diag, TS_BAD_CHAIN, &site,
            "the image has no geometry: its input does not say how its slices lie");
    site.code = "axis-uneven";
    for (int d = 0; d < 3; d++)
        if (in->axes[d].positions)
            return ts_diag_error(
                context->diag, TS_BAD_CHAIN, &site,
                "the positions along %s are listed one by one, and must be evenly spaced",
                ts_axis_name(&in->axes[d]));
    const double most = 64; /* times the size of a slice; larger shifts are no real tilt */
    for (int d = 1; d < 3; d++)
        if (fabs(shift_of(in, d)) * (double)(in->axes[0].n - 1) > most * (double)in->axes[d].n)
            return ts_diag_error(context->diag, TS_BAD_CHAIN,
                                 &(struct diag_site){.code = "unshear-size",
                                                     .span = context->set->span,
                                                     .stage = context->stage->name},
                                 "the last slice lies %.3g pixels along %s beside the first, more "
                                 "than %g times its size",
                                 fabs(shift_of(in, d)) * (double)(in->axes[0].n - 1),
                                 ts_axis_name(&in->axes[d]), most);
    return ts_constant_check(context, "outside", params->outside);
}

static enum ts_status unshear_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct sampling sampling = ts_unshear_sampling(context);
    const double *normal = out->direction + 6, *step = context->in.step_z_mm;
    const double along = ts_dot(step, normal);
    for (int d = 1; d < 3; d++) {
        struct ts_axis *axis = &out->axes[d];
        const double moved = sampling.offset[d] * ts_axis_spacing(axis);
        axis->n = sampling.n_out[d];
        axis->first += moved;
        for (int i = 0; i < 3; i++)
            out->origin_mm[i] += moved * out->direction[6 - 3 * d + i];
    }
    if (out->axes[0].spacing > 0)
        out->axes[0].spacing = along;
    for (int i = 0; i < 3; i++)
        out->step_z_mm[i] = along * normal[i];
    return TS_OK;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct sampling sampling = ts_unshear_sampling(context);
    return ts_sampling_scratch(&sampling, n, context->threads);
}

static enum ts_status unshear_map(const struct stage_context *context, const struct ts_image *in,
                                  struct ts_image *out, void *scratch)
{
    const struct sampling sampling = ts_unshear_sampling(context);
    ts_sampling_map(&sampling, in, out, scratch, context->threads);
    return TS_OK;
}

const struct stage unshear_stage = {
    .name = "unshear",
    .summary = "slices of a tilted gantry, shifted so that they are straight over each other",
    .doc = "With a tilted gantry each slice is shifted against the one before it: the step from "
           "slice to slice is not along their normal. Every slice is shifted back within its "
           "plane, by a part of a pixel if needed. The output's pixels have the input's spacing "
           "and are over those of the first slice; it has as many more rows and columns as hold "
           "all slices, and `outside` beyond each slice. Its slices are as far apart as the "
           "input's planes are along their normal. Nothing is lost, and no value is made from two "
           "slices; a gantry that was tilted about x moves pixels only along y.\n\n"
           "Rules of interpolation, rounding, NaN and invalid pixels are those of `resample`. A "
           "volume whose last slice is shifted by less than a thousandth of a pixel is copied as "
           "it is. Sheared volumes need not be straightened for `resample` with `like`, which "
           "takes them at their places.",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    STAGE_PARAMS(unshear_params, struct unshear_params),
    .resolve = unshear_resolve,
    .shape = unshear_shape,
    .scratch_bytes = scratch_bytes,
    .map = unshear_map,
    .traits = TRAIT_KEEPS_LABELS,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(unshear_cuda),
    .bench = "|interpolation=cubic",
    .tolerance =
        {.relative = 1e-6,
         .why =
             "float sums along two axes at most, of cubic weights, whose magnitudes sum to 1.25 at "
             "most: 10 roundings of 2^-24; integers are off by the rounding of the sum besides"},
};
