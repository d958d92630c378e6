/* SPDX-License-Identifier: Apache-2.0
 *
 * threshold: y = 1 if above < x < below, else 0; or with a threshold t that is found, y = 1 if x >
 * t (side above) or x <= t (side below). t is Otsu's threshold, by the rule of
 * skimage.filters.threshold_otsu, by that of threshold_triangle, or a percentile.
 *
 * Values are compared as integer keys of the same order, so that one loop serves every type. The
 * keys of NaN are beyond those of all numbers, so NaN always gives 0. 8- and 16-bit integers are
 * counted value by value; others need a second round, for the bins of a rule or the lower
 * halves of the keys of a percentile. All counts are integers.
 */
#include "stages/regions/threshold.h"

#include <math.h>
#include <string.h>

#include "stages/engine/validity.h"
#include "stages/values/scope.h"
#include "stages/values/value_keys.h"

/* ---- otsu --------------------------------------------------------------------------------------
 *
 * The variance between the classes is w1 w2 (m1 - m2)^2, where w are the fractions of values in the
 * classes and m their means. If N values have indices with the sum S, of which N1 with the sum S1
 * are in the lower class, it is (S1 N - S N1)^2 / (N1 N2) / N^2. The parenthesis is an exact
 * integer, so the result does not depend on the order of sums. */

int64_t ts_otsu(const uint64_t *counts, size_t n)
{
    __int128 all = 0, places = 0, lower = 0, lower_places = 0;
    int64_t best = -1;
    double most = -1;
    for (size_t i = 0; i < n; i++) {
        all += counts[i];
        places += (__int128)counts[i] * (__int128)i;
    }
    for (size_t i = 0; i < n && lower < all; i++) {
        lower += counts[i];
        lower_places += (__int128)counts[i] * (__int128)i;
        const double apart = (double)(lower_places * all - places * lower);
        const double between =
            lower > 0 && lower < all ? apart * apart / ((double)lower * (double)(all - lower)) : -1;
        if (between > most || (best < 0 && lower == all)) {
            best = (int64_t)i;
            most = between;
        }
    }
    return best;
}

/* The distance from the line is (peak x - width count(x)) / sqrt(peak^2 + width^2), if x is the
 * distance from the end; the first of equally distant values, seen from the end, counts. */
int64_t ts_triangle(const uint64_t *counts, size_t n)
{
    int64_t first = -1, last = -1, peak = 0;
    for (int64_t i = 0; i < (int64_t)n; i++) {
        first = counts[i] > 0 && first < 0 ? i : first;
        last = counts[i] > 0 ? i : last;
        peak = counts[i] > counts[peak] ? i : peak;
    }
    if (first < 0)
        return -1;
    const bool above = peak - first < last - peak;
    const int64_t end = above ? last : first, width = above ? last - peak : peak - first;
    int64_t best = end;
    __int128 most = -1;
    for (int64_t x = 0; x < width; x++) {
        const int64_t i = above ? end - x : end + x;
        const __int128 apart = (__int128)counts[peak] * x - (__int128)counts[i] * width;
        if (x == 0 || apart > most) {
            most = apart;
            best = i;
        }
    }
    return best;
}

enum { MOST_BINS = 65536, CHUNK = 1024 };

static const struct choice method_choices[] = {
    {"value", THRESHOLD_VALUE, "`above` and `below`, or one of them"},
    {"otsu", THRESHOLD_OTSU,
     "the threshold that parts the values into the two classes furthest apart (Otsu, 1979)"},
    {"triangle", THRESHOLD_TRIANGLE,
     "the value whose count is furthest below the line from the peak of the histogram to its "
     "further end (Zack, 1977), for images that are mostly background"},
    {"percentile", THRESHOLD_PERCENTILE, "the value at `percentile`"},
    {0},
};
static const struct choice side_choices[] = {
    {"above", THRESHOLD_ABOVE, "values above the threshold become 1"},
    {"below", THRESHOLD_BELOW, "values up to the threshold become 1"},
    {0},
};

static const struct param threshold_params[] = {
    PARAM(struct threshold_params, method, .choices = method_choices,
          .init.choice = THRESHOLD_VALUE, .doc = "where the threshold comes from"),
    PARAM(struct threshold_params, above, .unit = "value", .min = -INFINITY, .max = INFINITY,
          .init.r = -INFINITY, .doc = "values above this one become 1, with method value"),
    PARAM(struct threshold_params, below, .unit = "value", .min = -INFINITY, .max = INFINITY,
          .init.r = INFINITY,
          .doc = "values below this one become 1, with method value; with `above`, values between "
                 "the two"),
    PARAM(struct threshold_params, percentile, .unit = "%", .min = 0, .max = 100, .init.r = 50,
          .doc = "percentile of the values that is the threshold, with method percentile"),
    PARAM(struct threshold_params, bins, .min = 2, .max = MOST_BINS, .init.i = 256,
          .doc =
              "bins between the smallest and the largest value, with methods otsu and triangle of "
              "32-bit integers and floats; other integers are counted value by value"),
    PARAM(struct threshold_params, side, .choices = side_choices, .init.choice = THRESHOLD_ABOVE,
          .doc = "which side of a threshold that is found becomes 1"),
    PARAM(struct threshold_params, scope, .choices = ts_scope_series_choices,
          .init.choice = SCOPE_VOLUME,
          .doc = "one threshold for the volume, or one for every slice"),
    MASK_PARAM(struct threshold_params),
};

STAGE_PARAMS_OF(threshold_params)

bool ts_threshold_by_rule(const struct stage_context *context)
{
    return params_of(context)->method == THRESHOLD_OTSU ||
           params_of(context)->method == THRESHOLD_TRIANGLE;
}

bool ts_threshold_by_value(const struct stage_context *context)
{
    return ts_value_counts_fit(context->in.dtype);
}

bool ts_threshold_by_ends(const struct stage_context *context)
{
    return context->device && params_of(context)->method == THRESHOLD_PERCENTILE &&
           ts_scope_is_slice(context) && !ts_threshold_by_value(context);
}

static enum ts_status check_given(const struct stage_context *context,
                                  const struct threshold_params *params)
{
    const bool above = ts_param_given(context->set, "above"),
               below = ts_param_given(context->set, "below");
    if (params->method != THRESHOLD_VALUE) {
        if (above || below)
            return ts_param_error(context->set, above ? "above" : "below", "parameter-unused",
                                  context->diag,
                                  "plays no part where method %s finds the threshold",
                                  ts_choice_name(method_choices, params->method));
        ts_param_idle(context->set, "above");
        ts_param_idle(context->set, "below");
        return TS_OK;
    }
    if (!above && !below) {
        ts_param_error(context->set, "above", "threshold-missing", context->diag,
                       "no threshold is given");
        return ts_diag_hint(context->diag,
                            "above: VALUE, below: VALUE, or both; method: otsu finds one");
    }
    if (params->above < params->below)
        return TS_OK;
    ts_param_error(context->set, "below", "range-order", context->diag,
                   "%g is not above `above`, %g", params->below, params->above);
    return ts_diag_hint(context->diag,
                        "a mask of values between two has `above`, the lower one, and `below`");
}

static enum ts_status threshold_resolve(const struct stage_context *context, void *values)
{
    const struct threshold_params *params = values;
    const enum ts_status status = check_given(context, params);
    if (params->method == THRESHOLD_VALUE) {
        ts_param_idle(context->set, "side");
        ts_param_idle(context->set, "scope");
    }
    if (params->method != THRESHOLD_PERCENTILE)
        ts_param_idle(context->set, "percentile");
    if ((params->method != THRESHOLD_OTSU && params->method != THRESHOLD_TRIANGLE) ||
        ts_threshold_by_value(context))
        ts_param_idle(context->set, "bins");
    return status == TS_OK ? ts_stage_check_mask(context) : status;
}

enum ts_status ts_mask_shape(const struct stage_context *context, struct ts_image *out)
{
    (void)context;
    out->dtype = TS_U8;
    out->quantity = TS_INTENSITY;
    out->labels = 1;
    out->unit = "1";
    return TS_OK;
}

/* ---- reduction ------------------------------------------------------------------------------- */

static int threshold_rounds(const struct stage_context *context)
{
    if (params_of(context)->method == THRESHOLD_VALUE)
        return 0;
    return ts_threshold_by_value(context) || ts_threshold_by_ends(context) ? 1 : 2;
}

bool ts_threshold_ranging(const struct stage_context *context)
{
    return ts_threshold_by_rule(context) && context->round + 1 < threshold_rounds(context);
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    if (input > 0)
        return 0;
    if (ts_threshold_by_value(context))
        return ts_value_counts_bytes(context->in.dtype);
    if (ts_threshold_by_rule(context))
        return ts_threshold_ranging(context) ? sizeof(struct value_range)
                                             : ts_bin_counts_bytes(params_of(context)->bins);
    return ts_threshold_by_ends(context) ? sizeof(struct percentile_ends)
                                         : ts_percentile_partial_bytes(context->round, 1);
}

static const struct percentile_search *search_of(const struct stage_context *context)
{
    return context->round == 0 ? NULL : &((const struct threshold_result *)context->result)->search;
}

static void threshold_reduce(const struct stage_context *context, int input,
                             const struct ts_image *slices, void *partial)
{
    if (ts_threshold_by_value(context)) {
        ts_value_counts_of(partial, slices);
    } else if (ts_threshold_ranging(context)) {
        ts_value_range_reduce(context, input, slices, partial);
    } else if (ts_threshold_by_rule(context)) {
        ts_bin_counts_of(partial, &((const struct threshold_result *)context->result)->bins,
                         slices);
    } else {
        ts_percentile_begin(partial, context->round, search_of(context));
        ts_percentile_add(partial, context->round, search_of(context), slices->data, slices->dtype,
                          ts_image_count(slices));
        ts_percentile_end(partial, context->round);
    }
}

static void threshold_merge(const struct stage_context *context, int input, void *into,
                            const void *from)
{
    (void)input;
    if (ts_threshold_by_value(context))
        ts_value_counts_merge(into, from);
    else if (ts_threshold_ranging(context))
        ts_value_range_merge(into, from);
    else if (ts_threshold_by_rule(context))
        ts_bin_counts_merge(into, from);
    else
        ts_percentile_merge(into, from, context->round, search_of(context));
}

static size_t result_bytes(const struct stage_context *context)
{
    const bool searches =
        params_of(context)->method == THRESHOLD_PERCENTILE && threshold_rounds(context) == 2;
    return searches ? sizeof(struct threshold_result) : offsetof(struct threshold_result, search);
}

/* Returns the threshold of a rule: a value of the image, or the middle of a bin; NaN if nothing was
 * counted. */
static double find_by_rule(const struct stage_context *context, const void *total,
                           const struct bins *bins)
{
    int64_t (*const rule)(const uint64_t *, size_t) =
        params_of(context)->method == THRESHOLD_OTSU ? ts_otsu : ts_triangle;
    double low, high;
    if (ts_threshold_by_value(context)) {
        const struct value_counts *counts = total;
        ts_dtype_range(context->in.dtype, &low, &high);
        return counts->n == 0
                   ? (double)NAN
                   : low + counts->low +
                         (double)rule(counts->counts + counts->low, counts->high - counts->low + 1);
    }
    const uint64_t *counts = ((const struct bin_counts *)total)->slots + 1;
    const int64_t found = rule(counts, (size_t)bins->n);
    uint64_t all = 0;
    for (int64_t i = 0; i < bins->n; i++)
        all += counts[i];
    /* A single value is in the middle of its bins, and then no bin is the lower class. */
    if (found < 0)
        return (double)NAN;
    return counts[found] == all ? (bins->low + bins->high) / 2
                                : bins->low + ((double)found + 0.5) * bins->step;
}

static double find_percentile(const struct stage_context *context, const void *total,
                              const struct percentile_search *search)
{
    const double percent = params_of(context)->percentile;
    double value;
    if (ts_threshold_by_value(context))
        return ts_percentile_of_counts(total, context->in.dtype, percent);
    if (ts_threshold_by_ends(context))
        ts_percentile_of_ends(total, context->in.dtype, &percent, 1, &value);
    else
        ts_percentile_values(search, total, context->in.dtype, &value);
    return value;
}

static enum ts_status threshold_finish(const struct stage_context *context,
                                       const void *const totals[], void *result,
                                       const struct ts_image *tables)
{
    struct threshold_result *found = result;
    const enum ts_dtype dtype = context->in.dtype;
    const bool rule = ts_threshold_by_rule(context);
    if (context->round + 1 < threshold_rounds(context)) {
        if (rule)
            ts_bins_init_data(&found->bins, totals[0], params_of(context)->bins);
        else
            ts_percentile_locate(&found->search, totals[0], &params_of(context)->percentile, 1);
        return TS_OK;
    }
    const double threshold = rule ? find_by_rule(context, totals[0], &found->bins)
                                  : find_percentile(context, totals[0], &found->search);
    found->keys = params_of(context)->side == THRESHOLD_ABOVE
                      ? ts_value_keys_above(dtype, threshold)
                      : ts_value_keys_up_to(dtype, threshold);
    *(double *)tables[0].data = threshold;
    return TS_OK;
}

static int threshold_tables(const struct stage_context *context,
                            struct stage_table out[STAGE_TABLES])
{
    if (threshold_rounds(context) == 0)
        return 0;
    out[0] = ts_scope_table(context, "threshold", "the threshold that was found", TS_F64, true);
    return 1;
}

static const struct stage_reduction reduction = {
    SCOPE_REDUCTION,
    .rounds = threshold_rounds,
    .partial_bytes = partial_bytes,
    .reduce = threshold_reduce,
    .merge = threshold_merge,
    .result_bytes = result_bytes,
    .finish = threshold_finish,
    .tables = threshold_tables,
};

/* ---- map ------------------------------------------------------------------------------------- */

struct key_range ts_threshold_given(const struct stage_context *context)
{
    return ts_threshold_keys(context->in.dtype, params_of(context)->above,
                             params_of(context)->below);
}

TS_VECTORIZED static void compare_keys(uint8_t *out, const int32_t *keys, size_t n, int32_t low,
                                       int32_t high)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)((keys[i] >= low) & (keys[i] <= high));
}

static void map_slice(const struct ts_image *in, int64_t z, uint8_t *out, size_t n,
                      struct key_range within)
{
    const char *values = ts_slice_data(in, z);
    const uint64_t *valid = ts_slice_valid(in, z);
    int32_t keys[CHUNK];
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t count = n - first < CHUNK ? n - first : CHUNK;
        ts_value_keys_load(in->dtype, values + first * ts_dtype_bytes(in->dtype), keys,
                           (int64_t)count);
        compare_keys(out + first, keys, count, within.low, within.high);
    }
    for (size_t i = 0; valid && i < n; i++)
        out[i] &= (uint8_t)ts_valid_at(valid, i);
}

static enum ts_status threshold_map(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, void *scratch)
{
    const bool given = params_of(context)->method == THRESHOLD_VALUE;
    const struct key_range keys = given ? ts_threshold_given(context) : (struct key_range){1, 0};
    (void)scratch;
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t z = 0; z < out->axes[0].n; z++)
        map_slice(in, z, ts_slice_data(out, z), ts_slice_count(out),
                  given ? keys
                        : ((const struct threshold_result *)ts_scope_result(context, z))->keys);
    return TS_OK;
}

const struct stage threshold_stage = {
    .name = "threshold",
    .summary = "make a mask of the values above, below or between thresholds, given or found",
    .doc =
        "`y = 1` if `above < x < below`, else 0, as u8: a mask, which `apply_mask` and the "
        "parameter `mask` of other stages take. A chain goes on with the image that was masked by "
        "`input: NAME`.\n\n"
        "`method: otsu` finds a threshold t, and values above it become 1, with `side: below` "
        "those up to it. It is the rule of `skimage.filters.threshold_otsu` (N. Otsu, 1979): 8- "
        "and 16-bit integers are counted value by value; floats and 32-bit integers in `bins` bins "
        "between the smallest and the largest finite value, and t is the middle of a bin. The "
        "variance between the classes is compared from exact counts. `method: triangle` is "
        "`skimage.filters.threshold_triangle` on the same counts. `method: percentile` takes "
        "the value at a percentile (rule `linear` of `numpy.percentile`, exact for every type). "
        "The threshold is written as the table `threshold`; `above` with that number gives the "
        "same mask again.\n\n"
        "NaN becomes 0, whatever the side. An infinite value compares as a number does and has no "
        "part in finding a threshold. Invalid pixels, such as a CT's padding, become 0 and have no "
        "part either; pixels that `mask` leaves out have none, and are compared. If no pixel "
        "counts, the threshold is NaN and all become 0.\n\n"
        "Cost: one pass to map; one more to find a threshold, two for 32-bit integers and floats.",
    STAGE_TAKES_ALL,
    STAGE_PARAMS(threshold_params, struct threshold_params),
    .resolve = threshold_resolve,
    .shape = ts_mask_shape,
    .streams_with_input = ts_stage_streams_mask,
    .reduction = &reduction,
    .map = threshold_map,
    .traits = TRAIT_ENDS_LABELS,
    .validity = VALIDITY_ENDS,
    .cuda = STAGE_CUDA(threshold_cuda),
    .counts_values = true,
    .bench = "above=100|method=otsu|method=triangle|method=otsu "
             "scope=slice|method=percentile|method=percentile "
             "scope=slice",
    .tolerance = {.why = "values are compared, and counts of values are exact"},
};
