/* SPDX-License-Identifier: Apache-2.0
 *
 * window: the VOI functions of DICOM PS3.3 C.11.2.1.2 and C.11.2.1.3, c center, w width, y from
 * out_low to out_high:
 *   linear        y = out_low where x <= c - 0.5 - (w-1)/2, out_high where x > c - 0.5 + (w-1)/2,
 *                 else ((x - (c - 0.5)) / (w-1) + 0.5) * (out_high - out_low) + out_low
 *   linear-exact  y = out_low where x <= c - w/2, out_high where x > c + w/2,
 *                 else ((x - c) / w + 0.5) * (out_high - out_low) + out_low
 *   sigmoid       y = (out_high - out_low) / (1 + exp(-4 (x - c) / w)) + out_low
 */
#include "stages/intensity/window.h"

#include <math.h>

#include "stages/values/point_map.h"

static const struct choice function_choices[] = {
    {"linear", WINDOW_LINEAR,
     "DICOM LINEAR, the default of DICOM: width counts values, its middle is center - 0.5"},
    {"linear-exact", WINDOW_LINEAR_EXACT,
     "DICOM LINEAR_EXACT: width is a distance, its middle is center"},
    {"sigmoid", WINDOW_SIGMOID, "DICOM SIGMOID: a smooth step with slope 1 / width at the center"},
    {NULL, 0, NULL},
};
static const struct choice unit_choices[] = {
    {"image", WINDOW_IMAGE,
     "center, width, low and high are values of the image, whatever they mean"},
    {"HU", WINDOW_HU, "they are Hounsfield units; an image that is not in HU is refused"},
    {NULL, 0, NULL},
};

static const struct param window_params[] = {
    PARAM(struct window_params, center, .unit = "value",
          .derived = "(low + high) / 2, plus 0.5 with function linear",
          .doc = "middle of the window"),
    PARAM(struct window_params, width, .unit = "value",
          .derived = "high - low, plus 1 with function linear",
          .doc = "width of the window; at least 1 with function linear, above 0 otherwise"),
    PARAM(struct window_params, low, .unit = "value", .derived = "center - width / 2",
          .doc = "value that becomes out_low; with high, in place of center and width"),
    PARAM(struct window_params, high, .unit = "value",
          .derived = "center + width / 2, less 1 with function linear",
          .doc = "value that becomes out_high"),
    PARAM(struct window_params, function, .choices = function_choices, .init.choice = WINDOW_LINEAR,
          .doc = "the VOI LUT function"),
    PARAM(struct window_params, unit, .choices = unit_choices, .init.choice = WINDOW_IMAGE,
          .doc = "what the window is given in"),
    PARAM(struct window_params, dtype, .choices = ts_out_dtype_choices, .init.choice = OUT_F32,
          .doc = "type of the result"),
    PARAM(struct window_params, out_low, .derived = OUT_LOW_DERIVED,
          .doc = "result at and below the window"),
    PARAM(struct window_params, out_high, .derived = OUT_HIGH_DERIVED,
          .doc = "result above the window"),
};

static enum ts_status refuse_pair(const struct stage_context *context, const char *name,
                                  const char *message)
{
    ts_param_error(context->set, name, "window-bounds", context->diag, "%s", message);
    return ts_diag_hint(context->diag, "give center and width, or low and high");
}

/* Computes the pair that is missing. Both pairs may be given if they agree, so that the parameters
 * recorded with a result can be used again. */
static enum ts_status resolve_bounds(const struct stage_context *context,
                                     struct window_params *params)
{
    const bool center = ts_param_given(context->set, "center"),
               width = ts_param_given(context->set, "width");
    const bool low = ts_param_given(context->set, "low"),
               high = ts_param_given(context->set, "high");
    const double one = params->function == WINDOW_LINEAR ? 1 : 0, rounding = 1e-9;
    if (center != width)
        return refuse_pair(context, center ? "center" : "width",
                           "center and width go together, and one is missing");
    if (low != high)
        return refuse_pair(context, low ? "low" : "high",
                           "low and high go together, and one is missing");
    if (!center && !low)
        return refuse_pair(context, "center", "the window is not given");
    if (!center) {
        params->center = (params->low + params->high + one) / 2;
        params->width = params->high - params->low + one;
    }
    const double derived_low = params->center - params->width / 2;
    const double derived_high = params->center + params->width / 2 - one;
    if (!low) {
        params->low = derived_low;
        params->high = derived_high;
    } else if (center && !(fabs(params->low - derived_low) <= rounding * params->width &&
                           fabs(params->high - derived_high) <= rounding * params->width)) {
        return refuse_pair(context, "low", "low and high contradict center and width");
    }
    return TS_OK;
}

static enum ts_status window_resolve(const struct stage_context *context, void *values)
{
    struct window_params *params = values;
    enum ts_status status = resolve_bounds(context, params);
    if (status != TS_OK)
        return status;
    const bool by_width = ts_param_given(context->set, "width");
    if (params->function == WINDOW_LINEAR ? !(params->width >= 1) : !(params->width > 0))
        return ts_param_error(
            context->set, by_width ? "width" : "high", "window-width", context->diag,
            "a width of %g value is not %s", params->width,
            params->function == WINDOW_LINEAR ? "at least 1, as function linear needs" : "above 0");
    if (params->unit == WINDOW_HU && context->in.quantity != TS_HU) {
        ts_param_error(context->set, "unit", "window-unit", context->diag,
                       "the window is in HU and the image is of quantity %s in %s",
                       ts_quantity_name(context->in.quantity), context->in.unit);
        return ts_diag_hint(context->diag, "use unit: image and the image's own values, or put the "
                                           "window before the stage that changed the quantity");
    }
    return ts_out_range_resolve(context, params->dtype, &params->out_low, &params->out_high);
}

static enum ts_status window_shape(const struct stage_context *context, struct ts_image *out)
{
    out->dtype = ts_out_dtype(((const struct window_params *)context->params)->dtype);
    out->quantity = TS_INTENSITY;
    out->unit = "1";
    return TS_OK;
}

/* Maps by either linear function, which middle and divisor choose. A width of 1 value is a step,
 * and nothing is divided. */
TS_VECTORIZED static void window_linear(double *values, size_t n, double middle, double divisor,
                                        double out_low, double out_high)
{
    const double low = middle - divisor / 2, high = middle + divisor / 2,
                 range = out_high - out_low;
    for (size_t i = 0; i < n; i++) {
        const double value = values[i];
        const double inside = ((value - middle) / divisor + 0.5) * range + out_low;
        values[i] = value <= low ? out_low : value > high ? out_high : inside;
    }
}

static void window_sigmoid(double *values, size_t n, const struct window_params *params)
{
    for (size_t i = 0; i < n; i++)
        values[i] = (params->out_high - params->out_low) /
                        (1 + exp(-4 * (values[i] - params->center) / params->width)) +
                    params->out_low;
}

static void map_values(const struct stage_context *context, int64_t z, double *values, size_t n)
{
    const struct window_params *params = context->params;
    (void)z;
    if (params->function == WINDOW_LINEAR)
        window_linear(values, n, params->center - 0.5, params->width - 1, params->out_low,
                      params->out_high);
    else if (params->function == WINDOW_LINEAR_EXACT)
        window_linear(values, n, params->center, params->width, params->out_low, params->out_high);
    else
        window_sigmoid(values, n, params);
}

static enum ts_status window_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, void *scratch)
{
    (void)scratch;
    return ts_point_map(context, in, out, map_values);
}

const struct stage window_stage = {
    .name = "window",
    .summary = "map a window of values to a range of gray, as DICOM viewers do",
    .doc = "The VOI functions of DICOM PS3.3 C.11.2.1.2. With `c` the center, `w` the width:\n\n"
           "- `linear`: `out_low` if `x <= c - 0.5 - (w-1)/2`, `out_high` if `x > c - 0.5 + "
           "(w-1)/2`, else `((x - (c - 0.5))/(w-1) + 0.5)*(out_high - out_low) + out_low`\n"
           "- `linear-exact`: `out_low` if `x <= c - w/2`, `out_high` if `x > c + w/2`, else `((x "
           "- c)/w + 0.5)*(out_high - out_low) + out_low`\n"
           "- `sigmoid`: `(out_high - out_low)/(1 + exp(-4*(x - c)/w)) + out_low`\n\n"
           "Computed in double, stored in `dtype` (integers rounded half to even). The result is "
           "an intensity. NaN stays NaN in f32 and becomes 0 in integers.",
    STAGE_TAKES_ALL,
    .bench = "low=0 high=100|low=0 high=100 dtype=u8|low=0 high=100 function=sigmoid",
    STAGE_PARAMS(window_params, struct window_params),
    .resolve = window_resolve,
    .shape = window_shape,
    .map = window_map,
    .traits = TRAIT_ENDS_LABELS,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(window_cuda),
    .tolerance = {.relative = 1.2e-7, .why = "rounding to f32; integers are exact"},
};
