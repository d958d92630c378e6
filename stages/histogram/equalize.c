/* SPDX-License-Identifier: Apache-2.0
 *
 * equalize: out = F(v), where F is the fraction of the image's values that are v or below
 * (scikit-image's rule), or that fraction scaled to the levels of the type (OpenCV's). With a
 * reference: out = R^-1(F(v)), where R is the reference's distribution.
 *
 * 8- and 16-bit integers are counted value by value, and a table has an entry for every value: the
 * result is exact. 32-bit integers that span few enough values have bins that hold one value each,
 * which gives the same numbers. All others are counted in bins between the smallest and the largest
 * finite value. F is then linear between the middles of the bins (scikit-image's rule); with a
 * reference F(v) is the fraction up to the end of v's bin, which is exact if no bin holds two
 * different values.
 */
#include "stages/histogram/equalize.h"

#include "core/clamp.h"

#include <math.h>
#include <string.h>

#include "stages/engine/traits.h"
#include "stages/engine/validity.h"
#include "stages/values/scope.h"

/* These are rules of scikit-image (exposure.equalize_hist, exposure.match_histograms) and OpenCV
 * (equalizeHist). They work on counts instead of pixels, so their time depends only on the number
 * of different values, and the counts may come from any device. */

static uint64_t sum_of(const uint64_t *counts, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

/* scikit-image: sets map[i] to the fraction of the values that are values[i] or below, or to 0 if
 * nothing was counted. */
static void value_map_share(const uint64_t *counts, size_t n, double *map)
{
    const uint64_t total = sum_of(counts, n);
    uint64_t below = 0;
    for (size_t i = 0; i < n; i++) {
        below += counts[i];
        map[i] = total ? (double)below / (double)total : 0;
    }
}

/* OpenCV's equalizeHist, for any number of levels: map[i] = ts_value_level(below[i] - c0, total -
 * c0, levels), where below[i] is the count of values up to values[i], and c0 that of the lowest
 * value that occurs. If only one value occurs, map[i] = i. */
static void value_map_levels(const uint64_t *counts, size_t n, uint32_t levels, uint32_t *map)
{
    const uint64_t total = sum_of(counts, n);
    size_t first = 0;
    while (first < n && counts[first] == 0)
        first++;
    if (first == n || counts[first] == total) {
        for (size_t i = 0; i < n; i++)
            map[i] = (uint32_t)i;
        return;
    }
    uint64_t below = 0;
    for (size_t i = 0; i < n; i++) {
        below += i > first ? counts[i] : 0;
        map[i] = ts_value_level(below, total - counts[first], levels);
    }
}

/* Returns the bytes of quantiles of at most `capacity` values. */
static size_t quantiles_bytes(size_t capacity)
{
    return sizeof(struct quantiles) + capacity * (sizeof(double) + sizeof(uint64_t));
}

static uint64_t *below_of(const struct quantiles *quantiles)
{
    return (uint64_t *)(quantiles->values + quantiles->capacity);
}

/* Fills quantiles from counts of n rising values (value i is first + i * step), leaving out values
 * that do not occur. */
static void quantiles_fill(struct quantiles *quantiles, const uint64_t *counts, size_t n,
                           double first, double step)
{
    uint64_t below = 0;
    quantiles->n = 0;
    quantiles->capacity = n;
    for (size_t i = 0; i < n; i++) {
        if (counts[i] == 0)
            continue;
        below += counts[i];
        quantiles->values[quantiles->n] = first + (double)i * step;
        below_of(quantiles)[quantiles->n++] = below;
    }
}

/* scikit-image's match_histograms: map[i] is the reference's value at the fraction that values[i]
 * has, linear between the fractions of the reference's values. Fractions are compared exactly. */
static void value_map_match(const uint64_t *counts, size_t n, const struct quantiles *reference,
                            double *map)
{
    const uint64_t total = sum_of(counts, n);
    const uint64_t *reference_below = below_of(reference);
    const uint64_t reference_total = reference->n ? reference_below[reference->n - 1] : 0;
    uint64_t below = 0;
    size_t next = 0; /* the first value of the reference whose fraction is above the present one */
    for (size_t i = 0; i < n; i++) {
        below += counts[i];
        if (total == 0 || reference_total == 0) {
            map[i] = 0;
            continue;
        }
        /* below / total is compared with reference_below / reference_total, both multiplied by both
         * totals. */
        const unsigned __int128 share = (unsigned __int128)below * reference_total;
        while (next < reference->n && (unsigned __int128)reference_below[next] * total <= share)
            next++;
        if (next == 0) {
            map[i] = reference->values[0];
        } else if (next == reference->n) {
            map[i] = reference->values[reference->n - 1];
        } else {
            const unsigned __int128 left = (unsigned __int128)reference_below[next - 1] * total;
            const unsigned __int128 gap =
                (unsigned __int128)(reference_below[next] - reference_below[next - 1]) * total;
            const double low = reference->values[next - 1], high = reference->values[next];
            map[i] = low + (high - low) * ((double)(share - left) / (double)gap);
        }
    }
}

enum { MAX_BINS = 65536, SKIMAGE_BINS = 256, CHUNK = 16384, STEP_BLOCK = 2048, ALIGNMENT = 64 };

static const struct choice method_choices[] = {
    {"skimage", EQUALIZE_SKIMAGE,
     "share of values that are v or below, as f32 in [0, 1] (skimage.exposure.equalize_hist)"},
    {"opencv", EQUALIZE_OPENCV,
     "round((below(v) - c0) * (levels - 1) / (n - c0)) in the image's own 8- or 16-bit type, "
     "levels 256 or 65536, c0 the count of the lowest value (cv::equalizeHist; signed types start "
     "at their lowest value): of 256 levels in single precision as OpenCV does, of 65536 exactly "
     "with ties to even"},
    {NULL, 0, NULL},
};

static const struct param equalize_params[] = {
    PARAM(struct equalize_params, method, .choices = method_choices,
          .init.choice = EQUALIZE_SKIMAGE, .doc = "whose rule, and with it the type of the result"),
    PARAM(struct equalize_params, bins, .min = 2, .max = MAX_BINS,
          .derived =
              "the number of values of an 8- or 16-bit type; else 256, or 65536 with `reference`",
          .doc =
              "bins between the smallest and the largest value of floats, and of 32-bit integers "
              "that span more than 65,536 values; other integers are counted value by value"),
    PARAM(struct equalize_params, scope, .choices = ts_scope_series_choices,
          .init.choice = SCOPE_VOLUME, .doc = "one histogram of the volume, or one of every slice"),
    PARAM(struct equalize_params, reference, .optional = true,
          .doc = "an image whose histogram (of all its slices) the result shall have, in its "
                 "values and unit (skimage.exposure.match_histograms); absent: none"),
    MASK_PARAM(struct equalize_params),
};

STAGE_PARAMS_OF(equalize_params)

static bool by_value(const struct stage_context *context, int input)
{
    return ts_value_counts_fit(ts_stage_input(context, input)->dtype);
}

/* Returns the bins of an input that is counted in bins. An image that is counted by value fixes the
 * parameter `bins`, so it cannot be the reference's. */
static int64_t bins_asked(const struct stage_context *context, int input)
{
    return input == 1 && by_value(context, 0) ? MAX_BINS : params_of(context)->bins;
}

/* Integers get either one bin for each value or fewer bins, depending on their range; there is
 * capacity for both. */
size_t ts_equalize_capacity(const struct stage_context *context, int input)
{
    if (by_value(context, input))
        return ts_value_counts_keys(ts_stage_input(context, input)->dtype);
    return ts_dtype_is_integer(ts_stage_input(context, input)->dtype)
               ? MAX_BINS
               : (size_t)bins_asked(context, input);
}

static enum ts_status equalize_resolve(const struct stage_context *context, void *values)
{
    struct equalize_params *params = values;
    const enum ts_dtype dtype = context->in.dtype;
    const bool exact = ts_value_counts_fit(dtype);
    int64_t bins = context->references[0] ? MAX_BINS : SKIMAGE_BINS;
    if (exact)
        bins = ts_value_counts_keys(dtype);
    if (!ts_param_given(context->set, "bins"))
        params->bins = bins;
    if (exact && params->bins != bins) {
        ts_param_error(context->set, "bins", "bins-of-integers", context->diag,
                       "values of type %s are counted one by one, in %lld bins and not %lld",
                       ts_dtype_name(dtype), (long long)bins, (long long)params->bins);
        return ts_diag_hint(context->diag, "leave bins out");
    }
    if (params->method == EQUALIZE_OPENCV && !exact) {
        ts_param_error(
            context->set, "method", "opencv-of-float", context->diag,
            "OpenCV's rule spreads over the levels of an 8- or 16-bit type, and the image is %s",
            ts_dtype_name(dtype));
        return ts_diag_hint(
            context->diag,
            "use method: skimage, or make the image u8 or u16 by `rescale` or `window` before");
    }
    if (params->method == EQUALIZE_OPENCV && context->references[0]) {
        ts_param_error(context->set, "reference", "opencv-reference", context->diag,
                       "OpenCV's rule has no reference");
        return ts_diag_hint(context->diag, "leave method out, or set it to skimage");
    }
    return ts_stage_check_mask(context);
}

static enum ts_status equalize_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct ts_image *reference = context->references[0];
    out->dtype = params_of(context)->method == EQUALIZE_OPENCV ? context->in.dtype : TS_F32;
    out->quantity = reference ? reference->quantity : TS_INTENSITY;
    out->unit = reference ? reference->unit : "1";
    return TS_OK;
}

/* ---- reduction ------------------------------------------------------------------------------- */

static int equalize_rounds(const struct stage_context *context)
{
    return by_value(context, 0) && (!context->references[0] || by_value(context, 1)) ? 1 : 2;
}

/* Returns true in the round that only looks for the ranges of inputs that are counted in bins. */
static bool ranging(const struct stage_context *context)
{
    return context->round + 1 < equalize_rounds(context);
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    if (input == EQUALIZE_MASK)
        return 0;
    if (ranging(context))
        return by_value(context, input) ? 0 : sizeof(struct value_range);
    return by_value(context, input)
               ? ts_value_counts_bytes(ts_stage_input(context, input)->dtype)
               : ts_bin_counts_bytes((int64_t)ts_equalize_capacity(context, input));
}

static void equalize_reduce(const struct stage_context *context, int input,
                            const struct ts_image *slices, void *partial)
{
    if (ranging(context)) {
        if (by_value(context, input))
            return;
        ts_value_range_reduce(context, input, slices, partial);
    } else if (by_value(context, input)) {
        ts_value_counts_of(partial, slices);
    } else {
        const struct bins *bins = &((const struct equalize_result *)context->result)->bins[input];
        ts_bin_counts_of(partial, bins, slices);
    }
}

static void equalize_merge(const struct stage_context *context, int input, void *into,
                           const void *from)
{
    if (ranging(context))
        ts_value_range_merge(into, from);
    else if (by_value(context, input))
        ts_value_counts_merge(into, from);
    else
        ts_bin_counts_merge(into, from);
}

/* The map's doubles are made in place and then narrowed, so there are eight bytes for each
 * entry. */
static size_t map_bytes(const struct stage_context *context)
{
    return ts_equalize_capacity(context, 0) * sizeof(double);
}

static size_t result_bytes(const struct stage_context *context)
{
    const size_t quantiles =
        context->references[0] ? quantiles_bytes(ts_equalize_capacity(context, 1)) : 0;
    const size_t bytes = sizeof(struct equalize_result) + map_bytes(context) + quantiles;
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static struct quantiles *quantiles_of(const struct stage_context *context, void *result)
{
    return (struct quantiles *)((char *)result + sizeof(struct equalize_result) +
                                map_bytes(context));
}

/* The counts of an input as one array, for rising values first + i * step. */
struct distribution {
    const uint64_t *counts;
    size_t n, first_key;
    double first, step;
};

static struct distribution distribution_of(const struct stage_context *context, int input,
                                           const void *total, const struct equalize_result *result)
{
    if (by_value(context, input)) {
        const struct value_counts *values = total;
        double low, high;
        ts_dtype_range(ts_stage_input(context, input)->dtype, &low, &high);
        if (values->n == 0)
            return (struct distribution){.counts = values->counts, .first = low, .step = 1};
        return (struct distribution){.counts = values->counts + values->low,
                                     .n = values->high - values->low + 1,
                                     .first_key = values->low,
                                     .first = low + values->low,
                                     .step = 1};
    }
    const struct bins *bins = &result->bins[input];
    return (struct distribution){.counts = ((const struct bin_counts *)total)->slots + 1,
                                 .n = (size_t)bins->n,
                                 .first =
                                     result->single[input] ? bins->low : bins->low + bins->step / 2,
                                 .step = bins->step};
}

/* Pixels that are left out may have keys beyond those that were counted, and get the entry of the
 * nearest counted one. For a CUDA device, levels are stored as values of the type. */
static void extend_map(const struct stage_context *context, struct equalize_result *equalize)
{
    const uint32_t n_keys = ts_value_counts_keys(context->in.dtype),
                   bias = ts_dtype_sign_bit(context->in.dtype);
    uint32_t *entries = (uint32_t *)(equalize + 1);
    for (uint32_t key = 0; key < equalize->low; key++)
        entries[key] = entries[equalize->low];
    for (uint32_t key = equalize->high + 1; key < n_keys; key++)
        entries[key] = entries[equalize->high];
    equalize->low = 0;
    equalize->high = n_keys - 1;
    if (!context->device || params_of(context)->method != EQUALIZE_OPENCV)
        return;
    for (uint32_t key = 0; key < n_keys; key++) {
        const uint32_t value =
            entries[key] ^ bias; /* entry `key` is read before its bytes are written */
        memcpy((char *)entries + key * ts_dtype_bytes(context->in.dtype), &value,
               ts_dtype_bytes(context->in.dtype));
    }
}

/* Fills the map: one entry for each key from distribution->first_key on (floats, or integers of the
 * type for OpenCV's rule), or one double for each bin. */
static void fill_map(const struct stage_context *context, const struct distribution *distribution,
                     void *result)
{
    struct equalize_result *equalize = result;
    double *map = (double *)(equalize + 1);
    equalize->low = (uint32_t)distribution->first_key;
    equalize->high =
        (uint32_t)(distribution->first_key + (distribution->n ? distribution->n - 1 : 0));
    if (params_of(context)->method == EQUALIZE_OPENCV) {
        uint32_t *levels = (uint32_t *)map + distribution->first_key;
        const uint32_t n_levels = ts_value_counts_keys(context->in.dtype);
        const bool one = distribution->n == 1;
        value_map_levels(distribution->counts, distribution->n, n_levels, levels);
        if (one) /* a single value stays as it is, and the array starts with it */
            *levels = (uint32_t)distribution->first_key;
        return;
    }
    if (context->references[0])
        value_map_match(distribution->counts, distribution->n, quantiles_of(context, result), map);
    else
        value_map_share(distribution->counts, distribution->n, map);
    if (by_value(context, 0)) {
        float *narrow = (float *)map;
        for (size_t i = 0; i < distribution->n; i++) {
            const float value = (float)map[i]; /* entry i is read before its bytes are written */
            memcpy(narrow + i, &value, sizeof value);
        }
        memmove(narrow + distribution->first_key, narrow, distribution->n * sizeof *narrow);
    }
}

static void set_bins(const struct stage_context *context, int input,
                     const struct value_range *range, struct equalize_result *result)
{
    const double span = range->high - range->low + 1;
    result->single[input] = ts_dtype_is_integer(ts_stage_input(context, input)->dtype) &&
                            range->n_finite > 0 && span <= MAX_BINS;
    if (result->single[input])
        ts_bins_init(&result->bins[input], range->low, range->high + 1, (int64_t)span);
    else
        ts_bins_init_data(&result->bins[input], range, bins_asked(context, input));
}

static enum ts_status equalize_finish(const struct stage_context *context,
                                      const void *const totals[], void *result,
                                      const struct ts_image *tables)
{
    struct equalize_result *equalize = result;
    (void)tables;
    if (ranging(context)) {
        for (int input = 0; input < 2; input++)
            if (totals[input] && !by_value(context, input))
                set_bins(context, input, totals[input], equalize);
        return TS_OK;
    }
    if (totals[1]) {
        const struct distribution reference = distribution_of(context, 1, totals[1], equalize);
        struct quantiles *quantiles = quantiles_of(context, result);
        quantiles_fill(quantiles, reference.counts, reference.n, reference.first, reference.step);
    }
    if (totals[0]) {
        const struct distribution distribution = distribution_of(context, 0, totals[0], equalize);
        fill_map(context, &distribution, result);
        if (by_value(context, 0) && ts_stage_packs(context, 0))
            extend_map(context, equalize);
    }
    return TS_OK;
}

static const struct stage_reduction reduction = {
    SCOPE_REDUCTION,           .rounds = equalize_rounds, .partial_bytes = partial_bytes,
    .reduce = equalize_reduce, .merge = equalize_merge,   .result_bytes = result_bytes,
    .finish = equalize_finish,
};

/* ---- map ------------------------------------------------------------------------------------- */

/* The bits of a value xor `bias` are its key. */
#define MAP_VALUES(suffix, in_type, unsigned_type, bias)                                           \
    static void shares_##suffix(float *out, const unsigned_type *in, size_t n, const float *map)   \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = map[in[i] ^ (bias)];                                                          \
    }                                                                                              \
    static void levels_##suffix(unsigned_type *out, const unsigned_type *in, size_t n,             \
                                const uint32_t *map)                                               \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = (unsigned_type)(map[in[i] ^ (bias)] ^ (bias));                                \
    }
MAP_VALUES(U8, uint8_t, uint8_t, 0)
MAP_VALUES(I8, int8_t, uint8_t, 0x80)
MAP_VALUES(U16, uint16_t, uint16_t, 0)
MAP_VALUES(I16, int16_t, uint16_t, 0x8000)

/* Interpolates between the middles of the bins; values beyond the first and the last middle get
 * their entries, and NaN stays NaN. */
#define MAP_BINS(suffix, type)                                                                     \
    TS_VECTORIZED static void bins_##suffix(float *restrict out, const type *in, size_t n,         \
                                            const struct bins *bins, const double *map)            \
    {                                                                                              \
        const double middle = bins->low + bins->step / 2, per_value = bins->per_value,             \
                     last = (double)(bins->n - 1);                                                 \
        for (size_t i = 0; i < n; i++) {                                                           \
            const double value = (double)in[i], at = (value - middle) * per_value;                 \
            const double inside = at > 0 ? at < last ? at : last : 0;                              \
            const int32_t left = (int32_t)(inside < last ? inside : last - 1);                     \
            const double mapped =                                                                  \
                map[left] + (map[left + 1] - map[left]) * (inside - (double)left);                 \
            out[i] = (float)(value == value ? mapped : value);                                     \
        }                                                                                          \
    }
MAP_BINS(U32, uint32_t)
MAP_BINS(I32, int32_t)
MAP_BINS(F32, float)

/* Maps a value to the entry of the bin in which it was counted. Infinite values get the entries at
 * the ends, and NaN stays NaN. */
static void map_steps(float *out, const void *in, enum ts_dtype dtype, size_t n,
                      const struct bins *bins, const double *map)
{
    int32_t slots[STEP_BLOCK];
    for (size_t done = 0; done < n; done += STEP_BLOCK) {
        const size_t block = n - done < STEP_BLOCK ? n - done : STEP_BLOCK;
        ts_bins_find(slots, in, dtype, done, block, bins);
        for (size_t i = 0; i < block; i++) {
            const int64_t bin = slots[i] - 1;
            out[done + i] = bin > bins->n ? NAN : (float)map[ts_clamp(bin, 0, bins->n - 1)];
        }
    }
}

static void map_chunk(const struct stage_context *context, const void *in, void *out, size_t n,
                      const void *result)
{
    const struct bins *bins = &((const struct equalize_result *)result)->bins[0];
    const void *map = (const struct equalize_result *)result + 1;
    const bool levels = params_of(context)->method == EQUALIZE_OPENCV;
    if (!by_value(context, 0) &&
        (((const struct equalize_result *)result)->single[0] || context->references[0])) {
        map_steps(out, in, context->in.dtype, n, bins, map);
        return;
    }
    switch (context->in.dtype) {
#define CASE(suffix)                                                                               \
    case TS_##suffix:                                                                              \
        if (levels)                                                                                \
            levels_##suffix(out, in, n, map);                                                      \
        else                                                                                       \
            shares_##suffix(out, in, n, map);                                                      \
        break;
        CASE(U8)
        CASE(I8)
        CASE(U16)
        CASE(I16)
#undef CASE
    case TS_U32:
        bins_U32(out, in, n, bins, map);
        break;
    case TS_I32:
        bins_I32(out, in, n, bins, map);
        break;
    default:
        bins_F32(out, in, n, bins, map);
    }
}

static enum ts_status equalize_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, void *scratch)
{
    const int64_t nz = out->axes[0].n, count = (int64_t)ts_slice_count(out),
                  chunks = (count + CHUNK - 1) / CHUNK;
    const size_t in_bytes = ts_dtype_bytes(in->dtype), out_bytes = ts_dtype_bytes(out->dtype);
    (void)scratch;
#pragma omp parallel for collapse(2) schedule(static) num_threads(context->threads)
    for (int64_t z = 0; z < nz; z++)
        for (int64_t chunk = 0; chunk < chunks; chunk++) {
            const int64_t first = chunk * CHUNK, n = count - first < CHUNK ? count - first : CHUNK;
            map_chunk(context, (const char *)ts_slice_data(in, z) + (size_t)first * in_bytes,
                      (char *)ts_slice_data(out, z) + (size_t)first * out_bytes, (size_t)n,
                      ts_scope_result(context, z));
        }
    return TS_OK;
}

const struct stage equalize_stage = {
    .name = "equalize",
    .traits = TRAIT_MAPS_BY_SHARES,
    .summary = "histogram equalization, or matching to the histogram of another image",
    .doc = "`out = F(v)`, where `F(v)` is the share of values that are `v` or below. The default "
           "follows `skimage.exposure.equalize_hist` and gives f32 in [0, 1] for every type, "
           "signed HU included: the result is an intensity, no longer HU. 8- and 16-bit integers "
           "are ranked by all their values, exactly, and so are 32-bit integers that span at most "
           "65,536 values: the same values give the same result in every integer type. Floats and "
           "32-bit integers that span more are ranked by `bins` bins between their smallest and "
           "largest finite value, linear between the middles of the bins. `method: opencv` keeps "
           "the type and gives the bytes of `cv::equalizeHist` for u8.\n\n"
           "With `reference` the image gets the reference's histogram: `out = R^-1(F(v))`, linear "
           "between the reference's values, f32, in the reference's unit and quantity "
           "(`skimage.exposure.match_histograms`). It is exact if both are integers that are "
           "counted value by value. A value counted in a bin has the rank of the bin's last value: "
           "exact too if no bin holds two different values (16-bit values times one slope, say); "
           "else the rank is too high by at most the share of the bin's other values. That is a "
           "bound on the rank, not on the result: if the reference's values are sparse, a small "
           "difference of rank moves the result by the distance of its neighboring values. Values "
           "of a reference counted in bins are taken in the middles of its bins, half a bin's "
           "width off at most, with the share up to the bin's end.\n\n"
           "NaN stays NaN and counts nowhere; infinite values take the values of the ends. Invalid "
           "pixels, such as a CT's padding, and those that `mask` leaves out count nowhere and are "
           "mapped all the same: a value beyond those that count as the nearest of them. If no "
           "pixel of the volume or slice counts, the result is 0.\n\n"
           "Cost: one pass for the histogram (one more to find the range, for 32-bit integers and "
           "floats), one to map.",
    STAGE_TAKES_ALL,
    .bench = "method=opencv|method=skimage|method=opencv scope=slice|method=skimage "
             "scope=slice|method=skimage reference=itself",
    STAGE_PARAMS(equalize_params, struct equalize_params),
    .resolve = equalize_resolve,
    .shape = equalize_shape,
    .streams_with_input = ts_stage_streams_mask,
    .reduction = &reduction,
    .map = equalize_map,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(equalize_cuda),
    .counts_values = true,
    .tolerance = {.relative = 1.2e-7,
                  .why = "rounding of a share to f32; levels of integers are exact"},
};
