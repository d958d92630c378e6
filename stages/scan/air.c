/* SPDX-License-Identifier: Apache-2.0
 *
 * air: t(z, view, d) = (x(z, view, d) - dark) / (a(d) - dark), where a is, in every row of every
 * view, the straight line through the means of the `detectors` outermost values on the left and on
 * the right, each mean at the middle of its values. Means and lines are double precision. This is
 * the rule of TomoPy's normalize_bg, except that there the line has the means at the ends of the
 * row. If a row's line is not above the dark from end to end, the row has no transmission: it
 * becomes NaN and is counted.
 */
#include "stages/scan/air.h"

#include <math.h>
#include <string.h>

#include "stages/scan/transmission.h"

enum { CHUNK = 1024 };

static const struct param air_params[] = {
    PARAM(struct air_params, detectors, .required = true, .unit = "detector", .min = 1,
          .max = 1 << 20,
          .doc = "how many of the outermost detector pixels, on the left and on the right, never "
                 "see the object"),
    PARAM(struct air_params, dark, .unit = "value", .min = -1e9, .max = 1e9, .init.r = 0,
          .doc = "what a detector gives without the beam"),
};

STAGE_PARAMS_OF(air_params)

static enum ts_status air_resolve(const struct stage_context *context, void *values)
{
    const struct air_params *params = values;
    const int64_t n = context->in.axes[2].n, most = (n - 1) / 2;
    if (params->detectors <= most)
        return TS_OK;
    return ts_param_error(context->set, "detectors", "air-too-wide", context->diag,
                          "%lld on both sides of a row of %lld leave none for the object, and at "
                          "most %lld were expected",
                          (long long)params->detectors, (long long)n, (long long)most);
}

static int air_tables(const struct stage_context *context, struct stage_table tables[STAGE_TABLES])
{
    tables[0] = (struct stage_table){
        .name = "blocked", .doc = "views of a slice without a transmission, which are NaN"};
    tables[0].image = (struct ts_image){
        .rank = 1, .axes = {context->in.axes[0]}, .dtype = TS_U64, .unit = "view"};
    tables[0].of = (uint64_t)context->in.axes[1].n;
    return 1;
}

/* Sums the n values of a row that start at `first`. */
static double sum_of(const void *row, enum ts_dtype dtype, int64_t first, int64_t n)
{
    double values[CHUNK], sum = 0;
    for (int64_t at = 0; at < n; at += CHUNK) {
        const int64_t count = n - at < CHUNK ? n - at : CHUNK;
        ts_load_f64(values, (const char *)row + (size_t)(first + at) * ts_dtype_bytes(dtype), dtype,
                    (size_t)count);
        for (int64_t i = 0; i < count; i++)
            sum += values[i];
    }
    return sum;
}

/* Divides the values [at, at + count) of a row of n. */
TS_VECTORIZED static void divide(float *values, int32_t at, int32_t count, int32_t n,
                                 struct air_line line, float dark)
{
    for (int32_t i = 0; i < count; i++) {
        const float beam = line.first * (float)(n - 1 - at - i) + line.last * (float)(at + i);
        values[i] = (values[i] - dark) / beam;
    }
}

/* Returns true if the row has a transmission. */
static bool map_row(const struct air_shape *shape, int64_t width, const void *in,
                    enum ts_dtype dtype, float *out, int64_t n)
{
    const struct air_line line =
        ts_air_line(shape, sum_of(in, dtype, 0, width), sum_of(in, dtype, n - width, width));
    for (int64_t d = 0; line.blocked && d < n; d++)
        out[d] = NAN;
    for (int64_t d = 0; !line.blocked && d < n; d += CHUNK) {
        const int64_t count = n - d < CHUNK ? n - d : CHUNK;
        ts_load_f32(out + d, (const char *)in + (size_t)d * ts_dtype_bytes(dtype), dtype,
                    (size_t)count);
        divide(out + d, (int32_t)d, (int32_t)count, (int32_t)n, line, (float)shape->dark);
    }
    return !line.blocked;
}

static enum ts_status air_map(const struct stage_context *context, const struct ts_image *in,
                              struct ts_image *out, void *scratch)
{
    const int64_t n_views = out->axes[1].n, n = out->axes[2].n, n_rows = out->axes[0].n * n_views;
    const size_t in_bytes = (size_t)n * ts_dtype_bytes(in->dtype);
    const struct air_shape shape = ts_air_shape(params_of(context), n);
    uint64_t *blocked = context->tables[0].data;
    (void)scratch;
    memset(blocked, 0, (size_t)out->axes[0].n * sizeof *blocked);
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t row = 0; row < n_rows; row++)
        if (!map_row(&shape, params_of(context)->detectors,
                     (const char *)in->data + (size_t)row * in_bytes, in->dtype,
                     (float *)out->data + row * n, n))
#pragma omp atomic
            blocked[row / n_views]++;
    return TS_OK;
}

const struct stage air_stage = {
    .name = "air",
    .summary = "divide projections by the beam beside the object, for scans without flats",
    .doc =
        "`t = (x - dark) / (a - dark)`, where `a` is what the beam would give without the "
        "object: in every row of every view the straight line through the means of the "
        "`detectors` outermost values on the left and on the right, each mean at the middle of "
        "its detector pixels. For scans that came without flats, and whose object leaves both "
        "ends of the detector free in every view:\n\n"
        "    input: {tiff: sinogram.tif, pages: sinograms, pixel_size: 0.1, angle_start: 0, "
        "angle_stop: 360}\n"
        "    stages:\n"
        "      - air: {detectors: 20}\n"
        "      - minus_log:\n"
        "      - center:\n"
        "      - fbp:\n\n"
        "It follows a beam that changes from view to view, and its slope along the detector, "
        "but not the response of single detector pixels: if there are flats, use `flat_field`, "
        "and `air` after it to take out the drift of the beam; without flats, `ring` takes out "
        "the stripes. If the open beam and the dark are known numbers, `rescale` with `range: "
        "[dark, flat]`, `quantity: transmission` and `clip: false` divides by those.\n\n"
        "A run looks at a slice, as [fbp](fbp.md) says, and warns if the outermost detector pixels "
        "see an "
        "object that goes on beyond the detector (`rows-cut-off`), or if the innermost of the "
        "`detectors` see the object (`air-object`): it would be taken for air, and values would "
        "come out too low. Air is the same at both ends, does not change from one detector pixel "
        "to those beside it and, of transmissions, takes away less than a tenth of the light.\n\n"
        "A row whose line is not above `dark` from end to end has no transmission: it becomes "
        "NaN, which `minus_log` refuses by default, and the table `blocked` counts such views "
        "of each slice.\n\n"
        "TomoPy's `normalize_bg` (`air` is its `detectors`) puts the two means at the ends of "
        "the row, and takes 1 for a mean that is 0 or less.\n\n"
        "Cost: one pass.",
    STAGE_TAKES_SINOGRAMS(TS_QUANTITY_BIT(TS_COUNTS) | TS_QUANTITY_BIT(TS_TRANSMISSION) |
                              TS_QUANTITY_BIT(TS_INTENSITY),
                          TS_ANY_BEAM),
    .quantity_hints =
        {[TS_LINE_INTEGRAL] =
             "the logarithm of these was taken already, and air goes before minus_log"},
    STAGE_PARAMS(air_params, struct air_params),
    .traits = TRAIT_ENDS_ARE_AIR,
    .resolve = air_resolve,
    .shape = ts_transmission_shape,
    .tables = air_tables,
    .map = air_map,
    .gives_nan = true,
    .cuda = STAGE_CUDA(air_cuda),
    .bench = "detectors=4",
    .tolerance =
        {.relative = 4.5e-7,
         .why = "of (|x| + |dark|) / (a - dark): x, dark, their difference, the ends of the line "
                "and the steps to a - dark are rounded to float, then divided: 7 halves of 2^-23"},
};
