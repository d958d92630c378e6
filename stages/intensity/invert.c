/* SPDX-License-Identifier: Apache-2.0
 *
 * invert: y = low + high - x, in the type of the image. If [low, high] is the range of the type,
 * this is the rule of skimage.util.invert: highest - x for unsigned integers, -1 - x for signed
 * ones, 1 - x for floats. The range may also be given, or found in the data by a reduction.
 */
#include "stages/intensity/invert.h"

#include "stages/engine/validity.h"
#include "stages/values/point_map.h"
#include "stages/values/scope.h"
#include "stages/values/value_range.h"

static const struct choice limits_choices[] = {
    {"dtype", INVERT_DTYPE,
     "the range of the type, [0, 1] for f32: highest - x for unsigned, -1 - x for signed, 1 - x "
     "for f32 (skimage.util.invert)"},
    {"data", INVERT_DATA,
     "the smallest and the largest finite value of the image, which change places"},
    {NULL, 0, NULL},
};

static const struct param invert_params[] = {
    PARAM(struct invert_params, range, .unit = "value", .optional = true,
          .doc = "[low, high] that change places; values outside go beyond, as far as the type "
                 "reaches; absent: `limits` decides"),
    PARAM(struct invert_params, limits, .choices = limits_choices, .init.choice = INVERT_DTYPE,
          .doc = "where the range comes from without `range`"),
    PARAM(struct invert_params, scope, .choices = ts_scope_series_choices,
          .init.choice = SCOPE_VOLUME,
          .doc = "with limits data: range of the volume, or of every slice"),
    MASK_PARAM(struct invert_params),
};

STAGE_PARAMS_OF(invert_params)

static bool of_data(const struct stage_context *context)
{
    return !params_of(context)->range.values && params_of(context)->limits == INVERT_DATA;
}

static enum ts_status invert_resolve(const struct stage_context *context, void *values)
{
    const enum ts_status status =
        ts_limits_check_range(context, "range", &((const struct invert_params *)values)->range);
    return status == TS_OK ? ts_stage_check_mask(context) : status;
}

static enum ts_status invert_shape(const struct stage_context *context, struct ts_image *out)
{
    (void)context;
    out->quantity = TS_INTENSITY;
    out->unit = "1";
    return TS_OK;
}

static int invert_rounds(const struct stage_context *context)
{
    return of_data(context) ? 1 : 0;
}

static size_t result_bytes(const struct stage_context *context)
{
    (void)context;
    return sizeof(double); /* low + high */
}

static enum ts_status invert_finish(const struct stage_context *context, const void *const totals[],
                                    void *result, const struct ts_image *tables)
{
    const struct value_range *range = totals[0];
    const double ends[] = {range->n_finite ? range->low : 0, range->n_finite ? range->high : 0};
    (void)context;
    *(double *)result = ends[0] + ends[1];
    for (int i = 0; i < 2; i++)
        *(double *)tables[i].data = ends[i];
    return TS_OK;
}

static int invert_tables(const struct stage_context *context, struct stage_table out[STAGE_TABLES])
{
    if (!of_data(context))
        return 0;
    out[0] = ts_scope_table(context, "low", "smallest value, which became high", TS_F64, true);
    out[1] = ts_scope_table(context, "high", "largest value, which became low", TS_F64, true);
    return 2;
}

static size_t value_range_partial_bytes(const struct stage_context *context, int input)
{
    (void)context;
    return input == 0 ? sizeof(struct value_range) : 0;
}

static void value_range_merge_partials(const struct stage_context *context, int input, void *into,
                                       const void *from)
{
    (void)context;
    (void)input;
    ts_value_range_merge(into, from);
}

static const struct stage_reduction reduction = {
    SCOPE_REDUCTION,
    .rounds = invert_rounds,
    .partial_bytes = value_range_partial_bytes,
    .reduce = ts_value_range_reduce,
    .merge = value_range_merge_partials,
    .result_bytes = result_bytes,
    .finish = invert_finish,
    .tables = invert_tables,
};

static void map_values(const struct stage_context *context, int64_t z, double *values, size_t n)
{
    double low, high, sum;
    ts_dtype_range(context->in.dtype, &low, &high);
    if (of_data(context))
        sum = *(const double *)ts_scope_result(context, z);
    else if (params_of(context)->range.values)
        sum = params_of(context)->range.values[0] + params_of(context)->range.values[1];
    else
        sum = ts_dtype_is_integer(context->in.dtype) ? low + high : 1;
    for (size_t i = 0; i < n; i++)
        values[i] = sum - values[i];
}

static enum ts_status invert_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, void *scratch)
{
    (void)scratch;
    return ts_point_map(context, in, out, map_values);
}

const struct stage invert_stage = {
    .name = "invert",
    .summary = "turn bright and dark over",
    .doc = "`y = low + high - x`, in the type of the image. By default `[low, high]` is the range "
           "of the type, as in `skimage.util.invert`: 255 - x for u8, -1 - x for i16, 1 - x for "
           "f32 (meant for values in [0, 1]). For a CT in HU, `limits: data` or `range: [-1024, "
           "3071]` keeps the values where they were. Integers saturate; a sum that is no integer "
           "rounds half to even. NaN stays NaN. Invalid pixels, such as a CT's padding, and those "
           "that `mask` leaves out have no part in a range that is found, and are turned over like "
           "any other value. The result is an intensity, no longer HU.",
    STAGE_TAKES_ALL,
    STAGE_PARAMS(invert_params, struct invert_params),
    .resolve = invert_resolve,
    .shape = invert_shape,
    .streams_with_input = ts_stage_streams_mask,
    .reduction = &reduction,
    .map = invert_map,
    .traits = TRAIT_ENDS_LABELS,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(invert_cuda),
    .tolerance = {.relative = 1.2e-7, .why = "rounding to f32; integers are exact"},
};
