/* SPDX-License-Identifier: Apache-2.0
 *
 * foreground: the rounds of the stage threshold find the threshold, one more round collects the
 * bits of the values above it, and its end leaves the largest part (mask_runs.h) and fills holes.
 */
#include "stages/regions/foreground.h"

#include <string.h>

static const struct choice method_choices[] = {
    {"otsu", FOREGROUND_OTSU, "the threshold of `threshold` with `method: otsu`"},
    {"triangle", FOREGROUND_TRIANGLE,
     "that of `method: triangle`, for images that are mostly background"},
    {"value", FOREGROUND_VALUE, "`above`"},
    {0},
};

static const struct choice keep_choices[] = {
    {"largest", FOREGROUND_LARGEST, "the largest connected part"},
    {"all", FOREGROUND_ALL, "all of it"},
    {0},
};

static const struct choice holes_choices[] = {
    {"3d", FOREGROUND_HOLES_3D, "holes that are closed on all sides are filled"},
    {"2d", FOREGROUND_HOLES_2D, "holes of each slice are filled, such as the air in a windpipe"},
    {"stay", FOREGROUND_HOLES_STAY, "holes stay"},
    {0},
};

static const struct param foreground_params[] = {
    PARAM(struct foreground_params, method, .choices = method_choices,
          .init.choice = FOREGROUND_OTSU, .doc = "where the threshold comes from"),
    PARAM(struct foreground_params, above, .unit = "value", .init.r = 0,
          .doc = "values above this one are foreground, with method value"),
    PARAM(struct foreground_params, bins, .min = 2, .max = 65536, .init.i = 256,
          .doc = "bins of the threshold's histogram, for 32-bit integers and floats"),
    PARAM(struct foreground_params, keep, .choices = keep_choices,
          .init.choice = FOREGROUND_LARGEST, .doc = "what is kept of the values above it"),
    PARAM(struct foreground_params, neighbors, .unit = "1", .min = 6, .max = 26, .init.i = 6,
          .doc = "which voxels are connected: 6, 18 or 26, as in `components`"),
    PARAM(struct foreground_params, holes, .choices = holes_choices,
          .init.choice = FOREGROUND_HOLES_3D, .doc = "which holes are filled, after that"),
};

STAGE_PARAMS_OF(foreground_params)

/* ---- plan ------------------------------------------------------------------------------------ */

static enum ts_status foreground_resolve(const struct stage_context *context, void *values)
{
    const struct foreground_params *params = values;
    const bool given = params->method == FOREGROUND_VALUE;
    if (!given && ts_param_given(context->set, "above"))
        return ts_param_error(context->set, "above", "parameter-unused", context->diag,
                              "plays no part where method %s finds the threshold",
                              ts_choice_name(method_choices, params->method));
    if (given && !ts_param_given(context->set, "above"))
        return ts_param_error(context->set, "above", "threshold-missing", context->diag,
                              "no threshold is given");
    if (!given)
        ts_param_idle(context->set, "above");
    if (given || ts_value_counts_fit(context->in.dtype))
        ts_param_idle(context->set, "bins");
    if (params->keep == FOREGROUND_ALL)
        ts_param_idle(context->set, "neighbors");
    const enum ts_status status = ts_mask_check_neighbors(context, params->neighbors);
    return status == TS_OK ? ts_mask_check_runs(context) : status;
}

/* ---- the threshold --------------------------------------------------------------------------- */

void ts_foreground_threshold(const struct stage_context *context, struct foreground_threshold *of)
{
    static const int32_t methods[] = {[FOREGROUND_OTSU] = THRESHOLD_OTSU,
                                      [FOREGROUND_TRIANGLE] = THRESHOLD_TRIANGLE,
                                      [FOREGROUND_VALUE] = THRESHOLD_VALUE};
    const struct foreground_params *params = params_of(context);
    of->params = (struct threshold_params){.method = methods[params->method],
                                           .above = params->above,
                                           .below = (double)INFINITY,
                                           .bins = params->bins,
                                           .side = THRESHOLD_ABOVE,
                                           .scope = SCOPE_VOLUME};
    of->context = *context;
    of->context.stage = &threshold_stage;
    of->context.params = &of->params;
}

struct key_range ts_foreground_given(const struct stage_context *context)
{
    struct foreground_threshold of;
    ts_foreground_threshold(context, &of);
    return ts_threshold_given(&of.context);
}

/* ---- reduction ------------------------------------------------------------------------------- */

static int foreground_rounds(const struct stage_context *context)
{
    struct foreground_threshold of;
    ts_foreground_threshold(context, &of);
    return threshold_stage.reduction->rounds(&of.context) + 1;
}

bool ts_foreground_collects(const struct stage_context *context)
{
    return context->round + 1 == foreground_rounds(context);
}

size_t ts_foreground_bits_offset(const struct stage_context *context)
{
    struct foreground_threshold of;
    ts_foreground_threshold(context, &of);
    return (threshold_stage.reduction->result_bytes(&of.context) + 63) / 64 * 64;
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    struct foreground_threshold of;
    if (ts_foreground_collects(context))
        return ts_mask_volume_bytes(context, input);
    ts_foreground_threshold(context, &of);
    return threshold_stage.reduction->partial_bytes(&of.context, input);
}

static void foreground_reduce(const struct stage_context *context, int input,
                              const struct ts_image *slices, void *partial)
{
    struct foreground_threshold of;
    if (ts_foreground_collects(context)) {
        const struct key_range keys =
            params_of(context)->method == FOREGROUND_VALUE
                ? ts_foreground_given(context)
                : ((const struct threshold_result *)context->result)->keys;
        ts_mask_volume_reduce(slices, (struct mask_values){{keys, {1, 0}}}, partial);
        return;
    }
    ts_foreground_threshold(context, &of);
    threshold_stage.reduction->reduce(&of.context, input, slices, partial);
}

static void foreground_merge(const struct stage_context *context, int input, void *into,
                             const void *from)
{
    struct foreground_threshold of;
    if (ts_foreground_collects(context)) {
        ts_mask_volume_merge(context, input, into, from);
        return;
    }
    ts_foreground_threshold(context, &of);
    threshold_stage.reduction->merge(&of.context, input, into, from);
}

static size_t result_bytes(const struct stage_context *context)
{
    const struct mask_grid grid = ts_mask_grid(&context->in);
    return ts_foreground_bits_offset(context) + ts_mask_bytes(&grid, grid.nz);
}

static enum ts_status foreground_finish(const struct stage_context *context,
                                        const void *const totals[], void *result,
                                        const struct ts_image *tables)
{
    const struct foreground_params *params = params_of(context);
    const struct mask_grid grid = ts_mask_grid(&context->in);
    struct foreground_threshold of;
    uint64_t *bits = (void *)((char *)result + ts_foreground_bits_offset(context));
    if (!ts_foreground_collects(context)) {
        ts_foreground_threshold(context, &of);
        return threshold_stage.reduction->finish(&of.context, totals, result, tables);
    }
    memcpy(bits, ((const struct mask_volume *)totals[0])->bits, ts_mask_bytes(&grid, grid.nz));
    if (params->keep == FOREGROUND_LARGEST) {
        const enum ts_status status =
            ts_mask_keep_largest(context, (enum mask_neighbors)params->neighbors, bits);
        if (status != TS_OK)
            return status;
    }
    return params->holes == FOREGROUND_HOLES_STAY
               ? TS_OK
               : ts_mask_fill_holes(context, params->holes == FOREGROUND_HOLES_3D, bits);
}

static int foreground_tables(const struct stage_context *context,
                             struct stage_table out[STAGE_TABLES])
{
    struct foreground_threshold of;
    ts_foreground_threshold(context, &of);
    return threshold_stage.reduction->tables(&of.context, out);
}

static const struct stage_reduction reduction = {
    .exact = true,
    .order_free = true,
    .whole_slices = ts_foreground_collects,
    .feeds_map = true,
    .rounds = foreground_rounds,
    .partial_bytes = partial_bytes,
    .reduce = foreground_reduce,
    .merge = foreground_merge,
    .result_bytes = result_bytes,
    .finish = foreground_finish,
    .tables = foreground_tables,
};

/* ---- map ------------------------------------------------------------------------------------- */

static enum ts_status foreground_map(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, void *scratch)
{
    const struct mask_grid grid = ts_mask_grid(out);
    const uint64_t *bits =
        (const void *)((const char *)context->result + ts_foreground_bits_offset(context));
    (void)scratch;
    ts_mask_map(context, bits + out->z_first * ts_mask_slice_words(&grid), in, out);
    return TS_OK;
}

const struct stage foreground_stage = {
    .name = "foreground",
    .summary =
        "make a mask of the object in an image: a threshold, its largest part, without holes",
    .doc =
        "Values above a threshold are foreground: that of `threshold` with `method: otsu` or "
        "`triangle`, or `above`. Of these, the largest connected part is kept (as `components` "
        "with `largest: 1` does), and its holes are filled (as `morphology` with `operation: "
        "fill_holes` does). The output is a mask of 0 and 1 as u8; a chain goes on with the image "
        "by `input: NAME`, and takes the mask by `mask: NAME`. The table `threshold` has the "
        "threshold that was found.\n\n"
        "The head or body of a CT or MR is such a part: tables and pillows that touch it belong "
        "to it, and `morphology` with `operation: open` parts them before `components` chooses. "
        "Otsu's rule looks for two classes of values of about equal spread; with little object in "
        "much air `triangle` finds more of it.\n\n"
        "NaN is background. Invalid voxels, such as a CT's padding, have no part in finding the "
        "threshold, are 0 and stay invalid; a hole may hold some. If no voxel counts, all become "
        "0.\n\n"
        "Cost: a pass for the threshold, two for 32-bit integers and floats, one for the mask and "
        "one to write it, and a bit for each voxel of the volume in memory. In between the largest "
        "part and the holes are found on the CPU, with 16 bytes for each run of voxels along x and "
        "32 for each part.",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    STAGE_PARAMS(foreground_params, struct foreground_params),
    .resolve = foreground_resolve,
    .shape = ts_mask_shape,
    .reduction = &reduction,
    .map = foreground_map,
    .traits = TRAIT_ENDS_LABELS,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(foreground_cuda),
    .bench = "|method=triangle|method=value above=100 keep=all holes=2d",
    .tolerance = {.why = "values are compared, and counts of values are exact"},
};
