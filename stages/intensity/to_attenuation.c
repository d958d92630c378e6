/* SPDX-License-Identifier: Apache-2.0
 *
 * to_attenuation: mu = water (1 + HU / 1000), the scale of stages/intensity/to_hu.h and the inverse
 * of to_hu. Values are computed in double, in chunks that stay in the cache, and rounded once.
 * Values that become 0 because they were negative are counted for each slice; counts are integers,
 * so the order of chunks does not matter.
 */
#include "stages/intensity/to_attenuation.h"

#include <math.h>
#include <string.h>

#include "stages/engine/validity.h"

enum { CHUNK = 4096 };

static const struct choice negative_choices[] = {
    {"zero", NEGATIVE_ZERO,
     "values below -1000 HU become 0, as no matter has a negative attenuation; the table "
     "`negative` counts them"},
    {"keep", NEGATIVE_KEEP,
     "they stay negative, so that the mean of noisy air stays as it is, and to_hu gives them back"},
    {NULL, 0, NULL},
};

static const struct param to_attenuation_params[] = {
    HOUNSFIELD_WATER(struct to_attenuation_params, ""),
    PARAM(struct to_attenuation_params, negative, .choices = negative_choices,
          .init.choice = NEGATIVE_ZERO,
          .doc = "what happens to values below -1000 HU, such as noise in air and padding"),
};

STAGE_PARAMS_OF(to_attenuation_params)

static enum ts_status to_attenuation_shape(const struct stage_context *context,
                                           struct ts_image *out)
{
    (void)context;
    out->dtype = TS_F32;
    out->quantity = TS_ATTENUATION;
    out->unit = "1/mm";
    return TS_OK;
}

static int to_attenuation_tables(const struct stage_context *context,
                                 struct stage_table out[STAGE_TABLES])
{
    if (params_of(context)->negative == NEGATIVE_KEEP)
        return 0;
    out[0] = (struct stage_table){.name = "negative",
                                  .doc = "values of each slice below -1000 HU, which became 0"};
    out[0].image = (struct ts_image){.rank = 1,
                                     .axes = {context->in.axes[0]},
                                     .dtype = TS_U64,
                                     .quantity = TS_INTENSITY,
                                     .unit = "1"};
    return 1;
}

TS_VECTORIZED static int64_t attenuate(const double *hu, float *out, size_t n,
                                       struct attenuation_rule rule)
{
    int64_t negative = 0;
    for (size_t i = 0; i < n; i++) {
        const double mu = (hu[i] + 1000) * rule.scale;
        negative += mu < rule.lowest;
        out[i] = (float)(mu < rule.lowest ? 0 : mu);
    }
    return negative;
}

/* Counts the negative values of pixels that are valid; `hu` begins at pixel `first`. */
static int64_t count_valid(const double *hu, const uint64_t *valid, size_t first, size_t n,
                           struct attenuation_rule rule)
{
    int64_t negative = 0;
    for (size_t i = 0; i < n; i++)
        negative += ts_valid_at(valid, first + i) && (hu[i] + 1000) * rule.scale < rule.lowest;
    return negative;
}

static enum ts_status to_attenuation_map(const struct stage_context *context,
                                         const struct ts_image *in, struct ts_image *out,
                                         void *scratch)
{
    const struct attenuation_rule rule = ts_attenuation_rule(params_of(context));
    const int64_t count = (int64_t)ts_slice_count(out), nz = out->axes[0].n,
                  chunks = (count + CHUNK - 1) / CHUNK;
    uint64_t *table =
        params_of(context)->negative == NEGATIVE_ZERO ? context->tables[0].data : NULL;
    (void)scratch;
    if (table)
        memset(table, 0, (size_t)nz * sizeof *table);
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t task = 0; task < nz * chunks; task++) {
        double hu[CHUNK];
        const int64_t z = task / chunks, first = task % chunks * CHUNK;
        const size_t n = (size_t)(count - first < CHUNK ? count - first : CHUNK);
        ts_load_f64(hu,
                    (const char *)ts_slice_data(in, z) + (size_t)first * ts_dtype_bytes(in->dtype),
                    in->dtype, n);
        int64_t negative = attenuate(hu, (float *)ts_slice_data(out, z) + first, n, rule);
        if (in->valid && negative > 0)
            negative = count_valid(hu, ts_slice_valid(in, z), (size_t)first, n, rule);
        if (table && negative > 0)
            __atomic_fetch_add(&table[z], (uint64_t)negative, __ATOMIC_RELAXED);
    }
    return TS_OK;
}

const struct stage to_attenuation_stage = {
    .name = "to_attenuation",
    .summary = "Hounsfield units to attenuation in 1/mm",
    .doc = "`mu = water*(1 + HU/1000)`, the inverse of `to_hu`: vacuum, -1000 HU, has an "
           "attenuation of 0. `radon` of it gives line integrals without a unit, as a scanner "
           "measures them, because outside the slice is then vacuum; a reconstruction of those "
           "ends in HU again:\n\n"
           "    stages:\n"
           "      - to_attenuation: {water: 0.0206}\n"
           "      - radon: {views: 720}\n"
           "      - fbp: {}\n"
           "      - to_hu: {water: 0.0206}\n\n"
           "Values below -1000 HU are noise, or padding of pixels that were not measured. By "
           "default they become 0, and a run ends with a note of how many there were. NaN stays "
           "NaN and is not counted; nor are invalid pixels, such as padding that the input "
           "excludes. Computed in double and rounded once; both devices give the same bytes.",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_QUANTITY_BIT(TS_HU),
    .quantity_hints = {[TS_ATTENUATION] = "this image is an attenuation already",
                       [TS_INTENSITY] = "where the values are HU, say `quantity: hu` at the input"},
    STAGE_PARAMS(to_attenuation_params, struct to_attenuation_params),
    .shape = to_attenuation_shape,
    .tables = to_attenuation_tables,
    .map = to_attenuation_map,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(to_attenuation_cuda),
    .bench = "water=0.0206|water=0.0206 negative=keep",
    .tolerance = {.relative = 6e-8, .why = "rounding to f32"},
};
