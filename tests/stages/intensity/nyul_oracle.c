/* SPDX-License-Identifier: Apache-2.0
 *
 * The map as TorchIO writes it down: the slopes and intercepts of ten lines, and for each value the
 * number of inner percentiles up to it, as numpy.digitize counts them.
 */
#include "tests/stages/intensity/nyul_oracle.h"

#include <math.h>

#include "stages/intensity/nyul.h"
#include "tests/stages/histogram/statistics_oracle.h"

static const double percents[13] = {1, 10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 99};

void ts_nyul_values_oracle(const double *in, size_t n, const double percentiles[13],
                           const double landmarks[13], double *out)
{
    static const int range_to_use[] = {0, 1, 2, 4, 5, 6, 7, 8, 10, 11, 12};
    double slope[10], intercept[10];
    for (int k = 0; k < 10; k++) {
        const int a = range_to_use[k], b = range_to_use[k + 1];
        const double wide = percentiles[b] - percentiles[a];
        slope[k] = wide == 0 ? 0 : (landmarks[b] - landmarks[a]) / wide;
        intercept[k] = landmarks[a] - slope[k] * percentiles[a];
    }
    for (size_t i = 0; i < n; i++) {
        int bin = 0;
        for (int k = 1; k < 10; k++)
            bin += in[i] >= percentiles[range_to_use[k]];
        out[i] =
            slope[bin] == 0 && !isnan(in[i]) ? intercept[bin] : slope[bin] * in[i] + intercept[bin];
    }
}

void ts_nyul_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct nyul_params *params = context->params;
    const size_t n = ts_image_count(&context->in);
    double percentiles[13];
    for (int i = 0; i < 13; i++)
        percentiles[i] = ts_percentile_oracle(in, n, percents[i]);
    ts_nyul_values_oracle(in, n, percentiles, params->landmarks.values, out);
}

void ts_nyul_oracle_tables(const struct stage_context *context, const double *in, const double *out,
                           struct bench_tables *tables)
{
    double *found = ts_bench_table(tables, "percentiles");
    (void)out;
    for (int i = 0; found && i < 13; i++)
        found[i] = ts_percentile_oracle(in, ts_image_count(&context->in), percents[i]);
}
