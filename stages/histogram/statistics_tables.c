/* SPDX-License-Identifier: Apache-2.0
 *
 * A table that a run does not ask for is left out of the list, and the places of those after it move up.
 */
#include "stages/histogram/statistics_tables.h"

#include <math.h>
#include <string.h>

#include "stages/engine/validity.h"
#include "stages/histogram/statistics_labels.h"
#include "stages/values/scope.h"

STAGE_PARAMS_OF(statistics_params)

static enum noise_estimate noise_of(const struct stage_context *context)
{
    return (enum noise_estimate)params_of(context)->noise;
}

static bool has_table(const struct stage_context *context, int table)
{
    switch (table) {
    case TABLE_LOG_PRODUCT:
    case TABLE_PRODUCT_SIGN:
        return !ts_statistics_by_label(context);
    case TABLE_PERCENTILES:
        return ts_statistics_percentiles(context) > 0;
    case TABLE_IMMERKAER:
        return ts_noise_has_sums(noise_of(context));
    case TABLE_WAVELET:
        return ts_noise_has_coefficients(noise_of(context));
    case TABLE_LEFT_OUT:
        return ts_stage_packs(context, 0);
    case TABLE_OTHER_LABELS:
        return ts_statistics_by_label(context);
    default:
        return true;
    }
}

const struct ts_image *ts_statistics_table(const struct stage_context *context, const struct ts_image *tables,
                                           int table)
{
    int before = 0;
    for (int i = 0; i < table; i++)
        before += has_table(context, i);
    return has_table(context, table) ? &tables[before] : NULL;
}

uint64_t ts_statistics_pixels(const struct stage_context *context)
{
    return ts_scope_is_slice(context) ? ts_slice_count(&context->in) : ts_image_count(&context->in);
}

void ts_statistics_write_tables(const struct stage_context *context, const struct statistics_result *result,
                                const struct noise_result *noise, const struct ts_image *tables)
{
    const struct moments *moments = &result->moments;
    const bool any = moments->n > 0;
    const double none = (double)NAN, divisor = (double)moments->n - (double)params_of(context)->ddof;
    const double variance = divisor > 0 ? moments->deviations / divisor : none;
    const uint64_t counts[] = {moments->n, result->range.n_nan, result->range.n_infinite, moments->n_zero};
    const double reals[] = {any ? result->range.low : none,
                            any ? result->range.high : none,
                            moments->sum,
                            any ? moments->mean : none,
                            variance,
                            sqrt(variance),
                            ts_moments_log_product(moments),
                            moments->n_negative % 2 ? -1 : 1};
    for (int i = TABLE_COUNT; i < TABLE_MIN; i++)
        *(uint64_t *)tables[i].data = counts[i];
    for (int i = TABLE_MIN; i < TABLE_PERCENTILES; i++)
        *(double *)tables[i].data = reals[i - TABLE_MIN];
    const struct ts_image *percentiles = ts_statistics_table(context, tables, TABLE_PERCENTILES),
                          *immerkaer = ts_statistics_table(context, tables, TABLE_IMMERKAER),
                          *wavelet = ts_statistics_table(context, tables, TABLE_WAVELET),
                          *left_out = ts_statistics_table(context, tables, TABLE_LEFT_OUT);
    if (percentiles)
        memcpy(percentiles->data, result->percentiles,
               (size_t)ts_statistics_percentiles(context) * sizeof *result->percentiles);
    if (immerkaer)
        *(double *)immerkaer->data = noise->immerkaer;
    if (wavelet)
        *(double *)wavelet->data = noise->wavelet;
    if (left_out)
        *(uint64_t *)left_out->data =
            ts_statistics_pixels(context) - moments->n - result->range.n_nan - result->range.n_infinite;
}

int ts_statistics_tables(const struct stage_context *context, struct stage_table out[STAGE_TABLES])
{
    static const struct {
        const char *name, *doc;
        bool in_values; /* has the image's unit */
    } texts[] = {
        [TABLE_COUNT] = {"count", "finite values; all other numbers are of these", false},
        [TABLE_NAN] = {"nan", "values that are not numbers", false},
        [TABLE_INFINITE] = {"infinite", "infinite values", false},
        [TABLE_ZEROS] = {"zeros", "values that are zero", false},
        [TABLE_MIN] = {"min", "smallest value", true},
        [TABLE_MAX] = {"max", "largest value", true},
        [TABLE_SUM] = {"sum", "sum", true},
        [TABLE_MEAN] = {"mean", "mean", true},
        [TABLE_VARIANCE] = {"variance", "sum of squared deviations from the mean / (count - ddof)", false},
        [TABLE_DEVIATION] = {"standard_deviation", "square root of the variance", true},
        [TABLE_LOG_PRODUCT] = {"log_product",
                               "natural logarithm of the absolute product of the values that are not "
                               "zero",
                               false},
        [TABLE_PRODUCT_SIGN] = {"product_sign", "sign of that product, 1 or -1", false},
        [TABLE_PERCENTILES] = {"percentiles", "in the order of the parameter", true},
        [TABLE_IMMERKAER] = {"noise_immerkaer", "standard deviation of the noise, from second differences", true},
        [TABLE_WAVELET] = {"noise_wavelet", "standard deviation of the noise, from wavelet coefficients", true},
        [TABLE_LEFT_OUT] = {"left_out", "pixels that are invalid, or that `mask` leaves out", false},
        [TABLE_OTHER_LABELS] = {"other_labels", "pixels under a label that has no row", false},
    };
    int n = 0;
    for (int i = 0; i < TABLES; i++) {
        if (!has_table(context, i))
            continue;
        out[n] = ts_scope_table(context, texts[i].name, texts[i].doc,
                                i < TABLE_MIN || i >= TABLE_LEFT_OUT ? TS_U64 : TS_F64, texts[i].in_values);
        if (i == TABLE_VARIANCE)
            out[n].image.unit = params_of(context)->square_unit;
        if (ts_statistics_by_label(context) && i < TABLE_LEFT_OUT)
            ts_scope_axis(&out[n], TS_AXIS_ITEM, params_of(context)->n_labels);
        if (i == TABLE_PERCENTILES)
            ts_scope_axis(&out[n], TS_AXIS_ITEM, ts_statistics_percentiles(context));
        n++;
    }
    return n;
}
