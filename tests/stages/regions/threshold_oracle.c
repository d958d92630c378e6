/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/regions/threshold_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "stages/regions/threshold.h"
#include "stages/values/scope.h"
#include "tests/stages/histogram/histogram_oracle.h"
#include "tests/stages/histogram/statistics_oracle.h"

/* Returns the place of the best part: the classes are the places up to it and those after it. */
static size_t part_of(const uint64_t *counts, size_t n)
{
    double best = -1, all = 0, sum = 0, lower = 0, lower_sum = 0;
    size_t place = 0;
    for (size_t i = 0; i < n; i++) {
        all += (double)counts[i];
        sum += (double)counts[i] * (double)i;
    }
    for (size_t t = 0; t + 1 < n; t++) {
        lower += (double)counts[t];
        lower_sum += (double)counts[t] * (double)t;
        const double higher = all - lower, apart = lower_sum / lower - (sum - lower_sum) / higher;
        /* A part that is better by rounding alone is equally good. */
        if (lower > 0 && higher > 0 && lower * higher * apart * apart > best * (1 + 1e-12)) {
            best = lower * higher * apart * apart;
            place = t;
        }
    }
    return place;
}

/* Returns the place that is furthest below the line from the peak to the further end, by its
 * distance; seen from that end, the first one counts. */
static size_t corner_of(const uint64_t *counts, size_t n)
{
    size_t peak = 0, first = n, last = 0;
    for (size_t i = 0; i < n; i++) {
        peak = counts[i] > counts[peak] ? i : peak;
        first = counts[i] > 0 && first == n ? i : first;
        last = counts[i] > 0 ? i : last;
    }
    const bool low = peak - first >= last - peak;
    const size_t end = low ? first : last, width = low ? peak - first : last - peak;
    const double height = (double)counts[peak], length = hypot(height, (double)width);
    size_t place = end;
    double best = -INFINITY;
    for (size_t x = 0; x < width; x++) {
        const size_t i = low ? end + x : end - x;
        const double apart = (height * (double)x - (double)width * (double)counts[i]) / length;
        if (apart > best + 1e-9 * height) {
            best = apart;
            place = i;
        }
    }
    return place;
}

static double rule_of(const struct stage_context *context, const double *values, size_t n,
                      double low, double high)
{
    const bool whole = ts_dtype_bytes(context->in.dtype) <= 2;
    const int64_t bins = whole ? (int64_t)(high - low) + 1
                               : ((const struct threshold_params *)context->params)->bins;
    uint64_t *counts = malloc((size_t)bins * sizeof *counts), under, over, nan;
    ts_histogram_oracle_counts(values, n, low, whole ? high + 1 : high, bins, counts, &under, &over,
                               &nan);
    const bool otsu = ((const struct threshold_params *)context->params)->method == THRESHOLD_OTSU;
    const double place = (double)(otsu ? part_of : corner_of)(counts, (size_t)bins);
    free(counts);
    return whole ? low + place : low + (place + 0.5) * ((high - low) / (double)bins);
}

double ts_threshold_oracle_found(const struct stage_context *context, const double *values,
                                 size_t n)
{
    const struct threshold_params *params = context->params;
    struct statistics_oracle found;
    if (params->method == THRESHOLD_PERCENTILE)
        return ts_percentile_oracle(values, n, params->percentile);
    ts_statistics_oracle_samples(values, n, 0, &found);
    if (found.count == 0 || found.min == found.max)
        return found.count == 0 ? (double)NAN : found.min;
    return rule_of(context, values, n, found.min, found.max);
}

static bool is_within(const struct threshold_params *params, double x, double threshold)
{
    if (params->method == THRESHOLD_VALUE)
        return !isnan(x) && (isinf(params->above) || x > params->above) &&
               (isinf(params->below) || x < params->below);
    return params->side == THRESHOLD_ABOVE ? x > threshold : x <= threshold;
}

static size_t values_together(const struct stage_context *context)
{
    const bool slices = ((const struct threshold_params *)context->params)->scope == SCOPE_SLICE;
    return slices ? ts_slice_count(&context->in) : ts_image_count(&context->in);
}

void ts_threshold_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct threshold_params *params = context->params;
    const size_t whole = ts_image_count(&context->in), n = values_together(context);
    for (size_t first = 0; first < whole; first += n) {
        const double threshold = params->method == THRESHOLD_VALUE
                                     ? 0
                                     : ts_threshold_oracle_found(context, in + first, n);
        for (size_t i = first; i < first + n; i++)
            out[i] = is_within(params, in[i], threshold);
    }
}

void ts_threshold_oracle_tables(const struct stage_context *context, const double *in,
                                const double *out, struct bench_tables *tables)
{
    double *threshold = ts_bench_table(tables, "threshold");
    const size_t whole = ts_image_count(&context->in), n = values_together(context);
    (void)out;
    for (size_t i = 0; threshold && i < whole / n; i++)
        threshold[i] = ts_threshold_oracle_found(context, in + i * n, n);
}
