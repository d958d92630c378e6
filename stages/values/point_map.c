/* SPDX-License-Identifier: Apache-2.0
 *
 * A chunk is loaded as doubles, mapped and stored. It stays in the first cache, and each step
 * vectorizes for every pair of types without a copy of the code for each pair.
 */
#include "stages/values/point_map.h"

#include <math.h>

enum { CHUNK = 1024, CHUNKS_AT_ONCE = 16 };

/* Limits are doubles that the type holds exactly, so clamping before the conversion saturates. */
#define STORE(suffix, type, lowest, highest)                                                       \
    TS_VECTORIZED static void store_##suffix(type *out, const double *in, size_t n)                \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const double rounded = rint(in[i] == in[i] ? in[i] : 0);                               \
            const double above = rounded > (double)lowest ? rounded : (double)lowest;              \
            out[i] = (type)(above < (double)highest ? above : (double)highest);                    \
        }                                                                                          \
    }
STORE(U8, uint8_t, 0, UINT8_MAX)
STORE(I8, int8_t, INT8_MIN, INT8_MAX)
STORE(U16, uint16_t, 0, UINT16_MAX)
STORE(I16, int16_t, INT16_MIN, INT16_MAX)
STORE(U32, uint32_t, 0, UINT32_MAX)
STORE(I32, int32_t, INT32_MIN, INT32_MAX)

TS_VECTORIZED static void store_F32(float *out, const double *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)in[i];
}

static void map_span(const struct stage_context *context, int64_t z, const struct ts_image *in,
                     const struct ts_image *out, size_t first, size_t n, point_function *function)
{
    double values[CHUNK];
    const char *from = (const char *)ts_slice_data(in, z) + first * ts_dtype_bytes(in->dtype);
    char *to = (char *)ts_slice_data(out, z) + first * ts_dtype_bytes(out->dtype);
    ts_load_f64(values, from, in->dtype, n);
    function(context, z, values, n);
    switch (out->dtype) {
#define CASE(suffix, type)                                                                         \
    case TS_##suffix:                                                                              \
        store_##suffix((type *)to, values, n);                                                     \
        break;
        TS_IMAGE_DTYPES(CASE)
#undef CASE
    default:
        break; /* tables are not mapped */
    }
}

enum ts_status ts_point_map(const struct stage_context *context, const struct ts_image *in,
                            struct ts_image *out, point_function *function)
{
    const int64_t nz = out->axes[0].n, count = (int64_t)ts_slice_count(out),
                  span = CHUNK * CHUNKS_AT_ONCE;
    const int64_t spans = (count + span - 1) / span;
#pragma omp parallel for collapse(2) schedule(static) num_threads(context->threads)
    for (int64_t z = 0; z < nz; z++)
        for (int64_t i = 0; i < spans; i++) {
            const int64_t end = (i + 1) * span < count ? (i + 1) * span : count;
            for (int64_t first = i * span; first < end; first += CHUNK)
                map_span(context, z, in, out, (size_t)first,
                         (size_t)(end - first < CHUNK ? end - first : CHUNK), function);
        }
    return TS_OK;
}

const struct choice ts_out_dtype_choices[] = {
    {"f32", OUT_F32, "32-bit float"},
    {"u8", OUT_U8, "8-bit integer, rounded half to even"},
    {"u16", OUT_U16, "16-bit integer, rounded half to even"},
    {NULL, 0, NULL},
};

enum ts_dtype ts_out_dtype(int32_t choice)
{
    if (choice == OUT_U8)
        return TS_U8;
    return choice == OUT_U16 ? TS_U16 : TS_F32;
}

enum ts_status ts_out_range_resolve(const struct stage_context *context, int32_t choice,
                                    double *low, double *high)
{
    const enum ts_dtype dtype = ts_out_dtype(choice);
    double lowest, highest;
    ts_dtype_range(dtype, &lowest, &highest);
    if (!ts_param_given(context->set, "out_low"))
        *low = 0;
    if (!ts_param_given(context->set, "out_high"))
        *high = choice == OUT_F32 ? 1 : highest;
    if (!(*low < *high)) {
        ts_param_error(context->set, "out_high", "range-order", context->diag,
                       "%g is not above out_low, %g", *high, *low);
        return ts_diag_hint(context->diag, "use `invert` to swap bright and dark");
    }
    if (*low < lowest || *high > highest)
        return ts_param_error(context->set, *low < lowest ? "out_low" : "out_high",
                              "range-of-dtype", context->diag,
                              "%g is outside the values of %s, [%g, %g]",
                              *low < lowest ? *low : *high, ts_dtype_name(dtype), lowest, highest);
    return TS_OK;
}
