/* SPDX-License-Identifier: Apache-2.0
 *
 * to_hu: HU = 1000 (mu - mu_water) / mu_water, the scale of stages/intensity/to_hu.h. Values are
 * computed in double and rounded once. to_attenuation is the inverse.
 */
#include "stages/intensity/to_hu.h"

#include <string.h>

#include "stages/values/point_map.h"

static const struct param to_hu_params[] = {
    HOUNSFIELD_WATER(struct to_hu_params, "; or the mean of a region of water in this image"),
};

static enum ts_status to_hu_resolve(const struct stage_context *context, void *values)
{
    const char *unit = context->in.unit ? context->in.unit : "";
    (void)values;
    if (!strcmp(unit, "1/mm"))
        return TS_OK;
    ts_diag_error(
        context->diag, TS_BAD_CHAIN,
        &(struct diag_site){
            .code = "attenuation-unit", .span = context->set->span, .stage = context->stage->name},
        "the attenuation of this image is in '%s', expected 1/mm as that of water is", unit);
    return ts_diag_hint(context->diag,
                        "reconstruct from line integrals without a unit on a grid in mm");
}

static enum ts_status to_hu_shape(const struct stage_context *context, struct ts_image *out)
{
    (void)context;
    out->quantity = TS_HU;
    out->unit = "HU";
    return TS_OK;
}

TS_VECTORIZED static void scale(double *values, size_t n, double water)
{
    for (size_t i = 0; i < n; i++)
        values[i] = (values[i] - water) / water * 1000;
}

static void map_values(const struct stage_context *context, int64_t z, double *values, size_t n)
{
    (void)z;
    scale(values, n, ((const struct to_hu_params *)context->params)->water);
}

static enum ts_status to_hu_map(const struct stage_context *context, const struct ts_image *in,
                                struct ts_image *out, void *scratch)
{
    (void)scratch;
    return ts_point_map(context, in, out, map_values);
}

const struct stage to_hu_stage = {
    .name = "to_hu",
    .summary = "attenuation in 1/mm to Hounsfield units",
    .doc = "`HU = 1000*(mu - water)/water`: water is 0 HU and vacuum -1000 HU (air's own "
           "attenuation is taken as 0). The image must be an attenuation in 1/mm, as a "
           "reconstruction of line integrals on a grid in mm is. Every value is mapped, negative "
           "ones too; NaN stays NaN. Computed in double and rounded once.",
    .axes = AXES_VOLUME,
    .dtypes = TS_DTYPE_BIT(TS_F32),
    .quantities = TS_QUANTITY_BIT(TS_ATTENUATION),
    .quantity_hints =
        {[TS_COUNTS] =
             "`flat_field`, `minus_log` and a reconstruction such as `fbp` make one from counts",
         [TS_TRANSMISSION] =
             "`minus_log` and a reconstruction such as `fbp` make one from a transmission",
         [TS_LINE_INTEGRAL] = "a reconstruction such as `fbp` makes one of line integrals",
         [TS_HU] = "this image is in HU already",
         [TS_INTENSITY] = "where the values are 1/mm, say `quantity: attenuation` at the input"},
    STAGE_PARAMS(to_hu_params, struct to_hu_params),
    .resolve = to_hu_resolve,
    .shape = to_hu_shape,
    .map = to_hu_map,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(to_hu_cuda),
    .bench = "water=0.02",
    .tolerance = {.relative = 6e-8, .why = "rounding to f32"},
};
