/* SPDX-License-Identifier: Apache-2.0
 *
 * histogram: counts[i] = number of values v with edge(i) <= v < edge(i + 1), edge(i) = low + i *
 * (high - low) / bins. The last bin is closed (contains v == high), as in numpy.histogram. Tables
 * are (bin), or (z, bin) with scope slice.
 *
 * 8- and 16-bit integers are counted value by value, exactly, in one pass; any range and bins
 * follow from that. A CUDA device makes the bins of 16-bit integers itself, from its 65,536 counts.
 * Other types, and values by label, are counted in the bins directly. If no range is given, a pass
 * before finds it.
 */
#include "stages/histogram/histogram.h"

#include <math.h>
#include <string.h>

#include "stages/engine/traits.h"
#include "stages/engine/validity.h"
#include "stages/values/scope.h"
#include "stages/values/value_range.h"

/* ---- bins ------------------------------------------------------------------------------------ */

/* Returns the smallest and the largest value that were counted. */
static struct value_range value_counts_range(const struct value_counts *counts, enum ts_dtype dtype)
{
    double lowest, highest;
    ts_dtype_range(dtype, &lowest, &highest);
    return (struct value_range){.n_finite = counts->n,
                                .low = lowest + (double)counts->low,
                                .high = lowest + (double)counts->high};
}

/* Returns false if two edges are the same double. */
static bool bins_distinct(const struct bins *bins)
{
    const double largest = fmax(fabs(bins->low), fabs(bins->high));
    return bins->step > 0x1p-48 * largest && isfinite(bins->step) && isfinite(bins->per_value);
}

static double edge_of(const struct bins *bins, int64_t i)
{
    return i == bins->n ? bins->high : bins->low + (double)i * bins->step;
}

TS_VECTORIZED static void fill_edges(double *edges, int32_t n, double low, double step)
{
    for (int32_t i = 0; i < n; i++)
        edges[i] = low + (double)i * step;
}

/* Writes all n + 1 edges. */
static void bins_edges(const struct bins *bins, double *edges)
{
    fill_edges(edges, (int32_t)bins->n, bins->low, bins->step);
    edges[bins->n] = bins->high;
}

/* Returns the first key whose value is at least `edge`, in [0, n_keys]; exactly, because no double
 * loses digits. */
static uint32_t first_key(double edge, double lowest, uint32_t n_keys)
{
    const double key = ceil(edge) - lowest;
    if (!(key > 0))
        return 0;
    return key < (double)n_keys ? (uint32_t)key : n_keys;
}

/* Sums the counts of the keys [first, end) that were seen. */
static uint64_t sum_keys(const struct value_counts *counts, uint32_t first, uint32_t end)
{
    uint64_t sum = 0;
    first = first > counts->low ? first : counts->low;
    end = end < counts->high + 1 ? end : counts->high + 1;
    for (uint32_t key = first; key < end; key++)
        sum += counts->counts[key];
    return sum;
}

/* Copies the counts to bins that hold one value each, starting with key `first`. The last bin is
 * closed and may hold one value more. */
static void fold_singles(const struct value_counts *counts, uint32_t first, uint32_t n_bins,
                         uint64_t *in_bins)
{
    const uint32_t low = counts->low > first ? counts->low : first;
    const uint32_t end = counts->high + 1 < first + n_bins ? counts->high + 1 : first + n_bins;
    if (low < end) {
        memset(in_bins, 0, (low - first) * sizeof *in_bins);
        memcpy(in_bins + (low - first), counts->counts + low, (end - low) * sizeof *in_bins);
        memset(in_bins + (end - first), 0, (first + n_bins - end) * sizeof *in_bins);
    } else {
        memset(in_bins, 0, n_bins * sizeof *in_bins);
    }
    in_bins[n_bins - 1] += sum_keys(counts, first + n_bins, first + n_bins + 1);
}

static void fold_any(const struct bins *bins, const struct value_counts *counts, double lowest,
                     uint64_t *in_bins)
{
    uint32_t begin = first_key(bins->low, lowest, counts->n_keys);
    for (int64_t i = 0; i < bins->n; i++) {
        const bool last = i == bins->n - 1;
        /* The last bin is closed: it ends before the first value above high. */
        const uint32_t end =
            first_key(last ? floor(bins->high) + 1 : edge_of(bins, i + 1), lowest, counts->n_keys);
        in_bins[i] = begin <= counts->high && end > counts->low ? sum_keys(counts, begin, end) : 0;
        begin = end;
    }
}

/* Makes in_bins[bins->n] and `outside` (below, above, NaN) from flushed counts of single values,
 * with integers. */
static void bins_fold(const struct bins *bins, const struct value_counts *counts,
                      enum ts_dtype dtype, uint64_t *in_bins, uint64_t outside[BINS_EXTRA_SLOTS])
{
    double lowest, highest;
    ts_dtype_range(dtype, &lowest, &highest);
    memset(outside, 0, BINS_EXTRA_SLOTS * sizeof *outside);
    if (counts->n == 0) {
        memset(in_bins, 0, (size_t)bins->n * sizeof *in_bins);
        return;
    }
    const uint32_t first = first_key(bins->low, lowest, counts->n_keys);
    if (bins->step == 1 && bins->low == lowest + first &&
        first + bins->n <= (int64_t)counts->n_keys)
        fold_singles(counts, first, (uint32_t)bins->n, in_bins);
    else
        fold_any(bins, counts, lowest, in_bins);
    outside[0] = sum_keys(counts, 0, first);
    outside[1] =
        sum_keys(counts, first_key(floor(bins->high) + 1, lowest, counts->n_keys), counts->n_keys);
}

/* Splits slots into bins and `outside` in the same way. */
static void bins_split(const struct bin_counts *counts, uint64_t *in_bins,
                       uint64_t outside[BINS_EXTRA_SLOTS])
{
    const size_t n_bins = counts->n_slots - BINS_EXTRA_SLOTS;
    memcpy(in_bins, counts->slots + 1, n_bins * sizeof *in_bins);
    outside[0] = counts->slots[0];
    outside[1] = counts->slots[n_bins + 1];
    outside[2] = counts->slots[n_bins + 2];
}

/* ---- tables ------------------------------------------------------------------------------------
 *
 * The tables that `histogram` writes depend on its reference and labels: they are filtered from a
 * list of all tables, in the order of the file. Distances are sums and maxima over the bins of the
 * difference of two cumulative distributions. */

/* _REFERENCE to _WASSERSTEIN exist only with a reference, _LABEL_COUNTS and all that follow only
 * with labels. */
enum {
    TABLE_COUNTS,
    TABLE_EDGES,
    TABLE_UNDERFLOW,
    TABLE_OVERFLOW,
    TABLE_NAN,
    TABLE_REFERENCE,
    TABLE_DISTANCES,
    TABLE_WASSERSTEIN,
    TABLE_LABEL_COUNTS,
    TABLE_LABEL_UNDERFLOW,
    TABLE_LABEL_OVERFLOW,
    TABLE_LABEL_NAN,
    TABLE_OTHER_COUNTS,
    TABLE_OTHER_OUTSIDE,
    TABLES
};
enum { DISTANCE_TOTAL_VARIATION, DISTANCE_KOLMOGOROV_SMIRNOV, DISTANCES };

/* Returns the index of a table among those that the stage has, with or without a reference. */
static int histogram_table(bool reference, int table)
{
    const int distances = TABLE_LABEL_COUNTS - TABLE_REFERENCE;
    return table >= TABLE_LABEL_COUNTS && !reference ? table - distances : table;
}

static const struct {
    const char *name, *doc;
} table_texts[] = {
    [TABLE_COUNTS] = {"counts", "values in each bin"},
    [TABLE_EDGES] = {"edges",
                     "edges of the bins, one more than bins; the last bin holds its upper edge"},
    [TABLE_UNDERFLOW] = {"underflow", "values below the first edge"},
    [TABLE_OVERFLOW] = {"overflow", "values above the last edge"},
    [TABLE_NAN] = {"nan", "values that are not numbers"},
    [TABLE_REFERENCE] = {"reference_counts", "values of the reference in each bin"},
    [TABLE_DISTANCES] = {"distances",
                         "total variation and Kolmogorov-Smirnov distance to the reference, as "
                         "shares; values outside the range count at its nearer end"},
    [TABLE_WASSERSTEIN] = {"wasserstein", "1-Wasserstein distance to the reference, in values; "
                                          "values outside the range count at its nearer end"},
    [TABLE_LABEL_COUNTS] = {"label_counts", "values under each label in each bin"},
    [TABLE_LABEL_UNDERFLOW] = {"label_underflow", "values under each label below the first edge"},
    [TABLE_LABEL_OVERFLOW] = {"label_overflow", "values under each label above the last edge"},
    [TABLE_LABEL_NAN] = {"label_nan", "values under each label that are not numbers"},
    [TABLE_OTHER_COUNTS] = {"other_counts",
                            "values in each bin whose label is not one of 0 to n_labels - 1"},
    [TABLE_OTHER_OUTSIDE] =
        {"other_outside",
         "values with such a label below the first edge, above the last one, and not numbers"},
};

/* Describes the tables, and returns how many there are. This is tables() of the reduction. */
static int histogram_tables(const struct stage_context *context,
                            struct stage_table out[STAGE_TABLES])
{
    const struct histogram_params *params = context->params;
    const bool reference = context->references[HISTOGRAM_REFERENCE - 1] != NULL;
    const bool labels = context->references[HISTOGRAM_LABELS - 1] != NULL;
    const struct {
        enum ts_axis_kind kind;
        int64_t n;
    } axes[TABLES] = {
        [TABLE_COUNTS] = {TS_AXIS_BIN, params->bins},
        [TABLE_EDGES] = {TS_AXIS_BIN, params->bins + 1},
        [TABLE_REFERENCE] = {TS_AXIS_BIN, params->bins},
        [TABLE_DISTANCES] = {TS_AXIS_ITEM, DISTANCES},
        [TABLE_LABEL_COUNTS] = {TS_AXIS_BIN, params->bins},
        [TABLE_OTHER_COUNTS] = {TS_AXIS_BIN, params->bins},
        [TABLE_OTHER_OUTSIDE] = {TS_AXIS_ITEM, BINS_EXTRA_SLOTS},
    };
    int n = 0;
    for (int i = 0; i < TABLES; i++) {
        const bool of_labels = i >= TABLE_LABEL_COUNTS,
                   of_reference = i >= TABLE_REFERENCE && !of_labels;
        const bool in_values = i == TABLE_EDGES || i == TABLE_WASSERSTEIN,
                   real = in_values || i == TABLE_DISTANCES;
        if ((of_labels && !labels) || (of_reference && !reference))
            continue;
        out[n] = ts_scope_table(context, table_texts[i].name, table_texts[i].doc,
                                real ? TS_F64 : TS_U64, in_values);
        if (of_labels && i < TABLE_OTHER_COUNTS)
            ts_scope_axis(&out[n], TS_AXIS_ITEM, params->n_labels);
        if (axes[i].n > 0)
            ts_scope_axis(&out[n], axes[i].kind, axes[i].n);
        n++;
    }
    return n;
}

/* Computes the total variation, Kolmogorov-Smirnov and 1-Wasserstein distance of two histograms,
 * each normalized by its number of values without NaN; values outside the range count as if they
 * were at its nearer end. They are NaN if a histogram is empty. */
static void histogram_compare(const struct bins *bins, const uint64_t *a, const uint64_t *a_outside,
                              const uint64_t *b, const uint64_t *b_outside,
                              double distances[DISTANCES], double *wasserstein)
{
    uint64_t n_a = a_outside[0] + a_outside[1], n_b = b_outside[0] + b_outside[1];
    for (int64_t bin = 0; bin < bins->n; bin++) {
        n_a += a[bin];
        n_b += b[bin];
    }
    const double of_a = (double)n_a, of_b = (double)n_b;
    uint64_t below_a = a_outside[0], below_b = b_outside[0];
    double gap = fabs((double)below_a / of_a - (double)below_b / of_b), largest = gap,
           variation = gap;
    double area =
        gap * bins->step /
        2; /* the values of a bin count as at its middle, so a gap reaches from middle to middle */
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

enum { MAX_BINS = 65536, MAX_LABELS = 65536 };

static const struct choice method_choices[] = {
    {"auto", HISTOGRAM_AUTO, "by type; on every CUDA device what was fastest on an H200", 0},
    {"global", HISTOGRAM_GLOBAL,
     "CUDA: atomic adds to one table in global memory; CPU: one table, a pixel at a time", 0},
    {"sub-histogram", HISTOGRAM_SUB,
     "CUDA: a table in global memory for every strip of columns, which one block goes down; CPU: a "
     "table for every strip of 512 columns, which a thread goes down; then their sum",
     0},
    {"shared", HISTOGRAM_SHARED,
     "CUDA: a table in shared memory for every part of the image; CPU: a table that stays in the "
     "cache for every part of 65,536 pixels; then their sum",
     0},
    {"occupancy", HISTOGRAM_OCCUPANCY,
     "CUDA: as shared, but with as many blocks as the device holds at once, whose threads take "
     "several rows; CPU: one table for a thread, which takes four rows at a time",
     0},
    {"warp-tagged", HISTOGRAM_WARP_TAGGED,
     "a few tables for every warp, written without atomics: counts carry the lane's number in "
     "their top 5 bits, and a lane whose number did not stay tries again (Podlozhnyuk 2007)",
     ON_CUDA},
    {"lane-private", HISTOGRAM_LANE_PRIVATE,
     "CUDA: a table in shared memory for every lane of a warp, without bank conflicts; CPU: "
     "neighboring pixels have tables of their own, of which there are eight for 8 bits, two for "
     "16, and four for bins",
     0},
    {"sampled", HISTOGRAM_SAMPLED,
     "16-bit integers only. CUDA: a table for the range that a sample spans, in copies for the "
     "lanes, or packed 16-bit counts of all values; CPU: a table for the range of each 65,536 "
     "pixels, in as many copies as a sample calls for",
     0},
    {NULL, 0, NULL, 0},
};

static const struct choice merge_choices[] = {
    {"auto", HISTOGRAM_MERGE_AUTO, "what was fastest on an H200: atomic", 0},
    {"atomic", HISTOGRAM_MERGE_ATOMIC,
     "tables, or sums of 16, are added to the result with atomic adds", ON_CUDA},
    {"fan-in", HISTOGRAM_MERGE_FAN_IN,
     "halving with stride, table by table: 0 with 128, 1 with 129, ... of 256", ON_CUDA},
    {"two-level", HISTOGRAM_MERGE_TWO_LEVEL,
     "runs of tables one after the other, then their sums fan in", ON_CUDA},
    {NULL, 0, NULL, 0},
};

static const struct param histogram_params[] = {
    PARAM(struct histogram_params, bins, .min = 1, .max = MAX_BINS, .init.i = 256,
          .doc = "number of bins"),
    PARAM(struct histogram_params, range, .unit = "value", .optional = true,
          .doc = "[low, high] between the outer edges; values outside are counted apart; absent: "
                 "`limits` decides"),
    PARAM(struct histogram_params, limits, .choices = ts_limits_choices, .init.choice = LIMITS_DATA,
          .doc = "where the outer edges come from without `range`; with dtype the upper edge is "
                 "the highest value + 1, so that every bin holds equally many values"),
    PARAM(struct histogram_params, scope, .choices = ts_scope_series_choices,
          .init.choice = SCOPE_VOLUME, .doc = "one histogram of the volume, or one of every slice"),
    PARAM(struct histogram_params, method, .choices = method_choices, .init.choice = HISTOGRAM_AUTO,
          .doc = "how values are counted; all give the same counts"),
    PARAM(struct histogram_params, merge, .choices = merge_choices,
          .init.choice = HISTOGRAM_MERGE_AUTO,
          .doc = "how the tables of blocks, warps or strips become one, with the methods that have "
                 "such; all give the same counts"),
    PARAM(struct histogram_params, reference, .optional = true,
          .doc = "an image whose histogram is taken in the same bins, and the distances to it; "
                 "absent: none"),
    PARAM(struct histogram_params, labels, .optional = true,
          .doc = "an image of integers of the same shape: one histogram for the values under each "
                 "label; absent: none"),
    PARAM(struct histogram_params, n_labels, .min = 1, .max = MAX_LABELS, .init.i = 256,
          .doc = "labels 0 to n_labels - 1 have a histogram each; values under any other label are "
                 "counted together; (n_labels + 1) (bins + 3) counts, at most 536870912, are held "
                 "in memory"),
    MASK_PARAM(struct histogram_params),
};

/* Bins, and the reference's counts, which a reduction per slice needs for each slice. */
struct histogram_result {
    struct bins bins;
    uint64_t reference_outside[BINS_EXTRA_SLOTS], reference[];
};

STAGE_PARAMS_OF(histogram_params)

static const struct ts_image *labels_of(const struct stage_context *context)
{
    return context->references[HISTOGRAM_LABELS - 1];
}

bool ts_histogram_fixed_bins(const struct stage_context *context)
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

enum histogram_method ts_histogram_fastest(enum ts_dtype dtype, bool by_value)
{
    if (by_value)
        return ts_dtype_bytes(dtype) == 1 ? HISTOGRAM_LANE_PRIVATE : HISTOGRAM_SAMPLED;
    return HISTOGRAM_SHARED;
}

static enum ts_status resolve_method(const struct stage_context *context,
                                     struct histogram_params *params)
{
    if (params->method == HISTOGRAM_SAMPLED && ts_dtype_bytes(context->in.dtype) != 2) {
        ts_param_error(context->set, "method", "sampled-type", context->diag,
                       "counts 16-bit integers, not %s", ts_dtype_name(context->in.dtype));
        return ts_diag_hint(context->diag, "leave method out");
    }
    if (params->method != HISTOGRAM_AUTO && labels_of(context)) {
        ts_param_error(context->set, "method", "method-of-labels", context->diag,
                       "plays no part with `labels`");
        return ts_diag_hint(context->diag, "leave method out");
    }
    /* Results of the CPU only name a method if the chain does, because they did so before the CPU
     * had any. */
    const bool unasked = !context->device && !ts_param_given(context->set, "method");
    if (labels_of(context) || unasked)
        ts_param_idle(context->set, "method");
    else if (params->method == HISTOGRAM_AUTO && !context->device)
        params->method =
            ts_dtype_bytes(context->in.dtype) == 2 ? HISTOGRAM_SAMPLED : HISTOGRAM_LANE_PRIVATE;
    else if (params->method == HISTOGRAM_AUTO)
        params->method =
            ts_histogram_fastest(context->in.dtype, ts_value_counts_fit(context->in.dtype));
    return TS_OK;
}

/* Returns true if the method leaves tables to be merged. sampled, and lane-private for bytes, add
 * up their own. */
static bool leaves_tables(const struct stage_context *context,
                          const struct histogram_params *params)
{
    const bool bytes = ts_dtype_bytes(context->in.dtype) == 1;
    return context->device && !labels_of(context) && params->method != HISTOGRAM_GLOBAL &&
           params->method != HISTOGRAM_SAMPLED &&
           !(params->method == HISTOGRAM_LANE_PRIVATE && bytes);
}

static enum ts_status resolve_merge(const struct stage_context *context,
                                    struct histogram_params *params)
{
    if (leaves_tables(context, params)) {
        if (params->merge == HISTOGRAM_MERGE_AUTO)
            params->merge = HISTOGRAM_MERGE_ATOMIC;
        return TS_OK;
    }
    if (context->device && params->merge != HISTOGRAM_MERGE_AUTO) {
        ts_param_error(context->set, "merge", "merge-without-tables", context->diag,
                       "needs a method with tables of blocks, warps or strips");
        return ts_diag_hint(context->diag,
                            "use method: shared, occupancy, warp-tagged or sub-histogram");
    }
    ts_param_idle(context->set, "merge");
    return TS_OK;
}

static enum ts_status check_labels(const struct stage_context *context,
                                   const struct histogram_params *params)
{
    const enum ts_status status =
        ts_labels_check(context, HISTOGRAM_LABELS - 1, params->scope == SCOPE_SLICE);
    if (status != TS_OK || !labels_of(context))
        return status;
    if ((params->n_labels + 1) * (params->bins + BINS_EXTRA_SLOTS) > LABEL_COUNTS_MOST) {
        ts_param_error(context->set, "n_labels", "labels-too-many-counts", context->diag,
                       "%lld labels with %lld bins each make more than %d counts, bins for other "
                       "labels and for values outside of the range counted in",
                       (long long)params->n_labels, (long long)params->bins, LABEL_COUNTS_MOST);
        return ts_diag_hint(context->diag, "use fewer bins");
    }
    return TS_OK;
}

static enum ts_status check_bins(const struct stage_context *context,
                                 const struct histogram_params *params)
{
    if (!params->range.values && params->limits == LIMITS_DTYPE &&
        !ts_dtype_is_integer(context->in.dtype))
        return ts_limits_refuse_float(context);
    if (ts_histogram_fixed_bins(context)) {
        const struct bins bins = bins_at_plan(context);
        if (!bins_distinct(&bins))
            return ts_param_error(
                context->set, "range", "range-too-narrow", context->diag,
                "%lld bins between %.17g and %.17g are narrower than numbers of that size can tell",
                (long long)params->bins, bins.low, bins.high);
    } else if (context->references[0] && params->scope == SCOPE_SLICE) {
        ts_param_error(context->set, "reference", "reference-needs-range", context->diag,
                       "the bins of every slice would differ, and the reference is counted once");
        return ts_diag_hint(context->diag, "give range: [low, high], or scope: volume");
    }
    return TS_OK;
}

static enum ts_status histogram_resolve(const struct stage_context *context, void *values)
{
    struct histogram_params *params = values;
    enum ts_status status = ts_limits_check_range(context, "range", &params->range);
    if (status == TS_OK)
        status = check_bins(context, params);
    if (status == TS_OK)
        status = check_labels(context, params);
    if (status == TS_OK)
        status = ts_stage_check_mask(context);
    if (status == TS_OK)
        status = resolve_method(context, params);
    return status == TS_OK ? resolve_merge(context, params) : status;
}

bool ts_histogram_by_value(const struct stage_context *context, int input)
{
    return ts_value_counts_fit(ts_stage_input(context, input)->dtype) &&
           !(input == 0 && labels_of(context));
}

bool ts_histogram_known_bins(const struct stage_context *context)
{
    return ts_histogram_fixed_bins(context) || context->round > 0;
}

/* If the bins are not known yet, they follow from the counts of the image itself. So only the whole
 * image can be binned then: no reference, and no image of which other processes count a part. */
bool ts_histogram_binned(const struct stage_context *context, int input)
{
    const bool whole = input == 0 && (!context->joined || ts_scope_is_slice(context));
    return context->device && ts_histogram_by_value(context, input) &&
           ts_dtype_bytes(ts_stage_input(context, input)->dtype) == 2 &&
           (whole || ts_histogram_known_bins(context));
}

static bool streams_with_input(const struct stage_context *context, int reference)
{
    (void)context;
    return reference == HISTOGRAM_LABELS - 1 || reference == HISTOGRAM_MASK - 1;
}

static int histogram_rounds(const struct stage_context *context)
{
    const bool counted_by_value =
        ts_histogram_by_value(context, 0) &&
        (!context->references[0] || ts_histogram_by_value(context, HISTOGRAM_REFERENCE));
    return ts_histogram_fixed_bins(context) || counted_by_value ? 1 : 2;
}

bool ts_histogram_ranging(const struct stage_context *context)
{
    return context->round + 1 < histogram_rounds(context);
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    if (ts_histogram_ranging(context))
        return input == 0 ? sizeof(struct value_range) : 0;
    if (input == HISTOGRAM_LABELS || input == HISTOGRAM_MASK)
        return 0;
    if (input == 0 && labels_of(context))
        return ts_label_counts_bytes(params_of(context)->n_labels, params_of(context)->bins);
    if (ts_histogram_binned(context, input))
        return sizeof(struct histogram_binned) +
               ((size_t)params_of(context)->bins + BINS_EXTRA_SLOTS) * sizeof(uint64_t);
    return ts_histogram_by_value(context, input)
               ? ts_value_counts_bytes(ts_stage_input(context, input)->dtype)
               : ts_bin_counts_bytes(params_of(context)->bins);
}

struct bins ts_histogram_bins(const struct stage_context *context)
{
    return ts_histogram_fixed_bins(context)
               ? bins_at_plan(context)
               : ((const struct histogram_result *)context->result)->bins;
}

/* Returns the method: the parameter `method` applies to the input; a reference is counted by the
 * fastest method. */
static enum histogram_method cpu_method(const struct stage_context *context, int input)
{
    return input == 0 ? (enum histogram_method)params_of(context)->method : HISTOGRAM_AUTO;
}

static void histogram_reduce(const struct stage_context *context, int input,
                             const struct ts_image *slices, void *partial)
{
    if (ts_histogram_ranging(context)) {
        ts_value_range_reduce(context, input, slices, partial);
    } else if (input == 0 && labels_of(context)) {
        const struct ts_image *labels = &slices[HISTOGRAM_LABELS];
        const struct bins bins = ts_histogram_bins(context);
        ts_label_counts_init(partial, params_of(context)->n_labels, bins.n);
        ts_label_counts_add(partial, &bins, slices->data, slices->dtype, labels->data,
                            labels->dtype, ts_image_count(slices));
    } else if (ts_histogram_by_value(context, input)) {
        ts_histogram_values_of(cpu_method(context, input), partial, slices);
    } else {
        const struct bins bins = ts_histogram_bins(context);
        ts_histogram_bins_of(cpu_method(context, input), partial, &bins, slices);
    }
}

/* Both have the bins of the context. */
static void merge_binned(const struct stage_context *context, struct histogram_binned *into,
                         const struct histogram_binned *from)
{
    for (int64_t i = 0; i < params_of(context)->bins + BINS_EXTRA_SLOTS; i++)
        into->slots[i] += from->slots[i];
}

static void histogram_merge(const struct stage_context *context, int input, void *into,
                            const void *from)
{
    if (ts_histogram_ranging(context))
        ts_value_range_merge(into, from);
    else if (input == 0 && labels_of(context))
        ts_label_counts_merge(into, from);
    else if (ts_histogram_binned(context, input))
        merge_binned(context, into, from);
    else if (ts_histogram_by_value(context, input))
        ts_value_counts_merge(into, from);
    else
        ts_bin_counts_merge(into, from);
}

static size_t result_bytes(const struct stage_context *context)
{
    const size_t n_bins = context->references[0] ? (size_t)params_of(context)->bins : 0;
    return sizeof(struct histogram_result) + n_bins * sizeof(uint64_t);
}

/* Adds n slots: one below, the bins, and two above. */
static void add_slots(const uint64_t *slots, int64_t n_bins, uint64_t *in_bins,
                      uint64_t outside[BINS_EXTRA_SLOTS])
{
    outside[0] += slots[0];
    for (int64_t bin = 0; bin < n_bins; bin++)
        in_bins[bin] += slots[1 + bin];
    outside[1] += slots[n_bins + 1];
    outside[2] += slots[n_bins + 2];
}

/* Writes a total, in whichever of its four forms it was counted, as the counts of the bins
 * (`in_bins`) and of values below, above and NaN (`outside`). */
static void counts_of(const struct stage_context *context, int input, const struct bins *bins,
                      const void *total, uint64_t *in_bins, uint64_t outside[BINS_EXTRA_SLOTS])
{
    if (input == 0 && labels_of(context)) {
        const struct label_counts *counts = total;
        memset(in_bins, 0, (size_t)bins->n * sizeof *in_bins);
        memset(outside, 0, BINS_EXTRA_SLOTS * sizeof *outside);
        for (uint64_t row = 0; row <= counts->n_labels; row++)
            add_slots(ts_label_counts_row(counts, row), bins->n, in_bins, outside);
    } else if (ts_histogram_binned(context, input)) {
        const uint64_t *slots = ((const struct histogram_binned *)total)->slots;
        memcpy(in_bins, slots + 1, (size_t)bins->n * sizeof *in_bins);
        memcpy(outside,
               (uint64_t[BINS_EXTRA_SLOTS]){slots[0], slots[bins->n + 1], slots[bins->n + 2]},
               BINS_EXTRA_SLOTS * sizeof *outside);
    } else if (ts_histogram_by_value(context, input)) {
        bins_fold(bins, total, ts_stage_input(context, input)->dtype, in_bins, outside);
    } else {
        bins_split(total, in_bins, outside);
    }
}

static void write_labels(const struct stage_context *context, const struct label_counts *counts,
                         int64_t n_bins, const struct ts_image *tables)
{
    const bool reference = context->references[0] != NULL;
    uint64_t *in_bins = tables[histogram_table(reference, TABLE_LABEL_COUNTS)].data;
    uint64_t *others = tables[histogram_table(reference, TABLE_OTHER_COUNTS)].data;
    for (uint64_t label = 0; label < counts->n_labels; label++) {
        uint64_t outside[BINS_EXTRA_SLOTS] = {0};
        uint64_t *of_label = in_bins + label * (uint64_t)n_bins;
        memset(of_label, 0, (size_t)n_bins * sizeof *of_label);
        add_slots(ts_label_counts_row(counts, label), n_bins, of_label, outside);
        for (int i = 0; i < BINS_EXTRA_SLOTS; i++)
            ((uint64_t *)tables[histogram_table(reference, TABLE_LABEL_UNDERFLOW + i)]
                 .data)[label] = outside[i];
    }
    uint64_t *outside = tables[histogram_table(reference, TABLE_OTHER_OUTSIDE)].data;
    memset(others, 0, (size_t)n_bins * sizeof *others);
    memset(outside, 0, BINS_EXTRA_SLOTS * sizeof *outside);
    add_slots(ts_label_counts_row(counts, counts->n_labels), n_bins, others, outside);
}

static void write_tables(const struct stage_context *context, const struct histogram_result *result,
                         const void *total, const struct ts_image *tables)
{
    const struct bins *bins = &result->bins;
    uint64_t *counts = tables[TABLE_COUNTS].data, outside[BINS_EXTRA_SLOTS];
    counts_of(context, 0, bins, total, counts, outside);
    bins_edges(bins, tables[TABLE_EDGES].data);
    for (int i = 0; i < BINS_EXTRA_SLOTS; i++)
        *(uint64_t *)tables[TABLE_UNDERFLOW + i].data = outside[i];
    if (context->references[0]) {
        memcpy(tables[TABLE_REFERENCE].data, result->reference, (size_t)bins->n * sizeof *counts);
        histogram_compare(bins, counts, outside, result->reference, result->reference_outside,
                          tables[TABLE_DISTANCES].data, tables[TABLE_WASSERSTEIN].data);
    }
    if (labels_of(context))
        write_labels(context, total, bins->n, tables);
}

static enum ts_status histogram_finish(const struct stage_context *context,
                                       const void *const totals[], void *result,
                                       const struct ts_image *tables)
{
    struct histogram_result *histogram = result;
    const int64_t n_bins = params_of(context)->bins;
    if (ts_histogram_ranging(context)) {
        ts_bins_init_data(&histogram->bins, totals[0], n_bins);
        return TS_OK;
    }
    if (ts_histogram_fixed_bins(context)) {
        histogram->bins = bins_at_plan(context);
    } else if (histogram_rounds(context) == 1 && ts_histogram_binned(context, 0)) {
        histogram->bins = ((const struct histogram_binned *)totals[0])->bins;
    } else if (histogram_rounds(context) == 1) {
        const struct value_range range = value_counts_range(totals[0], context->in.dtype);
        ts_bins_init_data(&histogram->bins, &range, n_bins);
    }
    if (totals[1])
        counts_of(context, 1, &histogram->bins, totals[1], histogram->reference,
                  histogram->reference_outside);
    if (totals[0])
        write_tables(context, histogram, totals[0], tables);
    return TS_OK;
}

static const struct stage_reduction reduction = {
    .per_slice = ts_scope_per_slice,
    .order_free = true,
    .exact = true,
    .rounds = histogram_rounds,
    .partial_bytes = partial_bytes,
    .reduce = histogram_reduce,
    .merge = histogram_merge,
    .result_bytes = result_bytes,
    .finish = histogram_finish,
    .tables = histogram_tables,
};

const struct stage histogram_stage = {
    .name = "histogram",
    .summary = "count values in bins of equal width; the image passes on",
    .doc = "`counts[i]` is the number of values with `edge[i] <= v < edge[i+1]`, `edge[i] = low + "
           "i*(high - low)/bins` in double precision; the last bin is closed and holds `v == high` "
           "(the rule of `numpy.histogram`, and its default range). Values below, above and NaN "
           "are counted apart, so that all counts add up to the number of values. Invalid pixels, "
           "such as a CT's padding, and those that `mask` leaves out count nowhere. 8- and 16-bit "
           "integers are counted value by value and exactly; `limits: dtype, bins: 65536` gives "
           "those counts.\n\n"
           "With `reference` the reference's values are counted in the same bins, and three "
           "distances of the two distributions are written: total variation and Kolmogorov-Smirnov "
           "(`distances`), and 1-Wasserstein (`wasserstein`, the earth mover's, in values of the "
           "image). They count all values but NaN: those below or above `range` at its nearer "
           "end.\n\n"
           "With `labels`, an image of integers of the same shape, the values of each label are "
           "counted in the same bins as well: `label_counts` (label, bin), with the values outside "
           "the range beside it. Values of a label that is negative, or `n_labels` or more, are in "
           "`other_counts`, so that the rows add up to `counts`.\n\n"
           "`method` chooses how values are counted. On a CUDA device tables that do not fit into "
           "shared memory are counted in several passes, each over its share of the bins, and 8- "
           "and 16-bit integers are counted value by value within `range` if it is given.\n\n"
           "Cost: one pass; one more to find the range, for 32-bit integers, floats and labels "
           "without `range`.",
    STAGE_TAKES_ALL,
    .bench = "bins=256 limits=dtype|bins=4096 limits=dtype|bins=65536 limits=dtype|bins=4096 "
             "range=0,4096|bins=256 limits=dtype scope=slice|bins=4096 limits=dtype "
             "scope=slice|bins=65536 limits=dtype scope=slice|bins=4096 range=0,4096 "
             "scope=slice|bins=256 range=0,4096 labels=itself n_labels=4096|bins=4096 range=0,4096 "
             "reference=itself|bins=256 limits=dtype method=*|bins=256 range=0,4096 "
             "method=*|bins=4096 range=0,4096 method=*|bins=65536 limits=dtype method=*",
    STAGE_PARAMS(histogram_params, struct histogram_params),
    .resolve = histogram_resolve,
    .streams_with_input = streams_with_input,
    .reduction = &reduction,
    .cuda = STAGE_CUDA(histogram_cuda),
    .counts_values = true,
    .tolerance = {.why = "counts of values are exact"},
};
