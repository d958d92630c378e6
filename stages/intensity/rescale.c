/* SPDX-License-Identifier: Apache-2.0
 *
 * rescale works with [a, b], a range that is given, found in the data, or between two percentiles
 * of it:
 *   range, percentiles  y = (x - a) / (b - a) * (out_high - out_low) + out_low, x first clipped to
 *                       [a, b]
 *   z-score             y = (x - mean) / standard deviation
 * The numbers found are left as tables. Source of the rules: skimage.exposure.rescale_intensity,
 * scipy.stats.zscore.
 */
#include "stages/intensity/rescale.h"

#include <math.h>
#include <string.h>

#include "stages/counting/moments.h"
#include "stages/engine/validity.h"
#include "stages/values/fan_in.h"
#include "stages/values/point_map.h"
#include "stages/values/scope.h"
#include "stages/values/value_range.h"

static const struct choice method_choices[] = {
    {"range", RESCALE_RANGE,
     "from `range`, or from the limits of the data or of the type, to [out_low, out_high]"},
    {"percentiles", RESCALE_PERCENTILES,
     "from the values at two percentiles to [out_low, out_high]"},
    {"z-score", RESCALE_Z_SCORE, "to mean 0 and standard deviation 1, as f32"},
    {NULL, 0, NULL},
};

static const struct choice quantity_choices[] = {
    {"intensity", TS_INTENSITY, "values in no unit, which can only be compared with each other"},
    {"transmission", TS_TRANSMISSION,
     "I/I0: `range` is what a detector gives without the beam and with all of it"},
    {"line_integral", TS_LINE_INTEGRAL,
     "of the attenuation: give the meaning of `range` as `out_low` and `out_high`"},
    {NULL, 0, NULL},
};

static const struct param rescale_params[] = {
    PARAM(struct rescale_params, method, .choices = method_choices, .init.choice = RESCALE_RANGE,
          .doc = "what the values are scaled by"),
    PARAM(struct rescale_params, range, .unit = "value", .optional = true,
          .doc = "[low, high] that becomes [out_low, out_high], with method range; absent: "
                 "`limits` decides"),
    PARAM(struct rescale_params, limits, .choices = ts_limits_choices, .init.choice = LIMITS_DATA,
          .doc = "where the range comes from without `range`, with method range"),
    PARAM(struct rescale_params, low_percentile, .unit = "%", .min = 0, .max = 100, .init.r = 2,
          .doc = "percentile that becomes out_low, with method percentiles"),
    PARAM(struct rescale_params, high_percentile, .unit = "%", .min = 0, .max = 100, .init.r = 98,
          .doc = "percentile that becomes out_high, with method percentiles"),
    PARAM(struct rescale_params, scope, .choices = ts_scope_series_choices,
          .init.choice = SCOPE_VOLUME, .doc = "numbers of the volume, or of every slice by itself"),
    PARAM(struct rescale_params, clip, .init.b = true,
          .doc = "values beyond the range become out_low or out_high; else they go beyond as well"),
    PARAM(struct rescale_params, dtype, .choices = ts_out_dtype_choices, .init.choice = OUT_F32,
          .doc = "type of the result"),
    PARAM(struct rescale_params, out_low, .derived = OUT_LOW_DERIVED,
          .doc = "result at the lower end of the range"),
    PARAM(struct rescale_params, out_high, .derived = OUT_HIGH_DERIVED,
          .doc = "result at the upper end of the range"),
    PARAM(struct rescale_params, quantity, .choices = quantity_choices, .init.choice = TS_INTENSITY,
          .doc = "what the result is; another than intensity needs `range` and f32"),
    MASK_PARAM(struct rescale_params),
};

STAGE_PARAMS_OF(rescale_params)

bool ts_rescale_is_fixed(const struct stage_context *context)
{
    const struct rescale_params *params = params_of(context);
    return params->method == RESCALE_RANGE &&
           (params->range.values || params->limits == LIMITS_DTYPE);
}

static enum ts_status resolve_z_score(const struct stage_context *context,
                                      const struct rescale_params *params)
{
    if (params->dtype != OUT_F32) {
        ts_param_error(context->set, "dtype", "z-score-of-integer", context->diag,
                       "values of mean 0 and standard deviation 1 do not fit %s",
                       ts_dtype_name(ts_out_dtype(params->dtype)));
        return ts_diag_hint(context->diag, "leave dtype out, or set it to f32");
    }
    if (params->out_low != 0 || params->out_high != 1) {
        ts_param_error(context->set, params->out_low != 0 ? "out_low" : "out_high", "z-score-range",
                       context->diag, "method z-score has no range to map to");
        return ts_diag_hint(context->diag,
                            "leave out_low and out_high out, or use method range or percentiles");
    }
    return TS_OK;
}

/* Refuses a quantity if `range` is not given: with ends that are found in the data, values have
 * a meaning only within this image. */
static enum ts_status check_quantity(const struct stage_context *context,
                                     const struct rescale_params *params)
{
    const char *name = ts_quantity_name((enum ts_quantity)params->quantity);
    if (params->quantity == TS_INTENSITY)
        return TS_OK;
    if (!params->range.values) {
        ts_param_error(
            context->set, "quantity", "quantity-range", context->diag,
            "'%s' needs `range`, the two values that become %g and %g, and none is given", name,
            params->out_low, params->out_high);
        return ts_diag_hint(context->diag,
                            "range: [0, 65535] for what was stored as 0 to 65535; range: [dark, "
                            "flat] for what a detector gives without the beam and with it");
    }
    if (params->dtype != OUT_F32)
        return ts_param_error(context->set, "dtype", "quantity-dtype", context->diag,
                              "%s cannot hold a %s, and f32 was expected",
                              ts_dtype_name(ts_out_dtype(params->dtype)), name);
    return TS_OK;
}

static enum ts_status rescale_resolve(const struct stage_context *context, void *values)
{
    struct rescale_params *params = values;
    enum ts_status status = ts_limits_check_range(context, "range", &params->range);
    if (status == TS_OK)
        status = ts_out_range_resolve(context, params->dtype, &params->out_low, &params->out_high);
    if (status != TS_OK)
        return status;
    if (params->range.values && params->method != RESCALE_RANGE) {
        ts_param_error(context->set, "range", "range-unused", context->diag,
                       "method %s takes no range", ts_choice_name(method_choices, params->method));
        return ts_diag_hint(context->diag, "leave range out, or use method range");
    }
    if (params->method == RESCALE_RANGE && ts_rescale_is_fixed(context) && !params->range.values &&
        !ts_dtype_is_integer(context->in.dtype))
        return ts_limits_refuse_float(context);
    if (params->method == RESCALE_PERCENTILES &&
        !(params->low_percentile < params->high_percentile))
        return ts_param_error(context->set, "high_percentile", "range-order", context->diag,
                              "%g %% is not above low_percentile, %g %%", params->high_percentile,
                              params->low_percentile);
    status = params->method == RESCALE_Z_SCORE ? resolve_z_score(context, params) : TS_OK;
    if (status == TS_OK)
        status = check_quantity(context, params);
    return status == TS_OK ? ts_stage_check_mask(context) : status;
}

static enum ts_status rescale_shape(const struct stage_context *context, struct ts_image *out)
{
    out->dtype = ts_out_dtype(params_of(context)->dtype);
    out->quantity = (enum ts_quantity)params_of(context)->quantity;
    out->unit = "1";
    return TS_OK;
}

/* ---- reduction ------------------------------------------------------------------------------- */

static bool by_value(const struct stage_context *context)
{
    return params_of(context)->method != RESCALE_RANGE && ts_value_counts_fit(context->in.dtype);
}

bool ts_rescale_by_ends(const struct stage_context *context)
{
    return context->device && params_of(context)->method == RESCALE_PERCENTILES &&
           ts_scope_is_slice(context) && !by_value(context);
}

static int rescale_rounds(const struct stage_context *context)
{
    if (ts_rescale_is_fixed(context))
        return 0;
    const bool search = params_of(context)->method == RESCALE_PERCENTILES && !by_value(context);
    return search && !ts_rescale_by_ends(context) ? 2 : 1;
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    if (input > 0)
        return 0;
    if (by_value(context))
        return ts_value_counts_bytes(context->in.dtype);
    switch (params_of(context)->method) {
    case RESCALE_PERCENTILES:
        return ts_rescale_by_ends(context) ? sizeof(struct percentile_ends)
                                           : ts_percentile_partial_bytes(context->round, 2);
    case RESCALE_Z_SCORE:
        return ts_scope_slices(context) * sizeof(struct moments);
    default:
        return sizeof(struct value_range);
    }
}

/* Does the same with REDUCTION_AUTO. */
static void moments_of_slice(struct moments *moments, const void *data, enum ts_dtype dtype,
                             size_t n)
{
    ts_moments_of_slice_by(moments, data, dtype, n, REDUCTION_AUTO);
}

static void reduce_moments(const struct stage_context *context, const struct ts_image *slices,
                           struct moments *moments)
{
    memset(moments, 0, ts_scope_slices(context) * sizeof *moments);
    for (int64_t i = 0; i < slices->axes[0].n; i++)
        moments_of_slice(moments + (ts_scope_is_slice(context) ? 0 : slices->z_first + i),
                         ts_slice_data(slices, i), slices->dtype, ts_slice_count(slices));
}

static void rescale_reduce(const struct stage_context *context, int input,
                           const struct ts_image *slices, void *partial)
{
    if (by_value(context)) {
        ts_value_counts_of(partial, slices);
    } else if (params_of(context)->method == RESCALE_PERCENTILES) {
        const struct percentile_search *search =
            context->round == 0 ? NULL : &((const struct rescale_result *)context->result)->search;
        ts_percentile_begin(partial, context->round, search);
        ts_percentile_add(partial, context->round, search, slices->data, slices->dtype,
                          ts_image_count(slices));
        ts_percentile_end(partial, context->round);
    } else if (params_of(context)->method == RESCALE_Z_SCORE) {
        reduce_moments(context, slices, partial);
    } else {
        ts_value_range_reduce(context, input, slices, partial);
    }
}

static void rescale_merge(const struct stage_context *context, int input, void *into,
                          const void *from)
{
    (void)input;
    if (by_value(context)) {
        ts_value_counts_merge(into, from);
    } else if (params_of(context)->method == RESCALE_PERCENTILES) {
        const struct percentile_search *search =
            context->round == 0 ? NULL : &((const struct rescale_result *)context->result)->search;
        ts_percentile_merge(into, from, context->round, search);
    } else if (params_of(context)->method == RESCALE_Z_SCORE) {
        for (size_t z = 0; z < ts_scope_slices(context); z++)
            if (((const struct moments *)from)[z].n > 0)
                ((struct moments *)into)[z] = ((const struct moments *)from)[z];
    } else {
        ts_value_range_merge(into, from);
    }
}

static size_t result_bytes(const struct stage_context *context)
{
    const size_t bytes = rescale_rounds(context) == 2 ? sizeof(struct rescale_result)
                                                      : offsetof(struct rescale_result, search);
    return (bytes + 63) / 64 * 64;
}

static void find_z_score(const struct stage_context *context, const void *total, double numbers[2])
{
    struct moments moments = {0};
    if (by_value(context))
        ts_moments_of_counts(&moments, total, context->in.dtype);
    else
        for (size_t z = 0; z < ts_scope_slices(context); z++)
            ts_moments_join(&moments, (const struct moments *)total + z, context->in.dtype);
    numbers[0] = moments.mean;
    numbers[1] = moments.n > 0 ? sqrt(moments.deviations / (double)moments.n) : 0;
}

/* Returns false if another round is needed. */
static bool find_percentiles(const struct stage_context *context, const void *total,
                             struct rescale_result *result)
{
    const double percents[] = {params_of(context)->low_percentile,
                               params_of(context)->high_percentile};
    const enum ts_dtype dtype = context->in.dtype;
    if (by_value(context))
        for (int i = 0; i < 2; i++)
            result->numbers[i] = ts_percentile_of_counts(total, dtype, percents[i]);
    else if (ts_rescale_by_ends(context))
        ts_percentile_of_ends(total, dtype, percents, 2, result->numbers);
    else if (context->round == 0)
        ts_percentile_locate(&result->search, total, percents, 2);
    else
        ts_percentile_values(&result->search, total, dtype, result->numbers);
    return context->round + 1 == rescale_rounds(context);
}

static enum ts_status rescale_finish(const struct stage_context *context,
                                     const void *const totals[], void *result,
                                     const struct ts_image *tables)
{
    struct rescale_result *rescale = result;
    const struct value_range *range = totals[0];
    switch (params_of(context)->method) {
    case RESCALE_PERCENTILES:
        if (!find_percentiles(context, totals[0], rescale))
            return TS_OK;
        break;
    case RESCALE_Z_SCORE:
        find_z_score(context, totals[0], rescale->numbers);
        break;
    default:
        rescale->numbers[0] = range->n_finite ? range->low : (double)NAN;
        rescale->numbers[1] = range->n_finite ? range->high : (double)NAN;
    }
    for (int i = 0; i < 2; i++)
        *(double *)tables[i].data = rescale->numbers[i];
    return TS_OK;
}

static int rescale_tables(const struct stage_context *context, struct stage_table out[STAGE_TABLES])
{
    const bool z_score = params_of(context)->method == RESCALE_Z_SCORE;
    if (ts_rescale_is_fixed(context))
        return 0;
    out[0] = ts_scope_table(context, z_score ? "mean" : "low",
                            z_score ? "mean that was taken off" : "value that became out_low",
                            TS_F64, true);
    out[1] = ts_scope_table(context, z_score ? "standard_deviation" : "high",
                            z_score ? "standard deviation that was divided by"
                                    : "value that became out_high",
                            TS_F64, true);
    return 2;
}

static const struct stage_reduction reduction = {
    SCOPE_REDUCTION, /* exact, because moments of slices stay separate until the end */
    .rounds = rescale_rounds, .partial_bytes = partial_bytes, .reduce = rescale_reduce,
    .merge = rescale_merge,   .result_bytes = result_bytes,   .finish = rescale_finish,
    .tables = rescale_tables,
};

/* ---- map ------------------------------------------------------------------------------------- */

TS_VECTORIZED static void scale(double *values, size_t n, double low, double span, double out_span,
                                double out_low)
{
    for (size_t i = 0; i < n; i++)
        values[i] = (values[i] - low) / span * out_span + out_low;
}

/* NaN compares false and stays NaN. If low == high, no value is between the two, and nothing is
 * divided by 0. */
TS_VECTORIZED static void scale_clipped(double *values, size_t n, double low, double high,
                                        double out_low, double out_high)
{
    for (size_t i = 0; i < n; i++) {
        const double value = values[i],
                     inside = (value - low) / (high - low) * (out_high - out_low) + out_low;
        values[i] = value <= low ? out_low : value >= high ? out_high : inside;
    }
}

static void map_values(const struct stage_context *context, int64_t z, double *values, size_t n)
{
    const struct rescale_params *params = params_of(context);
    double numbers[2];
    if (!ts_rescale_is_fixed(context)) {
        memcpy(numbers, ts_scope_result(context, z), sizeof numbers);
    } else if (params->range.values) {
        memcpy(numbers, params->range.values, sizeof numbers);
    } else {
        ts_dtype_range(context->in.dtype, &numbers[0], &numbers[1]);
    }
    /* An image with only one value has no width: the value is at the lower end, or at the mean. */
    if (params->method == RESCALE_Z_SCORE)
        scale(values, n, numbers[0], numbers[1] > 0 ? numbers[1] : 1, 1, 0);
    else if (params->clip)
        scale_clipped(values, n, numbers[0], numbers[1], params->out_low, params->out_high);
    else
        scale(values, n, numbers[0], numbers[1] > numbers[0] ? numbers[1] - numbers[0] : 1,
              params->out_high - params->out_low, params->out_low);
}

static enum ts_status rescale_map(const struct stage_context *context, const struct ts_image *in,
                                  struct ts_image *out, void *scratch)
{
    (void)scratch;
    return ts_point_map(context, in, out, map_values);
}

const struct stage rescale_stage = {
    .name = "rescale",
    .summary = "scale values to a range, by percentiles, or to zero mean and unit variance",
    .doc =
        "With `[a, b]` the range: `y = (x - a)/(b - a)*(out_high - out_low) + out_low`, `x` "
        "clipped to `[a, b]` before (`skimage.exposure.rescale_intensity`). `[a, b]` is `range`, "
        "the smallest and largest finite value, the limits of the type, or the values at two "
        "percentiles (rule `linear` of `numpy.percentile`, exact for every type). `z-score`: `y = "
        "(x - mean)/standard deviation`, the deviation of the image itself (ddof 0).\n\n"
        "Invalid pixels, such as a CT's padding, and those that `mask` leaves out have no part in "
        "the numbers found; they are scaled like any other value, and clipped. If no pixel counts, "
        "the numbers are NaN, and so is the result: 0 in integers.\n\n"
        "An image of one value becomes out_low, or 0 with z-score. NaN stays NaN in f32 and "
        "becomes 0 in integers. The numbers found are written as tables `low` and `high`, or "
        "`mean` and `standard_deviation`.\n\n"
        "The result is an intensity. With `range` it may be said to be more: `rescale: {range: [0, "
        "65535], quantity: transmission}` for transmissions from 0 to 1 that were stored as "
        "integers, `range: [dark, flat]` with `clip: false` if two numbers are the flats and "
        "darks; `minus_log` takes these.\n\n"
        "Cost: no pass, one pass, or two (percentiles of 32-bit integers and floats) to find the "
        "numbers; one to map.",
    STAGE_TAKES_ALL,
    STAGE_PARAMS(rescale_params, struct rescale_params),
    .resolve = rescale_resolve,
    .shape = rescale_shape,
    .streams_with_input = ts_stage_streams_mask,
    .reduction = &reduction,
    .map = rescale_map,
    .traits = TRAIT_ENDS_LABELS,
    .validity = VALIDITY_SAME,
    .gives_nan = true,
    .cuda = STAGE_CUDA(rescale_cuda),
    .counts_values = true,
    .tolerance = {.relative = 1.2e-7, .why = "rounding to f32"},
};
