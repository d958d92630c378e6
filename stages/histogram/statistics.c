/* SPDX-License-Identifier: Apache-2.0
 *
 * statistics: count, range, sum, mean, variance, product and percentiles of the finite values of an
 * image. Tables of one number, or (z) with scope slice; percentiles (item) or (z, item).
 *
 * For 8- and 16-bit integers everything follows from the counts of their values, in integers. Other
 * types have moments of each slice, joined in rising z (Chan, Golub and LeVeque 1983); percentiles
 * need a second pass, or a sort of each slice.
 */
#include "stages/histogram/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stages/counting/bins.h"
#include "stages/engine/validity.h"
#include "stages/histogram/statistics_labels.h"
#include "stages/values/scope.h"

/* A table that a run does not ask for is left out of the list, and those after it move up. */

/* The two of the product only exist without labels, those of noise and of percentiles if they are
 * asked for, _LEFT_OUT if pixels are left out, and the last ones only with labels. */
enum {
    TABLE_COUNT,
    TABLE_NAN,
    TABLE_INFINITE,
    TABLE_ZEROS,
    TABLE_MIN,
    TABLE_MAX,
    TABLE_SUM,
    TABLE_MEAN,
    TABLE_VARIANCE,
    TABLE_DEVIATION,
    TABLE_LOG_PRODUCT,
    TABLE_PRODUCT_SIGN,
    TABLE_PERCENTILES,
    TABLE_IMMERKAER,
    TABLE_WAVELET,
    TABLE_LEFT_OUT,
    TABLE_OTHER_LABELS,
    TABLES
};

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

/* Returns the table among those that the stage has, or NULL if it has none of this kind. */
static const struct ts_image *statistics_table(const struct stage_context *context,
                                               const struct ts_image *tables, int table)
{
    int before = 0;
    for (int i = 0; i < table; i++)
        before += has_table(context, i);
    return has_table(context, table) ? &tables[before] : NULL;
}

/* Returns how many pixels the volume or, with scope slice, a slice has. */
static uint64_t statistics_pixels(const struct stage_context *context)
{
    return ts_scope_is_slice(context) ? ts_slice_count(&context->in) : ts_image_count(&context->in);
}

/* Returns the natural logarithm of the absolute product of the values that are not zero, or 0 if
 * there is none. */
static double moments_log_product(const struct moments *moments)
{
    static const double log_two = 0.693147180559945309417232121458;
    return (double)moments->exponent * log_two + moments->log_rest;
}

/* Writes the numbers of a volume or of a slice. */
static void statistics_write_tables(const struct stage_context *context,
                                    const struct statistics_result *result,
                                    const struct noise_result *noise, const struct ts_image *tables)
{
    const struct moments *moments = &result->moments;
    const bool any = moments->n > 0;
    const double none = (double)NAN,
                 divisor = (double)moments->n - (double)params_of(context)->ddof;
    const double variance = divisor > 0 ? moments->deviations / divisor : none;
    const uint64_t counts[] = {moments->n, result->range.n_nan, result->range.n_infinite,
                               moments->n_zero};
    const double reals[] = {any ? result->range.low : none,
                            any ? result->range.high : none,
                            moments->sum,
                            any ? moments->mean : none,
                            variance,
                            sqrt(variance),
                            moments_log_product(moments),
                            moments->n_negative % 2 ? -1 : 1};
    for (int i = TABLE_COUNT; i < TABLE_MIN; i++)
        *(uint64_t *)tables[i].data = counts[i];
    for (int i = TABLE_MIN; i < TABLE_PERCENTILES; i++)
        *(double *)tables[i].data = reals[i - TABLE_MIN];
    const struct ts_image *percentiles = statistics_table(context, tables, TABLE_PERCENTILES),
                          *immerkaer = statistics_table(context, tables, TABLE_IMMERKAER),
                          *wavelet = statistics_table(context, tables, TABLE_WAVELET),
                          *left_out = statistics_table(context, tables, TABLE_LEFT_OUT);
    if (percentiles)
        memcpy(percentiles->data, result->percentiles,
               (size_t)ts_statistics_percentiles(context) * sizeof *result->percentiles);
    if (immerkaer)
        *(double *)immerkaer->data = noise->immerkaer;
    if (wavelet)
        *(double *)wavelet->data = noise->wavelet;
    if (left_out)
        *(uint64_t *)left_out->data = statistics_pixels(context) - moments->n -
                                      result->range.n_nan - result->range.n_infinite;
}

/* Describes the tables, and returns how many there are. This is tables() of the reduction. */
static int statistics_tables(const struct stage_context *context,
                             struct stage_table out[STAGE_TABLES])
{
    static const struct {
        const char *name, *doc;
        bool in_values; /* true if it has the image's unit */
    } texts[] = {
        [TABLE_COUNT] = {"count", "finite values; all other numbers are of these", false},
        [TABLE_NAN] = {"nan", "values that are not numbers", false},
        [TABLE_INFINITE] = {"infinite", "infinite values", false},
        [TABLE_ZEROS] = {"zeros", "values that are zero", false},
        [TABLE_MIN] = {"min", "smallest value", true},
        [TABLE_MAX] = {"max", "largest value", true},
        [TABLE_SUM] = {"sum", "sum", true},
        [TABLE_MEAN] = {"mean", "mean", true},
        [TABLE_VARIANCE] = {"variance", "sum of squared deviations from the mean / (count - ddof)",
                            false},
        [TABLE_DEVIATION] = {"standard_deviation", "square root of the variance", true},
        [TABLE_LOG_PRODUCT] =
            {"log_product",
             "natural logarithm of the absolute product of the values that are not zero", false},
        [TABLE_PRODUCT_SIGN] = {"product_sign", "sign of that product, 1 or -1", false},
        [TABLE_PERCENTILES] = {"percentiles", "in the order of the parameter", true},
        [TABLE_IMMERKAER] = {"noise_immerkaer",
                             "standard deviation of the noise, from second differences", true},
        [TABLE_WAVELET] = {"noise_wavelet",
                           "standard deviation of the noise, from wavelet coefficients", true},
        [TABLE_LEFT_OUT] = {"left_out", "pixels that are invalid, or that `mask` leaves out",
                            false},
        [TABLE_OTHER_LABELS] = {"other_labels", "pixels under a label that has no row", false},
    };
    int n = 0;
    for (int i = 0; i < TABLES; i++) {
        if (!has_table(context, i))
            continue;
        out[n] = ts_scope_table(context, texts[i].name, texts[i].doc,
                                i < TABLE_MIN || i >= TABLE_LEFT_OUT ? TS_U64 : TS_F64,
                                texts[i].in_values);
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

static const struct choice noise_choices[] = {
    {"none", NOISE_NONE, "no estimate"},
    {"immerkaer", NOISE_IMMERKAER,
     "the mean size of the second differences along x and y (Immerkaer, 1996)"},
    {"wavelet", NOISE_WAVELET,
     "the median size of the finest diagonal wavelet coefficients (Donoho and Johnstone, 1994)"},
    {"both", NOISE_BOTH, "both of them"},
    {0},
};

static const struct param statistics_params[] = {
    PARAM(struct statistics_params, percentiles, .unit = "%", .min = 0, .max = 100,
          .optional = true,
          .doc = "list of at most 16 percentiles, 50 for the median; absent: none"),
    PARAM(struct statistics_params, ddof, .min = 0, .max = 1, .init.i = 0,
          .doc = "the variance divides by count - ddof: 0 for the image itself, 1 to estimate from "
                 "a sample"),
    PARAM(struct statistics_params, scope, .choices = ts_scope_series_choices,
          .init.choice = SCOPE_VOLUME, .doc = "numbers of the volume, or of every slice"),
    PARAM(struct statistics_params, method, .choices = ts_reduction_choices,
          .init.choice = REDUCTION_AUTO,
          .doc = "how the sums and products of a slice of 32-bit integers or floats are joined; 8- "
                 "and 16-bit integers follow from the counts of their values"),
    PARAM(struct statistics_params, percentile_method, .choices = ts_percentile_choices,
          .init.choice = PERCENTILE_AUTO,
          .doc = "how percentiles of 32-bit integers and floats are found"),
    PARAM(
        struct statistics_params, noise, .choices = noise_choices, .init.choice = NOISE_NONE,
        .doc =
            "estimates of the standard deviation of white noise, from each slice's finest detail"),
    MASK_PARAM(struct statistics_params),
    PARAM(struct statistics_params, labels, .optional = true,
          .doc = "an image of integers of the same shape: numbers of the values under each label; "
                 "absent: none"),
    PARAM(struct statistics_params, n_labels, .min = 1, .max = STATISTICS_MOST_LABELS,
          .init.i = 256,
          .doc = "labels 0 to n_labels - 1 have a row each, of which 0 is mostly the background; "
                 "of `other_labels` only the pixels are counted"),
};

static bool by_value(const struct stage_context *context)
{
    return ts_value_counts_fit(context->in.dtype);
}

bool ts_statistics_by_slice(const struct stage_context *context)
{
    return !ts_statistics_of_counts(context) && ts_statistics_percentiles(context) > 0 &&
           ts_scope_is_slice(context) &&
           (context->device || params_of(context)->percentile_method == PERCENTILE_SORT);
}

/* On a device, the numbers of a slice are made from its counts on the device. */
bool ts_statistics_of_counts(const struct stage_context *context)
{
    return by_value(context) && !(context->device && ts_scope_is_slice(context));
}

/* HU becomes HU^2, 1/mm becomes (1/mm)^2, 1 stays 1. */
static void write_square(const char *unit, char *out, size_t size)
{
    const bool compound = unit && strpbrk(unit, "/ *^") != NULL;
    if (!unit || !*unit || !strcmp(unit, "1"))
        snprintf(out, size, "1");
    else
        snprintf(out, size, compound ? "(%s)^2" : "%s^2", unit);
}

/* Refuses labels that are not integers of the image's shape, more places than the limit, and what
 * has no labels.
 * Refuses labels that are not integers of the image's shape, more places than the limit, and what
 * has no labels. */
static enum ts_status statistics_labels_check(const struct stage_context *context)
{
    const struct statistics_params *params = params_of(context);
    const enum ts_status status =
        ts_labels_check(context, STATISTICS_LABELS - 1, params->scope == SCOPE_SLICE);
    if (status != TS_OK || !context->references[STATISTICS_LABELS - 1])
        return status;
    if (params->noise != NOISE_NONE)
        return ts_param_error(
            context->set, "noise", "noise-of-labels", context->diag,
            "is estimated from all pixels of a slice, and has no row for a label");
    if (params->n_labels * ts_statistics_label_places(context) > STATISTICS_MOST_PLACES) {
        ts_param_error(context->set, "n_labels", "labels-too-many-counts", context->diag,
                       "%lld labels with %d percentiles each are more than %d",
                       (long long)params->n_labels, ts_statistics_percentiles(context),
                       STATISTICS_MOST_PLACES / 2);
        return ts_diag_hint(context->diag, "use fewer percentiles at a time, or fewer labels");
    }
    return TS_OK;
}

static enum ts_status statistics_resolve(const struct stage_context *context, void *values)
{
    struct statistics_params *params = values;
    const int64_t n = params->percentiles.rows * params->percentiles.columns;
    if (n > PERCENTILES_MAX)
        return ts_param_error(context->set, "percentiles", "too-many-percentiles", context->diag,
                              "%lld percentiles where at most %d can be taken at once",
                              (long long)n, PERCENTILES_MAX);
    const bool labels = ts_statistics_by_label(context);
    if (by_value(context) || labels)
        ts_param_idle(context->set, "method");
    if (by_value(context) || labels || n == 0)
        ts_param_idle(context->set, "percentile_method");
    else if (params->percentile_method == PERCENTILE_SORT && params->scope != SCOPE_SLICE) {
        ts_param_error(context->set, "percentile_method", "sort-scope", context->diag,
                       "'sort' sorts one slice at a time, and scope is volume");
        return ts_diag_hint(context->diag, "scope: slice, or percentile_method: histogram");
    } else if (params->percentile_method == PERCENTILE_SORT &&
               ts_slice_count(&context->in) > UINT32_MAX) {
        ts_param_error(context->set, "percentile_method", "sort-size", context->diag,
                       "'sort' counts places in 32 bits, and a slice has %zu values",
                       ts_slice_count(&context->in));
        return ts_diag_hint(context->diag, "percentile_method: histogram");
    }
    if (params->method == REDUCTION_AUTO)
        params->method = REDUCTION_TWO_LEVEL; /* the fastest, as measured */
    if (params->percentile_method == PERCENTILE_AUTO)
        params->percentile_method = PERCENTILE_HISTOGRAM;
    write_square(context->in.unit, params->square_unit, sizeof params->square_unit);
    enum ts_status status = ts_stage_check_mask(context);
    if (status == TS_OK)
        status = statistics_labels_check(context);
    return status;
}

/* ---- reduction ------------------------------------------------------------------------------- */

int ts_statistics_own_rounds(const struct stage_context *context)
{
    return !ts_statistics_of_counts(context) && ts_statistics_percentiles(context) > 0 &&
                   !ts_statistics_by_slice(context)
               ? 2
               : 1;
}

static bool streams_with_input(const struct stage_context *context, int reference)
{
    (void)context;
    return reference == STATISTICS_LABELS - 1 || reference == STATISTICS_MASK - 1;
}

/* The noise estimate looks at neighbors, while all else uses only valid pixels: if some are left
 * out, the estimate has rounds of its own after the others. */
static int first_noise_round(const struct stage_context *context)
{
    return ts_stage_packs(context, 0) && noise_of(context) != NOISE_NONE
               ? ts_statistics_own_rounds(context)
               : 0;
}

static int statistics_rounds(const struct stage_context *context)
{
    if (ts_statistics_by_label(context))
        return ts_statistics_label_rounds(context);
    const int own = ts_statistics_own_rounds(context);
    const int noise = first_noise_round(context) + ts_noise_rounds(context, noise_of(context));
    return own > noise ? own : noise;
}

static bool is_own_round(const struct stage_context *context)
{
    return context->round < ts_statistics_own_rounds(context);
}

bool ts_statistics_noise_round(const struct stage_context *context, struct stage_context *noise)
{
    *noise = *context;
    noise->round -= first_noise_round(context);
    return noise->round >= 0 && noise->round < ts_noise_rounds(context, noise_of(context));
}

static bool takes_whole_slices(const struct stage_context *context)
{
    return !ts_statistics_by_label(context) && !is_own_round(context);
}

static struct moments *moments_in(const void *partial)
{
    return (struct moments *)((struct statistics_partial *)partial + 1);
}

static void *search_in(const struct stage_context *context, const void *partial)
{
    return moments_in(partial) + ts_scope_slices(context);
}

static struct percentile_ends *ends_in(const struct stage_context *context, const void *partial)
{
    return search_in(context, partial);
}

/* Returns the bytes behind the moments in a partial of the first round, which include the scratch
 * for the keys if a slice is sorted. */
static size_t search_bytes(const struct stage_context *context)
{
    const int n_percentiles = ts_statistics_percentiles(context);
    if (!ts_statistics_by_slice(context))
        return n_percentiles > 0 ? ts_percentile_partial_bytes(0, n_percentiles) : 0;
    return sizeof(struct percentile_ends) +
           (context->device ? 0 : 2 * ts_slice_count(&context->in) * sizeof(uint32_t));
}

static size_t own_partial_bytes(const struct stage_context *context)
{
    const int n_percentiles = ts_statistics_percentiles(context);
    if (!is_own_round(context))
        return 0;
    if (ts_statistics_of_counts(context))
        return ts_value_counts_bytes(context->in.dtype);
    if (context->round == 1)
        return ts_percentile_partial_bytes(1, n_percentiles);
    return sizeof(struct statistics_partial) + ts_scope_slices(context) * sizeof(struct moments) +
           search_bytes(context);
}

size_t ts_statistics_noise_in_total(const struct stage_context *context)
{
    return (own_partial_bytes(context) + 63) / 64 * 64;
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    if (input > 0)
        return 0;
    if (ts_statistics_by_label(context))
        return ts_statistics_label_partial(context);
    struct stage_context noise;
    return ts_statistics_noise_round(context, &noise)
               ? ts_statistics_noise_in_total(context) +
                     ts_noise_partial_bytes(&noise, noise_of(context))
               : own_partial_bytes(context);
}

static const void *noise_in_total(const struct stage_context *context, const void *total)
{
    return (const char *)total + ts_statistics_noise_in_total(context);
}

static const struct noise_result *noise_in_result(const struct stage_context *context)
{
    return (const struct noise_result *)((const char *)context->result +
                                         ts_statistics_noise_in_result(context));
}

static void reduce_first(const struct stage_context *context, const struct ts_image *slices,
                         void *partial)
{
    const struct statistics_params *params = params_of(context);
    const size_t n = ts_slice_count(slices);
    const int n_percentiles = ts_statistics_percentiles(context);
    const bool by_slice = ts_statistics_by_slice(context), search = n_percentiles > 0 && !by_slice;
    struct statistics_partial *first = partial;
    memset(partial, 0, sizeof *first + ts_scope_slices(context) * sizeof(struct moments));
    if (search)
        ts_percentile_begin(search_in(context, partial), 0, NULL);
    for (int64_t i = 0; i < slices->axes[0].n; i++) {
        const void *slice = ts_slice_data(slices, i);
        ts_value_range_add(&first->range, slice, slices->dtype, n);
        ts_moments_of_slice_by(moments_in(partial) +
                                   (ts_scope_is_slice(context) ? 0 : slices->z_first + i),
                               slice, slices->dtype, n, (enum reduction_method)params->method);
        if (search)
            ts_percentile_add(search_in(context, partial), 0, NULL, slice, slices->dtype, n);
        if (by_slice)
            ts_percentile_sort(ends_in(context, partial),
                               (uint32_t *)(ends_in(context, partial) + 1), slice, slices->dtype, n,
                               params->percentiles.values, n_percentiles);
    }
    if (search)
        ts_percentile_end(search_in(context, partial), 0);
}

static void reduce_own(const struct stage_context *context, const struct ts_image *slices,
                       void *partial)
{
    if (ts_statistics_of_counts(context)) {
        ts_value_counts_of(partial, slices);
    } else if (context->round == 0) {
        reduce_first(context, slices, partial);
    } else {
        const struct percentile_search *search =
            &((const struct statistics_result *)context->result)->search;
        ts_percentile_begin(partial, 1, search);
        ts_percentile_add(partial, 1, search, slices->data, slices->dtype, ts_image_count(slices));
        ts_percentile_end(partial, 1);
    }
}

static void statistics_reduce(const struct stage_context *context, int input,
                              const struct ts_image *slices, void *partial)
{
    struct stage_context noise;
    (void)input;
    if (ts_statistics_by_label(context)) {
        ts_statistics_label_reduce(context, slices, partial);
        return;
    }
    if (is_own_round(context))
        reduce_own(context, slices, partial);
    if (ts_statistics_noise_round(context, &noise))
        ts_noise_reduce(&noise, noise_of(context), slices, noise_in_result(context),
                        (char *)partial + ts_statistics_noise_in_total(context));
}

static void merge_own(const struct stage_context *context, void *into, const void *from)
{
    if (ts_statistics_of_counts(context)) {
        ts_value_counts_merge(into, from);
    } else if (context->round == 0) {
        ts_value_range_merge(&((struct statistics_partial *)into)->range,
                             &((const struct statistics_partial *)from)->range);
        for (size_t z = 0; z < ts_scope_slices(context); z++)
            if (moments_in(from)[z].n > 0)
                moments_in(into)[z] = moments_in(from)[z];
        if (ts_statistics_percentiles(context) > 0)
            ts_percentile_merge(search_in(context, into), search_in(context, from), 0, NULL);
    } else {
        ts_percentile_merge(into, from, 1,
                            &((const struct statistics_result *)context->result)->search);
    }
}

static void statistics_merge(const struct stage_context *context, int input, void *into,
                             const void *from)
{
    struct stage_context noise;
    (void)input;
    if (ts_statistics_by_label(context)) {
        ts_statistics_label_merge(context, into, from);
        return;
    }
    if (is_own_round(context))
        merge_own(context, into, from);
    if (ts_statistics_noise_round(context, &noise))
        ts_noise_merge(&noise, noise_of(context), noise_in_result(context),
                       (char *)into + ts_statistics_noise_in_total(context),
                       noise_in_total(context, from));
}

size_t ts_statistics_noise_in_result(const struct stage_context *context)
{
    const size_t bytes = ts_statistics_own_rounds(context) == 2
                             ? sizeof(struct statistics_result)
                             : offsetof(struct statistics_result, search);
    return (bytes + 63) / 64 * 64;
}

static size_t result_bytes(const struct stage_context *context)
{
    if (ts_statistics_by_label(context))
        return ts_statistics_label_result(context);
    const size_t noise =
        noise_of(context) == NOISE_NONE ? 0 : ts_noise_result_bytes(context, noise_of(context));
    return ts_statistics_noise_in_result(context) + (noise + 63) / 64 * 64;
}

static void finish_own(const struct stage_context *context, const void *const totals[],
                       struct statistics_result *numbers)
{
    const double *percents = params_of(context)->percentiles.values;
    const int n_percentiles = ts_statistics_percentiles(context);
    const enum ts_dtype dtype = context->in.dtype;
    if (ts_statistics_of_counts(context)) {
        const struct value_counts *counts = totals[0];
        double low, high;
        ts_dtype_range(dtype, &low, &high);
        numbers->range = (struct value_range){.low = low + counts->low, .high = low + counts->high};
        ts_moments_of_counts(&numbers->moments, counts, dtype);
        for (int i = 0; i < n_percentiles; i++)
            numbers->percentiles[i] = ts_percentile_of_counts(counts, dtype, percents[i]);
    } else if (context->round == 0) {
        numbers->range = ((const struct statistics_partial *)totals[0])->range;
        numbers->moments = (struct moments){0};
        for (size_t z = 0; z < ts_scope_slices(context); z++)
            ts_moments_join(&numbers->moments, moments_in(totals[0]) + z, dtype);
        if (ts_statistics_by_slice(context))
            ts_percentile_of_ends(ends_in(context, totals[0]), dtype, percents, n_percentiles,
                                  numbers->percentiles);
        else if (n_percentiles > 0)
            ts_percentile_locate(&numbers->search, search_in(context, totals[0]), percents,
                                 n_percentiles);
    } else {
        ts_percentile_values(&numbers->search, totals[0], dtype, numbers->percentiles);
    }
}

static void *data_of(const struct stage_context *context, const struct ts_image *tables, int table)
{
    const struct ts_image *found = statistics_table(context, tables, table);
    return found ? found->data : NULL;
}

static void finish_labels(const struct stage_context *context, const void *total, void *result,
                          const struct ts_image *tables)
{
    struct statistics_label_tables rows = {.percentiles =
                                               data_of(context, tables, TABLE_PERCENTILES),
                                           .left_out = data_of(context, tables, TABLE_LEFT_OUT),
                                           .others = data_of(context, tables, TABLE_OTHER_LABELS)};
    for (int i = TABLE_COUNT; i < TABLE_MIN; i++)
        rows.counts[i] = tables[i].data;
    for (int i = TABLE_MIN; i <= TABLE_DEVIATION; i++)
        rows.reals[i - TABLE_MIN] = tables[i].data;
    ts_statistics_label_finish(context, total, result, &rows);
}

static enum ts_status statistics_finish(const struct stage_context *context,
                                        const void *const totals[], void *result,
                                        const struct ts_image *tables)
{
    struct noise_result *noise =
        (struct noise_result *)((char *)result + ts_statistics_noise_in_result(context));
    struct stage_context noise_round;
    if (ts_statistics_by_label(context)) {
        finish_labels(context, totals[0], result, tables);
        return TS_OK;
    }
    if (is_own_round(context))
        finish_own(context, totals, result);
    if (ts_statistics_noise_round(context, &noise_round))
        ts_noise_finish(&noise_round, noise_of(context), noise_in_total(context, totals[0]), noise);
    if (context->round + 1 == statistics_rounds(context))
        statistics_write_tables(context, result, noise, tables);
    return TS_OK;
}

static const struct stage_reduction reduction = {
    .per_slice = ts_scope_per_slice,
    .order_free = true,
    .whole_slices = takes_whole_slices,
    .exact = true, /* moments of slices stay separate until the end */
    .rounds = statistics_rounds,
    .partial_bytes = partial_bytes,
    .reduce = statistics_reduce,
    .merge = statistics_merge,
    .result_bytes = result_bytes,
    .finish = statistics_finish,
    .tables = statistics_tables,
};

const struct stage statistics_stage = {
    .name = "statistics",
    .summary = "count, range, sum, mean, variance, product and percentiles; the image passes on",
    .doc =
        "Numbers of the finite values; NaN and infinite values are counted apart. Invalid pixels, "
        "such as a CT's padding, and those that `mask` leaves out are in the table `left_out` and "
        "nowhere else. The variance is `sum((v - mean)^2)/(count - ddof)`. The product leaves "
        "zeros out (they are counted) and is given as the natural logarithm of its absolute value "
        "and its sign, since the product itself fits no number. Percentiles follow the rule "
        "`linear`, the default of `numpy.percentile`, and are exact: rank `(count - 1)*q/100`, "
        "linear between neighbors in rank.\n\n"
        "With `labels`, an image of integers of the same shape, every number is a row of (label): "
        "row i has the values of label i, from 0, the background of most segmentations, to "
        "n_labels - 1. Pixels with any other label are counted in `other_labels`. There are no "
        "products of labels. Sums and squares are exact integers in every type, so that equal "
        "images give equal bytes on the CPU and on a CUDA device.\n\n"
        "Sums of integers are exact and rounded once. Floats are summed in double, slice by slice, "
        "and the slices are joined in rising z (Chan, Golub and LeVeque, 1983), so that equal "
        "images give equal bytes.\n\n"
        "`noise` adds estimates of the standard deviation of white Gaussian noise, both from the "
        "second differences R of each slice along x and y (mask 1, -2, 1 each way), which leave "
        "constants and planes at 0. `noise_immerkaer` is `sqrt(pi/2)/6 * mean of |R|` over the "
        "pixels with eight neighbors (J. Immerkaer, 1996). `noise_wavelet` is the median of the "
        "sizes of the diagonal coefficients of the wavelet db2 that are not 0, divided by 0.6745 "
        "(D. L. Donoho and I. M. Johnstone, 1994): of one slice the number of "
        "`skimage.restoration.estimate_sigma`, but for coefficients that are 0 exactly and that "
        "rounding hides there; with scope volume the coefficients of all slices are taken "
        "together. Edges raise the mean more than the median. What a NaN, an infinity, an invalid "
        "pixel or one that `mask` leaves out touches is left out: 3 x 3 pixels of an R, 4 x 4 of a "
        "coefficient. NaN means that nothing was left. Coefficients are rounded to f32 before they "
        "are ranked, so that `noise_wavelet` is right to 6e-8 of itself.\n\n"
        "Minima, maxima and counts are the same in any order. One pass keeps the variance to 1e-12 "
        "of itself: each run of values is summed as differences from a value near its own mean.\n\n"
        "Cost: one pass; one more for percentiles of 32-bit integers and floats, and for "
        "noise_wavelet; if pixels are left out, the passes of `noise` come after the others; with "
        "`labels` and percentiles two passes for 16 bits, three for 32.",
    STAGE_TAKES_ALL,
    STAGE_PARAMS(statistics_params, struct statistics_params),
    .resolve = statistics_resolve,
    .streams_with_input = streams_with_input,
    .reduction = &reduction,
    .cuda = STAGE_CUDA(statistics_cuda),
    .counts_values = true,
    .bench =
        "|scope=slice|percentiles=1,50,99|scope=slice percentiles=1,50,99|scope=slice "
        "percentiles=1,50,99 percentile_method=sort|noise=immerkaer|noise=wavelet|labels=itself "
        "n_labels=4096|labels=itself percentiles=50",
    .tolerance =
        {.relative = 1e-12,
         .why = "order of sums in double; integers are exact; `noise_wavelet` is right to 6e-8"},
};
