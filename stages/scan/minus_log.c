/* SPDX-License-Identifier: Apache-2.0
 *
 * minus_log: y = -log(t) of a transmission t = I / I0, the line integral of the attenuation (J. H.
 * Lambert, 1760; A. Beer, 1852). The logarithm is that of stages/values/log_f32.h, so that both
 * devices give the same bytes. Values that have no logarithm are counted first, by kind and by
 * slice, and the parameters decide whether the run ends or goes on.
 */
#include "stages/scan/minus_log.h"

#include <float.h>
#include <math.h>

#include "stages/values/log_f32.h"

enum { CHUNK = 4096 };

static const struct choice nonpositive_choices[] = {
    {"error", MINUS_LOG_ERROR,
     "the run fails, and says how many there are and where the first one is"},
    {"floor", MINUS_LOG_FLOOR,
     "every value below `floor` is taken as `floor`, small positive ones too"},
    {"nan", MINUS_LOG_NAN, "they become NaN"},
    {NULL, 0, NULL},
};
static const struct choice nonfinite_choices[] = {
    {"error", MINUS_LOG_ERROR,
     "the run fails, and says how many there are and where the first one is"},
    {"nan", MINUS_LOG_NAN, "they become NaN"},
    {NULL, 0, NULL},
};

static const struct param minus_log_params[] = {
    PARAM(struct minus_log_params, nonpositive, .choices = nonpositive_choices,
          .init.choice = MINUS_LOG_FLOOR, .old = {.until = 1, .init.choice = MINUS_LOG_ERROR},
          .doc = "what happens to zero and negative transmissions, which have no logarithm"),
    PARAM(struct minus_log_params, floor, .unit = "1", .min = 1e-30, .max = 1, .init.r = 1e-6,
          .doc = "with nonpositive floor: the smallest transmission"),
    PARAM(struct minus_log_params, nonfinite, .choices = nonfinite_choices,
          .init.choice = MINUS_LOG_ERROR,
          .doc = "what happens to transmissions that are NaN or infinite"),
};

STAGE_PARAMS_OF(minus_log_params)

static enum ts_status minus_log_resolve(const struct stage_context *context, void *values)
{
    const struct minus_log_params *params = values;
    if (params->nonpositive == MINUS_LOG_FLOOR)
        return TS_OK;
    if (ts_param_given(context->set, "floor"))
        return ts_param_error(context->set, "floor", "parameter-unused", context->diag,
                              "is used with nonpositive: floor alone, and nonpositive is %s",
                              ts_choice_name(nonpositive_choices, params->nonpositive));
    ts_param_idle(context->set, "floor");
    return TS_OK;
}

static enum ts_status minus_log_shape(const struct stage_context *context, struct ts_image *out)
{
    (void)context;
    out->quantity = TS_LINE_INTEGRAL;
    out->unit = "1";
    return TS_OK;
}

float ts_minus_log_lowest(const struct stage_context *context)
{
    return params_of(context)->nonpositive == MINUS_LOG_FLOOR ? (float)params_of(context)->floor
                                                              : -INFINITY;
}

/* ---- counting -------------------------------------------------------------------------------- */

bool ts_minus_log_tabulates(const struct stage_context *context)
{
    return params_of(context)->nonpositive != MINUS_LOG_ERROR ||
           params_of(context)->nonfinite != MINUS_LOG_ERROR;
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    const size_t slices = ts_minus_log_tabulates(context) ? (size_t)context->in.axes[0].n : 0;
    (void)input;
    return sizeof(struct minus_log_found) + slices * sizeof(struct minus_log_slice);
}

/* Returns true if one of these values is at or below 0, below `lowest`, NaN or infinite. */
TS_VECTORIZED static bool any_special(const float *in, size_t n, float lowest)
{
    int32_t special = 0;
    for (size_t i = 0; i < n; i++)
        special |= !(in[i] > 0) | !(in[i] <= FLT_MAX) | (in[i] < lowest);
    return special != 0;
}

static void note(struct minus_log_found *found, enum minus_log_kind kind, uint64_t at)
{
    found->count[kind]++;
    if (kind != KIND_RAISED && ~at > found->not_first[kind])
        found->not_first[kind] = ~at;
}

static void count_values(const float *in, size_t n, uint64_t at, float lowest,
                         struct minus_log_found *found, struct minus_log_slice *slice)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(in[i])) {
            note(found, isnan(in[i]) ? KIND_NAN : KIND_INFINITE, at + i);
            slice->nonfinite++;
        } else if (in[i] <= 0) {
            note(found, in[i] < 0 ? KIND_NEGATIVE : KIND_ZERO, at + i);
            slice->nonpositive++;
        } else if (in[i] < lowest) {
            note(found, KIND_RAISED, 0);
            slice->nonpositive++;
        }
    }
}

static void minus_log_reduce(const struct stage_context *context, int input,
                             const struct ts_image *slices, void *partial)
{
    const float lowest = ts_minus_log_lowest(context);
    const size_t count = ts_slice_count(slices);
    struct minus_log_found *found = partial;
    struct minus_log_slice *by_slice = (struct minus_log_slice *)(found + 1), unused = {0};
    memset(partial, 0, partial_bytes(context, input));
    for (int64_t z = 0; z < slices->axes[0].n; z++) {
        const float *in = ts_slice_data(slices, z);
        const uint64_t first = (uint64_t)(slices->z_first + z) * count;
        for (size_t i = 0; i < count; i += CHUNK) {
            const size_t n = count - i < CHUNK ? count - i : CHUNK;
            if (any_special(in + i, n, lowest))
                count_values(in + i, n, first + i, lowest, found,
                             ts_minus_log_tabulates(context) ? by_slice + slices->z_first + z
                                                             : &unused);
        }
    }
}

static void minus_log_merge(const struct stage_context *context, int input, void *into,
                            const void *from)
{
    struct minus_log_found *a = into;
    const struct minus_log_found *b = from;
    (void)input;
    for (int kind = 0; kind < MINUS_LOG_KINDS; kind++) {
        a->count[kind] += b->count[kind];
        if (kind != KIND_RAISED && b->not_first[kind] > a->not_first[kind])
            a->not_first[kind] = b->not_first[kind];
    }
    struct minus_log_slice *to = (struct minus_log_slice *)(a + 1);
    const struct minus_log_slice *from_slices = (const struct minus_log_slice *)(b + 1);
    for (int64_t z = 0; ts_minus_log_tabulates(context) && z < context->in.axes[0].n; z++) {
        to[z].nonpositive += from_slices[z].nonpositive;
        to[z].nonfinite += from_slices[z].nonfinite;
    }
}

static size_t result_bytes(const struct stage_context *context)
{
    (void)context;
    return sizeof(uint64_t); /* nothing is needed: the map uses no result */
}

/* ---- messages and tables --------------------------------------------------------------------- */

static enum ts_status minus_log_refuse(const struct stage_context *context,
                                       enum minus_log_kind kind,
                                       const struct minus_log_found *found)
{
    static const struct {
        const char *code, *one, *many, *hint;
    } texts[] = {
        [KIND_ZERO] = {.code = "transmission-zero",
                       .one = "is 0",
                       .many = "are 0",
                       .hint = "dead pixels or a beam that was blocked; nonpositive: floor takes "
                               "`floor` in their place"},
        [KIND_NEGATIVE] = {.code = "transmission-negative",
                           .one = "is negative",
                           .many = "are negative",
                           .hint = "the dark field may be brighter than the projections; "
                                   "nonpositive: floor takes `floor` in their place"},
        [KIND_NAN] = {.code = "transmission-nan",
                      .one = "is NaN",
                      .many = "are NaN",
                      .hint = "rows of dead pixels (table `dead` of flat_field) and views without "
                              "a beam (`blocked` of air) give them; `bad_pixels` before minus_log "
                              "fills them, nonfinite: nan lets them pass"},
        [KIND_INFINITE] = {.code = "transmission-infinite",
                           .one = "is infinite",
                           .many = "are infinite",
                           .hint = "a flat field of 0 gives them; `bad_pixels` before minus_log "
                                   "fills them, nonfinite: nan lets them pass as NaN"},
    };
    const struct ts_axis *axes = context->in.axes;
    const unsigned long long count = found->count[kind], at = ~found->not_first[kind];
    const unsigned long long row = (unsigned long long)axes[2].n,
                             slice = row * (unsigned long long)axes[1].n;
    ts_diag_error(
        context->diag, TS_BAD_INPUT,
        &(struct diag_site){
            .code = texts[kind].code, .span = context->set->span, .stage = context->stage->name},
        "%llu transmission%s %s and %s no logarithm; the first is at %s %llu, %s %llu, %s %llu",
        count, count == 1 ? "" : "s", count == 1 ? texts[kind].one : texts[kind].many,
        count == 1 ? "has" : "have", ts_axis_name(&axes[0]), at / slice, ts_axis_name(&axes[1]),
        at % slice / row, ts_axis_name(&axes[2]), at % row);
    const bool all = count == (unsigned long long)ts_image_count(&context->in);
    return ts_diag_hint(
        context->diag, "%s",
        kind == KIND_NAN && all
            ? "nothing is left to fill them from: flats that are nowhere brighter than the darks, "
              "or no numbers, give them, as where the two were exchanged, or unsigned counts are "
              "stored as signed integers"
            : texts[kind].hint);
}

/* Warns of the values that were raised to `floor`, and refuses an image that only has such values:
 * a line integral that is the same everywhere would look like a result. */
static enum ts_status report_floor(const struct stage_context *context,
                                   const struct minus_log_found *found)
{
    const unsigned long long *count = found->count,
                             all = (unsigned long long)ts_image_count(&context->in);
    const unsigned long long floored = count[KIND_ZERO] + count[KIND_NEGATIVE] + count[KIND_RAISED];
    struct diag_site site = {.span = context->set->span, .stage = context->stage->name};
    if (floored == 0)
        return TS_OK;
    if (count[KIND_ZERO] + count[KIND_NEGATIVE] == all) {
        site.code = "nothing-left";
        ts_diag_error(context->diag, TS_BAD_INPUT, &site,
                      "all %llu transmissions are 0 or negative", all);
        return ts_diag_hint(
            context->diag,
            "the dark field may be brighter than the projections, or no beam was there");
    }
    site.code = "transmission-floored";
    ts_diag_warning(context->diag, &site,
                    "%llu of %llu transmissions were taken as %g, the floor: %llu of them are 0, "
                    "and %llu are negative",
                    floored, all, params_of(context)->floor, count[KIND_ZERO],
                    count[KIND_NEGATIVE]);
    ts_diag_hint(context->diag,
                 "`bad_pixels: {lowest: %g}` before minus_log fills those of dead pixels from the "
                 "pixels beside them; the table `floored` counts them by slice; nonpositive: error "
                 "ends the run instead, and says where the first one is",
                 params_of(context)->floor);
    return TS_OK;
}

static enum ts_status minus_log_finish(const struct stage_context *context,
                                       const void *const totals[], void *result,
                                       const struct ts_image *tables)
{
    const struct minus_log_params *params = params_of(context);
    const struct minus_log_found *found = totals[0];
    const struct minus_log_slice *slices = (const struct minus_log_slice *)(found + 1);
    enum ts_status status = TS_OK;
    (void)result;
    for (int kind = 0; kind < KIND_RAISED; kind++)
        if (found->count[kind] &&
            (kind < KIND_NAN ? params->nonpositive : params->nonfinite) == MINUS_LOG_ERROR)
            status = minus_log_refuse(context, (enum minus_log_kind)kind, found);
    if (status == TS_OK && params->nonpositive == MINUS_LOG_FLOOR)
        status = report_floor(context, found);
    int table = 0;
    if (params->nonpositive != MINUS_LOG_ERROR)
        for (int64_t z = 0, own = table++; z < context->in.axes[0].n; z++)
            ((uint64_t *)tables[own].data)[z] = slices[z].nonpositive;
    if (params->nonfinite != MINUS_LOG_ERROR)
        for (int64_t z = 0; z < context->in.axes[0].n; z++)
            ((uint64_t *)tables[table].data)[z] = slices[z].nonfinite;
    return status;
}

static int minus_log_tables(const struct stage_context *context,
                            struct stage_table out[STAGE_TABLES])
{
    const struct minus_log_params *params = params_of(context);
    int n = 0;
    if (params->nonpositive == MINUS_LOG_FLOOR)
        out[n++] = (struct stage_table){
            .name = "floored", .doc = "values of each slice that `floor` took the place of"};
    if (params->nonpositive == MINUS_LOG_NAN)
        out[n++] = (struct stage_table){.name = "nonpositive",
                                        .doc = "zero and negative values of each slice"};
    if (params->nonfinite == MINUS_LOG_NAN)
        out[n++] = (struct stage_table){.name = "nonfinite",
                                        .doc = "NaN and infinite values of each slice"};
    for (int i = 0; i < n; i++) {
        out[i].of = (uint64_t)(context->in.axes[1].n * context->in.axes[2].n);
        out[i].image = (struct ts_image){.rank = 1,
                                         .axes = {context->in.axes[0]},
                                         .dtype = TS_U64,
                                         .quantity = TS_INTENSITY,
                                         .unit = "1"};
    }
    return n;
}

static const struct stage_reduction reduction = {
    .exact = true,
    .partial_bytes = partial_bytes,
    .reduce = minus_log_reduce,
    .merge = minus_log_merge,
    .result_bytes = result_bytes,
    .finish = minus_log_finish,
    .tables = minus_log_tables,
};

/* ---- map ------------------------------------------------------------------------------------- */

TS_VECTORIZED static void minus_log(const float *in, float *out, size_t n, float lowest)
{
    for (size_t i = 0; i < n; i++) {
        const float t = in[i] < lowest ? lowest : in[i], line = 0 - ts_log_f32(t);
        const bool known = (fabsf(in[i]) <= FLT_MAX) & (t > 0);
        out[i] = known ? line : (float)NAN;
    }
}

static enum ts_status minus_log_map(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, void *scratch)
{
    const int64_t count = (int64_t)ts_image_count(out), chunks = (count + CHUNK - 1) / CHUNK;
    const float lowest = ts_minus_log_lowest(context), *from = in->data;
    float *to = out->data;
    (void)scratch;
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        const int64_t first = chunk * CHUNK, left = count - first;
        minus_log(from + first, to + first, (size_t)(left < CHUNK ? left : CHUNK), lowest);
    }
    return TS_OK;
}

const struct stage minus_log_stage = {
    .name = "minus_log",
    .summary = "transmission to line integrals, -log(t)",
    .doc = "`y = -log(t)` with `t = I/I0` the transmission (the law of Beer and Lambert): the line "
           "integral of the attenuation, which has no unit. `fbp` and the other reconstructions "
           "take these.\n\n"
           "A transmission of 0 or below has no logarithm: noise and dead pixels give a few in "
           "most scans. They, and small positive ones, are taken as `floor`, the run warns of "
           "their number, and the table `floored` (z) counts them slice by slice; it fails if all "
           "are 0 or below. `nonpositive: nan` makes them NaN, counted in the table `nonpositive` "
           "(z), and `nonpositive: error` ends the run with the place of the first one; chains of "
           "version 1 do so by default. The default floor of 1e-6 is below the least step of a "
           "16-bit detector, 1.5e-5, and gives 13.8.\n\n"
           "NaN and infinity have no logarithm either, and end the run; `nonfinite: nan` passes "
           "them on as NaN and counts them in the table `nonfinite` (z).\n\n"
           "A run warns of a slice ([fbp](fbp.md) says which) of which more than 5 % have a "
           "transmission above 1.3, in "
           "means of a 64th of the detector pixels and a 16th of the views: the flats were darker "
           "than the beam (`transmission-bright`); of views that show nothing of the object "
           "though those beside them do (`view-blank`); and of views that no light reaches "
           "(`view-dark`). If both ends of the rows are air, which is flat and the same on both "
           "sides in all views, it warns of a mean transmission there above 1.13 or below 1 / "
           "1.13, of a step by as much between views, of a few views that differ as much from "
           "those beside them, and of a beam that rises or falls evenly by more than a quarter "
           "(`air-level`). "
           "Flats that are 10 % too bright or too dark are not told: all line integrals are then "
           "off by 0.1, and `air` before minus_log makes that good. "
           "Line integrals that a chain reads are looked at in the same way.\n\n"
           "`flat_field` makes transmissions of counts, `air` does without flats, and `rescale: "
           "{range: [0, 65535], quantity: transmission}` makes them of numbers such as 0 to 65535 "
           "for 0 to 1. Line integrals are refused, because a second logarithm gives a wrong "
           "picture. The CPU and CUDA devices give the same bytes.",
    .axes = AXES_VOLUME | AXES_SINOGRAM,
    .beams = TS_ANY_BEAM,
    .dtypes = TS_DTYPE_BIT(TS_F32),
    .quantities = TS_QUANTITY_BIT(TS_TRANSMISSION),
    .quantity_hints =
        {[TS_COUNTS] = "`flat_field` makes it from counts and flats, `air` from counts alone",
         [TS_LINE_INTEGRAL] = "the logarithm of these was taken already, so leave minus_log out",
         [TS_ATTENUATION] =
             "this image is reconstructed, and minus_log goes before the reconstruction",
         [TS_HU] = "this image is reconstructed, and minus_log goes before the reconstruction",
         [TS_INTENSITY] =
             ("where the values are I/I0, say `quantity: transmission` at the input, or in "
              "`rescale` with its `range`; else `air` divides them by the beam beside the object")},
    STAGE_PARAMS(minus_log_params, struct minus_log_params),
    .resolve = minus_log_resolve,
    .shape = minus_log_shape,
    .reduction = &reduction,
    .map = minus_log_map,
    .gives_nan = true,
    .cuda = STAGE_CUDA(minus_log_cuda),
    .bench = "|nonpositive=error",
    .tolerance = {.relative = 9e-8,
                  .why = "the logarithm in single precision; each value is within 9e-8 of itself"},
};
