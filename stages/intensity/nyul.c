/* SPDX-License-Identifier: Apache-2.0
 *
 * nyul: with p the percentiles of the image and m the landmarks of the standard scale, both without
 * the quartiles 25 and 75,
 *   y = m[k] + (m[k+1] - m[k]) / (p[k+1] - p[k]) * (x - p[k])   for p[k] <= x < p[k+1],
 * the first line below p[1] and the last from p[9] on; a line between equal percentiles has slope
 * 0. Source: Nyul and Udupa, "On standardizing the MR image intensity scale", 1999; Nyul, Udupa and
 * Zhang, "New variants of a method of MRI scale standardization", 2000; the choice of percentiles
 * and lines is that of TorchIO's HistogramStandardization.
 */
#include "stages/intensity/nyul.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "stages/engine/validity.h"
#include "stages/values/point_map.h"
#include "stages/values/scope.h"

const double ts_nyul_percents[NYUL_PERCENTILES] = {1,  10, 20, 25, 30, 40, 50,
                                                   60, 70, 75, 80, 90, 99};

static const struct param nyul_params[] = {
    PARAM(struct nyul_params, landmarks_file, .unit = "", .optional = true,
          .doc = "JSON file of the standard scale, which `tomostage batch --fit` writes; absent: "
                 "`landmarks`"),
    PARAM(struct nyul_params, landmarks, .unit = "", .optional = true,
          .doc = "the 13 values of the standard scale at the percentiles, rising; absent: those of "
                 "landmarks_file"),
    PARAM(struct nyul_params, percentiles, .unit = "%", .min = 0, .max = 100,
          .derived = "[1, 10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 99]",
          .doc = "the percentiles of the landmarks; only the default is taken"),
    PARAM(struct nyul_params, landmarks_sha256, .unit = "", .optional = true,
          .doc = "digest of the file that the landmarks are from, for the record"),
    MASK_PARAM(struct nyul_params),
};

STAGE_PARAMS_OF(nyul_params)

/* ---- checks ---------------------------------------------------------------------------------- */

static enum ts_status check_landmarks(const struct stage_context *context,
                                      const struct ts_numbers *landmarks)
{
    const double *m = landmarks->values;
    if (!m) {
        ts_param_error(context->set, "landmarks", "nyul-landmarks", context->diag,
                       "no standard scale is given");
        return ts_diag_hint(context->diag,
                            "landmarks_file: FILE.json, which `tomostage batch CHAIN STUDY... -o "
                            "FOLDER --fit` writes");
    }
    if (landmarks->rows != 1 || landmarks->columns != NYUL_PERCENTILES)
        return ts_param_error(context->set, "landmarks", "nyul-landmarks", context->diag,
                              "%" PRId64
                              " numbers, and one for each of the %d percentiles was expected",
                              landmarks->rows * landmarks->columns, NYUL_PERCENTILES);
    for (int i = 1; i < NYUL_PERCENTILES; i++)
        if (!(m[i] >= m[i - 1]) || !(m[NYUL_PERCENTILES - 1] > m[0]))
            return ts_param_error(context->set, "landmarks", "nyul-landmarks", context->diag,
                                  "the landmarks do not rise: %g comes after %g",
                                  m[i - 1] > m[i] ? m[i] : m[NYUL_PERCENTILES - 1],
                                  m[i - 1] > m[i] ? m[i - 1] : m[0]);
    return TS_OK;
}

static enum ts_status nyul_resolve(const struct stage_context *context, void *values)
{
    struct nyul_params *params = values;
    const struct ts_numbers *given = &params->percentiles;
    if (ts_param_given(context->set, "percentiles") &&
        (given->rows * given->columns != NYUL_PERCENTILES ||
         memcmp(given->values, ts_nyul_percents, sizeof ts_nyul_percents) != 0)) {
        ts_param_error(context->set, "percentiles", "nyul-percentiles", context->diag,
                       "these are not the percentiles whose landmarks the stage knows");
        return ts_diag_hint(context->diag, "leave percentiles out, with landmarks at "
                                           "[1, 10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 99]");
    }
    if (!ts_param_given(context->set, "percentiles"))
        params->percentiles = (struct ts_numbers){1, NYUL_PERCENTILES, ts_nyul_percents};
    ts_param_idle(context->set, "landmarks_file"); /* the plan has read it */
    if (!params->landmarks_sha256 || !*params->landmarks_sha256)
        ts_param_idle(context->set, "landmarks_sha256");
    const enum ts_status status = check_landmarks(context, &params->landmarks);
    return status == TS_OK ? ts_stage_check_mask(context) : status;
}

static enum ts_status nyul_shape(const struct stage_context *context, struct ts_image *out)
{
    (void)context;
    out->dtype = TS_F32;
    out->quantity = TS_INTENSITY;
    out->unit = "1";
    return TS_OK;
}

/* ---- reduction ------------------------------------------------------------------------------- */

bool ts_nyul_by_value(const struct stage_context *context)
{
    return ts_value_counts_fit(context->in.dtype);
}

static int nyul_rounds(const struct stage_context *context)
{
    return ts_nyul_by_value(context) ? 1 : 2;
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    if (input > 0)
        return 0;
    return ts_nyul_by_value(context)
               ? ts_value_counts_bytes(context->in.dtype)
               : ts_percentile_partial_bytes(context->round, NYUL_PERCENTILES);
}

static const struct percentile_search *search_of(const struct stage_context *context)
{
    return context->round == 0 ? NULL : &((const struct nyul_result *)context->result)->search;
}

static void nyul_reduce(const struct stage_context *context, int input,
                        const struct ts_image *slices, void *partial)
{
    (void)input;
    if (ts_nyul_by_value(context)) {
        ts_value_counts_of(partial, slices);
        return;
    }
    ts_percentile_begin(partial, context->round, search_of(context));
    ts_percentile_add(partial, context->round, search_of(context), slices->data, slices->dtype,
                      ts_image_count(slices));
    ts_percentile_end(partial, context->round);
}

static void nyul_merge(const struct stage_context *context, int input, void *into, const void *from)
{
    (void)input;
    if (ts_nyul_by_value(context))
        ts_value_counts_merge(into, from);
    else
        ts_percentile_merge(into, from, context->round, search_of(context));
}

static size_t result_bytes(const struct stage_context *context)
{
    return ts_nyul_by_value(context) ? offsetof(struct nyul_result, search)
                                     : sizeof(struct nyul_result);
}

/* Refuses an image whose percentiles make no scale. */
static enum ts_status check_percentiles(const struct stage_context *context, const double *p)
{
    const double low = p[0], high = p[NYUL_PERCENTILES - 1];
    const bool masked = ts_stage_mask(context) >= 0;
    struct diag_site site = {
        .code = "nyul-empty", .span = context->set->span, .stage = context->set->owner};
    if (!(low <= high)) {
        ts_diag_error(context->diag, TS_BAD_INPUT, &site, "no pixel%s has a value that is a number",
                      masked ? " of the mask" : "");
        return masked ? ts_diag_hint(context->diag, "a mask that is not 0 where the image has "
                                                    "values; without `mask` all of them count")
                      : TS_BAD_INPUT;
    }
    if (low < high)
        return TS_OK;
    site.code = "nyul-flat";
    ts_diag_error(
        context->diag, TS_BAD_INPUT, &site,
        "the 1st and the 99th percentile%s are both %g, and nothing can be mapped between "
        "them",
        masked ? " of the mask" : "", low);
    return masked ? TS_BAD_INPUT
                  : ts_diag_hint(context->diag, "a mask of the tissue leaves the background out: "
                                                "`- foreground: {name: head}` before, and `mask: "
                                                "head`");
}

/* Makes the lines between all percentiles but the quartiles. */
static void make_lines(const double *p, const double *m, struct nyul_lines *lines)
{
    int n = 0;
    for (int i = 0; i < NYUL_PERCENTILES; i++)
        if (ts_nyul_percents[i] != 25 && ts_nyul_percents[i] != 75) {
            lines->at[n] = p[i];
            lines->to[n++] = m[i];
        }
    for (int k = 0; k + 1 < n; k++) {
        const double wide = lines->at[k + 1] - lines->at[k];
        lines->slope[k] = wide > 0 ? (lines->to[k + 1] - lines->to[k]) / wide : 0;
    }
}

static enum ts_status nyul_finish(const struct stage_context *context, const void *const totals[],
                                  void *result, const struct ts_image *tables)
{
    struct nyul_result *nyul = result;
    const enum ts_dtype dtype = context->in.dtype;
    if (ts_nyul_by_value(context)) {
        for (int i = 0; i < NYUL_PERCENTILES; i++)
            nyul->percentiles[i] = ts_percentile_of_counts(totals[0], dtype, ts_nyul_percents[i]);
    } else if (context->round == 0) {
        ts_percentile_locate(&nyul->search, totals[0], ts_nyul_percents, NYUL_PERCENTILES);
        return TS_OK;
    } else {
        ts_percentile_values(&nyul->search, totals[0], dtype, nyul->percentiles);
    }
    make_lines(nyul->percentiles, params_of(context)->landmarks.values, &nyul->lines);
    memcpy(tables[0].data, nyul->percentiles, sizeof nyul->percentiles);
    return check_percentiles(context, nyul->percentiles);
}

static int nyul_tables(const struct stage_context *context, struct stage_table out[STAGE_TABLES])
{
    out[0] = ts_scope_table(context, "percentiles",
                            "values of the image at the percentiles, in their order", TS_F64, true);
    ts_scope_axis(&out[0], TS_AXIS_ITEM, NYUL_PERCENTILES);
    return 1;
}

static const struct stage_reduction reduction = {
    .order_free = true,
    .exact = true,
    .feeds_map = true,
    .rounds = nyul_rounds,
    .partial_bytes = partial_bytes,
    .reduce = nyul_reduce,
    .merge = nyul_merge,
    .result_bytes = result_bytes,
    .finish = nyul_finish,
    .tables = nyul_tables,
};

/* ---- map ------------------------------------------------------------------------------------- */

TS_VECTORIZED static void map_lines(const struct nyul_lines *lines, double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = ts_nyul_value(lines, values[i]);
}

static void map_values(const struct stage_context *context, int64_t z, double *values, size_t n)
{
    (void)z;
    map_lines(&((const struct nyul_result *)context->result)->lines, values, n);
}

static enum ts_status nyul_map(const struct stage_context *context, const struct ts_image *in,
                               struct ts_image *out, void *scratch)
{
    (void)scratch;
    return ts_point_map(context, in, out, map_values);
}

const struct stage nyul_stage = {
    .name = "nyul",
    .summary = "map an MR to a standard scale, on which tissues have like values in all studies",
    .doc =
        "The values of an MR have no unit, and differ from scanner to scanner. `p` are the "
        "percentiles 1, 10, 20, ..., 90, 99 of the image and `m` the landmarks of the standard "
        "scale: between two percentiles `y = m[k] + (m[k+1] - m[k])/(p[k+1] - p[k])*(x - p[k])` "
        "(Nyul and Udupa 1999, Nyul, Udupa and Zhang 2000). The first and the last line go on "
        "beyond the ends. Between equal percentiles the slope is 0. These are the rules of "
        "TorchIO's `HistogramStandardization`, which also computes the landmarks at 25 and 75 and "
        "does not use them, and takes percentiles for equal that differ by less than 1e-5.\n\n"
        "**The landmarks** come from `landmarks_file`. `tomostage batch CHAIN STUDY... -o FOLDER "
        "--fit` finds them in the studies and writes the file ([fitting](../batch.md#a-standard-"
        "scale)): the percentiles of each study are mapped to [0, 100] by a line through the 1st "
        "and the 99th, and averaged. A result records the landmarks themselves and the digest of "
        "the file, and `rerun` needs no file.\n\n"
        "`mask` keeps the background out of the percentiles, which are exact for every type (rule "
        "`linear` of `numpy.percentile`). The map takes every pixel. Invalid pixels, such as "
        "padding, and values that are no numbers have no part in the percentiles; NaN stays NaN. "
        "An image, or a mask, of one value is refused. Of a series each volume has percentiles of "
        "its own, which the table `percentiles` has.\n\n"
        "Cost: one pass over the image, or two (32-bit integers and floats), to find the "
        "percentiles; one to map.",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    STAGE_PARAMS(nyul_params, struct nyul_params),
    .resolve = nyul_resolve,
    .shape = nyul_shape,
    .streams_with_input = ts_stage_streams_mask,
    .reduction = &reduction,
    .map = nyul_map,
    .traits = TRAIT_ENDS_LABELS,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(nyul_cuda),
    .tolerance = {.relative = 1.2e-7, .why = "rounding to f32"},
    .bench = "landmarks=0,9,20,26,31,40,48,56,65,70,75,86,100",
};
