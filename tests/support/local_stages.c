/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/local_stages.h"

#include <stdlib.h>
#include <string.h>

static const struct choice borders[] = {{"reflect", BORDER_REFLECT, ""}, {"mirror", BORDER_MIRROR, ""},
                                        {"nearest", BORDER_NEAREST, ""}, {"constant", BORDER_CONSTANT, ""},
                                        {"wrap", BORDER_WRAP, ""},       {NULL, 0, NULL}};

/* ---- shift ------------------------------------------------------------------------------------- */

static const struct param shift_rows[] = {
    PARAM(struct shift_params, by, .unit = "", .min = -9, .max = 9, .doc = "slices"),
    PARAM(struct shift_params, constant, .unit = "value", .min = 0, .max = 200, .doc = "of border constant"),
    PARAM(struct shift_params, border, .unit = "", .choices = borders, .init.choice = BORDER_REFLECT, .doc = "rule"),
};

static struct stage_reach shift_reach(const struct stage_context *context)
{
    const struct shift_params *params = context->params;
    return (struct stage_reach){
        .halo = llabs(params->by), .border = params->border, .constant = (double)params->constant};
}

static enum ts_status shift_cpu(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                                void *scratch)
{
    const struct shift_params *params = context->params;
    (void)scratch;
    memcpy(out->data, ts_slice_data(in, llabs(params->by) + params->by), ts_image_bytes(out));
    return TS_OK;
}

const struct stage shift_stage = {
    .name = "shift",
    .summary = "moves slices",
    .doc = "out(z) = in(z + by)",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    .params = shift_rows,
    .n_params = sizeof shift_rows / sizeof *shift_rows,
    .params_bytes = sizeof(struct shift_params),
    .reach = shift_reach,
    .cpu = shift_cpu,
    .cuda = STAGE_CUDA(shift_cuda),
};

const struct stage lost_stage = {
    .name = "lost",
    .summary = "loses its device",
    .doc = "writes where nothing is",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    .params = shift_rows,
    .n_params = 1,
    .params_bytes = sizeof(struct shift_params),
    .cpu = shift_cpu,
    .cuda = STAGE_CUDA(lost_cuda),
};

/* ---- masked ------------------------------------------------------------------------------------ */

static const struct param masked_rows[] = {
    PARAM(struct masked_params, mask, .unit = "", .optional = true, .doc = "where it counts"),
    PARAM(struct masked_params, slices, .unit = "", .doc = "one sum a slice"),
};

static bool masked_per_slice(const struct stage_context *context)
{
    return ((const struct masked_params *)context->params)->slices;
}

static bool masked_aligned(const struct stage_context *context, int reference)
{
    (void)context;
    return reference == 0;
}

static size_t masked_bytes(const struct stage_context *context, int input)
{
    (void)context;
    return input == 0 ? sizeof(uint64_t) : 0;
}

static size_t masked_result_bytes(const struct stage_context *context)
{
    (void)context;
    return sizeof(uint64_t);
}

static void masked_reduce(const struct stage_context *context, int input, const struct ts_image *slices, void *partial)
{
    const uint16_t *values = slices[0].data;
    const uint8_t *mask = slices[1].data;
    uint64_t sum = 0;
    (void)context;
    (void)input;
    for (size_t i = 0; i < ts_image_count(&slices[0]); i++)
        sum += mask[i] ? values[i] : 0;
    *(uint64_t *)partial = sum;
}

static void masked_merge(const struct stage_context *context, int input, void *into, const void *from)
{
    (void)context;
    (void)input;
    *(uint64_t *)into += *(const uint64_t *)from;
}

static enum ts_status masked_finish(const struct stage_context *context, const void *const totals[], void *result,
                                    const struct ts_image *tables)
{
    (void)context;
    if (!totals[0])
        return TS_OK;
    *(uint64_t *)result = *(const uint64_t *)totals[0];
    if (tables)
        *(uint64_t *)tables[0].data = *(uint64_t *)result;
    return TS_OK;
}

static int masked_tables(const struct stage_context *context, struct stage_table tables[STAGE_TABLES])
{
    tables[0] = (struct stage_table){.name = "sum", .doc = "of the values in the mask"};
    tables[0].image = (struct ts_image){.dtype = TS_U64, .unit = ""};
    if (masked_per_slice(context))
        tables[0].image.axes[tables[0].image.rank++] = context->in.axes[0];
    return 1;
}

static enum ts_status masked_shape(const struct stage_context *context, struct ts_image *out)
{
    (void)context;
    out->dtype = TS_U8;
    return TS_OK;
}

static enum ts_status masked_cpu(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                                 void *scratch)
{
    const uint64_t *sums = context->result;
    (void)in;
    (void)scratch;
    for (int64_t z = 0; z < out->axes[0].n; z++)
        memset(ts_slice_data(out, z), (int)(sums[masked_per_slice(context) ? z : 0] % 251), ts_slice_bytes(out));
    return TS_OK;
}

static const struct stage_reduction masked_reduction = {
    .per_slice = masked_per_slice,
    .exact = true,
    .feeds_map = true,
    .partial_bytes = masked_bytes,
    .aligned = masked_aligned,
    .reduce = masked_reduce,
    .merge = masked_merge,
    .result_bytes = masked_result_bytes,
    .finish = masked_finish,
    .tables = masked_tables,
};

const struct stage masked_stage = {
    .name = "masked",
    .summary = "sums in a mask",
    .doc = "sum of in where mask is not 0",
    .axes = AXES_VOLUME,
    .dtypes = TS_DTYPE_BIT(TS_U16),
    .quantities = TS_ANY_QUANTITY,
    .params = masked_rows,
    .n_params = sizeof masked_rows / sizeof *masked_rows,
    .params_bytes = sizeof(struct masked_params),
    .shape = masked_shape,
    .reduction = &masked_reduction,
    .cpu = masked_cpu,
    .cuda = STAGE_CUDA(masked_cuda),
};
