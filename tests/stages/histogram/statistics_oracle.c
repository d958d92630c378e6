/* SPDX-License-Identifier: Apache-2.0
 *
 * Moments and percentiles from their definitions.
 */
#include "tests/stages/histogram/statistics_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "stages/histogram/statistics.h"
#include "stages/values/scope.h"
#include "tests/stages/counting/noise_estimate_oracle.h"

static size_t finite_values(const double *values, size_t n, double *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i]))
            out[kept++] = values[i];
    return kept;
}

void ts_statistics_oracle_samples(const double *values, size_t n, int64_t ddof,
                                  struct statistics_oracle *out)
{
    double *finite = malloc((n + 1) * sizeof *finite);
    const size_t count = finite_values(values, n, finite);
    long double sum = 0, squares = 0, logs = 0;
    *out = (struct statistics_oracle){.count = count, .min = NAN, .max = NAN, .product_sign = 1};
    for (size_t i = 0; i < n; i++) {
        out->nan += isnan(values[i]) != 0;
        out->infinite += isinf(values[i]) != 0;
    }
    for (size_t i = 0; i < count; i++) {
        sum += (long double)finite[i];
        out->zeros += finite[i] == 0;
        out->min = fmin(out->min, finite[i]);
        out->max = fmax(out->max, finite[i]);
        if (finite[i] != 0)
            logs += logl(fabsl((long double)finite[i]));
        if (finite[i] < 0)
            out->product_sign = -out->product_sign;
    }
    const long double mean = sum / (long double)count;
    for (size_t i = 0; i < count; i++)
        squares += ((long double)finite[i] - mean) * ((long double)finite[i] - mean);
    out->sum = (double)sum;
    out->mean = (double)mean;
    out->variance = (int64_t)count > ddof ? (double)(squares / (long double)((int64_t)count - ddof))
                                          : (double)NAN;
    out->log_product = (double)logs;
    free(finite);
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double ts_percentile_oracle(const double *values, size_t n, double percent)
{
    double *sorted = malloc((n + 1) * sizeof *sorted);
    const size_t count = finite_values(values, n, sorted);
    double value = NAN;
    qsort(sorted, count, sizeof *sorted, rising);
    if (count > 0) {
        const double rank = (double)(count - 1) * percent / 100;
        const size_t left = (size_t)floor(rank), right = left + 1 < count ? left + 1 : left;
        value = sorted[left] + (rank - (double)left) * (sorted[right] - sorted[left]);
    }
    free(sorted);
    return value;
}

/* Writes row `row` of the tables that the stage has. */
static void write_row(struct bench_tables *tables, size_t row,
                      const struct statistics_oracle *numbers)
{
    const struct {
        const char *name;
        double value;
    } rows[] = {{"count", (double)numbers->count},
                {"nan", (double)numbers->nan},
                {"infinite", (double)numbers->infinite},
                {"zeros", (double)numbers->zeros},
                {"min", numbers->min},
                {"max", numbers->max},
                {"sum", numbers->sum},
                {"mean", numbers->mean},
                {"variance", numbers->variance},
                {"standard_deviation", sqrt(numbers->variance)},
                {"log_product", numbers->log_product},
                {"product_sign", numbers->product_sign}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double *table = ts_bench_table(tables, rows[i].name);
        if (table)
            table[row] = rows[i].value;
    }
}

/* The rows of labels: the values under each are picked out first. */
static void write_labels(const struct stage_context *context,
                         const struct ts_image inputs[STAGE_INPUTS], struct bench_tables *tables)
{
    const struct statistics_params *params = context->params;
    const size_t n = ts_image_count(&inputs[0]);
    const size_t n_percentiles = (size_t)(params->percentiles.rows * params->percentiles.columns);
    double *values = malloc(n * sizeof *values), *labels = malloc(n * sizeof *labels),
           *picked = malloc(n * sizeof *picked);
    size_t seen = 0;
    ts_load_f64(values, inputs[0].data, inputs[0].dtype, n);
    ts_load_f64(labels, inputs[STATISTICS_LABELS].data, inputs[STATISTICS_LABELS].dtype, n);
    for (int64_t label = 0; label < params->n_labels; label++) {
        struct statistics_oracle numbers;
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
            if (labels[i] == (double)label)
                picked[count++] = values[i];
        seen += count;
        ts_statistics_oracle_samples(picked, count, params->ddof, &numbers);
        write_row(tables, (size_t)label, &numbers);
        for (size_t i = 0; i < n_percentiles; i++)
            ts_bench_table(tables, "percentiles")[(size_t)label * n_percentiles + i] =
                ts_percentile_oracle(picked, count, params->percentiles.values[i]);
    }
    *ts_bench_table(tables, "other_labels") = (double)(n - seen);
    free(values);
    free(labels);
    free(picked);
}

void ts_statistics_oracle_results(const struct stage_context *context,
                                  const struct ts_image inputs[STAGE_INPUTS], double *out,
                                  struct bench_tables *tables)
{
    if (inputs[STATISTICS_LABELS].data) {
        write_labels(context, inputs, tables);
        return;
    }
    const struct statistics_params *params = context->params;
    const size_t whole = ts_image_count(&inputs[0]);
    const size_t n = params->scope == SCOPE_SLICE ? ts_slice_count(&inputs[0]) : whole;
    const size_t n_percentiles = (size_t)(params->percentiles.rows * params->percentiles.columns);
    double *values = malloc(whole * sizeof *values);
    (void)out;
    ts_load_f64(values, inputs[0].data, inputs[0].dtype, whole);
    for (size_t z = 0; z < whole / n; z++) {
        struct statistics_oracle numbers;
        ts_statistics_oracle_samples(values + z * n, n, params->ddof, &numbers);
        write_row(tables, z, &numbers);
        const int64_t ny = inputs[0].axes[1].n, nx = inputs[0].axes[2].n,
                      nz = (int64_t)(n / (size_t)(ny * nx));
        if (ts_noise_has_sums((enum noise_estimate)params->noise))
            ts_bench_table(tables, "noise_immerkaer")[z] =
                ts_immerkaer_oracle(values + z * n, nz, ny, nx);
        if (ts_noise_has_coefficients((enum noise_estimate)params->noise))
            ts_bench_table(tables, "noise_wavelet")[z] =
                ts_wavelet_noise_oracle(values + z * n, nz, ny, nx);
        for (size_t i = 0; i < n_percentiles; i++)
            ts_bench_table(tables, "percentiles")[z * n_percentiles + i] =
                ts_percentile_oracle(values + z * n, n, params->percentiles.values[i]);
    }
    free(values);
}
