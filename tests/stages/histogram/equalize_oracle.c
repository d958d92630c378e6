/* SPDX-License-Identifier: Apache-2.0
 *
 * Equalization and matching from sorted values, as scikit-image and OpenCV state them. No counts
 * per value, no tables.
 */
#include "tests/stages/histogram/equalize_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/histogram/equalize.h"
#include "stages/values/scope.h"
#include "tests/stages/histogram/histogram_oracle.h"

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *sorted_copy(const double *values, size_t n)
{
    double *sorted = malloc((n + 1) * sizeof *sorted);
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, rising);
    return sorted;
}

/* Returns how many of the sorted values are v or below. */
static size_t count_below(const double *sorted, size_t n, double v)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (sorted[middle] <= v)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* numpy.interp over n rising points. */
static double interpolate(double at, const double *x, const double *y, size_t n)
{
    if (!(at > x[0]))
        return at == at ? y[0] : at;
    if (at >= x[n - 1])
        return y[n - 1];
    size_t i = count_below(x, n, at) - 1;
    return y[i] + (y[i + 1] - y[i]) / (x[i + 1] - x[i]) * (at - x[i]);
}

void ts_equalize_oracle_share(const double *values, size_t n, double *out)
{
    double *sorted = sorted_copy(values, n);
    for (size_t k = 0; k < n; k++)
        out[k] = (double)count_below(sorted, n, values[k]) / (double)n;
    free(sorted);
}

void ts_equalize_oracle_bins(const double *values, size_t n, int64_t bins, double *out)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t k = 0; k < n; k++)
        if (isfinite(values[k])) {
            low = fmin(low, values[k]);
            high = fmax(high, values[k]);
        }
    if (low == high) {
        low -= 0.5;
        high += 0.5;
    }
    uint64_t *counts = malloc((size_t)bins * sizeof *counts), under, over, nan, total = 0,
             below = 0;
    double *middles = malloc((size_t)bins * sizeof *middles),
           *shares = malloc((size_t)bins * sizeof *shares);
    ts_histogram_oracle_counts(values, n, low, high, bins, counts, &under, &over, &nan);
    for (int64_t i = 0; i < bins; i++)
        total += counts[i];
    for (int64_t i = 0; i < bins; i++) {
        below += counts[i];
        shares[i] = (double)below / (double)total;
        middles[i] = low + ((double)i + 0.5) * (high - low) / (double)bins;
    }
    for (size_t k = 0; k < n; k++)
        out[k] = interpolate(values[k], middles, shares, (size_t)bins);
    free(counts);
    free(middles);
    free(shares);
}

void ts_equalize_oracle_levels(const double *values, size_t n, double lowest, int64_t levels,
                               double *out)
{
    double *sorted = sorted_copy(values, n);
    const size_t of_lowest = count_below(sorted, n, sorted[0]);
    /* OpenCV's own steps, which it has for 256 levels: the scale and the product are single
     * precision numbers. */
    const float scale = ((float)levels - 1.0f) / (float)(n - of_lowest);
    for (size_t k = 0; k < n; k++) {
        const size_t above = count_below(sorted, n, values[k]) - of_lowest;
        const double level = levels == 256
                                 ? (double)rintf((float)above * scale)
                                 : (double)rintl((long double)above * (long double)(levels - 1) /
                                                 (long double)(n - of_lowest));
        out[k] = of_lowest == n ? values[k] : lowest + fmin(level, (double)levels - 1);
    }
    free(sorted);
}

void ts_equalize_oracle_match(const double *values, size_t n, const double *reference,
                              size_t n_reference, double *out)
{
    double *sorted = sorted_copy(values, n), *target = sorted_copy(reference, n_reference);
    double *unique = malloc(n_reference * sizeof *unique),
           *shares = malloc(n_reference * sizeof *shares);
    size_t n_unique = 0;
    for (size_t k = 0; k < n_reference; k++) {
        if (k == 0 || target[k] != target[k - 1])
            n_unique++;
        unique[n_unique - 1] = target[k];
        shares[n_unique - 1] = (double)(k + 1) / (double)n_reference;
    }
    for (size_t k = 0; k < n; k++)
        out[k] = interpolate((double)count_below(sorted, n, values[k]) / (double)n, shares, unique,
                             n_unique);
    free(sorted);
    free(target);
    free(unique);
    free(shares);
}

/* Integers that are ranked by all their values. */
static bool spans_few(const double *values, size_t n, enum ts_dtype dtype)
{
    double low = values[0], high = values[0];
    for (size_t k = 1; k < n; k++) {
        low = fmin(low, values[k]);
        high = fmax(high, values[k]);
    }
    return ts_dtype_is_integer(dtype) && high - low < 65536;
}

void ts_equalize_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct equalize_params *params = context->params;
    const enum ts_dtype dtype = context->in.dtype;
    const size_t slice = ts_slice_count(&context->in), whole = ts_image_count(&context->in);
    const size_t n = params->scope == SCOPE_SLICE ? slice : whole;
    double low, high;
    ts_dtype_range(dtype, &low, &high);
    for (size_t first = 0; first < whole; first += n) {
        if (params->method == EQUALIZE_OPENCV)
            ts_equalize_oracle_levels(in + first, n, low, (int64_t)(high - low) + 1, out + first);
        else if (spans_few(in + first, n, dtype))
            ts_equalize_oracle_share(in + first, n, out + first);
        else
            ts_equalize_oracle_bins(in + first, n, params->bins, out + first);
    }
}

void ts_equalize_oracle_results(const struct stage_context *context,
                                const struct ts_image inputs[STAGE_INPUTS], double *out,
                                struct bench_tables *tables)
{
    const struct equalize_params *params = context->params;
    const struct ts_image *reference = &inputs[1];
    const size_t whole = ts_image_count(&inputs[0]),
                 n_reference = reference->data ? ts_image_count(reference) : 0;
    const size_t n = params->scope == SCOPE_SLICE ? ts_slice_count(&inputs[0]) : whole;
    double *values = malloc(whole * sizeof *values),
           *target = malloc((n_reference + 1) * sizeof *target);
    (void)tables;
    ts_load_f64(values, inputs[0].data, inputs[0].dtype, whole);
    if (reference->data)
        ts_load_f64(target, reference->data, reference->dtype, n_reference);
    else
        ts_equalize_oracle(context, values, out);
    for (size_t first = 0; reference->data && first < whole; first += n)
        ts_equalize_oracle_match(values + first, n, target, n_reference, out + first);
    free(values);
    free(target);
}
