/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of the stage tv, and which slices a 3D run looks at. After n iterations a slice depends on the n slices on
 * either side, and its distance on one more: with a fixed number of iterations that is the halo, so that slabs are
 * iterated apart from each other and yet give the bytes of the whole volume. A stop by the distance of the whole volume
 * needs the whole volume, which is then the halo of every slab. Slices that the runner puts outside the volume are
 * left alone.
 */
#include "stages/denoising/tv.h"

#include <float.h>

#include "stages/denoising/tv_sweep.h"

static const struct choice dimension_choices[] = {
    {"2d", TV_2D, "each slice by itself"},
    {"3d", TV_3D, "the volume as a whole, in samples: not corrected for their spacing"},
    {0},
};
static const struct choice method_choices[] = {
    {"auto", TV_AUTO, "primal-dual"},
    {"chambolle", TV_CHAMBOLLE, "Chambolle's projection of the dual field (2004), with the steps of scikit-image"},
    {"primal-dual", TV_PRIMAL_DUAL, "the accelerated primal-dual method of Chambolle and Pock (2011)"},
    {0},
};
static const struct choice stop_choices[] = {
    {"never", TV_NEVER, "after all iterations"},
    {"distance", TV_DISTANCE, "once the distance is at most `tolerance`, looked at after every 10 iterations"},
    {0},
};

static const struct param tv_params[] = {
    PARAM(struct tv_params, weight, .unit = "value", .required = true, .min = 1e-30, .max = 1e30,
          .doc = "how much the variation counts: differences below about this value are smoothed"),
    PARAM(struct tv_params, dimensions, .unit = "", .choices = dimension_choices, .init.choice = TV_2D,
          .doc = "the axes along which the variation is counted"),
    PARAM(struct tv_params, method, .unit = "", .choices = method_choices, .init.choice = TV_AUTO,
          .doc = "how the minimum is sought; both come to the same one"),
    PARAM(struct tv_params, iterations, .unit = "", .init.i = 100, .min = 1, .max = 100000,
          .doc = "number of iterations, at most"),
    PARAM(struct tv_params, stop, .unit = "", .choices = stop_choices, .init.choice = TV_NEVER,
          .doc = "when a slice, in 3d the volume, is done before all iterations"),
    PARAM(struct tv_params, tolerance, .unit = "value", .min = 0, .max = 1e30,
          .derived = "none; stop distance needs it",
          .doc = "for stop distance: the root mean square by which the result may differ from the exact minimum"),
};

STAGE_PARAMS_OF(tv_params)

static enum ts_status resolve(const struct stage_context *context, void *values)
{
    struct tv_params *params = values;
    if (params->method == TV_AUTO)
        params->method = TV_PRIMAL_DUAL;
    const bool given = ts_param_given(context->set, "tolerance");
    if (params->stop == TV_NEVER && given)
        return ts_param_error(context->set, "tolerance", "parameter-unused", context->diag,
                              "is used with stop: distance alone, and stop is never");
    if (params->stop == TV_NEVER)
        ts_param_idle(context->set, "tolerance");
    else if (!given)
        return ts_param_error(context->set, "tolerance", "tolerance-missing", context->diag,
                              "is not given, and stop: distance needs it");
    return TS_OK;
}

static enum ts_status shape(const struct stage_context *context, struct ts_image *out)
{
    (void)context;
    out->dtype = TS_F32;
    return TS_OK;
}

struct stage_reach ts_tv_reach(const struct stage_context *context)
{
    const struct tv_params *params = params_of(context);
    const int64_t others = context->in.axes[0].n - 1, most = params->iterations + 1;
    const bool all = params->stop == TV_DISTANCE || most > others;
    return (struct stage_reach){.halo = params->dimensions == TV_2D ? 0
                                        : all                       ? others
                                                                    : most,
                                .border = BORDER_NEAREST,
                                .recomputes = true};
}

struct tv_range ts_tv_range(const struct stage_context *context, const struct ts_image *out)
{
    const int64_t nz = context->in.axes[0].n, halo = ts_tv_reach(context).halo, n = out->axes[0].n;
    const int64_t first = out->z_first - halo, end = out->z_first + n + halo;
    return (struct tv_range){first > 0 ? first : 0, end < nz ? end : nz, out->z_first, n};
}

struct tv_range ts_tv_range_of_iteration(const struct tv_params *params, const struct tv_range *range, int64_t i)
{
    const int64_t left = params->iterations - i, first = range->z - left, end = range->z + range->n + left;
    struct tv_range needed = *range;
    if (params->stop == TV_DISTANCE)
        return needed;
    needed.first = first > range->first ? first : range->first;
    needed.end = end < range->end ? end : range->end;
    return needed;
}

static int tables(const struct stage_context *context, struct stage_table tables[STAGE_TABLES])
{
    const struct ts_axis *z = &context->in.axes[0];
    const struct ts_axis look = {
        .kind = TS_AXIS_ITEM, .n = ts_tv_looks(params_of(context)), .unit = "", .name = "look"};
    tables[TV_TABLE_DISTANCE] = (struct stage_table){
        .name = "distance",
        .doc = "bound of the root mean square by which the slice differs from the exact minimum, after every look; "
               "NaN behind the last. With dimensions 3d, the slice's part in that of the volume",
        .image = {.rank = 2, .axes = {*z, look}, .dtype = TS_F64, .quantity = TS_INTENSITY, .unit = context->in.unit}};
    tables[TV_TABLE_ITERATIONS] =
        (struct stage_table){.name = "iterations",
                             .doc = "iterations that were carried out",
                             .image = {.rank = 1, .axes = {*z}, .dtype = TS_U32, .quantity = TS_INTENSITY, .unit = ""}};
    return TV_TABLES;
}

const struct stage tv_stage = {
    .name = "tv",
    .summary = "total-variation denoising: flat regions with sharp edges",
    .doc =
        "The output is the `u` that minimizes `1/2 ||u - f||^2 + weight * sum |grad u|` for the input `f`, with `grad` "
        "the differences to the next pixel along each axis (0 at the last one). Noise has much variation and goes; an "
        "edge has the same variation whether it is sharp or not, and stays sharp. Contrast is lost by about `weight` "
        "times the perimeter of a region over its area. (L. Rudin, S. Osher, E. Fatemi, *Nonlinear total variation "
        "based noise removal algorithms*, Physica D 60, 1992.)\n"
        "\n"
        "`chambolle` projects the dual field (A. Chambolle, *An algorithm for total variation minimization and "
        "applications*, J. Math. Imaging Vis. 20, 2004): with n iterations it is "
        "`skimage.restoration.denoise_tv_chambolle` with `eps=0, max_num_iter=n + 1` and the same `weight`. "
        "`primal-dual` is the second algorithm of A. Chambolle and T. Pock, *A first-order primal-dual algorithm for "
        "convex problems with applications to imaging*, J. Math. Imaging Vis. 40, 2011, with gamma = 1. Where `weight` "
        "is at least as large as the noise it is nearer to the minimum from about 20 iterations on, and after 200 of "
        "them 3 to 8 times as near.\n"
        "\n"
        "**How close.** The table `distance` has a bound of the root mean square by which the result differs from the "
        "exact minimum, in the image's unit: the root of twice the gap between the primal and the dual problem over "
        "the number of pixels. With `stop: distance` a slice is done once it is at most `tolerance`; with `dimensions: "
        "3d` it is that of the volume, whose square is the mean of those of the slices. One that has not come so near "
        "after `iterations` ends there without a note: its last number in `distance` is then above `tolerance`.\n"
        "\n"
        "**Slabs.** In 3d n iterations look at n + 1 slices on either side, which every slab of a run computes anew, "
        "and `stop: distance` at the whole volume: give the run memory for as few slabs as may be.\n"
        "\n"
        "A NaN or an infinite value spoils its surroundings, by a pixel further with every iteration, and no note "
        "tells of it; `outliers` before this stage replaces them. The output is f32. Values are divided by a power of "
        "two "
        "near `weight`, so that scale does not matter: an image and a `weight` 2^90 times as large give a result 2^90 "
        "times as large, to the bit. A value of 3.5e13 `weight` and more comes out as it was, and to its neighbors it "
        "is one of 3.5e13 `weight`; one below 1e-37 `weight` counts as 0.\n"
        "\n"
        "**Masked images.** An invalid pixel, such as a CT's padding, keeps its value, and no variation is counted "
        "between it and others; a NaN or an infinite value then has no more effect than an invalid pixel. In "
        "`distance` "
        "they count as exact.\n"
        "\n"
        "**Cost.** An iteration takes about 30 operations, a root and a division a pixel.",
    STAGE_TAKES_ALL,
    STAGE_PARAMS(tv_params, struct tv_params),
    .resolve = resolve,
    .shape = shape,
    .reach = ts_tv_reach,
    .tables = tables,
    .scratch_bytes = ts_tv_scratch_bytes,
    .map = ts_tv_map,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(tv_cuda),
    .tolerance = {.relative = 2e-6, .why = "errors of float sums pass from iteration to iteration"},
    .bench = "weight=20 iterations=20|weight=20 iterations=20 dimensions=3d",
};
