/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/local_stages.h"

#include <stdlib.h>
#include <string.h>

static const struct choice borders[] = {
    {"reflect", BORDER_REFLECT, ""}, {"mirror", BORDER_MIRROR, ""},
    {"nearest", BORDER_NEAREST, ""}, {"constant", BORDER_CONSTANT, ""},
    {"wrap", BORDER_WRAP, ""},       {NULL, 0, NULL}};

/* ---- shift ----------------------------------------------------------------------------------- */

static const struct param shift_params[] = {
    PARAM(struct shift_params, by, .unit = "", .min = -9, .max = 9, .doc = "slices"),
    PARAM(struct shift_params, constant, .unit = "value", .min = 0, .max = 200,
          .doc = "of border constant"),
    PARAM(struct shift_params, border, .unit = "", .choices = borders,
          .init.choice = BORDER_REFLECT, .doc = "rule"),
};

static struct stage_reach shift_reach(const struct stage_context *context)
{
    const struct shift_params *params = context->params;
    return (struct stage_reach){
        .halo = llabs(params->by), .border = params->border, .constant = (double)params->constant};
}

static enum ts_status shift_map(const struct stage_context *context, const struct ts_image *in,
                                struct ts_image *out, void *scratch)
{
    const struct shift_params *params = context->params;
    (void)scratch;
    memcpy(out->data, ts_slice_data(in, llabs(params->by) + params->by), ts_image_bytes(out));
    return TS_OK;
}

#define SHIFT(noun, ...)                                                                           \
    {                                                                                              \
        .name = noun, .summary = "moves slices", .doc = "out(z) = in(z + by)",                     \
        .axes = AXES_VOLUME, .dtypes = TS_ANY_DTYPE, .quantities = TS_ANY_QUANTITY,                \
        STAGE_PARAMS(shift_params, struct shift_params), .reach = shift_reach, .map = shift_map,   \
        __VA_ARGS__                                                                                \
    }

const struct stage shift_stage = SHIFT("shift", .cuda = STAGE_CUDA(shift_cuda));
const struct stage cpu_shift_stage = SHIFT("cpu_shift", .cpu_only = "its kernel is not written yet",
                                           .tolerance = {.why = "the same bytes"});

const struct stage lost_stage = {
    .name = "lost",
    .summary = "loses its device",
    .doc = "writes where nothing is",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    .params = shift_params,
    .n_params = 1,
    .params_bytes = sizeof(struct shift_params),
    .map = shift_map,
    .cuda = STAGE_CUDA(lost_cuda),
};

/* ---- add_rows -------------------------------------------------------------------------------- */

static const struct param add_rows_params[] = {
    PARAM(struct add_rows_params, rows, .unit = "", .required = true, .doc = "what is added"),
    PARAM(struct add_rows_params, by, .unit = "", .min = -9, .max = 9, .doc = "slices"),
};

static enum ts_status add_rows_resolve(const struct stage_context *context, void *values)
{
    (void)values;
    if (context->references[0]->axes[2].n == context->in.axes[2].n)
        return TS_OK;
    return ts_param_error(context->set, "rows", "columns", context->diag, "has other columns");
}

static bool add_rows_streams(const struct stage_context *context, int reference)
{
    (void)context;
    return reference == 0;
}

static struct stage_reach add_rows_reach(const struct stage_context *context)
{
    const struct add_rows_params *params = context->params;
    return (struct stage_reach){.halo = llabs(params->by), .border = BORDER_NEAREST};
}

static int add_rows_tables(const struct stage_context *context,
                           struct stage_table tables[STAGE_TABLES])
{
    tables[0] = (struct stage_table){.name = "sums", .doc = "what was added"};
    tables[0].image = (struct ts_image){
        .rank = 2, .axes = {context->in.axes[0], context->in.axes[2]}, .dtype = TS_U64, .unit = ""};
    tables[1] = (struct stage_table){.name = "first", .doc = "value of each slice"};
    tables[1].image =
        (struct ts_image){.rank = 1, .axes = {context->in.axes[0]}, .dtype = TS_F64, .unit = ""};
    return 2;
}

static enum ts_status add_rows_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, void *scratch)
{
    const struct add_rows_params *params = context->params;
    const int64_t ny = out->axes[1].n, nx = out->axes[2].n, n_rows = in[1].axes[1].n;
    (void)scratch;
    for (int64_t z = 0; z < out->axes[0].n; z++)
        for (int64_t x = 0; x < nx; x++) {
            const uint16_t *from = ts_slice_data(&in[0], z + llabs(params->by) + params->by);
            const uint16_t *rows = ts_slice_data(&in[1], z);
            uint16_t *to = ts_slice_data(out, z), sum = 0;
            for (int64_t row = 0; row < n_rows; row++)
                sum = (uint16_t)(sum + rows[row * nx + x]);
            for (int64_t y = 0; y < ny; y++)
                to[y * nx + x] = (uint16_t)(from[y * nx + x] + sum);
            ((uint64_t *)ts_slice_data(&context->tables[0], z))[x] = sum;
            if (x == 0)
                *(double *)ts_slice_data(&context->tables[1], z) = to[0];
        }
    return TS_OK;
}

const struct stage add_rows_stage = {
    .name = "add_rows",
    .summary = "adds the rows of a reference",
    .doc = "in + sum of rows",
    .axes = AXES_VOLUME,
    .dtypes = TS_DTYPE_BIT(TS_U16),
    .quantities = TS_ANY_QUANTITY,
    STAGE_PARAMS(add_rows_params, struct add_rows_params),
    .resolve = add_rows_resolve,
    .streams_with_input = add_rows_streams,
    .reach = add_rows_reach,
    .tables = add_rows_tables,
    .map = add_rows_map,
    .cuda = STAGE_CUDA(add_rows_cuda),
};

/* ---- find ------------------------------------------------------------------------------------ */

static const struct param find_params[] = {
    PARAM(struct find_params, given, .unit = "mm", .min = 0, .max = 99, .doc = "0: found"),
    PARAM(struct find_params, fault, .unit = "", .doc = "changes what it may not change"),
};

static size_t find_bytes(const struct stage_context *context, int input)
{
    return input == 0 && ((const struct find_params *)context->params)->given == 0
               ? sizeof(uint64_t)
               : 0;
}

static size_t find_result_bytes(const struct stage_context *context)
{
    (void)context;
    return sizeof(double);
}

static void find_reduce(const struct stage_context *context, int input,
                        const struct ts_image *slices, void *partial)
{
    const uint16_t *values = slices[0].data;
    uint64_t sum = 0;
    (void)context;
    (void)input;
    for (size_t i = 0; i < ts_image_count(&slices[0]); i++)
        sum += values[i];
    *(uint64_t *)partial = sum;
}

static void find_merge(const struct stage_context *context, int input, void *into, const void *from)
{
    (void)context;
    (void)input;
    *(uint64_t *)into += *(const uint64_t *)from;
}

static enum ts_status find_finish(const struct stage_context *context, const void *const totals[],
                                  void *result, const struct ts_image *tables)
{
    (void)context;
    *(double *)result = 1 + (double)(*(const uint64_t *)totals[0] % 97);
    *(double *)tables[0].data = *(double *)result;
    return TS_OK;
}

static int find_tables(const struct stage_context *context, struct stage_table tables[STAGE_TABLES])
{
    tables[0] = (struct stage_table){.name = "moved", .doc = "by how much"};
    tables[0].image = (struct ts_image){.dtype = TS_F64, .unit = "mm"};
    return find_bytes(context, 0) > 0;
}

static enum ts_status find_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct find_params *params = context->params;
    if (context->result)
        out->axes[2].first += *(const double *)context->result;
    out->axes[2].first += params->given;
    out->axes[2].n += context->result && params->fault;
    return TS_OK;
}

static const struct stage_reduction find_reduction = {
    .exact = true,
    .finds_axes = true,
    .partial_bytes = find_bytes,
    .reduce = find_reduce,
    .merge = find_merge,
    .result_bytes = find_result_bytes,
    .finish = find_finish,
    .tables = find_tables,
};

const struct stage find_stage = {
    .name = "find",
    .summary = "finds the position of x",
    .doc = "1 + sum of in modulo 97",
    .axes = AXES_VOLUME,
    .dtypes = TS_DTYPE_BIT(TS_U16),
    .quantities = TS_ANY_QUANTITY,
    STAGE_PARAMS(find_params, struct find_params),
    .shape = find_shape,
    .reduction = &find_reduction,
    .cuda = STAGE_CUDA(find_cuda),
};

/* ---- add_first ------------------------------------------------------------------------------- */

static const struct param add_first_params[] = {
    PARAM(struct add_first_params, first, .unit = "mm", .derived = "position of the first column",
          .doc = "added"),
    PARAM(struct add_first_params, most, .unit = "mm", .min = 0, .max = 1e6, .init.r = 1e6,
          .doc = "of first"),
    PARAM(struct add_first_params, fault, .unit = "", .doc = "changes what was planned"),
};

static enum ts_status add_first_resolve(const struct stage_context *context, void *values)
{
    struct add_first_params *params = values;
    if (!ts_param_given(context->set, "first"))
        params->first = context->in.axes[2].first;
    if (params->first > params->most)
        return ts_param_error(context->set, "most", "first-too-large", context->diag, "first is %g",
                              params->first);
    return TS_OK;
}

static enum ts_status add_first_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct add_first_params *params = context->params;
    out->axes[2].first = params->first + 0.5;
    out->axes[2].n += params->fault && params->first > 0;
    return TS_OK;
}

static enum ts_status add_first_map(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, void *scratch)
{
    const uint16_t more =
        (uint16_t)(10 * ((const struct add_first_params *)context->params)->first);
    const uint16_t *from = in->data;
    uint16_t *to = out->data;
    (void)scratch;
    for (size_t i = 0; i < ts_image_count(out); i++)
        to[i] = (uint16_t)(from[i] + more);
    return in->axes[2].first == context->in.axes[2].first &&
                   out->axes[2].first == context->out.axes[2].first
               ? TS_OK
               : TS_RUN_FAILED;
}

const struct stage add_first_stage = {
    .name = "add_first",
    .summary = "adds the position of the first column",
    .doc = "in + 10 first",
    .axes = AXES_VOLUME,
    .dtypes = TS_DTYPE_BIT(TS_U16),
    .quantities = TS_ANY_QUANTITY,
    STAGE_PARAMS(add_first_params, struct add_first_params),
    .resolve = add_first_resolve,
    .shape = add_first_shape,
    .map = add_first_map,
    .cuda = STAGE_CUDA(add_first_cuda),
};

/* ---- masked ---------------------------------------------------------------------------------- */

static const struct param masked_params[] = {
    PARAM(struct masked_params, mask, .unit = "", .optional = true, .doc = "where it counts"),
    PARAM(struct masked_params, slices, .unit = "", .doc = "one sum a slice"),
};

static bool masked_per_slice(const struct stage_context *context)
{
    return ((const struct masked_params *)context->params)->slices;
}

static bool masked_streams(const struct stage_context *context, int reference)
{
    (void)context;
    return reference == 0;
}

static enum ts_status masked_resolve(const struct stage_context *context, void *values)
{
    (void)values;
    return ts_stage_same_shape(context, 0);
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

static void masked_reduce(const struct stage_context *context, int input,
                          const struct ts_image *slices, void *partial)
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

static void masked_merge(const struct stage_context *context, int input, void *into,
                         const void *from)
{
    (void)context;
    (void)input;
    *(uint64_t *)into += *(const uint64_t *)from;
}

static enum ts_status masked_finish(const struct stage_context *context, const void *const totals[],
                                    void *result, const struct ts_image *tables)
{
    (void)context;
    if (!totals[0])
        return TS_OK;
    *(uint64_t *)result = *(const uint64_t *)totals[0];
    if (tables)
        *(uint64_t *)tables[0].data = *(uint64_t *)result;
    return TS_OK;
}

static int masked_tables(const struct stage_context *context,
                         struct stage_table tables[STAGE_TABLES])
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

static int masked_map_tables(const struct stage_context *context,
                             struct stage_table tables[STAGE_TABLES])
{
    tables[0] = (struct stage_table){.name = "shown", .doc = "in each slice"};
    tables[0].image =
        (struct ts_image){.rank = 1, .axes = {context->in.axes[0]}, .dtype = TS_F64, .unit = ""};
    return 1;
}

static enum ts_status masked_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, void *scratch)
{
    const uint64_t *sums = context->result;
    (void)in;
    (void)scratch;
    for (int64_t z = 0; z < out->axes[0].n; z++) {
        const int shown = (int)(sums[masked_per_slice(context) ? z : 0] % 251);
        memset(ts_slice_data(out, z), shown, ts_slice_bytes(out));
        *(double *)ts_slice_data(&context->tables[0], z) = shown;
    }
    return TS_OK;
}

static const struct stage_reduction masked_reduction = {
    .per_slice = masked_per_slice,
    .exact = true,
    .feeds_map = true,
    .partial_bytes = masked_bytes,
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
    STAGE_PARAMS(masked_params, struct masked_params),
    .resolve = masked_resolve,
    .shape = masked_shape,
    .streams_with_input = masked_streams,
    .reduction = &masked_reduction,
    .tables = masked_map_tables,
    .map = masked_map,
    .cuda = STAGE_CUDA(masked_cuda),
};

/* ---- spectrum -------------------------------------------------------------------------------- */

static const struct param spectrum_params[] = {
    PARAM(struct spectrum_params, real, .unit = "", .doc = "values are real"),
    PARAM(struct spectrum_params, plane, .unit = "", .doc = "whole slices"),
};

static int spectrum_transforms(const struct stage_context *context,
                               struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const struct spectrum_params *params = context->params;
    const int64_t columns = params->real ? context->in.axes[2].n : context->in.axes[2].n / 2;
    shapes[0] =
        (struct fft_shape){.rank = 1, .real = params->real, .n = {columns}, .batch = SPECTRUM_ROWS};
    if (params->plane)
        shapes[0] = (struct fft_shape){
            .rank = 2, .real = params->real, .n = {context->in.axes[1].n, columns}, .batch = 1};
    return 1;
}

/* Returns how many samples the scratch buffer holds: those of one call and, behind them, their
 * spectrum. */
static size_t spectrum_samples(const struct stage_context *context)
{
    struct fft_shape shape[STAGE_TRANSFORMS];
    spectrum_transforms(context, shape);
    return ((size_t)ts_fft_count(shape) * (shape->real ? 1 : 2) + 15) / 16 * 16;
}

static size_t spectrum_scratch(const struct stage_context *context, int64_t n)
{
    struct fft_shape shape[STAGE_TRANSFORMS];
    (void)n;
    spectrum_transforms(context, shape);
    return (spectrum_samples(context) + ((size_t)ts_fft_spectrum_count(shape) * 2 + 15) / 16 * 16) *
               sizeof(float) +
           ts_fft_work_bytes(shape);
}

static enum ts_status spectrum_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, void *scratch)
{
    const struct spectrum_params *params = context->params;
    const int64_t nx = in->axes[2].n, step = params->plane ? in->axes[1].n : SPECTRUM_ROWS;
    struct fft_shape shape[STAGE_TRANSFORMS];
    spectrum_transforms(context, shape);
    float *samples = scratch, *spectrum = samples + spectrum_samples(context);
    void *work = spectrum + ((size_t)ts_fft_spectrum_count(shape) * 2 + 15) / 16 * 16;
    for (int64_t row = 0, rows = in->axes[0].n * in->axes[1].n; row < rows; row += step) {
        const size_t bytes = (size_t)((rows - row < step ? rows - row : step) * nx) * sizeof(float);
        memset(samples, 0, spectrum_samples(context) * sizeof *samples);
        memcpy(samples, (const float *)in->data + row * nx, bytes);
        ts_fft_forward(context->transforms[0], samples, params->real ? spectrum : samples, work);
        if (params->real)
            ts_fft_inverse(context->transforms[0], spectrum, samples, work);
        memcpy((float *)out->data + row * nx, samples, bytes);
    }
    return TS_OK;
}

const struct stage spectrum_stage = {
    .name = "spectrum",
    .summary = "Fourier transforms",
    .doc = "of pairs; of real values there and back",
    .axes = AXES_VOLUME,
    .dtypes = TS_DTYPE_BIT(TS_F32),
    .quantities = TS_ANY_QUANTITY,
    STAGE_PARAMS(spectrum_params, struct spectrum_params),
    .transforms = spectrum_transforms,
    .scratch_bytes = spectrum_scratch,
    .map = spectrum_map,
    .cuda = STAGE_CUDA(spectrum_cuda),
    .tolerance = {.relative = 2e-6, .why = "a few roundings to float"},
};
