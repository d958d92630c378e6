/* SPDX-License-Identifier: Apache-2.0
 *
 * resample: this file computes where the output's voxels are in the input, and
 * stages/grid/samples.h makes their values. With `spacing` and `shape` both grids have the same
 * middle and the same directions. With `spacing` S, n samples of size s become N = round(n s / S)
 * samples; with `shape` N their size is n s / N, so that they fill the same field. With `like` the
 * patient's coordinates connect the grids: i_in = M_in^-1 (o_out + M_out i_out - o_in), where the
 * columns of M are the steps along x, y and z. The step of z need not be at a right angle to the
 * others, so slices of a tilted gantry are placed correctly. A convention of other programs changes
 * the two grids of the first kind, what is beyond the outermost samples, and what is done with
 * values. Programs that clip to the range of the image need a reduction for it; all else of a slab
 * is made from its own slices.
 */
#include "stages/grid/resample.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/arena.h"
#include "core/description.h"
#include "core/grid.h"
#include "core/vector3.h"
#include "stages/engine/border.h"
#include "stages/engine/transpose.h"
#include "stages/grid/splines.h"

enum { MOST = 1 << 20 };

static const struct choice convention_choices[] = {
    {"center", CONVENTION_CENTER, "both grids have the same middle, and voxels of just `spacing`"},
    {"itk", CONVENTION_ITK,
     "the same positions; bspline3 mirrors the volume at its outermost centers, as ITK does"},
    {"scipy_zoom", CONVENTION_SCIPY,
     "the centers of the outermost voxels stay where they are: scipy.ndimage.zoom"},
    {"skimage_resize", CONVENTION_SKIMAGE,
     "the edges stay where they are, the volume is mirrored at its outermost centers, and values "
     "are clipped to its range: skimage.transform.resize"},
    {"nnunet", CONVENTION_NNUNET,
     "the edges stay, the outermost samples are repeated, and values are clipped; if the largest "
     "spacing, old or new, is more than 3 times the smallest, slices are resized one by one, and "
     "taken from the nearest along z: nnU-Net's resampling for preprocessing"},
    {"totalsegmentator", CONVENTION_TOTALSEGMENTATOR,
     "as scipy_zoom, with the outermost samples repeated: TotalSegmentator's change of spacing"},
    {NULL, 0, NULL},
};

static const struct param resample_params[] = {
    PARAM(struct resample_params, spacing, .unit = "mm", .optional = true, .min = 1e-6, .max = 1e6,
          .doc = "distance of neighboring voxels: one number for all axes, [x, y] for those of a "
                 "slice, or [x, y, z]"),
    PARAM(struct resample_params, shape, .unit = "pixel", .optional = true, .min = 1, .max = MOST,
          .doc = "number of voxels, [x, y] or [x, y, z], over the same field"),
    PARAM(struct resample_params, like, .unit = "", .optional = true,
          .doc = "an image whose grid the output gets; it may have any shape and orientation, and "
                 "is not read"),
    PARAM(struct resample_params, convention, .unit = "", .choices = convention_choices,
          .init.choice = CONVENTION_CENTER,
          .doc = "where the new voxels are, how their number is rounded, and what is beyond the "
                 "outermost ones"),
    PARAM(struct resample_params, interpolation, .unit = "", .choices = ts_resample_choices,
          .derived = "linear; bspline3 with scipy_zoom, nnunet and totalsegmentator; nearest for "
                     "masks and labels, and with nnunet labels",
          .doc = INTERPOLATION_DOC),
    PARAM(struct resample_params, antialias, .unit = "", .init.b = false,
          .doc = "smooth axes that get fewer voxels first, as scikit-image does: Gaussian of "
                 "(n/N - 1)/2 samples; with convention skimage_resize"),
    OUTSIDE_PARAM(struct resample_params),
};

STAGE_PARAMS_OF(resample_params)

/* ---- grids ----------------------------------------------------------------------------------- */

/* Returns the number in a list for input axis d (0: z), or 0 if the list leaves the axis as it
 * is. */
static double number_for(const struct ts_numbers *numbers, int d)
{
    const int64_t place = numbers->columns == 1 ? 0 : 2 - d;
    return place < numbers->columns ? numbers->values[place] : 0;
}

/* Places n_out voxels of `step` samples along axis d, around the same middle. */
static void place_axis(struct sampling *sampling, int d, int64_t n_out, double step)
{
    sampling->n_out[d] = n_out;
    sampling->matrix[d][d] = step;
    sampling->offset[d] = 0.5 * ((double)(sampling->n_in[d] - 1) - (double)(n_out - 1) * step);
}

static bool keeps_spacing(int32_t convention)
{
    return convention == CONVENTION_CENTER || convention == CONVENTION_ITK;
}

static bool keeps_corners(int32_t convention)
{
    return convention == CONVENTION_SCIPY || convention == CONVENTION_TOTALSEGMENTATOR;
}

/* Returns n * old / spacing, rounded half up, or half to even as NumPy and Python do. */
static int64_t rounded(int32_t convention, int64_t n, double old, double spacing)
{
    const double number = keeps_spacing(convention) ? floor((double)n * old / spacing + 0.5)
                                                    : rint(old / spacing * (double)n);
    return (int64_t)fmin(fmax(number, 1), MOST + 1.0);
}

static void place_same_field(const struct stage_context *context, struct sampling *sampling)
{
    const struct resample_params *params = params_of(context);
    for (int d = 0; d < 3; d++) {
        const int64_t n = sampling->n_in[d];
        const double given = number_for(&params->shape, d),
                     spacing = number_for(&params->spacing, d),
                     old = ts_axis_spacing(&context->in.axes[d]);
        int64_t n_out = n;
        if (given > 0)
            n_out = (int64_t)given;
        else if (spacing > 0)
            n_out = rounded(params->convention, n, old, spacing);
        if (keeps_corners(params->convention) && (n > 1 || n_out == 1)) {
            place_axis(sampling, d, n_out, n_out > 1 ? (double)(n - 1) / (double)(n_out - 1) : 1);
            sampling->offset[d] = 0;
        } else if (given > 0 || (spacing > 0 && !keeps_spacing(params->convention))) {
            place_axis(sampling, d, n_out, (double)n / (double)n_out);
        } else {
            place_axis(sampling, d, n_out, spacing > 0 ? spacing / old : 1);
        }
    }
}

/* Returns true if the largest of these spacings is more than 3 times the smallest, and sets *axis
 * to the axis of it, or to -1 if several have it. */
static bool is_coarse(const double spacings[3], int *axis)
{
    double low = INFINITY, high = 0;
    for (int d = 0; d < 3; d++) {
        low = fmin(low, spacings[d]);
        *axis = spacings[d] == high ? -1 : spacings[d] > high ? d : *axis;
        high = fmax(high, spacings[d]);
    }
    return high / low > 3;
}

/* Returns the axis along which nnU-Net takes the nearest slice, or -1 if there is none. */
static int separate_axis(const struct stage_context *context, const struct sampling *sampling)
{
    const struct resample_params *params = params_of(context);
    double old[3], new[3];
    int axis = -1;
    for (int d = 0; d < 3; d++) {
        const double spacing = number_for(&params->spacing, d);
        old[d] = ts_axis_mm(&context->in.axes[d]);
        new[d] = spacing > 0 ? spacing : old[d] * sampling->matrix[d][d];
        if (params->convention != CONVENTION_NNUNET || !(old[d] > 0))
            return -1;
    }
    return is_coarse(old, &axis) || is_coarse(new, &axis) ? axis : -1;
}

/* Fills steps[d] with the vector from a voxel to the next along axis d (0: z), and origin with the
 * place of voxel 0: in the patient, or along the axes if the image does not know the patient. */
static void vectors_of(const struct ts_image *image, double steps[3][3], double origin[3])
{
    memset(steps, 0, 9 * sizeof(double));
    for (int i = 0; i < 3; i++) {
        origin[i] = image->has_geometry ? image->origin_mm[i] : image->axes[2 - i].first;
        for (int d = 0; d < 3; d++)
            if (image->has_geometry)
                steps[d][i] = image->direction[6 - 3 * d + i] * ts_axis_spacing(&image->axes[d]);
            else if (i == 2 - d)
                steps[d][i] = ts_axis_spacing(&image->axes[d]);
    }
    const double *step = image->step_z_mm;
    if (image->has_geometry && (step[0] != 0 || step[1] != 0 || step[2] != 0))
        memcpy(steps[0], step, 3 * sizeof(double));
}

/* Removes rounding: a slope that differs from `nearest` by less than this over the whole grid
 * becomes `nearest`, so that grids are aligned. */
static double cleaned(double slope, double nearest, int64_t n)
{
    return fabs(slope - nearest) * (double)n < 0.1 * TAPS_SLACK ? nearest : slope;
}

static void place_like(const struct ts_image *in, const struct ts_image *like,
                       struct sampling *sampling)
{
    double steps[3][3], origin[3], steps_out[3][3], origin_out[3], from[3];
    vectors_of(in, steps, origin);
    vectors_of(like, steps_out, origin_out);
    for (int i = 0; i < 3; i++)
        from[i] = origin_out[i] - origin[i];
    for (int d = 0; d < 3; d++) {
        double normal[3];
        ts_cross(steps[(d + 1) % 3], steps[(d + 2) % 3], normal);
        const double volume = ts_dot(steps[d], normal), offset = ts_dot(from, normal) / volume;
        sampling->n_out[d] = like->axes[d].n;
        sampling->offset[d] = cleaned(offset, rint(offset), 1);
        for (int k = 0; k < 3; k++) {
            const double slope = ts_dot(steps_out[k], normal) / volume;
            sampling->matrix[d][k] = cleaned(slope, rint(slope), like->axes[k].n);
        }
    }
}

/* Returns true if every voxel along axis d is at a sample of it. */
static bool is_aligned_with(const struct sampling *sampling, int d)
{
    for (int k = 0; k < 3; k++)
        if (sampling->matrix[d][k] != (k == d ? 1 : 0))
            return false;
    return sampling->offset[d] == rint(sampling->offset[d]);
}

static bool clips(const struct resample_params *params)
{
    return (params->convention == CONVENTION_SKIMAGE || params->convention == CONVENTION_NNUNET) &&
           (params->interpolation == INTERPOLATION_BSPLINE3 ||
            params->interpolation == INTERPOLATION_CUBIC);
}

/* Says how values are made, once the voxels have their places. */
static void choose_values(const struct stage_context *context, struct sampling *sampling)
{
    const struct resample_params *params = params_of(context);
    const bool spline = params->interpolation == INTERPOLATION_BSPLINE3;
    const int separate = separate_axis(context, sampling);
    bool smooths = false;
    if (params->convention == CONVENTION_SKIMAGE ||
        (spline &&
         (params->convention == CONVENTION_ITK || params->convention == CONVENTION_SCIPY)))
        sampling->edge = EDGE_MIRROR;
    for (int d = 0; d < 3; d++) {
        const double factor = sampling->matrix[d][d];
        sampling->nearest[d] = (spline && is_aligned_with(sampling, d)) || d == separate;
        sampling->sigma[d] = params->antialias && factor > 1 ? (factor - 1) / 2 : 0;
        smooths = smooths || sampling->sigma[d] > 0;
    }
    sampling->clips_slices = separate == 0 && clips(params);
    if (smooths && params->interpolation == INTERPOLATION_NEAREST) {
        sampling->interpolation = INTERPOLATION_LINEAR; /* of coefficients, which are floats */
        for (int d = 0; d < 3; d++)
            sampling->nearest[d] = true;
    }
}

struct sampling ts_resample_sampling(const struct stage_context *context)
{
    const struct resample_params *params = params_of(context);
    struct sampling sampling = {.interpolation = params->interpolation, .outside = params->outside};
    for (int d = 0; d < 3; d++)
        sampling.n_in[d] = context->in.axes[d].n;
    if (context->references[0])
        place_like(&context->in, context->references[0], &sampling);
    else
        place_same_field(context, &sampling);
    choose_values(context, &sampling);
    return sampling;
}

bool ts_resample_finds_range(const struct stage_context *context)
{
    return clips(params_of(context)) && !ts_resample_sampling(context).clips_slices;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static enum ts_status check_list(const struct stage_context *context, const char *name,
                                 const struct ts_numbers *list, bool one)
{
    const int64_t n = list->columns;
    if (n == 0 || (list->rows == 1 && ((n == 1 && one) || n == 2 || n == 3)))
        return TS_OK;
    ts_param_error(context->set, name, "resample-list", context->diag,
                   "%" PRId64 " rows of %" PRId64 " numbers", list->rows, n);
    return ts_diag_hint(context->diag, "%s[x, y], or [x, y, z]",
                        one ? "one number for all axes, " : "");
}

/* An axis with uneven positions or without a spacing cannot be resampled. */
static enum ts_status check_axes(const struct stage_context *context,
                                 const struct resample_params *params)
{
    for (int d = 0; d < 3; d++) {
        const struct ts_axis *axis = &context->in.axes[d];
        const double spacing = number_for(&params->spacing, d),
                     resample_shape = number_for(&params->shape, d);
        const char *name = ts_axis_name(axis), *given = resample_shape > 0 ? "shape" : "spacing";
        if (spacing == 0 && resample_shape == 0)
            continue;
        if (axis->positions)
            return ts_param_error(
                context->set, given, "axis-uneven", context->diag,
                "the positions along %s are listed one by one, and must be evenly spaced", name);
        if (resample_shape > 0 && resample_shape != floor(resample_shape))
            return ts_param_error(context->set, "shape", "resample-list", context->diag,
                                  "%g is no number of voxels", resample_shape);
        if (spacing > 0 && !(ts_axis_mm(axis) > 0)) {
            ts_param_error(context->set, "spacing", "resample-spacing", context->diag,
                           "the distance of neighbors along %s is not known in mm", name);
            const bool others =
                ts_axis_mm(&context->in.axes[1]) > 0 && ts_axis_mm(&context->in.axes[2]) > 0;
            return ts_diag_hint(context->diag, d == 0 && others
                                                   ? "[x, y] leaves the slices as they are"
                                                   : "`shape` needs none");
        }
        const double n = spacing > 0 ? (double)axis->n * axis->spacing / spacing : resample_shape;
        if (n > MOST)
            return ts_param_error(context->set, given, "resample-size", context->diag,
                                  "%.0f voxels along %s are more than the limit of %d", n, name,
                                  MOST);
    }
    return TS_OK;
}

static enum ts_status check_like(const struct stage_context *context)
{
    const struct ts_image *images[2] = {&context->in, context->references[0]};
    if (images[0]->has_geometry != images[1]->has_geometry)
        return ts_param_error(context->set, "like", "resample-like", context->diag,
                              "%s says how it lies in the patient, and %s does not",
                              images[0]->has_geometry ? "the image" : "it",
                              images[0]->has_geometry ? "it" : "the image");
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < 3; d++) {
            const struct ts_axis *axis = &images[i]->axes[d];
            const char *whose = i == 0 ? "the image" : "it";
            if (ts_image_is_sinogram(images[i]))
                return ts_param_error(context->set, "like", "resample-like", context->diag,
                                      "is a sinogram");
            if (axis->positions)
                return ts_param_error(
                    context->set, "like", "axis-uneven", context->diag,
                    "the positions along %s of %s are listed one by one, and must be evenly spaced",
                    ts_axis_name(axis), whose);
            if (!(axis->spacing > 0) || !axis->unit ||
                strcmp(axis->unit, images[0]->axes[2].unit) != 0)
                return ts_param_error(context->set, "like", "resample-like", context->diag,
                                      "the distance of neighbors along %s of %s is not known in "
                                      "the unit of the image",
                                      ts_axis_name(axis), whose);
        }
    return TS_OK;
}

/* Refuses a grid that is completely beyond a face of the image: all of the output would be
 * `outside`. */
static enum ts_status check_meets(const struct stage_context *context)
{
    const struct sampling sampling = ts_resample_sampling(context);
    for (int d = 0; d < 3; d++) {
        double low = INFINITY, high = -INFINITY;
        for (int corner = 0; corner < 8; corner++) {
            double at = sampling.offset[d];
            for (int k = 0; k < 3; k++)
                at += corner >> k & 1 ? sampling.matrix[d][k] * (double)(sampling.n_out[k] - 1) : 0;
            low = fmin(low, at);
            high = fmax(high, at);
        }
        if (high >= -0.5 && low <= (double)sampling.n_in[d] - 0.5)
            continue;
        char image[320], like[320];
        ts_grid_text(&context->in, image, sizeof image);
        ts_grid_text(context->references[0], like, sizeof like);
        ts_param_error(context->set, "like", "resample-apart", context->diag,
                       "none of its voxels lies in the image: it has %s; the image has %s", like,
                       image);
        return ts_diag_hint(
            context->diag,
            "the two are not of one place, or their positions are those of two scans");
    }
    return TS_OK;
}

/* Refuses what a convention does not say. */
static enum ts_status check_convention(const struct stage_context *context,
                                       const struct resample_params *params)
{
    const char *name = ts_param_choice_name(context->set, "convention");
    if (context->references[0] && !keeps_spacing(params->convention)) {
        ts_param_error(context->set, "convention", "resample-convention", context->diag,
                       "%s places voxels by their number, and `like` by the patient's coordinates",
                       name);
        return ts_diag_hint(context->diag, "center or itk, or spacing or shape in place of like");
    }
    if (params->antialias && params->convention != CONVENTION_SKIMAGE)
        return ts_param_error(context->set, "antialias", "resample-convention", context->diag,
                              "convention %s does not smooth: skimage_resize does", name);
    if (params->antialias && params->interpolation == INTERPOLATION_LABELS)
        return ts_param_error(context->set, "antialias", "resample-convention", context->diag,
                              "labels are not smoothed");
    const struct sampling sampling = ts_resample_sampling(context);
    if (separate_axis(context, &sampling) > 0) {
        ts_param_error(context->set, "convention", "resample-convention", context->diag,
                       "the voxels are coarse along %s, and only slices along z are resized one by "
                       "one",
                       ts_axis_name(&context->in.axes[separate_axis(context, &sampling)]));
        return ts_diag_hint(context->diag, "`reorient` before it, so that the coarse axis is z");
    }
    return TS_OK;
}

/* Fills in the interpolation that a convention has. */
static void default_interpolation(const struct stage_context *context,
                                  struct resample_params *params)
{
    const int32_t convention = params->convention;
    ts_sampling_defaults(context, &params->interpolation, &params->outside);
    if (ts_param_given(context->set, "interpolation"))
        return;
    if (context->in.labels && convention == CONVENTION_NNUNET)
        params->interpolation = INTERPOLATION_LABELS;
    else if (!context->in.labels && !keeps_spacing(convention) && convention != CONVENTION_SKIMAGE)
        params->interpolation = INTERPOLATION_BSPLINE3;
}

static enum ts_status resample_resolve(const struct stage_context *context, void *values)
{
    struct resample_params *params = values;
    default_interpolation(context, params);
    const int given = (params->spacing.columns > 0) + (params->shape.columns > 0) +
                      (context->references[0] != NULL);
    if (given != 1) {
        const struct diag_site site = {
            .code = "resample-grid", .span = context->set->span, .stage = context->stage->name};
        ts_diag_error(context->diag, TS_BAD_CHAIN, &site, "%s",
                      given ? "several grids are named" : "no grid is named");
        return ts_diag_hint(context->diag, "one of spacing, shape and like");
    }
    enum ts_status status = check_list(context, "spacing", &params->spacing, true);
    if (status == TS_OK)
        status = check_list(context, "shape", &params->shape, false);
    if (status == TS_OK)
        status = context->references[0] ? check_like(context) : check_axes(context, params);
    if (status == TS_OK)
        status = check_convention(context, params);
    if (status == TS_OK && context->references[0])
        status = check_meets(context);
    return status == TS_OK ? ts_constant_check(context, "outside", params->outside) : status;
}

/* ---- the stage ------------------------------------------------------------------------------- */

static enum ts_status resample_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct sampling sampling = ts_resample_sampling(context);
    const struct ts_image *like = context->references[0];
    double steps[3][3], origin[3];
    vectors_of(&context->in, steps, origin);
    for (int d = 0; d < 3; d++) {
        struct ts_axis *axis = &out->axes[d];
        axis->n = sampling.n_out[d];
        if (like || sampling.matrix[d][d] == 1)
            continue;
        axis->first += sampling.offset[d] * ts_axis_spacing(axis);
        axis->spacing *= sampling.matrix[d][d];
        for (int i = 0; i < 3; i++)
            out->origin_mm[i] += out->has_geometry ? sampling.offset[d] * steps[d][i] : 0;
        for (int i = 0; d == 0 && i < 3; i++)
            out->step_z_mm[i] *= sampling.matrix[d][d];
    }
    if (like) {
        memcpy(out->axes, like->axes, sizeof out->axes);
        memcpy(out->origin_mm, like->origin_mm, sizeof out->origin_mm);
        memcpy(out->direction, like->direction, sizeof out->direction);
        memcpy(out->step_z_mm, like->step_z_mm, sizeof out->step_z_mm);
        out->frame = like->frame;
    }
    return TS_OK;
}

/* Returns the input slices that output slices [first, end) use; one slice if they use none. */
static struct stage_slices reads(const struct stage_context *context, int64_t first, int64_t end)
{
    const struct sampling sampling = ts_resample_sampling(context);
    const struct stage_slices span = ts_sampling_span(&sampling, first, end);
    const int64_t n = sampling.n_in[0], radius = ts_spline_radius(&sampling, 0);
    int64_t low = span.first - radius, high = span.end - 1 + radius;
    if (sampling.edge == EDGE_MIRROR) { /* samples beyond the ends are those before them */
        const int64_t below = -low, above = 2 * (n - 1) - high;
        high = below > high ? below : high;
        low = above < low ? above : low;
    }
    low = low < 0 ? 0 : low < n ? low : n - 1;
    high = high < low ? low : high < n ? high : n - 1;
    return (struct stage_slices){low, high + 1};
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct sampling sampling = ts_resample_sampling(context);
    return ts_sampling_scratch(&sampling, n, context->threads);
}

static enum ts_status resample_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, void *scratch)
{
    struct sampling sampling = ts_resample_sampling(context);
    if (ts_resample_finds_range(context))
        sampling.range = context->result;
    ts_sampling_map(&sampling, in, out, scratch, context->threads);
    return TS_OK;
}

/* ---- the range of the input -------------------------------------------------------------------
 */

static bool per_slice(const struct stage_context *context)
{
    (void)context;
    return false;
}

static int rounds(const struct stage_context *context)
{
    return ts_resample_finds_range(context) ? 1 : 0;
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    (void)context;
    return input == 0 ? sizeof(struct value_range) : 0;
}

static void merge(const struct stage_context *context, int input, void *into, const void *from)
{
    (void)context;
    (void)input;
    ts_value_range_merge(into, from);
}

static size_t result_bytes(const struct stage_context *context)
{
    (void)context;
    return 2 * sizeof(float);
}

static enum ts_status finish(const struct stage_context *context, const void *const totals[],
                             void *result, const struct ts_image *tables)
{
    (void)context;
    (void)tables;
    ts_sampling_range(totals[0], result);
    return TS_OK;
}

static const struct stage_reduction resample_range = {
    .per_slice = per_slice,
    .exact = true,
    .order_free = true,
    .feeds_map = true,
    .rounds = rounds,
    .partial_bytes = partial_bytes,
    .reduce = ts_value_range_reduce,
    .merge = merge,
    .result_bytes = result_bytes,
    .finish = finish,
};

/* ---- transpose ------------------------------------------------------------------------------- */

/* Lists the taps of axis d by the sample that they read. Sets *beyond if positions are beyond the
 * edges, where no sample counts. */
static enum ts_status transpose_axis(const struct stage_context *context,
                                     const struct sampling *sampling, int d, bool *beyond,
                                     struct stage_gather *gather, struct arena *arena)
{
    const int64_t n = sampling->n_out[d];
    const int count = ts_taps_count(sampling->interpolation);
    const size_t bytes = (size_t)(n * count) * sizeof(struct transpose_entry);
    struct transpose_entry *entries = ts_arena_alloc(arena, bytes);
    int64_t used = 0;
    gather->n_in[d] = n;
    gather->n_out[d] = sampling->n_in[d];
    for (int64_t i = 0; entries && i < n; i++) {
        struct taps taps;
        const double t = sampling->offset[d] + (double)i * sampling->matrix[d][d];
        *beyond |= !ts_taps_inside(t, sampling->n_in[d]);
        if (!ts_taps_inside(t, sampling->n_in[d]))
            continue;
        ts_sampling_taps(sampling, d, t, sampling->interpolation, &taps);
        for (int k = 0; k < count; k++)
            if (taps.weight[k] != 0)
                entries[used++] = (struct transpose_entry){i, taps.index[k], taps.weight[k]};
    }
    return entries && ts_gather_axis(gather, d, entries, used, arena)
               ? TS_OK
               : ts_diag_no_memory(context->diag, bytes);
}

/* Without `like` the grids have the same directions, and each axis has a matrix of its own. */
static enum ts_status resample_transpose(const struct stage_context *context, struct param_set *set,
                                         struct stage_gather *gather, struct arena *arena)
{
    const struct sampling sampling = ts_resample_sampling(context);
    bool beyond = false;
    enum ts_status status = TS_OK;
    (void)set;
    if (sampling.interpolation >= INTERPOLATION_BSPLINE3 || ts_spline_is_needed(&sampling) ||
        clips(params_of(context)))
        return ts_param_error(context->set, "interpolation", "operator-stage", context->diag,
                              "the transpose of this interpolation is not known: that of nearest, "
                              "linear and cubic is, without smoothing and clipping");
    for (int d = 0; status == TS_OK && d < 3; d++)
        status = transpose_axis(context, &sampling, d, &beyond, gather, arena);
    if (status == TS_OK && beyond && sampling.outside != 0)
        return ts_param_error(context->set, "outside", "transpose-constant", context->diag,
                              "%g would be put into every image, and an operator is linear: only 0 "
                              "is",
                              sampling.outside);
    return status;
}

static const struct stage_transpose resample_linear = {.only_gathers = true,
                                                       .describe = resample_transpose};

const struct stage resample_stage = {
    .name = "resample",
    .summary =
        "a volume with other voxels: of a spacing, in a number, or on the grid of another image",
    .doc =
        "One of `spacing` (mm), `shape` (voxels) and `like` (an image) names the grid. With the "
        "first two the field stays where it is: both grids have the same middle. n voxels of s mm "
        "become round(n s / S) of S mm (half up), or with `shape` N of n s / N mm. With `like` the "
        "patient's coordinates join the grids, whatever their orientations and shapes, and skewed "
        "slices (a tilted gantry) are taken at their places; images without coordinates are joined "
        "by the positions along their axes. A grid that is wholly beside the image is refused. The "
        "other image is not read.\n\n"
        "**Values.** `nearest` takes the nearest sample, and halfway between two the one of the "
        "larger index: right for labels. `linear` and `cubic` are products of one-dimensional "
        "rules; `cubic` is Keys' convolution with a = -1/2 (Catmull-Rom), which passes through the "
        "samples. `bspline3` is the cubic B-spline through the samples: order 3 of scipy.ndimage, "
        "scikit-image and ITK. Its coefficients are made by a symmetric filter of 33 samples along "
        "each axis, sqrt(3) (sqrt(3) - 2)^|k|, whose next sample would have a weight of 3e-10. "
        "`labels` resizes each label by itself: the linear weights of its samples are summed, the "
        "label with at least 1/2 is taken, of two with just that the larger, and 0 where none has "
        "it. Up to half a pixel beyond the outermost centers the outermost samples are repeated; "
        "beyond that, outside of the input, the value is `outside`. Positions within a millionth "
        "of a pixel count as equal, so that a grid that coincides with the input's copies it.\n\n"
        "**Conventions.** n samples of s mm become N voxels, and voxel i is at sample t:\n\n"
        "| `convention` | N | t(i) | before sample 0 | without `interpolation` |\n"
        "|---|---|---|---|---|\n"
        "| `center` | floor(n s/S + 1/2) | (n - 1)/2 + (i - (N - 1)/2) S/s | sample 0 | linear |\n"
        "| `itk` | the same | the same | sample 0; of `bspline3` sample 1 | linear |\n"
        "| `scipy_zoom` | n s/S, half to even | i (n - 1)/(N - 1) | sample 1 | bspline3 |\n"
        "| `skimage_resize` | the same | (i + 1/2) n/N - 1/2 | sample 1 | linear |\n"
        "| `nnunet` | the same | (i + 1/2) n/N - 1/2 | sample 0 | bspline3, of masks and labels "
        "labels |\n"
        "| `totalsegmentator` | the same | i (n - 1)/(N - 1) | sample 0 | bspline3 |\n\n"
        "With `shape` N is given, and S is n s/N. Where t is not that of `center`, the spacing of "
        "the output is the distance at which its voxels are, which differs a little from S; "
        "TotalSegmentator writes S. skimage.transform.resize and nnU-Net clip to the "
        "range of the image; with these two conventions `bspline3` and `cubic` are clipped. "
        "nnU-Net resizes slices one by "
        "one, each clipped to its own range, and takes the nearest along z, if the largest "
        "spacing, of the input or the output, is more than 3 times the smallest and only one axis "
        "has it; that axis must be z here. `antialias` is scikit-image's anti_aliasing. "
        "scipy.ndimage.zoom has no values past the last center, and its default mode `constant` "
        "can give 0 there where rounding puts the last voxel beyond it; here it is the sample.\n\n"
        "Sums are made in float. Integers are rounded half to even and saturated; those beyond "
        "2^24 lose the digits that a float does not hold, save with `nearest`. NaN makes NaN "
        "wherever it has a weight other than 0, and an infinity an infinity or NaN; with "
        "`bspline3` "
        "that is up to 18 samples away.\n\n"
        "**Masked images.** If a sample that has a weight is invalid, such as a CT's padding, the "
        "value is the linear mean of the valid ones of the 8 around it, their weights divided by "
        "their sum; with `cubic` and `bspline3` too, whose negative weights can leave nothing to "
        "divide by, and with `labels` it is the nearest sample. `bspline3` is filtered with the "
        "values that invalid samples have; two samples away their weight is below 1/20. A "
        "pixel whose nearest sample is invalid is invalid and has its value, and pixels outside of "
        "the input are invalid.\n\n"
        "A coarser grid skips samples: smooth before it, as with `gaussian: {sigma: S/2, unit: mm, "
        "dimensions: 3d}`, if fine structure or noise matters.\n\n"
        "Sources: R. Keys, Cubic convolution interpolation for digital image processing, IEEE "
        "Trans. ASSP 29 (1981); T. Lehmann, C. Goenner and K. Spitzer, Survey: interpolation "
        "methods in medical image processing, IEEE Trans. Medical Imaging 18 (1999); M. Unser, "
        "Splines: a perfect fit for signal and image processing, IEEE Signal Processing Magazine "
        "16 "
        "(1999); the sources of scikit-image 0.19, nnU-Net v2 and TotalSegmentator v2.",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    STAGE_PARAMS(resample_params, struct resample_params),
    .resolve = resample_resolve,
    .shape = resample_shape,
    .reads = reads,
    .scratch_bytes = scratch_bytes,
    .map = resample_map,
    .reduction = &resample_range,
    .traits = TRAIT_KEEPS_LABELS,
    .validity = VALIDITY_SAME,
    .transpose = &resample_linear,
    .cuda = STAGE_CUDA(resample_cuda),
    .bench =
        "spacing=0.7|spacing=0.7 interpolation=cubic|spacing=0.7 interpolation=nearest|spacing=1.5|"
        "spacing=0.7 interpolation=bspline3|spacing=0.7 convention=nnunet|"
        "shape=100,100,10 convention=skimage_resize antialias=true|"
        "spacing=0.7 interpolation=labels",
    .tolerance = {.relative = 2.2e-6,
                  .why = "float sums along three axes: of cubic weights, whose magnitudes sum to "
                         "1.25 at most, 18 roundings of 2^-24 times 1.25^3; of B-splines, 1.4e-6 "
                         "was the most that was found, at a checkerboard; integers are off by the "
                         "rounding of the sum besides"},
};
