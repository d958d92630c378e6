/* SPDX-License-Identifier: Apache-2.0
 *
 * The histogram as numpy.histogram defines it: half-open bins between numpy.linspace edges, the
 * last one closed.
 */
#include "tests/stages/histogram/histogram_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/histogram/histogram.h"
#include "stages/values/scope.h"
#include "stages/values/value_range.h"

static double edge(double low, double high, int64_t bins, int64_t i)
{
    return i == bins ? high : low + (double)i * ((high - low) / (double)bins);
}

void ts_histogram_oracle_counts(const double *values, size_t n, double low, double high,
                                int64_t bins, uint64_t *counts, uint64_t *under, uint64_t *over,
                                uint64_t *nan)
{
    memset(counts, 0, (size_t)bins * sizeof *counts);
    *under = *over = *nan = 0;
    for (size_t k = 0; k < n; k++) {
        const double v = values[k];
        if (v != v) {
            ++*nan;
        } else if (v < low) {
            ++*under;
        } else if (v > high) {
            ++*over;
        } else {
            int64_t i = 0, above = bins; /* edge i is not above v; edges from `above` on are, or the
                                            last one */
            while (above - i > 1) {
                const int64_t middle = i + (above - i) / 2;
                if (v < edge(low, high, bins, middle))
                    above = middle;
                else
                    i = middle;
            }
            counts[i]++;
        }
    }
}

/* ---- all tables ------------------------------------------------------------------------------ */

struct range {
    double low, high;
    int64_t bins;
};

/* numpy's: [0, 1] of nothing, half a value on both sides of one value alone. */
static struct range range_of(const struct histogram_params *params, enum ts_dtype dtype,
                             const double *values, size_t n)
{
    struct range range = {.low = INFINITY, .high = -INFINITY, .bins = params->bins};
    if (params->range.values)
        return (struct range){params->range.values[0], params->range.values[1], params->bins};
    if (params->limits == LIMITS_DTYPE) {
        ts_dtype_range(dtype, &range.low, &range.high);
        range.high += 1;
        return range;
    }
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i])) {
            range.low = fmin(range.low, values[i]);
            range.high = fmax(range.high, values[i]);
        }
    if (range.low > range.high)
        return (struct range){0, 1, params->bins};
    if (range.low == range.high) {
        range.low -= 0.5;
        range.high += 0.5;
    }
    return range;
}

/* Writes the counts as doubles; `outside` has those below, above, and not a number. */
static void count(const double *values, size_t n, const struct range *range, double *counts,
                  double outside[3])
{
    uint64_t *whole = malloc((size_t)range->bins * sizeof *whole), others[3];
    ts_histogram_oracle_counts(values, n, range->low, range->high, range->bins, whole, &others[0],
                               &others[1], &others[2]);
    for (int64_t bin = 0; bin < range->bins; bin++)
        counts[bin] = (double)whole[bin];
    for (int i = 0; i < 3; i++)
        outside[i] = (double)others[i];
    free(whole);
}

/* Compares two sets of masses, which lie below, in the middles of the bins, and above. */
static void compare_counts(const struct range *range, const double *a, const double a_outside[3],
                           const double *b, const double b_outside[3], double distances[2],
                           double *wasserstein)
{
    const int64_t n = range->bins + 2;
    double n_a = 0, n_b = 0, below = 0, before = range->low;
    for (int64_t i = 0; i < n; i++) {
        n_a += i == 0 ? a_outside[0] : i == n - 1 ? a_outside[1] : a[i - 1];
        n_b += i == 0 ? b_outside[0] : i == n - 1 ? b_outside[1] : b[i - 1];
    }
    distances[0] = distances[1] = *wasserstein = 0;
    for (int64_t i = 0; i < n; i++) {
        const double at =
            i == 0 ? range->low
            : i == n - 1
                ? range->high
                : range->low + ((double)i - 0.5) * (range->high - range->low) / (double)(n - 2);
        const double of_a = i == 0 ? a_outside[0] : i == n - 1 ? a_outside[1] : a[i - 1];
        const double of_b = i == 0 ? b_outside[0] : i == n - 1 ? b_outside[1] : b[i - 1];
        *wasserstein += fabs(below) * (at - before);
        below += of_a / n_a - of_b / n_b;
        distances[0] += fabs(of_a / n_a - of_b / n_b) / 2;
        distances[1] = fmax(distances[1], fabs(below));
        before = at;
    }
}

/* The values whose label is `label`, or, where `others`, none of 0 to label - 1. Returns how
 * many. */
static size_t pick(const double *values, const double *labels, size_t n, double label, bool others,
                   double *out)
{
    size_t picked = 0;
    for (size_t i = 0; i < n; i++)
        if (others ? labels[i] < 0 || labels[i] >= label : labels[i] == label)
            out[picked++] = values[i];
    return picked;
}

static void fill_labels(const struct histogram_params *params, const struct ts_image *image,
                        const double *values, const struct range *range,
                        struct bench_tables *tables)
{
    const size_t n = ts_image_count(image);
    double *labels = malloc(n * sizeof *labels), *picked = malloc(n * sizeof *picked), outside[3];
    double *counts = ts_bench_table(tables, "label_counts"),
           *under = ts_bench_table(tables, "label_underflow");
    double *over = ts_bench_table(tables, "label_overflow"),
           *nan = ts_bench_table(tables, "label_nan");
    ts_load_f64(labels, image->data, image->dtype, n);
    for (int64_t label = 0; label < params->n_labels; label++) {
        const size_t n_picked = pick(values, labels, n, (double)label, false, picked);
        count(picked, n_picked, range, counts + label * range->bins, outside);
        under[label] = outside[0];
        over[label] = outside[1];
        nan[label] = outside[2];
    }
    const size_t n_others = pick(values, labels, n, (double)params->n_labels, true, picked);
    count(picked, n_others, range, ts_bench_table(tables, "other_counts"),
          ts_bench_table(tables, "other_outside"));
    free(labels);
    free(picked);
}

static void fill_oracle(const struct ts_image *reference, const struct range *range,
                        const double *counts, const double outside[3], double *of_reference,
                        double *distances, double *wasserstein)
{
    const size_t n = ts_image_count(reference);
    double *values = malloc(n * sizeof *values), others[3];
    ts_load_f64(values, reference->data, reference->dtype, n);
    count(values, n, range, of_reference, others);
    compare_counts(range, counts, outside, of_reference, others, distances, wasserstein);
    free(values);
}

void ts_histogram_oracle_results(const struct stage_context *context,
                                 const struct ts_image inputs[STAGE_INPUTS], double *out,
                                 struct bench_tables *tables)
{
    const struct histogram_params *params = context->params;
    const size_t whole = ts_image_count(&inputs[0]), slice = ts_slice_count(&inputs[0]);
    const bool by_slice = params->scope == SCOPE_SLICE;
    const size_t n = by_slice ? slice : whole, bins = (size_t)params->bins;
    const struct ts_image *reference = &inputs[HISTOGRAM_REFERENCE],
                          *labels = &inputs[HISTOGRAM_LABELS];
    double *values = malloc(whole * sizeof *values);
    (void)out;
    ts_load_f64(values, inputs[0].data, inputs[0].dtype, whole);
    for (size_t z = 0; z < whole / n; z++) {
        const struct range range = range_of(params, inputs[0].dtype, values + z * n, n);
        double *counts = ts_bench_table(tables, "counts") + z * bins, outside[3];
        double *edges = ts_bench_table(tables, "edges") + z * (bins + 1);
        count(values + z * n, n, &range, counts, outside);
        ts_bench_table(tables, "underflow")[z] = outside[0];
        ts_bench_table(tables, "overflow")[z] = outside[1];
        ts_bench_table(tables, "nan")[z] = outside[2];
        for (int64_t i = 0; i <= range.bins; i++)
            edges[i] = edge(range.low, range.high, range.bins, i);
        if (reference->data)
            fill_oracle(reference, &range, counts, outside,
                        ts_bench_table(tables, "reference_counts") + z * bins,
                        ts_bench_table(tables, "distances") + z * 2,
                        ts_bench_table(tables, "wasserstein") + z);
        if (labels->data)
            fill_labels(params, labels, values, &range, tables);
    }
    free(values);
}
