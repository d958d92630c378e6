/* SPDX-License-Identifier: Apache-2.0
 *
 * noise: counts = Poisson(photons t) + electronic Gaussian, of a transmission t or a line integral
 * p with t = e^-p; the counts are converted back to the same quantity. Random numbers depend on a
 * pixel's index in the series of volumes (stages/values/samples.h), so pixels can be done in any
 * order. The numbers of pixels without a logarithm are added as integers.
 */
#include "stages/scan/noise.h"

#include <string.h>

enum { CHUNK = 1024 };

static const struct choice nonpositive_choices[] = {
    {"floor", NOISE_FLOOR,
     "every count below `floor` is taken as `floor`, small positive ones too"},
    {"nan", NOISE_NAN, "counts at or below 0 become NaN"},
    {NULL, 0, NULL},
};

static const struct param noise_params[] = {
    PARAM(struct noise_params, photons, .unit = "", .min = 1, .max = 1e9, .required = true,
          .doc = "photons that reach a detector pixel in one view without the object"),
    PARAM(struct noise_params, electronic, .unit = "", .min = 0, .max = 1e6, .init.r = 0,
          .doc = "standard deviation, in photons, of the noise of the electronics, which is added "
                 "to every count"),
    PARAM(struct noise_params, seed, .min = 0, .max = 9007199254740991, .init.i = 0,
          .doc = "which series of random numbers: equal seeds give equal numbers, so that two "
                 "scans need two"),
    PARAM(struct noise_params, nonpositive, .choices = nonpositive_choices,
          .init.choice = NOISE_FLOOR,
          .doc =
              "of line integrals: what happens to counts of 0 and below, which have no logarithm"),
    PARAM(struct noise_params, floor, .unit = "", .min = 1e-6, .max = 1e9, .init.r = 1,
          .doc = "of line integrals, with nonpositive floor: the smallest count, in photons"),
};

STAGE_PARAMS_OF(noise_params)

static bool is_lines(const struct stage_context *context)
{
    return context->in.quantity == TS_LINE_INTEGRAL;
}

static enum ts_status refuse_idle(const struct stage_context *context, const char *name,
                                  const char *why)
{
    if (ts_param_given(context->set, name))
        return ts_param_error(context->set, name, "parameter-unused", context->diag, "%s", why);
    ts_param_idle(context->set, name);
    return TS_OK;
}

static enum ts_status noise_resolve(const struct stage_context *context, void *values)
{
    const struct noise_params *params = values;
    const char *unit = context->in.unit ? context->in.unit : "";
    enum ts_status status = TS_OK;
    if (is_lines(context) && strcmp(unit, "1") != 0) {
        ts_diag_error(context->diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "line-integral-unit",
                                          .span = context->set->span,
                                          .stage = context->stage->name},
                      "these line integrals are in '%s', and only those of attenuation, in 1, say "
                      "how many photons pass",
                      unit);
        return ts_diag_hint(context->diag,
                            "`to_attenuation: {water: 0.0206}` before `radon` makes them from HU");
    }
    if (!is_lines(context))
        status = refuse_idle(context, "nonpositive",
                             "is used with line integrals alone, and these are transmissions");
    if (status == TS_OK && (!is_lines(context) || params->nonpositive != NOISE_FLOOR))
        status = refuse_idle(context, "floor",
                             "is used with line integrals and nonpositive: floor alone");
    return status;
}

struct noise_rule ts_noise_rule(const struct stage_context *context)
{
    const struct noise_params *params = params_of(context);
    return (struct noise_rule){.photons = params->photons,
                               .electronic = params->electronic,
                               .lowest = params->nonpositive == NOISE_FLOOR ? params->floor : 0,
                               .seed = (uint64_t)params->seed,
                               .lines = is_lines(context),
                               .floors = params->nonpositive == NOISE_FLOOR};
}

uint64_t ts_noise_first(const struct stage_context *context, const struct ts_image *slab)
{
    return (uint64_t)(context->volume * context->out.axes[0].n + slab->z_first) *
           ts_slice_count(slab);
}

static int noise_tables(const struct stage_context *context, struct stage_table out[STAGE_TABLES])
{
    if (!is_lines(context))
        return 0;
    out[0] =
        params_of(context)->nonpositive == NOISE_FLOOR
            ? (struct stage_table){.name = "floored",
                                   .doc = "counts of each slice that `floor` took the place of"}
            : (struct stage_table){.name = "nonpositive",
                                   .doc = "counts of each slice at or below 0"};
    out[0].of = (uint64_t)ts_slice_count(&context->in);
    out[0].image = (struct ts_image){.rank = 1,
                                     .axes = {context->in.axes[0]},
                                     .dtype = TS_U64,
                                     .quantity = TS_INTENSITY,
                                     .unit = "1"};
    return 1;
}

static enum ts_status noise_map(const struct stage_context *context, const struct ts_image *in,
                                struct ts_image *out, void *scratch)
{
    const struct noise_rule rule = ts_noise_rule(context);
    const int64_t count = (int64_t)ts_slice_count(out), nz = out->axes[0].n,
                  chunks = (count + CHUNK - 1) / CHUNK;
    const uint64_t first_pixel = ts_noise_first(context, out);
    uint64_t *table = rule.lines ? context->tables[0].data : NULL;
    (void)scratch;
    if (table)
        memset(table, 0, (size_t)nz * sizeof *table);
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t task = 0; task < nz * chunks; task++) {
        const int64_t z = task / chunks, first = task % chunks * CHUNK;
        const int64_t end = first + CHUNK < count ? first + CHUNK : count;
        const float *from = ts_slice_data(in, z);
        float *to = ts_slice_data(out, z);
        uint64_t n_starved = 0;
        for (int64_t i = first; i < end; i++) {
            bool starved;
            to[i] = ts_noise(&rule, from[i], first_pixel + (uint64_t)(z * count + i), &starved);
            n_starved += starved;
        }
        if (n_starved > 0)
            __atomic_fetch_add(&table[z], n_starved, __ATOMIC_RELAXED);
    }
    return TS_OK;
}

const struct stage noise_stage = {
    .name = "noise",
    .summary = "the noise of counted photons and of electronics, on a simulated scan",
    .doc = "Every detector pixel of every view gets a count `c = Poisson(photons*t) + "
           "electronic*Gaussian`, where `t` is its transmission, or `e^-p` of its line integral "
           "`p`; the result is `c/photons`, or `-log(c/photons)`. Line integrals must be plain "
           "numbers, as `to_attenuation` and `radon` give them.\n\n"
           "A count at or below 0 has no logarithm: `floor` takes the place of smaller counts, one "
           "photon by default, or they become NaN, and a run ends with a note of how many there "
           "were; it fails if all were. Transmissions below 0 let no photon pass. NaN and infinite "
           "values give NaN, and so do transmissions of which more than 1e10 photons would be "
           "counted.\n\n"
           "Random numbers come from Philox 4x32-10 (J. K. Salmon et al., SC 2011), whose key is "
           "`seed` and whose counter holds the pixel's index in the series of volumes: each volume "
           "has noise of its own, and the first one that of a single volume. The noise depends "
           "neither on slabs, nor on threads, nor on the device, to the byte. Poisson's samples "
           "are exact: inversion below a mean of 10, PTRS from there on (W. Hoermann, Insurance: "
           "Mathematics and Economics 12, 1993). Gaussian ones come by the polar method (G. "
           "Marsaglia, T. A. Bray, 1964).\n\n"
           "Cost: one pass; some 200 operations in double a value.",
    .axes = AXES_VOLUME | AXES_SINOGRAM,
    .beams = TS_ANY_BEAM,
    .dtypes = TS_DTYPE_BIT(TS_F32),
    .quantities = TS_QUANTITY_BIT(TS_TRANSMISSION) | TS_QUANTITY_BIT(TS_LINE_INTEGRAL),
    .quantity_hints = {[TS_HU] = "`to_attenuation` and `radon` make line integrals of a CT",
                       [TS_ATTENUATION] = "`radon` makes line integrals of it",
                       [TS_COUNTS] = "counts have noise already"},
    STAGE_PARAMS(noise_params, struct noise_params),
    .resolve = noise_resolve,
    .tables = noise_tables,
    .map = noise_map,
    .validity = VALIDITY_SAME,
    .gives_nan = true,
    .cuda = STAGE_CUDA(noise_cuda),
    .bench = "photons=100000 electronic=10|photons=1000000",
    .tolerance = {.relative = 6e-8,
                  .absolute = 1e-12,
                  .why = "rounding to f32; the samples are the same"},
};
