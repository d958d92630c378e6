/* SPDX-License-Identifier: Apache-2.0
 *
 * apply_mask: y = x inside the mask, which is where the mask is valid, a number and not 0. Outside,
 * y = value; or y = x and the pixel becomes invalid.
 */
#include "stages/regions/apply_mask.h"

#include <string.h>

#include "stages/engine/border.h"
#include "stages/engine/validity.h"

enum { CHUNK = 1024 };

static const struct choice outside_choices[] = {
    {"exclude", MASK_EXCLUDE,
     "pixels outside the mask become invalid, and no later stage counts them"},
    {"value", MASK_VALUE, "pixels outside the mask get `value`, and stay as valid as they were"},
    {0},
};

static const struct param apply_mask_params[] = {
    PARAM(struct apply_mask_params, mask, .required = true,
          .doc = "an image of the same shape: pixels where it is not 0 are kept"),
    PARAM(struct apply_mask_params, outside, .choices = outside_choices,
          .init.choice = MASK_EXCLUDE, .doc = "what becomes of the pixels outside the mask"),
    PARAM(struct apply_mask_params, value, .unit = "value", .init.r = 0,
          .doc = "value of the pixels outside, with outside value"),
};

STAGE_PARAMS_OF(apply_mask_params)

static enum ts_status apply_mask_resolve(const struct stage_context *context, void *values)
{
    const struct apply_mask_params *params = values;
    enum ts_status status = TS_OK;
    if (params->outside == MASK_VALUE)
        status = ts_constant_check(context, "value", params->value);
    else if (ts_param_given(context->set, "value"))
        status =
            ts_param_error(context->set, "value", "parameter-unused", context->diag,
                           "is used with outside: value alone, and pixels outside become invalid");
    else
        ts_param_idle(context->set, "value");
    return status == TS_OK ? ts_stage_check_mask(context) : status;
}

static bool masks(const struct stage_context *context)
{
    return params_of(context)->outside == MASK_EXCLUDE;
}

/* ---- map ------------------------------------------------------------------------------------- */

static bool is_within(const double *values, const uint64_t *valid, size_t first, size_t i)
{
    return values[i] != 0 && !isnan(values[i]) && (!valid || ts_valid_at(valid, first + i));
}

static void fill_outside(const struct ts_image *mask, int64_t z, char *out, size_t n,
                         size_t element, const void *value)
{
    const char *data = ts_slice_data(mask, z);
    const uint64_t *valid = ts_slice_valid(mask, z);
    double values[CHUNK];
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t count = n - first < CHUNK ? n - first : CHUNK;
        ts_load_f64(values, data + first * ts_dtype_bytes(mask->dtype), mask->dtype, count);
        for (size_t i = 0; i < count; i++)
            if (!is_within(values, valid, first, i))
                memcpy(out + (first + i) * element, value, element);
    }
}

static enum ts_status apply_mask_map(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, void *scratch)
{
    const struct ts_image *mask = &in[1 + ts_stage_mask(context)];
    const size_t n = ts_slice_count(out), element = ts_dtype_bytes(out->dtype);
    uint32_t value;
    (void)scratch;
    ts_constant_fill(&value, out->dtype, params_of(context)->value, 1);
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t z = 0; z < out->axes[0].n; z++) {
        memcpy(ts_slice_data(out, z), ts_slice_data(in, z), n * element);
        if (!masks(context))
            fill_outside(mask, z, ts_slice_data(out, z), n, element, &value);
    }
    if (masks(context) && out->valid)
        ts_valid_choose(in, mask, out, context->threads);
    return TS_OK;
}

const struct stage apply_mask_stage = {
    .name = "apply_mask",
    .summary = "leave out of an image what is outside a mask, or set it to a value",
    .doc = "`mask` names an image of the same shape, such as the output of `threshold` or an "
           "input. Pixels are outside if it is 0, NaN or invalid there.\n\n"
           "With `outside: exclude` these become invalid, like a CT's padding: they keep their "
           "values, no later `statistics`, `histogram`, `equalize` or filter takes them for "
           "measured ones, and `pixel_mask` in the output marks them (docs/padding.md). With "
           "`outside: value` they get `value`.\n\n"
           "Within the mask every value stays as it is, NaN too, and an invalid pixel stays "
           "invalid, within and outside, with either.\n\n"
           "Cost: the image is read and written once, and the mask read once.",
    STAGE_TAKES_ALL,
    STAGE_PARAMS(apply_mask_params, struct apply_mask_params),
    .resolve = apply_mask_resolve,
    .streams_with_input = ts_stage_streams_mask,
    .map = apply_mask_map,
    .traits = TRAIT_KEEPS_LABELS,
    .validity = VALIDITY_SAME,
    .masks = masks,
    .cuda = STAGE_CUDA(apply_mask_cuda),
    .bench = "mask=itself|mask=itself outside=value",
    .tolerance = {.why = "values are copied"},
};
