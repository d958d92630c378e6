/* SPDX-License-Identifier: Apache-2.0
 *
 * histogram: counts[i] = number of values v with edge(i) <= v < edge(i + 1), edge(i) = low + i * (high - low) / bins.
 * The last bin is closed (holds v == high), as numpy.histogram has it. Tables are (bin), or (z, bin) with scope slice.
 *
 * 8- and 16-bit integers are counted value by value, exactly, in one pass; any range and bins follow from that.
 * Other types are counted in the bins themselves; without a range that takes a pass before, which finds it.
 */
#include "stages/histogram.h"

#include <string.h>

#include "stages/common/bins.h"
#include "stages/common/limits.h"
#include "stages/common/scope.h"

enum { MAX_BINS = 65536 };
enum {
    TABLE_COUNTS,
    TABLE_EDGES,
    TABLE_UNDERFLOW,
    TABLE_OVERFLOW,
    TABLE_NAN,
    TABLE_REFERENCE,
    TABLE_DISTANCES,
    TABLE_WASSERSTEIN
};
enum { DISTANCE_TOTAL_VARIATION, DISTANCE_KOLMOGOROV_SMIRNOV, DISTANCES };

static const struct param rows[] = {
    PARAM(struct histogram_params, bins, .min = 1, .max = MAX_BINS, .init.i = 256, .doc = "number of bins"),
    PARAM(struct histogram_params, range, .unit = "value", .optional = true,
          .doc = "[low, high] between the outer edges; values outside are counted apart; absent: `limits` decides"),
    PARAM(struct histogram_params, limits, .choices = ts_limits_choices, .init.choice = LIMITS_DATA,
          .doc = "where the outer edges come from without `range`; with dtype the upper edge is the highest value + 1, "
                 "so that every bin holds equally many values"),
    PARAM(struct histogram_params, scope, .choices = ts_scope_choices, .init.choice = SCOPE_VOLUME,
          .doc = "one histogram of the volume, or one of every slice"),
    PARAM(struct histogram_params, reference, .optional = true,
          .doc = "an image whose histogram is taken in the same bins, and the distances to it; absent: none"),
};

/* The bins found; the reference's counts stay here for a reduction per slice. */
struct histogram_result {
    struct bins bins;
    uint64_t reference_outside[BINS_EXTRA_SLOTS], reference[];
};

static const struct histogram_params *params_of(const struct stage_context *context)
{
    return context->params;
}

static bool fixed_bins(const struct stage_context *context)
{
    return params_of(context)->range.values || params_of(context)->limits == LIMITS_DTYPE;
}

static struct bins bins_at_plan(const struct stage_context *context)
{
    const struct histogram_params *params = params_of(context);
    struct bins bins;
    double low, high;
    ts_dtype_range(context->in.dtype, &low, &high);
    if (params->range.values)
        ts_bins_init(&bins, params->range.values[0], params->range.values[1], params->bins);
    else
        ts_bins_init(&bins, low, high + 1, params->bins);
    return bins;
}

static enum ts_status resolve(const struct stage_context *context, void *values)
{
    const struct histogram_params *params = values;
    const enum ts_status status = ts_limits_check_range(context, "range", &params->range);
    if (status != TS_OK)
        return status;
    if (!params->range.values && params->limits == LIMITS_DTYPE && !ts_dtype_is_integer(context->in.dtype))
        return ts_limits_refuse_float(context);
    if (fixed_bins(context)) {
        const struct bins bins = bins_at_plan(context);
        if (!ts_bins_distinct(&bins))
            return ts_param_error(context->set, "range", "range-too-narrow", context->diag,
                                  "%lld bins between %.17g and %.17g are narrower than numbers of that size can tell",
                                  (long long)params->bins, bins.low, bins.high);
    } else if (context->references[0] && params->scope == SCOPE_SLICE) {
        ts_param_error(context->set, "reference", "reference-needs-range", context->diag,
                       "the bins of every slice would differ, and the reference is counted once");
        ts_diag_hint(context->diag, "give range: [low, high], or scope: volume");
        return TS_BAD_CHAIN;
    }
    return TS_OK;
}

static bool per_slice(const struct stage_context *context)
{
    return params_of(context)->scope == SCOPE_SLICE;
}

static enum ts_dtype dtype_of(const struct stage_context *context, int input)
{
    return input == 0 ? context->in.dtype : context->references[input - 1]->dtype;
}

static int rounds(const struct stage_context *context)
{
    const bool counted_by_value = ts_value_counts_fit(context->in.dtype) &&
                                  (!context->references[0] || ts_value_counts_fit(context->references[0]->dtype));
    return fixed_bins(context) || counted_by_value ? 1 : 2;
}

/* The round that only looks for the range. */
static bool ranging(const struct stage_context *context)
{
    return context->round + 1 < rounds(context);
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    if (ranging(context))
        return input == 0 ? sizeof(struct value_range) : 0;
    return ts_value_counts_fit(dtype_of(context, input)) ? ts_value_counts_bytes(dtype_of(context, input))
                                                         : ts_bin_counts_bytes(params_of(context)->bins);
}

static struct bins bins_now(const struct stage_context *context)
{
    return fixed_bins(context) ? bins_at_plan(context) : ((const struct histogram_result *)context->result)->bins;
}

static void reduce(const struct stage_context *context, int input, const struct ts_image *slices, void *partial)
{
    const size_t n = ts_image_count(slices);
    if (ranging(context)) {
        memset(partial, 0, sizeof(struct value_range));
        ts_value_range_add(partial, slices->data, slices->dtype, n);
    } else if (ts_value_counts_fit(slices->dtype)) {
        ts_value_counts_init(partial, slices->dtype);
        ts_value_counts_add(partial, slices->data, n);
        ts_value_counts_flush(partial);
    } else {
        const struct bins bins = bins_now(context);
        ts_bin_counts_init(partial, bins.n);
        ts_bin_counts_add(partial, &bins, slices->data, slices->dtype, n);
        ts_bin_counts_flush(partial);
    }
    (void)input;
}

static void merge(const struct stage_context *context, int input, void *into, const void *from)
{
    if (ranging(context))
        ts_value_range_merge(into, from);
    else if (ts_value_counts_fit(dtype_of(context, input)))
        ts_value_counts_merge(into, from);
    else
        ts_bin_counts_merge(into, from);
}

static size_t result_bytes(const struct stage_context *context)
{
    const size_t n_bins = context->references[0] ? (size_t)params_of(context)->bins : 0;
    return sizeof(struct histogram_result) + n_bins * sizeof(uint64_t);
}

static void counts_of(const struct stage_context *context, int input, const struct bins *bins, const void *total,
                      uint64_t *in_bins, uint64_t outside[BINS_EXTRA_SLOTS])
{
    const enum ts_dtype dtype = dtype_of(context, input);
    if (ts_value_counts_fit(dtype))
        ts_bins_fold(bins, total, dtype, in_bins, outside);
    else
        ts_bins_split(total, in_bins, outside);
}

/* Total variation, Kolmogorov-Smirnov and 1-Wasserstein distance of two histograms as shares of the values that are
 * numbers; values outside the range count as if they were at its nearer end. */
static void compare(const struct bins *bins, const uint64_t *a, const uint64_t *a_outside, const uint64_t *b,
                    const uint64_t *b_outside, double distances[DISTANCES], double *wasserstein)
{
    uint64_t n_a = a_outside[0] + a_outside[1], n_b = b_outside[0] + b_outside[1];
    for (int64_t bin = 0; bin < bins->n; bin++) {
        n_a += a[bin];
        n_b += b[bin];
    }
    const double of_a = (double)n_a, of_b = (double)n_b;
    uint64_t below_a = a_outside[0], below_b = b_outside[0];
    double gap = fabs((double)below_a / of_a - (double)below_b / of_b), largest = gap, variation = gap;
    double area =
        gap * bins->step / 2; /* the values of a bin lie in its middle, so a gap reaches from middle to middle */
    for (int64_t bin = 0; bin < bins->n; bin++) {
        below_a += a[bin];
        below_b += b[bin];
        gap = fabs((double)below_a / of_a - (double)below_b / of_b);
        largest = fmax(largest, gap);
        variation += fabs((double)a[bin] / of_a - (double)b[bin] / of_b);
        area += gap * (bin + 1 < bins->n ? bins->step : bins->step / 2);
    }
    variation += fabs((double)a_outside[1] / of_a - (double)b_outside[1] / of_b);
    const bool known = n_a > 0 && n_b > 0;
    distances[DISTANCE_TOTAL_VARIATION] = known ? variation / 2 : (double)NAN;
    distances[DISTANCE_KOLMOGOROV_SMIRNOV] = known ? largest : (double)NAN;
    *wasserstein = known ? area : (double)NAN;
}

static void write_tables(const struct stage_context *context, const struct histogram_result *result, const void *total,
                         const struct ts_image *tables)
{
    const struct bins *bins = &result->bins;
    uint64_t *counts = tables[TABLE_COUNTS].data, outside[BINS_EXTRA_SLOTS];
    counts_of(context, 0, bins, total, counts, outside);
    ts_bins_edges(bins, tables[TABLE_EDGES].data);
    for (int i = 0; i < BINS_EXTRA_SLOTS; i++)
        *(uint64_t *)tables[TABLE_UNDERFLOW + i].data = outside[i];
    if (context->references[0]) {
        memcpy(tables[TABLE_REFERENCE].data, result->reference, (size_t)bins->n * sizeof *counts);
        compare(bins, counts, outside, result->reference, result->reference_outside, tables[TABLE_DISTANCES].data,
                tables[TABLE_WASSERSTEIN].data);
    }
}

static enum ts_status finish(const struct stage_context *context, const void *const totals[], void *result,
                             const struct ts_image *tables)
{
    struct histogram_result *histogram = result;
    const int64_t n_bins = params_of(context)->bins;
    if (ranging(context)) {
        ts_bins_init_data(&histogram->bins, totals[0], n_bins);
        return TS_OK;
    }
    if (fixed_bins(context)) {
        histogram->bins = bins_at_plan(context);
    } else if (rounds(context) == 1) {
        const struct value_range range = ts_value_counts_range(totals[0], context->in.dtype);
        ts_bins_init_data(&histogram->bins, &range, n_bins);
    }
    if (totals[1])
        counts_of(context, 1, &histogram->bins, totals[1], histogram->reference, histogram->reference_outside);
    if (totals[0])
        write_tables(context, histogram, totals[0], tables);
    return TS_OK;
}

static int tables(const struct stage_context *context, struct stage_table out[STAGE_TABLES])
{
    static const struct {
        const char *name, *doc;
    } texts[] = {
        [TABLE_COUNTS] = {"counts", "values in each bin"},
        [TABLE_EDGES] = {"edges", "edges of the bins, one more than bins; the last bin holds its upper edge"},
        [TABLE_UNDERFLOW] = {"underflow", "values below the first edge"},
        [TABLE_OVERFLOW] = {"overflow", "values above the last edge"},
        [TABLE_NAN] = {"nan", "values that are not numbers"},
        [TABLE_REFERENCE] = {"reference_counts", "values of the reference in each bin"},
        [TABLE_DISTANCES] = {"distances", "total variation and Kolmogorov-Smirnov distance to the reference, as "
                                          "shares; values outside the range count at its nearer end"},
        [TABLE_WASSERSTEIN] = {"wasserstein", "1-Wasserstein distance to the reference, in values; values outside the "
                                              "range count at its nearer end"},
    };
    const int64_t n_bins = params_of(context)->bins;
    const struct ts_axis axes[] = {
        [TABLE_COUNTS] = {.kind = TS_AXIS_BIN, .n = n_bins, .unit = ""},
        [TABLE_EDGES] = {.kind = TS_AXIS_BIN, .n = n_bins + 1, .unit = ""},
        [TABLE_REFERENCE] = {.kind = TS_AXIS_BIN, .n = n_bins, .unit = ""},
        [TABLE_DISTANCES] = {.kind = TS_AXIS_ITEM, .n = DISTANCES, .unit = ""},
        [TABLE_WASSERSTEIN] = {.n = 0},
    };
    const int n = context->references[0] ? TABLE_WASSERSTEIN + 1 : TABLE_NAN + 1;
    for (int i = 0; i < n; i++) {
        const bool in_values = i == TABLE_EDGES || i == TABLE_WASSERSTEIN, real = in_values || i == TABLE_DISTANCES;
        struct ts_image *image = &out[i].image;
        out[i].name = texts[i].name;
        out[i].doc = texts[i].doc;
        *image = (struct ts_image){.dtype = real ? TS_F64 : TS_U64, .quantity = TS_INTENSITY, .unit = "1"};
        if (in_values) {
            image->quantity = context->in.quantity;
            image->unit = context->in.unit;
        }
        if (per_slice(context))
            image->axes[image->rank++] = context->in.axes[0];
        if (axes[i].n > 0)
            image->axes[image->rank++] = axes[i];
    }
    return n;
}

static const struct stage_reduction reduction = {
    .per_slice = per_slice,
    .exact = true,
    .rounds = rounds,
    .partial_bytes = partial_bytes,
    .reduce = reduce,
    .merge = merge,
    .result_bytes = result_bytes,
    .finish = finish,
    .tables = tables,
};

const struct stage histogram_stage = {
    .name = "histogram",
    .summary = "count values in bins of equal width; the image passes on",
    .doc =
        "`counts[i]` is the number of values with `edge[i] <= v < edge[i+1]`, `edge[i] = low + i*(high - low)/bins` in "
        "double precision; the last bin is closed and holds `v == high` (the rule of `numpy.histogram`, and its "
        "default range). Values below, above and NaN are counted apart, so that all counts add up to the number of "
        "values. 8- and 16-bit integers are counted value by value and exactly; `limits: dtype, bins: 65536` gives "
        "those counts.\n\n"
        "With `reference` the reference's values are counted in the same bins, and three distances of the two "
        "distributions are written: total variation and Kolmogorov-Smirnov (`distances`), and 1-Wasserstein "
        "(`wasserstein`, the earth mover's, in values of the image).\n\n"
        "Cost: one pass; one more to find the range, for 32-bit integers and floats without `range`.",
    .axes = AXES_VOLUME | AXES_SINOGRAM,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    .params = rows,
    .n_params = sizeof rows / sizeof *rows,
    .params_bytes = sizeof(struct histogram_params),
    .resolve = resolve,
    .reduction = &reduction,
    .tolerance = {.why = "counts of values are exact"},
};
